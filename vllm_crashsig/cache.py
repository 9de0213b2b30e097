"""Files in the user's cache directory, for what takes long to make.

Nothing here may matter but for speed: a file that is missing, damaged, read-only or somebody else's is as good as none. Each
holds a checksum and then plain data (`marshal`'s numbers and texts, Hyperscan's databases); nothing is ever unpickled.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from zlib import adler32, crc32

from .version import __version__

ENVIRONMENT = "VLLM_CRASHSIG_CACHE"
"""Environment variable: another cache directory, or ``off``."""
NAME = "vllm-crashsig"
"""Of the folder in the user's cache directory."""
FORMAT = "4"
_ON_LINUX = sys.platform == "linux"
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
KEY, RANDOM = 16, 8
"""Letters that tell files of a kind apart, and those that are being written."""
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
TORN = 3600
"""Seconds after which a file that was being written belongs to a process that was killed."""
KEPT = 8
"""Files of a kind that are kept: of other versions, other folders of fingerprints, other processors."""


def cache_directory() -> str | None:
    """Where compiled things are kept; None when caching is off."""
    told = os.environ.get(ENVIRONMENT, "").strip()
    if told.lower() in ("off", "0", "no", "none"):
        return None
    try:
        if told:
            expanded = os.path.expanduser(told)
            return None if expanded.startswith("~") else expanded
        if _ON_LINUX:  # as platformdirs has it, which takes longer to load than all that is cached
            place = os.environ.get("XDG_CACHE_HOME", "").strip()
            return os.path.join(place, NAME) if place else os.path.join(_home(), ".cache", NAME)
        from platformdirs import user_cache_dir

        return user_cache_dir(NAME, appauthor=False)
    except (RuntimeError, KeyError):  # nobody's home: a process in a container may have a user id and no user
        return None


def _home() -> str:
    if told := os.environ.get("HOME"):
        return told
    import pwd

    return pwd.getpwuid(os.getuid()).pw_dir


def key_of(*parts: str) -> str:
    """A file name part for these parts, this version of the package and of the format. Two checksums, as only the user's own
    files are to be told apart; a hash would load OpenSSL at each start."""
    text = "\0".join((FORMAT, __version__, *parts)).encode(errors="surrogatepass")
    return f"{crc32(text):08x}{adler32(text):08x}"


def read(kind: str, key: str) -> bytes | None:
    """The cached bytes, or None when there are none that can be trusted."""
    directory = cache_directory()
    if directory is None:
        return None
    try:
        handle = os.open(os.path.join(directory, f"{kind}-{key}"), _READ)
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                return None
            if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
                return None
            checksum = file.readline(20)
            data = file.read()
    except OSError:
        return None
    return data if checksum == _checksum(data) else None


def write(kind: str, key: str, data: bytes) -> bool:
    """Keeps bytes, all or nothing. Returns whether it could; failure is silent."""
    directory = cache_directory()
    if directory is None:
        return False
    import tempfile

    temporary = None
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=f".{kind}-")
        with os.fdopen(handle, "wb") as file:
            file.write(_checksum(data) + data)
        os.replace(temporary, os.path.join(directory, f"{kind}-{key}"))
    except OSError:
        if temporary is not None:
            try:
                os.unlink(temporary)
            except OSError:
                pass
        return False
    _tidy(directory, kind)
    return True


def _checksum(data: bytes) -> bytes:
    """Tells what was damaged. What somebody forged is told by its owner."""
    return b"%08x %d\n" % (crc32(data), len(data))


def _tidy(directory: str, kind: str) -> None:
    """Removes the oldest files of a kind."""
    try:
        with os.scandir(directory) as entries:
            files = list(entries)
        found = sorted(_ages(files, f"{kind}-", KEY), reverse=True)
        newest = found[0][0] if found else 0.0
        torn = [(age, path) for age, path in _ages(files, f".{kind}-", RANDOM) if age < newest - TORN]
    except OSError:
        return
    for _, path in found[KEPT:] + torn:
        try:
            os.unlink(path)
        except OSError:  # somebody else's, in a folder that is shared
            continue


def _ages(entries: Iterable[os.DirEntry[str]], prefix: str, rest: int) -> Iterator[tuple[float, str]]:
    """Files whose names are this prefix and as many letters and digits as `key_of` or `tempfile` give: the folder may be one
    that holds other things."""
    for entry in entries:
        name = entry.name[len(prefix) :]
        ours = entry.name.startswith(prefix) and len(name) == rest and _LETTERS.issuperset(name)
        if ours and entry.is_file(follow_symlinks=False):
            yield entry.stat(follow_symlinks=False).st_mtime, entry.path
