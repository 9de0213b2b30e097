"""Bytes in any chunks -> frames of whole lines, cut the same way whatever the chunks were.

A frame keeps what is needed to say where a line stood in the source. Endless lines are cut into overlapping pieces, so
that memory stays bounded and nothing is skipped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import Any

from .lazy import lazy
from .nouns import dataclass

MAX_LINE = 256 * 1024
"""Bytes of one line that are looked at as a whole; longer ones are cut into pieces. Also about the size of a frame: few enough
to stay in a core's own cache while they are looked at."""
OVERLAP = 4 * 1024
"""Bytes that a piece repeats of the one before, so that a message across the cut is seen whole."""

ESCAPES = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement, erase
    r"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC: titles, hyperlinks
    r"|[_PX^][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # APC (Buildkite's time stamps), DCS, SOS, PM
    r"|[()*+][0-9A-Z]|[@-Z\\-_=>78c])"
)
"""ECMA-48 control sequences."""
_ANSI = lazy(ESCAPES.encode())
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
        return count_newlines(self.raw)

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
            ends = accumulate(map(len, self.raw.split(b"\n")), initial=self.first_offset)
            self.offsets = [end + newlines for newlines, end in enumerate(ends)]
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


_SMALL = 4096
"""Bytes below which counting them one by one is as fast."""


def count_newlines(data: bytes, start: int = 0, end: int | None = None) -> int:
    """How many newlines there are between two places.

    Before Python 3.14, bytes.count looks at one byte at a time, which takes as long as the gate's whole scan; bytes.replace
    leaps from one newline to the next.
    """
    end = len(data) if end is None else end
    if end - start < _SMALL or sys.version_info >= (3, 14):
        return data.count(b"\n", start, end)
    part = data[start:end]
    return len(part) - len(part.replace(b"\n", b""))


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
        at = 0
        end = chunk.rfind(b"\n") + 1
        while at < end:
            pending = len(self._pending)
            stop = chunk.rfind(b"\n", at, min(end, at + MAX_LINE + 1 - pending)) + 1
            if self._in_long_line or not stop:  # the line that begins here is a long one, or the end of one
                stop = chunk.find(b"\n", at) + 1
                yield from self._long_line(self._take(chunk, at, stop))
            else:
                yield self._emit(self._take(chunk, at, stop))
            at = stop
        self._pending = self._take(chunk, end, len(chunk))
        yield from self._drain_pending()

    def close(self) -> Iterator[Frame]:
        """The last line, if no newline ended it."""
        if self._pending:
            rest, self._pending = self._pending, b""
            frame = self._emit(rest, cut=self._in_long_line)
            yield frame

    def rest(self) -> None:
        """Lets go of the last frame, whose lines have been counted by whoever has scanned it."""
        self._count()

    @property
    def bytes_seen(self) -> int:
        """Bytes fed so far."""
        return self._offset + len(self._pending)

    @property
    def lines_seen(self) -> int:
        """Lines begun so far."""
        self._count()
        return self._line - 1 + bool(self._pending or (self._last and not self._last.raw.endswith(b"\n")))

    def _take(self, chunk: bytes, start: int, stop: int) -> bytes:
        """A part of the chunk, behind what was pending."""
        if not self._pending:
            return chunk[start:stop]
        data = b"".join((self._pending, memoryview(chunk)[start:stop]))
        self._pending = b""
        return data

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

    def _long_line(self, line: bytes) -> Iterator[Frame]:
        ends = line.endswith(b"\n")
        at = 0
        while len(line) - at - ends > MAX_LINE:
            self._begin_cut()
            end, again = _places(line, at)
            yield self._emit(line[at:end], cut=True, overlap=end - again)
            at = again
        yield self._emit(line[at:], cut=True)

    def _drain_pending(self) -> Iterator[Frame]:
        data, at = self._pending, 0
        while len(data) - at > MAX_LINE:
            self._begin_cut()
            end, again = _places(data, at)
            piece = data[at:end]
            at = again
            self._pending = data[at:]
            yield self._emit(piece, cut=True, overlap=end - again)

    def _begin_cut(self) -> None:
        if not self._in_long_line:
            self._in_long_line = True
            self.long_lines += 1


def _places(data: bytes, at: int) -> tuple[int, int]:
    """Where a piece of a long line that begins at ``at`` ends, and where the next one begins: never inside of a character."""
    end = _outside(data, at + MAX_LINE)
    return end, _outside(data, end - OVERLAP)


def _outside(data: bytes, at: int) -> int:
    """The place, or the beginning of the UTF-8 character that it is in."""
    return next((at - back for back in range(4) if data[at - back] & 0xC0 != 0x80), at)
