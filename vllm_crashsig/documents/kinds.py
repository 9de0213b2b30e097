"""What kind of document a source is, by its content, and its lines with what the document tells of each."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from itertools import accumulate

from ..lazy import lazy
from ..nouns import dataclass
from ..records import Line
from .about import BESIDE, About, left_out
from .describe import read_describe
from .listings import LISTINGS, listing_kind, read_listing
from .objects import read_objects
from .outline import json_outline, yaml_outline

MAX_DOCUMENT = 8 << 20
"""Bytes of a document that are held at once: `kubectl get pods -A -o json` of some hundred Pods. Larger ones are logs."""

FEW_LINES = 4
"""Lines below which a JSON document stands on one line, however long that is."""
LAYERS = frozenset(
    {"docker-inspect", "podman-inspect", "crictl-inspect", "kubernetes-object", "kubectl-describe", *LISTINGS}
)  # fmt: skip
"""The layers of lines of such documents."""
_JSON_KEYS = (
    (b'"Id"', b'"State"'), (b'"ExitCode"', b'"FinishedAt"'), (b'"apiVersion"', b'"kind"'), (b'"status"', b'"finishedAt"'),
)  # fmt: skip
"""Keys that together make JSON worth a closer look."""
_YAML = lazy(rb"(?m)^apiVersion: (?:events\.k8s\.io/)?v1\s*$")
_DESCRIBE = lazy(rb"(?m)^Name: {1,30}\S+\s*\n(?:.*\n){0,3}?(?:Namespace: |Roles: )")


@dataclass(frozen=True, slots=True)
class Document:
    """A document about containers, line by line."""

    lines: list[Line]
    notes: list[str]


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


def read_document(kind: str, data: bytes) -> Document | None:
    """A document's lines, and what it tells of each. None when it is no such document."""
    text = data.removeprefix(codecs.BOM_UTF8)
    raw = text.removesuffix(b"\n").split(b"\n")
    numbers: Sequence[int] = range(1, len(raw) + 1)
    offsets = list(accumulate((len(line) + 1 for line in raw[:-1]), initial=len(data) - len(text)))
    if kind == "json" and len(raw) < FEW_LINES and (laid_out := _laid_out(text)):
        raw, numbers, offsets = laid_out, [1] * len(laid_out), [0] * len(laid_out)
    lines = [line.rstrip(b"\r").decode(errors="replace") for line in raw]
    read = _read(kind, lines)
    if read is None:
        return None
    layer, about = read
    foreign = left_out(about)
    told = [
        {"layers": [layer]} if a is None else {**a.fields(layer), **({"component": BESIDE} if a.owner in foreign else {})}
        for a in about
    ]
    return Document(
        [Line(*line) for line in zip(raw, numbers, offsets, told, strict=True)],
        [f"what it tells of other containers counts for nothing: {', '.join(sorted(foreign)[:5])}"] if foreign else [],
    )


def _read(kind: str, lines: Sequence[str]) -> tuple[str, list[About | None]] | None:
    if kind == "json":
        return read_objects(json_outline(lines))
    if kind == "yaml":
        return read_objects(yaml_outline(lines))
    if kind == "describe":
        return "kubectl-describe", read_describe(lines)
    return kind, read_listing(kind, lines)


def _laid_out(data: bytes) -> list[bytes]:
    """A document that stands on one line, with a line for each key."""
    try:
        return json.dumps(json.loads(data), indent=4, ensure_ascii=False).encode(errors="replace").split(b"\n")
    except (ValueError, RecursionError):
        return []
