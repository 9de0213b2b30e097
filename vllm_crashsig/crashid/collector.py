"""Gathers the failures of one stream from lines that show markers, for each process apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..model import LogLine, Scope
from ..nouns import dataclass, replace
from ..patterns import Match
from .foreign import NamedException, Panic
from .kernel import KernelTrace
from .lists import matcher
from .native import REPORTS, NativeTrace
from .python import PythonTrace
from .told import Failure, Told, name_of

MAX_ENTRIES = 200
"""Failures that are kept, and processes that are followed at a time."""
NEAR = 4
"""Lines within which the parts of one short report follow each other."""

_WHOSE = {
    **dict.fromkeys(("traceback", "exception", "closing", "chain", "ignored", "request", "remote", "at"), ("_python",)),
    **dict.fromkeys((*REPORTS, "what", "stack", "native"), ("_native",)),
    **dict.fromkeys(("kernel", "kernel_frame"), ("_kernel",)),
    **dict.fromkeys(("panic", "go_panic", "goroutine", "go_frame"), ("_panic",)),
    "frame": ("_python", "_native"),
    "message": ("_python", "_panic"),
}
"""Marker -> the readers that understand it."""
_REPORTS = frozenset(REPORTS)
_Shown = dict[str, Match[str]]
_NOBODY: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Process:
    """What is being told of one process (of one scope)."""

    python: PythonTrace | None = None
    native: NativeTrace | None = None
    kernel: KernelTrace | None = None
    named: NamedException | None = None
    panic: Panic | None = None
    ignored: int = -NEAR - 1
    """Order of the last line that said that the next traceback does not matter."""
    request: int = -NEAR - 1
    """Order of the last line that said that the next traceback ended one request."""

    def told(self) -> Iterator[Told]:
        """All failures, as far as they were told."""
        for trace in (self.python, self.native, self.kernel, self.named, self.panic):
            if trace is not None:
                yield from trace.told()


class FailureCollector:
    """Gathers tracebacks and other failure text of one stream."""

    def __init__(self) -> None:
        self._processes: dict[Scope, _Process] = {}
        self._settled: dict[str, Failure] = {}
        self._kinds: set[str] = set()
        self._told: dict[str, Failure] | None = None
        self._claim = (-NEAR - 1, _NOBODY)
        """Order of the last line that fingerprints of failures matched, and which."""
        self.dropped = 0
        """Failures that were too many to keep."""

    @property
    def failures(self) -> Mapping[str, Failure]:
        """What was told so far, by crash id. Not to be changed."""
        if self._told is not None:
            return self._told
        found = self._told = {
            crash_id: replace(f, lines=[*f.lines], claimants={*f.claimants}, chained={*f.chained})
            for crash_id, f in self._settled.items()
        }
        for process in self._processes.values():
            for told in process.told():
                _record(found, told)
        return found

    def claim(self, line: LogLine, claimants: set[str]) -> None:
        """Fingerprints that matched a line: what only goes on with it is theirs too."""
        self._claim = (line.order, frozenset(claimants))

    def add(self, line: LogLine, markers: Sequence[tuple[str, Match[str]]], claimants: set[str]) -> bool:
        """One line with the markers that it shows, and the fingerprints that matched it. True for a new kind of failure."""
        self._told = None
        process = self._process(line.scope)
        shown: _Shown = {}
        readers: Iterable[str] = ()
        for name, match in markers:
            shown.setdefault(name, match)
            readers = dict.fromkeys((*readers, *_WHOSE[name])) if readers else _WHOSE[name]
        hit = frozenset(claimants) if claimants else _NOBODY
        if "ray_fatal" in shown and line.order - self._claim[0] <= NEAR:
            hit |= self._claim[1]  # Ray puts this line under the one that says what happened
        kinds = [getattr(self, reader)(process, line, shown, hit) for reader in readers]
        new = [kind for kind in kinds if kind is not None and kind not in self._kinds]
        if len(self._kinds) < MAX_ENTRIES:
            self._kinds.update(new)
        return bool(new)

    def _process(self, scope: Scope) -> _Process:
        """What is being told of a process. Where there are too many, the one that was silent longest is done."""
        process = self._processes.get(scope)
        if process is None:
            if len(self._processes) >= MAX_ENTRIES:
                self._settle(self._processes.pop(next(iter(self._processes))).told())
            process = self._processes[scope] = _Process()
        elif len(self._processes) > MAX_ENTRIES // 2:
            self._processes[scope] = self._processes.pop(scope)
        return process

    def _settle(self, told: Iterator[Told] | list[Told]) -> None:
        """Takes what is done."""
        for one in told:
            if not _record(self._settled, one):
                self.dropped += 1

    def _python(self, process: _Process, line: LogLine, shown: _Shown, claimants: frozenset[str]) -> str | None:
        trace = process.python
        if "ignored" in shown:
            process.ignored = line.order
        if "request" in shown:
            process.request = line.order
        if (match := shown.get("frame")) is not None:
            if match.group("dumped") is None and (trace is None or not trace.frame(line, match)):
                self._new(process, line).frame(line, match)
        elif (match := shown.get("traceback")) is not None:
            if trace is None or not trace.header(line, match):
                self._new(process, line).header(line, match)
        elif "remote" in shown:
            if trace is None or not trace.remote(line):
                self._new(process, line).remote(line)
        elif (match := shown.get("exception") or shown.get("closing")) is not None:
            if "exception" not in shown and match.group("part"):
                if trace is not None:
                    trace.part(line)
            elif trace is not None and not match.groupdict().get("java") and trace.closing(line, match, claimants):
                return match.group("type")
            elif "exception" in shown and (trace is None or not trace.is_being_explained(line)):
                return self._standalone(process, line, match, claimants)
        elif (match := shown.get("chain")) is not None:
            alone = process.named
            if alone is not None and line.order - alone.last <= NEAR and (trace is None or trace.last < alone.last):
                process.named = None
                trace = self._new(process, line)
                trace.seed(alone.first.kind, alone.first.message, alone.first.line, alone.claimants)
            if trace is not None:
                trace.link(line, match)
        elif (match := shown.get("message")) is not None and trace is not None:
            trace.message(line, match.group("message"))
        elif (
            (match := shown.get("at")) is not None and (named := process.named) is not None and line.order - named.last <= NEAR
        ):
            named.at(match, line)
            return named.first.kind
        return None

    def _new(self, process: _Process, line: LogLine) -> PythonTrace:
        if process.python is not None:
            self._settle(process.python.told())
        process.python = PythonTrace(
            ignored=line.order - process.ignored <= NEAR, of_request=line.order - process.request <= NEAR
        )
        return process.python

    def _standalone(self, process: _Process, line: LogLine, match: Match[str], claimants: frozenset[str]) -> str | None:
        """An exception's name at the beginning of a line. Of an ordinary line it is no failure, unless a stack follows."""
        kind, message, java = match.group("type"), match.group("message") or "", match.group("java") or ""
        if matcher("no-failures").fullmatch(name_of(kind)):
            return None
        named = process.named
        if java.startswith("Caused"):
            if named is not None and line.order - named.last <= 10 * NEAR:
                named.cause(kind, message, line, claimants)
            return None
        if named is not None:
            self._settle(named.told())
        sure = bool(java) or (line.level in ("error", "critical") and "retrying" not in message.lower())
        process.named = NamedException.begin(kind, message, line, claimants, sure=sure)
        return kind if sure else None

    def _native(self, process: _Process, line: LogLine, shown: _Shown, claimants: frozenset[str]) -> str | None:
        trace = process.native
        if trace is None and _REPORTS.isdisjoint(shown):
            return None
        if "ray_fatal" in shown and any(p.native and line.order - p.native.last <= NEAR for p in self._processes.values()):
            return None  # the stack below what was told already, without the prefix that names the process
        told: str | None = None
        for name in REPORTS:
            if (match := shown.get(name)) is None or (trace is not None and trace.report(name, match, line, claimants)):
                continue
            if trace is not None:
                self._settle(trace.told())
            trace = process.native = NativeTrace()
            trace.report(name, match, line, claimants)
            told = name
        if trace is None:
            return told
        if (match := shown.get("what")) is not None:
            trace.what(line, match, claimants)
        if (match := shown.get("stack")) is not None:
            trace.stack(match)
        if (match := shown.get("native")) is not None:
            trace.native(match)
        if (match := shown.get("frame")) is not None and match.group("dumped") is not None:
            trace.frame(line, match)
        return told

    def _kernel(self, process: _Process, line: LogLine, shown: _Shown, claimants: frozenset[str]) -> str | None:
        trace = process.kernel
        if (match := shown.get("kernel")) is not None and (trace is None or not trace.joins(match, line, claimants)):
            if trace is not None:
                self._settle(trace.told())
            process.kernel = KernelTrace.begin(match, line, claimants)
            return "kernel"
        if (match := shown.get("kernel_frame")) is not None and trace is not None:
            trace.frame(match)
        return None

    def _panic(self, process: _Process, line: LogLine, shown: _Shown, claimants: frozenset[str]) -> str | None:
        trace = process.panic
        begun: Panic | None = None
        if (match := shown.get("panic")) is not None:
            begun = Panic.of_rust(match, line, claimants)
        elif (match := shown.get("go_panic")) is not None and (trace is None or trace.sure or line.order - trace.last > NEAR):
            begun = Panic.of_go(match, line, claimants)
        if begun is not None:
            if trace is not None:
                self._settle(trace.told())
            process.panic = begun
            return begun.language if begun.sure else None
        if trace is None:
            return None
        if (match := shown.get("message")) is not None and not trace.message and line.order - trace.last == 1:
            trace.message = match.group("message").strip()
        elif "goroutine" in shown and line.order - trace.last <= 2 * NEAR:
            trace.goroutine(line)
            return trace.language
        elif (match := shown.get("go_frame")) is not None and line.order - trace.last <= NEAR:
            trace.frame(match, line)
        return None


def _record(found: dict[str, Failure], told: Told) -> bool:
    """Adds what was told to the failure of its id. False when there are too many."""
    failure = found.get(told.crash_id)
    if failure is None:
        if len(found) >= MAX_ENTRIES:
            return False
        failure = found[told.crash_id] = Failure(told.crash_id, told.headline, told.kind, told.frames)
    failure.add(told)
    return True
