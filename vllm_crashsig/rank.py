"""Hypotheses of one incident -> an ordered answer with reasons. Pure functions over data."""

from __future__ import annotations

from .confidence import Standing, judge
from .correlate import lines_between, seconds_between
from .hypotheses import Hypothesis, Trail
from .incidents import Incident
from .model import Hit

EPISODE_LINES = 800
EPISODE_SECONDS = 300.0
"""Failures closer together than this belong to one episode."""

CLASS_ORDER = {"root": 0, "either": 1, "cascade": 2, "degraded": 3}
OUTCOME_BONUS = {"terminal": 0.3, "unresolved": 0.15, "progressed-after": -1.0, "recovered": -1.0}
LEVEL_STRENGTH = {None: 1.0, "critical": 1.0, "error": 1.0, "warning": 0.7, "info": 0.7, "debug": 0.4}


def rank(hypotheses: list[Hypothesis], incident: Incident, trail: Trail) -> list[Hypothesis]:
    """The hypotheses that belong in the answer, best first.

    Roots come before what may be either, that before cascades; within a class the strongest comes first, and of equals the
    earliest. What a better hypothesis explains is not listed again; what was survived is listed only as degraded.
    """
    alive = [h for h in hypotheses if not h.survived or h.role == "degraded"]
    for hypothesis in hypotheses:
        if hypothesis not in alive:
            trail.add(hypothesis.id, "vetoed", "the server went on working after it")
    episode = _episode(alive, incident)
    candidates = [h for h in alive if h.absorbed_by is None]
    roots = [h for h in candidates if h.role in ("root", "either")]
    earliest = min(roots, key=lambda h: _position(h.first, incident), default=None)
    own_root = any(h.role == "root" and _speaks_in(h, incident) and h.outcome == "terminal" for h in roots)
    standings: dict[str, Standing] = {}
    for hypothesis in candidates:
        unlinked = own_root and not _speaks_in(hypothesis, incident) and not hypothesis.explains
        standing = Standing(hypothesis is earliest and not unlinked, hypothesis in episode and not unlinked, unlinked)
        standings[hypothesis.id] = standing
        _score(hypothesis, standing.earliest, standing.in_episode)
        if unlinked:
            hypothesis.score -= 0.3
            hypothesis.reasons.append("told by another log, with nothing that links it to this server")
    ordered = sorted(
        candidates,
        key=lambda h: (_class(h), -h.score, _position(h.first, incident), h.id),
    )
    for position, hypothesis in enumerate(ordered):
        judge(hypothesis, ordered, position, incident, standings[hypothesis.id])
        trail.add(hypothesis.id, "added", f"rank {position + 1}, score {hypothesis.score:.2f}: {'; '.join(hypothesis.reasons)}")
    return ordered


def _class(hypothesis: Hypothesis) -> int:
    return CLASS_ORDER["either" if hypothesis.role == "root" and hypothesis.fingerprint.last_resort else hypothesis.role]


def _speaks_in(hypothesis: Hypothesis, incident: Incident) -> bool:
    """Whether a decisive line stands in the server's own log."""
    return any(hit.line.source == incident.primary.source for hit in hypothesis.hits)


def _position(hit: Hit, incident: Incident) -> tuple[bool, int]:
    return (hit.line.source != incident.primary.source, hit.line.order)


def _episode(alive: list[Hypothesis], incident: Incident) -> list[Hypothesis]:
    """The hypotheses with a decisive line in the last chain of failures (gaps bounded), going back from the end."""
    hits = [(hit, h) for h in alive if h.role != "degraded" for hit in h.hits if hit.line.source == incident.primary.source]
    elsewhere = [h for h in alive if all(hit.line.source != incident.primary.source for hit in h.hits)]
    hits.sort(key=lambda pair: pair[0].line.order, reverse=True)
    found: list[Hypothesis] = []
    previous: Hit | None = None
    for hit, hypothesis in hits:
        if previous is not None and not _close(hit, previous):
            break
        previous = hit
        if hypothesis not in found:
            found.append(hypothesis)
    return [*found, *elsewhere]


def _close(earlier: Hit, later: Hit) -> bool:
    seconds = seconds_between(earlier.line, later.line)
    if seconds is not None and abs(seconds) <= EPISODE_SECONDS:
        return True
    lines = lines_between(earlier.line, later.line)
    return lines is not None and abs(lines) <= EPISODE_LINES


def _score(hypothesis: Hypothesis, earliest: bool, in_episode: bool) -> None:
    reasons = hypothesis.reasons
    strength = max(LEVEL_STRENGTH[hit.line.level] for hit in hypothesis.hits)
    score = strength + OUTCOME_BONUS[hypothesis.outcome]
    where = hypothesis.first.line
    reasons.append(f"{hypothesis.count} decisive line(s), first at {where.source}:{where.number}")
    if strength < 1:
        reasons.append(f"logged only as {hypothesis.first.line.level}")
    if hypothesis.supporting:
        score += min(0.15, 0.05 * len({h.indicator for h in hypothesis.supporting}))
        reasons.append(f"{len(hypothesis.supporting)} supporting line(s)")
    if len({h.indicator for h in hypothesis.hits}) > 1:
        score += 0.05
    if hypothesis.explains:
        score += 0.1 if len(hypothesis.explains) == 1 else 0.15
        reasons.append("explains " + ", ".join(sorted(hypothesis.explains)))
    if in_episode:
        score += 0.2
    else:
        reasons.append("far from the final failure")
    if earliest:
        score += 0.2
        reasons.append("the earliest cause seen")
    if hypothesis.fingerprint.status in ("experimental", "test"):
        score -= 0.05
    if hypothesis.outcome == "unresolved":
        reasons.append("somebody stopped the server afterwards")
    hypothesis.score = score
