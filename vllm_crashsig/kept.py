"""Compiled regexes in the cache: to put one together again takes a hundredth of the time that compiling it takes.

A regex is kept as what its engine's own function makes it of: numbers and texts, one regex on a line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from .cache import key_of, read, write

T = TypeVar("T")
MOST = 8192
"""Regexes that are kept. Catalogues have some thousands."""
_NAME = 8
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
        self._lines = {line[:_NAME]: line[_NAME:] for line in (read(kind, self._key) or b"").split(b"\n") if line}
        self._fresh = 0
        _all.append(self)

    def get(self, pattern: str | bytes, flags: int) -> T | None:
        """The regex, if it is kept."""
        line = self._lines.get(_name(pattern, flags))
        if line is None:
            return None
        try:
            known, *parts = _unpacked(json.loads(line))
            return self._rebuild(*parts) if known == [repr(pattern), flags] else None
        except (ValueError, TypeError, KeyError, RuntimeError, OverflowError):
            return None

    def add(self, pattern: str | bytes, flags: int, parts: Sequence[Any]) -> None:
        """Keeps the parts of a regex, if JSON can hold them."""
        try:
            line = json.dumps([[repr(pattern), flags], *map(_packed, parts)]).encode()
        except (ValueError, TypeError):
            return
        if len(self._lines) < MOST:
            self._lines[_name(pattern, flags)] = line
            self._fresh += 1

    def save(self) -> None:
        """Writes them, if what came is much beside what was there."""
        if self._fresh * 8 > len(self._lines):
            self._fresh = 0
            write(self._kind, self._key, b"\n".join([name + line for name, line in list(self._lines.items())]))


def keep_compiled() -> None:
    """Stores what was compiled since the last time, if that is much beside what is stored."""
    for kept in _all:
        kept.save()


def _name(pattern: str | bytes, flags: int) -> bytes:
    return key_of(repr(pattern), str(flags)).encode()


def _packed(part: Any) -> Any:
    """As JSON can hold it: what it has no form for is told by a mark."""
    if isinstance(part, bytes):
        return {"bytes": part.decode("latin-1")}
    if isinstance(part, tuple):
        return {"tuple": [_packed(p) for p in part]}
    if isinstance(part, dict):
        return {"dict": [[_packed(k), _packed(v)] for k, v in part.items()]}
    if isinstance(part, list):
        return [_packed(p) for p in part]
    if part is None or isinstance(part, str | int):
        return part
    raise TypeError(type(part).__name__)


def _unpacked(part: Any) -> Any:
    if isinstance(part, list):
        return [_unpacked(p) if isinstance(p, list | dict) else p for p in part]
    if isinstance(part, dict):
        ((mark, content),) = part.items()
        if mark == "bytes":
            return content.encode("latin-1")
        if mark == "tuple":
            return tuple(_unpacked(content))
        return {_unpacked(k): _unpacked(v) for k, v in content}
    return part
