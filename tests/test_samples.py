"""Every sample through the whole engine: hits are named, near misses and healthy logs are not, incidents are one crash."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from corpus import SAMPLES, Case, Entry, Sample, candidates, cases, catalogue, judge_and_gate, report, samples, sidecar, utf8
from pydantic import ValidationError

from vllm_crashsig import Report
from vllm_crashsig.report import Classification, EvidenceInfo
from vllm_crashsig.schema import PLACEHOLDER

WORDS = frozenset({"healthy", "unclassified", "any"})
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))")
LATER_PARTS = 16
"""Following lines that a wrapped line may be continued on (CRI and Docker cut long lines)."""


def of_kind(kind: str) -> list[Any]:
    return [pytest.param(s, id=s.name) for s in samples() if s.kind == kind]


def unfilled(classification: Classification) -> list[str]:
    """Texts in which a ``{fact}`` was not replaced."""
    advice = classification.remediation
    steps = [*advice.immediate, *advice.investigate, *advice.prevent, *advice.verify]
    texts = [classification.summary, *(s.text for s in steps), *(s.command or "" for s in steps)]
    return [t for t in texts if PLACEHOLDER.search(t)]


def strings(value: object) -> Iterator[str]:
    """All texts in a piece of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def readings(line: str) -> Iterator[str]:
    """What a line of the file may say: itself, without what xoscar writes into it, and the texts in it where it is JSON."""
    yield re.sub(r"\[address=\S+, pid=\d+\] ", "", line)
    if line.lstrip().startswith("{"):
        try:
            yield from strings(json.loads(line))
        except ValueError:
            pass


def squeezed(text: str) -> str:
    return "".join(ANSI.sub("", text).replace("\r", "").split())


def stands_in(evidence: EvidenceInfo, path: Path) -> bool:
    """Whether the quote is on the line of the file that it names. White space and terminal sequences do not count."""
    lines = utf8(path).decode(errors="replace").split("\n")
    if not 1 <= evidence.line <= len(lines):
        return False
    quote = squeezed(evidence.text.removeprefix("… ").removesuffix(" …").removesuffix(" …"))
    if any(quote in squeezed(reading) for reading in readings(lines[evidence.line - 1])):
        return True
    parts = [max((squeezed(r) for r in readings(x)), key=len) for x in lines[evidence.line - 1 :][:LATER_PARTS]]
    return split_across(quote, parts)


def split_across(quote: str, parts: list[str]) -> bool:
    """Whether the quote runs from the end of the first part over later ones, each behind its own envelope.

    Parts between them may belong to another stream.
    """
    if not quote:
        return True
    for size in range(min(len(quote), len(parts[0])) if parts else 0, 0, -1):
        if parts[0].endswith(quote[:size]) or (size == len(quote) and quote in parts[0]):
            rest = quote[size:]
            return not rest or any(split_across(rest, parts[start:]) for start in range(1, len(parts)))
    return False


def check_answer(found: Report, paths: list[Path]) -> None:
    """What holds for every classification, whatever it is."""
    for classification in found.classifications:
        assert classification.evidence, f"{classification.id} cites no line"
        for evidence in classification.evidence:
            path = next(p for p in paths if str(p) == evidence.source)
            assert stands_in(evidence, path), (
                f"{classification.id}: not at {path.name}:{evidence.line}: {evidence.text[:200]!r}"
            )
        if classification.role in ("root", "either"):
            assert classification.remediation.immediate, f"{classification.id} leaves nothing to do"
        assert unfilled(classification) == []


def check_expected(found: Report, entry: Entry) -> None:
    """That the answer is one of those that the sidecar names (``any`` and no expectation allow all)."""
    if not entry.expect or "any" in entry.expect:
        return
    ids = [c.id for c in found.classifications]
    if not ids and found.verdict in ("healthy", "unclassified") and found.verdict in entry.expect:
        return
    assert ids and ids[0] in entry.expect, f"expected {' or '.join(entry.expect)}, got {found.verdict} {ids}"


@pytest.mark.parametrize("sample", of_kind("hit"))
def test_a_hit_is_named_first(sample: Sample) -> None:
    found = report(sample.path)
    ids = [c.id for c in found.classifications]
    wanted = sample.entry.expect or (sample.owner,)
    assert ids and ids[0] in wanted, f"expected {' or '.join(wanted)}, got {found.verdict} {ids}"
    assert found.verdict == ("degraded" if found.classifications[0].role == "degraded" else "crash")
    absorbed = [note.fingerprint for note in found.trail if note.action == "absorbed"]
    assert sample.owner in [*ids, *absorbed], "its own fingerprint has no case here"
    check_answer(found, [sample.path])


@pytest.mark.parametrize("sample", of_kind("near"))
def test_a_near_miss_is_not_named(sample: Sample) -> None:
    found = report(sample.path)
    assert sample.owner not in [c.id for c in found.classifications]
    check_expected(found, sample.entry)
    check_answer(found, [sample.path])


@pytest.mark.parametrize("sample", of_kind("near"))
def test_a_near_miss_comes_near(sample: Sample) -> None:
    matcher, gate = judge_and_gate()
    if gate is None:
        pytest.skip("Hyperscan is not installed: there is no gate to come through")
    looked_at = candidates(sample.path) | set(matcher.ungated)
    assert looked_at, "the gate lets no line through: this proves nothing about the patterns behind it"


@pytest.mark.parametrize("sample", of_kind("healthy"))
def test_a_healthy_log_is_not_called_a_failure(sample: Sample) -> None:
    found = report(sample.path)
    assert found.verdict in ("healthy", "degraded")
    assert [c.id for c in found.classifications if c.severity in ("critical", "high")] == []
    check_expected(found, sample.entry)
    check_answer(found, [sample.path])


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in cases()])
def test_an_incident_is_one_crash(case: Case) -> None:
    found = report(*case.paths)
    assert case.entry.expect
    check_expected(found, case.entry)
    check_answer(found, list(case.paths))


def test_expectations_are_known_words_or_ids() -> None:
    named = [(s.name, s.entry.expect) for s in samples()] + [(c.name, c.entry.expect) for c in cases()]
    unknown = [(name, word) for name, expect in named for word in expect if word not in WORDS and word not in catalogue()]
    assert unknown == []
    assert [s.name for s in samples() if s.kind == "hit" and WORDS & set(s.entry.expect)] == []
    assert [s.name for s in samples() if s.kind == "near" and s.owner in s.entry.expect] == []
    assert [name for name, expect in named if "any" in expect and len(expect) > 1] == []


@pytest.mark.parametrize(
    "text",
    [
        "hit-a.log: {origin: real, note: x, expects: [healthy]}",
        "hit-a.log: {origin: imagined, note: x}",
        "hit-a.log: {origin: real}",
        "hit-a.log: {origin: real, note: ''}",
        "hit-a.log: {origin: real, note: 3}",
        "hit-a.log: {origin: real, note: x, expect: healthy}",
    ],
)
def test_a_mistake_in_a_sidecar_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "sample.yaml").write_text(text)
    with pytest.raises(ValidationError):
        sidecar(tmp_path)


def test_all_samples_were_looked_at() -> None:
    """A folder whose sidecar is missing or incomplete must not drop out unseen."""
    files = {p for p in SAMPLES.rglob("*") if p.is_file() and p.name not in ("sample.yaml", "expect.yaml")}
    seen = {s.path for s in samples()} | {p for c in cases() for p in c.paths}
    assert sorted(str(p.relative_to(SAMPLES)) for p in files - seen if p.parent.name != "demo") == []
