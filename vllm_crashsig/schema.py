"""The shape of a fingerprint and of the taxonomy: strict pydantic models, the single source of what a YAML file may say."""

from __future__ import annotations

from typing import Annotated, Literal

from .lazy import lazy
from .shapes import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

Role = Literal["root", "either", "cascade", "degraded", "advice", "noise", "context", "healthy"]
"""What a fingerprint can be in an answer.

``root``: can be the answer to "why did it die". ``either``: root when nothing more specific is shown.
``cascade``: never the answer while a cause is known. ``degraded``: hurts, does not kill by itself.
``advice``: a hint that upstream prints, never evidence. ``noise``: harmless text that quotes failure words.
``context``: configuration and versions. ``healthy``: milestones of a life without failure.
"""

FAILURE_ROLES = frozenset({"root", "either", "cascade", "degraded"})
"""Roles whose hits can become a classification."""

Severity = Literal["critical", "high", "medium", "low", "info"]
Status = Literal["experimental", "test", "stable", "deprecated"]
Area = Literal["host", "shm", "gpu", "driver", "hardware", "nccl", "torch", "ray", "vllm", "model", "build", "k8s", "container"]
Weight = Literal["decisive", "supporting", "context"]
Risk = Literal["read-only", "config", "restart", "drain", "hardware"]
Runtime = Literal["docker", "compose", "k8s", "swarm", "podman", "slurm", "systemd", "bare"]
Level = Literal["debug", "info", "warning", "error", "critical"]
Milestone = Literal["boot", "import", "start", "ready", "progress", "planned-stop", "stop"]
"""``boot``: a container begins, before its server does. ``import``: a process loads the program, as all do when a life begins.
``start``: a new life of the server begins. ``ready``: it can serve. ``progress``: it works on requests. ``planned-stop``:
somebody asked it to stop. ``stop``: it went down in good order (also after a failure)."""

FactType = Literal[
    "str", "int", "float", "bytes", "size", "kib", "mib", "gib", "seconds", "ms",
    "rank", "pid", "gpu", "pci", "node", "host", "port", "path", "signal", "exit_code", "version", "bool",
]  # fmt: skip
"""How a capture is read. ``size`` is a number with a unit ("64.00 MiB"); it and ``bytes``, ``kib``, ``mib``, ``gib``
become integers of bytes. ``rank``, ``pid``, ``gpu``, ``pci`` and ``node`` also say who the culprit is."""

ID_PATTERN = r"[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)?"
NAME_PATTERN = r"[a-z][a-z0-9_]*"

FingerprintId = Annotated[str, StringConstraints(pattern=rf"^{ID_PATTERN}$")]
IndicatorName = Annotated[str, StringConstraints(pattern=rf"^{NAME_PATTERN}$")]
IndicatorRef = Annotated[str, StringConstraints(pattern=rf"^(?:{ID_PATTERN}:{NAME_PATTERN}|{ID_PATTERN}|{NAME_PATTERN})$")]
"""``indicator`` of the same fingerprint, ``other-id`` (any decisive indicator of it) or ``other-id:indicator``."""


def _one_line(text: str) -> str:
    if "\n" in text.strip():
        raise ValueError("must be one line")
    return text.strip()


Line = Annotated[str, StringConstraints(min_length=1), AfterValidator(_one_line)]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class Examples(Model):
    """Lines that the indicator must match, and neighbours that it must not."""

    hit: list[str] = Field(min_length=1)
    miss: list[str] = Field(min_length=1)


class Indicator(Model):
    """One named regex over the peeled text of one log line."""

    pattern: Text
    weight: Weight = "decisive"
    min_level: Level | None = None
    """Lowest log level at which the line counts. Lines without a level always count. Default: ``warning`` for
    failures, ``debug`` for context and milestones."""
    envelopes: list[str] = Field(default_factory=list)
    """If given, the line must carry one of these envelopes (``dmesg``, ``ray``, ``vllm``, ``nccl``, ...)."""
    milestone: Milestone | None = None
    sets: dict[IndicatorName, str | int | float | bool] = Field(default_factory=dict)
    """Facts that are true when this indicator hits."""
    gate: bool = True
    """``false``: only looked at on lines where another indicator hit (for noise that matches very many lines)."""
    ignore_case: bool = False
    source: Line | None = None
    versions: Line | None = None
    slow: Line | None = None
    """Why this pattern may not be gated (lint refuses ungateable patterns without it)."""
    examples: Examples


