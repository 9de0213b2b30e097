"""The processes of a server: API server <- engine core <- workers, and Ray's daemons; read from the names that they go by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from .lazy import lazy
from .model import FactValue
from .nouns import dataclass

Kind = Literal["api-server", "coordinator", "engine-core", "worker", "daemon"]

_API = lazy(r"(?:VLLM::)?(?:APIServer|ApiServer|api_server)(?:_(\d+))?", re.ASCII)
_CORE = lazy(r"(?:VLLM::)?(?:EngineCore|CoreEngine|CoreEngineProc)(?:_(?:DP)?(\d+))?", re.ASCII)
_WORKER = lazy(r"(?:VLLM::)?(?:Vllm)?Worker((?:_?(?:DP|PP|PCP|DCP|TP|EP)\d+(?:_|$))+)", re.ASCII)
_INDEXED = lazy(r"(?:VllmWorker(?:Process)?-?|RayWorkerProc[ _-]?(?:rank=)?\[?|(?:RayWorkerProc )?rank=\[?)(\d+)\]?", re.ASCII)
_PLAIN_WORKER = lazy(r"(?:VLLM::Worker\w*|VllmWorker(?:Process)?|Worker|Ray(?:Distributed)?Worker\w*|RayTrainWorker)", re.ASCII)
_PART = lazy(r"(DP|PP|PCP|DCP|TP|EP)(\d+)", re.ASCII)
_DAEMONS = frozenset({"raylet", "gcs_server", "log_monitor", "dashboard", "monitor", "dashboard_agent", "runtime_env_agent"})


@dataclass(frozen=True, slots=True)
class Process:
    """A process by its place in the tree."""

    kind: Kind
    dp: int | None = None
    pp: int | None = None
    tp: int | None = None
    ep: int | None = None
    index: int | None = None
    """A worker's number among those of its engine core, where the name tells that instead of the groups."""
    other_groups: bool = False
    """The name tells of groups beyond these (context parallelism)."""

    @property
    def depth(self) -> int:
        """0 for the root of the tree, growing towards the workers."""
        return {"api-server": 0, "coordinator": 1, "engine-core": 1, "worker": 2, "daemon": 1}[self.kind]

    def rank(self, context: Mapping[str, FactValue]) -> int | None:
        """The rank, where the name tells it: workers are numbered through the tensor groups, one pipeline stage after the
        other (vllm/distributed/parallel_state.py: initialize_model_parallel). With data parallelism the name is not enough."""
        if self.kind != "worker" or self.other_groups or self.dp is not None or _size(context, "data") > 1:
            return None
        if self.index is not None:
            return self.index
        if self.tp is None and self.pp is None:
            return None
        tensor = context.get("tensor_parallel_size")
        if not self.pp:
            return self.tp if self.tp is not None else 0 if _size(context, "tensor") == 1 else None
        if isinstance(tensor, int):
            return self.pp * tensor + (self.tp or 0)
        return None


def _size(context: Mapping[str, FactValue], name: str) -> int:
    size = context.get(f"{name}_parallel_size")
    return size if isinstance(size, int) else 1


def parse(name: str | None) -> Process | None:
    """The process that goes by this name in logs and process lists, or None for anything else."""
    if not name:
        return None
    if match := _API.fullmatch(name):
        return Process("api-server", index=_number(match.group(1)))
    if match := _CORE.fullmatch(name):
        return Process("engine-core", dp=_number(match.group(1)))
    if match := _WORKER.fullmatch(name):
        parts = {group.lower(): int(number) for group, number in _PART.findall(match.group(1))}
        return Process(
            "worker", parts.get("dp"), parts.get("pp"), parts.get("tp"), parts.get("ep"), None, "pcp" in parts or "dcp" in parts
        )
    if match := _INDEXED.fullmatch(name):
        return Process("worker", index=int(match.group(1)))
    if _PLAIN_WORKER.fullmatch(name):
        return Process("worker")
    if name in _DAEMONS:
        return Process("daemon")
    return Process("coordinator") if name.startswith(("DPCoordinator", "DP_Coordinator", "VLLM::DPCoordinator")) else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None else None
