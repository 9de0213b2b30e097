"""How the time grows: with the size of the log, the number of fingerprints, and the share of lines that hit."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bare import bare_scan, wanted
from catalogues import synthetic, write_catalogue
from logs import Kind, write_log
from measuring import Plan, here, one_core
from results import Section
from scanning import classified, read_alone

from vllm_crashsig import Catalogue, Classifier, classify_paths

MANY = 2000
"""Fingerprints above which one round must do: a classifier is made ready anew for each."""
DENSITIES = (0.0, 0.001, 0.01, 0.1, 0.3, 1.0)


def measure(plan: Plan) -> list[Section]:
    """The three ways to grow."""
    return [by_size(plan), by_fingerprints(plan), by_hits(plan)]


def by_size(plan: Plan) -> Section:
    """Logs from small to large."""
    section = Section(
        "Growing log",
        "A busy server with 0.1% of errors, classified in a process that is ready.",
        ("MB", "ms", "MB/s", "of the largest log's rate"),
    )
    took = {}
    for share in (0.004, 0.02, 0.1, 0.5, 2):
        path = write_log(plan.path("growing.log"), int(plan.size * share * 1e6), Kind(errors=0.001), plan.seed)
        with one_core():
            times = plan.side_by_side({"": classified(path)}, plan.rounds if share < 1 else min(plan.rounds, 2))
        took[path.stat().st_size / 1e6] = times[""].least
        path.unlink()
    size, seconds = list(took.items())[-1]
    section.rows = [[f"{s:.2f}", f"{t * 1000:.1f}", f"{s / t:.0f}", f"{s / t / (size / seconds):.2f}"] for s, t in took.items()]
    return section


def by_fingerprints(plan: Plan) -> Section:
    """Catalogues from small to large."""
    section = Section(
        "Growing catalogue",
        "Real fingerprints, and beyond their number variants with other words. Reading checks and compiles each pattern; "
        "preparing makes the gate, the first time or out of the cache; both are paid once, and only for one's own catalogues. "
        "The log is a busy server's, without and with 1% of errors.",
        ("fingerprints", "patterns", "read s", "prepare s", "from cache s", "ms per MB", "growth", "1% errors", "bare scan"),
    )
    calm = write_log(plan.path("calm.log"), int(plan.size * 1e6 / 2), seed=plan.seed)
    failing = write_log(plan.path("failing.log"), int(plan.size * 1e6 / 4), Kind(errors=0.01), plan.seed)
    first = 0.0
    for number in plan.fingerprints:
        folder = plan.path(f"catalogue {number}")
        write_catalogue(folder, number, plan.seed)
        with one_core(), own_cache(plan.path(f"cache {number}")):
            started = time.process_time()
            catalogue = synthetic(folder)
            read = time.process_time() - started
            fresh, cached = prepared(catalogue), prepared(catalogue)
            bare = bare_scan(catalogue)
            times = plan.side_by_side(
                {
                    "failing": classified(failing, catalogue),
                    "calm": classified(calm, catalogue, warm=False),
                    "bare": here(lambda bare=bare: bare(calm)),  # type: ignore[misc]
                    "read": here(lambda: read_alone(calm)),
                },
                min(plan.rounds, 3) if number <= MANY else 1,
            )
        per = {name: t.least / (failing if name == "failing" else calm).stat().st_size * 1e9 for name, t in times.items()}
        first = first or per["calm"]
        patterns = len(wanted(catalogue)[0])
        section.rows.append([
            f"{number:,}", f"{patterns:,}", f"{read:.2f}", f"{fresh:.2f}", f"{cached:.2f}", f"{per['calm']:.2f}",
            f"{per['calm'] / first:.2f}", f"{per['failing']:.2f}", f"{per['bare']:.2f}",
        ])  # fmt: skip
        shutil.rmtree(folder)
    calm.unlink()
    failing.unlink()
    return section


def by_hits(plan: Plan) -> Section:
    """Logs from calm to nothing but errors."""
    section = Section(
        "Growing share of errors",
        "A busy server's lines, of which so many report failures, of twelve kinds, half of them with other numbers each time.",
        ("errors", "MB/s", "us a line", "growth", "us an error"),
    )
    calm = 0.0
    for share in DENSITIES:
        size = int(plan.size * 1e6 / 4 / (1 if share < 0.05 else 5))
        path = write_log(plan.path("hits.log"), size, Kind(errors=share), plan.seed)
        with one_core():
            took = plan.side_by_side({"": classified(path)}, min(plan.rounds, 3))[""].least
        coverage = classify_paths([path]).coverage
        line = took / coverage.lines * 1e6
        calm = calm or line
        error = f"{(line - calm * (1 - share)) / share:.0f}" if share else ""
        section.rows.append([f"{share:.1%}", f"{coverage.bytes / took / 1e6:.0f}", f"{line:.2f}", f"{line / calm:.1f}", error])
        path.unlink()
    return section


def prepared(catalogue: Catalogue) -> float:
    """Processor seconds until a classifier is ready."""
    return here(lambda: Classifier(catalogue).classify(b"x\n"))().cpu


@contextmanager
def own_cache(folder: Path) -> Iterator[None]:
    """An empty cache."""
    name = "VLLM_CRASHSIG_CACHE"
    before = os.environ.get(name)
    os.environ[name] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
