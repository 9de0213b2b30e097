"""The answer, as frozen pydantic models: the library's and the JSON output's contract (``schema_version`` 1)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from .model import FactValue
from .schema import Risk, Severity

SCHEMA_VERSION = "1"

Verdict = Literal["crash", "degraded", "healthy", "unclassified", "empty"]
"""``crash``: a failure was classified. ``degraded``: something hurts but did not kill. ``healthy``: nothing failed.
``unclassified``: failure text that no fingerprint names as a cause. ``empty``: there was no text."""

Outcome = Literal["terminal", "unresolved", "progressed-after", "recovered"]
Band = Literal["high", "medium", "low"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolCatalogue(_Frozen):
    version: str
    hash: str


class Tool(_Frozen):
    version: str
    catalogue: ToolCatalogue


class ScopeInfo(_Frozen):
    node: str | None = None
    container: str | None = None
    component: str | None = None
    rank: int | None = None
    gpu: int | None = None
    pid: int | None = None


class EvidenceInfo(_Frozen):
    """A line that speaks for a classification. ``text`` is masked (secrets) and bounded, but not escaped."""

    source: str
    line: int
    offset: int
    indicator: str
    weight: Literal["decisive", "supporting", "context"]
    text: str
    time: float | None = None
    clock: str | None = None
    level: str | None = None
    scope: ScopeInfo
    count: int = 1


class Culprit(_Frozen):
    """Where the first decisive line came from."""

    node: str | None = None
    rank: int | None = None
    gpu: int | str | None = None
    pid: int | None = None
    component: str | None = None


class StepInfo(_Frozen):
    text: str
    command: str | None = None
    risk: Risk


class RemediationInfo(_Frozen):
    immediate: list[StepInfo] = Field(default_factory=list)
    investigate: list[StepInfo] = Field(default_factory=list)
    prevent: list[StepInfo] = Field(default_factory=list)
    verify: list[StepInfo] = Field(default_factory=list)


class ReferenceInfo(_Frozen):
    title: str
    url: str


class Classification(_Frozen):
    """One ranked cause (or, when no cause is known, consequence)."""

    rank: int
    id: str
    title: str
    role: Literal["root", "either", "cascade", "degraded"]
    severity: Severity
    confidence: Annotated[float, Field(ge=0, le=1)]
    band: Band
    outcome: Outcome
    summary: str
    facts: dict[str, FactValue]
    evidence: list[EvidenceInfo]
    explains: list[str]
    """Consequences that were seen and that this classification accounts for."""
    culprit: Culprit
    remediation: RemediationInfo
    references: list[ReferenceInfo]
    reasons: list[str]


class UnknownFailure(_Frozen):
    """Failure text that no fingerprint claims."""

    crash_id: str
    headline: str
    count: int
    frames: list[str] = Field(default_factory=list)
    evidence: list[EvidenceInfo]


class IncidentInfo(_Frozen):
    """One life of the server that ended in failure (or the only one)."""

    index: int
    source: str
    first_line: int
    last_line: int
    repeats: int = 1
    """How many incidents in a row ended with the same first cause."""
    ended: Literal["failure", "planned-stop", "stop", "silent", "open"]
    """``silent``: another life begins without a word of how this one ended. ``open``: the log ends while all is well."""
    classifications: list[Classification]
    unclassified: list[UnknownFailure]


class CoverageInfo(_Frozen):
    bytes: int
    lines: int
    undecodable: int
    envelopes: list[str]
    first_time: float | None
    last_time: float | None
    clock: str | None = None
    """What the times are: seconds since the epoch (``utc``), the same by a calendar without time zone (``local``), within the
    year 2000 for logs that tell no year (``no-year``), or since the machine's boot (``boot``)."""
    caps: list[str]
    sources: list[str]


class TrailNote(_Frozen):
    """One decision on the way to the answer."""

    fingerprint: str
    action: Literal["added", "vetoed", "absorbed", "weakened", "unmet"]
    detail: str


class Report(_Frozen):
    """What killed it, how sure we are and from which lines, and what to do now."""

    schema_version: Literal["1"] = "1"
    tool: Tool
    verdict: Verdict
    classifications: list[Classification]
    incidents: list[IncidentInfo]
    unclassified: list[UnknownFailure]
    context: dict[str, FactValue]
    coverage: CoverageInfo
    trail: list[TrailNote]

    @property
    def cause(self) -> Classification | None:
        """The first classification, if there is one."""
        return self.classifications[0] if self.classifications else None


class Update(_Frozen):
    """A provisional answer while the log still flows."""

    verdict: Verdict
    classification: Classification | None
