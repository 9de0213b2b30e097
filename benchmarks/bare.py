"""The bare scanner beside which the package is measured, and the catalogue's patterns and literals for other programs.

The only benchmark that looks inside the package, for what the gate looks for: every indicator that stands behind it, what any
failure may print, and what spoils a line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from measuring import ChangedError, MissingError

from vllm_crashsig import Catalogue, Classifier

CHUNK = 256 * 1024
"""Bytes that are scanned at a time: few enough to stay in a core's own cache, which is the fastest."""

Pattern = tuple[str, bool]
"""A pattern or a literal, and whether its case counts for nothing."""


def wanted(catalogue: Catalogue | None = None) -> tuple[list[Pattern], list[Pattern]]:
    """The patterns of a catalogue (default: the built-in one) that a gate stands before, and the literals that it looks for."""
    return _wanted(catalogue) if catalogue is not None else _builtin()


@lru_cache(maxsize=1)
def _builtin() -> tuple[list[Pattern], list[Pattern]]:
    return _wanted(Classifier().catalogue)


def _wanted(catalogue: Catalogue) -> tuple[list[Pattern], list[Pattern]]:
    try:
        from vllm_crashsig.crashid import MARKERS
        from vllm_crashsig.envelopes.clean import SPOILERS
        from vllm_crashsig.gate import gateable, literals_of

        patterns = [
            (indicator.pattern, indicator.ignore_case)
            for fingerprint in catalogue
            for indicator in fingerprint.indicators.values()
            if indicator.gate and gateable(indicator)
        ]
        patterns += [(pattern, False) for pattern in MARKERS.values()]
        numbered = [(-1, spoiler, False) for spoiler in SPOILERS]
        numbered += [(n, pattern, ignore_case) for n, (pattern, ignore_case) in enumerate(patterns)]
        return patterns, list(literals_of(numbered))
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ChangedError(f"benchmarks/bare.py must follow the package: {type(error).__name__}: {error}") from error


def bare_scan(catalogue: Catalogue | None = None, *, patterns: bool = False) -> Callable[[Path], object]:
    """Reads a file and scans it with Hyperscan, with a callback that does nothing: for the gate's literals, or for the patterns
    themselves, as Hyperscan would be used without a gate. (What it cannot do of them it takes for what comes near.)
    """
    try:
        import hyperscan
    except ImportError as error:
        raise MissingError("Hyperscan is not installed: pip install hyperscan") from error
    expressions = wanted(catalogue)[0 if patterns else 1]
    flags = hyperscan.HS_FLAG_MULTILINE | hyperscan.HS_FLAG_PREFILTER if patterns else 0
    database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[text.encode() for text, _ in expressions],
        ids=list(range(len(expressions))),
        elements=len(expressions),
        flags=[flags | (hyperscan.HS_FLAG_CASELESS if caseless else 0) for _, caseless in expressions],
        literal=not patterns,
    )
    scratch = hyperscan.Scratch(database)

    def on_match(*_: object) -> None:
        return None

    def run(path: Path) -> None:
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(CHUNK):
                database.scan(chunk, match_event_handler=on_match, scratch=scratch)

    return run
