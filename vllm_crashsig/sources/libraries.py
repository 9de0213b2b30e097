"""The decompressors of gzip, bzip2, xz and zstd behind one interface, imported when first needed.

zstd comes from the standard library or its backport, not from the package zstandard: that one neither bounds what it gives out
at a time nor tells whether the end of the data was the end of a frame.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Protocol

MAX_WINDOW_LOG = 27
"""zstd windows up to 128 MiB, which is what its own command accepts."""
MAX_XZ_MEMORY = 256 << 20
"""xz -9 needs 65 MiB."""


class Decompressor(Protocol):
    """One member; what every library here offers."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _ZlibInflate:
    """The standard library's inflate behind that interface."""

    def __init__(self) -> None:
        import zlib

        self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
        self._full = False  # then it may hold more output, though it has taken all its input

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not (self._zlib.unconsumed_tail or self._full)

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        out = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        self._full = len(out) == max_length
        return out


@cache
def _gzip_tools() -> tuple[Callable[[], Decompressor], Callable[[bytes, int], int], tuple[type[Exception], ...]]:
    """Inflate and CRC: ISA-L where it is installed (three to four times as fast), else the standard library."""
    try:
        igzip, isal = import_module("isal.igzip_lib"), import_module("isal.isal_zlib")
    except ImportError:
        import zlib

        return _ZlibInflate, zlib.crc32, (zlib.error,)
    return lambda: igzip.IgzipDecompressor(flag=igzip.DECOMP_DEFLATE), isal.crc32, (igzip.IsalError,)


def crc32(data: bytes, value: int = 0) -> int:
    """The checksum of gzip and zip, continued."""
    return _gzip_tools()[1](data, value)


@cache
def library(kind: str) -> tuple[Callable[[], Decompressor], tuple[type[Exception], ...]]:
    """How to make a decompressor of this kind, and what it raises on damage. ImportError where Python lacks it."""
    if kind in ("gzip", "deflate"):
        make, _, errors = _gzip_tools()
        return make, errors
    if kind == "bzip2":
        import bz2

        return bz2.BZ2Decompressor, (OSError, ValueError)
    if kind == "xz":
        import lzma

        return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_XZ_MEMORY), (lzma.LZMAError,)
    zstd: Any
    try:
        zstd = import_module("compression.zstd")
    except ImportError:
        zstd = import_module("backports.zstd")
    options = {zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG}
    return lambda: zstd.ZstdDecompressor(options=options), (zstd.ZstdError,)
