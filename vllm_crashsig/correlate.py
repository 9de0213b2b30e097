"""Hits -> what happened in which life of which stream, folded so that memory stays bounded however long the log is."""

from __future__ import annotations

from bisect import bisect_right

from .catalogue import Catalogue
from .crashid import FailureCollector
from .match import LineHits
from .model import FactValue, Hit, LogLine
from .nouns import dataclass, field, replace
from .ranks import RECORDS, Ranks, tells
from .schema import Fingerprint

KEPT_FIRST = 12
KEPT_LAST = 12
"""Hits that are kept of each indicator in each life; the rest is only counted."""
KEPT_SEGMENTS = 64
"""Lives that are kept of each stream: restart loops longer than this lose those in the middle (and say so)."""
KEPT_PIDS = 64
"""Working processes that are told apart in each life."""
RESTARTED = 10.0
"""Seconds between two banners without a pid from which on they show a restart: side by side, servers start at once."""
RELEVANT_ROLES = frozenset({"root", "either", "cascade", "degraded", "noise", "healthy"})
"""Roles whose first hit can change the answer."""
LEAD = 100
"""Characters that are kept before a match in a line that is too long."""
TEXT_LIMIT = 2000
"""Characters of a line that evidence keeps, around its match."""
CONTEXT_LIMIT = 300
"""The same of lines that tell of settings and milestones, which are not quoted."""
NO_FACTS: dict[str, FactValue] = {}


@dataclass(slots=True)
class Track:
    """All hits of one indicator in one life."""

    fingerprint: str
    indicator: str
    count: int = 0
    first: list[Hit] = field(default_factory=list)
    last: list[Hit] = field(default_factory=list)

    def add(self, hit: Hit, limit: int) -> None:
        """limit: characters of the line that are kept."""
        self.count += hit.line.count
        if len(hit.line.text) > limit:
            line = _bounded(hit.line, hit.span, limit)
            at = max(line.text.find(hit.matched), 0)
            hit = replace(hit, line=line, facts=dict(hit.facts), span=(at, at + len(hit.matched)))
        if len(self.first) < KEPT_FIRST:
            self.first.append(replace(hit, facts=dict(hit.facts) or NO_FACTS))  # without the match, and the text that it holds
        else:
            self.last.append(hit)
            if len(self.last) > KEPT_LAST:  # no deque: even an empty one takes as much memory as all the rest
                del self.last[0]

    @property
    def hits(self) -> list[Hit]:
        return [*self.first, *self.last]


