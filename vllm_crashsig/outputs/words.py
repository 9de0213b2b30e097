"""Sentences that more than one output says."""

from __future__ import annotations

from ..report import ChainLink, Classification, Culprit, EvidenceInfo, IncidentInfo, Report, SilenceInfo

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


def others(report: Report) -> tuple[list[Classification], list[Classification]]:
    """What else may have been the cause; and what hurts the server, apart from any crash."""
    rest = report.classifications[1:]
    return [c for c in rest if c.role != "degraded"], [c for c in rest if c.role == "degraded"]


PHASES = {
    "init": "starting",
    "distributed-init": "joining its ranks",
    "weights-load": "loading weights",
    "profiling": "measuring its memory",
    "compile": "compiling",
    "kv-cache": "allocating the KV cache",
    "graph-capture": "capturing CUDA graphs",
    "api-start": "starting its API",
    "serving": "serving",
    "shutdown": "shutting down",
}
"""What a server was doing, by the fact ``phase``."""


def silences(report: Report) -> list[str]:
    """Where logs stop in the middle and how that shows, as far as no cause is known that would say why."""
    if report.cause is not None and report.cause.role in ("root", "either"):
        return []
    told = [_silence(silent) for silent in report.silences[-3:]]
    if len(report.silences) > len(told):
        told.append(f"So it went {len(report.silences) - len(told)} times before.")
    return told


def _silence(silent: SilenceInfo) -> str:
    phase = f" while {PHASES[silent.phase]}" if silent.phase in PHASES else ""
    return f"{silent.source} stops at line {silent.line}{phase}, and {'; '.join(silent.signs)}."


def certainty(cause: Classification) -> str:
    """How sure, in words."""
    return f"{cause.band} confidence, {cause.confidence:.0%}"


def culprit(who: Culprit) -> str:
    """Who it was and why it is thought so, or nothing."""
    parts = [f"node {who.node}" if who.node is not None else "", f"pod {who.pod}" if who.pod is not None else ""]
    parts += [who.component or "", who.process or ""]
    if who.ranks:
        parts.append("ranks " + ", ".join(map(str, who.ranks[:16])) + (" .." if len(who.ranks) > 16 else ""))
    elif who.rank is not None:
        parts.append(f"rank {who.rank}")
    elif who.local_rank is not None:
        parts.append(f"local rank {who.local_rank}")
    groups = (("DP", who.dp_rank), ("PP", who.pp_rank), ("TP", who.tp_rank), ("EP", who.ep_rank))
    parts.append(" ".join(f"{name} {n}" for name, n in groups if n is not None and f"{name}{n}" not in (who.component or "")))
    if who.gpu is not None:
        index = f" (index {who.gpu_index})" if who.gpu_index is not None else ""
        parts.append(f"GPU {who.gpu}{index}" + (f" {who.uuid}" if who.uuid is not None else ""))
    elif who.uuid is not None:
        parts.append(f"GPU {who.uuid}")
    if who.pid is not None:
        parts.append(f"pid {who.pid}")
    told = ", ".join(p for p in parts if p)
    if who.reason is None or who.role == "failed":
        return told
    return f"{told}: {who.reason}" if told else who.reason


def chain(cause: Classification) -> list[str]:
    """One line for each link of the chain, or nothing where there is but one."""
    if len(cause.chain) < 2:
        return []
    told = []
    before = ""
    for link in cause.chain:
        who = link.component or (f"rank {link.rank}" if link.rank is not None else "")
        place = where(link) if link.source != before else f"line {link.line}"
        told.append(f"{'-> ' if before else ''}{who + ': ' if who else ''}{link.title.partition(' (')[0]} ({place})")
        before = link.source
    return told


def where(place: EvidenceInfo | ChainLink) -> str:
    """file:line of a quote."""
    return f"{place.source}:{place.line}"


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
