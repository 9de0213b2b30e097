"""Case -> result, in this process: what the pool's workers, Ray's tasks and the serial engine all run."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from ..api import classify_sources
from ..engine import Classifier
from ..errors import CrashsigError
from ..places import builtin_directory
from ..sources import open_paths
from ..sources.kinds import archive_of, compression_of, looks_binary
from ..stored import cached_catalogue
from .cases import Case
from .row import CaseResult, encode, row_of, unreadable_row

HEAD = 4096
"""Bytes by which a file that was met in a folder is judged to be text."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the results depend on besides the logs."""

    fingerprints: tuple[str, ...] = ()
    """Folders of fingerprints besides the built-in ones."""
    redact: bool = True
    runtime: str | None = None
    catalogue: str | None = None
    """Hash that the catalogue must have; None takes any. It may differ on another machine, or change while a batch runs."""
    folder: str | None = None
    """The folder that relative paths are relative to, where the worker's machine has it; None means its current one."""

    def classifier(self) -> Classifier:
        """A classifier of these settings. Raises CatalogueErrors or OptionError."""
        catalogue = cached_catalogue([builtin_directory(), *self.fingerprints])
        return Classifier(catalogue, redacted=self.redact, runtime=self.runtime)


def classify_case(case: Case, classifier: Classifier) -> CaseResult:
    """The result for one case. Never raises: what goes wrong is told in the result."""
    if case.error is not None:
        return unreadable_row(case.name, case.error)
    try:
        if case.met and (what := _no_log(case.paths)) is not None:
            return unreadable_row(case.name, what)
        return row_of(case.name, classify_sources(open_paths(case.paths), classifier))
    except CrashsigError as error:
        if case.size and isinstance(error.__cause__, FileNotFoundError):
            return unreadable_row(
                case.name, "no such file any more; it vanished after the batch began, or this machine does not have it"
            )
        place = error.location.file if error.location is not None else None
        return unreadable_row(case.name, error.message if place in (None, case.name) else str(error))
    except MemoryError:
        return unreadable_row(case.name, "there was not enough memory to read it")
    except Exception as error:  # noqa: BLE001 - one bad file never ends the run
        return unreadable_row(case.name, f"internal error, please report it: {type(error).__name__}: {error}"[:500])


def finished_line(case: Case, result: CaseResult) -> str:
    """A journal's line, without its end: what the case was when it was read, and its row."""
    return f'{{"size":{case.size},"modified":{case.modified},"row":{encode(result)}}}'


def cases_text(cases: Sequence[Case]) -> str:
    """Cases as JSON on one line, for another process."""
    return json.dumps([[c.name, c.paths, c.size, c.modified, c.met, c.error] for c in cases])


def cases_of(text: str | bytes) -> list[Case]:
    """The cases that `cases_text` wrote."""
    return [Case(name, tuple(paths), *rest) for name, paths, *rest in json.loads(text)]


def _no_log(paths: Sequence[str]) -> str | None:
    """What a file is that was met in a folder of logs and is none, or None."""
    if len(paths) != 1 or "://" in paths[0]:
        return None
    try:
        with open(paths[0], "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            head = file.read(HEAD)
    except OSError:
        return None  # reading it tells
    if compression_of(head) is None and archive_of(head[:512]) is None and looks_binary(head):
        return "binary data, not a log; name the file itself to have it searched all the same"
    return None
