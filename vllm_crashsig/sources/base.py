"""What every kind of source is made of: bytes that are pulled, limits that hold, and notes of what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..nouns import dataclass, field

CHUNK = 1 << 20
"""Bytes read at a time. Larger reads are no faster, smaller ones cost the scanner."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far unpacking goes. Memory is bounded without them; they bound the time that a hostile file can take."""

    depth: int = 4
    """Archives inside archives. A support bundle of node bundles of pod bundles is three."""
    layers: int = 3
    """Compressions around the same data (``x.gz.xz``). More than one is a mistake of some script already."""
    members: int = 100_000
    """Files of one folder or members of one archive. The Ray session folder of a large cluster has some ten thousand."""
    total: int = 32 << 30
    """Bytes that compressed data of one case may unpack to: about a minute of scanning."""
    free: int = 1 << 30
    """Bytes that one file may unpack to whatever its ratio: a second or two of scanning."""
    ratio: int = 1000
    """How much larger than the file the unpacked data may be past ``free``. Logs reach 20, an endlessly repeated line 500."""


class Budget:
    """What has been read and unpacked so far, against the limits. ``stopped`` tells why the current file ends early."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.stopped: str | None = None
        self._read = self._unpacked = self._total = self._members = 0

    def start_path(self) -> None:
        """Another file begins; only the total of the case goes on."""
        self.stopped = None
        self._read = self._unpacked = self._members = 0

    def read(self, size: int) -> None:
        """Counts bytes that came from outside."""
        self._read += size

    def unpack(self, size: int) -> bool:
        """Counts bytes that came out of a decompressor; False when there must be no more."""
        self._unpacked += size
        self._total += size
        limits = self.limits
        if self._total > limits.total:
            self.stopped = f"unpacked more than {limits.total >> 20} MiB, which is the limit"
        elif self._unpacked > limits.free and self._unpacked > self._read * limits.ratio:
            self.stopped = f"unpacked to more than {limits.ratio} times its size, as a decompression bomb does"
        return self.stopped is None

    def member(self) -> bool:
        """Counts a file of a folder or a member of an archive; False when there must be no more."""
        self._members += 1
        if self._members > self.limits.members and self.stopped is None:
            self.stopped = f"holds more than {self.limits.members} files, which is the limit"
        return self.stopped is None


class Stream:
    """Bytes to pull once, with a look ahead. Holds one chunk at a time."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = b""
        self._at = 0

    def peek(self, size: int) -> bytes:
        """The next ``size`` bytes without taking them; fewer only at the end."""
        while len(self._held) - self._at < size and (more := next(self._chunks, b"")):
            self._held, self._at = self._held[self._at :] + more if self._held else more, 0
        return self._held[self._at : self._at + size]

    def start(self) -> bytes:
        """Enough of the beginning to tell what it is, without waiting for more than the first line of a live text."""
        head = self.peek(6)
        while len(self._held) < 512 and (b"\0" in self._held or b"\n" not in self._held):
            if len(more := self.peek(len(self._held) + 1)) <= len(head):
                break
            head = more
        return self._held[:512]

    def read(self, size: int = CHUNK) -> bytes:
        """At most ``size`` bytes, and none only at the end."""
        if self._at >= len(self._held):
            self._held, self._at = next(self._chunks, b""), 0
        if not self._at and len(self._held) <= size:
            data, self._held = self._held, b""
            return data
        data = self._held[self._at : self._at + size]
        self._at += len(data)
        return data

    def exactly(self, size: int) -> bytes:
        """The next ``size`` bytes; fewer only at the end."""
        data = self.read(size)
        while len(data) < size and (more := self.read(size - len(data))):
            data += more
        return data

    def skip(self, size: int) -> int:
        """Passes over bytes and returns how many there were."""
        left = size
        while left and (data := self.read(min(left, CHUNK))):
            left -= len(data)
        return size - left

    def unread(self, data: bytes) -> None:
        """Puts bytes back that were just read."""
        start = self._at - len(data)
        if start >= 0 and self._held.startswith(data, start):
            self._at = start
        else:
            self._held, self._at = data + self._held[self._at :], 0

    def seek_to(self, magic: bytes) -> tuple[int, bool]:
        """Passes over everything before ``magic``: how many bytes that were, and whether it came."""
        skipped = 0
        while True:
            window = self.peek(max(len(magic), len(self._held) - self._at))
            found = window.find(magic)
            if found >= 0:
                self._at += found
                return skipped + found, True
            if len(window) < len(magic):
                return skipped + self.skip(len(window)), False
            skipped += self.skip(len(window) - len(magic) + 1)

    def __iter__(self) -> Iterator[bytes]:
        while data := self.read(max(CHUNK, len(self._held))):
            yield data


@dataclass
class Source:
    """A log to read once. ``notes`` tells after reading what could not be read. Without ``stream`` it holds notes alone."""

    name: str
    stream: Stream | None
    notes: list[str] = field(default_factory=list)

    def chunks(self) -> Iterator[bytes]:
        """The unpacked bytes, as they were written. Raises InputError when the source cannot be read at all."""
        return iter(self.stream or ())


class Tally:
    """What a folder or an archive holds that is not read, told in one note for each reason."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def add(self, reason: str, name: str) -> None:
        """``reason`` reads on after a number: "3 binary files not read"."""
        self._counts[reason] = self._counts.get(reason, 0) + 1
        if self._counts[reason] <= 3:
            self._names.setdefault(reason, []).append(clean_name(name))

    def notes(self) -> list[str]:
        """One sentence for each reason, with the first names."""
        return [
            f"{count} {reason}: {', '.join(self._names[reason])}{f' and {count - 3} more' if count > 3 else ''}"
            for reason, count in self._counts.items()
        ]


def clean_name(name: str) -> str:
    """A name that is safe to print: file names and archives may hold any bytes, terminal sequences too."""
    name = name if name.isprintable() else "".join(c if c.isprintable() else "?" for c in name)
    return name if len(name) <= 1000 else f"{name[:1000]}..."
