"""Sentences that more than one output says."""

from __future__ import annotations

from ..report import Classification, Culprit, EvidenceInfo, IncidentInfo, Report

VERDICTS = {
    "crash": "CRASH",
    "degraded": "DEGRADED",
    "healthy": "HEALTHY",
    "unclassified": "UNCLASSIFIED",
    "empty": "EMPTY",
}


def headline(report: Report) -> str:
    """One sentence for the verdict."""
    cause = report.cause
    if report.verdict == "empty":
        return "There is no text to read."
    if report.verdict == "healthy":
        return "No failure was found."
    if report.verdict == "unclassified":
        count = len(report.unclassified)
        return f"The log shows {'a failure' if count == 1 else f'{count} failures'} that no fingerprint names as a cause."
    if cause is None:
        return "A failure was found."
    if cause.role == "cascade":
        return f"{cause.title}. This is a consequence; the log does not show why."
    return cause.title


def certainty(cause: Classification) -> str:
    """How sure, in words."""
    return f"{cause.band} confidence, {cause.confidence:.0%}"


def culprit(who: Culprit) -> str:
    """Who the first decisive line speaks of, or nothing."""
    parts = []
    if who.node is not None:
        parts.append(f"node {who.node}")
    if who.component is not None:
        parts.append(who.component)
    if who.rank is not None:
        parts.append(f"rank {who.rank}")
    if who.gpu is not None:
        parts.append(f"GPU {who.gpu}")
    if who.pid is not None:
        parts.append(f"pid {who.pid}")
    return ", ".join(parts)


def where(evidence: EvidenceInfo) -> str:
    """file:line of a quote."""
    return f"{evidence.source}:{evidence.line}"


def restarts(incidents: list[IncidentInfo]) -> list[str]:
    """What to say of more than one incident."""
    lines = []
    for incident in incidents:
        name = incident.classifications[0].id if incident.classifications else None
        if name is None and incident.unclassified:
            name = f"unclassified {incident.unclassified[0].crash_id}"
        span = f"{incident.source}:{incident.first_line}-{incident.last_line}"
        times = f", {incident.repeats} times in a row" if incident.repeats > 1 else ""
        end = {
            "planned-stop": "stopped on purpose",
            "stop": "stopped",
            "open": "nothing failed",
            "silent": "ended without a word",
            "failure": "failed",
        }
        lines.append(f"{span}: {name or end[incident.ended]}{times}")
    return lines


def evidence_to_show(cause: Classification, limit: int = 3) -> list[EvidenceInfo]:
    """The few lines that prove it: decisive ones first, one of each text."""
    shown: list[EvidenceInfo] = []
    for evidence in cause.evidence:
        if all(evidence.text != other.text for other in shown):
            shown.append(evidence)
    return shown[:limit]
