"""The lines of a document, with what it tells of each."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from itertools import accumulate

from ..nouns import dataclass
from ..records import Line
from .about import About, left_out
from .describe import read_describe
from .kinds import BESIDE
from .listings import read_listing
from .objects import read_objects
from .outline import json_outline, yaml_outline

FEW_LINES = 4
"""Lines below which a JSON document stands on one line, however long that is."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document about containers, line by line."""

    lines: list[Line]
    notes: list[str]


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
