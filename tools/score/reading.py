"""Classifies logs as `classify_paths` would if they lay on disk, and takes notes of what its stages saw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from unittest.mock import patch

from labelled import Logs, corpus

from vllm_crashsig import Report, confidence
from vllm_crashsig.confidence import Standing
from vllm_crashsig.correlate import Correlator
from vllm_crashsig.hypotheses import Hypothesis
from vllm_crashsig.incidents import Incident
from vllm_crashsig.intake import take_all
from vllm_crashsig.match import LineHits
from vllm_crashsig.model import Hit
from vllm_crashsig.sources import Source
from vllm_crashsig.sources.base import Stream


@dataclass(frozen=True)
class Answer:
    """A hypothesis that leads an incident and claims a cause, with what its confidence is made of."""

    id: str
    role: str
    confidence: float
    signs: dict[str, float] = field(repr=False)
    seen: frozenset[str] = field(repr=False)
    """Its evidence."""


@dataclass(frozen=True)
class Reading:
    """A report, and how it came about."""

    report: Report
    hits: tuple[Hit, ...] = field(repr=False)
    """All hits in order, log by log, before vetoes and ranking."""
    answer: Answer | None
    """The first classification, where it claims a cause."""


Place = tuple[str, str, int]
"""Fingerprint, and log and line of its first evidence."""


@dataclass
class _Notes:
    hits: list[Hit] = field(default_factory=list)
    answers: dict[Place, Answer] = field(default_factory=dict)


class _Listening(Correlator):
    """A correlator that writes down what it is given."""

    notes: _Notes

    def add(self, found: LineHits) -> bool:
        self.notes.hits += found.hits
        return super().add(found)


def _judge(
    notes: _Notes,
    hypothesis: Hypothesis,
    ordered: list[Hypothesis],
    position: int,
    incident: Incident,
    standing: Standing,
) -> None:
    confidence.judge(hypothesis, ordered, position, incident, standing)
    if position == 0 and hypothesis.role != "cascade":
        found = confidence.signs(hypothesis, ordered, incident, standing)
        line = hypothesis.first.line
        notes.answers[hypothesis.id, line.source, line.number] = Answer(
            hypothesis.id, hypothesis.role, hypothesis.confidence, found, confidence.evidence(hypothesis)
        )


@contextmanager
def _noted() -> Iterator[_Notes]:
    notes = _Notes()
    listening = type("Listening", (_Listening,), {"notes": notes})
    with patch("vllm_crashsig.engine.Correlator", listening), patch("vllm_crashsig.rank.judge", partial(_judge, notes)):
        yield notes


def read(logs: Logs) -> Reading:
    """What the engine makes of the logs of one case."""
    with _noted() as notes:
        session = corpus.classifier().session()
        take_all(session, (Source(name, Stream([data])) for name, data in logs))
        report = session.close()
    return Reading(report, tuple(notes.hits), _answer(report, notes))


def _answer(report: Report, notes: _Notes) -> Answer | None:
    top = report.cause
    if top is None or top.role == "cascade" or report.verdict not in ("crash", "degraded"):
        return None
    return notes.answers[top.id, top.evidence[0].source, top.evidence[0].line]
