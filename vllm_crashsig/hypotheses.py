"""The evidence of one incident -> hypotheses: who has a case, what happened after it, and what it accounts for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .catalogue import Catalogue
from .conditions import Conditions
from .correlate import Segment, lines_between, seconds_apart, seconds_between
from .crashid import mask
from .incidents import Incident
from .model import Hit, LogLine
from .report import Outcome, TrailNote
from .schema import Fingerprint

STOP_LINES = 400
STOP_SECONDS = 60.0
"""How long after an orderly stop began failures are only its echo."""
PROGRESS_NEEDED = 2
"""Progress milestones after an error that show it was survived (one may be a line that was already on its way)."""
NEXT_LINES = 5
"""Lines over which the kernel tells of one OOM kill."""
FAR_APART = 26 * 3600.0
"""Seconds between two logs beyond which they cannot speak of the same crash, whatever the time zones."""
LATE_LINES = 600
LATE_SECONDS = 120.0
"""How long after its consequence a cause may stand in the log: processes write into one stream out of order."""


@dataclass(slots=True)
class Hypothesis:
    """One fingerprint with a case in one incident."""

    fingerprint: Fingerprint
    hits: list[Hit]
    """Decisive hits that stand, in order."""
    supporting: list[Hit]
    count: int
    outcome: Outcome
    explains: list[str] = field(default_factory=list)
    absorbed_by: str | None = None
    score: float = 0.0
    confidence: float = 0.0
    reasons: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.fingerprint.id

    @property
    def role(self) -> str:
        return self.fingerprint.role

    @property
    def first(self) -> Hit:
        return self.hits[0]

    @property
    def last(self) -> Hit:
        return self.hits[-1]

    @property
    def survived(self) -> bool:
        return self.outcome in ("progressed-after", "recovered")


class Trail:
    """Notes on every decision, in order."""

    def __init__(self) -> None:
        self.notes: list[TrailNote] = []

    def add(self, fingerprint: str, action: str, detail: str) -> None:
        note = TrailNote(fingerprint=fingerprint, action=action, detail=detail)  # type: ignore[arg-type]
        if note not in self.notes:
            self.notes.append(note)


def gather(incident: Incident, catalogue: Catalogue, trail: Trail) -> tuple[list[Hypothesis], frozenset[str]]:
    """All hypotheses of an incident, cascades already assigned to what explains them; and the fingerprints that settled
    the lines they matched: they stand, were vetoed with a reason, or tell of no failure."""
    conditions = Conditions(catalogue, incident.segments)
    seen = {fid for segment in incident.segments for fid, _ in segment.tracks}
    for segment in incident.segments:
        for fid, detail in sorted(segment.notes):
            trail.add(fid, "weakened", detail)
    found = []
    for fingerprint_id in sorted(seen):
        fingerprint = catalogue[fingerprint_id]
        if fingerprint.is_failure and (hypothesis := _hypothesis(fingerprint, incident, conditions, trail)):
            found.append(hypothesis)
    absorb(found, catalogue, trail)
    settled = {h.id for h in found} | {i for i in seen if not catalogue[i].is_failure}
    return found, frozenset(settled | {note.fingerprint for note in trail.notes if note.action == "vetoed"})


def _hypothesis(fingerprint: Fingerprint, incident: Incident, conditions: Conditions, trail: Trail) -> Hypothesis | None:
    hits: list[Hit] = []
    vetoed: list[Hit] = []
    for hit in conditions.decisive(fingerprint):
        if reason := _veto(hit, fingerprint, incident, conditions):
            trail.add(fingerprint.id, "vetoed", f"{hit.line.source}:{hit.line.number} {hit.indicator}: {reason}")
            vetoed.append(hit)
        else:
            hits.append(hit)
    for hit in [h for h in hits if any(_same_event(h, v) for v in vetoed)]:
        hits.remove(hit)
        trail.add(fingerprint.id, "vetoed", f"{hit.line.source}:{hit.line.number} {hit.indicator}: the same event as above")
    if not hits and not (fingerprint.when and _supporting(fingerprint, incident)):
        if _supporting(fingerprint, incident):
            trail.add(fingerprint.id, "unmet", "only supporting lines; no decisive one")
        return None
    if fingerprint.when is not None and not conditions.met(fingerprint.when, fingerprint):
        trail.add(fingerprint.id, "unmet", "its `when` condition does not hold")
        return None
    if not hits:
        return None
    hits.sort(key=lambda h: (h.line.source != incident.primary.source, h.line.order))
    count = sum(
        track.count
        for segment in incident.segments
        for (fid, name), track in segment.tracks.items()
        if fid == fingerprint.id and fingerprint.indicators[name].weight == "decisive"
    )
    return Hypothesis(fingerprint, hits, _supporting(fingerprint, incident), count, _outcome(hits, incident))


def _same_event(hit: Hit, vetoed: Hit) -> bool:
    """Whether a hit tells of an event that was vetoed: by the next line about the same process, or in another file of the case
    where its time or place was known."""
    if (lines := lines_between(hit.line, vetoed.line)) is not None and "pid" in hit.facts:
        return abs(lines) <= NEXT_LINES and hit.facts["pid"] == vetoed.facts.get("pid")
    if hit.line.source == vetoed.line.source or seconds_between(hit.line, vetoed.line) is not None:
        return False
    return hit.indicator == vetoed.indicator and mask(hit.matched) == mask(vetoed.matched)


def _supporting(fingerprint: Fingerprint, incident: Incident) -> list[Hit]:
    return [
        hit
        for segment in incident.segments
        for (fid, name), track in segment.tracks.items()
        if fid == fingerprint.id and fingerprint.indicators[name].weight == "supporting"
        for hit in track.hits
    ]


def segment_of(hit: Hit, segments: Iterable[Segment]) -> Segment | None:
    """The life that a hit belongs to."""
    for segment in segments:
        if segment.source == hit.line.source and segment.container == hit.line.scope.container:
            return segment
    return None


def _veto(hit: Hit, fingerprint: Fingerprint, incident: Incident, conditions: Conditions) -> str | None:
    if (other := _other_container(hit, incident)) is not None:
        return f"it is about another container ({other})"
    for unless in fingerprint.unless:
        if conditions.veto(unless, fingerprint, hit):
            return unless.reason
    segment = segment_of(hit, incident.segments)
    if segment is None or fingerprint.stands_after_stop:
        return None
    stop = segment.asked_to_stop
    if stop is None or not follows_stop(hit.line, stop):
        return None
    return f"an echo of the orderly stop at line {stop.number}"


def _other_container(hit: Hit, incident: Incident) -> str | None:
    """The container that a line names, if the case is known to be about others."""
    named = hit.facts.get("container_id")
    if not isinstance(named, str) or not incident.containers:
        return None
    if any(named.startswith(own) or own.startswith(named) for own in incident.containers):
        return None
    return named[:12]


def follows_stop(line: LogLine, stop: LogLine) -> bool:
    """Whether a line is an echo of an orderly stop: soon after it."""
    if line.order <= stop.order:
        return False
    seconds = seconds_between(stop, line)
    return seconds <= STOP_SECONDS if seconds is not None else line.order - stop.order <= STOP_LINES


def _outcome(hits: list[Hit], incident: Incident) -> Outcome:
    """What became of the server after the last decisive line."""
    outcomes: list[Outcome] = []
    for segment in incident.segments:
        own = [h for h in hits if segment_of(h, [segment])]
        if not own:
            continue
        last = max(h.line.order for h in own)
        if segment.after("ready", last) or (segment is not incident.primary and all(_is_far(h, incident) for h in own)):
            outcomes.append("recovered")
        elif segment.after("progress", last) >= PROGRESS_NEEDED:
            outcomes.append("progressed-after")
        elif segment.asked_to_stop is not None:
            outcomes.append("unresolved")
        else:
            outcomes.append("terminal")
    for outcome in ("terminal", "unresolved", "progressed-after", "recovered"):
        if outcome in outcomes:
            return outcome
    return "unresolved"


def _is_far(hit: Hit, incident: Incident) -> bool:
    """Whether a line of another log is days away from the end of the server's own, which shows no failure."""
    if incident.primary.first_failure is not None:
        return False
    end = incident.ends.get(incident.primary.source, (None, None))
    apart = seconds_apart((hit.line.time, hit.line.clock), end)
    return apart is not None and abs(apart) > FAR_APART


