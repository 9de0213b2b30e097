"""The answer for one case as one flat row: the same columns in every format of the results."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from datetime import datetime, timedelta, timezone
from pathlib import PurePosixPath
from typing import Any

from ..report import Report

UNREADABLE = "unreadable"
"""The verdict of a case that could not be read; ``error`` says why."""
DATED = ("utc", "local")
"""Clocks that tell a date."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What was found in one case. A field is None (a list is empty) where nothing is known. Same case, same result: nothing
    here depends on when, where or by how many processes it was worked out."""

    case: str
    """The path of the file or folder, as it was reached from what the user named."""
    verdict: str
    """As in `Report` (crash, degraded, healthy, unclassified, empty), or ``unreadable``."""
    cause: str | None = None
    """Id of the first classification."""
    title: str | None = None
    role: str | None = None
    severity: str | None = None
    confidence: float | None = None
    band: str | None = None
    outcome: str | None = None
    explains: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Ids of the other classifications, best first."""
    node: str | None = None
    pod: str | None = None
    component: str | None = None
    rank: int | None = None
    ranks: tuple[int, ...] = ()
    gpu: str | None = None
    pid: int | None = None
    culprit_role: str | None = None
    evidence_source: str | None = None
    evidence_line: int | None = None
    evidence: str | None = None
    """The first line that proves it (for an unclassified case, the headline of its first failure), with secrets masked."""
    crash_ids: tuple[str, ...] = ()
    """Stable ids of failures that no fingerprint claims."""
    headlines: tuple[str, ...] = ()
    """Their headlines, in the same order."""
    vllm_version: str | None = None
    ray_version: str | None = None
    model: str | None = None
    tensor_parallel_size: int | None = None
    pipeline_parallel_size: int | None = None
    data_parallel_size: int | None = None
    runtime: str | None = None
    incidents: int = 0
    """Lives of the server that the logs show and that ended in failure."""
    first_time: str | None = None
    """ISO 8601; with ``Z`` where the log's time zone is known to be UTC. None where the log tells no date."""
    last_time: str | None = None
    week: str | None = None
    """ISO week of ``last_time``, such as ``2026-W48``."""
    folder: str | None = None
    """Name of the folder that the case lies in."""
    sources: int = 0
    lines: int = 0
    bytes: int = 0
    """Bytes read, after decompression."""
    caps: tuple[str, ...] = ()
    """What was not read, and why."""
    error: str | None = None

    @property
    def readable(self) -> bool:
        """Whether it could be read at all."""
        return self.verdict != UNREADABLE


COLUMNS = tuple(f.name for f in fields(CaseResult))
LISTS = frozenset({"explains", "also", "ranks", "crash_ids", "headlines", "caps"})


def row_of(case: str, report: Report) -> CaseResult:
    """The row of a case that was read."""
    coverage, context, cause = report.coverage, report.context, report.cause
    dated = coverage.clock in DATED
    unknown = report.unclassified[0] if report.unclassified else None
    proof = cause.evidence[:1] if cause is not None else unknown.evidence[:1] if unknown is not None else []
    told: dict[str, Any] = {}
    if cause is not None:
        who = cause.culprit
        told = {
            "cause": cause.id, "title": cause.title, "role": cause.role, "severity": cause.severity,
            "confidence": cause.confidence, "band": cause.band, "outcome": cause.outcome, "explains": tuple(cause.explains),
            "also": tuple(c.id for c in report.classifications[1:]), "node": who.node, "pod": who.pod,
            "component": who.component, "rank": who.rank, "ranks": tuple(who.ranks), "gpu": _text(who.gpu), "pid": who.pid,
            "culprit_role": who.role,
        }  # fmt: skip
    return CaseResult(
        case=case, verdict=report.verdict, folder=folder_of(case), **told,
        evidence_source=proof[0].source if proof else None, evidence_line=proof[0].line if proof else None,
        evidence=proof[0].text if proof else unknown.headline if unknown is not None else None,
        crash_ids=tuple(u.crash_id for u in report.unclassified), headlines=tuple(u.headline for u in report.unclassified),
        vllm_version=_text(context.get("vllm_version")), ray_version=_text(context.get("ray_version")),
        model=_text(context.get("model")), runtime=_text(context.get("runtime")),
        tensor_parallel_size=_number(context.get("tensor_parallel_size")),
        pipeline_parallel_size=_number(context.get("pipeline_parallel_size")),
        data_parallel_size=_number(context.get("data_parallel_size")),
        incidents=sum(i.repeats for i in report.incidents if i.classifications or i.unclassified),
        first_time=_iso(coverage.first_time, coverage.clock) if dated else None,
        last_time=_iso(coverage.last_time, coverage.clock) if dated else None,
        week=_week(coverage.last_time) if dated else None,
        sources=len(coverage.sources), lines=coverage.lines, bytes=coverage.bytes, caps=tuple(coverage.caps),
    )  # fmt: skip


def unreadable_row(case: str, error: str) -> CaseResult:
    """The row of a case that could not be read."""
    return CaseResult(case=case, verdict=UNREADABLE, folder=folder_of(case), error=error)


def encode(row: CaseResult) -> str:
    """The row as JSON on one line, in ASCII: no reader of lines can cut it elsewhere than it ends."""
    return json.dumps({name: getattr(row, name) for name in COLUMNS}, separators=(",", ":"))


def decode(data: dict[str, Any]) -> CaseResult:
    """The row that `encode` wrote, after JSON was read. Raises TypeError for anything else."""
    told: dict[str, Any] = {name: tuple(value) if name in LISTS else value for name, value in data.items()}
    return CaseResult(**told)


def folder_of(case: str) -> str | None:
    """Name of the folder that a case lies in: archives of crashes often have one for each node or day."""
    return PurePosixPath(case.replace("\\", "/") if "/" not in case else case).parent.name or None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _date(time: float | None) -> datetime | None:
    if time is None or not math.isfinite(time):
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=time)
    except OverflowError:
        return None


def _iso(time: float | None, clock: str | None) -> str | None:
    date = _date(time)
    if date is None:
        return None
    text = date.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return text + "Z" if clock == "utc" else text


def _week(time: float | None) -> str | None:
    date = _date(time)
    if date is None:
        return None
    year, week, _ = date.isocalendar()
    return f"{year:04d}-W{week:02d}"
