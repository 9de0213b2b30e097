"""Ranked hypotheses -> the report's models: facts, culprits, advice, masked quotes, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from .catalogue import Catalogue
from .correlate import Segment, Stream
from .crashid import Failure, make_crash_id, mask
from .facts import fill
from .hypotheses import Hypothesis, Trail, follows_stop, gather
from .incidents import Incident, assemble
from .model import Coverage, FactValue, Hit, LogLine, Scope
from .rank import band, rank
from .redact import MASK, redact
from .remediation import advise
from .report import (
    Classification,
    CoverageInfo,
    Culprit,
    EvidenceInfo,
    IncidentInfo,
    ReferenceInfo,
    Report,
    ScopeInfo,
    Tool,
    ToolCatalogue,
    TrailNote,
    UnknownFailure,
    Verdict,
)  # fmt: skip
from .version import __version__

MAX_EVIDENCE = 12
"""Lines quoted for a classification."""
QUOTE = 1000
"""Characters of a quote."""
ORDERLY_EXITS = (0, 130, 143)
"""Exit statuses of a server that ended or was asked to: success, SIGINT, SIGTERM."""
RUNTIME_OF_LAYER = {
    "docker-json": "docker", "compose": "compose", "cri": "k8s", "kubectl": "k8s", "stern": "k8s", "kail": "k8s",
}  # fmt: skip


@dataclass(slots=True)
class _Answer:
    """One incident with everything decided."""

    incident: Incident
    ranked: list[Hypothesis]
    unknown: list[Failure]
    verdict: Verdict
    classifications: list[Classification] = field(default_factory=list)


class Reporter:
    """Builds reports from streams. Immutable; safe to share between threads.

    redacted: mask secrets in every quote. runtime: what the advice is for, if it is not to be read from the log.
    """

    def __init__(self, catalogue: Catalogue, *, redacted: bool = True, runtime: str | None = None) -> None:
        self._catalogue = catalogue
        self._redacted = redacted
        self._runtime = runtime

    def report(
        self, streams: Sequence[Stream], coverage: Sequence[Coverage], *, blank: bool, exit_status: int | None = None
    ) -> Report:
        """The answer for one case. blank: there was no text. exit_status: how the server ended, if that is known."""
        trail = Trail()
        layers = frozenset(layer for c in coverage for layer in c.envelopes)
        ends = {c.source: (c.last_time, c.last_clock) for c in coverage}
        answers = [self._answer(incident, layers, trail) for incident in assemble(streams, ends)]
        fatal = [a for a in answers if a.verdict in ("crash", "unclassified")]
        headline = fatal[-1] if fatal else answers[-1] if answers else None
        verdict: Verdict = headline.verdict if headline else "healthy"
        unknown = [self._unknown(f) for f in headline.unknown] if headline else []
        status = exit_status if exit_status is not None else _told_status(headline)
        if verdict == "healthy" and status not in (None, *ORDERLY_EXITS):
            verdict, unknown = "unclassified", [_silent_exit(status)]
        if blank:
            verdict = "empty"
        caps = [f"{c.source}: {cap}" for c in coverage for cap in c.caps]
        caps += [f"{s.source}: {s.dropped} restarts in the middle are not listed" for s in streams if s.dropped]
        clock = next((c.last_clock for c in coverage if c.last_clock in ("utc", "local")), None) or next(
            (c.last_clock for c in coverage if c.last_clock), None
        )
        lost = sum(segment.failures.dropped for s in streams for segment in s.segments)
        if lost:
            caps.append(f"{lost} more line(s) of unknown failures are not listed")
        times = [t for c in coverage if c.last_clock == clock for t in (c.first_time, c.last_time) if t is not None]
        return Report(
            tool=Tool(version=__version__, catalogue=ToolCatalogue(version=self._catalogue.version, hash=self._catalogue.hash)),
            verdict=verdict,
            classifications=headline.classifications if headline else [],
            incidents=_fold([self._incident_info(a, a is answers[-1]) for a in answers]),
            unclassified=unknown,
            context=self._context(headline, answers),
            coverage=CoverageInfo(
                bytes=sum(c.bytes for c in coverage),
                lines=sum(c.lines for c in coverage),
                undecodable=sum(c.undecodable for c in coverage),
                envelopes=sorted(layers),
                first_time=min(times, default=None),
                last_time=max(times, default=None),
                clock=clock,
                caps=caps,
                sources=[c.source for c in coverage],
            ),
            trail=trail.notes if not self._redacted else [_redacted_note(n) for n in trail.notes],
        )

    def _answer(self, incident: Incident, layers: frozenset[str], trail: Trail) -> _Answer:
        hypotheses, settled = gather(incident, self._catalogue, trail)
        ranked = rank(hypotheses, incident, trail)
        unknown = _unknown_failures(incident, settled)
        causes = [h for h in ranked if h.role in ("root", "either")]
        if causes and all(_is_vague(h) and _comes_after(h, unknown) for h in causes):
            causes = []  # an exception that nobody knows came first: it is more telling than that something timed out or died
        cascades = [h for h in ranked if h.role == "cascade"]
        verdict: Verdict
        if causes:
            verdict = "crash"
        elif unknown:
            verdict = "unclassified"
        elif cascades:
            verdict = "crash"
        elif ranked:
            verdict = "degraded"
        else:
            verdict = "healthy"
        answer = _Answer(incident, ranked, unknown, verdict)
        context = incident.context
        runtimes = frozenset([self._runtime]) if self._runtime else _runtimes(layers, context)
        answer.classifications = [self._classification(i, h, incident, context, runtimes) for i, h in enumerate(ranked, 1)]
        return answer

    def _classification(
        self, position: int, hypothesis: Hypothesis, incident: Incident, context: dict[str, FactValue], runtimes: frozenset[str]
    ) -> Classification:
        fingerprint = hypothesis.fingerprint
        facts: dict[str, FactValue] = {}
        for hit in [*hypothesis.hits, *hypothesis.supporting]:
            for name, value in hit.facts.items():
                facts.setdefault(name, self._masked(value, hit.line.text))
        context = {name: self._masked(value) for name, value in context.items()}
        known = {**context, **facts}
        return Classification(
            rank=position,
            id=fingerprint.id,
            title=fingerprint.title,
            role=fingerprint.role,  # type: ignore[arg-type]
            severity=fingerprint.severity,
            confidence=hypothesis.confidence,
            band=band(hypothesis.confidence),
            outcome=hypothesis.outcome,
            summary=fill(fingerprint.summary, known, fingerprint.facts),
            facts=facts,
            evidence=self._evidence(hypothesis, incident.segments),
            explains=sorted(hypothesis.explains),
            culprit=_culprit(hypothesis),
            remediation=advise(fingerprint, facts, context, runtimes),
            references=[ReferenceInfo(title=r.title, url=r.url) for r in fingerprint.references],
            reasons=hypothesis.reasons,
        )

    def _evidence(self, hypothesis: Hypothesis, segments: Iterable[Segment]) -> list[EvidenceInfo]:
        """The first decisive line of each indicator first, then the others in order."""
        first_of: dict[str, Hit] = {}
        for hit in hypothesis.hits:
            first_of.setdefault(hit.indicator, hit)
        leading = list(first_of.values())
        rest = [h for h in hypothesis.hits if h not in leading]
        supporting: dict[str, Hit] = {}
        for hit in hypothesis.supporting:
            supporting.setdefault(hit.indicator, hit)
        counts = {(fid, name): track.count for s in segments for (fid, name), track in s.tracks.items() if fid == hypothesis.id}
        chosen = [*leading, *supporting.values(), *rest]
        return [
            self._quoted(h.line, h.indicator, hypothesis.fingerprint.indicators[h.indicator].weight,
                         counts.get((hypothesis.id, h.indicator), 1) if h in leading else h.line.count)
            for h in chosen[:MAX_EVIDENCE]
        ]  # fmt: skip

    def _quoted(self, line: LogLine, indicator: str, weight: str, count: int) -> EvidenceInfo:
        return EvidenceInfo(
            source=line.source,
            line=line.number,
            offset=line.offset,
            indicator=indicator,
            weight=weight,  # type: ignore[arg-type]
            text=self._quote(line.text.strip()),
            time=line.time,
            clock=line.clock,
            level=line.level,
            scope=_scope(line.scope),
            count=count,
        )

    def _masked(self, value: FactValue, line: str = "") -> FactValue:
        """A fact without secrets: neither one that shows itself, nor one that its line gives away (``--password X``)."""
        if not self._redacted or not isinstance(value, str):
            return value
        if line and value in line and value not in redact(line):
            return MASK
        return redact(value)

    def _quote(self, text: str) -> str:
        text = redact(text) if self._redacted else text
        return text if len(text) <= QUOTE else text[:QUOTE] + " …"

    def _unknown(self, failure: Failure) -> UnknownFailure:
        return UnknownFailure(
            crash_id=failure.crash_id,
            headline=self._quote(failure.headline),
            count=failure.count,
            frames=[self._quote(frame) for frame in failure.frames],
            evidence=[self._quoted(line, failure.kind, "context", line.count) for line in failure.lines[:3]],
        )

    def _incident_info(self, answer: _Answer, is_last: bool) -> IncidentInfo:
        lines = [
            x for s in answer.incident.segments for x in (s.first, s.last) if x and x.source == answer.incident.primary.source
        ]
        numbers = [line.number for line in lines]
        failed = answer.verdict in ("crash", "unclassified")
        primary = answer.incident.primary
        ended = "failure" if failed else "planned-stop" if primary.milestones.get("planned-stop") else "open"
        if ended == "open" and primary.milestones.get("stop"):
            ended = "stop"
        elif ended == "open" and not is_last:
            ended = "silent"
        return IncidentInfo(
            index=primary.index,
            source=primary.source,
            first_line=min(numbers, default=0),
            last_line=max(numbers, default=0),
            ended=ended,  # type: ignore[arg-type]
            classifications=answer.classifications,
            unclassified=[self._unknown(f) for f in answer.unknown],
        )

    def _context(self, headline: _Answer | None, answers: Sequence[_Answer]) -> dict[str, FactValue]:
        context: dict[str, FactValue] = {}
        for answer in [*answers, *([headline] if headline else [])]:
            context.update(answer.incident.context)
        return {n: self._quote(v) if isinstance(v, str) else v for n, v in sorted(context.items())}


def _told_status(headline: _Answer | None) -> int | None:
    """The exit status that a record of the container tells, such as `docker inspect`'s."""
    context = headline.incident.context if headline else {}
    status = context.get("state_exit_code")
    return status if isinstance(status, int) else None


