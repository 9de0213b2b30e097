"""The evidence of one incident -> hypotheses: who has a case, what happened after it, and what it accounts for."""

from __future__ import annotations

from collections.abc import Set

from .catalogue import Catalogue
from .conditions import Conditions
from .correlate import lines_between, seconds_between
from .crashid import fold, mask
from .incidents import Incident
from .model import Hit, LogLine
from .nouns import dataclass, field
from .report import Outcome, TrailNote
from .schema import Fingerprint
from .survival import outcome, outlived_work, same_server_works_on, segment_of

STOP_LINES = 400
STOP_SECONDS = 60.0
"""How long after an orderly stop began failures are only its echo."""
OUTLIVED = "all work had been done before, and nothing else failed: the end of a script"
NEXT_LINES = 5
"""Lines over which the kernel tells of one OOM kill."""
LATE_LINES = 600
LATE_SECONDS = 120.0
"""How long after its consequence a cause may stand in the log: processes write into one stream out of order."""
SOON_LINES = 400
SOON_SECONDS = 300.0
"""How long before its consequence a root may have been survived for a while: watchdogs and time-outs take minutes."""


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
        self._notes: dict[tuple[str, str, str], TrailNote] = {}

    @property
    def notes(self) -> list[TrailNote]:
        return list(self._notes.values())

    def add(self, fingerprint: str, action: str, detail: str) -> None:
        """Adds a note, unless it is there already."""
        if (key := (fingerprint, action, detail)) not in self._notes:
            self._notes[key] = TrailNote(fingerprint=fingerprint, action=action, detail=detail)  # type: ignore[arg-type]


def gather(incident: Incident, catalogue: Catalogue, trail: Trail) -> tuple[list[Hypothesis], frozenset[str]]:
    """All hypotheses of an incident, cascades already assigned to what explains them; and the fingerprints that settled
    the lines they matched: they stand, were vetoed with a reason, or tell of no failure."""
    conditions = Conditions(catalogue, incident.segments)
    seen = {fid for segment in incident.segments for fid, _ in segment.tracks}
    for segment in incident.segments:
        for fid, detail in sorted(segment.notes):
            trail.add(fid, "weakened", detail)
    found = []
    outlived = outlived_work(incident, catalogue)
    for fingerprint_id in sorted(seen):
        fingerprint = catalogue[fingerprint_id]
        if fingerprint.is_failure and (hypothesis := _hypothesis(fingerprint, incident, conditions, trail, outlived)):
            found.append(hypothesis)
    absorb(found, incident, catalogue, trail)
    settled = {h.id for h in found} | {i for i in seen if not catalogue[i].is_failure}
    return found, frozenset(settled | {note.fingerprint for note in trail.notes if note.action == "vetoed"})


def _hypothesis(
    fingerprint: Fingerprint, incident: Incident, conditions: Conditions, trail: Trail, outlived: Set[tuple[str, int]]
) -> Hypothesis | None:
    hits: list[Hit] = []
    vetoed: list[Hit] = []
    for hit in conditions.decisive(fingerprint):
        place = (hit.line.source, hit.line.order)
        if reason := OUTLIVED if place in outlived else _veto(hit, fingerprint, incident, conditions):
            trail.add(fingerprint.id, "vetoed", f"{hit.line.source}:{hit.line.number} {hit.indicator}: {reason}")
            vetoed.append(hit)
        else:
            hits.append(hit)
    for hit in [h for h in hits if any(_same_event(h, v) for v in vetoed)]:
        hits.remove(hit)
        trail.add(fingerprint.id, "vetoed", f"{hit.line.source}:{hit.line.number} {hit.indicator}: the same event as above")
    supporting = conditions.hits(fingerprint.id, _weighing("supporting", fingerprint))
    if not hits and not (fingerprint.when and supporting):
        if supporting:
            trail.add(fingerprint.id, "unmet", "only supporting lines; no decisive one")
        return None
    if fingerprint.when is not None and not conditions.met(fingerprint.when, fingerprint):
        trail.add(fingerprint.id, "unmet", "its `when` condition does not hold")
        return None
    if not hits:
        return None
    became = outcome(hits, incident, event=fingerprint.stands_after_stop)
    hits.sort(key=lambda h: (h.line.source != incident.primary.source, h.line.order))
    decisive = _weighing("decisive", fingerprint)
    count = sum(track.count for name, track in conditions.tracks(fingerprint.id) if name in decisive)
    return Hypothesis(fingerprint, hits, supporting, count, became)


def _same_event(hit: Hit, vetoed: Hit) -> bool:
    """Whether a hit tells of an event that was vetoed: by the next line about the same process, or in another file of the case
    where its time or place was known."""
    if (lines := lines_between(hit.line, vetoed.line)) is not None and "pid" in hit.facts:
        return abs(lines) <= NEXT_LINES and hit.facts["pid"] == vetoed.facts.get("pid")
    if hit.line.source == vetoed.line.source or seconds_between(hit.line, vetoed.line) is not None:
        return False
    return hit.indicator == vetoed.indicator and mask(hit.matched) == mask(vetoed.matched)


