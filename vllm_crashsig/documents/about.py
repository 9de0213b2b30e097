"""Whom the lines of a document are about, and which of these the case is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..lazy import lazy
from ..nouns import dataclass
from .kinds import STATE

SERVES = lazy(
    r"vllm|sglang|\bray\b|raylet|text-generation|openai|huggingface|tensorrt|\bgpu\b|nvidia|rocm|\bhpu\b"
    r"|(?:^|[-_/. ])(?:ray|llm|tgi|tei|nim|lmdeploy|triton(?:server)?|kserve|deepspeed|torchrun|mlc|llama|qwen|mi[sx]tral"
    r"|deepseek|gemma|inference)(?:[-_/:. \d]|$)",
    re.IGNORECASE,
)
"""What names, images and commands of model servers hold. Only chooses between the containers of one document."""
GPUS = lazy(
    r"(?:nvidia|amd|intel|habana|huawei|aws|google)\S{0,10}\.com/\S*(?:gpu|gaudi|ascend|neuron|tpu|xpu|mig)", re.IGNORECASE
)
"""Resources of Kubernetes that are accelerators."""


@dataclass(slots=True)
class About:
    """Whom one line is about. ``group`` is the Pod, or the container where there are no Pods."""

    group: str
    name: str | None = None
    """The container in the Pod."""
    node: str | None = None
    time: float | None = None
    """When what the line tells happened (seconds since the epoch)."""
    serves: bool = False
    """Whether this line shows that it is a model server."""
    needed: bool = False
    """Whether the server depends on it: an init container."""
    current: bool = False
    """Whether it tells the state that the container is in, not an earlier one."""

    @property
    def owner(self) -> str:
        return f"{self.group}/{self.name}" if self.name else self.group

    def fields(self, layer: str) -> dict[str, Any]:
        """The same as the scanner takes it."""
        told: dict[str, Any] = {"layers": [layer, STATE] if self.current else [layer]}
        if self.group:
            told["container"] = self.owner
        if self.node:
            told["node"] = self.node
        if self.time is not None:
            told.update(time=self.time, clock="utc")
        return told


def left_out(about: Sequence[About | None]) -> frozenset[str]:
    """Owners that the case is not about: other Pods than the servers', and helpers beside the server in its Pod. None are where
    nothing tells which ones serve."""
    known = {(a.group, a.name): a.owner for a in about if a is not None}
    serving = {(a.group, a.name) for a in about if a is not None and a.serves}
    wanted = serving | {(a.group, a.name) for a in about if a is not None and a.needed}
    groups = {group for group, _ in serving}
    told_apart = {group for group, name in serving if name}
    return frozenset(
        owner
        for (group, name), owner in known.items()
        if group and groups and (group not in groups or (name and group in told_apart and (group, name) not in wanted))
    )


def speaks_of_serving(words: Iterable[str]) -> bool:
    """Whether one of these names, images or commands is a model server's."""
    return any(SERVES.search(word) for word in words)
