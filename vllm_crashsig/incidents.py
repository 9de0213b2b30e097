"""Streams with their lives -> incidents: which lives, and which events of other logs, belong to the same crash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from .clocks import Ends, align
from .correlate import Segment, Stream, Track, seconds_between
from .documents import BESIDE, LAYERS
from .model import FactValue, Hit, LogLine
from .nouns import dataclass, field, replace

ENDED = frozenset({"pid", "container_id"})
"""Facts of lines about the end of a process."""
DEVICES = frozenset({"pci", "gpu", "xid"})
"""Facts of lines about a device, which may tell the process that used it."""
BEFORE = 120.0
"""Seconds before the first line of a server's start that an event may stand and still have to do with it."""
BEFORE_CUT = 3600.0
"""The same where the log does not reach back to the start."""


@dataclass(slots=True)
class Incident:
    """The lives that are looked at together. ``primary`` is the server's own."""

    index: int
    primary: Segment
    segments: list[Segment] = field(default_factory=list)
    ends: Ends = field(default_factory=dict)
    """When the log of each source ends."""
    beside: frozenset[str] = frozenset()
    """Ids of containers that documents tell to be others than the server's."""

    @property
    def containers(self) -> frozenset[str]:
        """Ids of the containers that the case is about, as records tell. A Pod's containers get new ones at each restart:
        they count with the Pod's uid, or while there was no restart."""
        known = frozenset(c for segment in self.segments for c in segment.containers)
        pods = frozenset(_facts_of(self.segments, "pod_uid"))
        instances = frozenset(str(i) for i in _facts_of(self.segments, "instance_id"))
        if pods:
            return known | instances | (frozenset(_containers_of_pods(self.segments, pods)) - self.beside)
        restarted = any(n for n in _facts_of(self.segments, "restart_count"))
        return known if restarted else known | instances

    @property
    def context(self) -> dict[str, FactValue]:
        merged: dict[str, FactValue] = {}
        for segment in [*self.segments, self.primary]:
            merged.update(segment.context)
        return merged


def _facts_of(segments: Sequence[Segment], name: str) -> Iterator[FactValue]:
    return (h.facts[name] for s in segments for t in s.tracks.values() for h in t.hits if name in h.facts)


def _containers_of_pods(segments: Sequence[Segment], pods: frozenset[FactValue]) -> Iterator[str]:
    """Ids of containers in cgroups of these Pods, in whatever instance."""
    for segment in segments:
        for track in segment.tracks.values():
            for hit in track.hits:
                uid, container = hit.facts.get("cgroup_pod"), hit.facts.get("container_id")
                if isinstance(uid, str) and isinstance(container, str) and uid.replace("_", "-") in pods:
                    yield container


def assemble(streams: Sequence[Stream], ends: Ends) -> list[Incident]:
    """Incidents in order of time, the latest last.

    The server's own log leads: the stream with the most lives of a server. A life of another stream belongs to the incident
    that it overlaps by the clock; to the one at the same place counted from the end where the streams have equally many lives;
    and else to the last. In logs without lives (the kernel's, events, records) each line belongs to the life it falls into.
    """
    streams, ends = align(streams, ends)
    others = [s for s in streams if _is_beside(s)]
    beside = frozenset(str(i) for s in others for name in ("container_id", "instance_id") for i in _facts_of(s.segments, name))
    streams = [s for s in streams if s not in others]
    if not streams:
        return []
    leader = max(streams, key=_leads)
    incidents: list[Incident] = []
    for position, (segment, following) in enumerate(zip_longest(leader.segments, leader.segments[1:])):
        before = leader.segments[position - 1] if position else None
        preludes = [before] if before is not None and _is_prelude(before, segment) else []
        if following is None or not _is_prelude(segment, following):
            incidents.append(Incident(len(incidents), segment, [segment, *preludes], ends, beside))
    earlier: list[Segment] = []
    for stream in streams:
        if stream is leader:
            continue
        for position, segment in enumerate(stream.segments):
            place = _place(segment, position, len(stream.segments), incidents)
            if segment.milestones or not leader.segments[0].milestones:
                incidents[place].segments.append(segment)
                continue
            for at, part in _by_life(segment, incidents, place):
                if at >= 0:
                    incidents[at].segments.append(part)
                else:
                    earlier.append(part)
    return _with_earlier(incidents, earlier)


def _is_prelude(segment: Segment, following: Segment) -> bool:
    """Whether a failure whose life has no beginning in the log led to the failure of the next: that one never came up. Before a
    server that came up it was the end of an earlier life."""
    return segment.is_headless and not following.was_up and not segment.broke


