"""The one-pass gate: which patterns may match where in a frame. The only module that imports `hyperscan`.

The gate is a superset: every line on which a pattern matches gets through, with a few more. It looks for the literals that
`literals` derives from the patterns, with Hyperscan's literal matcher,
https://intel.github.io/hyperscan/dev-reference/compilation.html#pure-literal-patterns.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, get_args

from .literals import NoLiteralError, required_literals
from .schema import Indicator

Patterns = Sequence[tuple[int, str, bool]]
"""(index, pattern, ignore case) of each. With a negative index comes a plain literal."""
Literals = Mapping[tuple[str, bool], Sequence[int]]
"""Each literal, with whether its case counts for nothing, and the indexes that it announces."""

Part = Literal["all", "rare", "frequent"]
"""Which literals to look for. Frequent ones announce nothing but patterns that ordinary lines match; all others are rare."""


class Gate(Protocol):
    """Finds candidate patterns in the text of a frame."""

    def scan(self, text: bytes, part: Part = "all") -> list[tuple[int, Sequence[int]]]:
        """(end offset of a literal, indexes of the patterns that it may announce), in order of offset."""
        ...


class HyperscanGate:
    """Scans with Hyperscan. Thread-safe.

    databases: of all literals, and of the two parts where both of them hold some; announces: the patterns behind each literal.
    """

    def __init__(self, databases: Sequence[Any], announces: Iterable[Sequence[int]]) -> None:
        self._databases: dict[str, Any] = dict(zip(get_args(Part), databases, strict=False))
        self._announces = [tuple(patterns) for patterns in announces]
        self._local = threading.local()

    def scan(self, text: bytes, part: Part = "all") -> list[tuple[int, Sequence[int]]]:
        database = self._databases.get(part)
        if database is None:
            if part == "frequent":
                return []
            database, part = self._databases["all"], "all"
        found: list[tuple[int, int]] = []
        append = found.append

        def on_match(literal: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append((end, literal))

        database.scan(text, match_event_handler=on_match, scratch=self._scratch(part))
        if not found:
            return []
        found.sort()
        announces = self._announces
        return [(end, announces[literal]) for end, literal in found]

    def _scratch(self, part: Part) -> Any:
        """Hyperscan's working memory, which must not be shared between threads."""
        scratch = getattr(self._local, part, None)
        if scratch is None:
            import hyperscan

            scratch = hyperscan.Scratch(self._databases[part])
            setattr(self._local, part, scratch)
        return scratch

    def dump(self) -> bytes:
        """The compiled databases, for the cache."""
        import hyperscan

        parts = [bytes(hyperscan.dumpb(database)) for database in self._databases.values()]
        return b"".join(len(part).to_bytes(8, "little") + part for part in parts)

    @classmethod
    def load(cls, data: bytes, literals: Literals) -> HyperscanGate:
        """A gate from `dump`. Raises ValueError when the data is of another version or CPU, or damaged."""
        import hyperscan

        databases = []
        try:
            while data:
                end = 8 + int.from_bytes(data[:8], "little")
                databases.append(hyperscan.loadb(data[8:end], hyperscan.HS_MODE_BLOCK))
                data = data[end:]
        except hyperscan.error as error:
            raise ValueError(f"not a usable gate database: {error}") from error
        if len(databases) not in (1, 3):
            raise ValueError("not a gate")
        return cls(databases, literals.values())

    @classmethod
    def compile(cls, literals: Literals, frequent: frozenset[int] = frozenset()) -> HyperscanGate:
        """A gate for these literals.

        frequent: patterns that so many ordinary lines match that a scan may want to leave them out.
        """
        parts: list[list[_Numbered]] = [[], [], []]
        for number, (literal, announced) in enumerate(literals.items()):
            parts[0].append((number, literal))
            parts[2 if frequent.issuperset(announced) else 1].append((number, literal))
        return cls([_compile(part) for part in (parts if all(parts) else parts[:1])], literals.values())


_Numbered = tuple[int, tuple[str, bool]]


def _compile(literals: Sequence[_Numbered]) -> Any:
    """A database that tells the numbers of the literals that it finds."""
    import hyperscan

    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[literal.encode() for _, (literal, _) in literals],
        ids=[number for number, _ in literals],
        elements=len(literals),
        flags=[hyperscan.HS_FLAG_CASELESS if caseless else 0 for _, (_, caseless) in literals],
        literal=True,
    )
    return database


def literals_of(patterns: Patterns) -> dict[tuple[str, bool], list[int]]:
    """Each literal (with whether its case counts for nothing) and the patterns that need one of its kind, in a stable order.

    Those with quotes come also as they stand in JSON.
    """
    found: dict[tuple[str, bool], list[int]] = {}
    for index, pattern, ignore_case in patterns:
        for literal in required_literals(pattern, ignore_case) if index >= 0 else (pattern,):
            found.setdefault((literal, ignore_case), []).append(index)
            if '"' in literal and index >= 0:
                found.setdefault((literal.replace('"', '\\"'), ignore_case), []).append(index)
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


def make_gate(literals: Literals, frequent: frozenset[int] = frozenset()) -> HyperscanGate | None:
    """The gate for the literals (see `HyperscanGate.compile`), or None where Hyperscan cannot be imported."""
    return HyperscanGate.compile(literals, frequent) if scanner_version() is not None else None


def scanner_version() -> str | None:
    """Which Hyperscan there is; None if there is none."""
    try:
        import hyperscan
    except ImportError:
        return None
    return str(getattr(hyperscan, "__version__", "?"))
