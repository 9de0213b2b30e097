"""How good the answers are on the labelled logs of samples/, as they are and as they may come: cut, wrapped, mixed, continued.

    make score                                              (.venv/bin/python tools/score/score.py)
    .venv/bin/python tools/score/score.py --only nccl       only cases whose name holds this; compares nothing
    .venv/bin/python tools/score/score.py --kinds missing   and only variants whose name or group does
    .venv/bin/python tools/score/score.py --full            each log in each envelope; takes minutes
    .venv/bin/python tools/score/score.py --update-baseline

Top-1, top-3 and MRR say at which place the labelled cause stands. Where its lines were cut off on purpose, saying nothing
counts as right, and only a confident wrong answer as wrong. A false alarm is a failure that is claimed in a log where nothing
failed. The calibration error is how far confidence and share of right answers are apart.

Exit status 1 when it fell behind the baseline (tools/score/baseline.json), with the cases that did; see `shortfalls` for what
is tolerated.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from calibrate import as_data
from fit import calibration_error, examples, fit, held_back
from run import Row, rows
from variants import WRAPPINGS, all_envelopes

from vllm_crashsig.confidence import band, curve, curve_of, estimate

BASELINE = Path(__file__).with_name("baseline.json")
TOLERANCE = 0.005
"""How far the share of right answers to one group of variants may fall: a few new samples move it."""
ERROR_LIMIT = 0.05
"""The most that the calibration error may be."""
STALE = 0.05
"""How far a confidence may be from what the weights would make of it if they were fitted anew."""
WORST = 10
"""How many of the worst answers are shown."""


def state(row: Row) -> str:
    """``right``, or what is wrong with an answer."""
    if row.false_alarm:
        return "false alarm"
    if row.misleads:
        return "misleads"
    return row.worth if row.shown else "right"


def by(found: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Rows sorted into groups."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in found:
        groups[key(row)].append(row)
    return dict(sorted(groups.items()))


def share(part: float, whole: float) -> float | None:
    """Rounded; None of nothing."""
    return round(part / whole, 4) if whole else None


def measures(found: Sequence[Row]) -> dict[str, Any]:
    """What is told of a group of rows."""
    crashes = [r for r in found if r.kind == "crash" and r.shown]
    return {
        "logs": len(found),
        "top1": share(sum(r.worth == "right" for r in crashes), len(crashes)),
        "top3": share(sum(r.rank is not None and r.rank <= 3 for r in crashes), len(crashes)),
        "mrr": share(sum(1 / r.rank for r in crashes if r.rank), len(crashes)),
        "right": share(sum(state(r) == "right" for r in found), len(found)),
        "misled": sum(r.misleads for r in found),
        "false_alarms": sum(r.false_alarm for r in found),
    }


def summary(found: Sequence[Row]) -> dict[str, Any]:
    """All numbers, as JSON."""
    plain = [r for r in found if r.group == "plain"]
    claimed = examples(found)
    said = [(e.answer.confidence, e.right, e.weight) for e in claimed]
    return {
        "plain": measures(plain),
        "groups": _measured(found, lambda r: r.group),
        "areas": _measured(plain, lambda r: r.area),
        "areas_of_variants": _measured((r for r in found if r.group != "plain"), lambda r: r.area),
        "envelopes": _measured((r for r in found if r.group == "wrapped"), lambda r: r.variant.removeprefix("in ")),
        "variants": _measured((r for r in found if r.group not in ("plain", "wrapped", "log missing")), lambda r: r.variant),
        "calibration": {
            "error": round(calibration_error(said), 4),
            "error_held_back": round(calibration_error(held_back(claimed)), 4),
            "error_by_group": {
                group: round(calibration_error([(e.answer.confidence, e.right, 1.0) for e in claimed if e.group == group]), 4)
                for group in sorted({e.group for e in claimed})
            },
            "bands": _bands(said),
            "ambiguous_evidence": sum(len(known) for known in curve().ambiguous.values()),
        },
        "bad": {r.name: state(r) for r in found if state(r) != "right"},
    }


def _measured(found: Iterable[Row], key: Callable[[Row], str]) -> dict[str, dict[str, Any]]:
    return {name: measures(members) for name, members in by(found, key).items()}


def _bands(said: Iterable[tuple[float, bool, float]]) -> dict[str, dict[str, float | None]]:
    content: dict[str, list[tuple[float, bool, float]]] = {"high": [], "medium": [], "low": []}
    for pair in said:
        content[band(pair[0])].append(pair)
    out = {}
    for name, pairs in content.items():
        total = sum(w for _, _, w in pairs)
        told, right = sum(w * c for c, _, w in pairs), sum(w for _, ok, w in pairs if ok)
        out[name] = {"answers": len(pairs), "confidence": share(told, total), "right": share(right, total)}
    return out


def stale(found: Sequence[Row]) -> list[str]:
    """How the stored weights differ from what would be fitted now."""
    claimed = examples(found)
    stored, fresh = curve(), curve_of(as_data(fit(claimed)))
    moved = {e.name: abs(estimate(e.answer.id, e.answer.seen, e.answer.signs, stored)
                         - estimate(e.answer.id, e.answer.seen, e.answer.signs, fresh)) for e in claimed}  # fmt: skip
    worst = max(moved, key=lambda name: moved[name], default="")
    if worst and moved[worst] > STALE:
        return [f"the weights of the confidence are stale: {worst} would move by {moved[worst]:.2f}; run make calibrate"]
    return []


def shortfalls(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Where the numbers are worse than the baseline's.

    Nothing is tolerated in false alarms, in confident wrong answers and on the samples as they are; of a group of variants the
    share of right answers may fall by TOLERANCE. The calibration error has a limit of its own.
    """
    found = []
    for group, numbers in before["groups"].items():
        fresh = now["groups"].get(group, {})
        slack = 0 if group == "plain" else TOLERANCE
        found += [
            f"{group}: {name} fell from {numbers[name]:.4f} to {fresh.get(name) or 0:.4f}"
            for name in ("top1", "top3", "mrr", "right")
            if numbers[name] is not None and (fresh.get(name) or 0) < numbers[name] - slack
        ]
        found += [
            f"{group}: {name} rose from {numbers[name]} to {fresh[name]}"
            for name in ("false_alarms", "misled")
            if fresh.get(name, 0) > numbers[name]
        ]
    found += [
        f"calibration: {name} is {now['calibration'][name]:.4f}, more than {ERROR_LIMIT}"
        for name in ("error", "error_held_back")
        if now["calibration"][name] > ERROR_LIMIT
    ]
    return found


