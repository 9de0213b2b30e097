"""How fast compressed logs are unpacked, beside the libraries used bare. One core, one run.

    python benchmarks/decompress.py [--size MB] [--rounds N]

Prints the median of each way and its ratio to reading the same log uncompressed. All read from the page cache, in turn, so
that a noisy machine disturbs all. Libraries that are not installed are left out (try: pip install isal zlib-ng rapidgzip).
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import lzma
import os
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from ordinary import write_log

from vllm_crashsig.sources import libraries, open_paths

CHUNK = 1 << 20


def ours(path: Path) -> int:
    return sum(len(chunk) for source in open_paths([path]) for chunk in source.chunks())


def ours_without_isal(path: Path) -> int:
    """The same over the standard library's zlib, as on machines without ISA-L."""
    tools = libraries._gzip_tools
    libraries._gzip_tools = lambda: (libraries._ZlibInflate, zlib.crc32, (zlib.error,))  # type: ignore[assignment]
    libraries.library.cache_clear()
    try:
        return ours(path)
    finally:
        libraries._gzip_tools = tools
        libraries.library.cache_clear()


def file_like(open_file: Callable[[Path], Any]) -> Callable[[Path], int]:
    """A way that reads a file object to its end."""

    def run(path: Path) -> int:
        with open_file(path) as file:
            return sum(len(data) for data in iter(lambda: file.read(CHUNK), b""))

    return run


def bare_zlib(module: Any) -> Callable[[Path], int]:
    """A way that drives a zlib-like module itself, with no file object between."""

    def run(path: Path) -> int:
        unpack = module.decompressobj(31)
        with path.open("rb", buffering=0) as file:
            return sum(len(unpack.decompress(data)) for data in iter(lambda: file.read(32 * 1024), b""))

    return run


def optional(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def ways(folder: Path) -> Iterator[tuple[str, Path, Callable[[Path], int]]]:
    log = folder / "o.log"
    yield "plain, read(1 MiB)", log, file_like(lambda p: p.open("rb", buffering=0))
    yield "plain, ours", log, ours
    packed = folder / "o.log.gz"
    yield "gzip, ours", packed, ours
    yield "gzip, ours without ISA-L", packed, ours_without_isal
    yield "gzip, gzip.open", packed, file_like(gzip.open)
    yield "gzip, zlib", packed, bare_zlib(zlib)
    if isal := optional("isal.isal_zlib"):
        yield "gzip, isal_zlib", packed, bare_zlib(isal)
        yield "gzip, igzip.open", packed, file_like(import_module("isal.igzip").open)
    if optional("zlib_ng"):
        yield "gzip, zlib_ng", packed, bare_zlib(import_module("zlib_ng.zlib_ng"))
    if rapid := optional("rapidgzip"):
        yield "gzip, rapidgzip (1 thread)", packed, file_like(lambda p: rapid.open(str(p), parallelization=1))
    yield "bzip2, ours", folder / "o.log.bz2", ours
    yield "bzip2, bz2.open", folder / "o.log.bz2", file_like(bz2.open)
    yield "xz, ours", folder / "o.log.xz", ours
    yield "xz, lzma.open", folder / "o.log.xz", file_like(lzma.open)
    zstd = zstd_module()
    yield "zstd, ours", folder / "o.log.zst", ours
    yield "zstd, zstd.open", folder / "o.log.zst", file_like(zstd.open)
    if optional("zstandard"):
        yield "zstd, zstandard.open", folder / "o.log.zst", file_like(import_module("zstandard").open)


def zstd_module() -> Any:
    return optional("compression.zstd") or import_module("backports.zstd")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=64, help="MB of log (default 64)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_log(folder / "o.log", options.size * 1_000_000)
        data = (folder / "o.log").read_bytes()
        for suffix, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("zst", zstd_module().compress)):
            (folder / f"o.log.{suffix}").write_bytes(pack(data))
        (folder / "o.log.xz").write_bytes(lzma.compress(data, preset=1))
        times: dict[str, list[float]] = {}
        for _ in range(options.rounds):
            for title, path, run in ways(folder):
                started = time.perf_counter()
                size = run(path)
                times.setdefault(title, []).append(time.perf_counter() - started)
                assert size == len(data), (title, size)
    plain = statistics.median(times["plain, read(1 MiB)"])
    print(f"{'way':28}{'MB/s':>8}  of plain reading")
    for title, seconds in times.items():
        median = statistics.median(seconds)
        print(f"{title:28}{len(data) / 1e6 / median:8.0f}  {plain / median:.3f}")


if __name__ == "__main__":
    main()
