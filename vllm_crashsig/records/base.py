"""What the readers share: lines with their places, and what was told of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

HELD_LINES = 400
HELD_BYTES = 256 * 1024
"""How much of one record is held until its end comes; more is let through as it stands."""


class Line(NamedTuple):
    """A line, where it stood in the source, and what its container told of it."""

    text: bytes
    number: int
    offset: int
    fields: dict[str, Any] | None = None


class Reader(Protocol):
    """Takes the lines of one source, in order, and gives the lines of the records in it."""

    def take(self, line: Line) -> Iterator[Line]:
        """What this line completes."""
        ...

    def finish(self) -> Iterator[Line]:
        """What is held still, at the end of the source."""
        ...


def told(text: str, fields: dict[str, Any], place: Line) -> Iterator[Line]:
    """The lines of a record's text, all at the record's place."""
    for line in text.encode(errors="replace").removesuffix(b"\n").split(b"\n"):
        yield Line(line, place.number, place.offset, fields)
