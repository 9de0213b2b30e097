"""Catalogues of any size, the same for the same seed: real fingerprints first, then variants of them with other words."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import yaml

from vllm_crashsig import Catalogue, Classifier, load_catalogue

_WORD = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P<\w+>|\(\?[a-z]+:|\{[^}]*\})|([A-Za-z]{5,})", re.DOTALL)
"""What must stay as it is in a pattern, or a word of it."""
_SYLLABLES = (
    "ba",
    "be",
    "di",
    "do",
    "fa",
    "gu",
    "ka",
    "ke",
    "li",
    "lo",
    "ma",
    "mi",
    "no",
    "nu",
    "pa",
    "ra",
    "re",
    "si",
    "so",
    "ta",
    "te",
)


def reworded(pattern: str, rng: random.Random) -> str:
    """The pattern with other words of the same length, as another message of the same program would have."""

    def other(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        word = "".join(rng.choice(_SYLLABLES) for _ in range(len(match[2]) // 2 + 1))[: len(match[2])]
        return word.capitalize() if match[2][0].isupper() else word

    return _WORD.sub(other, pattern)


def write_catalogue(folder: Path, number: int, seed: int = 7) -> Path:
    """So many fingerprints. What one says of others (`explains`, `when`, `unless`) is left out, and so is advice."""
    rng = random.Random(seed)
    real = list(Classifier().catalogue)
    rng.shuffle(real)
    home = folder / "synthetic"
    home.mkdir(parents=True)
    for index in range(number):
        fingerprint = real[index % len(real)]
        told: dict[str, Any] = fingerprint.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        told |= {"schema": 1, "id": f"synthetic-{index:05d}", "title": f"{fingerprint.title[:100]} ({index})"}
        for key in ("explains", "when", "unless", "references", "successor", "remediation"):
            told.pop(key, None)
        if fingerprint.role in ("root", "either"):
            told["remediation"] = {"immediate": [{"text": "Look.", "risk": "read-only"}]}
        if index >= len(real):
            for indicator in told["indicators"].values():
                indicator["pattern"] = reworded(indicator["pattern"], rng)
        if fingerprint.status == "deprecated":
            told["status"] = "test"
        (home / f"{told['id']}.yaml").write_text(yaml.dump(told, Dumper=_DUMPER, sort_keys=False), encoding="utf-8")
    return folder


_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def synthetic(folder: Path) -> Catalogue:
    """What `write_catalogue` wrote, read."""
    return load_catalogue(folder, builtin=False)
