"""Paths -> cases: which files make one case each, how big they are, and what was left out."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from ..errors import CrashsigError, InputError, OptionError
from ..sources.base import Tally
from ..sources.paths import input_error, matching
from ..sources.remote import is_remote, remote_paths

CaseKind = Literal["file", "folder", "path"]
"""What makes a case. ``file``: every file, however deep. ``folder``: every folder right below a named one, with all that is in
it, and every file beside them. ``path``: everything that was named, each as one case."""


@dataclass(frozen=True, slots=True)
class Case:
    """Logs that are classified together. ``paths`` are what `sources.open_paths` takes."""

    name: str
    """The path as text that can be written anywhere; bytes of the file name that are no UTF-8 stand as ``\\xff``."""
    paths: tuple[str, ...]
    size: int = 0
    """Bytes on disk; 0 where that is not known."""
    modified: int = 0
    """When it was changed last, in nanoseconds since the epoch; 0 where that is not known."""
    met: bool = False
    """Found in a folder, not named by the user: then it is read only if it looks like text."""
    error: str | None = None
    """Why it cannot be read, where that is known already."""


@dataclass(slots=True)
class Found:
    """Cases in the order of the paths that were named, those of a folder sorted by name, and notes of what was left out."""

    cases: list[Case] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def find_cases(
    paths: Iterable[str | os.PathLike[str]], kind: CaseKind = "file", leave_out: Collection[str | os.PathLike[str]] = ()
) -> Found:
    """The cases that these paths hold: files, folders, patterns or addresses (see `sources.open_paths`).

    leave_out: files that are no cases wherever they are met, such as the batch's own output. Hidden files are left out too, and
    what was met before under another name. A path that is missing becomes a case with an error, so that the others are read.
    Raises OptionError for an unknown kind, or for ``-``.
    """
    if kind not in get_args(CaseKind):
        raise OptionError(f"unknown kind of case {kind!r}; choose one of {', '.join(get_args(CaseKind))}")
    search = _Search(kind, set(_identities(leave_out)))
    for path in dict.fromkeys(os.fsdecode(p) for p in paths):
        if path == "-":
            raise OptionError("a batch reads files, not standard input; name the files or their folder")
        search.named(path)
    return Found(search.cases, search.tally.notes())


def case_name(path: str) -> str:
    """The path as text that any encoder takes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def case_of(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Case:
    """One case of a path, or of several that belong together; it is called by the first. Whether they exist shows later."""
    told = tuple(map(os.fsdecode, [paths] if isinstance(paths, str | os.PathLike) else paths))
    if not told:
        raise OptionError("a case without paths; leave it out")
    try:
        status = Path(told[0]).stat()
        size = status.st_size if len(told) == 1 and stat.S_ISREG(status.st_mode) else 0
    except (OSError, ValueError):
        size = 0
    return Case(case_name(told[0]), told, size)


class _Search:
    def __init__(self, kind: CaseKind, leave_out: set[tuple[int, int]]) -> None:
        self.cases: list[Case] = []
        self.tally = Tally()
        self._kind = kind
        self._leave_out = leave_out
        self._met: set[tuple[int, int]] = set()

    def named(self, path: str) -> None:
        """What the user named. Its faults become a case that tells them."""
        try:
            if is_remote(path) and not os.path.lexists(path):
                self.cases += _remote(path, self._kind)
                return
            try:
                status = Path(path).stat()
            except FileNotFoundError as error:
                matches = matching(path)
                if not matches:
                    raise input_error(path, error) from error
                for match in matches:
                    self._local(match, Path(match).stat(), met=True)
                return
            self._local(path, status, met=False)
        except (OSError, ValueError) as error:
            fault = input_error(path, error) if isinstance(error, OSError) else InputError(f"is not a file name: {error}")
            self.cases.append(Case(case_name(path), (path,), error=fault.message))
        except CrashsigError as error:
            self.cases.append(Case(case_name(path), (path,), error=error.message))

    def _local(self, path: str, status: os.stat_result, *, met: bool) -> None:
        if not stat.S_ISDIR(status.st_mode):
            self._file(path, status, met=met)
        elif self._kind == "file":
            for file, its in self._walk(path):
                self._file(file, its, met=True)
        elif self._kind == "path":
            self._folder(path, status)
        else:
            for entry, its in self._entries(path, top=True):
                if stat.S_ISDIR(its.st_mode):
                    self._folder(entry, its)
                else:
                    self._file(entry, its, met=True)

    def _file(self, path: str, status: os.stat_result, *, met: bool) -> None:
        if met and not stat.S_ISREG(status.st_mode):
            self.tally.add("pipe(s), socket(s) or device(s) left out", path)
        elif self._first_time(path, status):
            known = stat.S_ISREG(status.st_mode)
            size, modified = (status.st_size, status.st_mtime_ns) if known else (0, 0)
            self.cases.append(Case(case_name(path), (path,), size, modified, met=met))

    def _folder(self, path: str, status: os.stat_result) -> None:
        if not self._first_time(path, status):
            return
        size = modified = 0
        empty = True
        for _, its in self._walk(path):
            if stat.S_ISREG(its.st_mode):
                size, modified, empty = size + its.st_size, max(modified, its.st_mtime_ns), False
        if empty:
            self.tally.add("folder(s) without files left out", path)
        else:
            self.cases.append(Case(case_name(path), (path,), size, modified, met=True))

    def _first_time(self, path: str, status: os.stat_result) -> bool:
        identity = (status.st_dev, status.st_ino)
        if identity in self._met:
            self.tally.add("other name(s) of what is read already left out", path)
            return False
        self._met.add(identity)
        if identity in self._leave_out:
            self.tally.add("file(s) that this batch writes left out", path)
            return False
        return True

    def _walk(self, root: str) -> Iterator[tuple[str, os.stat_result]]:
        """Files of a folder, then those of its folders, each sorted by name. Links are followed, but never in circles."""
        waiting = [root]
        while waiting:
            folder = waiting.pop()
            folders = []
            for path, status in self._entries(folder, top=folder == root):
                if not stat.S_ISDIR(status.st_mode):
                    yield path, status
                elif self._first_time(path, status):
                    folders.append(path)
            waiting += reversed(folders)

    def _entries(self, folder: str, *, top: bool) -> list[tuple[str, os.stat_result]]:
        """What a folder holds, sorted by name. Only of a folder that was named is it an error that it cannot be listed."""
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda e: e.name)
        except OSError as error:
            if top:
                raise
            self.tally.add(f"folder(s) left out ({error.strerror or error})", folder)
            return []
        told = []
        for entry in entries:
            if entry.name.startswith("."):
                self.tally.add("hidden file(s) or folder(s) left out", entry.path)
                continue
            try:
                told.append((entry.path, Path(entry.path).stat()))
            except OSError as error:
                self.tally.add(f"file(s) left out ({error.strerror or error})", entry.path)
        return told


def _identities(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[int, int]]:
    """What tells the files among these that exist: whatever is made later cannot be met."""
    for path in paths:
        try:
            status = Path(path).stat()
        except (OSError, ValueError):
            continue
        yield status.st_dev, status.st_ino


def _remote(address: str, kind: CaseKind) -> Iterator[Case]:
    """Cases at an address. Sizes are not asked for: that would cost a request for each on some stores."""
    if kind == "path":
        yield Case(address, (address,))
        return
    within = address.partition("://")[2].strip("/") + "/"
    groups: dict[str, list[str]] = {}
    for name, _ in remote_paths(address):
        _, found, inner = name.partition(within)
        deep = kind == "folder" and found and "/" in inner
        group = name[: len(name) - len(inner)] + inner.partition("/")[0] if deep else name
        groups.setdefault(group, []).append(name)
    for group, members in groups.items():
        yield Case(group, tuple(members), met=group != address)
