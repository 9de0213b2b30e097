"""What the cache holds of a catalogue: its index at once, each fingerprint when somebody asks for it.

Two files: what a catalogue came to, under the hash of its content; and which hash its files had when they were last read, with
their sizes and times, so that they need not be read again.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from . import cache, plain

if TYPE_CHECKING:
    from .catalogue import Catalogue

SETTLED = 2 * 10**9
"""Nanoseconds after which a file's times can be trusted to change with its content."""
MAKERS = (
    "catalogue.py",
    "crashid",
    "envelopes/clean.py",
    "gate.py",
    "index.py",
    "literals.py",
    "load.py",
    "model.py",
    "schema.py",
    "stored.py",
)
"""Modules and packages that decide what is stored."""

T = TypeVar("T")


def cached_catalogue(directories: Iterable[str | os.PathLike[str]]) -> Catalogue:
    """Like `load.load_catalogue` over these directories, from the cache when their content is known.

    The first to be asked in a process of the command, since shapes may be plain ones if it is. Raises CatalogueErrors.
    """
    folders = [os.fspath(directory) for directory in directories]
    stored = find(folders)
    if stored is not None:
        plain.choose()
        return stored.catalogue()
    from pathlib import Path

    from .load import build_catalogue, catalogue_files, read_files

    contents, digest = read_files(catalogue_files(map(Path, folders)))
    if (stored := find(folders, digest)) is not None:
        keep(folders, digest)
        return stored.catalogue()
    catalogue = build_catalogue(contents, digest)
    if cache.cache_directory() is not None:
        from .index import index_of

        index = index_of(catalogue).to_data()
        keep(folders, digest, pack(catalogue, index))
        vars(catalogue)["index"] = index  # whoever prepares it need not make it again
    return catalogue


class Stored:
    """The content of one cache file."""

    def __init__(self, digest: str, data: bytes) -> None:
        """Raises an error of Python's own when it is not what `pack` made."""
        end = 4 + int.from_bytes(data[:4], "little")
        told: dict[str, Any] = marshal.loads(data[4:end])  # noqa: S302 - of a file that nobody else could have written
        self._digest = digest
        self._data = data
        self._places: dict[str, list[int]] = told["places"]
        """Where each fingerprint stands in the data, from the end of the head on."""
        self._begin = end
        if self._places.keys() != told["roles"].keys() or self._begin + max(e for _, e in self._places.values()) != len(data):
            raise ValueError("not a catalogue")
        self._areas: dict[str, str] = dict(told["areas"])
        self._taxonomy: dict[str, Any] = dict(told["taxonomy"])
        self._told = {name: told[name] for name in ("roles", "explains", "index")}

    def catalogue(self) -> Catalogue:
        """The catalogue. Its fingerprints are made when they are asked for."""
        from .catalogue import Catalogue
        from .schema import Fingerprint, TaxonomyEntry

        catalogue = Catalogue(
            fingerprints=Lazy(self._places, lambda place: Fingerprint.model_validate(self._read(*place))),
            areas=self._areas,
            taxonomy=Lazy(self._taxonomy, TaxonomyEntry.model_validate),
            hash=self._digest,
        )
        vars(catalogue).update(self._told)  # properties that would be worked out otherwise
        return catalogue

    def _read(self, begin: int, end: int) -> Any:
        return marshal.loads(self._data[self._begin + begin : self._begin + end])  # noqa: S302 - as above


def pack(catalogue: Catalogue, index: Mapping[str, Any]) -> bytes:
    """What is stored of a catalogue and its index."""
    lines = [marshal.dumps(f.model_dump(mode="json", by_alias=True, exclude_unset=True)) for f in catalogue]
    ends = list(accumulate(map(len, lines)))
    head = {
        "places": dict(zip(catalogue.roles, zip([0, *ends], ends, strict=False), strict=True)),
        "roles": catalogue.roles,
        "explains": catalogue.explains,
        "areas": dict(catalogue.areas),
        "taxonomy": {i: e.model_dump(mode="json") for i, e in catalogue.taxonomy.items()},
        "index": index,
    }
    data = marshal.dumps(head)
    return b"".join((len(data).to_bytes(4, "little"), data, *lines))


class Lazy(Mapping[str, T]):
    """A mapping whose values are made when they are first asked for."""

    def __init__(self, lines: Mapping[str, Any], make: Callable[[Any], T]) -> None:
        self._lines = lines
        self._make = make
        self._made: dict[str, T] = {}

    def __getitem__(self, key: str) -> T:
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = self._make(self._lines[key])
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, key: object) -> bool:
        return key in self._lines


def find(directories: Sequence[str], digest: str | None = None) -> Stored | None:
    """What is stored of these directories as their files are now. digest: of their content, if somebody has read them."""
    if digest is None:
        known, _, signature = (cache.read("known", _key(directories)) or b"").partition(b"\n")
        if signature != _signature(directories).encode(errors="surrogatepass"):
            return None
        digest = known.decode(errors="replace")
    data = cache.read("catalogue", cache.key_of(digest, makers()))
    if data is None:
        return None
    try:
        return Stored(digest, data)
    except (EOFError, ValueError, TypeError, KeyError, AttributeError):
        return None


def keep(directories: Sequence[str], digest: str, data: bytes | None = None) -> None:
    """Stores what a catalogue with this hash came to (None: it is stored already), and that the files are those of the hash."""
    if data is not None and not cache.write("catalogue", cache.key_of(digest, makers()), data):
        return
    now, signature = time.time_ns(), _signature(directories)
    if all(now - int(word) > SETTLED for line in signature.splitlines() for word in line.rsplit(" ", 2)[1:]):
        cache.write("known", _key(directories), f"{digest}\n{signature}".encode(errors="surrogatepass"))


def _key(directories: Iterable[str]) -> str:
    return cache.key_of(*(os.path.abspath(d) for d in directories), makers())


def _signature(directories: Iterable[str]) -> str:
    """All files of fingerprints with their sizes and times."""
    return "".join(f"{i} {line}\n" for i, d in enumerate(directories) for line in sorted(_files(d, (".yaml", ".yml"))))


@lru_cache(maxsize=1)
def makers() -> str:
    """The files of the code that makes what is stored: while somebody works on it, the version says too little."""
    home = os.path.dirname(__file__)
    found = [line for name in MAKERS for line in _files(os.path.join(home, name), (".py", ".txt"))]
    return "\n".join((sys.version, *sorted(found)))


def _files(place: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Files with these endings in a folder and below, or one file: path, size, time of change, time of its entry's change."""
    try:
        if place.endswith(endings) and not os.path.isdir(place):
            yield _told(place, os.stat(place))
            return
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(entry.path, endings)
                elif entry.name.endswith(endings):
                    yield _told(entry.path, entry.stat())
    except OSError as error:
        yield f"{place} {error.errno} 0 0"


def _told(path: str, status: os.stat_result) -> str:
    return f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
