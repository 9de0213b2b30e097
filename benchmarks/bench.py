"""All benchmarks with one command. Logs are made here, seeded, out of samples/; nothing is downloaded.

    make bench                                   everything; writes benchmarks/RESULTS.md
    python benchmarks/bench.py --quick           small logs, in about two minutes
    python benchmarks/bench.py --only rivals     one subject (may be given several times)
    python benchmarks/bench.py --list            the subjects

A subject that fails or for which something is missing is told, and does not end the run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import batches
import cold_start
import decoding
import instructions
import live
import memory
import rivals
import scaling
import scanning
import unpacking
from measuring import ChangedError, MissingError, Plan
from results import Section, page, show

RESULTS = Path(__file__).with_name("RESULTS.md")
SUBJECTS: dict[str, Callable[[Plan], list[Section]]] = {
    "cold-start": cold_start.measure,
    "scanning": scanning.measure,
    "rivals": rivals.measure,
    "decoding": decoding.measure,
    "unpacking": unpacking.measure,
    "scaling": scaling.measure,
    "memory": memory.measure,
    "live": live.measure,
    "batches": batches.measure,
    "instructions": instructions.measure,
}

SLOW = frozenset({"instructions"})
"""Left out of a quick run."""


def plan_of(folder: Path, told: argparse.Namespace) -> Plan:
    """How large the run is."""
    plan = Plan(folder, seed=told.seed, ray=told.ray)
    if told.quick:
        plan.size, plan.rounds, plan.starts, plan.share = 16, 3, 7, 0.03
        plan.fingerprints, plan.streams, plan.batches = (150, 300, 1000), (1, 20, 100), (300,)
        plan.latencies, plan.idle, plan.sessions, plan.kinds = 24, 2, 300, 2
    if told.huge:
        plan.streams = (*plan.streams, 20_000)
        plan.batches = (*plan.batches, 100_000)
    return plan


def take(subject: str, plan: Plan) -> Iterator[Section]:
    """The sections of a subject, or one that says why there are none."""
    known = len(plan.spreads)
    try:
        sections = SUBJECTS[subject](plan)
    except MissingError as error:
        yield Section(subject, f"Not measured: something is missing ({error}).", ())
        return
    except ChangedError as error:
        yield Section(subject, f"Not measured: {error}.", (), failed=True)
        return
    except Exception as error:  # noqa: BLE001 (the other subjects must be measured)
        traceback.print_exc()
        yield Section(subject, f"Failed: {type(error).__name__}.", (), failed=True)
        return
    if spreads := plan.spreads[known:]:
        sections[-1].noise = statistics.mean(spreads)
    yield from sections


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints and perhaps writes. Fails when a subject failed, but not when a target is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small logs and few rounds")
    parser.add_argument("--huge", action="store_true", help="also a stream of 20 GB, and 100,000 logs (takes long)")
    parser.add_argument("--only", action="append", choices=list(SUBJECTS), help="this subject alone")
    parser.add_argument("--write", action="store_true", help="write benchmarks/RESULTS.md (a whole run only)")
    parser.add_argument("--ray", type=int, default=0, metavar="NODES", help="batches on so many raylets too (needs Ray)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--list", action="store_true", help="print the subjects")
    told = parser.parse_args(arguments)
    if told.list:
        print("\n".join(SUBJECTS))
        return 0
    if told.write and told.only:
        parser.error("--write takes a whole run, without --only")
    started = time.monotonic()
    sections = []
    for subject in told.only or [s for s in SUBJECTS if not (told.quick and s in SLOW)]:
        with tempfile.TemporaryDirectory() as folder:
            for section in take(subject, plan_of(Path(folder), told)):
                show(section)
                sections.append(section)
        print(f"({subject}: {time.monotonic() - started:.0f} s so far)\n", file=sys.stderr, flush=True)
    if told.write:
        RESULTS.write_text(page(sections, "quick" if told.quick else "complete"), encoding="utf-8")
    missed = [goal for section in sections for goal in section.goals if not goal.met]
    print(f"{len(missed)} of {sum(len(s.goals) for s in sections)} targets are not met")
    return 1 if any(section.failed for section in sections) else 0


if __name__ == "__main__":
    sys.exit(main())