def _weighing(weight: str, fingerprint: Fingerprint) -> Set[str]:
    """Its indicators of a weight."""
    return {name for name, indicator in fingerprint.indicators.items() if indicator.weight == weight}


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


def crash_id_of(hypothesis: Hypothesis, incident: Incident) -> str | None:
    """The id of the failure that the lines of a hypothesis tell."""
    told = [f for s in incident.segments for f in s.failures.failures.values() if hypothesis.id in f.claimants | f.chained]
    return next((f.crash_id for f in fold(told)), None)


def absorb(hypotheses: list[Hypothesis], incident: Incident, catalogue: Catalogue, trail: Trail) -> None:
    """Assigns each consequence to a cause that was seen, before it or not long after."""
    by_id = {h.id: h for h in hypotheses}
    _revive(by_id, incident, catalogue, trail)
    edges = [
        (cause, effect)
        for cause in hypotheses
        if not cause.survived
        for effect in hypotheses
        if effect is not cause and _explains(cause, effect, catalogue) and precedes(cause, effect)
    ]
    # Some failures cause each other (a time-out aborts a rank, an aborted rank lets others time out). What an author wrote of
    # these two beats what follows from families and chains; then the earlier one is the cause.
    primary = incident.primary.source
    edges.sort(
        key=lambda e: (
            e[1].id not in e[0].fingerprint.explains,
            e[0].first.line.source != primary, e[0].first.line.order, e[0].id, e[1].id,
        )
    )  # fmt: skip
    for cause, effect in edges:
        if _is_behind(effect, cause, by_id):
            continue
        cause.explains.append(effect.id)
        if effect.absorbed_by is None:
            effect.absorbed_by = cause.id
            trail.add(effect.id, "absorbed", f"a consequence of {cause.id}")
    for refined in hypotheses:
        base = by_id.get(refined.fingerprint.base_id)
        if refined.survived or base is None or base is refined or refined.absorbed_by == base.id:
            continue
        if refined.fingerprint.last_resort:
            refined.absorbed_by = refined.absorbed_by or (None if _is_behind(refined, base, by_id) else base.id)
        elif base.absorbed_by is None and not _is_behind(base, refined, by_id):
            base.absorbed_by = refined.id
            trail.add(base.id, "absorbed", f"refined by {refined.id}")


def _explains(cause: Hypothesis, effect: Hypothesis, catalogue: Catalogue) -> bool:
    """Whether one fingerprint leads to the other. Within a family only an author's word counts: a refinement says it better."""
    if effect.id in cause.fingerprint.explains:
        return True
    return effect.id in catalogue.explained[cause.id] and effect.fingerprint.base_id != cause.fingerprint.base_id


def _is_behind(hypothesis: Hypothesis, other: Hypothesis, by_id: dict[str, Hypothesis]) -> bool:
    """Whether ``hypothesis`` is a cause of ``other``, directly or through others."""
    step: str | None = other.id
    while step is not None:
        if step == hypothesis.id:
            return True
        step = by_id[step].absorbed_by
    return False


def _revive(by_id: dict[str, Hypothesis], incident: Incident, catalogue: Catalogue, trail: Trail) -> None:
    """A root and its consequence seen together did break something, even if somebody went on working in the same log: another
    process, or lines that were gathered from several. Only a server that came up again shows that it was overcome, or one
    whose process works before and after: then somebody only wrote of it.

    So did a root soon after which its consequence ends the log, with nothing else that would explain it."""
    explained = {
        t for h in by_id.values() if h.role in ("root", "either") and not h.survived for t in catalogue.explained[h.id]
    }
    for cause in by_id.values():
        if cause.role != "root" or cause.outcome != "progressed-after":
            continue
        for target in catalogue.explained[cause.id]:
            effect = by_id.get(target)
            if effect is None or effect.role != "cascade" or effect.outcome == "recovered":
                continue
            if effect.survived and _same_server(cause, effect, incident):
                continue
            if effect.survived or (target not in explained and _soon(cause.last.line, effect.first.line)):
                for hypothesis in (cause, effect):
                    hypothesis.outcome = "unresolved"
                    trail.add(hypothesis.id, "weakened", "the log goes on with work, but cause and consequence are both there")
                break


def _same_server(cause: Hypothesis, effect: Hypothesis, incident: Incident) -> bool:
    segment = segment_of(cause.first, incident.segments)
    end = max((h.line.order for h in [*cause.hits, *effect.hits] if segment_of(h, incident.segments) is segment), default=0)
    return segment is not None and same_server_works_on(segment, cause.first.line.order, end)


def _soon(cause: LogLine, effect: LogLine) -> bool:
    seconds = seconds_between(cause, effect)
    if seconds is not None:
        return 0 <= seconds <= SOON_SECONDS
    lines = lines_between(cause, effect)
    return lines is not None and 0 <= lines <= SOON_LINES


def precedes(cause: Hypothesis, effect: Hypothesis) -> bool:
    """Whether the cause may have led to the effect, by place and time (unknown order counts as yes)."""
    lines = lines_between(effect.last.line, cause.first.line)
    seconds = seconds_between(effect.last.line, cause.first.line)
    return (lines is None or lines <= LATE_LINES) and (seconds is None or seconds <= LATE_SECONDS)
