"""The one-pass gate: which patterns may match where in a frame. The only module that imports `hyperscan`.

The gate is a superset: every line on which a pattern matches gets through, with a few more. It is compiled from the same
patterns as the judge (see `patterns.gate_expression`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .gate_copy import gate_expression
from .patterns import UNGATEABLE
from .schema import Indicator

Patterns = Sequence[tuple[int, str, bool]]
"""(index, pattern, ignore case) of each."""


class Gate(Protocol):
    """Finds candidate patterns in the text of a frame."""

    def scan(self, text: bytes) -> list[tuple[int, int]]:
        """(end offset, pattern index) of each candidate, in order of offset."""
        ...


class HyperscanGate:
    """Scans with Hyperscan, https://intel.github.io/hyperscan/dev-reference/. Thread-safe.

    aliases: for patterns whose gate copies are equal, the other indexes that a hit of the first stands for.
    """

    def __init__(self, database: Any, aliases: Mapping[int, Sequence[int]]) -> None:
        self._database = database
        self._aliases = aliases
        self._local = threading.local()

    def scan(self, text: bytes) -> list[tuple[int, int]]:
        import hyperscan

        scratch = getattr(self._local, "scratch", None)
        if scratch is None:  # Hyperscan's scratch space must not be shared between threads
            scratch = self._local.scratch = hyperscan.Scratch(self._database)
        found: list[tuple[int, int]] = []
        append = found.append
        aliases = self._aliases

        def on_match(pattern: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append((end, pattern))
            if pattern in aliases:
                found.extend((end, other) for other in aliases[pattern])

        self._database.scan(text, match_event_handler=on_match, scratch=scratch)
        found.sort()
        return found

    def dump(self) -> bytes:
        """The compiled database, for the cache."""
        import hyperscan

        return bytes(hyperscan.dumpb(self._database))

    @classmethod
    def load(cls, data: bytes, patterns: Patterns) -> HyperscanGate:
        """A gate from `dump`. Raises ValueError when the data is of another version or CPU, or damaged."""
        import hyperscan

        try:
            return cls(hyperscan.loadb(bytes(data), hyperscan.HS_MODE_BLOCK), _distinct(patterns)[1])
        except hyperscan.error as error:
            raise ValueError(f"not a usable gate database: {error}") from error

    @classmethod
    def compile(cls, patterns: Patterns) -> HyperscanGate:
        """A gate for (index, pattern, ignore case) triples."""
        import hyperscan

        base = hyperscan.HS_FLAG_PREFILTER | hyperscan.HS_FLAG_ALLOWEMPTY
        distinct, aliases = _distinct(patterns)
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[expression.encode() for expression, _ in distinct],
            ids=list(distinct.values()),
            elements=len(distinct),
            flags=[base | (hyperscan.HS_FLAG_CASELESS if caseless else 0) for _, caseless in distinct],
        )
        return cls(database, aliases)


def _distinct(patterns: Patterns) -> tuple[dict[tuple[str, bool], int], dict[int, list[int]]]:
    """Each different gate copy with its first index, and the other indexes of each first one."""
    first: dict[tuple[str, bool], int] = {}
    aliases: dict[int, list[int]] = {}
    for index, pattern, caseless in patterns:
        leader = first.setdefault((gate_expression(pattern), caseless), index)
        if leader != index:
            aliases.setdefault(leader, []).append(index)
    return first, aliases


def gateable(indicator: Indicator) -> bool:
    """Whether the pattern may stand behind the gate."""
    return indicator.slow is None and not UNGATEABLE.search(indicator.pattern)


def gate_problem(pattern: str, ignore_case: bool = False) -> str | None:
    """Why Hyperscan cannot gate this pattern (None: it can, or it is not installed)."""
    if found := UNGATEABLE.search(pattern):
        return f"{found.group(0)!r} has no equivalent in Hyperscan"
    try:
        import hyperscan
    except ImportError:
        return None
    try:
        gate = HyperscanGate.compile([(0, pattern, ignore_case)])
    except hyperscan.error as error:
        return str(error)
    return "matches the empty text" if gate.scan(b"") else None


def make_gate(patterns: Patterns) -> HyperscanGate | None:
    """The gate for (index, pattern, ignore case) triples, or None where Hyperscan cannot be imported."""
    try:
        import hyperscan  # noqa: F401
    except ImportError:
        return None
    return HyperscanGate.compile(patterns)
