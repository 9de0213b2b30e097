"""How sure an answer is: a number in 0..1 and the word for it.

The number is the share of answers like this one that were right, among the labelled logs of ``samples/`` and what is left of
them when they are cut, thinned out and mixed with others: a logistic curve over the signs below. Its weights are data
(``confidence.json``), fitted by ``tools/score/calibrate.py``; ``make score`` fails when they no longer mean what they say.
"""

from __future__ import annotations

import json
import math
import os.path
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from .hypotheses import Hypothesis
from .incidents import Incident
from .nouns import dataclass
from .report import Band

HIGH, MEDIUM = 0.8, 0.5
"""Where the bands begin."""
DOUBTFUL = 0.79
"""The most that is said where the same lines may be a consequence of something that the log does not show."""
CASCADE = 0.35
"""Said for consequences alone: the chance that nothing else was behind them."""
LEAST, MOST = 0.05, 0.99
RIVAL = 0.25
"""A cause whose score comes this near is a rival."""
WEAK_LEVELS = frozenset({"warning", "info", "debug"})
CIRCUMSTANCES = frozenset({"headless", "elsewhere"})
"""Signs without which evidence may be as good as any."""
CONSEQUENCE = "a consequence"
"""Stands in evidence where something was seen that the hypothesis explains."""
BEGINNINGS = ("start", "boot", "ready", "progress")
"""Milestones that a life begins with, or that it cannot reach without."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a hypothesis stands among the others of its incident, as the ranking sees it."""

    earliest: bool
    in_episode: bool
    unlinked: bool
    """Told by another log, with nothing that links it to this server."""


@dataclass(frozen=True)
class Ambiguity:
    """Evidence that has misled: what spoke for the wrong cause (see `evidence`), and nothing more."""

    seen: frozenset[str]
    where: frozenset[str]
    """Of CIRCUMSTANCES, those in which it misled: it is doubted where all of these are given."""


@dataclass(frozen=True)
class Curve:
    """What was learned from the labelled logs."""

    weights: Mapping[str, float]
    """By sign; ``base`` counts always."""
    ambiguous: Mapping[str, Sequence[Ambiguity]]
    """By fingerprint, evidence that also stood in logs whose labelled cause was another one, when its lines were missing."""


@lru_cache(maxsize=1)
def curve() -> Curve:
    """The one that ships with the package."""
    with open(os.path.join(os.path.dirname(__file__), "confidence.json"), encoding="utf-8") as file:
        data = json.load(file)
    return curve_of(data)


def curve_of(data: Mapping[str, Any]) -> Curve:
    """A curve from its JSON form."""
    known = {
        fingerprint: tuple(Ambiguity(frozenset(e["seen"]), frozenset(e["where"])) for e in entries)
        for fingerprint, entries in data["ambiguous"].items()
    }
    return Curve(data["weights"], known)


def band(confidence: float) -> Band:
    """The word for a confidence."""
    return "high" if confidence >= HIGH else "medium" if confidence >= MEDIUM else "low"


def signs(hypothesis: Hypothesis, ordered: list[Hypothesis], incident: Incident, standing: Standing) -> dict[str, float]:
    """What speaks for and against a hypothesis: 1 for each sign that is there."""
    others = rivals(hypothesis, ordered)
    found = {
        "either": hypothesis.role == "either",
        "degraded": hypothesis.role == "degraded",
        "last_resort": hypothesis.fingerprint.last_resort,
        "weak_level": all(hit.line.level in WEAK_LEVELS for hit in hypothesis.hits),
        "unresolved": hypothesis.outcome == "unresolved",
        "far": not standing.in_episode,
        "later": not standing.earliest,
        "unlinked": standing.unlinked,
        "elsewhere": all(hit.line.source != incident.primary.source for hit in hypothesis.hits),
        "explains": bool(hypothesis.explains),
        "supported": bool(hypothesis.supporting),
        "told_twice": len({hit.indicator for hit in hypothesis.hits}) > 1,
        "rival": bool(others),
        "rivals": len(others) > 1,
        "headless": not begins(incident),
    }
    return {name: 1.0 for name, value in found.items() if value}


