"""Bytes in any chunks -> frames of whole lines, cut the same way whatever the chunks were.

A frame keeps what is needed to say where a line stood in the source. Endless lines are cut into overlapping pieces, so
that memory stays bounded and nothing is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

MAX_LINE = 256 * 1024
"""Bytes of one line that are looked at as a whole; longer ones are cut into pieces."""
OVERLAP = 4 * 1024
"""Bytes that a piece repeats of the one before, so that a message across the cut is seen whole."""
FRAME = 1 << 20
"""Aimed-at size of a frame in bytes."""

ESCAPES = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement, erase
    r"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC: titles, hyperlinks
    r"|[_PX^][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # APC (Buildkite's time stamps), DCS, SOS, PM
    r"|[()*+][0-9A-Z]|[@-Z\\-_=>78c])"
)
"""ECMA-48 control sequences."""
_ANSI = re.compile(ESCAPES.encode())
_NESTED = 4
"""Passes that take sequences out; what a pass leaves behind may join to a new one, in hostile logs only."""


@dataclass
class Frame:
    """Whole lines of one source, each ended by a newline (except the last one of a source, or a piece of a long line)."""

    raw: bytes
    first_line: int
    first_offset: int
    numbers: list[int] | None = None
    """Line number of each line, where they are not simply consecutive (after unwrapping)."""
    offsets: list[int] | None = None
    """Byte offset of each line, likewise."""
    fields: list[dict[str, Any] | None] | None = None
    """What the unwrapped container told of each line."""
    undecodable: int = 0
    zeros: int = 0
    """Zero bytes left out: of a crashed disk, a rotated file, or UTF-16 appended to another encoding."""
    cut: bool = False
    """Whether this is a piece of a line longer than MAX_LINE."""
    bare: bool = True
    """Whether ``text`` holds the lines as they are judged, and not in something that hides them."""

    @cached_property
    def newlines(self) -> int:
        """How many lines end in ``raw``. Whoever has counted already may say so by setting it."""
        return self.raw.count(b"\n")

    @cached_property
    def text(self) -> bytes:
        """The lines as valid UTF-8 without terminal sequences; the same number of lines as ``raw``."""
        cleaned = clean_text(self.raw)
        self.undecodable, self.zeros = cleaned.undecodable, cleaned.zeros
        return cleaned.text

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines of ``text`` without their newlines."""
        lines = self.text.split(b"\n")
        if not lines[-1]:
            lines.pop()
        return lines

    def line(self, index: int) -> bytes:
        """The index-th line of ``text``, without its newline."""
        return self.lines[index]

    def told(self, index: int) -> dict[str, Any] | None:
        """What the unwrapped container told of the index-th line."""
        return self.fields[index] if self.fields is not None else None

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self.lines)

    def line_number(self, index: int) -> int:
        """1-based number in the source of the index-th line."""
        return self.numbers[index] if self.numbers is not None else self.first_line + index

    def line_offset(self, index: int) -> int:
        """Byte offset in the source of the index-th line."""
        if self.offsets is None:
            lengths = (len(line) + 1 for line in self.raw.split(b"\n"))
            self.offsets = [self.first_offset, *accumulate(lengths, initial=self.first_offset)][1:]
        return self.offsets[index]


@dataclass(frozen=True, slots=True)
class CleanText:
    """Bytes made valid UTF-8 without terminal sequences, and what that cost."""

    text: bytes
    undecodable: int = 0
    zeros: int = 0


def clean_text(text: bytes) -> CleanText:
    """Zero bytes and terminal sequences left out, undecodable bytes replaced."""
    zeros = undecodable = 0
    if b"\0" in text:
        zeros = text.count(b"\0")
        text = text.replace(b"\0", b"")
    if b"\x1b" in text:
        text = _without_escapes(text)
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            replaced = text.decode(errors="replace")
            undecodable = replaced.count("\ufffd") - text.count("\ufffd".encode())
            text = replaced.encode()
    return CleanText(text, undecodable, zeros)


def _without_escapes(text: bytes) -> bytes:
    for _ in range(_NESTED):
        shorter = _ANSI.sub(b"", text)
        if len(shorter) == len(text):
            return text
        text = shorter
    return text.replace(b"\x1b", b"?") if _ANSI.search(text) else text


class Framer:
    """Turns chunks of one source into frames. Not thread-safe; one for each source."""

    def __init__(self) -> None:
        self._pending = b""
        self._line = 1
        self._last: Frame | None = None  # its lines are not counted yet: whoever scans it does so on the way
        self._offset = 0
        self.long_lines = 0
        self._in_long_line = False

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Frames of all lines that this chunk completes."""
        data = self._pending + chunk if self._pending else chunk
        end = data.rfind(b"\n") + 1
        self._pending = data[end:]
        if end:
            yield from self._whole_lines(data[:end] if end < len(data) else data)
        yield from self._drain_pending()

    def close(self) -> Iterator[Frame]:
        """The last line, if no newline ended it."""
        if self._pending:
            rest, self._pending = self._pending, b""
            frame = self._emit(rest, cut=self._in_long_line)
            yield frame

    @property
    def bytes_seen(self) -> int:
        """Bytes fed so far."""
        return self._offset + len(self._pending)

    @property
    def lines_seen(self) -> int:
        """Lines begun so far."""
        self._count()
        return self._line - 1 + bool(self._pending or (self._last and not self._last.raw.endswith(b"\n")))

    def _emit(self, raw: bytes, *, cut: bool = False, overlap: int = 0) -> Frame:
        self._count()
        frame = self._last = Frame(raw, self._line, self._offset, cut=cut)
        self._offset += len(raw) - overlap
        if raw.endswith(b"\n"):
            self._in_long_line = False
        return frame

    def _count(self) -> None:
        if self._last is not None:
            self._line += self._last.newlines
            if self._last.raw.endswith(b"\n"):
                self._last = None
            else:
                self._last.newlines = 0

    def _whole_lines(self, data: bytes) -> Iterator[Frame]:
        start = at = 0
        while len(data) - at > MAX_LINE or self._in_long_line:
            if self._in_long_line:  # the pieces before this one are out already; its end comes alone
                end = data.find(b"\n", at) + 1
                yield from self._long_line(data[at:end])
                start = at = end
                continue
            newline = data.rfind(b"\n", at, at + MAX_LINE + 1)
            if newline >= 0:
                at = newline + 1
                if at - start >= FRAME:
                    yield self._emit(data[start:at])
                    start = at
                continue
            if at > start:
                yield self._emit(data[start:at])
            end = data.find(b"\n", at) + 1
            yield from self._long_line(data[at:end])
            start = at = end
        if start < len(data):
            yield self._emit(data[start:] if start else data)

    def _long_line(self, line: bytes) -> Iterator[Frame]:
        ends = line.endswith(b"\n")
        while len(line) - ends > MAX_LINE:
            self._begin_cut()
            yield self._emit(line[:MAX_LINE], cut=True, overlap=OVERLAP)
            line = line[MAX_LINE - OVERLAP :]
        yield self._emit(line, cut=True)

    def _drain_pending(self) -> Iterator[Frame]:
        while len(self._pending) > MAX_LINE:
            self._begin_cut()
            piece, self._pending = self._pending[:MAX_LINE], self._pending[MAX_LINE - OVERLAP :]
            yield self._emit(piece, cut=True, overlap=OVERLAP)

    def _begin_cut(self) -> None:
        if not self._in_long_line:
            self._in_long_line = True
            self.long_lines += 1
