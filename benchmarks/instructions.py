"""Counts the instructions of the hot path under Callgrind: a guard that no noise disturbs.

    python benchmarks/instructions.py            what each kind of line costs now, beside what is stored
    python benchmarks/instructions.py --check    fails when that is more than 5% above what is stored
    python benchmarks/instructions.py --update   stores it in instructions.json

One process runs under Callgrind. It makes a classifier ready and takes each log twice; before and after the second time it
calls `os.getloadavg`, at which Callgrind writes down what was counted since the last call. So starting, importing and compiling
do not count. Callgrind knows AVX2 and no AVX-512: Hyperscan asks the processor that it sees, and takes its code for AVX2 (a
database that does not fit is compiled anew, into a cache of the run's own). Counts hold for the Python and the libraries with
which they were made: with others, `--check` says so and passes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from logs import Kind, write_log
from measuring import ROOT, MissingError, Plan, environment, python
from results import Goal, Section

STORED = Path(__file__).with_name("instructions.json")
TOLERANCE = 0.05
KINDS = {
    "busy server": (Kind(), 1_000_000),
    "progress lines": (Kind("progress"), 1_000_000),
    "busy server, 1% errors": (Kind(errors=0.01), 500_000),
    "nothing but errors": (Kind(errors=1.0), 40_000),
    "docker json-file": (Kind(envelope="docker json-file"), 400_000),
}
"""What a log is like, and its bytes: enough that the hot path is what counts, for Callgrind slows it down fifty times."""
SEED = 7
LIBRARIES = ("hyperscan", "regex", "pydantic", "isal")

_SUMMARY = re.compile(r"^summary: (\d+)", re.MULTILINE)


def measure(plan: Plan) -> list[Section]:
    """A section of the results: what is counted now, beside what is stored."""
    counted = count(plan.folder)
    stored = load()
    section = Section(
        "Instructions of the hot path",
        "Callgrind's count (Ir) for one pass over a log, in a process that has seen it once. `python "
        "benchmarks/instructions.py --check` fails when one is more than 5% above what `benchmarks/instructions.json` holds.",
        ("log", "instructions a line", "a byte", "of stored"),
    )
    comparable = stored is not None and stored["made_with"] == made_with()
    if not comparable:
        section.notes.append("Nothing that is stored was made with this Python and these libraries: nothing to compare with.")
    for name, figures in counted.items():
        before = stored["counts"].get(name) if comparable and stored is not None else None
        ratio = figures["line"] / before["line"] if before else None
        section.rows.append([name, f"{figures['line']:,.0f}", f"{figures['byte']:,.1f}", f"{ratio:.3f}" if ratio else ""])
        if ratio:
            section.goals.append(Goal(f"instructions, {name}: of stored", ratio, 1 + TOLERANCE, at_least=False))
    return [section]


def count(folder: Path) -> dict[str, dict[str, float]]:
    """Instructions for each line and each byte of each kind of log. Raises MissingError without valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise MissingError("apt-get install valgrind")
    home = folder / "instructions"
    home.mkdir()
    paths = [write_log(home / f"{number}.log", size, kind, SEED) for number, (kind, size) in enumerate(KINDS.values())]
    out = home / "callgrind.out"
    surroundings = environment(PYTHONHASHSEED="0", VLLM_CRASHSIG_CACHE=str(home / "cache"))
    ready = "from vllm_crashsig import Classifier; Classifier().classify(b'x')"
    subprocess.run(python(ready), env=surroundings, check=True)  # fills the cache, which would take a minute under Callgrind
    done = subprocess.run(
        [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-before=getloadavg", sys.executable, __file__,
         "--work", *map(str, paths)],
        capture_output=True, env=surroundings, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"valgrind failed: {done.stderr[-500:].decode(errors='replace')}")
    counts = [counted(out.with_name(f"{out.name}.{part}")) for part in range(1, 2 * len(paths) + 1)]
    found = {}
    for name, path, instructions in zip(KINDS, paths, counts[1::2], strict=True):
        data = path.read_bytes()
        found[name] = {"line": round(instructions / data.count(b"\n"), 1), "byte": round(instructions / len(data), 2)}
    shutil.rmtree(home)
    return found


def counted(path: Path) -> int:
    """The sum of one part of Callgrind's output."""
    with path.open(encoding="utf-8", errors="replace") as file:
        match = _SUMMARY.search(file.read())
    if match is None:
        raise RuntimeError(f"{path.name} holds no summary: has Callgrind changed?")
    return int(match[1])


def work(paths: list[str]) -> None:
    """What runs under Callgrind. Each odd part is preparation, each even one a log's second time."""
    import gc

    from vllm_crashsig import Classifier

    classifier = Classifier()
    for path in paths:
        data = Path(path).read_bytes()
        classifier.classify(data)
        gc.collect()
        os.getloadavg()
        classifier.classify(data)
        os.getloadavg()


def made_with() -> dict[str, str]:
    """What the counts depend on besides our own code."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def load() -> dict[str, Any] | None:
    """What is stored, if anything is."""
    try:
        data: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return data


def worse(counts: Mapping[str, Mapping[str, float]], stored: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The kinds whose lines take more than is tolerated."""
    return [
        f"{name}: {figures['line']:,.0f} instructions a line, stored are {stored[name]['line']:,.0f}"
        for name, figures in counts.items()
        if name in stored and figures["line"] > stored[name]["line"] * (1 + TOLERANCE)
    ]


def main() -> None:
    """Counts, and compares or stores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail when something got worse")
    parser.add_argument("--update", action="store_true", help="store what was counted")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.work:
        work(told.work)
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            counts = count(Path(folder))
        except MissingError as error:
            sys.exit(f"valgrind is missing: {error}")
    stored = load()
    for name, figures in counts.items():
        before = stored["counts"].get(name) if stored is not None else None
        print(f"{name:26}{figures['line']:12,.0f} a line{figures['byte']:10,.1f} a byte", end="")
        print(f"  {figures['line'] / before['line']:.3f} of stored" if before else "")
    if told.update:
        text = json.dumps({"made_with": made_with(), "counts": counts}, indent=2)
        STORED.write_text(text + "\n", encoding="utf-8")
        print(f"stored in {STORED.relative_to(ROOT)}")
    elif stored is None or stored["made_with"] != made_with():
        print("not comparable: what is stored was made with another Python or other libraries")
    elif told.check and (mistakes := worse(counts, stored["counts"])):
        sys.exit("\n".join(mistakes))


if __name__ == "__main__":
    main()
