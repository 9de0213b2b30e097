"""One source, chunk by chunk: frames, unwraps, gates, peels and judges. Yields what the lines show, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from .crashid import FOLLOWED
from .encodings import Decoder
from .envelopes import peel
from .envelopes.base import Peeled
from .framing import Frame, Framer
from .gate import Gate
from .layout import Layout
from .match import LineHits, Matcher, candidates_by_line
from .model import Coverage, LogLine, Scope
from .unwrap import Unwrapper

CALM = 50
"""Progress lines in a row after which more of them tell nothing new, until something else happens."""
HEAD_LINES = 25
"""Lines at the beginning that are looked at for a time and the envelopes, whether they hit or not."""
OVERWRITTEN = 400
"""States of one line, overwritten by carriage returns, that are looked at: a progress bar has a few hundred."""
TAIL_LINES = 40
"""Lines at the end that are looked at for a time and the envelopes."""


_Candidate = tuple[int, bytes, list[int], "int | None"]
"""Of a line to judge: its index, bytes, candidate probes, and its place in the frame if that is as in the source."""


class SourceScanner:
    """State of one source. ``gate`` None is the plain path: every pattern on every line; same answers, slower."""

    def __init__(self, name: str, matcher: Matcher, gate: Gate | None) -> None:
        self.name = name
        self._matcher = matcher
        self._gate = gate
        self._decoder = Decoder()
        self._framer = Framer()
        self._unwrapper = Unwrapper()
        self._layers: dict[str, None] = {}
        self._undecodable = 0
        self._zeros = 0
        self._timeouts: list[str] = []
        self._caps: list[str] = []
        self._head = 0
        self._first_time: float | None = None
        self._first_clock: str | None = None
        self._tail: deque[Frame] = deque()
        self._calm = 0
        self._followed = 0
        self._lines_before = 0
        self._final: Coverage | None = None
        self.blank = True

    def feed(self, chunk: bytes) -> Iterator[LineHits]:
        """What the lines completed by this chunk show."""
        for frame in self._framer.feed(self._decoder.feed(chunk)):
            yield from self._frame(self._unwrapper.unwrap(frame))

    def set_layout(self, layout: Layout) -> None:
        """How the source is laid out; to be told before its first line."""
        self._unwrapper.columns = layout.columns
        if layout.columns:
            self.note(f"lines cut at {layout.columns} columns were put together again")
        if layout.newest_first:
            self.note("read from the end, since the newest line comes first")

    def take_lines(self, lines: list[bytes], numbers: list[int], offsets: list[int]) -> Iterator[LineHits]:
        """What these lines show, in the order given: for a source that is not read from its beginning."""
        frame = Frame(b"".join(line + b"\n" for line in lines), numbers[0], offsets[0], numbers, offsets)
        yield from self._frame(self._unwrapper.unwrap(frame))

    def close(self) -> Iterator[LineHits]:
        """What the last, unfinished line shows. After it only the coverage is kept."""
        if self._final is not None:
            return
        if rest := self._decoder.close():
            for frame in self._framer.feed(rest):
                yield from self._frame(self._unwrapper.unwrap(frame))
        for frame in self._framer.close():
            yield from self._frame(self._unwrapper.unwrap(frame))
        if (parts := self._unwrapper.finish()) is not None:
            yield from self._frame(parts)
        self._final = self.coverage()
        self._framer, self._unwrapper = Framer(), Unwrapper()
        self._tail.clear()

    @property
    def closed(self) -> bool:
        """Whether nothing more may come."""
        return self._final is not None

    def note(self, cap: str) -> None:
        """Records that something was cut or could not be read."""
        if cap not in self._caps:
            self._caps.append(cap)

    def coverage(self) -> Coverage:
        """What was read so far."""
        if self._final is not None:
            return self._final
        caps = [*self._caps, *self._decoder.notes()]
        if self._zeros:
            caps.append(f"{self._zeros} zero byte(s) left out")
        if self._framer.long_lines:
            caps.append(f"{self._framer.long_lines} very long line(s) looked at in pieces")
        if self._timeouts:
            caps.append(f"{len(self._timeouts)} pattern time-out(s), first in {self._timeouts[0]}")
        last_time, last_clock = self._first_time, self._first_clock
        layers = dict(self._layers)  # a copy: how often a provisional report is asked for must not show
        for peeled in self._tail_lines():
            layers.update(dict.fromkeys(peeled.layers))
            if peeled.time is not None:
                last_time, last_clock = peeled.time, peeled.clock
        return Coverage(
            self.name, self._decoder.bytes_seen, self._framer.lines_seen, self._undecodable + self._decoder.replaced,
            tuple(layers), self._first_time, last_time, last_clock, tuple(caps),
        )  # fmt: skip

    def _keep_tail(self, frame: Frame) -> None:
        """Keeps the last frames that together hold TAIL_LINES lines."""
        self._tail.append(frame)
        while len(self._tail) > 1 and sum(f.newlines for f in self._tail) - self._tail[0].newlines >= TAIL_LINES:
            self._tail.popleft()

    def _tail_lines(self) -> Iterator[Peeled]:
        """The last lines, oldest first."""
        places = [(frame, index) for frame in self._tail for index in range(max(0, frame.count - TAIL_LINES), frame.count)]
        for frame, index in places[-TAIL_LINES:]:
            if frame.line(index).strip():
                yield _peeled(frame, index)

    def _frame(self, frame: Frame) -> Iterator[LineHits]:
        text = frame.text
        self._undecodable += frame.undecodable
        self._zeros += frame.zeros
        if self.blank and text.strip():
            self.blank = False
        if self._head < HEAD_LINES:
            self._look_at_head(frame)
        self._keep_tail(frame)
        for index, raw, candidates, start in self._with_followers(frame, self._candidates(frame, text)):
            if self._calm >= CALM and self._matcher.progress.issuperset(candidates):
                continue
            found = None
            for state in _states(raw):
                line = self._line(frame, index, state, start)
                found = self._matcher.judge(line, candidates, self._timeouts)
                if found is not None:
                    break
            if found is None:
                continue
            if any(name == "frame" for name, _ in found.markers):
                self._followed = FOLLOWED
            if not self._is_more_of_the_same(found):
                self._layers.update(dict.fromkeys(line.layers))
                yield found
        self._lines_before += frame.newlines

    def _with_followers(self, frame: Frame, candidates: Iterator[_Candidate]) -> Iterator[_Candidate]:
        """The candidates, and between them the lines that follow a frame of a traceback: one of them closes it."""
        at = 0
        for index, raw, probes, start in candidates:
            yield from self._followers(frame, at, index)
            at = index + 1
            if self._followed:
                self._followed -= 1
                yield index, raw, [*probes, *self._matcher.closing], start
            else:
                yield index, raw, probes, start
        if self._followed:
            yield from self._followers(frame, at, frame.count)

    def _followers(self, frame: Frame, start: int, end: int) -> Iterator[_Candidate]:
        for index in range(start, end):
            if not self._followed:
                return
            self._followed -= 1
            yield index, frame.line(index), self._matcher.closing, None

    def _is_more_of_the_same(self, found: LineHits) -> bool:
        """Whether this is one of very many progress lines with nothing else between them."""
        if found.markers or found.notes or not found.only_progress:
            self._calm = 0
            return False
        self._calm += 1
        return self._calm > CALM

    def _candidates(self, frame: Frame, text: bytes) -> Iterator[_Candidate]:
        if self._gate is None:
            everything = sorted([*self._matcher.gated, *self._matcher.ungated])
            for index, raw in ((i, frame.line(i)) for i in range(frame.count)):
                yield index, raw, everything, None
            return
        gated, newlines = candidates_by_line(self._gate, text)
        untouched = text is frame.raw
        if untouched:
            frame.newlines = newlines
        if self._matcher.ungated:
            by_line = {index: found for _, index, found in gated}
            for index, raw in ((i, frame.line(i)) for i in range(frame.count)):
                yield index, raw, sorted([*by_line.get(index, ()), *self._matcher.ungated]), None
            return
        for start, index, candidates in gated:
            if not frame.bare:
                yield index, frame.line(index), candidates, None
                continue
            end = text.find(b"\n", start)
            line = text[start : end if end >= 0 else len(text)]
            yield index, line, candidates, start if untouched and frame.offsets is None else None

    def _line(self, frame: Frame, index: int, raw: bytes, start: int | None) -> LogLine:
        peeled = _peeled(frame, index, raw)
        return LogLine(
            source=self.name,
            number=frame.line_number(index),
            offset=frame.line_offset(index) if start is None else frame.first_offset + start,
            text=peeled.text,
            scope=Scope(peeled.node, peeled.container, peeled.component, peeled.rank, peeled.gpu, peeled.pid),
            time=peeled.time,
            clock=peeled.clock,
            level=peeled.level,
            layers=tuple(peeled.layers),
            count=peeled.count,
            order=self._lines_before + index + 1,
        )

    def _look_at_head(self, frame: Frame) -> None:
        for index in range(min(frame.count, 8 * HEAD_LINES)):
            if not frame.line(index).strip():
                continue
            self._head += 1
            peeled = _peeled(frame, index)
            self._layers.update(dict.fromkeys(peeled.layers))
            if self._first_time is None:
                self._first_time, self._first_clock = peeled.time, peeled.clock
            if self._head >= HEAD_LINES:
                return


def _states(raw: bytes) -> list[bytes]:
    """A line as it stands at last, and before that what carriage returns have overwritten in it, the latest first."""
    if b"\r" not in raw[:-1]:
        return [raw]
    return [raw, *[s for s in reversed(raw.split(b"\r")[:-1]) if s.strip()][:OVERWRITTEN]]


def _peeled(frame: Frame, index: int, raw: bytes | None = None) -> Peeled:
    """A line without its envelopes, with what its container told."""
    peeled = peel((frame.line(index) if raw is None else raw).decode(errors="replace"))
    if fields := frame.told(index):
        _add_fields(peeled, fields)
    return peeled


def _add_fields(peeled: Peeled, fields: dict[str, Any]) -> None:
    """What the JSON container says, under what the line itself says."""
    if layer := fields.get("layer"):
        peeled.layers.insert(0, layer)
    for name in ("node", "component", "pid", "rank", "level", "stream"):
        if getattr(peeled, name) is None:
            setattr(peeled, name, fields.get(name))
    peeled.container = fields.get("container") or fields.get("pod") or peeled.container
    if fields.get("time") is not None:
        peeled.time, peeled.clock = fields["time"], fields.get("clock")
