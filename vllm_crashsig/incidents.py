"""Streams with their lives -> incidents: which lives of different streams belong to the same crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .correlate import Segment, Stream, seconds_between
from .model import FactValue

Ends = Mapping[str, tuple[float | None, str | None]]
"""Last time and clock of each source."""


@dataclass(slots=True)
class Incident:
    """The lives that are looked at together. ``primary`` is the server's own."""

    index: int
    primary: Segment
    segments: list[Segment] = field(default_factory=list)
    ends: Ends = field(default_factory=dict)
    """When the log of each source ends."""

    @property
    def containers(self) -> frozenset[str]:
        """Ids of the containers that the case is about, as far as a record tells (`docker inspect`)."""
        return frozenset(c for segment in self.segments for c in segment.containers)

    @property
    def context(self) -> dict[str, FactValue]:
        merged: dict[str, FactValue] = {}
        for segment in [*self.segments, self.primary]:
            merged.update(segment.context)
        return merged


def assemble(streams: Sequence[Stream], ends: Ends) -> list[Incident]:
    """Incidents in order of time, the latest last.

    The stream with most lives leads. A life of another stream belongs to the incident that it overlaps by the clock; to
    the one at the same place counted from the end where the streams have equally many lives; and else to the last.
    """
    if not streams:
        return []
    leader = max(streams, key=lambda s: (len(s.segments), sum(len(x.tracks) for x in s.segments)))
    incidents = [Incident(i, segment, [segment], ends) for i, segment in enumerate(leader.segments)]
    for stream in streams:
        if stream is leader:
            continue
        for position, segment in enumerate(stream.segments):
            incidents[_place(segment, position, len(stream.segments), incidents)].segments.append(segment)
    return incidents


def _place(segment: Segment, position: int, count: int, incidents: list[Incident]) -> int:
    if len(incidents) > 1 and segment.first and segment.last:
        for incident in reversed(incidents):
            begin = incident.primary.first
            if begin is not None and (ahead := seconds_between(begin, segment.last)) is not None and ahead >= 0:
                return incident.index
    if count == len(incidents):
        return position
    return len(incidents) - 1
