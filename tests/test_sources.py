"""Everything that can be named as a log is read, whatever it is packed in, in bounded memory; notes tell what cannot be."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import random
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import classifier, fingerprint

from vllm_crashsig import Classifier, InputError, OptionError, Report
from vllm_crashsig.api import classify_sources
from vllm_crashsig.encodings import Decoder
from vllm_crashsig.sources import Limits, libraries, open_paths
from vllm_crashsig.sources.base import Stream
from vllm_crashsig.sources.kinds import archive_of, compression_of, looks_binary

try:
    zstd: Any = importlib.import_module("compression.zstd")
except ImportError:
    zstd = importlib.import_module("backports.zstd")

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd.compress,
}  # fmt: skip
KINDS = tuple(PACK)
LOG = b"".join(b"INFO 11-30 12:00:00 [core.py:%d] request %d of a busy day\n" % (i % 97, i) for i in range(12_000))
NOISE = random.Random(1).randbytes(20_000)
CAUSE = b"FATAL: the tank is empty\n"


def read(path: str | Path | Iterable[str | Path], **limits: int) -> dict[str, bytes]:
    """Contents by name (the path's own folder left out)."""
    return {name: data for name, data, _ in sources(path, **limits) if data is not None}


def notes(path: str | Path | Iterable[str | Path], **limits: int) -> list[str]:
    return [note for _, _, found in sources(path, **limits) for note in found]


def sources(path: str | Path | Iterable[str | Path], **limits: int) -> list[tuple[str, bytes | None, list[str]]]:
    paths = [path] if isinstance(path, str | Path) else list(path)
    found = []
    for source in open_paths(paths, Limits(**limits)):
        data = b"".join(source.chunks())
        found.append((source.name.rpartition("/" if "!" not in source.name else "\0")[2], data, source.notes))
    folder = str(Path(paths[0]).parent) + "/"
    return [
        (n.removeprefix(folder), d if open_ else None, w) for (n, d, w), open_ in zip(found, map(has_data, found), strict=True)
    ]


def has_data(found: tuple[str, bytes, list[str]]) -> bool:
    return bool(found[1]) or not found[2]


def tarball(files: Mapping[str, bytes], *more: tarfile.TarInfo, form: int = tarfile.GNU_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in more:
            archive.addfile(info)
    return out.getvalue()


class Pipe(io.RawIOBase):
    """A file that cannot be sought in, so that zipfile tells sizes after the data."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.data += data
        return len(data)


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED, *, streamed: bool = False) -> bytes:
    out: Any = Pipe() if streamed else io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return bytes(out.data) if streamed else out.getvalue()


def same_bytes(a: bytes, b: bytes) -> int:
    """How long they are the same."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.fixture
def tank(tmp_path: Path) -> Classifier:
    """Knows one failure."""
    return classifier(tmp_path / "catalogue", fingerprint("tank", "root", "the tank is empty"))


def classify(classifier: Classifier, *paths: str | Path, limits: Limits | None = None) -> Report:
    return classify_sources(open_paths(paths, limits), classifier)


# --- Files and compression --------------------------------------------------------------------------------------------


def test_plain_file_comes_in_large_chunks(tmp_path: Path) -> None:
    path = put(tmp_path, "a.log", b"x" * 99 + b"\n" + LOG * 6)
    chunks = [len(c) for source in open_paths([path]) for c in source.chunks()]
    assert chunks[:-1] == [1 << 20] * (len(chunks) - 1)
    assert sum(chunks) == path.stat().st_size


@pytest.mark.parametrize("data", [b"", b"x", b"\n", b"PK", b"BZh9", b"\x1f\x8b", b"\0", b"\xff\xfe"])
def test_tiny_files(tmp_path: Path, data: bytes) -> None:
    assert read(put(tmp_path, "a.log", data)) == {"a.log": data}


@pytest.mark.parametrize("kind", KINDS)
def test_compressed_whatever_the_name(tmp_path: Path, kind: str) -> None:
    path = put(tmp_path, "vllm.log", PACK[kind](LOG))
    assert compression_of(path.read_bytes()[:512]) == kind
    assert sources(path) == [("vllm.log", LOG, [])]


@pytest.mark.parametrize("kind", KINDS)
def test_several_members(tmp_path: Path, kind: str) -> None:
    parts = [LOG[i : i + 9_999] for i in range(0, len(LOG), 9_999)]
    path = put(tmp_path, "a", b"".join(map(PACK[kind], parts)) + b"\0" * 512)
    assert sources(path) == [("a", LOG, [])]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("extra", [b"INFO plain text of today\n" * 3, NOISE], ids=["text", "noise"])
def test_something_after_the_members(tmp_path: Path, kind: str, extra: bytes) -> None:
    [(_, data, told)] = sources(put(tmp_path, "a", PACK[kind](LOG) + extra))
    assert data == (LOG + extra if extra.isascii() else LOG)
    assert ("text follows" if extra.isascii() else "20000 bytes between or after") in told[0]


@pytest.mark.parametrize("kind", KINDS)
def test_cut_off(tmp_path: Path, kind: str) -> None:
    noisy = b"".join(random.Random(i).randbytes(40).hex().encode() + b"\n" for i in range(20_000))  # spans several blocks
    packed = PACK[kind](noisy)
    [(_, data, told)] = sources(put(tmp_path, "a", packed[: len(packed) * 3 // 4]))
    assert told == [f"the {kind} data is cut off; what came before that was read"]
    assert data is not None
    assert noisy.startswith(data)
    assert len(data) > len(noisy) // 3


@pytest.mark.parametrize("kind", KINDS)
def test_cut_off_at_once(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError, match=f"nothing could be read: the {kind} data is cut off$"):
        read(put(tmp_path, "a", PACK[kind](LOG)[:14]))


@pytest.mark.parametrize("kind", ["gzip", "xz"])
def test_nothing_before_the_damage_is_lost(tmp_path: Path, kind: str) -> None:
    packed = bytearray(PACK[kind](LOG))
    middle = len(packed) // 2
    packed[middle : middle + 8] = b"\xff" * 8
    [(_, data, told)] = sources(put(tmp_path, "a", bytes(packed)))
    assert data is not None
    assert "damaged" in told[0]
    same = same_bytes(data, LOG)
    assert same > len(LOG) // 3
    whole = subprocess.run([kind, "-dc"], input=bytes(packed), capture_output=True, check=False).stdout
    assert same >= same_bytes(whole, LOG), "as much as the tool itself gives"


def test_wrong_checksum_costs_nothing(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(LOG))
    packed[-6] ^= 0xFF
    assert sources(put(tmp_path, "a", bytes(packed))) == [
        ("a", LOG, ["the gzip data is damaged (wrong checksum); what came before that was read"])
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_goes_on_after_a_member_that_is_cut_off(tmp_path: Path, kind: str) -> None:
    """A compressor was killed, and the next one appended to its file."""
    second = b"second %d\n" * 500 % tuple(range(500))
    packed = PACK[kind](LOG)
    [(_, data, told)] = sources(put(tmp_path, "a", packed[: len(packed) * 4 // 5] + PACK[kind](second)))
    assert data is not None
    assert kind == "bzip2" or LOG[: len(LOG) // 3] == data[: len(LOG) // 3]
    assert data.endswith(second)
    assert told[-1] == f"another piece of {kind} data after the damage was read"


def test_gzip_header_fields(tmp_path: Path) -> None:
    raw = gzip.compress(LOG, mtime=0)
    header = raw[:3] + bytes([4 | 8 | 16 | 2]) + raw[4:10] + b"\x03\0abc" + b"name\0" + b"a comment\0" + b"\x12\x34"
    assert sources(put(tmp_path, "a", header + raw[10:])) == [("a", LOG, [])]


def test_without_isal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal.igzip_lib", None)
    libraries._gzip_tools.cache_clear()
    libraries.library.cache_clear()
    try:
        assert libraries.library("gzip")[0] is libraries._ZlibInflate
        whole = gzip.compress(LOG) + gzip.compress(LOG)
        assert read(put(tmp_path, "a", whole)) == {"a": LOG + LOG}
        assert len(read(put(tmp_path, "b", whole[: len(whole) * 3 // 4]))["b"]) > len(LOG)
        assert read(put(tmp_path, "z", zipped({"x": LOG, "y": b"1"})))["z!x"] == LOG
        zeros = b"0" * (1 << 20)  # comes out of very little input, in several pieces
        assert read(put(tmp_path, "c", gzip.compress(zeros)))["c"] == zeros
    finally:
        libraries._gzip_tools.cache_clear()
        libraries.library.cache_clear()


def test_without_zstd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "a.zst", zstd.compress(LOG))
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    libraries.library.cache_clear()
    try:
        with pytest.raises(InputError, match=r"a\.zst: .*install the package backports\.zstd"):
            read(path)
    finally:
        libraries.library.cache_clear()


def test_compressed_over_and_over(tmp_path: Path) -> None:
    data = LOG
    for kind in ("gzip", "xz", "gzip"):
        data = PACK[kind](data)
    assert read(put(tmp_path, "a", data)) == {"a": LOG}
    with pytest.raises(InputError, match="compressed more than 3 times over"):
        read(put(tmp_path, "b", gzip.compress(data)))


@pytest.mark.parametrize(
    ("magic", "what"), [(b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"Rar!\x1a\x07\x01", "RAR"), (b"\x04\x22\x4d\x18", "LZ4")]
)
def test_formats_that_are_not_read(tmp_path: Path, magic: bytes, what: str) -> None:
    path = put(tmp_path, "logs/a", magic + NOISE)
    with pytest.raises(InputError, match=f"{what} .*unpack it first"):
        read(path)
    put(tmp_path, "logs/b", LOG)
    assert any(what in note for note in notes(tmp_path / "logs"))


def test_binary_that_was_asked_for_is_read(tmp_path: Path) -> None:
    assert sources(put(tmp_path, "core", b"\x7fELF\0\0" + NOISE)) == [
        ("core", b"\x7fELF\0\0" + NOISE, ["looks like binary data; it was searched for text all the same"])
    ]


def test_file_that_shrinks(tmp_path: Path) -> None:
    path = put(tmp_path, "a.log", LOG * 10)
    [source] = list(open_paths([path]))
    chunks = source.chunks()
    first = next(chunks)
    with path.open("r+b") as file:
        file.truncate(1000)
    assert first + b"".join(chunks) == (LOG * 10)[: 1 << 20]
    assert source.notes == [f"became shorter while it was read: {len(LOG) * 10} bytes at first, {1 << 20} read"]


def test_file_that_grows(tmp_path: Path) -> None:
    path = put(tmp_path, "a.log", LOG)
    [source] = list(open_paths([path]))
    with path.open("ab") as file:
        file.write(b"more\n")
    assert b"".join(source.chunks()) == LOG + b"more\n"
    assert not source.notes


# --- Archives ----------------------------------------------------------------------------------------------------------

FILES = {
    "head/vllm.log": LOG, "./worker1/" + "d" * 120 + "/" + "n" * 150 + ".log": b"long name\n", "empty.log": b"",
    "p/" * 60 + "prefix.log": b"prefix\n", "packed.log": gzip.compress(b"inner\n"), "core": b"\x7fELF" + NOISE,
    "last.log": LOG[::-1],
}  # fmt: skip
TEXTS = {
    n.removeprefix("./"): b"inner\n" if n == "packed.log" else d for n, d in FILES.items() if n not in ("core", "empty.log")
}  # fmt: skip


def inside(archive: str, files: Mapping[str, bytes] = TEXTS) -> dict[str, bytes]:
    return {f"{archive}!{name}": data for name, data in files.items()}


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("kind", [None, *KINDS])
def test_tar(tmp_path: Path, form: int, kind: str | None) -> None:
    data = tarball(FILES, form=form)
    assert archive_of(data[:512]) == "tar"
    path = put(tmp_path, "bundle", PACK[kind](data) if kind else data)
    assert read(path) == inside("bundle")
    assert notes(path) == ["1 binary file(s) not read: core"]


def special(name: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, "/etc/passwd", 0
    return info


def test_tar_with_odd_members(tmp_path: Path) -> None:
    odd = [
        special(str(i), k)
        for i, k in enumerate([tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
    ]
    files = {"/var/log/a.log": b"absolute\n", "../../b.log": b"upward\n", "\x1b[31mc\n.log": b"red\n"}
    path = put(tmp_path, "t", tarball(files, *odd, special("folder", tarfile.DIRTYPE)) + tarball({"z.log": b"joined\n"}))
    assert read(path) == inside(
        "t", {"/var/log/a.log": b"absolute\n", "../../b.log": b"upward\n", "?[31mc?.log": b"red\n", "z.log": b"joined\n"}
    )
    assert notes(path) == [
        "2 file(s) with a path outside of the archive, read all the same: /var/log/a.log, ../../b.log",
        "2 link(s) not followed: 0, 1",
        "3 device(s) or pipe(s) not read: 2, 3, 4",
    ]


def test_same_name_twice(tmp_path: Path) -> None:
    path = put(tmp_path, "t", tarball({"a.log": b"old\n"})[:1024] + tarball({"a.log": b"new\n"}))
    assert read(path) == {"t!a.log": b"old\n", "t!a.log (2)": b"new\n"}


@pytest.mark.parametrize("cut", [300, 512, 700, 1024, 100_000])
def test_tar_cut_off(tmp_path: Path, cut: int) -> None:
    whole = tarball({"a.log": LOG, "b.log": LOG}).rstrip(b"\0")
    path = put(tmp_path, "t", whole[:-cut])
    found = read(path)
    assert found["t!a.log"] == LOG
    assert LOG.startswith(found["t!b.log"])
    assert notes(path) == [f"cut off: the last {len(LOG) - len(found['t!b.log'])} bytes are missing"]


def test_tar_cut_off_in_a_header(tmp_path: Path) -> None:
    header = len(tarball({"a.log": LOG}).rstrip(b"\0")) // 512 * 512 + 512
    path = put(tmp_path, "t", tarball({"a.log": LOG, "b.log": LOG})[: header + 200])
    assert read(path) == {"t!a.log": LOG}
    assert notes(path) == ["the tar data is cut off; what came before that was read"]


def test_tar_with_a_damaged_header(tmp_path: Path) -> None:
    data = bytearray(tarball({"a.log": b"first\n", "b.log": LOG, "c.log": b"third\n"}))
    data[1024:1100] = b"\xff" * 76
    path = put(tmp_path, "t", bytes(data))
    assert read(path) == {"t!a.log": b"first\n", "t!c.log": b"third\n"}
    assert notes(path) == [f"the tar data is damaged; {-(-len(LOG) // 512) * 512 + 512} bytes were skipped"]


def test_tar_with_a_huge_extended_header(tmp_path: Path) -> None:
    long_name = tarfile.TarInfo("././@LongLink")
    long_name.type, long_name.size = b"L", 64 << 20
    data = long_name.tobuf(tarfile.GNU_FORMAT)[:512] + b"x" * (64 << 20) + tarball({"a.log": b"text\n"})
    path = put(tmp_path, "t", gzip.compress(data, 1))
    del data
    tracemalloc.start()
    found = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert list(found.values()) == [b"text\n"]
    assert max(map(len, found)) < 1100
    assert peak < 16 << 20


@pytest.mark.skipif(shutil.which("tar") is None, reason="needs tar")
@pytest.mark.parametrize("form", ["gnu", "posix"])
def test_sparse_tar(tmp_path: Path, form: str) -> None:
    with (tmp_path / "a.log").open("wb") as file:
        for i in range(40):
            file.seek(i * 65_536)
            file.write(b"line %d\n" % i)
    done = subprocess.run(["tar", f"--format={form}", "-cSf", "t.tar", "a.log"], cwd=tmp_path, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("this tar knows no sparse files")
    [data] = read(tmp_path / "t.tar").values()
    assert all(b"line %d\n" % i in data for i in range(40))


METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("streamed", [False, True])
def test_zip(tmp_path: Path, method: int, streamed: bool) -> None:
    files = {**{n.removeprefix("./"): d for n, d in FILES.items()}, "folder/": b"", "größe.log": b"u\n"}
    path = put(tmp_path, "bundle", zipped(files, method, streamed=streamed))
    assert read(path) == inside("bundle", {**TEXTS, "größe.log": b"u\n"})
    assert notes(path) == ["1 binary file(s) not read: core"]


@pytest.mark.parametrize("method", METHODS[:2])
def test_zip_cut_off(tmp_path: Path, method: int) -> None:
    data = zipped({"a.log": LOG, "b.log": LOG}, method)
    path = put(tmp_path, "z", data[: len(data) * 3 // 4])
    found = read(path)
    assert found["z!a.log"] == LOG
    assert LOG.startswith(found["z!b.log"])
    assert len(found["z!b.log"]) > 1000
    assert [n for n in notes(path) if "cut off" in n]
    end = data.index(b"PK\x01\x02")
    path = put(tmp_path, "y", data[:end])
    assert read(path) == {"y!a.log": LOG, "y!b.log": LOG}
    assert notes(path) == ["the zip data is cut off or damaged; what came before that was read"]


def test_zip_with_damage(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.log": LOG, "b.log": b"small\n", "c.log": LOG}, zipfile.ZIP_STORED))
    data[5000] ^= 1
    data[data.index(b"PK\x03\x04", 100)] ^= 1
    path = put(tmp_path, "z", bytes(data))
    assert list(read(path)) == ["z!a.log", "z!c.log"]
    assert notes(path) == [
        "the data is damaged (wrong checksum); what there was is read",
        "the zip data is cut off or damaged; what came before that was read",
    ]


def test_zip_with_encrypted_and_odd_members(tmp_path: Path) -> None:
    data = bytearray(zipped({"secret.log": LOG, "lzma.log": b"x" * 100, "../up.log": b"up\n", "plain.log": b"seen\n"}))
    second = data.index(b"PK\x03\x04", 10)
    data[6] |= 1
    data[second + 8] = 14
    path = put(tmp_path, "z", bytes(data))
    assert read(path) == {"z!../up.log": b"up\n", "z!plain.log": b"seen\n"}
    assert notes(path) == [
        "1 encrypted file(s) not read: secret.log",
        "1 file(s) packed in a way that is not known here (method 14) not read: lzma.log",
        "1 file(s) with a path outside of the archive, read all the same: ../up.log",
    ]


@pytest.mark.skipif(shutil.which("zip") is None, reason="needs zip")
def test_zip_of_info_zip(tmp_path: Path) -> None:
    put(tmp_path, "a.log", LOG)
    put(tmp_path, "b.log", b"small\n")

    def run(command: list[str]) -> bytes:
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout

    run(["zip", "-q", "-P", "pw", "z.zip", "a.log"])
    run(["zip", "-q", "z.zip", "b.log"])
    assert read(tmp_path / "z.zip") == {"z.zip!b.log": b"small\n"}
    assert notes(tmp_path / "z.zip") == ["1 encrypted file(s) not read: a.log"]
    piped = run(["zip", "-q", "-", "a.log", "b.log"])
    assert read(put(tmp_path, "p.zip", piped)) == {"p.zip!a.log": LOG, "p.zip!b.log": b"small\n"}
    large = run(["zip", "-q", "-fz", "-", "a.log", "b.log"])
    assert read(put(tmp_path, "l.zip", large)) == {"l.zip!a.log": LOG, "l.zip!b.log": b"small\n"}


def test_archives_in_archives(tmp_path: Path) -> None:
    data = LOG
    for i in range(4):
        pack = (lambda files: gzip.compress(tarball(files))) if i % 2 else zipped
        data = pack({f"{i}": data, "beside.log": b"%d\n" % i})
    path = put(tmp_path, "n", data)
    assert read(path)["n!3!2!1!0"] == LOG
    assert read(path)["n!3!2!beside.log"] == b"1\n"
    path = put(tmp_path, "m", tarball({"n": data}))
    found = read(path)
    assert found == {f"m!n!{inner}beside.log": b"%d\n" % i for i, inner in ((3, ""), (2, "3!"), (1, "3!2!"))}
    assert notes(path) == ["1 archive(s) inside of 4 others not read: 1"]


@pytest.mark.parametrize(
    "data", [tarball({"core": NOISE}), zipped({"folder/": b""}), zipped({"a/core": NOISE})], ids=["tar", "empty zip", "zip"]
)
def test_archive_with_nothing_to_read(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InputError, match="a: holds no text that can be read"):
        read(put(tmp_path, "a", data))


def test_members_may_be_left_unread(tmp_path: Path) -> None:
    for path in (
        put(tmp_path, "t", tarball(FILES)),
        put(tmp_path, "z", zipped(FILES)),
        put(tmp_path, "s", zipped(FILES, 0, streamed=True)),
    ):
        names = [s.name for s in open_paths([path])]
        assert [n.rpartition("/")[2] for n in names if "!" in n] == [n.rpartition("/")[2] for n in inside(path.name)], path


@given(st.binary(max_size=1500), st.sampled_from(["tar", "zip", *KINDS]), st.integers(0, 1 << 16), st.integers(0, 40))
@settings(max_examples=150, deadline=None)
def test_damage_never_raises_anything_else(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, kind: str, place: int, length: int
) -> None:
    small = {"a.log": LOG[:3000], "b/c.log": gzip.compress(LOG[:2000]), "d": tarball({"e": b"e\n"})}
    data = tarball(small) if kind == "tar" else zipped(small) if kind == "zip" else PACK[kind](LOG[:4000])
    place %= len(data)
    data = data[:place] + junk[:length] + data[place + length // 2 :] + junk[length:]
    path = put(tmp_path_factory.getbasetemp(), f"fuzz-{os.getpid()}", data)
    try:
        read(path)
    except InputError as error:
        assert "\n" not in str(error)


# --- Bombs -------------------------------------------------------------------------------------------------------------


def bomb(kind: str, size: int) -> bytes:
    """``size`` bytes of the same line, behind one that matters."""
    return PACK[kind](CAUSE + b"0" * 63 + b"\n" + b"INFO all is well\n" * (size // 17))


@pytest.mark.parametrize("kind", KINDS)
def test_bomb_stops_at_the_ratio(tmp_path: Path, tank: Classifier, kind: str) -> None:
    path = put(tmp_path, "a.log", bomb(kind, 8 << 20))
    report = classify(tank, path, limits=Limits(free=2 << 20, ratio=20))
    assert report.cause
    assert report.cause.id == "tank", "what was readable counts"
    assert report.coverage.bytes < 4 << 20
    assert report.coverage.caps == [
        f"{path}: unpacked to more than 20 times its size, as a decompression bomb does; the rest was not read"
    ]
    assert classify(tank, path).coverage.bytes > 7 << 20, "an honest log of that ratio is read whole"


@pytest.mark.parametrize(
    "pack",
    [zipped, lambda files: gzip.compress(tarball(files)), lambda f: tarball({n: gzip.compress(d) for n, d in f.items()})],
)
def test_bomb_in_an_archive(tmp_path: Path, pack: Callable[[Mapping[str, bytes]], bytes]) -> None:
    path = put(tmp_path, "a", pack({"first.log": CAUSE, "bomb": b"0" * (16 << 20), "last.log": CAUSE}))
    found = read(path, free=1 << 20, ratio=10)
    assert found["a!first.log"] == CAUSE
    assert sum(map(len, found.values())) < 3 << 20
    assert any("decompression bomb" in note for note in notes(path, free=1 << 20, ratio=10))


def test_bomb_of_bombs(tmp_path: Path) -> None:
    """Each layer is small; the sum of what comes out counts."""
    inner = zipped({f"{i}.log": b"0" * (1 << 20) for i in range(8)})
    path = put(tmp_path, "a", zipped({f"{i}.zip": inner for i in range(8)}))
    assert sum(map(len, read(path, free=1 << 20, ratio=100).values())) < 3 << 20


def test_total_over_all_files(tmp_path: Path) -> None:
    paths = [put(tmp_path, f"{i}.gz", gzip.compress(LOG)) for i in range(9)] + [put(tmp_path, "plain.log", LOG)]
    found = read(paths, total=3 * len(LOG))
    assert found["plain.log"] == LOG, "what is not compressed is no bomb"
    assert len(LOG) * 3 <= sum(map(len, found.values())) - len(LOG) <= len(LOG) * 3 + 10 * (256 << 10)
    assert any("which is the limit; the rest was not read" in n for n in notes(paths, total=3 * len(LOG)))


@pytest.mark.parametrize("pack", [tarball, zipped])
def test_too_many_members(tmp_path: Path, pack: Callable[[Mapping[str, bytes]], bytes]) -> None:
    path = put(tmp_path, "a", pack({f"{i}.log": b"x\n" for i in range(30)}))
    assert len(read(path, members=20)) == 20
    assert notes(path, members=20) == ["holds more than 20 files, which is the limit; the rest was not read"]


def test_memory_is_bounded(tmp_path: Path) -> None:
    size = 12 << 20
    text = LOG * (size // len(LOG) + 1)
    paths = [put(tmp_path, kind, PACK[kind](text) if kind != "xz" else lzma.compress(text, preset=0)) for kind in KINDS]
    paths += [put(tmp_path, "t", gzip.compress(tarball({"a": text}))), put(tmp_path, "z", zipped({"a": text}))]
    paths.append(put(tmp_path, "s", zipped({"a": text}, zipfile.ZIP_STORED, streamed=True)))
    del text
    for path in paths:
        tracemalloc.start()
        assert sum(len(c) for s in open_paths([path]) for c in s.chunks()) >= size
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 << 20, path


def test_many_sources_take_little_memory(tmp_path: Path, tank: Classifier) -> None:
    path = put(tmp_path, "t", tarball({f"{i}.log": LOG for i in range(60)}))
    tracemalloc.start()
    assert classify(tank, path).coverage.lines == 60 * 12_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


# --- Folders, patterns, links ------------------------------------------------------------------------------------------


def test_folder(tmp_path: Path) -> None:
    root = tmp_path / "session"
    files = {
        "b.log": b"b\n", "a.log": b"a\n", "logs/worker-1.out": b"w\n", "logs/old/x.gz": gzip.compress(b"x\n"), "empty": b"",
        "logs/bundle": zipped({"in.log": b"i\n"}), "core.1": b"\x7fELF" + NOISE, ".hidden": b"h\n", ".cache/c.log": b"c\n",
    }  # fmt: skip
    for name, data in files.items():
        put(root, name, data)
    found = list(open_paths([root]))
    assert [s.name.removeprefix(f"{root}/") for s in found] == [
        "a.log", "b.log", "logs/bundle!in.log", "logs/worker-1.out", "logs/old/x.gz", str(root),
    ]  # fmt: skip
    assert found[-1].notes == [
        f"2 hidden file(s) or folder(s) not read: {root}/.cache, {root}/.hidden", f"1 binary file(s) not read: {root}/core.1",
    ]  # fmt: skip


def test_links_and_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "logs"
    put(root, "pods/0.log", b"once\n")
    put(tmp_path, "outside/1.log", b"outside\n")
    (root / "containers").mkdir()
    (root / "containers" / "vllm.log").symlink_to(root / "pods" / "0.log")
    (root / "loop").symlink_to(root)
    (root / "pods" / "up").symlink_to("..")
    (root / "zelsewhere").symlink_to(tmp_path / "outside")
    (root / "broken").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(root)  # the address of a socket must be short
        server.bind("socket")
    assert [b"".join(s.chunks()) for s in open_paths([root]) if s.stream] == [b"once\n", b"outside\n"]
    told = [n for s in open_paths([root]) for n in s.notes]
    assert f"1 file(s) not read (No such file or directory): {root}/broken" in told
    assert f"2 pipe(s), socket(s) or device(s) not read: {root}/pipe, {root}/socket" in told


def test_no_file_is_read_twice(tmp_path: Path) -> None:
    a, b = put(tmp_path, "l/a.log", b"a\n"), put(tmp_path, "l/b.log", b"b\n")
    put(tmp_path, "l/.hidden", b"h\n")
    (tmp_path / "again.log").hardlink_to(a)
    assert read([a, b, tmp_path / "l", a, tmp_path / "again.log"]) == {"a.log": b"a\n", "b.log": b"b\n"}


@pytest.mark.parametrize("pattern", ["*.log", "**/*.log", "n?de/*.log", "[mn]ode/*", "no*"])
def test_patterns(tmp_path: Path, pattern: str) -> None:
    put(tmp_path, "node/a.log", b"a\n")
    put(tmp_path, "node/b.log", b"b\n")
    put(tmp_path, "[x]*.log", b"literal\n")
    found = read(tmp_path / pattern)
    if "*" in pattern and pattern.startswith("*"):
        assert b"literal\n" in found.values()
    if pattern != "*.log":
        assert [d for d in found.values() if d != b"literal\n"] == [b"a\n", b"b\n"]
    assert list(read(tmp_path / "[x]*.log").values()) == [b"literal\n"], "a file of that very name comes first"


def test_errors_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    put(tmp_path, "secret", b"x")
    for path, text in (
        ("missing.log", "no such file"), ("*.none", "no file matches this pattern"), ("a\0b", "is not a file name"),
        ("empty", r"holds no text that can be read; give the log files"), ("secret/below", "cannot be read: Not a directory"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=text) as caught:
            list(open_paths([put(tmp_path, "fine.log", b"x"), tmp_path / path]))
        assert "\n" not in str(caught.value)
    real = open

    def refuse(path: Any, *rest: Any, **options: Any) -> Any:
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *rest, **options)

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match="secret: may not be read; check its permissions"):
        open_paths([tmp_path / "secret"])
    assert notes(tmp_path) == [f"1 file(s) not read (Permission denied): {tmp_path}/secret"]


def test_disk_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "a.log", LOG * 3)
    real = open

    class Failing(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() >= 1 << 20:
                raise OSError(5, "Input/output error")
            return super().read(size) or b""

    monkeypatch.setattr("builtins.open", lambda p, *a, **k: Failing(p, "rb") if p == str(path) else real(p, *a, **k))
    assert sources(path) == [("a.log", (LOG * 3)[: 1 << 20], ["cannot be read past byte 1048576 (Input/output error)"])]


# --- What is text ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "binary"),
    [
        (LOG[:4096], False), ("größe 漢字 \x1b[31mrot\x1b[0m\r\n".encode() * 50, False),
        ("müde\n".encode("latin-1") * 99, False),
        (LOG[:2000].decode().encode("utf-16"), False), (LOG[:2000].decode().encode("utf-16-le"), False), (b"\0" * 4096, False),
        (b"\0" * 3000 + LOG[:1000], False), (b"\x01\0\0\0\0\0\0\x50" + b"y" * 80, False), (b"a" * 30, False), (b"", False),
        (NOISE[:4096], True), (b"\x7fELF\x02\x01\x01" + b"\0" * 100, True), (zipped({"a": NOISE})[40:], True),
        ((123).to_bytes(8, "little") + b'{"model.layers.0": {"dtype":"BF16"}}', True), (b"\x89PNG\r\n\x1a\n", True),
    ],
)  # fmt: skip
def test_what_counts_as_binary(head: bytes, binary: bool) -> None:
    assert looks_binary(head) == binary


@pytest.mark.parametrize("text", [LOG[:600], b"PK is a name\n", b"BZh91 is a tag\n" * 40, b"\x1f\x8b\x09", b"ustar\n" * 100])
def test_text_is_no_archive(text: bytes) -> None:
    assert compression_of(text[:512]) is None
    assert archive_of(text[:512]) is None


# --- Encodings ---------------------------------------------------------------------------------------------------------

TEXT = "INFO Größe 漢字 🎉 steht\r\nFATAL: the tank is empty\r\nend\n"
WIDE = ("utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


def decoded(chunks: Iterable[bytes]) -> tuple[bytes, list[str]]:
    decoder = Decoder()
    return b"".join([*map(decoder.feed, chunks), decoder.close()]), decoder.notes()


def parts(data: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(p % (len(data) + 1) for p in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


@pytest.mark.parametrize("encoding", WIDE)
@given(places=st.lists(st.integers(0, 10_000), max_size=8), repeat=st.integers(1, 40), ended=st.booleans())
@settings(max_examples=40, deadline=None)
def test_wide_text_however_it_is_cut(encoding: str, places: list[int], repeat: int, ended: bool) -> None:
    text = TEXT * repeat + ("" if ended else "no newline")
    data, told = decoded(parts(text.encode(encoding), places))
    assert data.decode() == text
    assert told[0].startswith(f"read as {encoding[:6]}")


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("whole", [True, False])
def test_wide_input_is_classified(tmp_path: Path, tank: Classifier, encoding: str, whole: bool) -> None:
    data = TEXT.encode(encoding)
    if whole:
        report = tank.classify(data)
    else:
        session = tank.session()
        for byte in data:
            session.feed(bytes([byte]), "log")
        report = session.close()
    assert report.cause
    assert report.cause.evidence[0].line == 2
    assert report.cause.evidence[0].text == "FATAL: the tank is empty"
    assert report.coverage.bytes == len(data)
    assert "read as utf-" in report.coverage.caps[0]
    assert classify(tank, put(tmp_path, "a", gzip.compress(data))).cause


def test_wide_line_counts_when_it_ends(tank: Classifier) -> None:
    session = tank.session()
    session.feed(("INFO filler\n" * 30).encode("utf-16-le"))
    updates = session.feed("FATAL: the tank is empty\n".encode("utf-16-le"))
    assert [u.verdict for u in updates] == ["crash"]


@pytest.mark.parametrize("encoding", WIDE)
@given(places=st.lists(st.integers(0, 10_000), max_size=8))
@settings(max_examples=30, deadline=None)
def test_text_appended_to_wide_text(encoding: str, places: list[int]) -> None:
    """``>>`` in another shell does not ask what is in the file."""
    plain = "plain ASCII line, long enough to be told\r\nFATAL: the tank is empty\r\n"
    wide = (TEXT * 9).encode(encoding)
    bare = encoding if encoding[-1] == "e" else f"{encoding}-{sys.byteorder[0]}e"
    data, told = decoded(parts(wide + plain.encode() + TEXT.encode(bare) + plain.encode(), places))
    assert data.decode() == TEXT * 9 + plain + TEXT + plain
    assert "4 line(s) in it are plain text" in told[0]


def test_wide_text_appended_to_text(tank: Classifier) -> None:
    report = tank.classify(LOG[: LOG.index(b"\n", 6000) + 1] + "FATAL: the tank is empty\r\nmore\n".encode("utf-16-le"))
    assert report.cause
    assert report.cause.evidence[0].text == "FATAL: the tank is empty"
    assert report.coverage.caps == ["<input>: 31 zero byte(s) left out"]


def test_rotated_file_that_begins_with_zeros(tank: Classifier) -> None:
    report = tank.classify(b"\0" * 700_000 + CAUSE)
    assert report.cause
    assert report.cause.evidence[0].text == CAUSE.decode().strip()


@given(st.binary(max_size=600), st.lists(st.integers(0, 600), max_size=6))
@settings(max_examples=200, deadline=None)
def test_decoding_does_not_depend_on_the_split(data: bytes, places: list[int]) -> None:
    for head in (b"", b"\xff\xfe", b"\xfe\xff", b"a\0b\0c\0\n\0" * 40):
        whole = decoded([head + data])
        assert decoded(parts(head + data, places)) == whole
        assert whole[0] == head + data or whole[1]


def test_latin_1_stays_and_is_counted(tank: Classifier) -> None:
    report = tank.classify("müde\nFATAL: the tank is empty, größtenteils\n".encode("latin-1"))
    assert report.cause
    assert report.coverage.undecodable == 3


def test_endless_wide_line() -> None:
    decoder = Decoder()
    piece = ("x" * 50_000).encode("utf-16-le")
    decoder.feed("start\n".encode("utf-16"))
    assert all(decoder.feed(piece) for _ in range(9))
    decoder.feed("\nplain again, and long enough\n".encode("utf-16-le"))
    assert decoder.close() == b""


def test_broken_wide_text_is_counted(tank: Classifier) -> None:
    report = tank.classify("fine\n".encode("utf-16") + b"\x00\xd8" + "on\n".encode("utf-16-le"))
    assert report.coverage.undecodable == 1


# --- Standard input, addresses, the command ----------------------------------------------------------------------------

LIST_SOURCES = """
import sys
from vllm_crashsig.sources import open_paths
for source in open_paths(sys.argv[1:] or ["-"]):
    print(source.name, len(b"".join(source.chunks())), source.notes, flush=True)
"""
COMMAND = [sys.executable, "-c", LIST_SOURCES]


def piped(data: bytes, *arguments: str) -> list[str]:
    done = subprocess.run([*COMMAND, *arguments], input=data, capture_output=True, check=True, timeout=60)
    return done.stdout.decode().splitlines()


def test_standard_input(tmp_path: Path) -> None:
    size = len(LOG)
    assert piped(LOG) == [f"<stdin> {size} []"]
    assert piped(b"") == ["<stdin> 0 []"]
    assert piped(zstd.compress(LOG)) == [f"<stdin> {size} []"]
    assert piped(gzip.compress(tarball({"a": LOG, "b": b"b\n"}))) == [f"<stdin>!a {size} []", "<stdin>!b 2 []"]
    assert piped(zipped({"a": LOG, "b": b"b\n"})) == [f"<stdin>!a {size} []", "<stdin>!b 2 []"]
    assert piped(LOG, "-", "-", str(put(tmp_path, "x", b"x"))) == [f"<stdin> {size} []", f"{tmp_path}/x 1 []"]


def test_live_text_is_not_held_back() -> None:
    """The first line of a running log comes through before a second one is written."""
    script = (
        "from vllm_crashsig.sources import open_stdin\nfor s in open_stdin():\n for c in s.chunks():\n  print(c, flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        for text in (b"first\n", b"second\n"):
            child.stdin.write(text)
            child.stdin.flush()
            assert child.stdout.readline() == f"{text!r}\n".encode()
        child.stdin.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_named_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(gzip.compress(LOG)))
    writer.start()
    assert read(tmp_path / "pipe") == {"pipe": LOG}
    writer.join()


def command(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> tuple[int, str]:
    """Exit status and standard error of ``vllm-crashsig classify``."""
    done = subprocess.run(
        [sys.executable, "-m", "vllm_crashsig", "classify", *map(str, arguments)], input=stdin, capture_output=True,
        check=False, timeout=120, env={**os.environ, **environment},
    )  # fmt: skip
    return done.returncode, done.stderr.decode()


def test_command_says_why_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "no*", put(tmp_path, "x", zipped({"a": NOISE})), tmp_path / "missing"):
        status, text = command(path)
        assert status == 2
        assert text.startswith(f"vllm-crashsig: {path}: ")
        assert text.count("\n") == 1


def test_evidence_names_the_member(tmp_path: Path, tank: Classifier) -> None:
    path = put(
        tmp_path, "bundle.tar.zst", zstd.compress(tarball({"head.log": LOG, "worker1/vllm.log": LOG + CAUSE, "core": NOISE}))
    )
    report = classify(tank, path)
    assert report.cause
    assert report.cause.evidence[0].source == f"{path}!worker1/vllm.log"
    assert report.cause.evidence[0].line == 12_001
    assert report.coverage.caps == [f"{path}: 1 binary file(s) not read: core"]


def test_ended_source(tank: Classifier) -> None:
    session = tank.session()
    session.feed(CAUSE.rstrip(), "a")
    session.end("a")
    with pytest.raises(OptionError, match="'a' was ended"):
        session.feed(b"more", "a")
    report = session.close()
    assert report.cause
    assert report.coverage.lines == 1


def test_address_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match=r"s3://bucket/a\.log: .*pip install 'vllm-crashsig\[remote\]'"):
        open_paths(["s3://bucket/a.log"])


@pytest.fixture
def memory() -> Iterator[Any]:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    yield files
    files.rm("/", recursive=True)


def test_address(memory: Any) -> None:
    memory.pipe({"/logs/a.log": LOG, "/logs/n/b.gz": gzip.compress(b"b\n"), "/logs/n/c.tar": tarball({"d.log": b"d\n"})})
    assert read("memory://logs/a.log") == {"a.log": LOG}
    everything = {"memory://logs/a.log": LOG, "memory://logs/n/b.gz": b"b\n", "memory://logs/n/c.tar!d.log": b"d\n"}
    for address in ("memory://logs", "memory://logs/**"):
        assert {s.name.replace(":///", "://"): b"".join(s.chunks()) for s in open_paths([address])} == everything
    for address in ("memory://logs/none", "memory://logs/*.none", "nosuch://x/y"):
        with pytest.raises(InputError) as caught:
            open_paths([address])
        assert "\n" not in str(caught.value)


def test_address_that_fails_midway(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe({"/a.log": LOG * 3})
    kind = type(memory.open("/a.log"))
    real = kind.read

    def failing(self: Any, size: int = -1) -> bytes:
        if self.tell() >= 1 << 20:
            raise RuntimeError("the connection\nwas reset")
        data: bytes = real(self, size)
        return data

    monkeypatch.setattr(kind, "read", failing)
    [(_, data, told)] = sources("memory://a.log")
    assert data == (LOG * 3)[: 1 << 20]
    assert told == ["cannot be read past byte 1048576 (cannot be read: the connection was reset)"]


def test_http(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    put(tmp_path, "a.log.gz", gzip.compress(LOG))

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        found = list(open_paths([f"{base}/a.log.gz?sig=1"]))
        assert b"".join(found[0].chunks()) == LOG
        with pytest.raises(InputError, match="none: no such file; check the address"):
            list(open_paths([f"{base}/none"]))
        server.shutdown()


S3_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
server.start()
print("port", server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture
def s3() -> Iterator[str]:
    """The address of a real S3 server on this machine."""
    for module in ("moto", "flask", "flask_cors", "s3fs"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"needs {module}: pip install 's3fs' 'moto[s3]' flask flask-cors")
    with subprocess.Popen(
        [sys.executable, "-c", S3_SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout
        port = next(line.split()[1] for line in server.stdout if line.startswith("port"))
        yield f"http://127.0.0.1:{port}"
        assert server.stdin
        server.stdin.close()


def test_s3(tmp_path: Path, s3: str) -> None:
    put(tmp_path, "bundle.tar.zst", zstd.compress(tarball({"worker1/vllm.log": LOG})))
    put(tmp_path, "head.log", CAUSE)
    settings_ = {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "y",
        "FSSPEC_S3_ENDPOINT_URL": s3,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    upload = (
        "import fsspec, sys; f = fsspec.filesystem('s3'); f.mkdir('crashes'); f.put(sys.argv[1], 'crashes/one', recursive=True)"
    )
    run = partial(subprocess.run, capture_output=True, text=True, timeout=120, env={**os.environ, **settings_})
    done = run([sys.executable, "-c", upload, f"{tmp_path}/"], check=False)
    assert done.returncode == 0, done.stderr
    expected = [f"s3://crashes/one/bundle.tar.zst!worker1/vllm.log {len(LOG)} []", f"s3://crashes/one/head.log {len(CAUSE)} []"]
    for address in ("s3://crashes/one", "s3://crashes/one/", "s3://crashes/o*/*"):
        assert run([*COMMAND, address], check=True).stdout.splitlines() == expected
    done = run([sys.executable, "-m", "vllm_crashsig", "classify", "s3://crashes/none.log"], check=False)
    assert (done.returncode, done.stderr) == (2, "vllm-crashsig: s3://crashes/none.log: no such file; check the address\n")


def test_a_line_without_end_takes_little_memory(tmp_path: Path, tank: Classifier) -> None:
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))
        file.write(b" FATAL: the tank is empty")
    tracemalloc.start()
    report = classify(tank, path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.cause
    assert report.coverage.caps == [f"{path}: 1 very long line(s) looked at in pieces"]
    assert peak < 40 << 20


def test_a_folder_of_mixed_encodings(tmp_path: Path, tank: Classifier) -> None:
    for number, encoding in enumerate(("utf-8-sig", "utf-16", "utf-16-be", "utf-32", "latin-1", "cp1252")):
        text = f"INFO Größe {number}\nFATAL: the tank is empty\n" if number % 2 else f"INFO Straße {number} steht\n" * 9
        put(tmp_path, f"logs/{number}.log", text.encode(encoding))
    report = classify(tank, tmp_path / "logs")
    assert report.cause
    assert {e.source.rpartition("/")[2] for e in report.cause.evidence} == {"1.log", "3.log", "5.log"}
    assert [cap.partition(": ")[2].partition(";")[0] for cap in report.coverage.caps] == [
        "read as utf-16-le", "read as utf-16-be", "read as utf-32-le",
    ]  # fmt: skip
    assert report.coverage.undecodable == 11, "bytes of Latin-1 are counted"


# --- The stream underneath ---------------------------------------------------------------------------------------------


@given(
    st.lists(st.binary(min_size=1, max_size=30), max_size=8),
    st.lists(st.tuples(st.sampled_from("peruks"), st.integers(0, 40)), max_size=20),
)
@settings(max_examples=300, deadline=None)
def test_stream_gives_every_byte_once(chunks: list[bytes], steps: list[tuple[str, int]]) -> None:
    whole = b"".join(chunks)
    stream, at = Stream(chunks), 0
    last = b""
    for step, size in steps:
        if step == "p":
            assert stream.peek(size) == whole[at : at + size]
        elif step == "e":
            last = stream.exactly(size)
            assert last == whole[at : at + size]
            at += len(last)
        elif step == "r":
            last = stream.read(size)
            assert whole.startswith(last, at)
            assert last or not size or at == len(whole)
            at += len(last)
        elif step == "u":
            stream.unread(last)
            at, last = at - len(last), b""
        elif step == "k":
            at += stream.skip(size)
            last = b""
        else:
            needle = bytes([size])
            skipped, found = stream.seek_to(needle)
            place = whole.find(needle, at)
            assert (skipped, found) == ((place - at, True) if place >= 0 else (len(whole) - at, False))
            at, last = at + skipped, b""
    assert b"".join(stream) == whole[at:]
