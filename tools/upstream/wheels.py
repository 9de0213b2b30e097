"""Reading released packages without installing them: pip downloads the wheel, and its files are read as text and bytes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path


class DownloadError(Exception):
    """pip could not bring a wheel."""


def download(requirement: str, into: Path) -> Path:
    """The wheel of one exact requirement (``ray==2.60.0``); one that already lies in the folder is not fetched again."""
    name, _, version = requirement.partition("==")
    stem = re.sub(r"[-_.]+", "_", name)
    for there in sorted(into.glob(f"{stem}-*.whl")):
        if version and there.name.split("-")[1].partition("+")[0] == version:
            return there
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-cache-dir", "--no-deps"]
    done = subprocess.run(
        [*command, "--only-binary", ":all:", "--dest", str(into), requirement], capture_output=True, text=True, check=False
    )
    saved = re.findall(r"(?:Saved|File was already downloaded) (\S+\.whl)", done.stdout)
    if done.returncode or not saved:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise DownloadError(f"{requirement}: {errors[-1] if errors else 'no wheel came'}")
    return into / Path(saved[-1]).name


def version_of(wheel: Path) -> str:
    """The version that stands in the wheel's name, without its local part (``+cpu``)."""
    return wheel.name.split("-")[1].partition("+")[0]


class Wheel:
    """The files of one wheel, read from the archive as they are needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.version = version_of(path)
        self._zip = zipfile.ZipFile(path)
        self.names = self._zip.namelist()

    def text(self, name: str) -> str:
        return self._zip.read(name).decode("utf-8", "replace")

    def python(self, pattern: str) -> Iterator[tuple[str, str]]:
        """(name, source) of the Python files whose path matches the regex from its start."""
        wanted = re.compile(pattern)
        for name in self.names:
            if name.endswith(".py") and wanted.match(name):
                yield name, self.text(name)

    def trees(self, pattern: str) -> Iterator[tuple[str, ast.Module]]:
        """(name, syntax tree) of those files. One that this Python cannot parse is passed over."""
        for name, source in self.python(pattern):
            try:
                yield name, ast.parse(source)
            except SyntaxError:
                print(f"  {self.path.name}: {name} cannot be parsed by this Python", file=sys.stderr)

    def constants(self, files: str, prefixes: Iterable[str], rest: str = r"[A-Z0-9_]{2,}", whole: bool = True) -> set[str]:
        """The names in the bytes of the matching files that begin so and are the end of a C string. A pattern that begins
        with a literal is searched for quickly; libraries have gigabytes. ``whole``: not the end of a longer name. A
        compiler may lay a string right behind other data, so it is only for prefixes that longer names end in."""
        names: set[str] = set()
        searches = [re.compile(re.escape(p).encode() + rest.encode() + rb"(?=\x00)") for p in prefixes]
        for data in self.pieces(files):
            for search in searches:
                for match in search.finditer(data):
                    before = data[match.start() - 1 : match.start()] if match.start() else b"_"
                    if not whole or not before.replace(b"_", b"a").isalnum():
                        names.add(match.group().decode("ascii"))
        return names

    def pieces(self, files: str) -> Iterator[bytes]:
        """The bytes of the files whose path matches, in pieces that overlap by 4 KiB."""
        for name in filter(re.compile(files).match, self.names):
            with self._zip.open(name) as stream:
                tail = b""
                while piece := stream.read(1 << 24):
                    yield tail + piece
                    tail = piece[-4096:]
