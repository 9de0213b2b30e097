"""How fast logs are classified, beside reading or unpacking them alone, a bare Hyperscan scan, ripgrep and GNU grep.

    python benchmarks/scan.py [--size MB] [--rounds N] [--seed N] [--quick]

For each kind of log, in one process and in turn: the log is read (or unpacked) and nothing else; it is read and scanned with
the gate's own database and a callback that does nothing; it is classified. Given is the least CPU time of each on one core,
so that a noisy machine disturbs the ratios little. The rivals count the lines that match the same patterns (ripgrep) or hold
one of the gate's literals (GNU grep), where they are installed. Then the peak memory, for growing logs and one endless line.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from decompress import zstd_module
from ordinary import write_log

from vllm_crashsig import Classifier, classify_paths
from vllm_crashsig.gate import HyperscanGate
from vllm_crashsig.sources import open_paths

KINDS: dict[str, dict[str, Any]] = {
    "busy server": {},
    "progress lines": {"mix": "progress"},
    "progress, 0.1% errors": {"mix": "progress", "errors": 0.001},
    "busy, 0.1% errors": {"errors": 0.001},
    "busy, 1% errors": {"errors": 0.01},
    "nothing but errors": {"errors": 1.0, "share": 0.05},
    "docker json-file": {"envelope": "docker json-file"},
    "CRI": {"envelope": "CRI"},
    "journald JSON": {"envelope": "journald JSON"},
    "JSON logger": {"envelope": "JSON logger"},
    "gzip": {"pack": "gz"},
    "zstd": {"pack": "zst"},
}
"""Name -> what `ordinary.write_log` is told; how it is packed; and which share of the size it has."""
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, 6),
    "zst": lambda data: bytes(zstd_module().compress(data, 3)),
}
COMPARED = ("busy server", "progress, 0.1% errors")
"""Of these, the rivals' times are taken too."""


def read_alone(path: Path) -> int:
    """Reads and unpacks as the classifier does."""
    return sum(len(chunk) for source in open_paths([path]) for chunk in source.chunks())


def bare_scan(classifier: Classifier) -> Callable[[Path], None]:
    """Reads and scans for the gate's literals, with a callback that does nothing."""
    gate = classifier._prepared[1]
    assert isinstance(gate, HyperscanGate)
    database, scratch = gate._databases["all"], gate._scratch("all")

    def on_match(*_: object) -> None:
        return None

    def run(path: Path) -> None:
        for source in open_paths([path]):
            for chunk in source.chunks():
                database.scan(chunk, match_event_handler=on_match, scratch=scratch)

    return run


def measure(path: Path, rounds: int) -> dict[str, float]:
    """The least CPU seconds of each way."""
    classifier = Classifier()
    ways: dict[str, Callable[[Path], object]] = {
        "read": read_alone,
        "scan": bare_scan(classifier),
        "classify": lambda path: classify_paths([path], classifier),
    }
    ways["classify"](path)  # patterns are compiled when first needed
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, run in ways.items():
            started = time.process_time()
            run(path)
            best[name] = min(best.get(name, 1e9), time.process_time() - started)
    return best


