"""The built-in catalogue as a whole: every file sound, every id known, every indicator and every veto proven by a sample."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pytest
from corpus import (
    FINGERPRINTS,
    SAMPLES,
    cases,
    catalogue,
    folders,
    judge_and_gate,
    line_hits,
    read_yaml,
    report,
    sample_files,
    samples,
    sidecar,
)

from vllm_crashsig import load_catalogue
from vllm_crashsig.lint import lint_directories
from vllm_crashsig.load import TAXONOMY_FILE

PRIVATE = re.compile(
    r"(?<![\w.~-])/work/|\.\./shared|/opt/(?:pypi|wheels)\b"
    r"|\b(?:pypi\.org|pythonhosted\.org|registry\.npmjs\.org|deb\.debian\.org|proxy\.golang\.org|crates\.io)\b"
)
"""Places of the machines that samples were made on, and hosts of package registries. A user's own ``~/work/`` is none."""

IDS = sorted(catalogue().fingerprints)
FAILURES = [i for i in IDS if catalogue()[i].is_failure]


def fingerprint_files() -> list[Path]:
    return sorted(p for p in FINGERPRINTS.rglob("*.y*ml") if p.name != TAXONOMY_FILE)


@lru_cache(maxsize=1)
def hit_indicators() -> frozenset[tuple[str, str]]:
    """(fingerprint, indicator) of everything that the engine's judge sees in any sample."""
    paths = [s.path for s in samples()] + [p for case in cases() for p in case.paths]
    return frozenset((h.fingerprint, h.indicator) for path in paths for found in line_hits(path) for h in found.hits)


@lru_cache(maxsize=1)
def vetoes() -> frozenset[tuple[str, str]]:
    """(fingerprint, reason) of every veto in any report."""
    reports = [report(s.path) for s in samples()] + [report(*case.paths) for case in cases()]
    return frozenset(
        (note.fingerprint, note.detail.partition(" ")[2].partition(": ")[2])
        for one in reports
        for note in one.trail
        if note.action == "vetoed"
    )


def test_the_catalogue_loads_without_mistakes() -> None:
    assert len(load_catalogue()) == len(fingerprint_files())


def test_lint_finds_nothing() -> None:
    problems, looked_at = lint_directories([])
    assert [str(p) for p in problems] == []
    assert looked_at == len(fingerprint_files())


def test_the_gate_sees_every_example_wherever_it_stands() -> None:
    """Real lines carry envelopes and stand between others; Hyperscan 5.4.12 loses matches of some patterns behind a prefix."""
    matcher, gate = judge_and_gate()
    if gate is None:
        pytest.skip("Hyperscan is not installed")
    before, after = (
        "2026-11-30T19:41:58.250000000Z (EngineCore_DP0 pid=94) ERROR 11-30 19:41:58 [core.py:1510] ",
        "\nnext 12345\n",
    )
    missed = [
        f"{probe.label}: {text[:80]!r}"
        for index in matcher.gated
        if (probe := matcher.probes[index]).fingerprint
        for text in catalogue()[probe.fingerprint].indicators[probe.name].examples.hit
        if index not in {one for _, found in gate.scan((before + text + after).encode()) for one in found}
    ]
    assert missed == []


def test_every_id_of_the_taxonomy_has_a_fingerprint() -> None:
    assert sorted(set(catalogue().taxonomy) - set(IDS)) == []


def test_every_id_is_its_file_name_and_stands_in_one_file() -> None:
    files = fingerprint_files()
    assert [p.stem for p in files if read_yaml(p)["id"] != p.stem] == []
    assert sorted(p.stem for p in files) == IDS


def test_sample_folders_belong_to_failures() -> None:
    assert sorted({p.name for p in folders()} - set(FAILURES)) == []


@pytest.mark.parametrize("fingerprint_id", FAILURES)
def test_every_failure_has_samples_and_a_complete_sidecar(fingerprint_id: str) -> None:
    folder = SAMPLES / fingerprint_id
    assert folder.is_dir(), f"make samples/{fingerprint_id}/ with a hit, two near misses and a sample.yaml"
    names = {p.name for p in sample_files(folder)}
    assert {n for n in names if not n.startswith(("hit-", "near-"))} == set(), "call them hit-* or near-*"
    assert sum(n.startswith("hit-") for n in names) >= 1
    assert sum(n.startswith("near-") for n in names) >= 2
    assert set(sidecar(folder)) == names


def test_healthy_samples_and_incidents_have_complete_sidecars() -> None:
    assert set(sidecar(SAMPLES / "healthy")) == {p.name for p in sample_files(SAMPLES / "healthy")}
    assert [case.name for case in cases() if len(case.paths) < 2] == []


def test_every_indicator_of_a_failure_is_exercised() -> None:
    wanted = {(i, name) for i in FAILURES for name, x in catalogue()[i].indicators.items() if x.weight != "context"}
    assert sorted(wanted - hit_indicators()) == []


def test_the_vetoes_of_one_fingerprint_can_be_told_apart() -> None:
    doubled = [i for i in FAILURES if len({u.reason for u in catalogue()[i].unless}) < len(catalogue()[i].unless)]
    assert doubled == []


def test_every_unless_is_exercised() -> None:
    wanted = {(i, unless.reason) for i in FAILURES for unless in catalogue()[i].unless}
    assert sorted(wanted - vetoes()) == []


def test_references_are_https() -> None:
    assert [(f.id, r.url) for f in catalogue() for r in f.references if not r.url.startswith("https://")] == []


def test_nothing_tells_of_the_machines_it_was_made_on() -> None:
    told = []
    for path in sorted([*FINGERPRINTS.rglob("*"), *SAMPLES.rglob("*")]):
        if not path.is_file():
            continue
        text = path.read_bytes().decode(errors="replace")
        told += [f"{path.relative_to(FINGERPRINTS.parent)}: {m.group(0)}" for m in PRIVATE.finditer(text)]
    assert told == []
