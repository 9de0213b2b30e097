"""The journal's records over many lines: journalctl -o verbose, -o export and -o json-sse.

Sources: systemd src/shared/logs-show.c (output_verbose, output_export), docs/JOURNAL_EXPORT_FORMATS.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..envelopes.base import CLOCK, DAY, FRACTION, seconds_of
from ..envelopes.json_line import decode_record
from ..lazy import lazy
from .base import HELD_BYTES, Line, told

_HEAD = lazy(rf"[^\W\d_]{{2,5}}\.? {DAY} {CLOCK}{FRACTION} ([A-Z]{{2,5}}|[+-]\d\d(?:\d\d)?) \[s=[0-9a-f]+;")
_FIELD = lazy(rb"(?:    )?([A-Z_][A-Z0-9_]*)=(.*)", re.DOTALL)
_BINARY = lazy(rb"[A-Z_][A-Z0-9_]{0,63}")


def is_verbose(line: bytes) -> bool:
    """Whether a record of -o verbose begins here."""
    return b"[s=" in line[:80] and _HEAD.match(line.decode(errors="replace")) is not None


class Verbose:
    """``Mon 2026-11-30 19:41:58.250000 UTC [s=..;i=..]`` and then ``    FIELD=value`` lines, until the next such head."""

    def __init__(self) -> None:
        self._head: Line | None = None
        self._fields: dict[str, str] = {}
        self._last = ""
        self._size = 0

    def take(self, line: Line) -> Iterator[Line]:
        if is_verbose(line.text):
            yield from self.finish()
            self._head = line
            return
        field = _FIELD.match(line.text)
        if self._head is None or not line.text.startswith(b"    ") or self._size > HELD_BYTES:
            yield from self.finish()
            yield line
        elif field is not None:
            self._last = field.group(1).decode()
            self._fields[self._last] = field.group(2).decode(errors="replace")
            self._size += len(line.text)
        elif self._last:  # a value of many lines is indented as far as its first one
            indent = 4 + len(self._last) + 1
            text = line.text
            self._fields[self._last] += "\n" + (text[indent:] if not text[:indent].strip() else text[4:]).decode(
                errors="replace"
            )
            self._size += len(text)

    def finish(self) -> Iterator[Line]:
        head, fields = self._head, self._fields
        self._head, self._fields, self._last, self._size = None, {}, "", 0
        if head is None:
            return
        found = decode_record({"__CURSOR": "", **fields}) if "MESSAGE" in fields else None
        if found is None:
            return
        match = _HEAD.match(head.text.decode(errors="replace"))
        if match is not None:
            *when, zone = match.groups()
            offset = "Z" if zone in ("UTC", "GMT") else f"{zone}00"[:5] if zone[0] in "+-" else None
            found[1].update(time=seconds_of(when[0], when[1], when[2], offset), clock="utc" if offset else "local")
        yield from told(*found, head)


class Export:
    """``FIELD=value`` lines and an empty line behind each record. A value with a newline has its length in front."""

    def __init__(self) -> None:
        self._first: Line | None = None
        self._fields: dict[str, str] = {}
        self._binary: str | None = None
        self._bytes = b""

    def take(self, line: Line) -> Iterator[Line]:
        if self._binary is not None:
            self._add_binary(line.text + b"\n")
            return
        text = line.text.removesuffix(b"\r")
        field = _FIELD.match(text)
        if not text:
            yield from self.finish()
        elif field is not None:
            self._first = self._first or line
            self._fields[field.group(1).decode()] = field.group(2).decode(errors="replace")
        elif self._first is not None and _BINARY.fullmatch(text):
            self._binary, self._bytes = text.decode(), b""
        else:
            yield line

    def _add_binary(self, data: bytes) -> None:
        self._bytes += data
        size = int.from_bytes(self._bytes[:8], "little")
        if len(self._bytes) < 8 or (size <= HELD_BYTES and len(self._bytes) < 8 + size + 1):
            return
        if self._binary is not None:
            self._fields[self._binary] = self._bytes[8 : 8 + min(size, HELD_BYTES)].decode(errors="replace")
        self._binary, self._bytes = None, b""

    def finish(self) -> Iterator[Line]:
        first, fields = self._first, self._fields
        if self._binary is not None and len(self._bytes) > 8:
            fields[self._binary] = self._bytes[8:].decode(errors="replace")
        self._first, self._fields, self._binary, self._bytes = None, {}, None, b""
        if first is not None and "MESSAGE" in fields and (found := decode_record({"__CURSOR": "", **fields})) is not None:
            yield from told(*found, first)


class Events:
    """Server-sent events: ``data: {..}``, each with an empty line behind it that is no line of the log."""

    def take(self, line: Line) -> Iterator[Line]:
        if line.text.strip():
            yield line

    def finish(self) -> Iterator[Line]:
        yield from ()