class Condition(Model):
    """A statement about which indicators hit where. All keys that are given must hold."""

    any_of: list[IndicatorRef] = Field(default_factory=list)
    all_of: list[IndicatorRef] = Field(default_factory=list)
    ordered: list[IndicatorRef] = Field(default_factory=list)
    count: dict[IndicatorRef, Annotated[int, Field(ge=2)]] = Field(default_factory=dict)
    within: Within | None = None
    same: list[Literal["rank", "pid", "node", "gpu", "container"]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _not_empty(self) -> Condition:
        if not (self.any_of or self.all_of or self.ordered or self.count):
            raise ValueError("give at least one of any_of, all_of, ordered, count")
        return self

    def refs(self) -> list[str]:
        """All indicator references in this condition."""
        return [*self.any_of, *self.all_of, *self.ordered, *self.count]


class Within(Model):
    """How far apart hits may be: by time where both lines carry one and ``seconds`` is given, else by lines."""

    lines: Annotated[int, Field(ge=0)] | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _not_empty(self) -> Within:
        if self.lines is None and self.seconds is None:
            raise ValueError("give lines or seconds or both")
        return self


class Unless(Condition):
    """Vetoes each decisive hit near which the condition holds."""

    order: Literal["before", "after", "around"] = "around"
    """Where the vetoing hits stand: before the decisive line, after it, or either."""
    reason: Line
    """Told in the trail, such as "the connection was retried and came up"."""


class Fact(Model):
    """The type and name of a capture."""

    type: FactType = "str"
    label: Line
    """Noun phrase without article ("requested size"): used in the output, and in place of a value that is missing."""


class StepIf(Model):
    """When a remediation step is offered. All keys that are given must hold."""

    runtime: list[Runtime] = Field(default_factory=list)
    """Offered when one of these runtimes is seen, or when no runtime is known."""
    versions: dict[Literal["vllm", "ray", "nccl", "torch", "cuda", "driver", "kernel"], str] = Field(default_factory=dict)
    """PEP 440 specifiers; an unknown version keeps the step."""
    facts: list[IndicatorName] = Field(default_factory=list)
    """All of these facts must be known."""
    without_facts: list[IndicatorName] = Field(default_factory=list)
    """None of these facts may be known."""
    context: dict[IndicatorName, str] = Field(default_factory=dict)
    """Context values, such as ``tensor_parallel_size: ">1"`` or ``executor: ray``; an unknown one drops the step."""


class Step(Model):
    """One thing to do."""

    text: Text
    command: Text | None = None
    risk: Risk
    if_: StepIf | None = Field(default=None, alias="if")


class Remediation(Model):
    immediate: list[Step] = Field(default_factory=list)
    investigate: list[Step] = Field(default_factory=list)
    prevent: list[Step] = Field(default_factory=list)
    verify: list[Step] = Field(default_factory=list)

    def steps(self) -> list[Step]:
        """All steps, in the order of the four lists."""
        return [*self.immediate, *self.investigate, *self.prevent, *self.verify]


class Reference(Model):
    title: Line
    url: Annotated[str, StringConstraints(pattern=r"^https?://\S+$")]


class Fingerprint(Model):
    """One cause, consequence, milestone or piece of context, as data."""

    schema_: Literal[1] = Field(alias="schema")
    id: FingerprintId
    title: Line
    role: Role
    severity: Severity
    status: Status
    components: list[Line] = Field(min_length=1)
    successor: FingerprintId | None = None

    summary: Text
    impact: Text | None = None

    indicators: dict[IndicatorName, Indicator] = Field(min_length=1)
    when: Condition | None = None
    """Default: any decisive indicator."""
    unless: list[Unless] = Field(default_factory=list)
    explains: list[FingerprintId] = Field(default_factory=list)
    stands_after_stop: bool = False
    """Whether its lines count even right after an orderly stop: they report an event (an OOM kill, an eviction, an Xid) or
    what only a process that starts can say, rather than what one says while it goes down."""
    last_resort: bool = False
    """Whether it names what happened but not why: any other cause ranks above it."""
    facts: dict[IndicatorName, Fact] = Field(default_factory=dict)

    remediation: Remediation = Field(default_factory=Remediation)

    versions: Line
    references: list[Reference] = Field(default_factory=list)
    false_positives: list[Line] = Field(min_length=1)

    @model_validator(mode="after")
    def _sound(self) -> Fingerprint:
        if self.role in ("root", "either") and not self.remediation.immediate:
            raise ValueError(f"a fingerprint of role {self.role} needs remediation.immediate")
        if self.status == "deprecated" and not self.successor:
            raise ValueError("a deprecated fingerprint needs a successor")
        if self.is_failure and not any(i.weight == "decisive" for i in self.indicators.values()):
            raise ValueError("at least one indicator must be decisive")
        declared = set(self.facts)
        for name, indicator in self.indicators.items():
            missing = ({*capture_names(indicator.pattern), *indicator.sets}) - declared
            if missing:
                raise ValueError(f"indicators.{name}: facts does not declare {', '.join(sorted(missing))}")
        for step in self.remediation.steps():
            unknown = set(placeholders(step.text)) | set(placeholders(step.command or ""))
            unknown -= declared
            if unknown:
                raise ValueError(f"remediation names unknown facts: {', '.join(sorted(unknown))}")
        return self

    @property
    def base_id(self) -> str:
        """The id without its dotted refinement."""
        return self.id.partition(".")[0]

    @property
    def is_failure(self) -> bool:
        """Whether hits of this fingerprint can become a classification."""
        return self.role in FAILURE_ROLES


class TaxonomyEntry(Model):
    role: Literal["root", "either", "cascade", "degraded", "healthy"]
    title: Line
    aka: list[FingerprintId] = Field(default_factory=list)


PLACEHOLDER = lazy(r"\{(" + NAME_PATTERN + r")(?:\|([^{}]*))?\}")
"""``{fact}`` or ``{fact|words when it is unknown}`` in a step. Other braces stand for themselves."""


def placeholders(text: str) -> list[str]:
    """Names of the facts that a step's text or command fills in."""
    return [m.group(1) for m in PLACEHOLDER.finditer(text)]


_CAPTURE = lazy(r"\(\?P<([A-Za-z_]\w*)>")


def capture_names(pattern: str) -> list[str]:
    """Names of the captures in a pattern, without compiling it (each name once, in order)."""
    return list(dict.fromkeys(_CAPTURE.findall(pattern)))
