"""Sessions that follow logs: how soon the answer comes after the decisive line, what one costs in memory, and when idle."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from cold_start import crashsig
from logs import SAMPLES, Kind, crash_log, pieces
from measuring import Plan, environment, python
from results import Goal, Section

from vllm_crashsig import Classifier, Session

LATENCY = 50
"""ms."""
PER_SESSION = 100
"""KB."""
CHUNK = 8 * 1024
FLOW = 4_000_000
"""Bytes of a log with 1% of errors that flow before a crash."""

SESSIONS = """
import gc, sys
from pathlib import Path
from measuring import resident
from vllm_crashsig import Classifier
log, number = Path(sys.argv[1]).read_bytes(), int(sys.argv[2])
classifier = Classifier()
def follow(name):
    session = classifier.session()
    for start in range(0, len(log), 4096):
        session.feed(log[start : start + 4096], name)
    session.idle()
    return session
for warm in range(3):
    follow("warm")
gc.collect()
before = resident()
sessions = [follow(f"pod-{n}") for n in range(number)]
gc.collect()
print((resident() - before) / number)
"""
"""Code for a child: bytes of memory for each session that has taken a log."""
FIRST = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from live import feeds_until_told
from vllm_crashsig import Classifier
classifier = Classifier()
classifier.classify(b"x\\n")
print(max(feeds_until_told(classifier.session(), Path(sys.argv[2]).read_bytes())))
"""
"""Code for a child: seconds of the slowest feed of a crash's lines, with all patterns to be compiled still."""


def measure(plan: Plan) -> list[Section]:
    """Latency, memory and idleness."""
    return [latency(plan), memory(plan), idle(plan)]


def feeds_until_told(session: Session, log: bytes) -> list[float]:
    """Seconds that each feed of a line took, up to the one that told of a crash (or of all, if none did)."""
    took = []
    for line in log.splitlines(keepends=True):
        started = time.perf_counter()
        updates = session.feed(line)
        took.append(time.perf_counter() - started)
        if any(update.verdict == "crash" for update in updates):
            break
    return took


def crashes(plan: Plan) -> list[bytes]:
    """Real and other logs that tell of a crash."""
    paths = [path for path in sorted(SAMPLES.glob("*/hit-*.log")) if path.stat().st_size < 64 * 1024]
    return [path.read_bytes() for path in random.Random(plan.seed).sample(paths, min(plan.latencies, len(paths)))]


