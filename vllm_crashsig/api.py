"""The functions that most callers need, over one shared classifier."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache

from .engine import Classifier
from .intake import take_all
from .report import Report
from .sources import PathName, Source, open_paths


@lru_cache(maxsize=1)
def default_classifier() -> Classifier:
    """The classifier over the built-in catalogue that `classify` and `classify_paths` share."""
    return Classifier()


def classify(log: str | bytes | Iterable[str | bytes]) -> Report:
    """The report for one log, given as text, as bytes, or as an iterable of lines (with or without newlines).

    >>> classify("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has ...").cause.id
    'cuda-oom'
    """
    return default_classifier().classify(log)


def classify_paths(
    paths: PathName | Iterable[PathName],
    classifier: Classifier | None = None,
    *,
    exit_status: int | None = None,
) -> Report:
    """The report for one file, or for several that belong to ONE case, such as a container's log and the node's dmesg.

    A path may be a file, a folder, a pattern, an address or ``-`` for standard input; compressed files and archives are
    looked into (see `open_paths`). exit_status: how the server's process or container ended, if that is known (137, -9, 1).
    Raises InputError when a path is missing, may not be read or holds nothing to read.
    """
    if isinstance(paths, str | bytes | os.PathLike):
        paths = [os.fsdecode(paths)]
    return classify_sources(open_paths(paths), classifier, exit_status=exit_status)


def classify_sources(
    sources: Iterable[Source], classifier: Classifier | None = None, *, exit_status: int | None = None
) -> Report:
    """The report for opened sources that belong to one case. Raises InputError when one cannot be read at all."""
    session = (classifier or default_classifier()).session()
    take_all(session, sources)
    if exit_status is not None:
        session.exited(exit_status)
    return session.close()
