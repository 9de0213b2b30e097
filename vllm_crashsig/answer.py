"""Ranked hypotheses -> the report's models: facts, culprits, advice, masked quotes, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .catalogue import Catalogue
from .chain import chain_of
from .confidence import band
from .correlate import Segment, Stream
from .crashid import Failure, fold
from .culprit import Culprits
from .facts import fill
from .hypotheses import Hypothesis, Trail, crash_id_of, follows_stop, gather
from .incidents import Incident, assemble
from .model import Coverage, FactValue, Hit, LogLine, Scope
from .nouns import dataclass, field
from .rank import rank
from .redact import MASK, redact
from .remediation import advise
from .report import (
    ChainLink,
    Classification,
    CoverageInfo,
    Culprit,
    EvidenceInfo,
    IncidentInfo,
    ReferenceInfo,
    Report,
    ScopeInfo,
    SilenceInfo,
    StepInfo,
    Tool,
    ToolCatalogue,
    TrailNote,
    UnknownFailure,
    Update,
    Verdict,
)  # fmt: skip
from .settle import settling
from .silence import ORDERLY_EXITS, silences, silent_exit, silent_restarts, told_status
from .survival import survived
from .version import __version__

MAX_EVIDENCE = 12
"""Lines quoted for a classification."""
QUOTE = 1000
"""Characters of a quote."""
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
    settle: list[StepInfo] = field(default_factory=list)


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
        headline = _headline(answers)
        verdict: Verdict = headline.verdict if headline else "healthy"
        unknown = [self._unknown(f) for f in headline.unknown] if headline else []
        settle = headline.settle if headline else []
        status = exit_status if exit_status is not None else told_status(headline.incident) if headline else None
        if verdict == "healthy" and status not in (None, *ORDERLY_EXITS):
            verdict, unknown = "unclassified", [silent_exit(status)]
        incidents, quiet = [a.incident for a in answers], [a.verdict in ("healthy", "degraded") for a in answers]
        silent = silences(incidents, quiet, {c.source: c.lines for c in coverage}, status)
        if verdict in ("healthy", "degraded") and (restarts := silent_restarts(incidents, quiet)) is not None:
            verdict, unknown = "unclassified", [restarts]
        if headline is not None and headline.verdict in ("healthy", "degraded") and (silent or unknown):
            settle = settling("unclassified", None, headline.incident, headline.incident.context, layers, ())
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
            incidents=_fold([self._incident_info(a, silent) for a in answers]),
            unclassified=unknown,
            silences=silent,
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
            settle=settle,
            trail=trail.notes if not self._redacted else [_redacted_note(n) for n in trail.notes],
        )

    def update(
        self, streams: Sequence[Stream], coverage: Sequence[Coverage], *, blank: bool, exit_status: int | None = None
    ) -> Update:
        """The headline of `report` alone. Far cheaper where a log holds many lives."""
        layers = frozenset(layer for c in coverage for layer in c.envelopes)
        ends = {c.source: (c.last_time, c.last_clock) for c in coverage}
        for incident in reversed(assemble(streams, ends)):
            answer = self._answer(incident, layers, Trail())
            if answer.verdict in ("crash", "unclassified") and not blank:
                unknown = self._unknown(answer.unknown[0]) if answer.verdict == "unclassified" else None
                return Update(
                    verdict=answer.verdict, classification=next(iter(answer.classifications), None), unclassified=unknown
                )
        report = self.report(streams, coverage, blank=blank, exit_status=exit_status)
        return Update(verdict=report.verdict, classification=report.cause, unclassified=next(iter(report.unclassified), None))

    def _answer(self, incident: Incident, layers: frozenset[str], trail: Trail) -> _Answer:
        hypotheses, settled = gather(incident, self._catalogue, trail)
        ranked = rank(hypotheses, incident, trail)
        unsure = {h.id for h in hypotheses if h.role == "cascade" or _is_vague(h)}
        unknown = _unknown_failures(incident, settled, settled - unsure)
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
        culprits = Culprits(incident, self._catalogue)
        answer.classifications = [
            self._classification(i, h, incident, context, runtimes, who, chain_of(h, who, hypotheses))
            for i, h in enumerate(ranked, 1)
            for who in (culprits.of(h),)
        ]
        answer.settle = settling(verdict, next(iter(answer.classifications), None), incident, context, layers, runtimes)
        return answer

    def _classification(
        self,
        position: int,
        hypothesis: Hypothesis,
        incident: Incident,
        context: dict[str, FactValue],
        runtimes: frozenset[str],
        culprit: Culprit,
        chain: list[ChainLink],
    ) -> Classification:
        fingerprint = hypothesis.fingerprint
        facts: dict[str, FactValue] = {}
        for hit in [*hypothesis.hits, *hypothesis.supporting]:
            for name, value in hit.facts.items():
                facts.setdefault(name, self._masked(value, hit.line.text))
        if culprit.role == "behind" and culprit.rank is not None and "lagging_rank" in fingerprint.facts:
            facts["lagging_rank"] = ", ".join(map(str, culprit.ranks)) or culprit.rank
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
            chain=chain,
            culprit=culprit,
            remediation=advise(fingerprint, facts, context, runtimes),
            references=[ReferenceInfo(title=r.title, url=r.url) for r in fingerprint.references],
            reasons=hypothesis.reasons,
            crash_id=crash_id_of(hypothesis, incident),
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
            chain=[self._quote(text) for text in failure.chain],
            frames=[self._quote(frame) for frame in failure.frames],
            evidence=[self._quoted(line, failure.kind, "context", line.count) for line in failure.lines[:3]],
        )

    def _incident_info(self, answer: _Answer, silent: Sequence[SilenceInfo]) -> IncidentInfo:
        lines = [
            x for s in answer.incident.segments for x in (s.first, s.last) if x and x.source == answer.incident.primary.source
        ]
        numbers = [line.number for line in lines]
        failed = answer.verdict in ("crash", "unclassified")
        primary = answer.incident.primary
        ended = "failure" if failed else "planned-stop" if primary.milestones.get("planned-stop") else "open"
        if ended == "open" and primary.milestones.get("stop"):
            ended = "stop"
        elif ended == "open" and any(s.source == primary.source and (not numbers or s.line >= max(numbers)) for s in silent):
            ended = "silent"
        return IncidentInfo(
            index=primary.index,
            source=primary.source,
            first_line=min(numbers, default=0),
            last_line=max(numbers, default=0),
            ended=ended,  # type: ignore[arg-type]
            verdict=answer.verdict,
            classifications=answer.classifications,
            unclassified=[self._unknown(f) for f in answer.unknown],
            settle=answer.settle,
        )

    def _context(self, headline: _Answer | None, answers: Sequence[_Answer]) -> dict[str, FactValue]:
        context: dict[str, FactValue] = {}
        for answer in [*answers, *([headline] if headline else [])]:
            context.update(answer.incident.context)
        return {n: self._quote(v) if isinstance(v, str) else v for n, v in sorted(context.items())}


def _headline(answers: Sequence[_Answer]) -> _Answer | None:
    """The last life that failed, else the last that suffered, else the last."""
    for verdicts in (("crash", "unclassified"), ("degraded",)):
        if found := [a for a in answers if a.verdict in verdicts]:
            return found[-1]
    return answers[-1] if answers else None


def _unknown_failures(incident: Incident, settled: frozenset[str], solid: frozenset[str]) -> list[Failure]:
    """Failure text that no fingerprint settled, that was not survived and did not follow an orderly stop."""
    found = []
    for segment in incident.segments:
        stop = segment.asked_to_stop
        for failure in segment.failures.failures.values():
            first, last = failure.first.order, failure.last.order
            if failure.claimants & settled or failure.chained & solid:
                continue
            if segment.after("ready", last) or survived(segment, [first, last]):
                continue
            if _is_of_a_request(failure) and segment.was_up_before(first) and not segment.broke:
                continue
            if _is_of_the_kernel(failure) and incident.primary.was_up and incident.primary.first_failure is None:
                continue  # it stumbled and went on, and so did the server
            if stop is not None and follows_stop(failure.first, stop):
                continue
            found.append(failure)
    return fold(found)


def _is_of_the_kernel(failure: Failure) -> bool:
    return failure.first.scope.component == "kernel"


def _is_of_a_request(failure: Failure) -> bool:
    """Whether the API server caught it and logged it: while it serves, that ends a request and not the server."""
    return failure.of_requests or all(
        x.level is not None and (x.scope.component or "").startswith("APIServer") for x in failure.lines
    )


def _is_vague(hypothesis: Hypothesis) -> bool:
    """Whether it says what happened rather than why."""
    return hypothesis.role == "either" or hypothesis.fingerprint.last_resort


def _comes_after(hypothesis: Hypothesis, failures: Iterable[Failure]) -> bool:
    """Whether one of these failures, told by a traceback of the same source, stands before all its lines."""
    first = hypothesis.first.line
    return any(f.frames and f.first.source == first.source and f.first.order < first.order for f in failures)


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
    if "podman" in seen:  # its records have the form of Docker's
        seen -= {"docker"}
    return frozenset(seen)


def _redacted_note(note: TrailNote) -> TrailNote:
    masked = redact(note.detail)
    return note if masked == note.detail else note.model_copy(update={"detail": masked})


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