def latency(plan: Plan) -> Section:
    """From the decisive line to the update: by the clock on the wall, as an operator sees it."""
    classifier = Classifier()
    classifier.classify(b"x\n")
    logs = crashes(plan)
    for log in logs:
        feeds_until_told(classifier.session(), log)
    warm = [feeds_until_told(classifier.session(), log)[-1] for log in logs]
    first = []
    for number, log in enumerate(logs[: max(1, plan.latencies // 12)]):
        path = plan.path(f"first {number}.log")
        path.write_bytes(log)
        done = subprocess.run(
            python(FIRST, str(Path(__file__).parent), str(path)), stdout=subprocess.PIPE, check=True, env=environment()
        )
        first.append(float(done.stdout))
    flood, told = flooded(classifier, plan)
    rows: list[Sequence[str]] = [
        _row("of a session in a process that has seen crashes", warm),
        _row("the slowest line of the first crash of a process", first),
        _row("each feed of 8 KB of a log with 1% of errors", flood),
        _row("the decisive line behind that log (with `idle`)", told),
    ]
    worst = max(*warm, *first, *told) * 1000
    return Section(
        "Latency of a session",
        f"How long `Session.feed` takes, on the wall: {len(warm)} logs line by line, up to the update that tells of a crash.",
        ("what", "median ms", "95% ms", "slowest ms"),
        rows,
        [Goal("feed after the decisive line, the slowest", worst, LATENCY, at_least=False, unit="ms")],
    )


def flooded(classifier: Classifier, plan: Plan) -> tuple[list[float], list[float]]:
    """Seconds of each feed of a long log with errors, and until the crash behind it is told."""
    session = classifier.session()
    data = bytearray()
    for piece in pieces(Kind(errors=0.01), plan.seed):
        data += piece
        if len(data) >= min(FLOW, plan.size * 1e6 / 8):
            break
    took = []
    for start in range(0, len(data), CHUNK):
        started = time.perf_counter()
        session.feed(bytes(data[start : start + CHUNK]))
        took.append(time.perf_counter() - started)
    told = 0.0
    for line in crash_log(0).splitlines(keepends=True):
        started = time.perf_counter()
        updates = session.feed(line) + session.idle()
        told = time.perf_counter() - started
        if any(u.classification is not None and u.classification.id == "shm-exhausted" for u in updates):
            break
    return took, [told]


def _row(name: str, seconds: list[float]) -> list[str]:
    ordered = sorted(s * 1000 for s in seconds)
    return [
        name, f"{statistics.median(ordered):.2f}", f"{ordered[int(len(ordered) * 0.95) - (len(ordered) >= 20)]:.2f}",
        f"{ordered[-1]:.2f}",
    ]  # fmt: skip


def memory(plan: Plan) -> Section:
    """Of many sessions in one process."""
    section = Section(
        "Memory of a session",
        f"{plan.sessions:,} sessions in one process, each of which has taken a log of 20 KB in pieces: what each added.",
        ("log", "KB a session"),
    )
    logs = {
        "a healthy server": b"".join(islice(pieces(Kind(), plan.seed), 2))[:20_000],
        "a crash": crash_log(20_000, plan.seed),
    }
    for name, log in logs.items():
        path = plan.path("session.log")
        path.write_bytes(log)
        code = python(SESSIONS, str(path), str(plan.sessions))
        paths = os.pathsep.join([environment()["PYTHONPATH"], str(Path(__file__).parent)])
        done = subprocess.run(code, stdout=subprocess.PIPE, check=True, env=environment(PYTHONPATH=paths))
        size = float(done.stdout) / 1000
        section.rows.append([name, f"{size:.1f}"])
        goal = Goal(f"memory of each of {plan.sessions:,} sessions, {name}", size, PER_SESSION, at_least=False, unit="KB")
        section.goals.append(goal)
    return section


def idle(plan: Plan) -> Section:
    """When nothing comes."""
    classifier = Classifier()
    sessions = [classifier.session() for _ in range(plan.sessions)]
    for session in sessions:
        session.feed(b"(APIServer pid=1) INFO: Started server process [1]\n")
        session.idle()
    rounds = 20
    started = time.process_time()
    for _ in range(rounds):
        for session in sessions:
            session.idle()
    each = (time.process_time() - started) / rounds / len(sessions)
    used = watched(plan)
    return Section(
        "When nothing comes",
        "What `Session.idle` costs where nothing came since the last time, and a `watch` whose file does not grow.",
        ("what", "cost"),
        [
            ["Session.idle", f"{each * 1e6:.2f} us"],
            [f"{plan.sessions:,} sessions asked once a second", f"{each * len(sessions):.3%} of a core"],
            ["vllm-crashsig watch", f"{used:.2%} of a core" if used is not None else "not measured: no /proc here"],
        ],
    )


def watched(plan: Plan) -> float | None:
    """The share of a processor that a `watch` takes whose file does not grow; None where the system does not tell."""
    path = plan.path("watched.log")
    path.write_bytes(crash_log(20_000, plan.seed))
    if not Path("/proc/self/stat").exists():
        return None
    with subprocess.Popen(
        crashsig("watch", str(path)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has told of the crash
        time.sleep(min(2.0, plan.idle))
        before = _used(process.pid)
        time.sleep(plan.idle)
        after = _used(process.pid)
        process.terminate()
        process.stdout.read()
    return (after - before) / plan.idle


def _used(pid: int) -> float:
    """Processor seconds so far, at the kernel's full precision where it tells."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError):
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")
