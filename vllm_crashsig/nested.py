"""JSON records behind text prefixes, in other JSON records, or many in one line: what one line of a source says in the end."""

from __future__ import annotations

from typing import Any

from .envelopes import FINAL, OUTERMOST, Peeled, peel
from .envelopes.clean import plain_text
from .envelopes.json_document import decode_document
from .envelopes.json_line import Fields, decode_json_line
from .framing import clean_text
from .lazy import lazy

DEPTH = 4
"""JSON inside JSON; logs have two (Docker around a program's own)."""
MAX_PREFIX = 600
"""Bytes in front of a JSON record that may be prefixes."""
_SAME = 8
"""Characters by which the beginning of a record is found again."""
_OUTER = ("node", "container", "pod", "stream")
"""What the outermost envelope knows best; see `envelopes.base`. Times have their own rule, all else the innermost one tells."""

_RECORD = lazy(rb"\{\s*(?:[\"}]|&quot;|&#34;|\xe2\x80\x9c)")
_QUOTED = (b"{&quot;", b"{&#34;", b"{\xe2\x80\x9c")
_BEGINNINGS = b' \t\r"&\xe2}'
Found = list[tuple[bytes, "Fields | None"]]


def may_hold_record(line: bytes) -> bool:
    """Whether a record may end this line: cheap, and true for more lines than hold one."""
    return line.rstrip(b" \t\r,0123456789")[-1:] in (b"}", b"]", b"m") or b"\x1b" in line


def begins_record(line: bytes, at: int, stop: int) -> bool:
    """Whether something like a JSON object begins in this part of the line."""
    return _RECORD.search(line, at, stop) is not None


def lay_bare(line: bytes, hint: list[str] | None = None, depth: int = DEPTH) -> Found | None:
    """The lines of text in a line and what was told of them; None where there is no JSON record, nor one behind a prefix."""
    if not may_hold_record(line):
        return None
    if b"\x1b" in line:
        line = clean_text(line).text
    if line.rstrip()[-1:] == b"m":
        line = plain_text(line)
    at = line.find(b"{")
    if not 0 <= at <= MAX_PREFIX:
        return None
    if line.startswith(_QUOTED, at):
        line = plain_text(line)
    head = line[:at].strip(b" \t\x1e")
    if head in (b"", b"data:", b"},") and line[at : at + 2].strip(_BEGINNINGS) == b"{":
        return _inside(line, None, hint, depth)
    if head == b"[":
        return _many(line, None, hint, depth)
    if not begins_record(line, at, MAX_PREFIX):
        return None
    peeled = peel(line.decode(errors="replace"), hint)
    record = peeled.text.lstrip(" \t\x1e").removeprefix("data: ")
    if not peeled.layers or not FINAL.isdisjoint(peeled.layers) or record[:1] not in ("{", "["):
        return None
    told = _told(peeled)
    at = line.find(record[:_SAME].encode(errors="replace"))
    if at >= 0 and (found := _inside(line[at:], told, hint, depth)) is not None:
        return found  # as it stands: what looks like remains of colours may be an escape of JSON
    return _inside(record.encode(errors="replace"), told, hint, depth)


def _inside(record: bytes, outer: Fields | None, hint: list[str] | None, depth: int) -> Found | None:
    decoded = decode_json_line(record)
    if decoded is None:
        return _many(record, outer, hint, depth)
    return _lines(*decoded, outer, hint, depth)


def _many(document: bytes, outer: Fields | None, hint: list[str] | None, depth: int) -> Found | None:
    found: Found = []
    for text, fields in decode_document(document):
        found += _lines(text, fields, outer, hint, depth)
    return found or None


def _lines(text: str, fields: Fields, outer: Fields | None, hint: list[str] | None, depth: int) -> Found:
    if outer is not None:
        fields = merged(outer, fields)
    body = text.encode(errors="replace")
    if depth > 1 and (deeper := lay_bare(body.rstrip(b"\n"), hint, depth - 1)) is not None:
        return [(line, merged(fields, inner) if inner is not None else fields) for line, inner in deeper]
    return [(line, fields) for line in body.removesuffix(b"\n").split(b"\n")]


def _told(peeled: Peeled) -> Fields:
    names = ("node", "container", "component", "rank", "gpu", "pid", "time", "clock", "stream", "level")
    fields: Fields = {name: value for name in names if (value := getattr(peeled, name)) is not None}
    fields["layers"] = list(peeled.layers)
    if "ray" in peeled.layers and peeled.node is not None:
        fields["elsewhere"] = True
    return fields


def merged(outer: Fields, inner: Fields) -> Fields:
    """What an envelope and the one in it tell together."""
    fields: dict[str, Any] = {**outer, **inner}
    for name in _OUTER:
        if outer.get(name) is not None and not (name == "node" and inner.get("elsewhere")):
            fields[name] = outer[name]
    if "container" in outer or "pod" in outer:  # not the one's pod with the other's container
        for name in ("container", "pod"):
            fields.pop(name, None)
            if name in outer:
                fields[name] = outer[name]
    if outer.get("clock") in ("utc", "local") or "clock" not in inner:
        fields.update({name: outer[name] for name in ("time", "clock") if name in outer})
    fields["layers"] = [*layers_of(outer), *layers_of(inner)]
    fields.pop("layer", None)
    return fields


def inner(hint: list[str]) -> list[str]:
    """The prefixes that also stand inside of what a container holds; numbers and indentations stand outside."""
    return [name for name in hint if name not in OUTERMOST]


def add_told(peeled: Peeled, fields: Fields) -> None:
    """What the containers around a line told, where the line itself does not say it better."""
    for name in ("component", "pid", "rank", "gpu", "level"):
        if getattr(peeled, name) is None:
            setattr(peeled, name, fields.get(name))
    if fields.get("node") is not None and not ("ray" in peeled.layers and peeled.node is not None):
        peeled.node = fields["node"]
    peeled.container = fields.get("container") or fields.get("pod") or peeled.container
    peeled.stream = fields.get("stream") or peeled.stream
    if fields.get("time") is not None and (fields["clock"] in ("utc", "local") or peeled.clock is None):
        peeled.time, peeled.clock = fields["time"], fields["clock"]
    peeled.layers[:0] = layers_of(fields)


def layers_of(fields: Fields) -> list[str]:
    """The kinds of envelopes that told these fields, the outermost first."""
    return fields.get("layers") or [fields["layer"]]
