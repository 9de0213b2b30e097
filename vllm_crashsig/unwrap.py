"""Undoes containers that hide the text from the gate: JSON records and lines that CRI or Docker split in parts.

Works frame by frame. A frame without such lines passes through untouched, at the cost of a search for braces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .docker_frame import docker_frame
from .envelopes.json_line import decode_json_line
from .framing import MAX_LINE, Frame

HEAD_LINES = 25
"""Lines at the beginning of a source among which a CRI record must be, for split records to be joined."""
_Line = tuple[bytes, int, int, dict[str, Any] | None]
_CRI = re.compile(rb"(\d{4}-\d\d-\d\dT\S+ (stdout|stderr) )([PF])(?::[^ ]*)? ?")


@dataclass(slots=True)
class _Parts:
    """The parts of a split line that came so far, and where the first one stood."""

    parts: list[bytes]
    number: int
    offset: int
    fields: dict[str, Any] | None
    size: int = 0


class Unwrapper:
    """Stateful per source: keeps the parts of a split line until its end comes."""

    def __init__(self) -> None:
        self.columns: int | None = None
        """Width at which a terminal cut the lines, if it did."""
        self._head = HEAD_LINES
        self._is_cri = False
        self._open: dict[str, _Parts] = {}

    def unwrap(self, frame: Frame) -> Frame:
        """The frame with its lines laid bare; the same object when there was nothing to do."""
        if self._head:
            self._look_for_cri(frame.raw)
        if self.columns is not None and not frame.cut:
            frame = self._put_together(frame)
        if frame.cut or not (self._is_cri or self._open or _has_json_line(frame.raw)):
            return frame
        if not self._open and not self._is_cri and (records := docker_frame(frame)) is not None:
            return records
        out: list[_Line] = []
        for index, raw in enumerate(_split(frame.raw)):
            number, offset = frame.line_number(index), frame.line_offset(index)
            if self._is_cri and (match := _CRI.match(raw)) is not None:
                self._cri(match, raw, number, offset, out)
            elif (decoded := decode_json_line(raw) if raw.lstrip(b" \t")[:1] == b"{" else None) is not None:
                self._json(*decoded, number, offset, out)
            else:
                out.append((raw, number, offset, None))
        return _frame(frame, out)

    def _look_for_cri(self, raw: bytes) -> None:
        lines = [line for line in raw.split(b"\n", 4 * HEAD_LINES)[: 4 * HEAD_LINES] if line.strip()][: self._head]
        self._head -= len(lines)
        if any(_CRI.match(line) for line in lines):
            self._is_cri, self._head = True, 0

    def _put_together(self, frame: Frame) -> Frame:
        """Joins each line that fills the width with the one after it."""
        out: list[_Line] = []
        for index, raw in enumerate(_split(frame.raw)):
            opened = self._open.get("wrapped")
            if opened is None:
                opened = self._open["wrapped"] = _Parts([], frame.line_number(index), frame.line_offset(index), None)
            opened.parts.append(raw.rstrip(b"\r"))
            opened.size += len(raw)
            if len(raw.rstrip(b"\r").decode(errors="replace")) != self.columns or opened.size > MAX_LINE:
                self._flush("wrapped", out)
        return _frame(frame, out)

    def finish(self) -> Frame | None:
        """Parts whose end never came."""
        if not self._open:
            return None
        out: list[_Line] = []
        for stream in list(self._open):
            self._flush(stream, out)
        return _frame(Frame(b"", out[0][1], out[0][2]), out)

    def _cri(self, match: re.Match[bytes], raw: bytes, number: int, offset: int, out: list[_Line]) -> None:
        stream = "cri-" + match.group(2).decode()
        if match.group(3) == b"P":
            if stream not in self._open:
                self._open[stream] = _Parts([match.group(1) + b"F "], number, offset, None)
            self._add(stream, raw[match.end() :], out)
        elif stream in self._open:
            if not b"".join(self._open[stream].parts[1:]).strip(b"\0 \t"):  # nothing but its prefix came so far: it begins here
                self._open[stream].number, self._open[stream].offset = number, offset
            self._add(stream, raw[match.end() :], out)
            self._flush(stream, out)
        else:
            out.append((raw, number, offset, None))

    def _json(self, text: str, fields: dict[str, Any], number: int, offset: int, out: list[_Line]) -> None:
        body = text.encode(errors="replace")
        stream = f"json-{fields.get('stream')}"
        docker = fields.get("layer") == "docker-json"
        ends = body.endswith(b"\n")
        body = body.rstrip(b"\n")
        if docker and not ends:  # Docker cuts lines at 16 KiB; only the last part ends with a newline
            if stream not in self._open:
                self._open[stream] = _Parts([], number, offset, fields)
            self._add(stream, body, out)
        elif docker and stream in self._open:
            self._add(stream, body, out)
            self._flush(stream, out)
        else:
            out.extend((line, number, offset, fields) for line in body.split(b"\n"))

    def _add(self, stream: str, part: bytes, out: list[_Line]) -> None:
        opened = self._open[stream]
        opened.parts.append(part)
        opened.size += len(part)
        if opened.size > MAX_LINE:
            self._flush(stream, out)

    def _flush(self, stream: str, out: list[_Line]) -> None:
        opened = self._open.pop(stream, None)
        if opened is not None:
            lines = b"".join(opened.parts).split(b"\n")
            out.extend((line, opened.number, opened.offset, opened.fields) for line in lines)


def _has_json_line(raw: bytes) -> bool:
    """Whether a line begins with a brace. Looks at the braces, not at the lines: an ordinary log has few.

    Depends on single lines alone, or results would depend on how frames fall.
    """
    at = raw.find(b"{")
    while at >= 0:
        if not raw[raw.rfind(b"\n", 0, at) + 1 : at].strip(b" \t"):
            return True
        end = raw.find(b"\n", at)
        at = raw.find(b"{", end) if end >= 0 else -1
    return False


def _split(raw: bytes) -> list[bytes]:
    lines = raw.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _frame(frame: Frame, lines: list[_Line]) -> Frame:
    return Frame(
        raw=b"".join(line + b"\n" for line, _, _, _ in lines),
        first_line=frame.first_line,
        first_offset=frame.first_offset,
        numbers=[n for _, n, _, _ in lines],
        offsets=[o for _, _, o, _ in lines],
        fields=[f for _, _, _, f in lines],
    )