def changed(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """The answers that are wrong now and were not (or were less so), and what is wrong with them."""
    ill = {"right": 0, "listed": 1, "silent": 2, "wrong": 3, "misleads": 4, "false alarm": 5}
    was = before["bad"]
    return [f"{name}: {what}" for name, what in now["bad"].items() if ill[what] > ill[was.get(name, "right")]]


def baseline_text(numbers: Mapping[str, Any]) -> str:
    """What is compared with, one line for each group and each answer that is not right."""
    parts = (
        (name, ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in numbers[name].items()))
        for name in ("groups", "bad")
    )
    return "{\n" + ",\n".join(f"  {json.dumps(name)}: {{\n{lines}\n  }}" for name, lines in parts) + "\n}\n"


# --- words -------------------------------------------------------------------------------------------------------------------


def table(title: str, groups: Mapping[str, Mapping[str, Any]], note: str = "") -> None:
    """Prints one line for each group."""
    width = max([len(title), *map(len, groups)], default=len(title))
    print(f"\n{title:{width}}    logs   top-1   top-3     MRR   right  misled  false alarms")
    for name, m in groups.items():
        shares = "  ".join(f"{'-' if m[key] is None else format(m[key], '.1%'):>6}" for key in ("top1", "top3", "mrr", "right"))
        print(f"{name:{width}}  {m['logs']:6}  {shares}  {m['misled']:6}  {m['false_alarms']:12}")
    if note:
        print(note)