_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?[=!]|\(\?P<\w+>|\(|\)|[^\\\[()]+", re.DOTALL)


def rust_patterns() -> list[str]:
    """The patterns in ripgrep's dialect: it has no lookarounds, and a group's name may be used only once."""
    matcher = Classifier()._prepared[0]
    out = []
    for probe in map(matcher.probes.__getitem__, matcher.gated):
        text, depth = "", 0
        for token in _TOKEN.findall(probe.pattern):
            if depth:
                depth += token.startswith("(") - (token == ")")
            elif token in ("(?=", "(?!", "(?<=", "(?<!"):
                depth = 1
            else:
                text += "(?:" if token.startswith("(?P<") else token
        out.append(("(?i)" if probe.ignore_case else "") + text)
    return out


def rivals(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The commands that are installed."""
    if shutil.which("rg"):
        patterns = folder / "patterns"
        patterns.write_text("\n".join(rust_patterns()) + "\n", encoding="utf-8")
        limits = ["--regex-size-limit", "4G", "--dfa-size-limit", "4G"]
        yield "ripgrep", ["rg", "-j1", "-a", "--no-unicode", *limits, "-c", "-f", str(patterns)]
    if shutil.which("grep"):
        literals = folder / "literals"
        found = Classifier()._prepared[0].index.gate
        literals.write_text("\n".join(literal for literal, _ in found) + "\n", encoding="utf-8")
        yield "GNU grep -F", ["grep", "-a", "-c", "-F", "-f", str(literals)]


def cpu_seconds(command: list[str], rounds: int) -> float:
    """The least CPU time of a command."""
    best = 1e9
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 1) or done.stderr:
            raise SystemExit(f"{command[0]} failed: {done.stderr[-500:]!r}")
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


MEMORY = """
import sys
from vllm_crashsig import classify_paths
classify_paths(sys.argv[1:])
try:
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
except OSError:
    import resource
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1))
"""
"""Prints KiB. On Linux, getrusage would count the memory of the process that started this one."""


def peak_memory(path: Path) -> int:
    """MiB of a process that classifies the file."""
    return int(subprocess.run([sys.executable, "-c", MEMORY, str(path)], capture_output=True, check=True).stdout) >> 10


def endless_line(size: int) -> int:
    """MiB of a process that is fed one line of ``size`` bytes through a pipe."""
    with subprocess.Popen(
        [sys.executable, "-c", MEMORY, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        piece = b"x" * 1_000_000
        for _ in range(size // len(piece)):
            process.stdin.write(piece)
        process.stdin.close()
        return int(process.stdout.read()) >> 10


def make(folder: Path, name: str, size: int, seed: int) -> Path:
    told = dict(KINDS[name])
    pack, share = told.pop("pack", None), told.pop("share", 1)
    path = folder / (name.replace(" ", "-").replace("%", "").replace(",", "") + ".log")
    write_log(path, int(size * share), seed=seed, **told)
    if pack is None:
        return path
    packed = path.with_suffix(f".log.{pack}")
    packed.write_bytes(PACKERS[pack](path.read_bytes()))
    path.unlink()
    return packed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100, help="MB of each log (default 100)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="no rivals, no memory")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if options.measure:
        print(json.dumps(measure(options.measure, options.rounds)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'':24}{'MB/s':>7}{'of reading':>12}{'of bare scan':>14}{'us/line':>9}")
        for kind in KINDS:
            path = make(folder, kind, options.size * 1_000_000, options.seed)
            command = [sys.executable, __file__, "--measure", str(path), "--rounds", str(options.rounds)]
            best = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
            report = classify_paths([path])
            size, took = report.coverage.bytes / 1e6, best["classify"]
            print(
                f"{kind:24}{size / took:7.0f}{best['read'] / took:12.2f}{best['scan'] / took:14.2f}"
                f"{took / report.coverage.lines * 1e6:9.2f}"
            )
            if kind in COMPARED and not options.quick:
                for rival, start in rivals(folder):
                    seconds = cpu_seconds([*start, str(path)], 2)
                    print(f"    {rival:20}{size / seconds:7.0f}   vllm-crashsig is {seconds / took:.1f} times as fast")
            path.unlink()
        if not options.quick:
            for size in (1, options.size, 10 * options.size):
                path = folder / "growing.log"
                write_log(path, size * 1_000_000, errors=0.001)
                print(f"peak memory for {size:5} MB: {peak_memory(path):4} MiB")
                path.unlink()
            print(f"peak memory for one line of {10 * options.size} MB: {endless_line(10 * options.size * 1_000_000)} MiB")


if __name__ == "__main__":
    main()
