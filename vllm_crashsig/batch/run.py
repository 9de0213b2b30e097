"""A whole batch: cases found, an engine run over those that are not finished yet, results and report written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TextIO

from ..errors import CrashsigError, OptionError
from ..version import __version__
from .cases import Case, CaseKind, find_cases
from .journal import SUFFIX, Journal
from .pool import Done, available_cpus, run_pool
from .progress import Progress
from .schedule import TASK_CASES, schedule, useful_jobs
from .summary import Summary
from .tables import RENDERERS
from .work import Settings, classify_case, finished_line
from .writers import check_output, check_place, replacing, write_rows

Engine = Literal["pool", "ray"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of a batch."""

    paths: Sequence[str]
    output: str | None = None
    """File of results, its format by its suffix; None only counts."""
    report: str | None = None
    """File of the summary, ``.html`` or ``.md``."""
    kind: CaseKind = "file"
    jobs: int | None = None
    """Worker processes, or tasks on the cluster; None means as many as there are processors, 0 works in this process."""
    engine: Engine = "pool"
    ray_address: str | None = None
    ray_runtime_env: Mapping[str, Any] | None = None
    resume: bool = False
    restart: bool = False
    keep_journal: bool = False
    """Leave the journal, so that a later batch with ``resume`` reads only what is new or has changed."""
    settings: Settings = field(default_factory=Settings)


def run_batch(plan: Plan, tell: Callable[[str], None] = lambda _: None, terminal: TextIO | None = None) -> Summary:
    """Classifies all cases, writes what the plan asks for, and returns the counts.

    tell: takes sentences about what was left out. terminal: where progress is drawn.
    Raises OptionError, InputError or CatalogueErrors before anything is done, CrashsigError when it must break off; what was
    finished by then is in the journal, beside the output.
    """
    _check(plan)
    catalogue = plan.settings.classifier().catalogue.hash
    settings = replace(plan.settings, catalogue=catalogue)
    own = [] if plan.output is None else [plan.output, plan.output + SUFFIX]
    found = find_cases(plan.paths, plan.kind, leave_out=own + ([] if plan.report is None else [plan.report]))
    for note in found.notes:
        tell(note)
    if not found.cases:
        raise OptionError(f"there is no file in {', '.join(plan.paths)}; name files, or folders that hold some")
    summary = Summary(__version__, catalogue)
    with closing(_Engine(plan, settings)) as engine, closing(_journal(plan, settings)) as journal:
        todo = [case for case in found.cases if not journal.is_finished(case)]
        if plan.resume:
            tell(f"{len(found.cases) - len(todo):,} of {len(found.cases):,} cases were finished already")
        progress = Progress(todo, finished=len(found.cases) - len(todo), out=terminal)
        try:
            with closing(engine.run(todo)) as groups:
                for group in groups:
                    journal.add(group)
                    progress.add([case for case, _ in group])
            progress.clear()
            journal.sync()
            _finish(plan, found.cases, journal, summary, tell)
        except (KeyboardInterrupt, CrashsigError):
            progress.clear()
            journal.sync()
            if journal.path is not None:
                kept = len(journal.places)
                tell(f"broken off: {kept:,} cases are finished and kept in {journal.path}; --resume goes on with it")
            raise
    return summary


def _check(plan: Plan) -> None:
    if plan.resume and plan.restart:
        raise OptionError("--resume goes on with a batch and --restart throws it away; give one of them")
    if plan.output is None and (plan.resume or plan.restart or plan.keep_journal):
        raise OptionError("--resume, --restart and --keep-journal are about the journal beside --output; give --output")
    if plan.output is not None:
        check_output(plan.output)
    if plan.report is not None:
        _renderer(plan.report)
        check_place(plan.report)


def _renderer(path: str) -> Callable[[Summary], str]:
    for suffixes, renderer in RENDERERS.items():
        if path.lower().endswith(suffixes):
            return renderer
    raise OptionError(f"{path}: the suffix must say the format of the report: .html or .md")


def _journal(plan: Plan, settings: Settings) -> Journal:
    header = {
        "version": __version__, "catalogue": settings.catalogue, "case": plan.kind, "redact": settings.redact,
        "runtime": settings.runtime,
    }  # fmt: skip
    path = None if plan.output is None else plan.output + SUFFIX
    return Journal(path, header, resume=plan.resume, restart=plan.restart)


class _Engine:
    """What does the work: this process, a pool, or a cluster, which is joined at once."""

    def __init__(self, plan: Plan, settings: Settings) -> None:
        self._jobs, self._settings = plan.jobs, settings
        self._cluster = None
        if plan.engine == "ray":
            from .ray_engine import Cluster

            self._cluster = Cluster(plan.ray_address, plan.ray_runtime_env)

    def run(self, cases: Sequence[Case]) -> Generator[Done, None, None]:
        """Results in groups, as they come."""
        if self._cluster is not None:
            chunks = schedule(cases, self._jobs or self._cluster.cpus, TASK_CASES)
            return self._cluster.run(chunks, self._settings, self._jobs or None)
        if self._jobs == 0:
            return run_here(cases, self._settings)
        jobs = useful_jobs(cases, self._jobs or available_cpus())
        return run_pool(schedule(cases, jobs), jobs, self._settings)

    def close(self) -> None:
        """Leaves the cluster."""
        if self._cluster is not None:
            self._cluster.close()


def run_here(cases: Sequence[Case], settings: Settings) -> Generator[Done, None, None]:
    """The results, worked out in this process one after the other."""
    classifier = settings.classifier()
    for case in cases:
        yield [(case, finished_line(case, classify_case(case, classifier)).encode() + b"\n")]


def _finish(plan: Plan, cases: Sequence[Case], journal: Journal, summary: Summary, tell: Callable[[str], None]) -> None:
    """Journal -> results in the order of the cases, and the report."""
    names = dict.fromkeys(case.name for case in cases)
    others = [name for name in journal.places if name not in names]
    gone = [name for name in others if "://" not in name and not os.path.lexists(name)]
    if gone:
        tell(f"{len(gone):,} finished case(s) are no longer there; their results are kept, at the end")
    if len(others) > len(gone):
        tell(f"{len(others) - len(gone):,} finished case(s) are not among those asked for now; their results are left out")

    def rows() -> Iterator[bytes]:
        for row in journal.rows([*names, *gone]):
            summary.add(json.loads(row))
            yield row

    if plan.output is None:
        for _ in rows():
            pass
    else:
        write_rows(plan.output, rows())
    if plan.report is not None:
        with replacing(plan.report) as file:
            file.write(_renderer(plan.report)(summary).encode("utf-8", "replace"))
    if not plan.keep_journal and journal.path is not None:
        journal.remove()
