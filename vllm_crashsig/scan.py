"""One source, chunk by chunk: frames, unwraps, gates, peels and judges. Yields what the lines show, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from .candidates import Candidate, Lookout, Places, candidates_by_line, line_end, united
from .encodings import Decoder
from .envelopes import peel
from .envelopes.base import Peeled
from .envelopes.clean import plain_text
from .envelopes.json_line import Fields
from .following import Following
from .framing import Frame, Framer
from .gate import Gate
from .index import SPOILED
from .layout import Layout
from .match import LineHits, Matcher
from .model import Coverage, LogLine, Scope
from .nested import add_told, inner, layers_of
from .records import Line
from .unwrap import Unwrapper, frame_of

CALM = 4
"""Progress lines in a row after which more of them tell nothing new, until something else happens: two show that it works."""
CALM_TOGETHER = 50
"""The same where a source holds the lines of several containers, each of which may have come through something."""
HEAD_LINES = 25
"""Lines at the beginning that are looked at for a time and the envelopes, whether they hit or not."""
OVERWRITTEN = 400
"""States of one line, overwritten by carriage returns, that are looked at: a progress bar has a few hundred."""
TAIL_LINES = 40
"""Lines at the end that are looked at for a time and the envelopes."""
KEPT_BYTES = 8 * 1024
"""Bytes that are kept of each of them between chunks."""


KNOWN = 500
"""Lines whose judgement is remembered."""
KNOWN_LENGTH = 2000
"""Characters of a line up to which it is."""


class SourceScanner:
    """State of one source. ``gate`` None is the plain path: every pattern on every line; same answers, slower."""

    def __init__(self, name: str, matcher: Matcher, gate: Gate | None) -> None:
        self.name = name
        self._matcher = matcher
        self._gate = gate
        self._decoder = Decoder()
        self._framer = Framer()
        self._unwrapper = Unwrapper()
        self._hint: list[str] | None = None
        self._layers: dict[str, None] = {}
        self._undecodable = 0
        self._zeros = 0
        self._timeouts: list[str] = []
        self._caps: list[str] = []
        self._head = 0
        self._first_time: float | None = None
        self._first_clock: str | None = None
        self._tail: deque[Frame] = deque(maxlen=TAIL_LINES)
        self._kept: list[_Packed] = []
        self._calm = 0
        self._lookout = Lookout(matcher, gate)
        self._enough = CALM
        self._containers: set[str | None] = set()
        self._following = Following(matcher.followers)
        self._lines_before = 0
        self._fresh: Coverage | None = None
        self._final: Coverage | None = None
        self.blank = True

    def feed(self, chunk: bytes) -> Iterator[LineHits]:
        """What the lines completed by this chunk show."""
        self._fresh = None
        for frame in self._framer.feed(self._decoder.feed(chunk)):
            yield from self._frame(self._unwrapper.unwrap(frame))

    def set_layout(self, layout: Layout) -> None:
        """How the source is laid out; to be told before its first line."""
        self._unwrapper.columns = layout.columns
        self._hint = self._unwrapper.hint = layout.labels or None
        if layout.columns:
            self.note(f"lines cut at {layout.columns} columns were put together again")
        if layout.newest_first:
            self.note("read from the end, since the newest line comes first")

    def take_lines(self, lines: list[Line]) -> Iterator[LineHits]:
        """What these lines show, in the order given: laid bare already, of a source that is not read from its beginning."""
        self._fresh = None
        yield from self._frame(frame_of(lines))

    def close(self) -> Iterator[LineHits]:
        """What the last, unfinished line shows. After it only the coverage is kept."""
        if self._final is not None:
            return
        self._fresh = None
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
        self._kept.clear()

    @property
    def closed(self) -> bool:
        """Whether nothing more may come."""
        return self._final is not None

    def note(self, cap: str) -> None:
        """Records that something was cut or could not be read."""
        self._fresh = None
        if cap not in self._caps:
            self._caps.append(cap)

    def coverage(self) -> Coverage:
        """What was read so far."""
        if self._final is not None:
            return self._final
        if self._fresh is not None:
            return self._fresh
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
        self._fresh = Coverage(
            self.name, self._decoder.bytes_seen, self._framer.lines_seen, self._undecodable + self._decoder.replaced,
            tuple(layers), self._first_time, last_time, last_clock, tuple(caps),
        )  # fmt: skip
        return self._fresh

    def _keep_tail(self, frame: Frame) -> None:
        """Keeps the last frames that together hold TAIL_LINES lines."""
        self._tail.append(frame)
        while len(self._tail) > 1 and sum(f.newlines for f in self._tail) - self._tail[0].newlines >= TAIL_LINES:
            self._tail.popleft()

    def _tail_lines(self) -> Iterator[Peeled]:
        """The last lines, oldest first."""
        lines = [*map(_laid_out, self._kept), *self._lines_of_tail()][-TAIL_LINES:]
        return (_peeled(line, told, self._hint) for line, told in lines if line.strip())

    def _lines_of_tail(self) -> Iterator[tuple[bytes, Fields | None]]:
        for frame in self._tail:
            for index in range(max(0, frame.count - TAIL_LINES), frame.count):
                yield frame.line(index), frame.told(index)

    def rest(self) -> None:
        """Keeps no more than it must until something comes: of the last frames, which may be large, their last lines."""
        self._kept.extend(_packed(line, told) for line, told in self._lines_of_tail())
        del self._kept[:-TAIL_LINES]
        self._tail.clear()
        self._framer.rest()

    def _frame(self, frame: Frame) -> Iterator[LineHits]:
        text = frame.text
        self._undecodable += frame.undecodable
        self._zeros += frame.zeros
        if self.blank and text.strip():
            self.blank = False
        if self._head < HEAD_LINES:
            self._look_at_head(frame)
        places = Places(text)
        bare = frame.bare and text is frame.raw
        untouched = bare and frame.offsets is None
        lookout = self._lookout
        lookout.begin(text, calm=self._is_calm)
        at = 0
        while at < len(text):
            calm = self._is_calm
            candidate = lookout.after(at, calm=calm)
            if self._following:
                start, end, probes = self._follower(text, at, candidate, calm=calm)
            elif candidate is None:
                break
            else:
                start, end, probes = candidate
            at = end + 1
            if calm and self._matcher.progress.issuperset(probes):
                continue
            index = places.index(start)
            raw = text[start:end] if frame.bare else frame.line(index)
            offset = frame.first_offset + start if untouched else frame.line_offset(index)
            if (found := self._judge(frame, index, raw, offset, probes)) is not None:
                yield found
        if bare:
            frame.newlines = places.newlines()
        self._lines_before += frame.newlines
        lookout.begin(b"", calm=True)  # lets go of the text
        self._keep_tail(frame)

    def _follower(self, text: bytes, at: int, candidate: Candidate | None, *, calm: bool) -> Candidate:
        """A line that may mean something because of one before it, whatever else it is."""
        probes = self._following.step()
        if candidate is not None and candidate[0] == at:
            return at, candidate[1], united(candidate[2], probes)
        # while it is calm, nobody has looked for progress here
        return at, line_end(text, at), united(probes, self._matcher.frequent) if calm else probes

    @property
    def _is_calm(self) -> bool:
        """Whether more progress tells nothing new."""
        return self._calm >= self._enough

    def _judge(self, frame: Frame, index: int, raw: bytes, offset: int, probes: Sequence[int]) -> LineHits | None:
        """What one line shows, unless it is more of the same."""
        if probes and probes[0] == SPOILED and not (probes := self._unspoiled(raw, probes)):
            return None
        found = None
        for state in _states(raw):
            line = self._line(frame, index, state, offset)
            found = self._show(line, probes)
            if found is not None:
                break
        if found is None:
            return None
        if found.markers:
            self._following.begin(found.markers, found.line.scope)
        if self._is_more_of_the_same(found):
            return None
        self._layers.update(dict.fromkeys(line.layers))
        if self._enough == CALM and line.scope.container not in self._containers:
            self._containers.add(line.scope.container)
            self._enough = CALM if len(self._containers) == 1 else CALM_TOGETHER
        return found

    def _show(self, line: LogLine, probes: Sequence[int]) -> LineHits | None:
        """What the probes show on a line. A flood says the same again and again: what is known is not judged anew."""
        key = line.text, line.level, line.layers, probes
        known = self._matcher.known  # of all threads: each step on it stands for itself
        try:
            found = known[key]
        except KeyError:
            pass
        else:
            return found and found.again(line)
        found = self._matcher.judge(line, probes, self._timeouts)
        if len(line.text) <= KNOWN_LENGTH and not self._timeouts:
            if len(known) >= KNOWN:
                known.clear()
            known[key] = found
        return found

    def _unspoiled(self, raw: bytes, probes: Sequence[int]) -> Sequence[int]:
        """What may match a line once remains of colours and the like are gone from it."""
        probes = probes[1:]
        if self._gate is not None:
            for _, _, found in candidates_by_line(self._gate, plain_text(raw)):
                probes = united(probes, found)
        return tuple(probe for probe in probes if probe != SPOILED)

    def _is_more_of_the_same(self, found: LineHits) -> bool:
        """Whether this is one of very many progress lines with nothing else between them."""
        if found.markers or found.notes or not found.only_progress:
            self._calm = 0
            self._lookout.disturb()
            return False
        self._calm += 1
        return self._calm > self._enough

    def _line(self, frame: Frame, index: int, raw: bytes, offset: int) -> LogLine:
        peeled = _peeled(raw, frame.told(index), self._hint)
        return LogLine(
            source=self.name,
            number=frame.line_number(index),
            offset=offset,
            text=peeled.text,
            scope=_scope(peeled.node, peeled.container, peeled.component, peeled.rank, peeled.gpu, peeled.pid),
            time=peeled.time,
            clock=peeled.clock,
            level=peeled.level,
            layers=_layers(*peeled.layers),
            count=peeled.count,
            order=self._lines_before + index + 1,
        )

    def _look_at_head(self, frame: Frame) -> None:
        for index in range(min(frame.count, 8 * HEAD_LINES)):
            if not frame.line(index).strip():
                continue
            self._head += 1
            peeled = _peeled(frame.line(index), frame.told(index), self._hint)
            self._layers.update(dict.fromkeys(peeled.layers))
            if self._first_time is None:
                self._first_time, self._first_clock = peeled.time, peeled.clock
            if self._head >= HEAD_LINES:
                return


_Packed = bytes | tuple[bytes, Any, Any, tuple[str, ...]]
"""A line, and what its container told of times and layers (if anything), in little memory."""


def _packed(line: bytes, told: Fields | None) -> _Packed:
    line = line[:KEPT_BYTES]
    return (line, told.get("time"), told.get("clock"), _layers(*layers_of(told))) if told else line


def _laid_out(packed: _Packed) -> tuple[bytes, Fields | None]:
    if isinstance(packed, bytes):
        return packed, None
    line, time, clock, layers = packed
    return line, {"time": time, "clock": clock, "layers": list(layers)}


@lru_cache(maxsize=1024)
def _scope(*fields: Any) -> Scope:
    """The same object for the same fields: a log speaks of few processes."""
    return Scope(*fields)


@lru_cache(maxsize=1024)
def _layers(*names: str) -> tuple[str, ...]:
    """Likewise."""
    return names


def _states(raw: bytes) -> list[bytes]:
    """A line as it stands at last, and before that what carriage returns have overwritten in it, the latest first."""
    if b"\r" not in raw[:-1]:
        return [raw]
    return [raw, *[s for s in reversed(raw.split(b"\r")[:-1]) if s.strip()][:OVERWRITTEN]]


def _peeled(line: bytes, told: Fields | None, hint: list[str] | None) -> Peeled:
    """A line without its envelopes, with what its container told."""
    peeled = peel(line.decode(errors="replace"), hint and (inner(hint) if told else hint))
    if told:
        add_told(peeled, told)
    return peeled
