"""The journal of a batch: finished cases are appended to it as they come, and a batch that was killed goes on from it.

Its first line tells what the results depend on; each other one is a finished case (see `work.finished_line`). Lines are handed
to the operating system whole, so that nothing is lost when this process is killed, and to the disk every second. A line that
was cut off (the machine died, the disk was full) is dropped when the journal is opened again.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from ..errors import CrashsigError, InputError, Location, OptionError
from .cases import Case
from .row import UNREADABLE

SUFFIX = ".journal"
MAGIC = "vllm_crashsig_journal"
_BEGINNING = b'{"' + MAGIC.encode() + b'"'
SYNC_SECONDS = 1.0
HEADER_BYTES = 1 << 16
"""Length that no first line reaches."""

Header = Mapping[str, Any]
"""What the results depend on, in words that go into a message: ``version``, ``catalogue``, and options."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a finished case stands in the journal, and what its logs were then."""

    offset: int
    size: int
    modified: int
    readable: bool


class Journal:
    """An open journal. ``places`` has the last line of each finished case by its name, in the order in which they finished.

    path: None keeps it in a temporary file. resume: go on with what is there. restart: throw it away. With neither, a journal
    that holds finished cases is an error: it is the work of a batch that was broken off.
    Raises OptionError when the journal there was made under other conditions, InputError when it cannot be written.
    """

    def __init__(self, path: str | None, header: Header, *, resume: bool = False, restart: bool = False) -> None:
        self.path = path
        self.places: dict[str, Place] = {}
        self._file = self._open(path)
        self._synced = time.monotonic()
        try:
            _lock(self._file, path)
            self._end = self._read(header, resume, restart)
            self._file.truncate(self._end)
            if not self._end:
                self.places.clear()
                self._write(json.dumps({MAGIC: 1, **header}).encode() + b"\n")
        except BaseException:
            self._file.close()
            raise

    def _open(self, path: str | None) -> IO[bytes]:
        try:
            if path is None:
                return tempfile.TemporaryFile(buffering=0)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                os.close(handle)
                raise OSError("it is a device or a pipe")
            return open(handle, "r+b", buffering=0)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror or error}", Location(path)) from error

    def add(self, finished: Sequence[tuple[Case, bytes]]) -> None:
        """Appends finished cases. Raises CrashsigError when the disk does not take them."""
        if not finished:
            return
        at = self._end
        self._write(b"".join(line for _, line in finished))
        for case, line in finished:
            self.places[case.name] = Place(at, case.size, case.modified, b'"verdict":"unreadable"' not in line)
            at += len(line)
        if time.monotonic() - self._synced > SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Waits until the disk has it all."""
        with contextlib.suppress(OSError):  # no file system promises more than it can
            os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def is_finished(self, case: Case) -> bool:
        """Whether the case was read before and has not changed since. What could not be read is tried again."""
        place = self.places.get(case.name)
        return place is not None and place.readable and (place.size, place.modified) == (case.size, case.modified)

    def rows(self, names: Sequence[str]) -> Iterator[bytes]:
        """The rows of these cases as JSON, in this order; one that is not finished is left out."""
        with open(os.dup(self._file.fileno()), "rb", buffering=1 << 16) as file:
            for name in names:
                if (place := self.places.get(name)) is not None:
                    if file.tell() != place.offset:
                        file.seek(place.offset)
                    yield _row(file.readline())

    def remove(self) -> None:
        """Deletes the file, when the results stand elsewhere."""
        if self.path is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.path)

    def close(self) -> None:
        """Frees the file, and lets another batch write to it."""
        self._file.close()

    def _write(self, data: bytes) -> None:
        try:
            self._file.seek(self._end)
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) or 0 :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._end)
            place = Location(self.path or "<temporary file>")
            raise CrashsigError(f"cannot be written: {error.strerror or error}; finished cases are kept", place) from error
        self._end += len(data)

    def _read(self, header: Header, resume: bool, restart: bool) -> int:
        """Takes in what is there and returns where it ends: after its last whole line. 0 begins anew."""
        self._file.seek(0)
        with open(os.dup(self._file.fileno()), "rb", buffering=1 << 20) as file:
            first = file.readline(HEADER_BYTES)
            if not first.endswith(b"\n"):
                if not first.startswith(_BEGINNING[: len(first)]):
                    raise self._foreign()
                return 0
            self._check(first, header, resume)
            if restart:
                return 0
            end = len(first)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                if (told := _place(line, end)) is not None:
                    self.places[told[0]] = told[1]
                end += len(line)
        if self.places and not resume:
            raise OptionError(
                f"{self.path} holds {len(self.places)} finished cases of a batch that was broken off; "
                "--resume goes on with it, --restart throws it away"
            )
        return end if self.places else 0

    def _check(self, first: bytes, header: Header, resume: bool) -> None:
        try:
            told = json.loads(first)
        except ValueError:
            raise self._foreign() from None
        if not isinstance(told, dict) or MAGIC not in told:
            raise self._foreign()
        other = [f"{k} {_short(told.get(k))} instead of {_short(v)}" for k, v in header.items() if told.get(k) != v]
        if other and resume:
            raise OptionError(
                f"{self.path} was made under other conditions ({'; '.join(other)}), so its results do not go with new ones; "
                "--restart throws them away and begins anew"
            )

    def _foreign(self) -> OptionError:
        return OptionError(f"{self.path} is no journal of a batch; move it away, or choose another --output")


def _place(line: bytes, offset: int) -> tuple[str, Place] | None:
    """What a finished line says; None for one that the disk has spoilt."""
    try:
        told = json.loads(line)
        row = told["row"]
        return str(row["case"]), Place(offset, told["size"], told["modified"], row["verdict"] != UNREADABLE)
    except (ValueError, KeyError, TypeError):
        return None


def _row(line: bytes) -> bytes:
    """The row of a finished line, as it stands."""
    return line[line.index(b'"row":') + 6 : -2]


def _short(value: object) -> str:
    text = str(value)
    return text[:12] if len(text) == 64 else text


def _lock(file: IO[bytes], path: str | None) -> None:
    """Keeps a second batch from writing to the same journal, where the system has such locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OptionError(f"another batch is writing to {path}; wait for it, or choose another --output") from None
    except OSError:
        return
