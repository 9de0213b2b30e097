"""How fast many small logs are classified: in this process, by the pool, and on a Ray cluster of this machine; what each adds.

    python benchmarks/batch.py 1000 10000 --jobs 2 --ray 2

Processor time is what counts on a machine that has other things to do. "own" is what a way costs besides `classify_paths` on
the same logs, which is measured first; "per core" is the throughput that one processor would reach at that cost.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

from ordinary import ordinary_lines

from vllm_crashsig import Classifier, classify_paths

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-m", "vllm_crashsig", "batch"]
SMALL = 20_000
"""Bytes below which a sample is taken."""


def make_logs(folder: Path, count: int, healthy: bool) -> None:
    """Small logs, of all areas or of a healthy server, in one folder for each of some nodes."""
    samples = [p.read_bytes() for p in sorted((ROOT / "samples").glob("*/*.log")) if p.stat().st_size < SMALL]
    if healthy:
        samples = [b"".join(islice(ordinary_lines(seed=seed), 20)) for seed in range(100)]
    for number, data in enumerate(islice(cycle(samples), count)):
        home = folder / f"node-{number % 37:02d}"
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{number:06d}.log").write_bytes(data)


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


def run(arguments: list[str], cluster: int | None = None) -> tuple[float, float]:
    """(seconds, processor seconds) of a batch, with those that a cluster spent on it."""
    meter = Meter(cluster) if cluster is not None else None
    if meter is not None:
        meter.start()
    start, times = time.monotonic(), os.times()
    subprocess.run([*COMMAND, *arguments, "--quiet"], check=True)
    seconds, spent = time.monotonic() - start, os.times()
    used = spent.children_user - times.children_user + spent.children_system - times.children_system
    return seconds, used + (meter.seconds() if meter is not None else 0.0)


@contextmanager
def ray_cluster(nodes: int) -> Iterator[tuple[str, int]]:
    """A cluster of so many raylets with one processor each: its address, and the process that started it."""
    script = ROOT / "tests" / "ray_cluster.py"
    with subprocess.Popen(
        [sys.executable, str(script), str(nodes)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process.pid
        process.communicate()


def plain_loop(folder: Path) -> tuple[float, float]:
    """(seconds, processor seconds) of `classify_paths` over all logs, one classifier."""
    classifier = Classifier()
    classify_paths(next(folder.rglob("*.log")), classifier)
    start, used = time.monotonic(), time.process_time()
    for path in sorted(folder.rglob("*.log")):
        classify_paths(path, classifier)
    return time.monotonic() - start, time.process_time() - used


def tell(way: str, count: int, seconds: float, used: float, plain: float) -> None:
    """One line of the table."""
    print(
        f"{way:24} {count:7,} {seconds:8.1f} s {count / seconds:8,.0f}/s {used:8.1f} s cpu {count / used:8,.0f}/s per core "
        f"{(used - plain) / count * 1000:7.2f} ms own",
        flush=True,
    )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="*", type=int, default=[1000], help="numbers of logs (default: 1000)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes of the pool (default: all processors)")
    parser.add_argument("--healthy", action="store_true", help="logs of 20 ordinary lines, not samples of crashes")
    parser.add_argument("--quick", action="store_true", help="neither a batch in the process nor a pool of one")
    parser.add_argument("--ray", type=int, default=0, metavar="NODES", help="also on a cluster of so many raylets (needs Ray)")
    told = parser.parse_args()
    for count in told.counts:
        with tempfile.TemporaryDirectory() as home:
            logs, out = Path(home, "logs"), Path(home, "out")
            out.mkdir()
            make_logs(logs, count, told.healthy)
            seconds, plain = plain_loop(logs)
            tell("classify_paths, a loop", count, seconds, plain, plain)
            for jobs in sorted({told.jobs} if told.quick else {0, 1, told.jobs}):
                way = "batch, in the process" if jobs == 0 else f"pool of {jobs}"
                options = [str(logs), "--output", str(out / f"{jobs}.jsonl"), "--jobs", str(jobs)]
                tell(way, count, *run(options), plain)
            if told.ray:
                with ray_cluster(told.ray) as (address, process):
                    for number in (1,) if told.quick else (1, 2):
                        options = [str(logs), "--output", str(out / "ray.jsonl"), "--engine", "ray", "--ray-address", address]
                        way = f"Ray, {told.ray} raylets{', warm' if number == 2 else ''}"
                        tell(way, count, *run(options, process), plain)
                if (out / "ray.jsonl").read_bytes() != (out / f"{told.jobs}.jsonl").read_bytes():
                    sys.exit("the results differ")


if __name__ == "__main__":
    main()
