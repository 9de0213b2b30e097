"""Hits -> what happened in which life of which stream, folded so that memory stays bounded however long the log is."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from .catalogue import Catalogue
from .crashid import FailureCollector
from .match import LineHits
from .model import FactValue, Hit, LogLine

KEPT_FIRST = 12
KEPT_LAST = 12
"""Hits that are kept of each indicator in each life; the rest is only counted."""
KEPT_SEGMENTS = 64
"""Lives that are kept of each stream: restart loops longer than this lose those in the middle (and say so)."""
RELEVANT_ROLES = frozenset({"root", "either", "cascade", "degraded", "noise", "healthy"})
"""Roles whose first hit can change the answer."""
LEAD = 100
"""Characters that are kept before a match in a line that is too long."""
TEXT_LIMIT = 2000
"""Characters of a line that evidence keeps, around its match."""


@dataclass(slots=True)
class Track:
    """All hits of one indicator in one life."""

    fingerprint: str
    indicator: str
    count: int = 0
    first: list[Hit] = field(default_factory=list)
    last: deque[Hit] = field(default_factory=lambda: deque(maxlen=KEPT_LAST))

    def add(self, hit: Hit) -> None:
        self.count += hit.line.count
        if len(hit.line.text) > TEXT_LIMIT:
            line = _bounded(hit.line, hit.span)
            at = max(line.text.find(hit.matched), 0)
            hit = replace(hit, line=line, span=(at, at + len(hit.matched)))
        if len(self.first) < KEPT_FIRST:
            self.first.append(hit)
        else:
            self.last.append(hit)

    @property
    def hits(self) -> list[Hit]:
        return [*self.first, *self.last]


def _bounded(line: LogLine, span: tuple[int, int]) -> LogLine:
    if len(line.text) <= TEXT_LIMIT:
        return line
    start = max(0, min(span[0] - LEAD, len(line.text) - TEXT_LIMIT))
    text = ("… " if start else "") + line.text[start : start + TEXT_LIMIT] + " …"
    return replace(line, text=text)


@dataclass(slots=True)
class Segment:
    """One life in one stream: from a start (or the beginning) to the next start after an end."""

    source: str
    container: str | None
    index: int
    tracks: dict[tuple[str, str], Track] = field(default_factory=dict)
    milestones: dict[str, list[int]] = field(default_factory=dict)
    """Order of the lines of each kind of milestone, ascending (the first 200 of each, and the latest)."""
    stops: dict[str, LogLine] = field(default_factory=dict)
    """The first line of each kind of stop."""
    context: dict[str, FactValue] = field(default_factory=dict)
    containers: set[str] = field(default_factory=set)
    """Ids of containers that records of them tell."""
    failures: FailureCollector = field(default_factory=FailureCollector)
    notes: dict[tuple[str, str], int] = field(default_factory=dict)
    first: LogLine | None = None
    last: LogLine | None = None
    first_failure: int | None = None
    """Order of the first hit that speaks of a failure."""
    broke: bool = False
    """Whether a consequence was seen: some part of the server went down."""

    def after(self, kind: str, line: int) -> int:
        """How many milestones of this kind came after the line of this order."""
        at = self.milestones.get(kind, [])
        return len(at) - bisect_right(at, line)

    @property
    def asked_to_stop(self) -> LogLine | None:
        """The line at which an orderly end began that no failure had caused."""
        planned, plain = self.stops.get("planned-stop"), self.stops.get("stop")
        if plain is not None and self.first_failure is not None and plain.order > self.first_failure:
            plain = None
        return min((s for s in (planned, plain) if s is not None), key=lambda s: s.order, default=None)

    def add_milestone(self, kind: str, line: LogLine) -> None:
        at = self.milestones.setdefault(kind, [])
        if len(at) < 200:
            at.append(line.order)
        else:
            at[-1] = line.order
        if kind in ("planned-stop", "stop"):
            self.stops.setdefault(kind, _bounded(line, (0, 0)))

    def ended(self) -> bool:
        """Whether a start banner after this would begin a new life.

        Lines before the first banner belong to the life that it begins (checks, imports, a wrapper's retries), unless they show
        a server that was up or that went down.
        """
        if any(self.milestones.get(kind) for kind in ("planned-stop", "stop", "ready", "progress")) or self.broke:
            return True
        return bool(self.milestones.get("start")) and (self.first_failure is not None or bool(self.failures.failures))


@dataclass(slots=True)
class Stream:
    """The lives of one container (or process log) in one source."""

    source: str
    container: str | None
    segments: list[Segment] = field(default_factory=list)
    dropped: int = 0

    @property
    def current(self) -> Segment:
        return self.segments[-1]

    def begin(self) -> Segment:
        index = self.segments[-1].index + 1 if self.segments else 0
        segment = Segment(self.source, self.container, index)
        self.segments.append(segment)
        if len(self.segments) > KEPT_SEGMENTS:
            del self.segments[KEPT_SEGMENTS // 2]
            self.dropped += 1
        return segment


class Correlator:
    """Sorts what lines show into streams and lives. One for each session."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._streams: dict[tuple[str, str | None], Stream] = {}

    def streams(self) -> list[Stream]:
        return list(self._streams.values())

    def add(self, found: LineHits) -> bool:
        """Takes one line's hits. True when they may change the answer."""
        line = found.line
        key = (line.source, line.scope.container)
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = Stream(*key)
            stream.begin()
        if any(self._milestone(h) == "start" for h in found.hits) and stream.current.ended():
            stream.begin()
        segment = stream.current
        segment.first = segment.first or _bounded(line, (0, 0))
        if not found.only_progress:
            segment.last = _bounded(line, (0, 0))
        for note in found.notes:
            if note in segment.notes or len(segment.notes) < 400:
                segment.notes[note] = segment.notes.get(note, 0) + 1
        relevant = False
        claimants: set[str] = set()
        for hit in found.hits:
            fingerprint = self._catalogue[hit.fingerprint]
            track = segment.tracks.get((hit.fingerprint, hit.indicator))
            if track is None:
                track = segment.tracks[hit.fingerprint, hit.indicator] = Track(hit.fingerprint, hit.indicator)
                relevant = relevant or fingerprint.role in RELEVANT_ROLES
            track.add(hit)
            if (milestone := self._milestone(hit)) is not None:
                segment.add_milestone(milestone, line)
                relevant = relevant or segment.first_failure is not None
            if fingerprint.is_failure:
                if fingerprint.indicators[hit.indicator].weight != "context":
                    claimants.add(fingerprint.id)
                segment.broke = segment.broke or (fingerprint.role == "cascade" and hit.decisive)
                if hit.decisive and segment.first_failure is None:
                    segment.first_failure = line.order
            else:
                segment.context.update(hit.facts)
                if isinstance(container := hit.facts.get("container_id"), str) and len(segment.containers) < KEPT_SEGMENTS:
                    segment.containers.add(container)
                if fingerprint.role == "healthy":
                    claimants.add(fingerprint.id)
        if found.markers:
            relevant = segment.failures.add(line, found.markers, claimants) or relevant
        return relevant

    def _milestone(self, hit: Hit) -> str | None:
        return self._catalogue[hit.fingerprint].indicators[hit.indicator].milestone


def comparable(a: LogLine, b: LogLine) -> bool:
    """Whether the times of two lines may be compared."""
    return a.time is not None and b.time is not None and a.clock == b.clock


def lines_between(a: LogLine, b: LogLine) -> int | None:
    """Lines from a to b (negative when b stands before a); None in different sources."""
    return b.order - a.order if a.source == b.source else None


def seconds_between(a: LogLine, b: LogLine) -> float | None:
    """Seconds from a to b; None where their times cannot be compared."""
    return b.time - a.time if comparable(a, b) and a.time is not None and b.time is not None else None


def seconds_apart(a: tuple[float | None, str | None], b: tuple[float | None, str | None]) -> float | None:
    """Seconds from a to b as (time, clock) pairs of two calendars, good to a day: time zones are unknown. None where only one
    of them tells the year, or neither has a calendar."""
    (left, left_clock), (right, right_clock) = a, b
    if left is None or right is None or "boot" in (left_clock, right_clock):
        return None
    return right - left if "no-year" not in (left_clock, right_clock) or left_clock == right_clock else None


def hits_in(segments: list[Segment], fingerprint: str, indicator: str | None, decisive: frozenset[str]) -> Iterator[Hit]:
    """Kept hits of an indicator, or of all decisive indicators of a fingerprint."""
    for segment in segments:
        for (owner, name), track in segment.tracks.items():
            if owner == fingerprint and (name == indicator if indicator else name in decisive):
                yield from track.hits
