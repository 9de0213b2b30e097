"""Logs that stop in the middle: where, and what shows that the server is gone.

A log that was copied while the server ran stops in the middle as well. So nothing is said without a sign of an end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from .correlate import Segment, seconds_apart
from .crashid import make_crash_id
from .incidents import Incident
from .report import SilenceInfo, UnknownFailure

READY = "vllm-ready"
"""The fingerprint of the lines that each process of a server prints once, when it is up."""
ORDERLY_EXITS = (0, 130, 143)
"""Exit statuses of a server that ended or was asked to: success, SIGINT, SIGTERM."""
AGAIN_WITHIN = 1800.0
"""Seconds within which whatever keeps a server running starts it again: restart policies, units and Pods wait minutes at most.
What starts later may as well be the log of another day."""
RESTARTS = 2
"""Lives in a row, each cut off without a word and started again, that are a failure. One may be somebody's hand."""
OUTLIVED = 120.0
"""Seconds by which the logs of others must go on to show that a server is gone that had not come up."""


def told_status(incident: Incident) -> int | None:
    """The exit status that a record of the container tells; of a Pod that runs again only where it goes on failing."""
    status = incident.context.get("state_exit_code")
    if status is None and incident.context.get("crash_loop") is True:
        status = incident.context.get("exit_code")
    return status if isinstance(status, int) else None


def silent_exit(status: int | None) -> UnknownFailure:
    """The failure that an exit status tells and no line."""
    headline = f"exit status {status}, and the log shows no failure: it may be cut off, or its last lines were never written"
    return UnknownFailure(crash_id=make_crash_id(f"exit-{status}", (), headline), headline=headline, count=1, evidence=[])


def silent_restarts(incidents: Sequence[Incident], quiet: Sequence[bool]) -> UnknownFailure | None:
    """The failure that only the starts tell: a server that is started again and again, and never ends in order.

    quiet: which lives show no failure.
    """
    lives = most = 0
    for at, (incident, following) in enumerate(pairwise(incidents)):
        lives = lives + 1 if quiet[at] and _is_restarted(incident.primary, following.primary) else 0
        most = max(most, lives)
    if most < RESTARTS:
        return None
    headline = "started again and again: its lives end without a word, neither stopped nor with a failure in the log"
    return UnknownFailure(crash_id=make_crash_id("silent-restarts", (), headline), headline=headline, count=most, evidence=[])


def _is_restarted(life: Segment, following: Segment) -> bool:
    """Whether a server's life was cut off, and the same server began anew: at once, with the same model, and on its own."""
    first = following.first
    if life.stops or first is None or life.source != following.source or _goes_back(life, following):
        return False
    if not (life.milestones.get("start") and following.milestones.get("start")) or _is_of_another(following):
        return False
    models = {segment.context.get("model") for segment in (life, following)} - {None}
    apart = seconds_apart(life.told, (first.time, first.clock)) if life.told is not None else None
    return len(models) < 2 and (apart is None or apart <= AGAIN_WITHIN)


def _is_of_another(life: Segment) -> bool:
    """Whether a life shows more than one server at work: one before it is ready, or one process that is ready twice."""
    ready = life.milestones.get("ready", [])
    if any(order < min(ready, default=order + 1) for order in life.milestones.get("progress", [])):
        return True
    told = Counter((key, hit.line.scope.pid) for key, track in life.tracks.items() if key[0] == READY for hit in track.hits)
    return any(times > 1 for times in told.values())


def silences(
    incidents: Sequence[Incident], quiet: Sequence[bool], lines: Mapping[str, int], status: int | None
) -> list[SilenceInfo]:
    """All lives that ended without a word, as far as something shows that they ended.

    quiet: which lives show no failure. lines: how many lines each source has. status: how the last life ended, if told.
    """
    found = []
    for at, incident in enumerate(incidents):
        following = incidents[at + 1] if at + 1 < len(incidents) else None
        primary = incident.primary
        if quiet[at] and not primary.stops and (signs := list(_signs(incident, following, status))):
            end = following.primary.first if following and following.primary.source == primary.source else None
            line = end.number - 1 if end else lines.get(primary.source, 0)
            found.append(SilenceInfo(source=primary.source, line=line, phase=_phase(primary), signs=signs))
        found += _outlived(incident, lines)
    return found


def _signs(incident: Incident, following: Incident | None, status: int | None) -> Iterator[str]:
    if following is not None:
        first = following.primary.first
        if (
            first is not None
            and first.source == incident.primary.source
            and not _goes_back(incident.primary, following.primary)
        ):
            yield f"another start follows at line {first.number}"
        return
    if status is not None and status not in ORDERLY_EXITS:
        yield f"it ended with exit status {status}"
    if incident.context.get("crash_loop") is True:
        yield "its container is in a crash loop"


def _goes_back(segment: Segment, following: Segment) -> bool:
    """Whether a life begins before the one above it ends: logs of two servers were put one behind the other."""
    first, told = following.first, segment.told
    return first is not None and first.time is not None and told is not None and told[1] == first.clock and first.time < told[0]


def _outlived(incident: Incident, lines: Mapping[str, int]) -> Iterator[SilenceInfo]:
    """Servers that were starting when their log stopped, while the logs of others go on."""
    servers = {s.source: s for s in incident.segments if s.milestones.get("start") or s.milestones.get("ready")}
    ends = {source: incident.ends.get(source, (None, None)) for source in servers}
    for source, segment in servers.items():
        end, clock = ends[source]
        if segment.milestones.get("ready") or segment.stops or segment.first_failure is not None or segment.failures.failures:
            continue
        later = [
            (other, time) for other, (time, kind) in ends.items() if time is not None and kind == clock and other != source
        ]
        other, time = max(later, key=lambda pair: pair[1], default=("", None))
        if end is not None and time is not None and time - end > OUTLIVED:
            sign = f"{other} goes on for {(time - end) / 60:.0f} minutes"
            yield SilenceInfo(source=source, line=lines.get(source, 0), phase=_phase(segment), signs=[sign])


def _phase(segment: Segment) -> str | None:
    if segment.milestones.get("ready") or segment.milestones.get("progress"):
        return "serving"
    phase = segment.context.get("phase", "init" if segment.milestones.get("start") else None)
    return phase if isinstance(phase, str) else None
