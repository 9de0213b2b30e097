"""What all benchmarks measure with: processor time, ways taken in turn, peak memory, and the size of a run.

Processor time and not the clock on the wall, since other things run on most machines; the ways that are compared are taken in
turn, round by round, so that a noisy moment disturbs all of them; the least of the rounds counts.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class MissingError(Exception):
    """Something that is not installed; says how to install it."""


class ChangedError(Exception):
    """The package is no longer as a benchmark takes it to be; says which module must follow."""


@dataclass(frozen=True)
class Cost:
    """What one run took: seconds of the processor, and on the wall."""

    cpu: float
    wall: float = 0.0


@dataclass(frozen=True)
class Times:
    """The rounds of one way."""

    rounds: Sequence[Cost]

    @property
    def least(self) -> float:
        """Processor seconds of the best round."""
        return max(min(cost.cpu for cost in self.rounds), 1e-9)

    @property
    def wall(self) -> float:
        """Seconds on the wall of the middle round."""
        return statistics.median(cost.wall for cost in self.rounds)

    @property
    def spread(self) -> float:
        """How much the middle round is above the best one: 0.1 is a tenth."""
        return statistics.median(cost.cpu for cost in self.rounds) / self.least - 1


@dataclass
class Plan:
    """How large a run is. The defaults are those of a complete one."""

    folder: Path
    """Where logs are made; empty at first."""
    size: float = 64
    """MB of each log."""
    share: float = 0.1
    """MB of it for what is so slow that the rest is worked out."""
    kinds: int = 3
    """Kinds of logs that the rivals are given."""
    rounds: int = 5
    starts: int = 15
    """Rounds of what takes well below a second."""
    seed: int = 7
    fingerprints: Sequence[int] = (150, 300, 1000, 5000)
    streams: Sequence[int] = (1, 100, 2000)
    """MB that flow through a pipe while the memory is watched; the last one also as one line."""
    sessions: int = 1000
    latencies: int = 60
    """Logs of crashes that flow into a session."""
    idle: float = 5.0
    """Seconds for which `watch` is left alone."""
    batches: Sequence[int] = (1000, 10_000)
    ray: int = 0
    """Raylets on which a batch runs too."""
    spreads: list[float] = field(default_factory=list)
    """Of all that was measured so far."""

    def side_by_side(self, ways: Mapping[str, Callable[[], Cost]], rounds: int | None = None) -> dict[str, Times]:
        """Takes the ways in turn, so many rounds."""
        found: dict[str, list[Cost]] = {name: [] for name in ways}
        for _ in range(rounds or self.rounds):
            for name, run in ways.items():
                found[name].append(run())
        times = {name: Times(costs) for name, costs in found.items()}
        self.spreads += [t.spread for t in times.values() if len(t.rounds) > 2]
        return times

    def path(self, name: str) -> Path:
        """A new file of the run."""
        return self.folder / "".join(c if c.isalnum() or c == "." else "-" for c in name)


def here(run: Callable[[], object]) -> Callable[[], Cost]:
    """A way that runs in this process."""

    def measured() -> Cost:
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        return Cost(time.process_time() - cpu, time.perf_counter() - wall)

    return measured


def environment(**more: str) -> dict[str, str]:
    """That of a child: this checkout's package, whatever is installed; its bytecode is kept, as that of an installed one is."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def command(arguments: Sequence[str], fine: Sequence[int] = (0,), **more: str) -> Callable[[], Cost]:
    """A way that is a process of its own, with all that it started. Raises RuntimeError when it fails."""

    def measured() -> Cost:
        # what it says goes to a file: GNU grep stops at the first match when it sees /dev/null
        with tempfile.TemporaryFile() as said:
            wall = time.perf_counter()
            process = subprocess.Popen(arguments, stdout=said, stderr=said, env=environment(**more))
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - wall
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode not in fine:
                said.seek(0)
                tail = said.read()[-300:].decode(errors="replace")
                raise RuntimeError(f"{Path(arguments[0]).name} failed ({process.returncode}): {tail}")
        return Cost(used.ru_utime + used.ru_stime, wall)

    return measured


def python(code: str, *arguments: str) -> list[str]:
    """The command that runs this code."""
    return [sys.executable, "-c", code, *arguments]


@contextmanager
def one_core() -> Iterator[None]:
    """Stays on one processor, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


PEAK = """
def peak():
    try:
        with open("/proc/self/status") as status:
            return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) << 10
    except OSError:
        import resource, sys
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)
"""
"""Code for a child: its peak memory in bytes. On Linux, getrusage would count the memory of the process that started it."""


def resident() -> int:
    """Bytes of memory that this process has now. Raises MissingError where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError as error:
        raise MissingError("no /proc on this system") from error
