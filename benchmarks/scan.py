"""How fast an ordinary log is classified, beside ripgrep counting lines that match the same patterns. One core, one run.

    python benchmarks/scan.py [--size MB] [--rounds N]

Prints the median CPU time of each as a rate, their ratio, and the peak memory of the classifier. Both read the same file from
the page cache; they run in turn, and CPU time is taken, so that a noisy machine disturbs neither more than the other.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from ordinary import write_ordinary

from vllm_crashsig.catalogue import load_catalogue
from vllm_crashsig.match import Matcher

CLASSIFY = """
import resource, sys, time
from vllm_crashsig import Classifier, classify_paths
classifier = Classifier()
classifier.session()
started = time.process_time()
report = classify_paths([sys.argv[1]], classifier)
seconds = time.process_time() - started
assert report.verdict == "healthy", report.verdict
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
SCAN = """
import sys, time
from vllm_crashsig import Classifier
gate = Classifier()._prepared[1]
started = time.process_time()
with open(sys.argv[1], "rb", buffering=0) as file:
    while chunk := file.read(1 << 20):
        gate.scan(chunk)
print(time.process_time() - started, 0)
"""


_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?[=!]|\(\?P<\w+>|\(|\)|[^\\\[()]+", re.DOTALL)


def rust_patterns() -> list[str]:
    """The patterns in ripgrep's dialect: it has no lookarounds, and a group's name may be used only once."""
    matcher = Matcher(load_catalogue())
    out = []
    for _, pattern, ignore_case in matcher.gate_patterns():
        text, depth = "", 0
        for token in _TOKEN.findall(pattern):
            if depth:
                depth += token.startswith("(") - (token == ")")
            elif token in ("(?=", "(?!", "(?<=", "(?<!"):
                depth = 1
            else:
                text += "(?:" if token.startswith("(?P<") else token
        out.append(("(?i)" if ignore_case else "") + text)
    return out


def run(command: list[str]) -> tuple[float, float]:
    """CPU seconds as the child tells them (else all of its own), and its peak memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1) or done.stderr:
        raise SystemExit(f"{command[0]} failed: {done.stderr[-500:]}")
    told = done.stdout.split()
    if len(told) == 2:
        return float(told[0]), float(told[1]) / 1024
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=300, help="MB of log (default 300)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        log, patterns = Path(folder) / "ordinary.log", Path(folder) / "patterns"
        write_ordinary(log, options.size * 1_000_000)
        expressions = rust_patterns()
        patterns.write_text("\n".join(expressions) + "\n", encoding="utf-8")
        rivals = {
            "vllm-crashsig": [sys.executable, "-c", CLASSIFY, str(log)],
            "bare Hyperscan scan": [sys.executable, "-c", SCAN, str(log)],
        }
        if shutil.which("rg"):
            limits = ["--regex-size-limit", "4G", "--dfa-size-limit", "4G"]
            rivals["ripgrep -c -f"] = ["rg", "-j1", "-a", "--no-unicode", *limits, "-c", "-f", str(patterns), str(log)]
        seconds: dict[str, list[float]] = {name: [] for name in rivals}
        memory = 0.0
        for _ in range(options.rounds + 1):  # the first round warms caches and is thrown away
            for name, command in rivals.items():
                took, peak = run(command)
                seconds[name].append(took)
                memory = max(memory, peak)
        size = log.stat().st_size / 1e6
    print(f"{size:.0f} MB, {len(expressions)} patterns, one core, median of {options.rounds}")
    rates = {name: size / statistics.median(times[1:]) for name, times in seconds.items()}
    for name, rate in rates.items():
        print(f"  {name:20} {rate:8.0f} MB/s   vllm-crashsig is {rates['vllm-crashsig'] / rate:.2f} times as fast")
    print(f"  peak memory of vllm-crashsig: {memory:.0f} MB")
    if "ripgrep -c -f" not in rates:
        print("  (ripgrep is not installed: no comparison)")


if __name__ == "__main__":
    main()
