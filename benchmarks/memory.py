"""The peak memory of a process that reads a stream: however long, and also when it is one line."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from itertools import repeat

from logs import Kind, pieces
from measuring import PEAK, Plan, environment, python
from results import Goal, Section

CODE = f"{PEAK}\nfrom vllm_crashsig import classify_paths\nclassify_paths('-')\nprint(peak())"
LIMIT = 150
"""MB."""
BLOCK = 1 << 20


def measure(plan: Plan) -> list[Section]:
    """Streams through a pipe, from short to long."""
    section = Section(
        "Memory",
        "Peak resident memory of a process that classifies standard input: a busy server with 0.1% of errors.",
        ("stream", "peak MB", "growth"),
    )
    peaks = {f"{size:,} MB": peak_of(pieces(Kind(errors=0.001), plan.seed), size * 1_000_000) for size in plan.streams}
    longest = max(plan.streams)
    peaks[f"one line of {longest:,} MB"] = peak_of(repeat(b"x" * BLOCK), longest * 1_000_000)
    first = next(iter(peaks.values()))
    section.rows = [[name, f"{peak / 1e6:.0f}", f"{peak / first:.2f}"] for name, peak in peaks.items()]
    *_, stream, line = peaks.values()
    section.goals = [
        Goal(f"peak memory, a stream of {longest:,} MB", stream / 1e6, LIMIT, at_least=False, unit="MB"),
        Goal(f"peak memory, one line of {longest:,} MB", line / 1e6, LIMIT, at_least=False, unit="MB"),
    ]
    return [section]


def peak_of(blocks: Iterator[bytes], size: int) -> int:
    """Bytes at the peak of a process that is fed so much."""
    with subprocess.Popen(python(CODE), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdin is not None and process.stdout is not None
        while size > 0:
            size -= process.stdin.write(next(blocks)[:size])
        process.stdin.close()
        said = process.stdout.read()
    if process.returncode:
        raise RuntimeError("the process that reads a stream failed")
    return int(said)
