"""The nouns that flow through the package, all frozen: lines, hits and who they speak of."""

from __future__ import annotations

from collections.abc import Mapping

from .nouns import dataclass, field

FactValue = str | int | float | bool

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
"""Log levels in ascending order of weight."""


class _Fixed:
    """What never changes is its own copy."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> object:
        return self


@dataclass(frozen=True, slots=True)
class Scope(_Fixed):
    """Which part of the system a line speaks of, as far as its envelopes tell."""

    node: str | None = None
    container: str | None = None
    component: str | None = None
    rank: int | None = None
    gpu: int | None = None
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class LogLine(_Fixed):
    """One line with all its envelopes peeled off."""

    source: str
    number: int
    """1-based line number in the source."""
    offset: int
    """Byte offset of the line's beginning in the (decompressed) source."""
    text: str
    scope: Scope
    time: float | None = None
    """Seconds since the epoch by the line's own clock."""
    clock: str | None = None
    """``utc``, ``local``, ``no-year`` or ``boot``: times of different clocks are never compared."""
    level: str | None = None
    layers: tuple[str, ...] = ()
    count: int = 1
    """How many occurrences the line stands for (Ray folds repeats)."""
    order: int = 0
    """How many lines of text were written up to this one: grows along a source, also where its newest line stands first."""


@dataclass(frozen=True, slots=True)
class Hit(_Fixed):
    """An indicator that matched a line, with its typed captures."""

    fingerprint: str
    indicator: str
    line: LogLine
    facts: Mapping[str, FactValue] = field(default_factory=dict)
    span: tuple[int, int] = (0, 0)
    """Where in ``line.text`` it matched."""
    decisive: bool = False
    """Whether this alone can name a failure."""

    @property
    def matched(self) -> str:
        """The part of the line that matched (of very long lines perhaps another part)."""
        return self.line.text[slice(*self.span)]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of one source was read, and what was cut."""

    source: str
    bytes: int
    lines: int
    undecodable: int
    envelopes: tuple[str, ...]
    first_time: float | None
    last_time: float | None
    last_clock: str | None
    caps: tuple[str, ...]
