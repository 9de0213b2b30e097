"""`docker inspect`, `podman inspect`, `crictl inspect`, `kubectl get -o json|yaml`: what their lines are about.

Sources: moby api/types/container (ContainerJSON), podman libpod/define/container_inspect.go, cri-api v1 ContainerStatus,
kubernetes core/v1 types (Pod, Event).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from ..envelopes.json_values import read_time
from .about import GPUS, About, speaks_of_serving
from .outline import Path, Place

_NAMING = frozenset({"name", "image", "imagename", "path", "args", "cmd", "command", "entrypoint", "runtime", "capabilities"})
_ENDED = ("finishedAt", "FinishedAt")
_LISTS = {"containers": False, "initContainers": True, "ephemeralContainers": False}
"""Lists of containers in a Pod, and whether the others wait for them."""
_EVENT_TIMES: tuple[Path, ...] = (
    ("lastTimestamp",), ("series", "lastObservedTime"), ("eventTime",), ("deprecatedLastTimestamp",),
)  # fmt: skip
_T = TypeVar("_T")
EARLIEST = 6e8
"""Times before 1989 mean "never" (0001-01-01, 1970-01-01)."""


def read_objects(places: Sequence[Place]) -> tuple[str, list[About | None]] | None:
    """The layer, and whom each line is about. None when the document is about no containers."""
    values = {place.path: place.value for place in places if place.value is not None}
    ends = _Around(dict(_ends(values)))
    kinds = {path[:-1]: value for path, value in values.items() if path[-1:] == ("kind",) and value in ("Pod", "Event")}
    if kinds:
        things = _Around(kinds)
        return "kubernetes-object", [_of_kubernetes(p, values, things, ends) for p in places]
    if roots := _Around(dict(_runtime_roots(values))):
        layer = "crictl-inspect" if ("status", "id") in values else "docker-inspect"
        if any(path[-2:] == ("State", "OciVersion") or path[-1:] == ("OCIRuntime",) for path in values):
            layer = "podman-inspect"
        return layer, [_of_runtime(p, roots, ends) for p in places]
    return ("docker-inspect", [_of_state(p, ends) for p in places]) if ends else None


class _Around(dict[Path, _T]):
    """Values by path, to be found from any place below it."""

    def __init__(self, values: dict[Path, _T]) -> None:
        super().__init__(values)
        self._lengths = sorted({len(path) for path in values}, reverse=True)

    def root(self, path: Path) -> Path | None:
        """The innermost path around this one, or itself."""
        return next((path[:n] for n in self._lengths if path[:n] in self), None)

    def around(self, path: Path) -> _T | None:
        """What is known of the innermost path around this one."""
        root = self.root(path)
        return None if root is None else self[root]


def _ends(values: dict[Path, str]) -> Iterable[tuple[Path, float]]:
    """When each thing that has ended did."""
    for path, value in values.items():
        if path[-1:] and path[-1] in _ENDED and (ended := _time(value)) is not None:
            started = _time(values.get((*path[:-1], "startedAt" if path[-1] == "finishedAt" else "StartedAt")))
            if started is None or started <= ended:  # else it was started again
                yield path[:-1], ended


def _time(value: str | None) -> float | None:
    time = read_time(value).get("time") if value else None
    return time if time is not None and time > EARLIEST else None


def _serves(place: Place) -> bool:
    words = {str(part).lower() for part in place.path[-2:]}
    if place.value is None:
        return False
    if words & _NAMING and speaks_of_serving([place.value]):
        return True
    return place.value != "0" and GPUS.search(str(place.path[-1])) is not None


def _runtime_roots(values: dict[Path, str]) -> Iterable[tuple[Path, str]]:
    """Where each container begins, and its name."""
    for path, value in values.items():
        if path[-1:] == ("Id",) and any((*path[:-1], "State", key) in values for key in ("Status", "ExitCode")):
            yield path[:-1], (values.get((*path[:-1], "Name")) or value[:12]).lstrip("/")
        elif path == ("status", "id"):
            pod = values.get(("status", "labels", "io.kubernetes.pod.name"))
            name = values.get(("status", "metadata", "name"), value[:12])
            yield (), f"{pod}/{name}" if pod else name


def _of_runtime(place: Place, roots: _Around[str], ends: _Around[float]) -> About | None:
    name = roots.around(place.path)
    if name is None:
        return None
    current = place.path[-2:-1] in (("State",), ("status",))
    return About(name, time=ends.around(place.path), serves=_serves(place), current=current)


def _of_state(place: Place, ends: _Around[float]) -> About | None:
    """A line of a part of a record, such as ``docker inspect -f '{{json .State}}'``."""
    end = ends.around(place.path)
    return None if end is None else About("", time=end, current=place.path[:-1] in ends)


def _of_kubernetes(place: Place, values: dict[Path, str], kinds: _Around[str], ends: _Around[float]) -> About | None:
    root = kinds.root(place.path)
    if root is None:
        return None
    if kinds[root] == "Event":
        return _of_event(root, values)
    pod = values.get((*root, "metadata", "name"), "")
    inner = place.path[len(root) :]
    name, needed = None, False
    if len(inner) > 2 and inner[0] in ("spec", "status") and isinstance(inner[2], int):
        group = str(inner[1]).replace("ContainerStatuses", "Containers").replace("containerStatuses", "containers")
        if group in _LISTS:
            name, needed = values.get((*root, inner[0], inner[1], inner[2], "name")), _LISTS[group]
    node = values.get((*root, "spec", "nodeName"))
    serves = _serves(place) and (name is not None or inner == ("metadata", "name"))
    return About(pod, name, node, ends.around(place.path), serves, needed, current="state" in inner)


def _of_event(root: Path, values: dict[Path, str]) -> About | None:
    key = next((k for k in ("involvedObject", "regarding") if (*root, k, "name") in values), None)
    if key is None:
        return None
    times = (_time(values.get((*root, *path))) for path in _EVENT_TIMES)
    time = next((t for t in times if t is not None), None)
    name = values[(*root, key, "name")]
    if values.get((*root, key, "kind")) == "Node":
        return About("", node=name, time=time)
    container = values.get((*root, key, "fieldPath"), "").partition("{")[2].rstrip("}")  # spec.containers{vllm}
    return About(name, container or None, time=time, serves=speaks_of_serving([name]))