def tell(found: Sequence[Row], numbers: Mapping[str, Any]) -> None:
    """Prints everything for people."""
    table("group", numbers["groups"])
    table("area, as they are", numbers["areas"])
    table("area, all variants", numbers["areas_of_variants"])
    table("variant", numbers["variants"])
    imperfect = {name: m for name, m in numbers["envelopes"].items() if m["right"] < 1}
    others = len(numbers["envelopes"]) - len(imperfect)
    table("envelope", imperfect, f"{others} other envelopes (of {len(all_envelopes())}): all right")
    calibration = numbers["calibration"]
    print(f"\ncalibration error {calibration['error']:.4f}; on labels held back {calibration['error_held_back']:.4f}")
    print("by group: " + ", ".join(f"{group} {error:.3f}" for group, error in calibration["error_by_group"].items()))
    for name, b in calibration["bands"].items():
        if b["answers"]:
            print(f"  {name:6}  {b['answers']:6g} answers   said {b['confidence']:6.1%}   right {b['right']:6.1%}")
    print(f"  evidence that is known to mislead: {calibration['ambiguous_evidence']}")
    judged_rows = [(r, r.judged) for r in found]
    wrong = sorted(((j[0], r) for r, j in judged_rows if j and not j[1]), key=lambda pair: -pair[0])
    doubted = sorted(((j[0], r) for r, j in judged_rows if j and j[1]), key=lambda pair: pair[0])
    print("\nmost confident of the wrong")
    for confidence, row in _each_case_once(wrong)[:WORST]:
        print(f"  {confidence:.2f}  {row.name}: {row.ids[0]}, not {' or '.join(sorted(row.right)) or 'healthy'}")
    print("\nleast confident of the right")
    for confidence, row in _each_case_once(doubted)[:WORST]:
        print(f"  {confidence:.2f}  {row.name}: {row.ids[0]}")


def _each_case_once(worst: Iterable[tuple[float, Row]]) -> list[tuple[float, Row]]:
    seen: dict[str, tuple[float, Row]] = {}
    for confidence, row in worst:
        seen.setdefault(row.case, (confidence, row))
    return list(seen.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds TEXT")
    parser.add_argument("--kinds", default="", metavar="TEXT", help="variants whose name or group holds TEXT")
    parser.add_argument("--full", action="store_true", help="each log in each envelope")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--baseline", type=Path, default=BASELINE, metavar="FILE", help="what to compare with")
    parser.add_argument("--update-baseline", action="store_true", help="store these numbers as what to compare with")
    args = parser.parse_args()
    whole = not (args.only or args.kinds or args.full)
    if args.update_baseline and not whole:
        parser.error("a baseline holds everything: leave out --only, --kinds and --full")
    found = list(rows(args.only, args.kinds, len(all_envelopes()) if args.full else WRAPPINGS))
    if not found:
        parser.error(f"no case has {args.only!r} in its name")
    numbers = summary(found)
    if args.json:
        print(json.dumps(numbers, indent=1))
    else:
        tell(found, numbers)
    if args.update_baseline:
        args.baseline.write_text(baseline_text(numbers), encoding="utf-8")
        return 0
    return compare(found, numbers, json.loads(args.baseline.read_text(encoding="utf-8"))) if whole else 0


def compare(found: Sequence[Row], numbers: Mapping[str, Any], before: Mapping[str, Any]) -> int:
    """Says what fell behind. Returns the exit status."""
    fallen = [*shortfalls(numbers, before), *stale(found)]
    worse = changed(numbers, before)
    if worse:
        print("\nworse than before, or new" + ("" if fallen else " (within what is tolerated)"), file=sys.stderr)
        print("\n".join(f"  {line}" for line in worse), file=sys.stderr)
    if fallen:
        print("\nthe score fell behind the baseline:\n" + "\n".join(f"  {line}" for line in fallen), file=sys.stderr)
        return 1
    print("\nnot behind the baseline")
    return 0


if __name__ == "__main__":
    sys.exit(main())
