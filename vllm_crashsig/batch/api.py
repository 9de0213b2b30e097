"""The library's door to batches."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from os import PathLike, fspath

from .cases import Case, case_of
from .pool import available_cpus, run_pool
from .row import CaseResult, decode
from .run import run_here
from .schedule import schedule, useful_jobs
from .work import Settings


def classify_cases(
    cases: Iterable[str | PathLike[str] | Iterable[str | PathLike[str]]],
    *,
    jobs: int | None = None,
    fingerprints: Iterable[str | PathLike[str]] = (),
    redact: bool = True,
    runtime: str | None = None,
    ordered: bool = True,
) -> Iterator[CaseResult]:
    """A result for each case, through a pool of processes. A bad file never ends the run: its result tells the error.

    cases: each is a path, or several paths that belong together. jobs: processes (None: one for each processor; 0: none, the
    work is done here). fingerprints: folders of more fingerprints. redact, runtime: as for `Classifier`.
    ordered: in the order of the cases, for which results that come early wait in memory (about 1 kB each); False takes them as
    they come. Raises CatalogueErrors or OptionError when it begins. Whoever stops iterating stops the processes.
    """
    todo = [case_of(case) for case in cases]
    plain = Settings(tuple(fspath(f) for f in fingerprints), redact, runtime)
    settings = replace(plain, catalogue=plain.classifier().catalogue.hash)
    count = available_cpus() if jobs is None else jobs
    return _results(todo, count, settings, ordered)


def _results(cases: list[Case], jobs: int, settings: Settings, ordered: bool) -> Iterator[CaseResult]:
    wanted = deque(cases)
    asked = Counter(cases)
    unique = list(asked)
    if jobs == 0:
        groups = run_here(unique, settings)
    else:
        jobs = useful_jobs(unique, jobs) if jobs > 0 else jobs
        groups = run_pool(schedule(unique, jobs), jobs, settings)
    results: dict[Case, CaseResult] = {}
    with closing(groups):
        for case, line in chain.from_iterable(groups):
            result = decode(json.loads(line)["row"])
            if not ordered:
                yield result
                continue
            results[case] = result
            while wanted and wanted[0] in results:
                first = wanted.popleft()
                asked[first] -= 1
                yield results[first] if asked[first] else results.pop(first)
