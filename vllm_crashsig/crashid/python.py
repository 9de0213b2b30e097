"""Python's tracebacks, line by line: chained, in groups, from another process, or of several processes at once."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from ..model import LogLine
from ..nouns import replace
from ..patterns import Match
from .chains import MAX_FRAMES, Link, Raised, Traceback, tell_chain, tell_group
from .lists import matcher
from .told import Told, bounded, name_of

MAX_RAISED = 32
"""Exceptions that are kept of one chain or group, and tracebacks that may be open at the same time."""
GAP = 8
"""Lines after a frame (its source, and marks below it) within which another process may begin a traceback."""
CLOSED = 80
"""Lines after a frame within which its traceback may end."""
QUIET = frozenset({"debug", "info", "warning"})
"""Levels at which a traceback tells of something that was dealt with."""
_LEVEL_WORDS = frozenset({"INFO", "WARNING", "WARN", "ERROR", "DEBUG", "CRITICAL", "FATAL", "NOTE", "TRACE", "TODO"})


class PythonTrace:
    """What hangs together in one scope: one chain of exceptions, one group, or tracebacks that are printed at the same time.

    ignored: whether it was announced as something that does not matter.
    of_request: whether it was announced as what ended one request.
    """

    def __init__(self, *, ignored: bool = False, of_request: bool = False) -> None:
        self.last = 0
        """Order of the last line that was taken."""
        self._ignored = ignored
        self._of_request = of_request
        self._open: list[Traceback] = []
        self._begun = 0
        self._chains: list[list[Raised]] = []
        self._together: list[Raised] = []
        """Those that may have been printed into each other."""
        self._link: Link = ""
        self._in_group = False
        self._next_part = False
        """Whether the next exception is another one of the group."""
        self._around: list[Raised] = []
        """What a group was wrapped in afterwards."""
        self._wraps_group = False

    def header(self, line: LogLine, match: Match[str]) -> bool:
        """A traceback begins. False when it has nothing to do with what was told here before."""
        if self._open and line.order - self.last > GAP:
            self._open.clear()  # their last lines never came
        goes_on = bool(self._open or self._link or (self._in_group and ("|" in match.group("before") or self._next_part)))
        if match.group("word") == "Original " and self._chains and line.order - self.last <= 3:
            self._chains.pop()  # what was told is told again now, by the process where it happened
            goes_on = True
        if not goes_on and self._begun:
            return False
        self._begin(line, group=(match.group("word") or "").startswith("Exception"))
        return True

    def remote(self, line: LogLine) -> bool:
        """The traceback of a Ray task or actor begins; what was open is how the caller waited for it. False as for `header`."""
        if not self._open and self._chains and not self._link:
            return False
        traceback = self._open[-1] if self._open else self._begin(line)
        traceback.frames.clear()
        traceback.outermost = None
        traceback.first = bounded(line)
        self.last = line.order
        return True

    def frame(self, line: LogLine, match: Match[str]) -> bool:
        """A frame. False when it belongs to nothing that is open here."""
        if not self._open:
            if self._begun:
                return False
            self._begin(line)
        drawn = match.group("file") is None  # by IPython or rich: not indented
        file, function = _either(match, "file") or "", _either(match, "function") or "<syntax>"
        frame = ("<cell>", "<module>") if file.startswith("Cell In") else (file, function)
        traceback = self._continued_by(frame)
        traceback.frames.append((*frame, bounded(line)))
        traceback.outermost = traceback.outermost or frame
        traceback.lead = len(match.group("lead")) + drawn
        self._took(line)
        return True

    def link(self, line: LogLine, match: Match[str]) -> None:
        """The words between two tracebacks of a chain."""
        if self._chains and not self._open:
            self._link = "cause" if match.group("cause") else "context"
            self._next_part = False
            self._wraps_group = self._in_group and "|" not in match.group("lead")
            self.last = line.order

    def seed(self, kind: str, message: str, line: LogLine, claimants: frozenset[str]) -> None:
        """The first exception of a chain, printed without a traceback."""
        self._chains.append([Raised(kind, message, line, self._begin(line), claimants)])
        self._open.clear()

    def part(self, line: LogLine) -> None:
        """The line between two exceptions of a group."""
        if self._in_group:
            self._next_part, self._link = True, ""
            self.last = line.order

    def closing(self, line: LogLine, match: Match[str], claimants: frozenset[str]) -> bool:
        """The last line of a traceback: the exception. False when it closes nothing."""
        kind = match.group("type")
        if name_of(kind) in _LEVEL_WORDS or not (name_of(kind)[0].isupper() or "." in kind):
            return False
        alone = not self._open and (self._next_part or (self._link and line.order - self.last <= 3))
        traceback = self._begin(line) if alone else self._closed_by(len(match.group("lead")), line)
        if traceback is None:
            return False
        if traceback in self._open:
            self._open.remove(traceback)
        raised = Raised(kind, match.group("message") or "", bounded(line), traceback, claimants)
        if self._wraps_group:
            self._around.append(raised)
        elif traceback.link and self._chains:
            chain = self._chains[-1] if self._in_group else min(self._chains, key=len)
            if len(chain) < MAX_RAISED:
                chain.append(raised)
        elif len(self._chains) < MAX_RAISED:
            self._chains.append([raised])
            self._together.append(raised)
        self._took(line)
        self._next_part = False
        if not self._open:
            self._link = ""
        return True

    def message(self, line: LogLine, text: str) -> None:
        """A line after an exception whose own line says nothing, or little."""
        if not self._chains or self._open or line.order - (raised := self._chains[-1][-1]).line.order > 2:
            return
        if not raised.message:
            raised.message = text.strip()
        elif matcher("told-by-message").fullmatch(raised.name) and line.text[:1].isspace():
            raised.message = f"{raised.message.rstrip(' :')}: {text.partition(' [type=')[0].strip()}"

    def is_being_explained(self, line: LogLine) -> bool:
        """Whether a line comes right after an exception, so that it may belong to its message."""
        return bool(self._chains) and not self._open and line.order - self.last <= 2

    def told(self) -> list[Told]:
        """The failures, as far as they were told."""
        found = [] if self._ignored else self._found()
        return [replace(told, of_request=True) for told in found] if self._of_request else found

    def _found(self) -> list[Told]:
        if self._in_group:
            group = tell_group(self._chains, self._around)
            return [group] if group is not None else []
        tangled = _is_tangled([r.traceback for r in self._together])
        if tangled and (alike := _same_of_several(self._chains)) is not None:
            return alike
        shown = [c for c in self._chains if any(r.traceback.frames for r in c) or c[-1].line.level in ("error", "critical")]
        return [told for chain in shown if (told := tell_chain(chain, tangled=tangled)) is not None]

    def _begin(self, line: LogLine, *, group: bool = False) -> Traceback:
        traceback = Traceback(bounded(line), self._link, group)
        self._in_group = self._in_group or group
        if len(self._open) < MAX_RAISED:
            self._open.append(traceback)
        self._begun += 1
        self._took(line)
        return traceback

    def _took(self, line: LogLine) -> None:
        self.last = line.order
        if line.level in QUIET:
            self._ignored = True

    def _continued_by(self, frame: tuple[str, str]) -> Traceback:
        """The traceback that a frame continues. Several that are printed at once are mostly the same one, of several ranks."""
        if len(self._open) == 1:
            return self._open[0]
        known = [*self._open, *(raised.traceback for raised in self._together)]
        for traceback in reversed(self._open):
            depth = len(traceback.frames)
            if any(len(o.frames) > depth and o.frames[depth][:2] == frame for o in known if o is not traceback):
                return traceback
        return max(reversed(self._open), key=lambda traceback: len(traceback.frames))

    def _closed_by(self, lead: int, line: LogLine) -> Traceback | None:
        """The traceback whose last line a line with this much before it may be."""
        with_frames = [t for t in self._open if t.frames and lead < t.lead]
        if with_frames and line.order - self.last <= CLOSED:
            if len(with_frames) == 1:
                return with_frames[0]
            known = {raised.traceback.stack for raised in self._together}
            likely = [t for t in with_frames if t.stack in known]
            likely = likely or [t for t in with_frames if line.order - t.last <= GAP * len(with_frames)] or with_frames
            return max(likely, key=lambda t: (len(t.frames), t.last))
        return next((t for t in self._open if not t.frames and line.order - t.first.order <= 2), None)


def _either(match: Match[str], name: str) -> str | None:
    """The capture of this name, wherever it stands in the pattern."""
    return next((text for group, text in match.groupdict().items() if group.rstrip("234") == name and text), None)


def _same_of_several(chains: list[list[Raised]]) -> list[Told] | None:
    """What one exception of several ranks tells, whose tracebacks were printed into each other; None where it is not one.

    No rank prints a frame before the one that it was called from, so each frame's first coming tells the order.
    """
    first = chains[0][0]
    if any(len(chain) > 1 or (chain[0].kind, chain[0].message) != (first.kind, first.message) for chain in chains):
        return None
    frames = sorted((frame for chain in chains for frame in chain[0].traceback.frames), key=lambda frame: frame[2].order)
    came = {frame[:2]: frame for frame in reversed(frames)}
    stack = deque((frame for frame in frames if came[frame[:2]] is frame), maxlen=MAX_FRAMES)
    alike = [replace(chain[0], traceback=replace(chain[0].traceback, frames=stack)) for chain in chains]
    return [told for raised in alike if (told := tell_chain([raised])) is not None]


def _is_tangled(tracebacks: list[Traceback]) -> bool:
    """Whether different tracebacks were printed into each other: then nobody knows whose a frame is."""
    if len({t.stack for t in tracebacks}) < 2:
        return False
    spans = sorted((t.frames[0][2].order, t.last) for t in tracebacks if t.frames)
    return any(begin <= end for (_, end), (begin, _) in pairwise(spans))
