"""Compiled regexes in the cache: to put one together again takes a hundredth of the time that compiling it takes.

A regex is kept as what its engine's own function makes it of: numbers and texts, as `marshal` writes them.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from .cache import cache_directory, key_of, read, write

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
        self._stored = _table(read(kind, self._key))
        self._fresh: dict[bytes, tuple[str | bytes, int, Callable[[], Sequence[Any] | None]]] = {}
        self._written = 0
        self._writable = cache_directory() is not None
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

    def add(self, pattern: str | bytes, flags: int, parts: Callable[[], Sequence[Any] | None]) -> None:
        """Keeps a regex. parts: what it is made of, or None; asked for only when it is to be written."""
        if self._writable and len(self._stored) + len(self._fresh) < MOST:
            self._fresh[_name(pattern, flags)] = pattern, flags, parts

    def save(self) -> None:
        """Writes them, if there are new ones: a few times, then only when these are many beside those that were there."""
        if not self._fresh or (self._written >= EAGER and len(self._fresh) * 8 <= len(self._stored)):
            return
        fresh, self._fresh = self._fresh, {}
        for name, (pattern, flags, parts) in fresh.items():
            try:
                if (told := parts()) is not None:
                    self._stored[name] = marshal.dumps(((pattern, flags), tuple(told)))
            except ValueError:  # of a kind that marshal does not know
                continue
        self._written += 1
        self._writable = write(self._kind, self._key, marshal.dumps(self._stored))


def keep_compiled() -> None:
    """Stores what was compiled since the last time, if it is worth it."""
    for kept in _all:
        kept.save()


def _name(pattern: str | bytes, flags: int) -> bytes:
    """Sixteen letters. Two regexes of the same name take turns."""
    return key_of(repr(pattern), str(flags)).encode()


def _table(data: bytes | None) -> dict[bytes, bytes]:
    """What is stored, by name. Each regex is read when it is asked for."""
    try:
        table = marshal.loads(data or b"")  # noqa: S302 - of a file that nobody else could have written
    except (EOFError, ValueError, TypeError):
        return {}
    return table if isinstance(table, dict) else {}
