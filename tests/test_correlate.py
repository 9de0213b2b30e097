"""`when` and `unless`: which lines belong together, in what order, how far apart, and of whom they speak."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny import classifier, fingerprint, indicator

from vllm_crashsig import Classifier, Report

ALPHA, BETA, GAMMA = (indicator(rf"{n}(?: on rank (?P<rank>\d+))?", weight="supporting") for n in ("alpha", "beta", "gamma"))
FACTS = {"rank": {"type": "rank", "label": "rank"}}


def when(folder: Path, *lines: str, **condition: Any) -> bool:
    """Whether a root with decisive line "boom" and this condition is found."""
    data = fingerprint(
        "tested", "root", "boom", indicators={"alpha": ALPHA, "beta": BETA, "gamma": GAMMA}, facts=FACTS, when=condition
    )
    other = fingerprint("other-one", "cascade", "delta", indicators={"hint": indicator("epsilon", weight="supporting")})
    report = classifier(folder, data, other).classify("".join(f"{line}\n" for line in lines))
    return any(c.id == "tested" for c in report.classifications)


def unless(folder: Path, *lines: str, **condition: Any) -> Report:
    """The report for a root "boom" that the condition over "alpha" and the like vetoes."""
    data = fingerprint(
        "tested",
        "root",
        r"boom(?: on rank (?P<rank>\d+))?",
        indicators={"alpha": ALPHA, "beta": BETA, "gamma": GAMMA},
        facts=FACTS,
        unless=[{"reason": "it was put right", **condition}],
    )
    return classifier(folder, data, fingerprint("other-one", "healthy", "delta")).classify(
        "".join(f"{line}\n" for line in lines)
    )


def stands(report: Report) -> bool:
    vetoed = any(n.action == "vetoed" and "it was put right" in n.detail for n in report.trail)
    assert vetoed != bool(report.classifications), "either it stands, or the trail says why not"
    return not vetoed


@pytest.mark.parametrize(
    ("condition", "lines", "met"),
    [
        ({"any_of": ["alpha", "beta"]}, ["boom", "beta"], True),
        ({"any_of": ["alpha", "beta"]}, ["boom"], False),
        ({"all_of": ["seen", "alpha"]}, ["alpha", "boom"], True),
        ({"all_of": ["seen", "alpha", "beta"]}, ["alpha", "boom"], False),
        ({"all_of": ["seen", "other-one"]}, ["delta", "boom"], True),
        ({"all_of": ["seen", "other-one"]}, ["epsilon", "boom"], False),
        ({"all_of": ["seen", "other-one:hint"]}, ["epsilon", "boom"], True),
        ({"ordered": ["alpha", "seen"]}, ["alpha", "boom"], True),
        ({"ordered": ["alpha", "seen"]}, ["boom", "alpha"], False),
        ({"ordered": ["alpha", "seen"]}, ["boom", "alpha", "boom"], True),
        ({"ordered": ["alpha", "beta", "seen"]}, ["beta", "alpha", "boom"], False),
        ({"ordered": ["alpha", "beta", "seen"]}, ["beta", "alpha", "beta", "boom"], True),
        ({"count": {"alpha": 3}}, ["alpha", "alpha", "boom"], False),
        ({"count": {"alpha": 3}}, ["alpha", "alpha", "boom", "alpha"], True),
        ({"count": {"alpha": 3}}, ["(W pid=1) alpha [repeated 3x across cluster]", "boom"], True),
        ({"count": {"alpha": 100}}, [*["alpha"] * 100, "boom"], True),
        ({"all_of": ["seen", "alpha"], "within": {"lines": 2}}, ["alpha", "x", "boom"], True),
        ({"all_of": ["seen", "alpha"], "within": {"lines": 2}}, ["alpha", "x", "x", "boom"], False),
        ({"all_of": ["seen", "alpha"], "within": {"lines": 2}}, ["boom", "x", "alpha"], True),
        ({"ordered": ["alpha", "seen"], "within": {"lines": 1}}, ["alpha", "x", "boom"], False),
        ({"ordered": ["alpha", "seen"], "within": {"lines": 1}}, ["alpha", "x", "alpha", "boom"], True),
        ({"all_of": ["alpha", "beta", "seen"], "same": ["rank"]}, ["alpha on rank 1", "beta on rank 1", "boom"], True),
        ({"all_of": ["alpha", "beta", "seen"], "same": ["rank"]}, ["alpha on rank 1", "beta on rank 2", "boom"], False),
        ({"all_of": ["alpha", "beta", "seen"], "same": ["rank"]}, ["alpha on rank 1", "beta", "boom"], True),
        ({"all_of": ["alpha", "seen"], "same": ["rank"]}, ["[rank1]: alpha", "[rank2]: boom"], False),
        ({"all_of": ["alpha", "seen"], "same": ["rank"]}, ["[rank1]: alpha", "[rank1]: boom"], True),
        ({"any_of": ["alpha"], "all_of": ["beta"]}, ["alpha", "boom"], False),
        ({"any_of": ["alpha"], "all_of": ["beta"]}, ["alpha", "beta", "boom"], True),
    ],
)
def test_when(tmp_path: Path, condition: dict[str, Any], lines: list[str], met: bool) -> None:
    assert when(tmp_path, *lines, **condition) is met


def test_when_tells_why_not(tmp_path: Path) -> None:
    data = fingerprint("tested", "root", "boom", indicators={"alpha": ALPHA}, facts=FACTS, when={"all_of": ["alpha"]})
    report = classifier(tmp_path, data).classify("boom")
    assert [(n.fingerprint, n.action) for n in report.trail] == [("tested", "unmet")]
    assert report.verdict == "healthy"


def at(clock: str, text: str) -> str:
    return f"2026-11-30T12:{clock}.000000000Z {text}"


@pytest.mark.parametrize(
    ("first", "second", "met"),
    [("00:00", "00:09", True), ("00:00", "00:11", False), ("00:09", "00:00", True)],
)
def test_within_seconds(tmp_path: Path, first: str, second: str, met: bool) -> None:
    lines = [at(first, "alpha"), *[at(first, "x")] * 50, at(second, "boom")]
    assert when(tmp_path, *lines, all_of=["seen", "alpha"], within={"seconds": 10, "lines": 3}) is met


def test_within_falls_back_to_lines(tmp_path: Path) -> None:
    assert when(tmp_path / "a", "alpha", "x", "boom", all_of=["seen", "alpha"], within={"seconds": 10, "lines": 3})
    assert not when(tmp_path / "b", "alpha", *["x"] * 9, "boom", all_of=["seen", "alpha"], within={"seconds": 10, "lines": 3})


@pytest.mark.parametrize(
    ("condition", "lines", "vetoed"),
    [
        ({"any_of": ["alpha"]}, ["boom", "alpha"], True),
        ({"any_of": ["alpha"]}, ["alpha", "boom"], True),
        ({"any_of": ["alpha"]}, ["boom", "beta"], False),
        ({"any_of": ["alpha"], "order": "after"}, ["boom", "alpha"], True),
        ({"any_of": ["alpha"], "order": "after"}, ["alpha", "boom"], False),
        ({"any_of": ["alpha"], "order": "before"}, ["alpha", "boom"], True),
        ({"any_of": ["alpha"], "order": "before"}, ["boom", "alpha"], False),
        ({"any_of": ["other-one"], "order": "after"}, ["boom", "delta"], True),
        ({"any_of": ["alpha"], "within": {"lines": 2}}, ["boom", "x", "alpha"], True),
        ({"any_of": ["alpha"], "within": {"lines": 2}}, ["boom", "x", "x", "alpha"], False),
        ({"any_of": ["alpha"], "order": "before", "within": {"lines": 2}}, ["alpha", "x", "x", "boom", "alpha"], False),
        ({"all_of": ["alpha", "beta"]}, ["boom", "alpha"], False),
        ({"all_of": ["alpha", "beta"]}, ["beta", "boom", "alpha"], True),
        ({"count": {"alpha": 2}}, ["boom", "alpha"], False),
        ({"count": {"alpha": 2}}, ["boom", "alpha", "alpha"], True),
        ({"any_of": ["alpha"], "same": ["rank"]}, ["boom on rank 1", "alpha on rank 2"], False),
        ({"any_of": ["alpha"], "same": ["rank"]}, ["boom on rank 1", "alpha on rank 1"], True),
        ({"any_of": ["alpha"], "same": ["rank"]}, ["[rank3]: boom", "alpha on rank 3"], True),
        ({"any_of": ["alpha"], "same": ["rank"]}, ["boom on rank 1", "alpha"], True),
        ({"any_of": ["alpha"], "same": ["node"]}, ["(W pid=1, ip=10.0.0.1) boom", "(W pid=1, ip=10.0.0.2) alpha"], False),
        ({"any_of": ["alpha"], "same": ["pid"]}, ["(W pid=1) boom", "(W pid=1) alpha"], True),
        ({"any_of": ["alpha"], "same": ["pid"]}, ["(W pid=1) boom", "(W pid=2) alpha"], False),
    ],
)
def test_unless(tmp_path: Path, condition: dict[str, Any], lines: list[str], vetoed: bool) -> None:
    assert stands(unless(tmp_path, *lines, **condition)) is not vetoed


def test_each_line_is_vetoed_for_itself(tmp_path: Path) -> None:
    report = unless(tmp_path, "boom", "alpha", *["x"] * 20, "boom", any_of=["alpha"], order="after", within={"lines": 5})
    assert report.cause is not None
    assert [e.line for e in report.cause.evidence if e.indicator == "seen"] == [23]


def test_a_line_does_not_veto_itself(tmp_path: Path) -> None:
    report = unless(tmp_path, "boom alpha", any_of=["alpha"])
    assert report.cause is not None


def test_other_lives_do_not_count(tmp_path: Path) -> None:
    life = fingerprint("life", "healthy", indicators={"start": indicator("server starts", milestone="start")})
    data = fingerprint("tested", "root", "boom", indicators={"alpha": ALPHA}, facts=FACTS, when={"all_of": ["alpha"]})
    made = classifier(tmp_path, data, life, fingerprint("old-one", "root", "burst"))
    report = made.classify("server starts\nalpha\nburst\nserver starts\nboom\n")
    assert [c.id for i in report.incidents for c in i.classifications] == ["old-one"]


def test_times_of_different_clocks_are_not_compared(tmp_path: Path) -> None:
    made = classifier(
        tmp_path,
        fingerprint(
            "tested",
            "root",
            "boom",
            indicators={"alpha": ALPHA},
            facts=FACTS,
            when={"all_of": ["seen", "alpha"], "within": {"seconds": 5}},
        ),
    )
    session = made.session()
    session.feed("2026-11-30T12:00:00Z boom\n", source="a")
    session.feed("[  100.000000] alpha\n", source="b")
    assert session.close().verdict == "crash", "it is unknown how far apart they are"


def test_facts_and_culprit(tmp_path: Path) -> None:
    made = classifier(
        tmp_path,
        fingerprint(
            "tested",
            "root",
            r"card (?P<gpu>\d+) of rank (?P<rank>\d+) lost(?: (?P<size>\d+))?",
            indicators={"more": indicator(r"it had (?P<size>\d+) MiB", weight="supporting", sets={"told": True})},
            facts={
                "gpu": {"type": "gpu", "label": "card"},
                "rank": {"type": "rank", "label": "rank"},
                "size": {"type": "mib", "label": "size"},
                "told": {"type": "bool", "label": "told"},
            },
        ),
    )
    (found,) = made.classify(
        "(Worker_TP2 pid=77) ERROR card 3 of rank 2 lost\nit had 80 MiB\ncard 4 of rank 0 lost 1"
    ).classifications
    assert found.facts == {"gpu": 3, "rank": 2, "size": 1024**2, "told": True}
    assert (found.culprit.gpu, found.culprit.rank, found.culprit.pid, found.culprit.component) == (3, 2, 77, "Worker_TP2")


@pytest.mark.parametrize(("other", "cause"), [("vllm-1", None), ("vllm-2", "missing-executable")])
def test_a_replica_that_starts_does_not_speak_for_another(builtin: Classifier, other: str, cause: str | None) -> None:
    found = builtin.classify(
        "vllm-1  | /start.sh: line 11: nvidia-cuda-mps: command not found\n"
        f"{other}  | (APIServer pid=1) INFO 11-30 19:36:46 [api_utils.py:347] vLLM API server version 0.32.0\n"
        f"{other}  | (APIServer pid=1) INFO:     Application startup complete.\n"
    ).cause
    assert (found and found.id) == cause