def _silent_exit(status: int | None) -> UnknownFailure:
    headline = f"exit status {status}, and the log shows no failure: it may be cut off, or its last lines were never written"
    return UnknownFailure(crash_id=make_crash_id(f"exit-{status}", (), headline), headline=headline, count=1, evidence=[])


def _unknown_failures(incident: Incident, settled: frozenset[str]) -> list[Failure]:
    """Failure text that no fingerprint settled, that was not survived and did not follow an orderly stop."""
    found = []
    for segment in incident.segments:
        stop = segment.asked_to_stop
        for failure in segment.failures.failures.values():
            last = failure.last.order
            if failure.claimants & settled or segment.after("ready", last) or segment.after("progress", last) >= 2:
                continue
            if stop is not None and follows_stop(failure.first, stop):
                continue
            found.append(failure)
    return _folded(found)


def _is_vague(hypothesis: Hypothesis) -> bool:
    """Whether it says what happened rather than why."""
    return hypothesis.role == "either" or hypothesis.fingerprint.last_resort


def _comes_after(hypothesis: Hypothesis, failures: Iterable[Failure]) -> bool:
    """Whether one of these failures, told by a traceback of the same source, stands before all its lines."""
    first = hypothesis.first.line
    return any(f.frames and f.first.source == first.source and f.first.order < first.order for f in failures)


