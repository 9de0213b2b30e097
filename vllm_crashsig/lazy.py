"""Regexes of the code that are compiled when they are first used: a small log needs few of the hundreds that there are.

Those that are needed are kept in the cache, in the form that CPython's compiler hands to its engine (Lib/re/_compiler.py,
``compile``). Where that looks different, they are compiled as ever.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any, AnyStr, cast

from .kept import Kept

_METHODS = (
    "findall",
    "finditer",
    "flags",
    "fullmatch",
    "groupindex",
    "groups",
    "match",
    "pattern",
    "search",
    "split",
    "sub",
    "subn",
)


OLD_NAMES = ("sre_parse", "sre_compile")


class _Lazy:
    """Has the methods of a compiled regex, which take its place once one is asked for."""

    __slots__ = ("_flags", "_pattern", *_METHODS)

    def __init__(self, pattern: Any, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = _compiled(self._pattern, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)

    def __deepcopy__(self, memo: object) -> _Lazy:
        return self

    def __repr__(self) -> str:
        return f"lazy({self._pattern!r})"


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like `re.compile`, at the first use. A mistake in the pattern shows only then, so each is used in the tests.

    For the code's own patterns only: what a log says has no place in the cache.
    """
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, flags))


def _compiled(pattern: str | bytes, flags: int) -> re.Pattern[Any]:
    kept = _kept()
    if kept is None:
        return re.compile(pattern, flags)
    found = kept.get(pattern, int(flags))  # `marshal` knows no enumerations
    if found is None:
        found = re.compile(pattern, flags)
        kept.add(pattern, int(flags), partial(_parts, pattern, flags))
    return found


@cache
def _kept() -> Kept[re.Pattern[Any]] | None:
    if sys.implementation.name != "cpython":
        return None
    try:
        engine = import_module("_sre")
    except ImportError:
        return None
    return Kept("regexes", str(engine.MAGIC), engine.compile)


def _parts(pattern: str | bytes, flags: int) -> tuple[Any, ...] | None:
    """What the engine makes a regex of, if this Python's compiler is as expected."""
    try:
        parser, code_of = _compiler()
        parsed = parser.parse(pattern, flags)
        names: dict[str, int] = parsed.state.groupdict
        groups: list[str | None] = [None] * parsed.state.groups
        for name, number in names.items():
            groups[number] = name
        all_flags = int(flags) | int(parsed.state.flags)
        return pattern, all_flags, list(map(int, code_of(parsed, flags))), parsed.state.groups - 1, dict(names), tuple(groups)
    except (ImportError, AttributeError, TypeError, ValueError, KeyError):
        return None


def _compiler() -> tuple[Any, Callable[..., Any]]:
    parser, compiler = map(import_module, ("re._parser", "re._compiler") if sys.version_info >= (3, 11) else OLD_NAMES)
    return parser, compiler._code
