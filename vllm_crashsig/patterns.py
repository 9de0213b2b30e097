"""Compiled patterns: the only module that imports `regex`.

A pattern is written for the *peeled* text of one line. `compile_pattern` gives the judge (it confirms and captures,
with a time budget).
"""

from __future__ import annotations

from functools import lru_cache

import regex

from .errors import CatalogueError

SEARCH_TIMEOUT = 0.25
"""Seconds that one pattern may spend on one line."""

Pattern = regex.Pattern
Match = regex.Match


class PatternTimeoutError(Exception):
    """A search used up its time budget."""


@lru_cache(maxsize=8192)
def compile_pattern(pattern: str, ignore_case: bool = False) -> regex.Pattern[str]:
    """The compiled judge of a pattern. Raises CatalogueError when it is not a valid regex."""
    try:
        return regex.compile(pattern, regex.ASCII | (regex.IGNORECASE if ignore_case else 0))
    except regex.error as error:
        raise CatalogueError(f"pattern is not a valid regex: {error}") from error


def search(compiled: regex.Pattern[str], text: str, timeout: float = SEARCH_TIMEOUT) -> regex.Match[str] | None:
    """First match in ``text``. Raises PatternTimeoutError after ``timeout`` seconds."""
    try:
        return compiled.search(text, timeout=timeout)
    except TimeoutError as error:
        raise PatternTimeoutError(compiled.pattern) from error


FOREIGN = regex.compile(
    r"""(?<!\\)(?:\\\\)*(?:
        \\K | \(\?\| | \{[eids]<= | \(\?R\) | \(\?\d+\) | \(\?& | \\L< | \\[GXmMR](?![a-z]) | \(\?[a-zA-Z]*V1 | \[\[:
        | (?<=\[[^\]]*)(?:--|\|\||&&|~~)
    )""",
    regex.VERBOSE,
)
"""Syntax that only `regex` has. Fingerprints may not use it: `literals` could not read it, nor could another engine."""
