"""Every fingerprint on every other's hits: a second root that neither explains the first nor is explained by it is declared."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

from corpus import ROOT, catalogue, line_hits, read_yaml, report, samples

TABLE = ROOT / "tests" / "overlaps.yaml"


@lru_cache(maxsize=1)
def overlaps() -> dict[str, dict[str, str]]:
    """For each fingerprint the other roots below the first rank on its own hits, each with a sample that shows it."""
    explained = catalogue().explained
    found: dict[str, dict[str, str]] = {}
    for sample in samples():
        if sample.kind != "hit":
            continue
        for other in report(sample.path).classifications[1:]:
            if other.role != "root" or other.id == sample.owner:
                continue
            if other.id in explained[sample.owner] or sample.owner in explained[other.id]:
                continue
            found.setdefault(sample.owner, {}).setdefault(other.id, sample.name)
    return found


def declared() -> dict[str, dict[str, str]]:
    """For each fingerprint the overlaps that are meant, each with its reason."""
    table = read_yaml(TABLE)
    assert isinstance(table, dict)
    return table


def test_every_overlap_is_declared() -> None:
    undeclared = [
        f"{one}: {other} (see samples/{where})"
        for one, others in sorted(overlaps().items())
        for other, where in sorted(others.items())
        if other not in declared().get(one, {})
    ]
    assert undeclared == [], "let one explain the other, veto it, or declare it with a reason in tests/overlaps.yaml"


def test_no_declared_overlap_is_stale() -> None:
    stale = [
        f"{one}: {other}" for one, others in declared().items() for other in others if other not in overlaps().get(one, {})
    ]
    assert stale == [], "take them out of tests/overlaps.yaml"


def test_every_declared_overlap_has_a_reason() -> None:
    poor = [(one, other) for one, others in declared().items() for other, reason in others.items() if len(str(reason)) < 10]
    assert poor == []
    assert list(declared()) == sorted(declared()), "keep the table sorted"


def test_no_line_proves_two_unrelated_causes() -> None:
    """A message that is decisive for two causes belongs to one of them, unless that one explains the other."""
    known, explained = catalogue(), catalogue().explained
    twins: dict[tuple[str, str], str] = {}
    for sample in samples():
        for found in line_hits(sample.path):
            causes = {
                (hit.fingerprint, hit.indicator)
                for hit in found.hits
                if known[hit.fingerprint].role in ("root", "either")
                and known[hit.fingerprint].indicators[hit.indicator].weight == "decisive"
            }
            for (one, a), (other, b) in combinations(sorted(causes), 2):
                related = known[one].base_id == known[other].base_id or other in explained[one] or one in explained[other]
                if not related:
                    twins.setdefault((f"{one}:{a}", f"{other}:{b}"), f"{sample.name}:{found.line.number}")
    assert twins == {}
