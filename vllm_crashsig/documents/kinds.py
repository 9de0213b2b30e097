"""What kind of document a source is, by its content. Asked of every source: the readers are loaded when there is one."""

from __future__ import annotations

import codecs

from ..lazy import lazy

MAX_DOCUMENT = 8 << 20
"""Bytes of a document that are held at once: `kubectl get pods -A -o json` of some hundred Pods. Larger ones are logs."""

LISTINGS = {
    "docker-ps": lazy(r"CONTAINER ID\s+IMAGE\s+COMMAND\s+CREATED\s+STATUS\s+PORTS\s+NAMES\b"),
    "docker-events": lazy(
        r"(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) (container|image|network|volume|daemon|plugin) "
        r"[\w:-]+(?: .{0,40})? \w+ \("
    ),
    "docker-events-json": lazy(
        r'\{(?:"status":"[^"]+","id":"[^"]+",(?:"from":"[^"]*",)?)?"Type":"\w+","Action":"[^"]+","Actor":\{'
    ),
    "kubectl-pods": lazy(r"(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\b"),
    "kubectl-events": lazy(r"(?:NAMESPACE\s+)?LAST SEEN\s+(?:TYPE\s+REASON\s+OBJECT|FIRST SEEN|COUNT)\b.*\bMESSAGE\b"),
}
"""What the first line of each kind of listing looks like. The kinds are also the layers of their lines."""
LAYERS = frozenset(
    {"docker-inspect", "podman-inspect", "crictl-inspect", "kubernetes-object", "kubectl-describe", *LISTINGS}
)  # fmt: skip
"""The layers of lines of such documents."""
STATE = "container-state"
"""The inner layer of lines that tell the state that a container is in."""
BESIDE = "beside"
"""The component of lines that are about a container beside the server's: they count for nothing but to tell it apart."""
_JSON_KEYS = (
    (b'"Id"', b'"State"'), (b'"ExitCode"', b'"FinishedAt"'), (b'"apiVersion"', b'"kind"'), (b'"status"', b'"finishedAt"'),
)  # fmt: skip
"""Keys that together make JSON worth a closer look."""
_YAML = lazy(rb"(?m)^apiVersion: (?:events\.k8s\.io/)?v1\s*$")
_DESCRIBE = lazy(rb"(?m)^Name: {1,30}\S+\s*\n(?:.*\n){0,3}?(?:Namespace: |Roles: )")


def document_kind(head: bytes) -> str | None:
    """The kind of document that begins here: ``json``, ``yaml``, ``describe`` or a table; None for a log."""
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if start[:1] in (b"{", b"["):
        if _is_json_lines(start):
            return listing_kind(start[:1000].decode(errors="replace"))
        return "json" if any(all(key in head for key in keys) for keys in _JSON_KEYS) else None
    if _YAML.match(start) or (start.startswith(b"---") and _YAML.search(start[:200])):
        return "yaml"
    if _DESCRIBE.match(start):
        return "describe"
    return listing_kind(start[:1000].decode(errors="replace"))


def _is_json_lines(start: bytes) -> bool:
    """Whether each line is a document of its own, as in logs: the first one ends as it should, and another follows."""
    first, _, rest = start.partition(b"\n")
    return len(first) > 2 and first.rstrip().endswith((b"}", b"},")) and rest.lstrip()[:1] == b"{"


def listing_kind(head: str) -> str | None:
    """Which listing begins here, if any."""
    return next((kind for kind, first in LISTINGS.items() if first.match(head)), None)
