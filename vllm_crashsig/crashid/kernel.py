"""Oopses of the kernel, line by line: what failed, the function that it failed in, and the stack below it."""

from __future__ import annotations

from ..model import LogLine
from ..nouns import dataclass, field
from ..patterns import Match
from .frames import Own, native_frames
from .told import HEADLINE, Told, bounded, crash_id_of

MAX_SYMBOLS = 60
"""Functions that are kept of one stack."""
JOINED = 400
"""Lines within which one oops is told."""

_KINDS = {
    "null": "null pointer",
    "page": "page fault",
    "gpf": "general protection fault",
    "soft": "soft lockup",
    "hard": "hard lockup",
    "file": "kernel BUG",
    "oops": "Oops",
    "panic": "panic",
}
"""What the kernel calls its failures, the most telling first; the wording differs between versions."""
_ORDER = tuple(_KINDS)


@dataclass(slots=True)
class KernelTrace:
    """One oops of the kernel, with what it leads to."""

    name: str
    message: str
    line: LogLine
    last: LogLine
    claimants: frozenset[str]
    chained: frozenset[str] = frozenset()
    failed_in: str | None = None
    """The function that the instruction pointer was in."""
    symbols: list[str] = field(default_factory=list)
    """The stack from the innermost outwards."""
    ended: bool = False
    """Whether the stack is complete: the registers are printed once more after it."""

    @classmethod
    def begin(cls, match: Match[str], line: LogLine, claimants: frozenset[str]) -> KernelTrace:
        """Of the line that says what failed."""
        name = _name(match)
        message = ""
        if name in ("file", "panic"):
            message = match.group(name).rpartition("/")[2] if name == "file" else match.group(name)
        line = bounded(line)
        return cls(name, message, line, line, claimants)

    def joins(self, match: Match[str], line: LogLine, claimants: frozenset[str]) -> bool:
        """Takes what follows from the same oops. False for another one."""
        if line.order - self.last.order > JOINED or _ORDER.index(_name(match)) <= _ORDER.index(self.name):
            return False
        self.last = bounded(line)
        self.chained |= claimants
        return True

    def frame(self, match: Match[str]) -> None:
        """A function of the stack. Those with a question mark are left over in memory."""
        symbol = match.group("symbol")
        if match.group("rip"):
            self.ended = self.ended or (self.failed_in is not None and bool(self.symbols))
            self.failed_in = self.failed_in or symbol
        elif not match.group("unsure") and not self.ended and len(self.symbols) < MAX_SYMBOLS:
            self.symbols.append(symbol)

    def told(self) -> list[Told]:
        """The oops, as far as it was told."""
        own = Own()
        if self.name != "panic":  # it gives its reason; where the machine was at that moment is chance
            own = native_frames([*([self.failed_in] if self.failed_in else []), *self.symbols], "kernel")
        return [
            Told(
                crash_id=crash_id_of(f"kernel {_KINDS[self.name]}", own.tokens, self.message or (None if own.tokens else "")),
                kind=_KINDS[self.name],
                headline=self.line.text.strip()[:HEADLINE],
                frames=own.frames,
                line=self.line,
                first=self.line,
                last=self.last,
                claimants=self.claimants,
                chained=self.chained - self.claimants,
            )
        ]


def _name(match: Match[str]) -> str:
    return next(name for name in _ORDER if match.group(name))
