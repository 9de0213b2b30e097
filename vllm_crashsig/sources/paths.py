"""What a user names -> logs: standard input, files, patterns, folders, addresses."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from ..errors import InputError, Location, OptionError
from .base import CHUNK, Budget, Limits, Source, Stream, Tally, clean_name
from .opening import open_stream

if TYPE_CHECKING:
    from .remote import RemoteChunks

PathName = str | bytes | os.PathLike[str] | os.PathLike[bytes]
STDIN = "<stdin>"


class _Seen:
    """Files and folders that were met, whatever name or link led there."""

    def __init__(self) -> None:
        self._met: set[tuple[int, int]] = set()
        self.repeated = 0

    def first_time(self, status: os.stat_result) -> bool:
        identity = (status.st_dev, status.st_ino)
        if identity in self._met:
            self.repeated += 1
            return False
        self._met.add(identity)
        return True


_Root = Callable[[Budget, _Seen], Iterator[Source]]
"""How the logs are opened of one thing that was named."""


def open_paths(paths: Iterable[PathName], limits: Limits | None = None) -> Iterator[Source]:
    """The logs that these paths hold, in a stable order; each must be read before the next one is asked for.

    A path may be ``-`` (standard input), a file, a folder (every text file in it), a pattern such as ``logs/*.log``, or an
    address (``s3://...``, with the extra ``remote``). Files may be compressed or archives, found out by their content; a log
    in an archive is called ``bundle.tar.zst!worker1/vllm.log``. No file is read twice, whatever links there are.

    Raises OptionError for what is no path, InputError at once when a path is missing or may not be read, and while iterating
    when it holds nothing readable.
    """
    try:
        names = dict.fromkeys(os.fsdecode(path) for path in paths)
    except TypeError as error:
        raise OptionError(f"a path is text or a path object: {error}") from error
    roots = [root for name in names for root in _roots(name)]
    return _open_roots(roots, Budget(limits or Limits()))


def open_stdin() -> Iterator[Source]:
    """The logs that standard input holds: one called ``<stdin>``, or those in an archive that is piped in."""
    return open_paths(["-"])


def _open_roots(roots: Iterable[_Root], budget: Budget) -> Iterator[Source]:
    seen = _Seen()
    for root in roots:
        budget.start_path()
        yield from root(budget, seen)


def _roots(path: str) -> Iterator[_Root]:
    if path == "-":
        yield _open_stdin
        return
    if "://" in path:
        from .remote import is_remote, remote_paths

        if is_remote(path):
            for name, chunks in remote_paths(path):
                yield partial(_open_remote, name, chunks)
            return
    try:
        status = os.stat(path)
        if stat.S_ISREG(status.st_mode):
            with open(path, "rb"):
                pass
    except OSError as error:
        matches = matching(path)
        if not matches:
            raise input_error(path, error) from error
        for match in matches:
            yield from _roots(match)
        return
    except ValueError as error:
        raise InputError(f"is not a file name: {error}", Location(clean_name(path))) from error
    yield partial(_open_folder if stat.S_ISDIR(status.st_mode) else _open_file, path)


def matching(pattern: str) -> list[str]:
    """What a pattern matches that no shell has expanded (quoted, from a configuration, on Windows); none if it is no pattern.

    With ``**``, files only. Raises InputError when nothing matches.
    """
    from glob import glob, has_magic

    if not has_magic(pattern):
        return []
    matches = sorted(glob(pattern, recursive=True))  # noqa: PTH207 - pathlib's takes no absolute patterns
    if not matches:
        raise InputError("no file matches this pattern; check it", Location(pattern))
    if "**" in pattern:  # it matches the folders as well as what is in them
        matches = [m for m in matches if not os.path.isdir(m)] or matches
    return matches


def _open_stdin(budget: Budget, _: _Seen) -> Iterator[Source]:
    def chunks() -> Iterator[bytes]:
        with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as file:
            while data := file.read(CHUNK):
                budget.read(len(data))
                yield data

    return _named(STDIN, chunks(), [], budget)


def _open_remote(name: str, chunks: RemoteChunks, budget: Budget, _: _Seen) -> Iterator[Source]:
    notes: list[str] = []
    return _named(name, chunks(budget, notes), notes, budget)


def _open_file(path: str, budget: Budget, seen: _Seen) -> Iterator[Source]:
    try:
        status = os.stat(path)
    except OSError as error:
        raise input_error(path, error) from error
    if not stat.S_ISREG(status.st_mode) or seen.first_time(status):
        notes: list[str] = []
        yield from _named(path, _file_chunks(path, budget, notes), notes, budget)


def _named(name: str, chunks: Iterator[bytes], notes: list[str], budget: Budget) -> Iterator[Source]:
    """What was asked for by name: an error when it cannot be read or holds nothing to read."""

    def located() -> Iterator[bytes]:
        try:
            yield from chunks
        except OSError as error:
            raise input_error(name, error) from error

    return _some(name, open_stream(clean_name(name), Stream(located()), notes, budget))


def _some(name: str, sources: Iterable[Source], unless: Callable[[], bool] = lambda: False) -> Iterator[Source]:
    """The sources; an error with their notes when there was no log among them (``unless`` they were all named before)."""
    found = False
    notes: list[str] = []
    for source in sources:
        found = found or source.stream is not None
        notes += source.notes if source.stream is None else ()
        yield source
    if not found and not unless():
        why = f" ({'; '.join(notes)})" if notes else ""
        raise InputError(f"holds no text that can be read{why}; give the log files", Location(clean_name(name)))


def _file_chunks(path: str, budget: Budget, notes: list[str]) -> Iterator[bytes]:
    """The bytes of a file; what comes before a failing disk or a sudden end is kept."""
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        done = 0
        while True:
            try:
                data = file.read(CHUNK)
            except OSError as error:
                if not done:
                    raise
                notes.append(f"cannot be read past byte {done} ({error.strerror or error})")
                return
            if not data:
                break
            done += len(data)
            budget.read(len(data))
            yield data
        if done < size and os.fstat(file.fileno()).st_size < size:
            notes.append(f"became shorter while it was read: {size} bytes at first, {done} read")


def _open_folder(root: str, budget: Budget, seen: _Seen) -> Iterator[Source]:
    before = seen.repeated
    yield from _some(root, _folder(root, budget, seen), unless=lambda: seen.repeated > before)


def _folder(root: str, budget: Budget, seen: _Seen) -> Iterator[Source]:
    tally = Tally()
    notes: list[str] = []
    for number, path in enumerate(_walk(root, seen, tally)):
        if number >= budget.limits.members:
            notes.append(f"holds more than {number} files, which is the limit; the rest was not read")
            break
        budget.start_path()
        own: list[str] = []
        try:
            yield from open_stream(clean_name(path), Stream(_file_chunks(path, budget, own)), own, budget, tally)
        except OSError as error:
            tally.add(f"file(s) not read ({error.strerror or error})", path)
    notes += tally.notes()
    if notes:
        yield Source(clean_name(root), None, notes)


def _walk(root: str, seen: _Seen, tally: Tally) -> Iterator[str]:
    """Files of a folder, then those of its folders, each sorted by name. Links are followed, but nothing is visited twice."""
    waiting = [root] if seen.first_time(os.stat(root)) else []
    while waiting:
        folder = waiting.pop()
        folders: list[str] = []
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda e: e.name)
        except OSError as error:
            if folder == root:
                raise input_error(root, error) from error
            tally.add(f"folder(s) not read ({error.strerror or error})", folder)
            continue
        for entry in entries:
            if entry.name.startswith("."):
                tally.add("hidden file(s) or folder(s) not read", entry.path)
                continue
            try:
                status = os.stat(entry.path)
            except OSError as error:
                tally.add(f"file(s) not read ({error.strerror or error})", entry.path)
                continue
            if stat.S_ISDIR(status.st_mode):
                if seen.first_time(status):
                    folders.append(entry.path)
            elif not stat.S_ISREG(status.st_mode):
                tally.add("pipe(s), socket(s) or device(s) not read", entry.path)
            elif status.st_size and seen.first_time(status):
                yield entry.path
        waiting += reversed(folders)


def input_error(name: str, error: OSError) -> InputError:
    """The error of the operating system in words that say what to do."""
    advice = {
        FileNotFoundError: "no such file; check the path",
        PermissionError: "may not be read; check its permissions",
    }
    text = next((t for kind, t in advice.items() if isinstance(error, kind)), None)
    return InputError(text or f"cannot be read: {error.strerror or error}", Location(clean_name(name)))
