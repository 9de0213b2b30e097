"""How fast compressed logs are read and classified, beside the libraries that unpack, used bare."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from decoding import optional
from logs import write_log
from measuring import Plan, here, one_core
from results import Section
from scanning import classified

from vllm_crashsig.sources import open_paths

CHUNK = 1 << 20
Reader = Callable[[Path], object]


def ours(path: Path) -> None:
    """Reads and unpacks as the classifier does."""
    for source in open_paths([path]):
        for _ in source.chunks():
            pass


def file_like(open_file: Callable[[Path], Any]) -> Reader:
    """Reads a file object to its end."""

    def run(path: Path) -> None:
        with open_file(path) as file:
            while file.read(CHUNK):
                pass

    return run


def bare_zlib(module: Any) -> Reader:
    """Drives a zlib-like module itself, with no file object between."""

    def run(path: Path) -> None:
        unpack = module.decompressobj(31)
        with path.open("rb", buffering=0) as file:
            while data := file.read(32 * 1024):
                unpack.decompress(data)

    return run


def zstd_module() -> Any:
    """The standard library's, or its backport."""
    return optional("compression.zstd") or optional("backports.zstd")


def pack(path: Path, suffix: str) -> Path:
    """The log, packed."""
    data = path.read_bytes()
    packed = path.with_suffix(f".log{suffix}")
    packers: dict[str, Callable[[bytes], bytes]] = {
        "": lambda data: data,
        ".gz": lambda data: gzip.compress(data, 6),
        ".zst": lambda data: bytes(zstd_module().compress(data, 3)),
        ".bz2": bz2.compress,
        ".xz": lambda data: lzma.compress(data, preset=1),
    }
    packed.write_bytes(packers[suffix](data))
    return packed


def libraries(suffix: str) -> dict[str, Reader]:
    """What unpacks this, of what is installed."""
    found: dict[str, Reader] = {}
    if suffix == ".gz":
        found = {"gzip.open": file_like(gzip.open), "zlib": bare_zlib(zlib)}
        if isal := optional("isal.isal_zlib"):
            found["isal_zlib"] = bare_zlib(isal)
        if ng := optional("zlib_ng.zlib_ng"):
            found["zlib_ng"] = bare_zlib(ng)
    elif suffix == ".zst":
        found = {"zstd.open": file_like(zstd_module().open)}
        if zstandard := optional("zstandard"):
            found["zstandard.open"] = file_like(zstandard.open)
    elif suffix == ".bz2":
        found = {"bz2.open": file_like(bz2.open)}
    elif suffix == ".xz":
        found = {"lzma.open": file_like(lzma.open)}
    else:
        found = {"read": file_like(lambda path: path.open("rb", buffering=0))}
    return found


def measure(plan: Plan) -> list[Section]:
    """Each kind of packing."""
    section = Section(
        "Compressed logs",
        "Rates are of unpacked text. Beside them, the fastest library that is installed, which unpacks and does nothing else: "
        "our own reading of the file, and a whole classification of it, as parts of that library's rate.",
        ("packed as", "library", "library MB/s", "our reading", "classified", "classified MB/s"),
    )
    log = write_log(plan.path("packed.log"), int(plan.size * 1e6 / 2), seed=plan.seed)
    for suffix in ("", ".gz", ".zst", ".bz2", ".xz"):
        path = pack(log, suffix)
        slow = suffix in (".bz2", ".xz")
        ways = {name: here(lambda run=run, path=path: run(path)) for name, run in libraries(suffix).items()}  # type: ignore[misc]
        best_of = list(ways)
        ways |= {"ours": here(lambda path=path: ours(path)), "classify": classified(path)}  # type: ignore[misc]
        with one_core():
            times = plan.side_by_side(ways, 1 if slow else None)
        best = min(best_of, key=lambda name: times[name].least)
        size, bare = log.stat().st_size / 1e6, times[best].least
        section.rows.append([
            suffix or "not at all", best, f"{size / bare:.0f}", f"{bare / times['ours'].least:.2f}",
            f"{bare / times['classify'].least:.2f}", f"{size / times['classify'].least:.0f}",
        ])  # fmt: skip
        if suffix:
            path.unlink()
    log.unlink()
    return [section]
