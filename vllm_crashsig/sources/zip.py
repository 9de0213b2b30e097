"""zip archives as they stream by: from pipes, out of other archives, and cut off ones too.

Follows the local headers. The directory at the end would need the whole archive first, and its offsets are what bombs made of
overlapping members rest on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .archives import Body, Member, is_outside
from .base import Budget, Stream, Tally
from .compression import CUT
from .compression import Member as Packed
from .libraries import crc32, library

_LOCAL = b"PK\x03\x04"
_DESCRIPTOR = b"PK\x07\x08"
_METHODS = {8: "deflate", 12: "bzip2", 20: "zstd", 93: "zstd", 95: "xz"}
_ENCRYPTED, _STREAMED, _UTF8 = 1, 8, 0x800
_UNKNOWN_32 = 0xFFFFFFFF
_WINDOW = 64 * 1024


class ZipReader:
    """Reads one archive. ``notes`` and ``tally`` take what the archive has that cannot be read."""

    def __init__(self, stream: Stream, notes: list[str], tally: Tally, budget: Budget) -> None:
        self._stream = stream
        self._notes = notes
        self._tally = tally
        self._budget = budget

    def __iter__(self) -> Iterator[Member]:
        stream = self._stream
        if stream.peek(4) == _DESCRIPTOR:
            stream.skip(4)  # the mark of an archive that was meant to be split
        while True:
            head = stream.peek(4)
            if head == _LOCAL:
                yield from self._member()
            elif head[:2] == b"PK":  # the directory: all members were there
                return
            else:
                self._cut_off()
                if not stream.seek_to(_LOCAL)[1]:
                    return

    def _cut_off(self) -> None:
        if self._budget.stopped is None and not any("cut off" in n for n in self._notes):
            self._notes.append("the zip data is cut off or damaged; what came before that was read")

    def _member(self) -> Iterator[Member]:
        header = self._stream.exactly(30)
        if len(header) < 30:
            self._cut_off()
            return
        flags, method = struct.unpack("<HH", header[6:10])
        crc, packed, size, name_length, extra_length = struct.unpack("<IIIHH", header[14:30])
        name = self._stream.exactly(name_length).decode("utf-8" if flags & _UTF8 else "cp437", errors="replace")
        packed, size = _zip64(self._stream.exactly(extra_length), packed, size)
        streamed = bool(flags & _STREAMED) and not packed
        notes: list[str] = []
        body = Body(self._stream, packed, notes)
        kind = _METHODS.get(method)
        if flags & _ENCRYPTED:
            self._tally.add("encrypted file(s) not read", name)
        elif method and not (kind and _has_library(kind)):
            self._tally.add(f"file(s) packed in a way that is not known here (method {method}) not read", name)
        elif not name.endswith("/"):
            if is_outside(name):
                self._tally.add("file(s) with a path outside of the archive, read all the same", name)
            content = self._content(kind, body, notes, None if flags & _STREAMED else crc, streamed=streamed)
            yield Member(name, Stream(content), notes)
            if streamed:
                for _ in content:  # its end is only found by reading on
                    pass
        if not streamed and not body.skip_rest():
            self._cut_off()
        if flags & _STREAMED:
            self._go_to_next_header()

    def _content(self, kind: str | None, body: Body, notes: list[str], crc: int | None, *, streamed: bool) -> Iterator[bytes]:
        """The plain bytes of a member, with notes of what is wrong with them."""
        pieces: Iterator[bytes]
        if kind is None:
            pieces = self._until_descriptor(notes) if streamed else iter(body)
        else:
            pieces = self._inflated(kind, self._stream if streamed else Stream(body), notes)
        found = 0
        for piece in pieces:
            if crc is not None:
                found = crc32(piece, found)
            yield piece
        if crc is not None and found != crc and not notes:
            notes.append("the data is damaged (wrong checksum); what there was is read")

    def _inflated(self, kind: str, stream: Stream, notes: list[str]) -> Iterator[bytes]:
        packed = Packed(stream, kind)
        for piece in packed:
            yield piece
            if not self._budget.unpack(len(piece)):
                notes.append(f"{self._budget.stopped}; the rest was not read")
                return
        if packed.damage and not (packed.damage == CUT and notes):
            notes.append(f"the packed data is {packed.damage}; what came before that was read")

    def _until_descriptor(self, notes: list[str]) -> Iterator[bytes]:
        """Plain bytes whose number is told after them: up to a descriptor that tells just that number."""
        given = 0
        while window := self._stream.peek(_WINDOW):
            at = window.find(_DESCRIPTOR)
            if at < 0:
                data = self._stream.read(max(len(window) - 16, 1))
            elif at:
                data = self._stream.read(at)
            elif given & _UNKNOWN_32 in struct.unpack("<II", window[8:16].ljust(8, b"\0")):
                return
            else:
                data = self._stream.read(1)
            given += len(data)
            yield data
        notes.append("cut off: its end is missing")

    def _go_to_next_header(self) -> None:
        """Past the descriptor that may follow a member, with or without its mark."""
        while True:
            self._stream.seek_to(b"PK")
            head = self._stream.peek(4)
            if len(head) < 4 or head in (_LOCAL, b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x08"):
                return
            self._stream.skip(2)


def _has_library(kind: str) -> bool:
    try:
        library(kind)
    except ImportError:
        return False
    return True


def _zip64(extra: bytes, packed: int, size: int) -> tuple[int, int]:
    """Sizes past 4 GiB stand in an extra field, the unpacked one first."""
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack("<HH", extra[at : at + 4])
        if tag == 1:
            values = [int.from_bytes(extra[i : i + 8], "little") for i in range(at + 4, at + 4 + length - 7, 8)]
            if size == _UNKNOWN_32 and values:
                size = values.pop(0)
            if packed == _UNKNOWN_32 and values:
                packed = values.pop(0)
        at += 4 + length
    return packed, size
