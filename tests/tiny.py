"""Small catalogues for tests, written as data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vllm_crashsig import Catalogue, Classifier, load_catalogue

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"


def indicator(pattern: str, **more: Any) -> dict[str, Any]:
    """An indicator with the examples that its shape asks for (only lint looks at them)."""
    return {"pattern": pattern, "examples": {"hit": ["x"], "miss": ["y"]}, **more}


def fingerprint(name: str, role: str, *patterns: str, **more: Any) -> dict[str, Any]:
    """A fingerprint whose decisive indicators are ``patterns``, called ``seen``, ``seen_1``, ...

    ``indicators`` in ``more`` adds others. A root gets the step "Fix <name>." unless told otherwise.
    """
    made = {f"seen_{i}" if i else "seen": indicator(p) for i, p in enumerate(patterns)}
    made.update(more.pop("indicators", {}))
    failure = role in ("root", "either", "cascade", "degraded")
    return {
        "schema": 1, "id": name, "title": f"Title of {name}", "role": role, "severity": "critical" if failure else "info",
        "status": "stable", "components": ["test"], "summary": f"Summary of {name}.", "indicators": made,
        "remediation": {"immediate": [{"text": f"Fix {name}.", "risk": "config"}]} if failure else {},
        "versions": "all", "false_positives": ["Unknown"], **more,
    }  # fmt: skip


def write(folder: Path, *fingerprints: Mapping[str, Any], area: str = "host") -> Path:
    """Writes fingerprints as ``<folder>/<area>/<id>.yaml`` (JSON is YAML) and returns the folder."""
    (folder / area).mkdir(parents=True, exist_ok=True)
    for data in fingerprints:
        (folder / area / f"{data['id']}.yaml").write_text(json.dumps(data, indent=1), encoding="utf-8")
    return folder


def catalogue(folder: Path, *fingerprints: Mapping[str, Any]) -> Catalogue:
    """A catalogue of these fingerprints alone."""
    return load_catalogue(write(folder, *fingerprints), builtin=False)


def classifier(folder: Path, *fingerprints: Mapping[str, Any]) -> Classifier:
    """A classifier over these fingerprints alone."""
    return Classifier(catalogue(folder, *fingerprints))
