"""What the user names -> the files to follow, now and later: folders and patterns are looked through again and again."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..errors import InputError, Location
from ..lazy import lazy
from ..sources.base import clean_name
from ..sources.kinds import archive_of, compression_of, looks_binary, unreadable_format
from .follow import Follower

MOST = 500
"""Files that are followed at a time."""
SAMPLE = 4096
"""Bytes by which a file is judged to be text."""
_ROTATED = lazy(r"(.+?)[.-](?:\d{1,4}|\d{4}-?\d\d-?\d\d[\dT_:.-]*|old|bak)(?:\.(?:gz|bz2|xz|zst|lz4))?")
"""How the older part of a log is called, which is not read again when it gets this name."""

Say = Callable[[str, str], None]
"""Takes the name of a source and a sentence about it."""


class Places:
    """The files behind names. ``streams``: names of pipes and devices, which are no files to follow.

    tail: as for `Follower`. Raises InputError for what can never be followed.
    """

    def __init__(self, names: Sequence[str], say: Say, *, tail: int | None) -> None:
        self.followers: dict[str, Follower] = {}
        self.streams: list[str] = []
        self._say = say
        self._roots: list[str] = []
        self._refused: set[str] = set()
        self._full = False
        for name in dict.fromkeys(names):
            self._name(name, tail)
        self.look(tail=tail)

    @property
    def any(self) -> bool:
        """Whether there is something that may grow."""
        return bool(self.followers or self._roots)

    @property
    def searched(self) -> bool:
        """Whether more files may be found."""
        return bool(self._roots)

    def _name(self, name: str, tail: int | None) -> None:
        if "://" in name:
            raise InputError("an address cannot be watched; give a file, or pipe the log in", Location(clean_name(name)))
        try:
            mode = Path(name).stat().st_mode
        except ValueError as error:
            raise InputError(f"is not a file name: {error}", Location(clean_name(name))) from error
        except OSError:
            if any(c in name for c in "*?["):
                self._roots.append(name)
            else:
                self._follow(name, tail)
            return
        if stat.S_ISDIR(mode):
            self._roots.append(name)
        elif not stat.S_ISREG(mode):
            self.streams.append(name)
        elif (what := _no_log(name)) is not None:
            raise InputError(f"is {what}, which does not grow; use `vllm-crashsig classify`", Location(clean_name(name)))
        else:
            self._follow(name, tail)

    def _follow(self, path: str, tail: int | None) -> None:
        self.followers[path] = Follower(path, lambda text: self._say(clean_name(path), text), tail=tail)

    def look(self, *, tail: int | None = None) -> list[Follower]:
        """Looks for files that are new in folders and patterns, and returns them."""
        found: list[Follower] = []
        for root in self._roots:
            for path in _files(root):
                if path in self.followers or path in self._refused:
                    continue
                if len(self.followers) >= MOST:
                    if not self._full:
                        self._full = True
                        self._say(clean_name(root), f"holds more than {MOST} files; the rest is not followed")
                    return found
                if self._is_log(path):
                    self._follow(path, tail)
                    found.append(self.followers[path])
        return found

    def _is_log(self, path: str) -> bool:
        """Whether a file that was found is to be followed. What is neither empty nor a log is not asked about again."""
        try:
            status = Path(path).stat()
        except OSError:
            return False
        base = _ROTATED.fullmatch(Path(path).name)
        older = base is not None and Path(path).with_name(base[1]).exists()
        if not stat.S_ISREG(status.st_mode) or older or self._is_followed(status) or _no_log(path) is not None:
            self._refused.add(path)
            return False
        return True

    def _is_followed(self, status: os.stat_result) -> bool:
        """Whether it is another name of a file that is followed already."""
        for follower in self.followers.values():
            if follower.file is not None and os.path.samestat(os.fstat(follower.file), status):
                return True
        return False


def _files(root: str) -> Iterator[str]:
    """The files in a folder and its folders, or those that a pattern matches, in a stable order. Hidden ones are left out."""
    if any(c in root for c in "*?[") and not Path(root).is_dir():
        from glob import glob

        matches = sorted(glob(root, recursive=True))  # noqa: PTH207 - pathlib's takes no absolute patterns
        yield from (path for path in matches if Path(path).is_file())
        return
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (str(Path(folder, name)) for name in sorted(files) if not name.startswith("."))


def _no_log(path: str) -> str | None:
    """What a file is that holds no text to follow; None for a log, or one that is empty or cannot be read (yet)."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(SAMPLE)
    except OSError:
        return None
    if (packed := compression_of(head)) is not None:
        return f"compressed ({packed})"
    if (packed := archive_of(head[:512]) or unreadable_format(head)) is not None:
        return f"an archive ({packed})"
    return "no text" if looks_binary(head) else None
