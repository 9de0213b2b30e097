"""Compiled patterns: the only module that imports `regex`.

A pattern is written for the *peeled* text of one line. `compile_pattern` gives the judge (it confirms and captures,
with a time budget). What it compiled is kept in the cache: compiling takes a thousand times as long as reading that.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import regex

from .errors import CatalogueError
from .kept import Kept

SEARCH_TIMEOUT = 0.25
"""Seconds that one pattern may spend on one line."""

Pattern = regex.Pattern
Match = regex.Match


class PatternTimeoutError(Exception):
    """A search used up its time budget."""


@lru_cache(maxsize=65536)
def compile_pattern(pattern: str, ignore_case: bool = False) -> regex.Pattern[str]:
    """The compiled judge of a pattern. Raises CatalogueError when it is not a valid regex."""
    flags = int(regex.ASCII | (regex.IGNORECASE if ignore_case else 0))
    compiled = _kept().get(pattern, flags)
    if compiled is None:
        try:
            compiled = regex.compile(pattern, flags)
        except regex.error as error:
            raise CatalogueError(f"pattern is not a valid regex: {error}") from error
        _kept().add(pattern, flags, lambda: _taken_apart(compiled)[1])
    return compiled


@cache
def _kept() -> Kept[regex.Pattern[str]]:
    return Kept("patterns", getattr(regex, "__version__", "?"), _taken_apart(regex.compile("a"))[0])


def _taken_apart(compiled: regex.Pattern[str]) -> tuple[Callable[..., regex.Pattern[str]], tuple[Any, ...]]:
    """How `regex` has it pickled: a function of its own, and what to call that with."""
    reduce: Callable[..., Any] = copyreg.dispatch_table[type(compiled)]
    function, arguments = reduce(compiled)
    return function, arguments


def search(compiled: regex.Pattern[str], text: str, timeout: float = SEARCH_TIMEOUT) -> regex.Match[str] | None:
    """First match in ``text``. Raises PatternTimeoutError after ``timeout`` seconds."""
    try:
        return compiled.search(text, timeout=timeout)
    except TimeoutError as error:
        raise PatternTimeoutError(compiled.pattern) from error


@cache
def foreign() -> regex.Pattern[str]:
    """Syntax that only `regex` has. Fingerprints may not use it: `literals` could not read it, nor could another engine."""
    return regex.compile(
        r"""(?<!\\)(?:\\\\)*(?:
            \\K | \(\?\| | \{[eids]<= | \(\?R\) | \(\?\d+\) | \(\?& | \\L< | \\[GXmMR](?![a-z]) | \(\?[a-zA-Z]*V1 | \[\[:
            | (?<=\[[^\]]*)(?:--|\|\||&&|~~)
        )""",
        regex.VERBOSE,
    )
