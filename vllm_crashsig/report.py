"""The answer, as frozen pydantic models: the library's and the JSON output's contract (``schema_version`` 1)."""

from __future__ import annotations

from typing import Annotated, Literal

from .model import FactValue
from .schema import Risk, Severity
from .shapes import BaseModel, ConfigDict, Field

SCHEMA_VERSION = "1"

Verdict = Literal["crash", "degraded", "healthy", "unclassified", "empty"]
"""``crash``: a failure was classified. ``degraded``: something hurts but did not kill. ``healthy``: nothing failed.
``unclassified``: a failure that no fingerprint names the cause of. ``empty``: there was no text."""

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
    """Who it was, as far as the logs say. Everything is null or empty where nothing is known."""

    node: str | None = None
    rank: int | None = None
    gpu: int | str | None = None
    pid: int | None = None
    component: str | None = None
    role: Literal["failed", "behind", "mismatched", "died", "stuck", "observer", "reporter"] | None = None
    """``failed``: the first decisive line is about it. ``behind``: the others waited for it in a collective. ``mismatched``: it
    ran another operation than the others. ``died``: it ended first. ``stuck``: it makes no progress itself. ``observer``: only
    ranks that waited spoke (see ``observers``), and nobody is named. ``reporter``: it was the first to tell of a consequence;
    the cause may sit elsewhere."""
    pod: str | None = None
    process: str | None = None
    """Name of the process in the kernel's or the launcher's words, where it is not one of the server's."""
    local_rank: int | None = None
    pci: str | None = None
    """PCI address of the GPU as the kernel writes it (``0000:3b:00.0``)."""
    uuid: str | None = None
    gpu_index: int | None = None
    """Index of the GPU as nvidia-smi counts, where the logs hold an inventory."""
    dp_rank: int | None = None
    pp_rank: int | None = None
    tp_rank: int | None = None
    ep_rank: int | None = None
    ranks: list[int] = Field(default_factory=list)
    """All that are named, if they are more than one."""
    observers: list[int] = Field(default_factory=list)
    """Ranks that waited for another one or lost it."""
    initiator: int | None = None
    """The rank that gave up waiting first."""
    reason: str | None = None


class ChainLink(_Frozen):
    """One thing that broke, by its first line."""

    id: str
    title: str
    source: str
    line: int
    component: str | None = None
    rank: int | None = None


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
    chain: list[ChainLink] = Field(default_factory=list)
    """The cause, what it broke, what that broke..: each consequence after what led to it."""
    culprit: Culprit
    remediation: RemediationInfo
    references: list[ReferenceInfo]
    reasons: list[str]
    crash_id: str | None = None
    """The id of the failure that its lines tell: tells apart what one cause that says little (an abort, a panic) stands for."""


class UnknownFailure(_Frozen):
    """Failure text that no fingerprint claims."""

    crash_id: str
    headline: str
    count: int
    chain: list[str] = Field(default_factory=list)
    """All exceptions that hang together, the first cause first; empty where there is only one."""
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
    verdict: Verdict
    ended: Literal["failure", "planned-stop", "stop", "silent", "open"]
    """``silent``: it ended without a word (see `Report.silences`). ``open``: the log ends while all is well."""
    classifications: list[Classification]
    unclassified: list[UnknownFailure]
    settle: list[StepInfo] = Field(default_factory=list)
    """Evidence that would change an uncertain answer or make it certain: each step has a command."""


class SilenceInfo(_Frozen):
    """A life that ended without a word."""

    source: str
    line: int
    """The last line of it."""
    phase: str | None = None
    """What the server was doing: ``weights-load``, ``serving`` and the like."""
    signs: list[str]
    """What shows that it ended."""


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
    silences: list[SilenceInfo] = Field(default_factory=list)
    """Logs that stop in the middle, with a sign that the server is gone."""
    context: dict[str, FactValue]
    coverage: CoverageInfo
    settle: list[StepInfo] = Field(default_factory=list)
    """Evidence that would change an uncertain answer or make it certain: each step has a command."""
    trail: list[TrailNote]

    @property
    def cause(self) -> Classification | None:
        """The first classification, if there is one."""
        return self.classifications[0] if self.classifications else None

    def of_each_incident(self) -> list[Report]:
        """One report for each incident, as if it were alone in the log; context, coverage and trail are those of the whole."""
        return [
            self.model_copy(
                update={
                    "verdict": incident.verdict,
                    "classifications": incident.classifications,
                    "unclassified": incident.unclassified,
                    "settle": incident.settle,
                    "incidents": [incident],
                }
            )
            for incident in self.incidents
        ]


class Update(_Frozen):
    """A provisional answer while the log still flows."""

    verdict: Verdict
    classification: Classification | None
    unclassified: UnknownFailure | None = None
    """The first failure that nobody knows, where the verdict is ``unclassified``."""
