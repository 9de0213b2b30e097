"""Compiled regexes in the cache: to put one together again takes a hundredth of the time that compiling it takes.

A regex is kept as what its engine's own function makes it of: numbers and texts, as `marshal` writes them.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from .cache import key_of, read, write

T = TypeVar("T")
MOST = 32768
"""Regexes that are kept. Catalogues have some thousands."""
EAGER = 2
"""Writes of a process that need no good reason: a command makes one."""
_all: list[Kept[Any]] = []


class Kept(Generic[T]):
    """The regexes of one engine.

    version: of the engine; what another one compiled is not used. rebuild: makes a regex of its parts, and raises an error of
    Python's own when it cannot.
    """

    def __init__(self, kind: str, version: str, rebuild: Callable[..., T]) -> None:
        self._kind = kind
        self._key = key_of(version, sys.version, sys.platform)
        self._rebuild = rebuild
        self._stored = dict(_split(read(kind, self._key) or b""))
        self._fresh = self._written = 0
        _all.append(self)

    def get(self, pattern: str | bytes, flags: int) -> T | None:
        """The regex, if it is kept."""
        stored = self._stored.get(_name(pattern, flags))
        if stored is None:
            return None
        try:
            known, parts = marshal.loads(stored)  # noqa: S302 - of a file that nobody else could have written
            return self._rebuild(*parts) if known == (pattern, flags) else None
        except (EOFError, ValueError, TypeError, KeyError, RuntimeError, OverflowError):
            return None

    def add(self, pattern: str | bytes, flags: int, parts: Sequence[Any]) -> None:
        """Keeps the parts of a regex, if they are plain enough."""
        try:
            stored = marshal.dumps(((pattern, flags), tuple(parts)))
        except ValueError:
            return
        if len(self._stored) < MOST:
            self._stored[_name(pattern, flags)] = stored
            self._fresh += 1

    def save(self) -> None:
        """Writes them, if there are new ones: a few times, then only when these are many beside those that were there."""
        if self._fresh and (self._written < EAGER or self._fresh * 8 > len(self._stored)):
            self._fresh = 0
            self._written += 1
            parts = (name + len(stored).to_bytes(4, "little") + stored for name, stored in list(self._stored.items()))
            write(self._kind, self._key, b"".join(parts))


def keep_compiled() -> None:
    """Stores what was compiled since the last time, if it is worth it."""
    for kept in _all:
        kept.save()


def _name(pattern: str | bytes, flags: int) -> bytes:
    """Eight letters. Two regexes of the same name take turns."""
    return key_of(repr(pattern), str(flags)).encode()


def _split(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names, and what is stored under them."""
    at = 0
    while at + 12 <= len(data):
        begin, size = at + 12, int.from_bytes(data[at + 8 : at + 12], "little")
        yield data[at : at + 8], data[begin : begin + size]
        at = begin + size
