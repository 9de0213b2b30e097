"""Paths and standard input -> named streams of bytes, with compression and wide encodings undone."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO, cast

from .errors import InputError, Location

CHUNK = 1 << 20
_COMPRESSED: tuple[tuple[bytes, str], ...] = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"))
_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF8, "utf-8"),
)  # fmt: skip


@dataclass
class Source:
    """A log to read once. ``notes`` tells after reading what could not be read."""

    name: str
    open: Callable[[], BinaryIO]
    notes: list[str] = field(default_factory=list)

    def chunks(self) -> Iterator[bytes]:
        """The decompressed, UTF-8 bytes. Raises InputError when the source cannot be opened or read at all."""
        try:
            file = self.open()
        except OSError as error:
            raise _input_error(self.name, error) from error
        with file:
            try:
                yield from self._decoded(self._decompressed(file))
            except OSError as error:
                raise _input_error(self.name, error) from error

    def _decompressed(self, file: BinaryIO) -> Iterator[bytes]:
        head = _fill(file, 6)
        kind = next((name for magic, name in _COMPRESSED if head.startswith(magic)), None)
        if kind is None:
            if head:
                yield head + (file.read(CHUNK - len(head)) or b"")
            while data := file.read(CHUNK):
                yield data
            return
        rejoined = cast(BinaryIO, _Rejoined(head, file))
        unpacked: IO[bytes]
        try:
            if kind == "gzip":
                unpacked = gzip.GzipFile(fileobj=rejoined)
            else:
                unpacked = bz2.BZ2File(rejoined) if kind == "bzip2" else lzma.LZMAFile(rejoined)
            while data := unpacked.read1(CHUNK) if hasattr(unpacked, "read1") else unpacked.read(CHUNK):
                yield data
        except (EOFError, zlib.error, lzma.LZMAError, OSError, ValueError) as error:
            self.notes.append(f"the {kind} data is damaged or cut off ({error}); read up to there")

    def _decoded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        first = next(chunks, None)
        if first is None:
            return
        while len(first) < 4 and (more := next(chunks, None)) is not None:
            first += more
        bom, encoding = next(((b, e) for b, e in _BOMS if first.startswith(b)), (b"", None))
        first = first[len(bom) :]
        if encoding is None and len(first) > 8 and b"\0" in first[:200]:
            encoding = _guess_wide(first[:2000])
        if encoding is None or encoding == "utf-8":
            yield first
            yield from chunks
            return
        self.notes.append(f"read as {encoding}; offsets count its UTF-8 form")
        decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        yield decoder.decode(first).encode()
        for chunk in chunks:
            yield decoder.decode(chunk).encode()
        yield decoder.decode(b"", final=True).encode()


class _Rejoined:
    """A file with bytes put back in front, as far as decompressors need it."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head = head
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if self._head:
            if size < 0:
                data, self._head = self._head + self._file.read(), b""
                return data
            data, self._head = self._head[:size], self._head[size:]
            return data
        return self._file.read(size)

    def readinto(self, buffer: bytearray) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seekable(self) -> bool:
        return False

    def readable(self) -> bool:
        return True


def _fill(file: BinaryIO, size: int) -> bytes:
    """Up to ``size`` bytes, fewer only at the end."""
    data = b""
    while len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data


def _guess_wide(head: bytes) -> str | None:
    """UTF-16 without a BOM: nearly every other byte is zero."""
    even, odd = head[0::2], head[1::2]
    if odd.count(0) > len(odd) * 0.7 and even.count(0) < len(even) * 0.1:
        return "utf-16-le"
    if even.count(0) > len(even) * 0.7 and odd.count(0) < len(odd) * 0.1:
        return "utf-16-be"
    return None


def _input_error(name: str, error: OSError) -> InputError:
    advice = {
        FileNotFoundError: "no such file; check the path",
        IsADirectoryError: "is a directory; give the log files in it",
        PermissionError: "may not be read; check its permissions",
    }
    text = next((t for kind, t in advice.items() if isinstance(error, kind)), None)
    return InputError(text or f"cannot be read: {error.strerror or error}", Location(name))


def path_source(path: str | os.PathLike[str]) -> Source:
    """A file as a source; ``-`` is standard input. Raises InputError when it is missing, a folder or unreadable."""
    name = os.fspath(path)
    if name == "-":
        return stdin_source()
    try:
        if Path(name).is_dir():
            raise IsADirectoryError(name)
        with open(name, "rb"):
            pass
    except OSError as error:
        raise _input_error(name, error) from error
    except ValueError as error:
        raise InputError(f"is not a file name: {error}", Location(name)) from error
    return Source(name, lambda: open(name, "rb", buffering=0))


def stdin_source() -> Source:
    """Standard input as a source called ``<stdin>``."""
    return Source("<stdin>", lambda: open(sys.stdin.fileno(), "rb", buffering=0, closefd=False))
