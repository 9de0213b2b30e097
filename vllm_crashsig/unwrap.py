"""Undoes containers that hide the text from the gate: JSON records, records of many lines, lines that were cut into parts.

Works frame by frame. A frame without such lines passes through untouched, at the cost of a search for braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .envelopes import peel
from .envelopes.clean import visible_width
from .framing import MAX_LINE, Frame
from .lazy import lazy
from .nested import MAX_PREFIX, begins_record, lay_bare, layers_of, may_hold_record, merged
from .nouns import dataclass
from .record_frame import record_frame
from .records import Line, Reader, reader_for

if TYPE_CHECKING:
    from .records.pretty import PrettyJson

HEAD_LINES = 25
"""Lines at the beginning of a source among which a CRI record must be, for split records to be joined."""
_CRI = lazy(rb"(\d{4}-\d\d-\d\dT\S+ (stdout|stderr) )([PF])(?::[^ ]*)? ?")

_FIRST = lazy(rb"\S[^\n]*")


@dataclass(slots=True)
class _Parts:
    """The parts of a split line that came so far, and where the first one stood."""

    parts: list[bytes]
    number: int
    offset: int
    fields: dict[str, Any] | None
    size: int = 0


class Unwrapper:
    """Stateful per source: keeps the parts of a split line or record until its end comes."""

    def __init__(self) -> None:
        self.columns: int | None = None
        """Width at which a terminal cut the lines, if it did."""
        self.hint: list[str] | None = None
        """Prefixes that every line of the source has; see `vllm_crashsig.envelopes.peel`."""
        self._beginnings: list[list[str]] = []
        """Outermost envelopes with which whole lines of a wrapped source begin."""
        self._begun = False
        self._reader: Reader | None = None
        self._pretty: PrettyJson | None = None
        """From the first line on that may open a record of many lines."""
        self._head = HEAD_LINES
        self._is_cri = False
        self._open: dict[str, _Parts] = {}

    def unwrap(self, frame: Frame) -> Frame:
        """The frame with its lines laid bare; the same object when there was nothing to do."""
        if self._head:
            self._look_for_cri(frame.raw)
        if self.columns is not None and not frame.cut:
            frame = self._put_together(frame)
        if not self._begun:
            self._begin(frame)
        if frame.cut:
            return frame
        parts = self._is_cri and (b" stdout P" in frame.raw or b" stderr P" in frame.raw)
        if not (parts or self._reader is not None or self._holds or self._open):
            if not _has_record(frame.raw, self.hint):
                return frame
            if (records := record_frame(frame, self.hint)) is not None:
                return records
        out: list[Line] = []
        for line in self._read(frame):
            self._line(line, out)
        return frame_of(out, frame.first_line, frame.first_offset)

    def _begin(self, frame: Frame) -> None:
        """Looks at the first line with text: does each line of this source stand for itself?"""
        first = _FIRST.search(frame.raw)
        if first is not None:
            self._begun = True
            self._reader = None if frame.cut else reader_for(first.group())

    def _read(self, frame: Frame) -> Iterator[Line]:
        """The lines of the frame, or of the records in it."""
        for index, raw in enumerate(_split(frame.raw)):
            yield from self._read_line(Line(raw, frame.line_number(index), frame.line_offset(index)))

    def _read_line(self, line: Line) -> Iterator[Line]:
        if self._reader is not None:
            yield from self._reader.take(line)
        elif self._holds or line.text.rstrip(b" \t\r")[-1:] == b"{":
            if self._pretty is None:
                from .records.pretty import PrettyJson

                self._pretty = PrettyJson()
            yield from self._pretty.take(line)
        else:
            yield line

    @property
    def _holds(self) -> bool:
        """Whether a record of many lines is not complete."""
        return self._pretty is not None and self._pretty.holds

    def _look_for_cri(self, raw: bytes) -> None:
        lines = [line for line in raw.split(b"\n", 4 * HEAD_LINES)[: 4 * HEAD_LINES] if line.strip()][: self._head]
        self._head -= len(lines)
        if any(_CRI.match(line) for line in lines):
            self._is_cri, self._head = True, 0

    def _put_together(self, frame: Frame) -> Frame:
        """Joins each line that fills the width with the one after it."""
        out: list[Line] = []
        for index, raw in enumerate(_split(frame.raw)):
            opened = self._open.get("wrapped")
            outermost = peel(raw.decode(errors="replace"), self.hint).layers[:1]
            if opened is not None and outermost in self._beginnings:
                self._flush("wrapped", out)  # the line before was full, but whole
                opened = None
            if opened is None:
                if outermost and outermost not in self._beginnings:
                    self._beginnings.append(outermost)
                opened = self._open["wrapped"] = _Parts([], frame.line_number(index), frame.line_offset(index), None)
            opened.parts.append(raw.rstrip(b"\r"))
            opened.size += len(raw)
            if visible_width(raw.decode(errors="replace")) != self.columns or opened.size > MAX_LINE:
                self._flush("wrapped", out)
        return frame_of(out, frame.first_line, frame.first_offset)

    def finish(self) -> Frame | None:
        """Parts and records whose end never came."""
        out: list[Line] = []
        wrapped: list[Line] = []
        self._flush("wrapped", wrapped)
        held = [read for line in wrapped for read in self._read_line(line)]
        reader = self._reader or self._pretty
        held += reader.finish() if reader is not None else ()
        for line in held:
            self._line(line, out)
        for stream in list(self._open):
            self._flush(stream, out)
        return frame_of(out, out[0].number, out[0].offset) if out else None

    def _line(self, line: Line, out: list[Line]) -> None:
        """What one line says, at the end of ``out``."""
        if self._is_cri and (match := _CRI.match(line.text)) is not None and self._cri(match, line, out):
            return
        found = lay_bare(line.text, self.hint)
        if found is None:
            out.append(line)
            return
        if len(found) > 1 and all(fields is not None and "partial" in fields for _, fields in found):
            found = [(b"\n".join(text for text, _ in found), found[-1][1])]  # of one record, and its last line goes on
        for text, fields in found:
            told = merged(line.fields, fields) if line.fields is not None and fields is not None else fields
            if told is not None and ("partial" in told or self._open):
                self._part(text, told, line, out)
            else:
                out.append(Line(text, line.number, line.offset, told))

    def _cri(self, match: re.Match[bytes], line: Line, out: list[Line]) -> bool:
        """Takes the parts of a split line; False for a line that is whole."""
        stream = "cri-" + match.group(2).decode()
        if match.group(3) == b"P":
            if stream not in self._open:
                self._open[stream] = _Parts([match.group(1) + b"F "], line.number, line.offset, None)
            self._add(stream, line.text[match.end() :], out)
        elif stream in self._open:
            if not b"".join(self._open[stream].parts[1:]).strip(b"\0 \t"):  # nothing but its prefix came so far: it begins here
                self._open[stream].number, self._open[stream].offset = line.number, line.offset
            self._add(stream, line.text[match.end() :], out)
            self._flush(stream, out)
        else:
            return False
        return True

    def _part(self, text: bytes, fields: dict[str, Any], line: Line, out: list[Line]) -> None:
        """Joins the records that a long line was cut into (Docker cuts at 16 KiB; only the last part is marked as the end)."""
        stream = f"json-{layers_of(fields)}-{fields.get('stream')}-{fields.get('container')}"
        if "partial" in fields:
            if stream not in self._open:
                whole = {name: value for name, value in fields.items() if name != "partial"}
                self._open[stream] = _Parts([], line.number, line.offset, whole)
            self._add(stream, text, out)
        elif stream in self._open:
            self._add(stream, text, out)
            self._flush(stream, out)
        else:
            out.append(Line(text, line.number, line.offset, fields))

    def _add(self, stream: str, part: bytes, out: list[Line]) -> None:
        opened = self._open[stream]
        opened.parts.append(part)
        opened.size += len(part)
        if opened.size > MAX_LINE:
            self._flush(stream, out)

    def _flush(self, stream: str, out: list[Line]) -> None:
        opened = self._open.pop(stream, None)
        if opened is None:
            return
        for text in b"".join(opened.parts).split(b"\n"):
            found = None if stream == "wrapped" else lay_bare(text, self.hint)
            for inner, fields in found or [(text, None)]:
                told = (
                    opened.fields if fields is None else merged(opened.fields, fields) if opened.fields is not None else fields
                )
                out.append(Line(inner, opened.number, opened.offset, told))


def _has_record(raw: bytes, hint: list[str] | None) -> bool:
    """Whether a line is a JSON record, or begins or ends with one. Looks at the braces: an ordinary log has few.

    Depends on single lines alone, or results would depend on how frames fall.
    """
    at = raw.find(b"{")
    while at >= 0:
        start = raw.rfind(b"\n", 0, at) + 1
        before = raw[start : min(at, start + MAX_PREFIX)].strip(b" \t\x1e")
        if before in (b"", b"[", b"data:", b"},", b"[},"):
            return True
        end = raw.find(b"\n", at)
        stop = end if end >= 0 else len(raw)
        may_be_one = may_hold_record(raw[max(start, stop - 24) : stop]) and begins_record(raw, at, start + MAX_PREFIX)
        if may_be_one and lay_bare(raw[start:stop], hint) is not None:
            return True
        at = raw.find(b"{", end) if end >= 0 else -1
    return False


def _split(raw: bytes) -> list[bytes]:
    lines = raw.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def frame_of(lines: list[Line], first_line: int = 1, first_offset: int = 0) -> Frame:
    """A frame of lines that are laid bare, each with its place in the source."""
    return Frame(
        raw=b"".join(line.text + b"\n" for line in lines),
        first_line=first_line,
        first_offset=first_offset,
        numbers=[line.number for line in lines],
        offsets=[line.offset for line in lines],
        fields=[line.fields for line in lines],
    )
