"""Docker json-file records without decoding each: the gate reads the escaped text, and only lines that hit are decoded.

A record is ``{"log":"text\\n","stream":"stdout","time":"..."}``, one to a line (moby: daemon/logger/jsonfilelog). JSON's
escapes are undone for the whole frame at once by replacing bytes, which leaves each line where it was.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from .envelopes.json_line import decode_json_line
from .framing import Frame, clean_text

_START = b'{"log":"'
_END = b'\\n","stream":"'
_ESCAPES = (
    (b"\\u003c", b"<"),
    (b"\\u003e", b">"),
    (b"\\u0026", b"&"),
    (b"\\u001b", b"\x1b"),
    (b"\\t", b"\t"),
    (b"\\r", b"\r"),
    (b"\\\\", b"\\"),
)


def docker_frame(frame: Frame) -> DockerFrame | None:
    """The frame, if each line of it is a whole record (Docker cuts lines at 16 KiB: then the parts must be joined first)."""
    raw = frame.raw
    if not raw.startswith(_START) or not raw.endswith(b"\n") or frame.numbers is not None:
        return None
    newlines = raw.count(b"\n")
    if raw.count(_END) != newlines:
        return None
    return DockerFrame(raw, frame.first_line, frame.first_offset, whole=newlines)


class DockerFrame(Frame):
    """Whole records of Docker's json-file driver."""

    def __init__(self, raw: bytes, first_line: int, first_offset: int, *, whole: int) -> None:
        super().__init__(raw, first_line, first_offset)
        self.newlines = whole
        self.bare = False
        self._decoded: dict[int, tuple[bytes, dict[str, Any] | None]] = {}

    @cached_property
    def text(self) -> bytes:
        """The records with their escapes undone: what a decoded line holds stands here too, in the same line."""
        text = self.raw.replace(b'\\"', b'"')
        if text.count(b"\\") > self.newlines:  # more escapes than the newline of each record
            for escaped, plain in _ESCAPES:
                text = text.replace(escaped, plain)
        cleaned = clean_text(text)
        self.undecodable, self.zeros = cleaned.undecodable, cleaned.zeros
        return cleaned.text

    @cached_property
    def _records(self) -> list[bytes]:
        return self.raw.split(b"\n")

    def line(self, index: int) -> bytes:
        return self._decode(index)[0]

    def told(self, index: int) -> dict[str, Any] | None:
        return self._decode(index)[1]

    @property
    def count(self) -> int:
        return self.newlines

    def _decode(self, index: int) -> tuple[bytes, dict[str, Any] | None]:
        if index not in self._decoded:
            record = self._records[index]
            decoded = decode_json_line(record)
            text, fields = (record, None) if decoded is None else (decoded[0].encode(errors="replace"), decoded[1])
            self._decoded[index] = (clean_text(text.rstrip(b"\n").replace(b"\n", b" ")).text, fields)
        return self._decoded[index]
