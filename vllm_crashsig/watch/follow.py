"""One file that others write to: what is new in it, across rotation, truncation and links that are switched.

Nothing here waits. `Follower.read` is to be called again and again; where nothing is new it costs two system calls.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from ..sources.base import CHUNK

GUARD = 256
"""Bytes at the beginning of a file by which it is told from another one that was written over it."""
BLOCK = 64 * 1024
"""Bytes read at a time when the last lines are looked for."""


class Follower:
    """Reads what is appended to a path, and goes over to the file that takes its place.

    A file that was renamed is read on until the one that took its name holds something: its writer may not have noticed yet.

    path: may not exist yet. tail: how many of its last lines to begin with (None: all); a file that appears later is read from
    its beginning. say: takes a sentence about the path for whoever watches.
    """

    def __init__(self, path: str, say: Callable[[str], None], *, tail: int | None = None) -> None:
        self.path = path
        self._place = Path(path)
        self.notes: list[str] = []
        """What readers of the answer should know. Taken out by whoever hands it on."""
        self._say = say
        self._tail = tail
        self._file: int | None = None
        self._at = 0
        self._guard = b""
        self._looked: tuple[int, int] = (-1, -1)  # size and time of change when it was last looked at
        self._ragged = False
        self._trouble: str | None = None
        self._open()

    @property
    def file(self) -> int | None:
        """Descriptor of the open file, if there was one so far."""
        return self._file

    def read(self, size: int = CHUNK) -> bytes:
        """The next bytes, or none when there is nothing new."""
        if self._file is None and not self._open():
            return b""
        try:
            if data := self._more(size):
                return data
            if self._is_replaced():
                return self._more(size) or self._turn_over(size)  # the last words of the old file come first
        except OSError as error:  # a network file system went away, a disk fails
            self._tell(f"cannot be read ({error.strerror or error}); trying again")
        return b""

    def close(self) -> None:
        """Lets go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> bool:
        """Opens what the path names now."""
        try:
            file = os.open(self.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        except FileNotFoundError:
            self._tell("does not exist yet; waiting for it")
        except OSError as error:
            self._tell(f"cannot be read ({error.strerror or error}); trying again")
        else:
            if stat.S_ISREG(os.fstat(file).st_mode):
                self._file, self._trouble = file, None
                self._at = 0 if self._tail is None else _start_of_last_lines(file, self._tail)
                if self._at:
                    self.notes.append(f"read from byte {self._at} on; lines are counted from there")
                self._guard, self._looked = b"", (-1, -1)
                return True
            os.close(file)
            self._tell("is not a file; trying again")
        self._tail = None
        return False

    def _tell(self, trouble: str) -> None:
        """Says what keeps the file from being read, once."""
        if trouble != self._trouble:
            self._trouble = trouble
            self._say(trouble)

    def _more(self, size: int) -> bytes:
        """What is new in the open file."""
        if self._file is None:
            return b""
        status = os.fstat(self._file)
        look = status.st_size, status.st_mtime_ns
        if look == self._looked and self._at == status.st_size:
            return b""
        self._looked = look
        if status.st_size < self._at or (self._guard and self._beginning(len(self._guard)) != self._guard):
            return self._begin_anew(size)
        return self._read(size)

    def _read(self, size: int) -> bytes:
        if self._file is None:
            return b""
        os.lseek(self._file, self._at, os.SEEK_SET)
        data = os.read(self._file, size)
        if data:
            if len(self._guard) < GUARD:
                self._guard = self._beginning(min(GUARD, self._at + len(data)))
            self._at += len(data)
            self._ragged = not data.endswith(b"\n")
        return data

    def _begin_anew(self, size: int) -> bytes:
        """Reads a file from its beginning that was cut, or written over."""
        self._change("was cut off and written anew")
        self._at = self._data_start()
        self._guard = b""
        return self._line_end() + self._read(size)

    def _change(self, what: str) -> None:
        self._say(what)
        self.notes.append(f"{what}; lines are counted on")

    def _data_start(self) -> int:
        """Where the data of the file begins: a writer that goes on where it was leaves a hole in front."""
        if self._file is None or not hasattr(os, "SEEK_DATA"):
            return 0
        try:
            return os.lseek(self._file, 0, os.SEEK_DATA)
        except OSError:  # an empty file, or a file system that cannot tell
            return 0

    def _beginning(self, size: int) -> bytes:
        if self._file is None:
            return b""
        os.lseek(self._file, 0, os.SEEK_SET)
        return os.read(self._file, size)

    def _is_replaced(self) -> bool:
        """Whether the path names another file by now, and that one holds something."""
        if self._file is None:
            return False
        try:
            new = self._place.stat()
        except FileNotFoundError:
            self._tell("is gone; waiting for it to come back")
            return False
        old = os.fstat(self._file)
        if (new.st_dev, new.st_ino) == (old.st_dev, old.st_ino):
            self._trouble = None
            return False
        return new.st_size > 0

    def _turn_over(self, size: int) -> bytes:
        """Goes over to the file that has taken the path's name."""
        old, self._file, self._tail = self._file, None, None
        if not self._open():
            self._file = old
            return b""
        if old is not None:
            os.close(old)
        self._change("was replaced by a new file")
        return self._line_end() + self._read(size)

    def _line_end(self) -> bytes:
        """What ends a line that was left unfinished."""
        ragged, self._ragged = self._ragged, False
        return b"\n" if ragged else b""


def _start_of_last_lines(file: int, lines: int) -> int:
    """Where the last lines of a file begin. A last line without a newline counts as one."""
    at = end = os.fstat(file).st_size
    if lines <= 0 or not end:
        return end
    os.lseek(file, end - 1, os.SEEK_SET)
    wanted = lines + (os.read(file, 1) == b"\n")
    while at > 0:
        start = max(0, at - BLOCK)
        os.lseek(file, start, os.SEEK_SET)
        block = os.read(file, at - start)
        found = block.count(b"\n")
        if found >= wanted:
            place = len(block)
            for _ in range(wanted):
                place = block.rfind(b"\n", 0, place)
            return start + place + 1
        wanted -= found
        at = start
    return 0
