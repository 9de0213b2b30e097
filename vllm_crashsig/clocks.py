"""Sources with clocks of their own -> one time line, as far as a line ties one clock to another.

A kernel log counts from the boot, a server prints local time without a year, a container runtime prints UTC. What ties them: a
line that tells both times, the same kernel message in two logs, an OOM kill and the runtime's record of it, the record of a
container beside its log. Where nothing does, the times stay as they are and are never compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from itertools import pairwise, product

from .correlate import Segment, Stream, Track
from .crashid import Failure, FailureCollector
from .envelopes.base import NOMINAL_YEAR
from .envelopes.json_values import read_time
from .model import Hit, LogLine
from .nouns import replace

Clock = tuple[str, str]
"""A source and the kind of its clock."""
Link = tuple[Clock, Clock, float]
"""Two clocks, and the seconds by which the second one is ahead of the first."""
Ends = Mapping[str, tuple[float | None, str | None]]
"""Last time and clock of each source."""

UTC: Clock = ("", "utc")
ZONE = 900.0
"""Seconds that time zones are apart by at least."""
ZONES = sorted((1800.0 * n for n in range(-28, 29)), key=abs)
"""All time zones but the odd ones, the nearest first."""
SAME = 5.0
"""Seconds by which two logs may tell the same message at different times."""
START = 900.0
"""How long after its container a server may print its first line: it imports, and may wait for others."""
DIGITS = 3
"""Digits of a message that make it one of its kind: a pid, an address."""


def align(streams: Sequence[Stream], ends: Ends) -> tuple[list[Stream], Ends]:
    """The streams and ends, with all times in UTC that can be told in it."""
    if len({stream.source for stream in streams}) < 2:
        return list(streams), ends
    hits = list(_hits(streams))
    if all(hit.line.clock in (None, "utc") for hit in hits):
        return list(streams), ends
    shifts = _shifts(hits, streams, ends)
    if not shifts:
        return list(streams), ends
    sources = {source for source, _ in shifts}
    return [_shifted_stream(s, shifts) if s.source in sources else s for s in streams], {
        name: (end + shifts[name, clock], "utc") if end is not None and clock and (name, clock) in shifts else (end, clock)
        for name, (end, clock) in ends.items()
    }


def _hits(streams: Iterable[Stream]) -> Iterator[Hit]:
    return (hit for stream in streams for segment in stream.segments for track in segment.tracks.values() for hit in track.hits)


def _clock(line: LogLine) -> Clock:
    return UTC if line.clock == "utc" else (line.source, line.clock or "")


def _shifts(hits: list[Hit], streams: Sequence[Stream], ends: Ends) -> dict[Clock, float]:
    """Seconds to add to the times of each clock that can be told in UTC."""
    ahead: dict[Clock, dict[Clock, float]] = defaultdict(dict)
    for one, other, seconds in [*_told_twice(hits), *_same_messages(hits), *_kills(hits)]:
        ahead[one].setdefault(other, seconds)
        ahead[other].setdefault(one, -seconds)
    shifts = {UTC: 0.0, **dict(_beside_records(hits, streams, ends))}
    waiting = list(shifts)
    while waiting:
        known = waiting.pop()
        for clock, seconds in ahead[known].items():
            if clock not in shifts:
                shifts[clock] = shifts[known] - seconds
                waiting.append(clock)
    del shifts[UTC]
    return shifts


def _told_twice(hits: Iterable[Hit]) -> Iterator[Link]:
    """Lines that tell the time twice. The last one of a log counts: clocks drift, and stand still while a machine sleeps."""
    last: dict[Clock, float] = {}
    for hit in hits:
        epoch = hit.facts.get("epoch")
        if hit.line.clock == "boot" and isinstance(epoch, int | float) and hit.line.time is not None:
            last[_clock(hit.line)] = epoch - hit.line.time
    yield from ((clock, UTC, seconds) for clock, seconds in last.items())


def _same_messages(hits: Iterable[Hit]) -> Iterator[Link]:
    """Kernel messages that stand in two logs, once in each."""
    seen: dict[str, dict[Clock, set[float]]] = defaultdict(lambda: defaultdict(set))
    for hit in hits:
        line = hit.line
        if line.scope.component == "kernel" and line.time is not None and sum(c.isdigit() for c in line.text[:400]) >= DIGITS:
            seen[line.text][_clock(line)].add(line.time)
    for places in seen.values():
        single = [(clock, min(times)) for clock, times in places.items() if len(times) == 1]
        for (one, at), (other, then) in pairwise(single):
            seconds = then - at
            zone = round(seconds / ZONE) * ZONE
            if "boot" in (one[1], other[1]):
                yield one, other, seconds
            elif abs(seconds - zone) <= SAME:
                yield one, other, zone


def _kills(hits: Iterable[Hit]) -> Iterator[Link]:
    """The last OOM kill of a container in the kernel's log, and the runtime's word of it or the end that its record tells."""
    kernel: dict[str, LogLine] = {}
    runtime: dict[str, LogLine] = {}
    ids: dict[str, str] = {}
    ended: dict[str, LogLine] = {}
    for hit in hits:
        line, container = hit.line, hit.facts.get("container_id")
        if isinstance(container, str):
            if line.clock == "boot":
                kernel[container[:12]] = line
            elif line.clock == "utc" and hit.decisive:
                runtime[container[:12]] = line
            elif line.scope.container is not None:
                ids[line.scope.container] = container[:12]
        if hit.facts.get("oom_killed") is True and line.scope.container is not None and line.clock == "utc":
            ended[line.scope.container] = line
    told = {**{ids[name]: line for name, line in ended.items() if name in ids}, **runtime}
    for container, line in kernel.items():
        if (other := told.get(container)) is not None and other.time is not None and line.time is not None:
            yield _clock(line), UTC, other.time - line.time


def _beside_records(hits: Iterable[Hit], streams: Sequence[Stream], ends: Ends) -> Iterator[tuple[Clock, float]]:
    """Logs of local time beside the record of their container: the first time zone in which the log fits one of its lives."""
    starts = {(words, h.line.time) for h in hits if isinstance(words := h.facts.get("started_at"), str)}
    if not starts:
        return
    from .documents.describe import read_date

    lives = [(begun, finished) for words, finished in starts if (begun := read_time(words).get("time") or read_date(words))]
    for stream in streams if lives else ():
        first = next((s.first for s in reversed(stream.segments) if s.first is not None and s.milestones), None)
        if first is None or first.time is None or first.clock not in ("local", "no-year"):
            continue
        last = ends.get(stream.source, (None, None))[0]
        for zone, (begun, finished) in product(ZONES, lives):
            shift = zone + (_year(begun) if first.clock == "no-year" else 0.0)
            in_time = finished is None or last is None or last + shift <= finished + SAME
            if in_time and -SAME <= first.time + shift - begun <= START:
                yield (stream.source, first.clock), shift
                break


def _year(then: float) -> float:
    """Seconds from a date of the nominal year to the same one of the year of ``then``."""
    date = datetime.fromtimestamp(then, timezone.utc)
    return date.timestamp() - date.replace(year=NOMINAL_YEAR).timestamp()


def _shifted_stream(stream: Stream, shifts: Mapping[Clock, float]) -> Stream:
    return replace(stream, segments=[_shifted_segment(s, shifts) for s in stream.segments])


def _shifted_segment(segment: Segment, shifts: Mapping[Clock, float]) -> Segment:
    def shift(line: LogLine) -> LogLine:
        seconds = shifts.get((line.source, line.clock or ""))
        return line if seconds is None or line.time is None else replace(line, time=line.time + seconds, clock="utc")

    tracks = {}
    for key, track in segment.tracks.items():
        tracks[key] = Track(
            track.fingerprint, track.indicator, track.count, [replace(h, line=shift(h.line)) for h in track.first]
        )
        tracks[key].last.extend(replace(h, line=shift(h.line)) for h in track.last)
    failures = _ShiftedFailures(segment.failures, shift)
    stops = {kind: shift(line) for kind, line in segment.stops.items()}
    first, last = (line and shift(line) for line in (segment.first, segment.last))
    return replace(segment, tracks=tracks, stops=stops, failures=failures, first=first, last=last)


class _ShiftedFailures(FailureCollector):
    """The unknown failures of a collector with their times changed."""

    def __init__(self, collector: FailureCollector, shift: Callable[[LogLine], LogLine]) -> None:
        super().__init__()
        self.dropped = collector.dropped
        self._collector = collector
        self._shift = shift

    @property
    def failures(self) -> dict[str, Failure]:
        """What was told so far, by crash id."""
        return {crash_id: self._shifted(failure) for crash_id, failure in self._collector.failures.items()}

    def _shifted(self, failure: Failure) -> Failure:
        first, last = self._shift(failure.first), self._shift(failure.last)
        return replace(failure, lines=[self._shift(line) for line in failure.lines], first_line=first, last_line=last)
