"""How fast many small logs are classified: by `classify_paths` in a loop, by the pool, and on a Ray cluster of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree

from cold_start import crashsig
from logs import small_logs
from measuring import ROOT, Cost, Plan, command, environment, here
from results import Section

from vllm_crashsig import Classifier, classify_paths


def measure(plan: Plan) -> list[Section]:
    """Growing numbers of samples of all areas, and the largest number of healthy logs."""
    section = Section(
        "Batches of small logs",
        "`vllm-crashsig batch` over logs below 20 KB, beside a loop of `classify_paths` in one process that is ready. Per core "
        "is what one processor would reach at that cost, starting included; own is what the batch costs besides the loop.",
        ("logs and way", "logs/s", "logs/s per core", "of the loop", "own ms a log"),
    )
    if plan.ray and not _has_ray():
        section.notes.append("Missing: Ray (pip install 'ray[data]').")
    for healthy, count in [*((False, number) for number in plan.batches), (True, max(plan.batches))]:
        folder = plan.path(f"batch {count} {healthy}")
        make_logs(folder, count, plan.seed, healthy=healthy)
        _rows(section, plan, folder, f"{count:,} {'healthy' if healthy else 'crashed'}", count)
        rmtree(folder)
    return [section]


def _rows(section: Section, plan: Plan, folder: Path, name: str, count: int) -> None:
    loop = plain_loop(folder)
    section.rows.append([f"{name}: a loop", f"{count / loop.wall:,.0f}", f"{count / loop.cpu:,.0f}", "", ""])
    jobs = os.cpu_count() or 1
    out = plan.path("batch.jsonl")
    ways = {f"pool of {jobs}": batch([str(folder), "--output", str(out), "--jobs", str(jobs)])}
    if plan.ray and _has_ray():
        with ray_cluster(plan.ray) as (address, process):
            to = plan.path("batch-ray.jsonl")
            options = [str(folder), "--output", str(to), "--engine", "ray", "--ray-address", address]
            ways[f"Ray, {plan.ray} raylets"] = batch(options, process)
        if to.read_bytes() != out.read_bytes():
            raise RuntimeError("Ray's results differ from the pool's")
        to.unlink()
    out.unlink()
    for way, cost in ways.items():
        section.rows.append([
            f"{name}: {way}", f"{count / cost.wall:,.0f}", f"{count / cost.cpu:,.0f}", f"{loop.cpu / cost.cpu:.2f}",
            f"{(cost.cpu - loop.cpu) / count * 1000:.2f}",
        ])  # fmt: skip


def _has_ray() -> bool:
    return find_spec("ray") is not None


def make_logs(folder: Path, count: int, seed: int, *, healthy: bool = False) -> None:
    """Small logs in one folder for each of some nodes."""
    for number, data in enumerate(small_logs(count, seed, healthy=healthy)):
        home = folder / f"node-{number % 37:02d}"
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{number:06d}.log").write_bytes(data)


def plain_loop(folder: Path) -> Cost:
    """`classify_paths` over all logs, one classifier."""
    classifier = Classifier()
    paths = sorted(folder.rglob("*.log"))
    classify_paths(paths[0], classifier)
    return here(lambda: [classify_paths(path, classifier) for path in paths])()


def batch(arguments: list[str], cluster: int | None = None) -> Cost:
    """A batch, with what a cluster spent on it."""
    meter = Meter(cluster) if cluster is not None else None
    if meter is not None:
        meter.start()
    cost = command(crashsig("batch", *arguments, "--quiet"))()
    return Cost(cost.cpu + (meter.seconds() if meter is not None else 0.0), cost.wall)


@contextmanager
def ray_cluster(nodes: int) -> Iterator[tuple[str, int]]:
    """A cluster of so many raylets with one processor each: its address, and the process that started it."""
    script = ROOT / "tests" / "ray_cluster.py"
    with subprocess.Popen(
        [sys.executable, str(script), str(nodes)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment(),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process.pid
        process.communicate()


class Meter(threading.Thread):
    """Adds up what a process and all below it use of the processors, looking a few times a second: nobody waits for Ray's."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self._root = root
        self._first = self._used()
        self._last = dict(self._first)
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.25):
            self._last.update(self._used())

    def seconds(self) -> float:
        """Ends, and tells the sum."""
        self._over.set()
        self.join()
        self._last.update(self._used())
        return sum(last - self._first.get(pid, 0) for pid, last in self._last.items()) / os.sysconf("SC_CLK_TCK")

    def _used(self) -> dict[int, int]:
        parents: dict[int, list[int]] = {}
        used: dict[int, int] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    told = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                parents.setdefault(int(told[1]), []).append(int(entry.name))
                used[int(entry.name)] = int(told[11]) + int(told[12])
        waiting, found = [self._root], {}
        while waiting:
            process = waiting.pop()
            found[process] = used.get(process, 0)
            waiting += parents.get(process, [])
        return found
