"""Errors that a user can act on: each says where the fault is and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from .nouns import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """Where something is wrong: a file, a 1-based line and column, and a dotted key (any may be unknown)."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        parts = [self.file or "<input>"]
        if self.line is not None:
            parts.append(str(self.line))
            if self.column is not None:
                parts.append(str(self.column))
        text = ":".join(parts)
        return f"{text} ({self.key})" if self.key else text


class CrashsigError(Exception):
    """Base of all errors that this package raises on purpose.

    ``str(error)`` is one line: location, what is wrong, and what to do.
    """

    def __init__(self, message: str, location: Location | None = None) -> None:
        self.message = message
        self.location = location
        super().__init__(f"{location}: {message}" if location else message)


class InputError(CrashsigError):
    """A source cannot be opened or read at all."""


class OptionError(CrashsigError):
    """An option or argument has a value that cannot be used."""


class CatalogueError(CrashsigError):
    """One mistake in a catalogue."""


class CatalogueErrors(CatalogueError):
    """All mistakes of a catalogue together, in ``errors``."""

    def __init__(self, errors: Sequence[CatalogueError]) -> None:
        self.errors = tuple(errors)
        first = self.errors[0]
        more = f" (and {len(self.errors) - 1} more)" if len(self.errors) > 1 else ""
        super().__init__(f"{first.message}{more}", first.location)
