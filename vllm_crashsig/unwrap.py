"""Undoes containers that hide the text from the gate: JSON records and lines that CRI or Docker split in parts.

Works frame by frame. A frame without such lines passes through untouched, at the cost of a substring search.
"""

from __future__ import annotations

import re
from typing import Any

from .envelopes.json_line import decode_json_line
from .framing import MAX_LINE, Frame

_Line = tuple[bytes, int, int, dict[str, Any] | None]
_CRI = re.compile(rb"(\d{4}-\d\d-\d\dT\S+ (stdout|stderr) )([PF])(?::[^ ]*)? ?")


class Unwrapper:
    """Stateful per source: keeps the parts of a split line until its end comes."""

    def __init__(self) -> None:
        self._parts: dict[str, tuple[list[bytes], int, int, dict[str, Any] | None]] = {}

    def unwrap(self, frame: Frame) -> Frame:
        """The frame with its lines laid bare; the same object when there was nothing to do."""
        if frame.cut or not (self._parts or _looks_wrapped(frame.raw)):
            return frame
        out: list[_Line] = []
        for index, raw in enumerate(_split(frame.raw)):
            number, offset = frame.line_number(index), frame.line_offset(index)
            if (match := _CRI.match(raw)) is not None:
                self._cri(match, raw, number, offset, out)
            elif (decoded := decode_json_line(raw) if raw.lstrip()[:1] == b"{" else None) is not None:
                self._json(*decoded, number, offset, out)
            else:
                out.append((raw, number, offset, None))
        return _frame(frame, out)

    def finish(self) -> Frame | None:
        """Parts whose end never came."""
        if not self._parts:
            return None
        out = [(b"".join(parts), n, o, fields) for parts, n, o, fields in self._parts.values()]
        self._parts = {}
        return _frame(Frame(b"", out[0][1], out[0][2]), out)

    def _cri(self, match: re.Match[bytes], raw: bytes, number: int, offset: int, out: list[_Line]) -> None:
        stream = "cri-" + match.group(2).decode()
        if match.group(3) == b"P":
            if stream not in self._parts:
                whole = match.group(1) + b"F " + raw[match.end() :]
                self._parts[stream] = ([whole], number, offset, None)
            else:
                self._add(stream, raw[match.end() :], out)
        elif stream in self._parts:
            self._add(stream, raw[match.end() :], out)
            self._flush(stream, out)
        else:
            out.append((raw, number, offset, None))

    def _json(self, text: str, fields: dict[str, Any], number: int, offset: int, out: list[_Line]) -> None:
        body = text.encode(errors="replace")
        stream = f"json-{fields.get('stream')}"
        docker = fields.get("layer") == "docker-json"
        if docker and not body.endswith(b"\n"):  # Docker cuts lines at 16 KiB; only the last part ends with a newline
            if stream in self._parts:
                self._add(stream, body, out)
            else:
                self._parts[stream] = ([body], number, offset, fields)
            return
        body = body.rstrip(b"\n")
        if docker and stream in self._parts:
            self._add(stream, body, out)
            self._flush(stream, out)
            return
        out.extend((line, number, offset, fields) for line in body.split(b"\n"))

    def _add(self, stream: str, part: bytes, out: list[_Line]) -> None:
        parts = self._parts[stream][0]
        parts.append(part)
        if sum(map(len, parts)) > MAX_LINE:
            self._flush(stream, out)

    def _flush(self, stream: str, out: list[_Line]) -> None:
        parts, number, offset, fields = self._parts.pop(stream)
        out.append((b"".join(parts), number, offset, fields))


def _looks_wrapped(raw: bytes) -> bool:
    return (
        raw[:1] == b"{"
        or b"\n{" in raw
        or b' stdout P ' in raw
        or b' stderr P ' in raw
        or (b'"msg"' in raw and raw.lstrip()[:1] == b"{")
    )  # fmt: skip


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
