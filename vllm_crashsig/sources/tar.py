"""tar archives as they stream by, never in memory, and with damaged ones read on at the next sound header.

Not the standard library's reader: that one takes extended headers of any size into memory and gives up at the first damage.
"""

from __future__ import annotations

from collections.abc import Iterator

from .archives import Body, Member, is_outside
from .base import Budget, Stream, Tally
from .kinds import TAR_BLOCK, is_tar_header

MAX_HEADER = 1 << 20
"""Bytes of an extended header that are looked at. Names of files end at 4096."""

_LINKS = (b"1", b"2")
_DEVICES = (b"3", b"4", b"6")
_WITHOUT_DATA = (*_LINKS, *_DEVICES, b"5")


class TarReader:
    """Reads one archive. ``notes`` and ``tally`` take what the archive has that is no plain file."""

    def __init__(self, stream: Stream, notes: list[str], tally: Tally, budget: Budget) -> None:
        self._stream = stream
        self._notes = notes
        self._tally = tally
        self._budget = budget
        self._name: str | None = None
        self._size: int | None = None

    def __iter__(self) -> Iterator[Member]:
        damaged = 0
        for header in self._headers():
            if header is None:
                damaged += 1
                continue
            yield from self._member(header)
        if damaged and self._budget.stopped is None:
            self._notes.append(f"the tar data is damaged; {damaged * TAR_BLOCK} bytes were skipped")

    def _headers(self) -> Iterator[bytes | None]:
        """Header blocks; None for each block that should be one and is not."""
        while block := self._stream.exactly(TAR_BLOCK):
            if is_tar_header(block):
                yield block
            elif len(block) < TAR_BLOCK:
                if block.strip(b"\0"):
                    self._cut_off()
            elif block.strip(b"\0"):  # blocks of zeros are the end, or the seam of joined archives
                yield None

    def _member(self, header: bytes) -> Iterator[Member]:
        size = self._size if self._size is not None else _number(header[124:136])
        kind = header[156:157]
        if kind in (b"L", b"K", b"x", b"g"):
            self._extended(kind, _number(header[124:136]))
            return
        name = self._name if self._name is not None else _name(header)
        self._name = self._size = None
        notes: list[str] = []
        if kind in _WITHOUT_DATA:
            size = 0  # some tars tell a link's size there
        if kind == b"S":
            self._skip_sparse_map(header)
        body = Body(self._stream, size, notes)
        if kind in _LINKS:
            self._tally.add("link(s) not followed", name)
        elif kind in _DEVICES:
            self._tally.add("device(s) or pipe(s) not read", name)
        elif kind not in (b"5", b"D", b"V", b"N") and not name.endswith("/") and size:
            if is_outside(name):
                self._tally.add("file(s) with a path outside of the archive, read all the same", name)
            yield Member(name, Stream(body), notes)
        left = body.left
        if body.skip_rest():
            self._stream.skip(-size % TAR_BLOCK)
        elif not notes and left:
            self._cut_off()

    def _cut_off(self) -> None:
        if self._budget.stopped is None:
            self._notes.append("the tar data is cut off; what came before that was read")

    def _extended(self, kind: bytes, size: int) -> None:
        """What GNU and POSIX tars say of the next member in a header of its own: a long name, a large size."""
        data = self._stream.exactly(min(size, MAX_HEADER))
        self._stream.skip(size - len(data) + -size % TAR_BLOCK)
        if size > MAX_HEADER:
            self._notes.append(f"an extended header of {size} bytes was not looked at as a whole")
        if kind == b"L":
            self._name = _text(data)
        elif kind == b"x":
            for key, value in _pax_records(data):
                if key in (b"path", b"GNU.sparse.name"):
                    self._name = _text(value)
                elif key == b"size" and value.isdigit() and len(value) < 20:
                    self._size = int(value)

    def _skip_sparse_map(self, header: bytes) -> None:
        """The holes of a sparse file stay out; what is stored of it follows the map."""
        more = header[482]
        while more and len(block := self._stream.exactly(TAR_BLOCK)) == TAR_BLOCK:
            more = block[504]


def _number(field: bytes) -> int:
    """Octal digits, or the base 256 that GNU tar uses for large ones. A sound checksum does not make them sound."""
    if field[0] & 0x80:
        return max(int.from_bytes(field[1:], "big"), 0) if field[0] == 0x80 else 0
    digits = field.strip(b" \0")
    return int(digits, 8) if digits and not digits.strip(b"01234567") else 0


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode(errors="replace")


def _name(header: bytes) -> str:
    name = _text(header[:100])
    if header[257:263] == b"ustar\0" and (prefix := _text(header[345:500])):
        return f"{prefix}/{name}"
    return name


def _pax_records(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """``<length> <key>=<value>`` and a newline, one after the other."""
    at = 0
    while (space := data.find(b" ", at, at + 20)) > at and data[at:space].isdigit():
        length = int(data[at:space])
        record = data[space + 1 : at + length - 1]
        if length <= space - at or b"=" not in record:
            return
        key, _, value = record.partition(b"=")
        yield key, value
        at += length
