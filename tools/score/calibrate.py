"""Fits the weights of the confidence on the labelled logs and their variants, and writes vllm_crashsig/confidence.json.

    make calibrate                                    (.venv/bin/python tools/score/calibrate.py)
    .venv/bin/python tools/score/calibrate.py --dry   only shows what would be written, and how well it holds

To be run when `make score` says that the weights are stale: after new fingerprints or samples, or a change of the ranking.
What is written is worth a look: a new entry under `ambiguous` says that these lines of a fingerprint were taken for the cause
in a log whose true cause was cut off. Often a line, or a word in it, would tell the two apart; then mend the fingerprint.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from fit import calibration_error, examples, fit, held_back, judged
from labelled import ROOT
from run import rows

from vllm_crashsig.confidence import HIGH, Curve

FILE = ROOT / "vllm_crashsig" / "confidence.json"


def as_data(curve: Curve) -> dict[str, Any]:
    """The JSON form, rounded to what matters."""
    return {
        "made_by": "tools/score/calibrate.py",
        "weights": {name: round(weight, 2) + 0.0 for name, weight in curve.weights.items()},
        "ambiguous": {
            fingerprint: [{"seen": sorted(a.seen), "where": sorted(a.where)} for a in known]
            for fingerprint, known in curve.ambiguous.items()
        },
    }


def as_text(data: dict[str, Any]) -> str:
    """One line for each weight and each piece of evidence."""
    weights = ",\n".join(f"    {json.dumps(k)}: {v}" for k, v in data["weights"].items())
    ambiguous = ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in data["ambiguous"].items())
    made_by = json.dumps(data["made_by"])
    return f'{{\n  "made_by": {made_by},\n  "weights": {{\n{weights}\n  }},\n  "ambiguous": {{\n{ambiguous}\n  }}\n}}\n'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    args = parser.parse_args()
    found = examples(rows())
    learned = fit(found)
    unseen = held_back(found)
    print(f"{len(found)} answers; calibration error {calibration_error(judged(found, learned)):.4f},"
          f" on labels that were held back {calibration_error(unseen):.4f}")  # fmt: skip
    print(f"confident and wrong on labels that were held back: {sum(said >= HIGH and not ok for said, ok, _ in unseen)}")
    text = as_text(as_data(learned))
    if args.dry:
        sys.stdout.write(text)
    else:
        Path(FILE).write_text(text, encoding="utf-8")
        print(f"wrote {FILE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
