"""gzip, bzip2, xz and zstd -> plain bytes, member after member, and from damaged ones whatever they hold.

All are driven a bounded piece at a time, so that neither a bomb nor a huge member takes memory.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator

from .base import Budget, Stream
from .kinds import compression_of
from .libraries import crc32, library

STEP = 64 * 1024
"""Compressed bytes handed to a decompressor at a time."""
PIECE = 256 * 1024
"""Bytes taken from it at a time: they stay in the processor's cache until they are scanned."""
REPLAY = 8 << 20
"""Compressed bytes of a member that are kept, to get at the last bytes before damage (libraries drop what they had)."""
MAX_NOTES = 6
"""Notes for one stream: a disk that is damaged in many places needs no more."""
CUT = "cut off"

_MAGICS = {"gzip": b"\x1f\x8b\x08", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd"}


def decompress(stream: Stream, kind: str, notes: list[str], budget: Budget) -> Iterator[bytes]:
    """The plain bytes of all members that ``stream`` holds one after the other. Adds a note for what could not be read."""
    try:
        library(kind)
    except ImportError:
        notes.append(f"{kind} data, which this Python cannot read; install the package backports.zstd or unpack it first")
        return
    for piece in _Members(stream, kind, notes):
        yield piece
        if not budget.unpack(len(piece)):
            notes.append(f"{budget.stopped}; the rest was not read")
            return


class _Members:
    """The members of one stream."""

    def __init__(self, stream: Stream, kind: str, notes: list[str]) -> None:
        self._stream = stream
        self._kind = kind
        self._notes = notes

    def __iter__(self) -> Iterator[bytes]:
        stream, kind = self._stream, self._kind
        while head := self._skip_padding():
            if compression_of(head) != kind:
                yield from self._other_data()
                continue
            damage = yield from self._gzip_member() if kind == "gzip" else inflate(stream, kind)
            if damage:
                self._note(f"the {kind} data is {damage}; what came before that was read")
            if damage and damage != CUT:
                skipped, found = self._next_member()
                more = ", then more data was found" if found else ""
                self._note(f"{skipped} bytes after the damage were skipped{more}")

    def _note(self, note: str) -> None:
        if len(self._notes) < MAX_NOTES:
            self._notes.append(note)

    def _next_member(self) -> tuple[int, bool]:
        """Goes on to where the next one begins: how many bytes were passed over, and whether there is one."""
        skipped = 0
        while True:
            more, found = self._stream.seek_to(_MAGICS[self._kind])
            skipped += more
            if not found or compression_of(self._stream.peek(10)) == self._kind:
                return skipped, found
            skipped += self._stream.skip(1)

    def _skip_padding(self) -> bytes:
        """The head of the next member: tapes and tools fill up with zeros between and after them."""
        while head := self._stream.peek(10):
            zeros = len(head) - len(head.lstrip(b"\0"))
            if not zeros:
                break
            self._stream.skip(zeros)
        return head

    def _other_data(self) -> Iterator[bytes]:
        """What follows a member and is none: passes text on (``cat old.log.gz new.log``), skips the rest."""
        head = self._stream.peek(512)
        if head.isascii() and b"\0" not in head:
            self._note(f"text follows the {self._kind} data and was read as it is")
            yield from self._stream
            return
        self._note(f"{self._next_member()[0]} bytes between or after the {self._kind} data are something else and were skipped")

    def _gzip_member(self) -> Generator[bytes, None, str | None]:
        """Reads header and trailer here, for a wrong checksum must not cost the text that it comes after."""
        stream = self._stream
        flags = stream.exactly(10)[3:4]
        if not flags:
            return CUT
        if flags[0] & 4:
            stream.skip(int.from_bytes(stream.exactly(2), "little"))
        for bit in (8, 16):  # name and comment end with a zero
            if flags[0] & bit:
                stream.seek_to(b"\0")
                stream.skip(1)
        if flags[0] & 2:
            stream.skip(2)
        crc = size = 0
        pieces = inflate(stream, "gzip")
        while True:
            try:
                piece = next(pieces)
            except StopIteration as stop:
                damage: str | None = stop.value
                break
            crc = crc32(piece, crc)
            size += len(piece)
            yield piece
        if damage:
            return damage
        trailer = stream.exactly(8)
        if len(trailer) < 8:
            return CUT
        return None if struct.unpack("<II", trailer) == (crc, size & 0xFFFFFFFF) else "damaged (wrong checksum)"


def inflate(stream: Stream, kind: str) -> Generator[bytes, None, str | None]:
    """One member's plain bytes; returns what is wrong with it, or None. The stream stands after it, or at the damage."""
    make, errors = library(kind)
    decoder = make()
    fed = bytearray()
    kept = True
    given = 0
    last = b""
    while not decoder.eof:
        data = stream.read(STEP) if decoder.needs_input else b""
        if data:
            last = data
            kept = kept and len(fed) + len(data) <= REPLAY
            if kept:
                fed += data
            else:
                fed.clear()
        elif decoder.needs_input:
            return CUT
        try:
            piece = decoder.decompress(data, PIECE)
        except errors as error:
            if kept:
                yield from _last_words(bytes(fed), kind, given)
            stream.unread(last[1:])  # another member may begin in what was handed over last
            return f"damaged ({str(error).rstrip('.')})"
        given += len(piece)
        if piece:
            yield piece
    if decoder.unused_data:
        stream.unread(decoder.unused_data)
    return None


def _last_words(fed: bytes, kind: str, given: int) -> Iterator[bytes]:
    """What came out past the first ``given`` bytes before the damage, found again in small steps."""
    make, errors = library(kind)
    decoder = make()
    out = bytearray()
    at = 0
    try:
        while not decoder.eof and (at < len(fed) or not decoder.needs_input):
            data = fed[at : at + 256] if decoder.needs_input else b""
            at += len(data)
            piece = decoder.decompress(data, 4096)
            known = min(given, len(piece))
            given -= known
            out += piece[known:]
    except errors:
        pass
    if out:
        yield bytes(out)