def _bounded(line: LogLine, span: tuple[int, int], limit: int = TEXT_LIMIT) -> LogLine:
    if len(line.text) <= limit:
        return line
    start = max(0, span[0] - LEAD)
    text = line.text[start : start + limit]
    if limit >= TEXT_LIMIT:
        text = ("… " if start else "") + text + " …"
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
    ranks: Ranks = field(default_factory=Ranks)
    notes: dict[tuple[str, str], int] = field(default_factory=dict)
    first: LogLine | None = None
    last: LogLine | None = None
    told: tuple[float, str | None] | None = None
    """The last time that a line told, and its clock."""
    first_failure: int | None = None
    """Order of the first hit that speaks of a failure."""
    broke_at: int | None = None
    """Order of the last line that shows a consequence: some part of the server went down."""
    is_known: bool = False
    """Whether it shows that it is of the kind that the catalogue knows (a start, a setting, a version), apart from failures."""
    begun: dict[tuple[str, int | None], LogLine] = field(default_factory=dict)
    """Start banners by the pids that printed them: a process prints its own once."""
    at_work: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Order of the first and the last line in which each process (by its pid, as far as it tells) shows work."""

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
        elif (
            kind == "progress"
            and (pid := line.scope.pid) is not None
            and (pid in self.at_work or len(self.at_work) < KEPT_PIDS)
        ):
            self.at_work[pid] = (self.at_work.get(pid, (line.order, 0))[0], line.order)

    def gives_way_to(self, milestone: str, banner: tuple[str, int | None], line: LogLine) -> bool:
        """Whether a milestone after this shows that another life began. banner: its indicator, and the pid that printed it."""
        if milestone == "start":
            earlier = self.begun.get(banner)
            again = earlier is not None and (banner[1] is not None or (seconds_between(earlier, line) or 0.0) >= RESTARTED)
            return self.ended() or again
        if milestone == "boot":  # nothing else runs in a container that begins
            return bool(self.tracks)
        return milestone == "import" and (self.was_up or bool(self.stops))  # workers load it too, but before the server is up

    def ended(self) -> bool:
        """Whether a start banner after this would begin a new life.

        Lines before the first banner belong to the life that it begins (checks, imports), unless they show a server that was up
        or that went down, or an exception that ended a process (see `is_headless`).
        """
        if self.was_up or self.broke or any(self.milestones.get(kind) for kind in ("planned-stop", "stop")):
            return True
        if self.milestones.get("start"):
            return self.first_failure is not None or bool(self.failures.failures)
        return self.is_headless

    @property
    def broke(self) -> bool:
        """Whether some part of the server went down."""
        return self.broke_at is not None

    @property
    def was_up(self) -> bool:
        """Whether it shows a server that could serve or did."""
        return bool(self.milestones.get("ready") or self.milestones.get("progress"))

    def was_up_before(self, line: int) -> bool:
        """Whether it could serve before the line of this order."""
        return any(at[0] < line for kind in ("ready", "progress") if (at := self.milestones.get(kind)))

    @property
    def is_headless(self) -> bool:
        """Whether it is the rest of a life whose beginning is not in the log, or what came before a life (a wrapper's attempt):
        only the next life can tell, see `incidents.assemble`."""
        unknown = not (self.was_up or self.milestones.get("start") or self.milestones.get("boot"))
        return unknown and self.first_failure is not None and any(f.frames for f in self.failures.failures.values())


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


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a hit of an indicator means for the life that it stands in."""

    is_failure: bool
    relevant: bool
    """Whether the first one may change the answer."""
    claims: bool
    """Whether it says what failure text in its line is about."""
    breaks: bool
    """Whether it shows, where it decides, that a part of the server went down."""
    milestone: str | None
    tells: bool
    """Whether it tells of ranks."""
    limit: int
    """Characters of the line that are kept."""

    @classmethod
    def of(cls, fingerprint: Fingerprint, name: str) -> _Meaning:
        indicator, failure = fingerprint.indicators[name], fingerprint.is_failure
        return cls(
            failure,
            fingerprint.role in RELEVANT_ROLES,
            indicator.weight != "context" if failure else fingerprint.role == "healthy",
            fingerprint.role == "cascade",
            indicator.milestone,
            tells(fingerprint, name),
            TEXT_LIMIT if failure else CONTEXT_LIMIT,
        )


_MEANINGS: dict[str, dict[tuple[str, str], _Meaning]] = {}
"""By the catalogue's hash (of the last one) what its indicators mean: one store for all sessions."""


class Correlator:
    """Sorts what lines show into streams and lives. One for each session."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._streams: dict[tuple[str, str | None], Stream] = {}
        if catalogue.hash not in _MEANINGS:
            _MEANINGS.clear()
        self._meanings = _MEANINGS.setdefault(catalogue.hash, {})

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
        hits = [(hit, self._meaning(hit)) for hit in found.hits]
        pid = line.scope.pid
        for hit, meaning in hits:
            if meaning.milestone and stream.current.gives_way_to(meaning.milestone, (hit.indicator, pid), line):
                stream.begin()
                break
        segment = stream.current
        segment.first = segment.first or _bounded(line, (0, 0))
        if not found.only_progress:
            segment.last = _bounded(line, (0, 0))
        if line.time is not None:
            segment.told = (line.time, line.clock)
        for note in found.notes:
            if note in segment.notes or len(segment.notes) < 400:
                segment.notes[note] = segment.notes.get(note, 0) + 1
        relevant = False
        claimants: set[str] = set()
        segment.ranks.see(line.scope)
        for hit, meaning in hits:
            relevant = self._add_hit(segment, hit, meaning) or relevant
            if meaning.claims:
                claimants.add(hit.fingerprint)
        if claimants and any(meaning.is_failure for _, meaning in hits):
            segment.failures.claim(line, claimants)
        if found.markers:
            relevant = segment.failures.add(line, found.markers, claimants) or relevant
        return relevant

    def _add_hit(self, segment: Segment, hit: Hit, meaning: _Meaning) -> bool:
        line = hit.line
        relevant = False
        if meaning.tells:
            segment.ranks.note(hit)
        track = segment.tracks.get((hit.fingerprint, hit.indicator))
        if track is None:
            track = segment.tracks[hit.fingerprint, hit.indicator] = Track(hit.fingerprint, hit.indicator)
            relevant = meaning.relevant
        track.add(hit, meaning.limit)
        if meaning.milestone is not None:
            segment.add_milestone(meaning.milestone, line)
            if meaning.milestone == "start":
                segment.begun[hit.indicator, line.scope.pid] = _bounded(line, (0, 0), CONTEXT_LIMIT)
            relevant = relevant or segment.first_failure is not None
        if meaning.is_failure:
            if hit.decisive:
                if meaning.breaks:
                    segment.broke_at = line.order
                if segment.first_failure is None:
                    segment.first_failure = line.order
            return relevant
        segment.is_known = True
        if meaning.tells:
            segment.context.update((n, v) for n, v in hit.facts.items() if n not in RECORDS)
        else:
            segment.context.update(hit.facts)
        if isinstance(container := hit.facts.get("container_id"), str) and len(segment.containers) < KEPT_SEGMENTS:
            segment.containers.add(container)
        return relevant

    def _meaning(self, hit: Hit) -> _Meaning:
        key = (hit.fingerprint, hit.indicator)
        meaning = self._meanings.get(key)
        if meaning is None:
            meaning = self._meanings[key] = _Meaning.of(self._catalogue[hit.fingerprint], hit.indicator)
        return meaning


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