def _is_beside(stream: Stream) -> bool:
    return any(s.first is not None and s.first.scope.component == BESIDE for s in stream.segments)


def _leads(stream: Stream) -> tuple[bool, int, int]:
    return (
        any(s.milestones for s in stream.segments),
        len(stream.segments),
        sum(len(s.tracks) for s in stream.segments),
    )


def _place(segment: Segment, position: int, count: int, incidents: list[Incident]) -> int:
    if len(incidents) > 1 and segment.first and segment.last:
        for place, incident in reversed([*enumerate(incidents)]):
            begin = incident.primary.first
            if begin is not None and (ahead := seconds_between(begin, segment.last)) is not None and ahead >= 0:
                return place
    if count == len(incidents):
        return position
    return len(incidents) - 1


def _by_life(segment: Segment, incidents: Sequence[Incident], otherwise: int) -> list[tuple[int, Segment]]:
    """The parts of a segment by the life that their lines fall into; -1 for what came before the first.

    Only what ended a process belongs to one life. A device that failed stays broken in those that follow.
    """
    parts: dict[int, dict[tuple[str, str], list[Hit]]] = {}
    document = _is_document(segment)
    of_one_life = {key[0] for key, track in segment.tracks.items() if document or any(map(_ends_a_process, track.hits))}
    for key, track in segment.tracks.items():
        for hit in track.hits:
            at = _life_at(hit.line, incidents) if key[0] in of_one_life else None
            parts.setdefault(otherwise if at is None else at, {}).setdefault(key, []).append(hit)
    if len(parts) <= 1:
        return [(next(iter(parts), otherwise), segment)]
    return [(at, _part(segment, tracks)) for at, tracks in sorted(parts.items())]


def _ends_a_process(hit: Hit) -> bool:
    return not ENDED.isdisjoint(hit.facts) and DEVICES.isdisjoint(hit.facts) and hit.line.scope.component == "kernel"


def _life_at(line: LogLine, incidents: Sequence[Incident]) -> int | None:
    """The last life that had begun; -1 before the first; None where the times cannot be compared."""
    place = None
    for at, incident in enumerate(incidents):
        begin = incident.primary.first
        ahead = seconds_between(begin, line) if begin is not None and line.clock in ("utc", "boot") else None
        if ahead is None:
            continue
        if not at and ahead < -(BEFORE if incident.primary.milestones.get("start") else BEFORE_CUT):
            return -1
        if ahead >= 0 or not at:
            place = at
    return place


def _part(segment: Segment, hits: Mapping[tuple[str, str], Sequence[Hit]]) -> Segment:
    tracks = {key: Track(*key, sum(h.line.count for h in found), list(found)) for key, found in hits.items()}
    lines = sorted((h.line for found in hits.values() for h in found), key=lambda line: line.order)
    return replace(segment, tracks=tracks, first=lines[0], last=lines[-1])


def _with_earlier(incidents: list[Incident], earlier: Sequence[Segment]) -> list[Incident]:
    """With what came before the log begins as an incident of its own, as far as it was this server's container. Nothing ties
    the rest to the case."""
    if not earlier:
        return incidents
    oldest = incidents[0]
    own = replace(oldest, segments=[*oldest.segments, *earlier]).containers
    kept = [s for s in earlier if _is_document(s) or any(_names(h, own) for t in s.tracks.values() for h in t.hits)]
    if not kept:
        told = {(i, f"{name}: long before the log begins ({s.source})"): 1 for s in earlier for i, name in s.tracks}
        return [_with_notes(oldest, told), *incidents[1:]]
    primary = replace(max(kept, key=lambda s: len(s.tracks)), index=-1)
    first = replace(oldest, primary=primary, segments=[primary, *(s for s in kept if s.tracks is not primary.tracks)])
    return [first, *(replace(incident, index=incident.index + 1) for incident in incidents)]


def _with_notes(incident: Incident, notes: Mapping[tuple[str, str], int]) -> Incident:
    primary = replace(incident.primary, notes={**incident.primary.notes, **notes})
    return replace(incident, primary=primary, segments=[primary if s is incident.primary else s for s in incident.segments])


def _is_document(segment: Segment) -> bool:
    return segment.first is not None and not LAYERS.isdisjoint(segment.first.layers)


def _names(hit: Hit, containers: frozenset[str]) -> bool:
    named = hit.facts.get("container_id")
    return isinstance(named, str) and any(named.startswith(own) or own.startswith(named) for own in containers)
