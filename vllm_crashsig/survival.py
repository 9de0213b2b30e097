"""What became of the server after a failure: whether it worked on, came up again, was stopped, or is heard of no more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .catalogue import Catalogue
from .correlate import Segment, seconds_apart
from .incidents import Incident
from .model import Hit
from .report import Outcome

PROGRESS_NEEDED = 2
"""Progress milestones after an error that show it was survived (one may be a line that was already on its way)."""
OWN = frozenset(("vllm-log", "ray-log", "nccl", "c10-log", "uvicorn"))
"""Layouts in which only the programs write that the catalogue knows."""
FAR_APART = 26 * 3600.0
"""Seconds between two logs beyond which they cannot speak of the same crash, whatever the time zones."""
BATCH_DONE, BATCH_BEGUN = (("sigkill-unexplained.silent", name) for name in ("batch_done", "batch_begun"))
"""The indicators of work that a script gives to its engine. Not those of progress: of these most are passed over."""
ENGINE = "engine"
"""The fact of lines in which the client of an engine tells that it is dead."""
SEVERITY = ("terminal", "unresolved", "progressed-after", "recovered")
"""Outcomes, the worst first: a failure that was survived here and not there was not survived."""


def segment_of(hit: Hit, segments: Iterable[Segment]) -> Segment | None:
    """The life that a hit belongs to."""
    own = [s for s in segments if s.source == hit.line.source and s.container == hit.line.scope.container]
    begun = [s for s in own if s.first is not None and s.first.order <= hit.line.order]
    return max(begun, key=lambda s: s.index, default=None)


def outcome(hits: Sequence[Hit], incident: Incident, *, event: bool = False) -> Outcome:
    """What became of the server after the last decisive line. event: the lines report something that happened to it, and not
    what a process says (see `Fingerprint.stands_after_stop`)."""
    outcomes: list[Outcome] = []
    hits_of: dict[int, list[Hit]] = {}
    for hit in hits:
        hits_of.setdefault(id(segment_of(hit, incident.segments)), []).append(hit)
    for segment in incident.segments:
        if not (own := hits_of.get(id(segment))):
            continue
        orders = [hit.line.order for hit in own]
        if _is_bystander(segment, own, incident.primary):
            outcomes.append("progressed-after")
        elif segment.after("ready", max(orders)) or (
            segment is not incident.primary and all(_is_far(h, incident) for h in hits)
        ):
            outcomes.append("recovered")
        elif survived(segment, orders, event=event):
            outcomes.append("progressed-after")
        elif segment.asked_to_stop is not None:
            outcomes.append("unresolved")
        else:
            outcomes.append("terminal")
    return min(outcomes, key=SEVERITY.index, default="unresolved")


def survived(segment: Segment, orders: Sequence[int], *, event: bool = False) -> bool:
    """Whether the server went on working after lines of these orders.

    What happened before, with work in between, and broke nothing the last time either, was survived that time too: the log may
    end before more work shows it.
    """
    first, last = min(orders), max(orders)
    after = segment.after("progress", last)
    if after >= PROGRESS_NEEDED:
        return True
    if event or (segment.broke_at is not None and segment.broke_at > first):
        return False
    return segment.after("progress", first) - after >= PROGRESS_NEEDED


def outlived_work(incident: Incident, catalogue: Catalogue) -> frozenset[tuple[str, int]]:
    """Source and order of the lines that tell of an engine's death and are no failure: a script that ends lets its engine go
    without a word to the thread that watches it. All work must have been done by then, and nothing else may have failed, before
    or after; whoever still needed the engine would have."""
    failed = [
        hit
        for segment in incident.segments
        for (fingerprint, indicator), track in segment.tracks.items()
        if catalogue[fingerprint].is_failure and catalogue[fingerprint].indicators[indicator].weight == "decisive"
        for hit in track.hits
    ]
    deaths = {(hit.line.source, hit.line.order): hit for hit in failed if ENGINE in hit.facts}
    if not deaths:
        return frozenset()
    unknown = (line for s in incident.segments for f in s.failures.failures.values() for line in (f.first, f.last))
    if any((line.source, line.order) not in deaths for line in (*(hit.line for hit in failed), *unknown)):
        return frozenset()
    return frozenset(place for place, hit in deaths.items() if _is_idle(segment_of(hit, incident.segments), hit.line.order))


def _is_idle(segment: Segment | None, at: int) -> bool:
    """Whether a batch was worked off before the line of this order, and none was begun since."""
    if segment is None:
        return False
    done, begun = (
        [hit.line.order for hit in track.hits if hit.line.order < at] if (track := segment.tracks.get(key)) is not None else []
        for key in (BATCH_DONE, BATCH_BEGUN)
    )
    return bool(done) and max(done) >= max(begun, default=0) and not segment.after("progress", max(done))


def same_server_works_on(segment: Segment, start: int, end: int) -> bool:
    """Whether a process that worked before ``start`` (an order of lines) still did after ``end``."""
    return any(first < start and last > end for first, last in segment.at_work.values())


def _is_bystander(segment: Segment, hits: Sequence[Hit], server: Segment) -> bool:
    """Whether this is another program in the same stream, of which nothing is known but words of failures in the middle of its
    lines, while the server works on: an agent that prints what its tools say, a service that reads documents aloud."""
    if segment.is_known or segment.source != server.source or segment.container == server.container:
        return False
    told = [hit for track in segment.tracks.values() for hit in track.hits]
    if any(h.span[0] == 0 or not OWN.isdisjoint(h.line.layers) for h in told):
        return False
    return server.was_up and not server.broke and survived(server, [h.line.order for h in hits])


def _is_far(hit: Hit, incident: Incident) -> bool:
    """Whether a line of another log is days away from the end of the server's own, which shows no failure."""
    if incident.primary.first_failure is not None or hit.line.source == incident.primary.source:
        return False
    end = incident.ends.get(incident.primary.source, (None, None))
    apart = seconds_apart((hit.line.time, hit.line.clock), end)
    return apart is not None and abs(apart) > FAR_APART