def absorb(hypotheses: list[Hypothesis], catalogue: Catalogue, trail: Trail) -> None:
    """Assigns each consequence to a cause that was seen, before it or not long after."""
    by_id = {h.id: h for h in hypotheses}
    _revive(by_id, catalogue, trail)
    for cause in hypotheses:
        if cause.survived:
            continue
        for target in catalogue.explained[cause.id]:
            effect = by_id.get(target)
            if effect is None or effect is cause or not precedes(cause, effect):
                continue
            cause.explains.append(target)
            if effect.absorbed_by is None:
                effect.absorbed_by = cause.id
                trail.add(target, "absorbed", f"a consequence of {cause.id}")
    for refined in hypotheses:
        base = by_id.get(refined.fingerprint.base_id)
        if refined.survived or base is None or base is refined or refined.absorbed_by == base.id:
            continue
        if refined.fingerprint.last_resort:
            refined.absorbed_by = refined.absorbed_by or base.id
        elif base.absorbed_by is None:
            base.absorbed_by = refined.id
            trail.add(base.id, "absorbed", f"refined by {refined.id}")


def _revive(by_id: dict[str, Hypothesis], catalogue: Catalogue, trail: Trail) -> None:
    """A root and its consequence seen together did break something, even if somebody went on working in the same log: another
    process, or lines that were gathered from several. Only a server that came up again shows that it was overcome."""
    for cause in by_id.values():
        if cause.role != "root" or cause.outcome != "progressed-after":
            continue
        for target in catalogue.explained[cause.id]:
            effect = by_id.get(target)
            if effect is None or effect.role != "cascade" or effect.outcome != "progressed-after":
                continue
            for hypothesis in (cause, effect):
                hypothesis.outcome = "unresolved"
                trail.add(hypothesis.id, "weakened", "the log goes on with work, but cause and consequence are both there")
            break


def precedes(cause: Hypothesis, effect: Hypothesis) -> bool:
    """Whether the cause may have led to the effect, by place and time (unknown order counts as yes)."""
    lines = lines_between(effect.last.line, cause.first.line)
    if lines is not None:
        return lines <= LATE_LINES
    seconds = seconds_between(effect.last.line, cause.first.line)
    return seconds is None or seconds <= LATE_SECONDS