def begins(incident: Incident) -> bool:
    """Whether the log shows how the server's life began, or that it had: else it may begin in the middle."""
    return any(incident.primary.milestones.get(kind) for kind in BEGINNINGS)


def rivals(hypothesis: Hypothesis, ordered: list[Hypothesis]) -> list[Hypothesis]:
    """Other causes of the same incident whose score comes near or above."""
    return [h for h in ordered if h is not hypothesis and h.role in ("root", "either") and h.score > hypothesis.score - RIVAL]


def evidence(hypothesis: Hypothesis) -> frozenset[str]:
    """What speaks for it: the indicators that hit, and whether a consequence was seen."""
    indicators = frozenset(hit.indicator for hit in [*hypothesis.hits, *hypothesis.supporting])
    return indicators | {CONSEQUENCE} if hypothesis.explains else indicators


def is_ambiguous(fingerprint: str, seen: frozenset[str], found: Mapping[str, float], learned: Curve) -> bool:
    """Whether nothing speaks for it that did not also stand in some log where the cause was another."""
    return any(known.seen >= seen and known.where <= found.keys() for known in learned.ambiguous.get(fingerprint, ()))


def estimate(fingerprint: str, seen: frozenset[str], found: Mapping[str, float], learned: Curve) -> float:
    """The chance that a hypothesis is right, from its evidence and its signs."""
    doubtful = is_ambiguous(fingerprint, seen, found, learned)
    weights = learned.weights
    total = weights["base"] + sum(value * weights.get(name, 0.0) for name, value in found.items())
    chance = 1 / (1 + math.exp(-total - (weights["ambiguous"] if doubtful else 0.0)))
    if doubtful or "either" in found or "last_resort" in found:
        chance = min(chance, DOUBTFUL)
    return min(max(chance, LEAST), MOST)


def judge(hypothesis: Hypothesis, ordered: list[Hypothesis], position: int, incident: Incident, standing: Standing) -> None:
    """Sets the confidence of a hypothesis and says what speaks against it. ``ordered`` is best first; what stands before it
    there has been judged."""
    if hypothesis.role == "cascade":
        confidence = CASCADE
        hypothesis.reasons.append("only consequences are shown; the cause is not in this log")
    else:
        found = signs(hypothesis, ordered, incident, standing)
        confidence = estimate(hypothesis.id, evidence(hypothesis), found, curve())
        hypothesis.reasons += _doubts(hypothesis, ordered, found)
        if _is_of_some_container(hypothesis, incident):
            confidence = min(confidence, DOUBTFUL)
            hypothesis.reasons.append("it is about a container, and nothing here says whether that is this server's")
    if position and hypothesis.role != "degraded":
        confidence = min(confidence, 1 - ordered[0].confidence)
    hypothesis.confidence = round(max(confidence, LEAST), 3)


def _is_of_some_container(hypothesis: Hypothesis, incident: Incident) -> bool:
    """Whether another log tells what befell a container by its id, and not one record says where the server runs."""
    elsewhere = all(hit.line.source != incident.primary.source for hit in hypothesis.hits)
    named = any("container_id" in hit.facts for hit in hypothesis.hits)
    return elsewhere and named and len(incident.containers) != 1


def _doubts(hypothesis: Hypothesis, ordered: list[Hypothesis], found: Mapping[str, float]) -> list[str]:
    """The reasons for doubt, in words."""
    doubts = []
    if hypothesis.fingerprint.last_resort:
        doubts.append("tells what happened rather than why")
    elif hypothesis.role == "either":
        doubts.append("may itself follow from something that this log does not show")
    elif is_ambiguous(hypothesis.id, evidence(hypothesis), found, curve()):
        doubts.append("the same lines are printed when something else broke first, which this log may not show")
    if others := rivals(hypothesis, ordered):
        doubts.append("other causes come near: " + ", ".join(h.id for h in others[:3]))
    return doubts
