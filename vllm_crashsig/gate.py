"""The one-pass gate: which patterns may match where in a frame. The only module that imports `hyperscan`.

The gate is a superset: every line on which a pattern matches gets through, with a few more. It looks for the literals that
`literals` derives from the patterns, with Hyperscan's literal matcher,
https://intel.github.io/hyperscan/dev-reference/compilation.html#pure-literal-patterns.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

from .literals import NoLiteralError, required_literals
from .schema import Indicator

Patterns = Sequence[tuple[int, str, bool]]
"""(index, pattern, ignore case) of each."""


class Gate(Protocol):
    """Finds candidate patterns in the text of a frame."""

    def scan(self, text: bytes) -> list[tuple[int, Sequence[int]]]:
        """(end offset of a literal, indexes of the patterns that it may announce), in order of offset."""
        ...


class HyperscanGate:
    """Scans with Hyperscan. Thread-safe.

    literals: each literal with whether its case counts for nothing; announces: the patterns behind each, in the same order.
    """

    def __init__(self, database: Any, announces: Sequence[Sequence[int]]) -> None:
        self._database = database
        self._announces = announces
        self._local = threading.local()

    def scan(self, text: bytes) -> list[tuple[int, Sequence[int]]]:
        import hyperscan

        scratch = getattr(self._local, "scratch", None)
        if scratch is None:  # Hyperscan's scratch space must not be shared between threads
            scratch = self._local.scratch = hyperscan.Scratch(self._database)
        found: list[tuple[int, int]] = []
        append = found.append

        def on_match(literal: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append((end, literal))

        self._database.scan(text, match_event_handler=on_match, scratch=scratch)
        found.sort()
        announces = self._announces
        return [(end, announces[literal]) for end, literal in found]

    def dump(self) -> bytes:
        """The compiled database, for the cache."""
        import hyperscan

        return bytes(hyperscan.dumpb(self._database))

    @classmethod
    def load(cls, data: bytes, patterns: Patterns) -> HyperscanGate:
        """A gate from `dump`. Raises ValueError when the data is of another version or CPU, or damaged."""
        import hyperscan

        try:
            return cls(hyperscan.loadb(bytes(data), hyperscan.HS_MODE_BLOCK), list(literals_of(patterns).values()))
        except hyperscan.error as error:
            raise ValueError(f"not a usable gate database: {error}") from error

    @classmethod
    def compile(cls, patterns: Patterns) -> HyperscanGate:
        """A gate for the patterns. Raises NoLiteralError when one cannot be gated."""
        import hyperscan

        literals = literals_of(patterns)
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[literal.encode() for literal, _ in literals],
            ids=list(range(len(literals))),
            elements=len(literals),
            flags=[hyperscan.HS_FLAG_CASELESS if caseless else 0 for _, caseless in literals],
            literal=True,
        )
        return cls(database, list(literals.values()))


def literals_of(patterns: Patterns) -> dict[tuple[str, bool], list[int]]:
    """Each literal (with whether its case counts for nothing) and the patterns that need one of its kind, in a stable order."""
    found: dict[tuple[str, bool], list[int]] = {}
    for index, pattern, ignore_case in patterns:
        for literal in required_literals(pattern, ignore_case):
            found.setdefault((literal, ignore_case), []).append(index)
    return found


def gateable(indicator: Indicator) -> bool:
    """Whether the pattern may stand behind the gate."""
    return indicator.slow is None and gate_problem(indicator.pattern, indicator.ignore_case) is None


def gate_problem(pattern: str, ignore_case: bool = False) -> str | None:
    """Why this pattern cannot be gated, or None."""
    try:
        required_literals(pattern, ignore_case)
    except NoLiteralError as error:
        return str(error)
    return None


def make_gate(patterns: Patterns) -> HyperscanGate | None:
    """The gate for the patterns, or None where Hyperscan cannot be imported."""
    try:
        import hyperscan  # noqa: F401
    except ImportError:
        return None
    return HyperscanGate.compile(patterns)
