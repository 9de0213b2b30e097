"""What is compiled once and kept in the user's cache directory: the validated catalogue and the gate's database.

Nothing here may matter but for speed: a cache that is missing, damaged, read-only or somebody else's is as good as none.
Files hold a checksum line and then JSON or Hyperscan's own serialisation; nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .catalogue import Catalogue, build_catalogue, catalogue_files, read_files
from .schema import Fingerprint, TaxonomyEntry
from .version import __version__

ENVIRONMENT = "VLLM_CRASHSIG_CACHE"
"""Environment variable: another cache directory, or ``off``."""
FORMAT = "1"


def cache_directory() -> Path | None:
    """Where compiled things are kept; None when caching is off."""
    told = os.environ.get(ENVIRONMENT)
    if told and told.lower() in ("off", "0", "no", "none"):
        return None
    if told:
        return Path(told)
    from platformdirs import user_cache_path

    return user_cache_path("vllm-crashsig", appauthor=False)


def key_of(*parts: str | bytes) -> str:
    """A file name part that changes with any of the parts."""
    digest = hashlib.sha256()
    for part in (FORMAT, __version__, *parts):
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()[:32]


def read(kind: str, key: str) -> bytes | None:
    """The cached bytes, or None when there are none that can be trusted."""
    directory = cache_directory()
    if directory is None:
        return None
    path = directory / f"{kind}-{key}"
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
                return None
            checksum = file.readline().strip()
            data = file.read()
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest().encode() == checksum else None


def write(kind: str, key: str, data: bytes) -> None:
    """Keeps bytes, all or nothing. Failure is silent."""
    directory = cache_directory()
    if directory is None:
        return
    temporary = None
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=f".{kind}-")
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
        os.replace(temporary, directory / f"{kind}-{key}")
    except OSError:
        if temporary is not None:
            try:
                os.unlink(temporary)
            except OSError:
                pass


def cached_catalogue(directories: Iterable[Path]) -> Catalogue:
    """Like `catalogue.load_catalogue` over these directories, from the cache when their content is known.

    Raises CatalogueErrors.
    """
    import pydantic

    contents, digest = read_files(catalogue_files(directories))
    key = key_of(digest, pydantic.VERSION)
    if (data := read("catalogue", key)) is not None and (catalogue := _from_json(data, digest)) is not None:
        return catalogue
    catalogue = build_catalogue(contents, digest)
    write("catalogue", key, _to_json(catalogue))
    return catalogue


def _to_json(catalogue: Catalogue) -> bytes:
    import json

    return json.dumps(
        {
            "areas": dict(catalogue.areas),
            "taxonomy": {i: e.model_dump(mode="json") for i, e in catalogue.taxonomy.items()},
            "fingerprints": [f.model_dump(mode="json", by_alias=True, exclude_unset=True) for f in catalogue],
        }
    ).encode()


def _from_json(data: bytes, digest: str) -> Catalogue | None:
    from pydantic_core import from_json

    try:
        stored: dict[str, Any] = from_json(data)
        fingerprints = [Fingerprint.model_validate(f) for f in stored["fingerprints"]]
        taxonomy = {i: TaxonomyEntry.model_validate(e) for i, e in stored["taxonomy"].items()}
        areas = dict(stored["areas"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return Catalogue(
        fingerprints=MappingProxyType({f.id: f for f in fingerprints}),
        areas=MappingProxyType(areas),
        taxonomy=MappingProxyType(taxonomy),
        hash=digest,
    )