def _folded(failures: list[Failure]) -> list[Failure]:
    """One for each exception: a process hands what it caught to the next, which prints it again with frames of its own."""
    first: dict[tuple[str, str], Failure] = {}
    for failure in failures:
        key = (failure.kind.rpartition(".")[2], mask(failure.headline.partition(":")[2] or failure.headline))
        if (before := first.setdefault(key, failure)) is not failure:
            first[key] = replace(before, count=before.count + failure.count)
    return list(first.values())


def _culprit(hypothesis: Hypothesis) -> Culprit:
    hit = hypothesis.first
    scope, facts = hit.line.scope, hit.facts

    def number(name: str, fallback: int | None) -> int | None:
        value = facts.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else fallback

    gpu = facts.get("pci", facts.get("gpu", scope.gpu))
    node = facts.get("node", scope.node)
    return Culprit(
        node=str(node) if node is not None else None,
        rank=number("rank", scope.rank),
        gpu=gpu if isinstance(gpu, int | str) else None,
        pid=number("pid", scope.pid),
        component=scope.component,
    )


def _scope(scope: Scope) -> ScopeInfo:
    return ScopeInfo(
        node=scope.node, container=scope.container, component=scope.component, rank=scope.rank, gpu=scope.gpu, pid=scope.pid
    )


def _runtimes(layers: frozenset[str], context: dict[str, FactValue]) -> frozenset[str]:
    seen = {RUNTIME_OF_LAYER[layer] for layer in layers if layer in RUNTIME_OF_LAYER}
    if isinstance(told := context.get("runtime"), str):
        seen.add(told)
    if "k8s" in seen or "swarm" in seen:  # their containers are run by something else, whose options do not apply
        seen -= {"docker", "podman", "systemd"}
    return frozenset(seen)


def _redacted_note(note: TrailNote) -> TrailNote:
    return note.model_copy(update={"detail": redact(note.detail)})


def _fold(incidents: list[IncidentInfo]) -> list[IncidentInfo]:
    """Incidents in a row with the same first cause become one, told N times (the last one stands for all)."""
    folded: list[IncidentInfo] = []
    last = 0
    for incident in incidents:
        cause = incident.classifications[0].id if incident.classifications else None
        before = folded[-1] if folded else None
        if (
            before
            and cause
            and before.classifications
            and before.classifications[0].id == cause
            and before.source == incident.source
        ):
            lives = before.repeats + incident.index - last  # lives in between that were not kept count too
            folded[-1] = incident.model_copy(update={"first_line": before.first_line, "repeats": lives})
        else:
            folded.append(incident)
        last = incident.index
    return folded
