"""What ends a process in native code, line by line: uncaught C++ exceptions, failed checks, a damaged heap, signals.

One crash is often told several times, each with less: ``what()``, then the signal, then Python's fatal error, then the shell.
Such lines are joined, and the most telling one gives the id.
"""

from __future__ import annotations

from ..model import LogLine
from ..nouns import dataclass, field
from ..patterns import Match
from .frames import Own, native_frames, python_frames
from .masks import function_of
from .told import HEADLINE, Told, bounded, crash_id_of

REPORTS = ("terminate", "fatal_python", "check_failed", "ray_fatal", "assertion", "heap", "signal", "sanitizer", "core_dumped")
"""Markers of lines that say what happened."""
MAX_REPORTS = 8
MAX_SYMBOLS = 60
"""What is kept of one crash."""
JOINED = 400
"""Lines within which one crash is told (a dump of all threads is long)."""

_KINDS = {"check_failed": "Check failed", "ray_fatal": "Ray fatal error", "assertion": "Assertion failed", "heap": "heap"}
_SIGNALS = {
    "Segmentation fault": "SIGSEGV", "Aborted": "SIGABRT", "Bus error": "SIGBUS", "Illegal instruction": "SIGILL",
    "Floating point exception": "SIGFPE", "Floating-point exception": "SIGFPE",
}  # fmt: skip
_RANKS = {"fatal_python": 2, "ray_fatal": 2, "signal": 3, "core_dumped": 4}
"""How telling a report is; the others tell most: 1."""
_STACKS: dict[str, tuple[str, ...]] = {
    "terminate": ("c10",), "check_failed": ("ray", "glog"), "ray_fatal": ("ray",), "assertion": (), "sanitizer": ("numbered",),
}  # fmt: skip
"""Whose stack counts beside the message: what the report itself prints. What a debugger or a signal handler adds may be missing
the next time. Reports that say little (signals, a damaged heap) take any."""


@dataclass(slots=True)
class _Report:
    """A line that says what happened."""

    name: str
    kind: str
    message: str
    place: str
    line: LogLine
    claimants: frozenset[str]

    @property
    def rank(self) -> int:
        """How telling it is; 1 tells most."""
        return 3 if self.name == "fatal_python" and self.kind.startswith("SIG") else _RANKS.get(self.name, 1)


@dataclass(slots=True)
class NativeTrace:
    """One native crash in one scope."""

    reports: list[_Report] = field(default_factory=list)
    symbols: dict[str, list[str]] = field(default_factory=dict)
    """Of each kind of stack, from the innermost outwards."""
    python: list[tuple[str, str, LogLine]] = field(default_factory=list)
    """Frames of the thread that crashed, from the innermost outwards."""
    in_stack: bool = False
    """Whether the frames of the crashed thread are being printed."""
    stacks: int = 0
    """Numbered stacks that have begun; only the first is that of the crash."""
    raised: int = 0
    """c10 errors whose stacks have begun; only the first is the innermost."""
    last: int = 0

    def report(self, name: str, match: Match[str], line: LogLine, claimants: frozenset[str]) -> bool:
        """A line that says what happened. False when it is about another crash."""
        report = _read(name, match, line, claimants)
        if self.reports and line.order - self.last > JOINED:
            return False
        if any(r.kind != report.kind for r in self.reports if r.rank == report.rank):
            return False
        self.last = line.order
        self.in_stack = False
        if len(self.reports) < MAX_REPORTS:
            self.reports.append(report)
        return True

    def what(self, line: LogLine, match: Match[str], claimants: frozenset[str]) -> None:
        """The message of an uncaught C++ exception."""
        for report in self.reports:
            if report.name == "terminate" and not report.message:
                report.message = match.group("message").strip()
                report.claimants |= claimants
                self.last = line.order
                return

    def stack(self, match: Match[str]) -> None:
        """A stack begins: of the thread that crashed or of another one, or of the place where a c10 error was raised."""
        if match.group("function"):
            self.raised += 1
            if self.raised == 1:
                self.symbols["c10"] = [match.group("function")]
        self.in_stack = bool(match.group("current"))

    def native(self, match: Match[str]) -> None:
        """A native frame. A second stack (another thread, where memory was freed) does not count."""
        family, symbol = next((n, s) for n, s in match.groupdict().items() if s)
        self.stacks += family == "numbered" and match.group(0).lstrip().startswith("#0 ")
        symbols = self.symbols.setdefault(family, [])
        again = (family == "numbered" and self.stacks > 1) or (family == "c10" and self.raised > 1)
        if len(symbols) < MAX_SYMBOLS and not again:
            symbols.append(symbol)

    def frame(self, line: LogLine, match: Match[str]) -> None:
        """A frame of Python's own dump of a thread."""
        if self.in_stack and len(self.python) < MAX_SYMBOLS:
            self.python.append((match.group("file"), match.group("dumped"), bounded(line)))
            self.last = line.order

    def told(self) -> list[Told]:
        """The crash, as far as it was told."""
        if not self.reports:
            return []
        best = min(self.reports, key=lambda report: report.rank)
        own, at = self._own(best)
        message = best.message or ("" if best.kind.startswith("SIG") else best.line.text)
        composed = best.name in ("terminate", "check_failed") and best.message not in ("", best.kind)
        headline = f"{best.kind}: {best.message}" if composed else best.line.text.strip()
        if best.name == "ray_fatal" and own.frames:  # the line itself says nothing
            headline = f"{best.kind} in {own.frames[-1]}"
        chain = tuple(dict.fromkeys(r.line.text.strip()[:HEADLINE] for r in self.reports))
        return [
            Told(
                crash_id=crash_id_of(best.kind, own.tokens, message if best.rank == 1 or own.weak else None),
                kind=best.kind,
                headline=headline[:HEADLINE],
                frames=own.frames,
                line=best.line,
                at=at,
                first=self.reports[0].line,
                last=self.reports[-1].line,
                chain=chain if len(chain) > 1 else (),
                claimants=best.claimants,
                chained=frozenset().union(*(r.claimants for r in self.reports)) - best.claimants,
            )
        ]

    def _own(self, best: _Report) -> tuple[Own, LogLine | None]:
        """The telling frames, and the line of the innermost one where there is a line for each."""
        if best.place:
            return Own((best.place,), (best.place,)), None
        if self.python and best.name not in _STACKS:
            outwards = self.python[::-1]
            own = python_frames([(file, function) for file, function, _ in outwards])
            return own, outwards[own.at][2] if own.at is not None else None
        for family in _STACKS.get(best.name, ("glog", "numbered", "ray")):
            if (own := native_frames(self.symbols.get(family, ()))).tokens:
                return own, None
        return Own(weak=True), None


def _read(name: str, match: Match[str], line: LogLine, claimants: frozenset[str]) -> _Report:
    groups = match.groupdict()
    told = (groups.get("type") or groups.get("type2") or "").strip()
    place = ""
    if name == "assertion" and groups.get("file"):
        place = f"{groups['file'].rpartition('/')[2]}:{function_of(groups.get('function') or '')}"
    kind = _KINDS.get(name) or _SIGNALS.get(told) or told or "terminate"
    return _Report(name, kind, (groups.get("message") or "").strip(), place, bounded(line), claimants)
