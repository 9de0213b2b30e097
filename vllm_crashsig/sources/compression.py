"""gzip, bzip2, xz and zstd -> plain bytes, member after member, and from damaged ones whatever they hold.

All are driven a bounded piece at a time, so that neither a bomb nor a huge member takes memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

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
MAX_PROBE = 1 << 30
"""Bytes that an appended member may unpack to while it is only tried."""
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

    def __init__(self, stream: Stream, kind: str, notes: list[str], *, probing: bool = False) -> None:
        self._stream = stream
        self._kind = kind
        self._notes = notes
        self._probing = probing

    def __iter__(self) -> Iterator[bytes]:
        stream, kind = self._stream, self._kind
        while head := self._skip_padding():
            if compression_of(head) != kind:
                yield from self._other_data()
                continue
            member = Member(stream, kind)
            yield from self._gzip_member(member) if kind == "gzip" else member
            if not member.damage:
                continue
            self._note(f"the {kind} data is {member.damage}; what came before that was read")
            if member.damage == CUT:
                following = b"" if self._probing else _appended(member.kept or member.recent, kind)
            else:
                following = member.recent[1:]  # a cut off member may have swallowed the beginning of the next one
            stream.unread(following)
            if following and self._next_member()[1]:
                self._note(f"another piece of {kind} data after the damage was read")

    def _note(self, note: str) -> None:
        if len(self._notes) < MAX_NOTES:
            self._notes.append(note)

    def _next_member(self) -> tuple[int, bool]:
        """Goes on to where the next one begins: how many bytes were passed over, and whether there is one."""
        skipped = 0
        while True:
            more, found = self._stream.seek_to(_MAGICS[self._kind])
            skipped += more
            head = self._stream.peek(10)
            if not found or _is_likely(head, self._kind):
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

    def _gzip_member(self, member: Member) -> Iterator[bytes]:
        """Reads header and trailer here, for a wrong checksum must not cost the text that it comes after."""
        stream = self._stream
        flags = stream.exactly(10)[3:4]
        if not flags:
            member.damage = CUT
            return
        if flags[0] & 4:
            stream.skip(int.from_bytes(stream.exactly(2), "little"))
        for bit in (8, 16):  # name and comment end with a zero
            if flags[0] & bit:
                stream.seek_to(b"\0")
                stream.skip(1)
        if flags[0] & 2:
            stream.skip(2)
        crc = size = 0
        for piece in member:
            crc = crc32(piece, crc)
            size += len(piece)
            yield piece
        if member.damage:
            return
        trailer = stream.exactly(8)
        if len(trailer) < 8:
            member.damage = CUT
        elif struct.unpack("<II", trailer) != (crc, size & 0xFFFFFFFF):
            member.damage = "damaged (wrong checksum)"
            stream.unread(trailer)


class Member:
    """One member's plain bytes. Afterwards ``damage`` says what is wrong with it, if anything; the stream stands behind it."""

    def __init__(self, stream: Stream, kind: str) -> None:
        self.damage = ""
        self._taken: list[bytes] = []  # not joined while all is well: that copy alone would cost a twentieth of the time
        self._size = 0
        self._stream = stream
        self._kind = kind

    @property
    def recent(self) -> bytes:
        """The last compressed bytes that were taken from the stream."""
        return b"".join(self._taken[-2:])

    @property
    def kept(self) -> bytes:
        """All of them, or none when there were too many."""
        return b"".join(self._taken) if self._size <= REPLAY else b""

    def __iter__(self) -> Iterator[bytes]:
        make, errors = library(self._kind)
        decoder = make()
        given = 0
        while not decoder.eof:
            data = self._stream.read(STEP) if decoder.needs_input else b""
            if data:
                self._taken.append(data)
                self._size += len(data)
                if self._size > REPLAY:
                    del self._taken[:-2]
            elif decoder.needs_input:
                self.damage = CUT
                return
            try:
                piece = decoder.decompress(data, PIECE)
            except errors as error:
                self.damage = f"damaged ({str(error).rstrip('.')})"
                if kept := self.kept:
                    yield from _last_words(kept, self._kind, given)
                return
            given += len(piece)
            if piece:
                yield piece
        if unused := decoder.unused_data:
            self._stream.unread(unused)
            self._taken[-1] = self._taken[-1][: -len(unused)]


def _last_words(fed: bytes, kind: str, given: int) -> Iterator[bytes]:
    """What came out past the first ``given`` bytes before the damage, found again byte by byte."""
    make, errors = library(kind)
    decoder = make()
    out = bytearray()
    at = 0
    try:
        while not decoder.eof and (at < len(fed) or not decoder.needs_input):
            data = fed[at : at + 256] if decoder.needs_input else b""
            at += len(data)
            if given:
                given -= len(decoder.decompress(data, min(given, PIECE)))
            else:
                out += decoder.decompress(data, 1)
    except errors:
        pass
    if out:
        yield bytes(out)


def _is_likely(head: bytes, kind: str) -> bool:
    """Whether a member begins here, in the middle of damaged data, where the magic bytes may stand by chance."""
    if kind == "gzip" and (len(head) < 10 or head[8] not in (0, 2, 4) or 13 < head[9] < 255):
        return False
    return compression_of(head) == kind


def _appended(data: bytes, kind: str) -> bytes:
    """The sound members at the end of what looked like one that is cut off: the compressor was killed, its successor appended.

    Sound to the last byte, for a packed file inside of the packed data looks the same at first.
    """
    at, tries = data.find(_MAGICS[kind], 1), 8
    while at >= 0 and tries:
        if _is_likely(data[at : at + 10], kind):
            tries -= 1
            notes: list[str] = []
            size = 0
            for piece in _Members(Stream([data[at:]]), kind, notes, probing=True):
                size += len(piece)
                if size > MAX_PROBE:
                    return b""
            if size and not notes:
                return data[at:]
        at = data.find(_MAGICS[kind], at + 1)
    return b""
