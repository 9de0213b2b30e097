"""Wakes whoever follows files when one of them changes, where the system tells (Linux: inotify).

A help and no more: file systems over the network say nothing, so files are looked at now and then all the same.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

_MODIFY, _ATTRIB, _MOVED_TO, _CREATE, _DELETE_SELF, _MOVE_SELF = 0x2, 0x4, 0x80, 0x100, 0x400, 0x800
_OF_FILE = _MODIFY | _ATTRIB | _DELETE_SELF | _MOVE_SELF
_OF_FOLDER = _CREATE | _MOVED_TO
"""Values of linux/inotify.h."""


class Notifier:
    """wake: called from another thread, once for any number of changes until `rearm`."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._pending = False
        self._watched: dict[int, str] = {}
        self._closed = False
        self._add: Callable[[int, bytes, int], int] | None = None
        self._file = -1
        if not sys.platform.startswith("linux"):
            return
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            self._file = libc.inotify_init1(os.O_CLOEXEC)
            self._add, self._remove = libc.inotify_add_watch, libc.inotify_rm_watch
        except (OSError, AttributeError):
            return

    @property
    def works(self) -> bool:
        """Whether changes are told at all."""
        return self._file >= 0 and self._add is not None

    def watch(self, path: str) -> bool:
        """Tells when the file that the path names now changes, or another one takes its name. False where that is not told."""
        place = Path(path)
        folders = {place.parent, Path(os.path.realpath(path)).parent}
        told = [self._watch(folder, _OF_FOLDER) for folder in folders]
        return all(told) and (self._watch(place, _OF_FILE) or not place.exists())

    def _watch(self, path: Path, mask: int) -> bool:
        if not self.works or self._add is None:
            return False
        number = self._add(self._file, os.fsencode(path), mask)
        if number < 0:
            return False
        if not self._watched:
            threading.Thread(target=self._run, name="crashsig-notify", daemon=True).start()
        self._watched[number] = str(path)
        return True

    def rearm(self) -> None:
        """From here on a change wakes again."""
        self._pending = False

    def close(self) -> None:
        """Ends the thread."""
        self._closed = True
        for number in self._watched if self.works else ():
            self._remove(self._file, number)  # which is told to the thread, too

    def _run(self) -> None:
        while not self._closed:
            try:
                os.read(self._file, 64 * 1024)
            except OSError:
                break
            if not self._pending and not self._closed:
                self._pending = True
                self._wake()
        os.close(self._file)
