"""The project's own score: what variants are, what an answer is worth, how confidence is fitted, and what fails the build."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import lru_cache
from typing import Any

import fit
import pytest
import score
from corpus import cases, report, samples
from fit import FOLDS, Example, calibration_error, held_back, judged, reliability
from labelled import Labelled, is_false_alarm, labelled, misleads, related, worth
from reading import Answer, read
from run import Row, rows
from variants import WRAPPINGS, Subject, all_envelopes, variants

from vllm_crashsig import Classifier
from vllm_crashsig.confidence import HIGH

ROOT, OTHER = "cuda-oom", "port-in-use"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB"
XID = "[ 4711.250000] NVRM: Xid (PCI:0000:0a:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


@lru_cache(maxsize=1)
def by_name() -> dict[str, Labelled]:
    return {case.name: case for case in labelled()}


def made(name: str) -> Subject:
    return Subject(by_name()[name], read(by_name()[name].logs))


def case(kind: Any, *right: str, owner: str = ROOT) -> Labelled:
    return Labelled("made/up.log", kind, "gpu", owner, (("up.log", b""),), frozenset(right))


# --- labels ------------------------------------------------------------------------------------------------------------------


def test_every_sample_is_a_case() -> None:
    kinds = [c.kind for c in labelled()]
    assert min(kinds.count("crash"), kinds.count("near"), kinds.count("healthy")) > 30
    assert len(kinds) == sum(s.kind != "envelopes" for s in samples()) + len(cases())
    assert all(c.logs and c.area for c in labelled())


def test_what_an_answer_is_worth(builtin: Classifier) -> None:
    oom, silent = builtin.classify(OOM), builtin.classify("all is well")
    assert worth(case("crash", ROOT), oom) == "right"
    assert worth(case("crash", OTHER), oom) == "wrong"
    assert worth(case("crash", OTHER), silent) == "silent"
    assert worth(case("crash", f"{ROOT}.graph-capture"), oom) == "wrong"
    assert worth(case("crash", f"{ROOT}.graph-capture"), oom, exact=False) == "right", "what refines it may be cut off"
    assert worth(case("healthy"), oom) == worth(case("near", "healthy"), oom) == "wrong"
    assert worth(case("healthy"), silent) == worth(case("near", "healthy"), silent) == "right"
    assert worth(case("near", "any"), oom) == "wrong", "its own fingerprint must not be named"
    assert worth(case("near", "any", owner=OTHER), oom) == worth(case("near", ROOT, owner=OTHER), oom) == "right"


def test_the_third_place_is_listed_and_the_first_is_right(builtin: Classifier) -> None:
    both = builtin.classify(f"{OOM}\n{XID}\n")
    first, *rest = [c.id for c in both.classifications]
    assert rest
    assert (worth(case("crash", first), both), worth(case("crash", rest[0]), both)) == ("right", "listed")


def test_a_confident_wrong_answer_misleads_and_a_doubtful_one_does_not(builtin: Classifier) -> None:
    oom = builtin.classify(OOM)
    assert oom.cause is not None
    assert oom.cause.confidence >= HIGH
    assert misleads(case("crash", OTHER), oom)
    assert not misleads(case("crash", ROOT), oom)
    assert misleads(case("healthy"), oom)
    doubtful = builtin.classify("ERROR 11-30 12:00:00 [a.py:1] Worker proc VllmWorker-0 died unexpectedly (exit code: -9)")
    assert doubtful.cause is not None
    assert not misleads(case("crash", OTHER), doubtful)


def test_false_alarms_are_failures_claimed_where_nothing_failed(builtin: Classifier) -> None:
    oom, silent = builtin.classify(OOM), builtin.classify("all is well")
    assert is_false_alarm(case("healthy"), oom)
    assert is_false_alarm(case("near", "healthy"), oom)
    assert not is_false_alarm(case("healthy"), silent)
    assert not is_false_alarm(case("near", ROOT), oom)
    assert not is_false_alarm(case("near", "any"), oom)


def test_relatives_refine_one_another() -> None:
    assert related("a.b", "a")
    assert related("a", "a.b")
    assert not related("a.b", "a.c")
    assert not related("ab", "a")


def test_logs_are_read_as_if_they_lay_on_disk() -> None:
    for one in cases():
        found = read(tuple((p.name, p.read_bytes()) for p in one.paths)).report
        wanted = report(*one.paths)
        assert (found.verdict, [c.id for c in found.classifications]) == (
            wanted.verdict,
            [c.id for c in wanted.classifications],
        )


def test_a_reading_knows_what_the_confidence_is_made_of() -> None:
    reading = read((("a.log", OOM.encode()),))
    assert reading.answer is not None
    assert reading.report.cause is not None
    assert (reading.answer.id, reading.answer.confidence) == (reading.report.cause.id, reading.report.cause.confidence)
    assert reading.answer.seen == {h.indicator for h in reading.hits if h.fingerprint == ROOT}
    assert "headless" in reading.answer.signs


# --- variants ----------------------------------------------------------------------------------------------------------------

SAMPLE = "cuda-oom/hit-cuda-error.log"


def test_cuts_leave_whole_lines_from_either_end() -> None:
    whole = made(SAMPLE)
    lines = whole.case.text.splitlines(keepends=True)
    cut = {v.name: v.logs[0][1] for v in variants(whole, 0)}
    for percent in (10, 30, 60):
        gone = round(len(lines) * percent / 100)
        assert cut[f"end-{percent}"] == b"".join(lines[: len(lines) - gone])
        assert cut[f"begin-{percent}"] == b"".join(lines[gone:])


def test_the_lines_that_show_the_cause_are_told_from_the_others() -> None:
    whole = made(SAMPLE)
    parts = {v.name: v for v in variants(whole, 0)}
    assert whole.telling
    assert b"CUDA error: out of memory" in parts["alone"].logs[0][1]
    assert b"CUDA error: out of memory" not in parts["without"].logs[0][1]
    assert (parts["alone"].shown, parts["without"].shown) == (True, False)
    assert sorted(parts["alone"].logs[0][1].splitlines() + parts["without"].logs[0][1].splitlines()) == sorted(
        whole.case.text.splitlines()
    )


def test_what_is_added_keeps_the_log_whole_and_in_order() -> None:
    whole = made(SAMPLE)
    parts = {v.name: v.logs[0][1] for v in variants(whole, 0)}
    for name in ("surrounded", "second"):
        assert whole.case.text in parts[name]
        assert len(parts[name]) > len(whole.case.text)
    assert parts["surrounded"].index(b"Application startup complete") < parts["surrounded"].index(whole.case.text)
    assert parts["second"].endswith(whole.case.text)
    for name, prefix in (("beside", b"vllm-1  | "), ("among", b"")):
        remaining = iter(parts[name].splitlines())
        assert all(any(line == prefix + wanted for line in remaining) for wanted in whole.case.text.splitlines()), name


def test_a_case_of_several_logs_loses_them_one_by_one() -> None:
    whole = made("incidents/gpu-lost-two-logs")
    assert [(v.name, [n for n, _ in v.logs]) for v in variants(whole, 0) if v.group == "log missing"] == [
        ("no compose.log", ["kernel.log"]),
        ("no kernel.log", ["compose.log"]),
    ]
    shorter = next(v for v in variants(whole, 0) if v.name == "begin-30")
    assert all(len(now) < len(before) for (_, now), (_, before) in zip(shorter.logs, whole.case.logs, strict=True))


def test_documents_about_containers_are_not_torn() -> None:
    whole = made("incidents/docker-oom-child")
    before = dict(whole.case.logs)
    for variant in variants(whole, 0):
        if variant.group in ("begin missing", "end missing"):
            after = dict(variant.logs)
            assert after["inspect.json"] == before["inspect.json"]
            assert len(after["container.log"]) < len(before["container.log"])


def test_healthy_logs_are_only_added_to() -> None:
    groups = {v.group for v in variants(made("healthy/vllm-v016-healthy-sigterm.log"))}
    assert groups == {"mixed", "wrapped"}


def test_each_log_is_wrapped_in_a_few_envelopes_and_together_in_all() -> None:
    names = [c.name for c in labelled()][:400]
    bare = [s for s in map(made, names) if s.bare]
    used = [[v.name for v in variants(s) if v.group == "wrapped"] for s in bare]
    assert {len(set(some)) for some in used} == {WRAPPINGS}
    assert {f"in {e.name}" for e in all_envelopes()} == {name for some in used for name in some}
    assert used[0] == [v.name for v in variants(bare[0]) if v.group == "wrapped"], "nothing is left to chance"


# --- calibration -------------------------------------------------------------------------------------------------------------


def example(label: str, right: bool, *found: str, given: str = "a", evidence: str = "x", group: str = "plain") -> Example:
    answer = Answer(given, "root", 0.0, dict.fromkeys(found, 1.0), frozenset({evidence}))
    return Example(label, answer, right, group, f"{label} {found}")


def test_the_error_is_the_distance_between_confidence_and_truth() -> None:
    assert calibration_error([(0.75, True, 1), (0.75, True, 1), (0.75, True, 1), (0.75, False, 1)]) == 0
    assert calibration_error([(0.95, False, 1)]) == pytest.approx(0.95)
    assert calibration_error([(0.95, False, 1), (0.15, False, 3)]) == pytest.approx((0.95 + 3 * 0.15) / 4)
    assert calibration_error([]) == 0
    assert reliability([(0.85, True, 2), (0.85, False, 2), (1.0, True, 1)]) == [
        (0.8, pytest.approx(0.85), 0.5, 4),
        (0.9, 1.0, 1.0, 1),
    ]


def test_the_fit_finds_how_often_a_sign_goes_with_being_wrong() -> None:
    chance = random.Random(7)
    found = [example(f"label-{i % 40}", chance.random() < 0.9) for i in range(4000)]
    found += [example(f"label-{i % 40}", chance.random() < 0.6, "far") for i in range(4000)]
    told = judged(found, fit.fit(found))
    said = {"far" in e.answer.signs: confidence for e, (confidence, _, _) in zip(found, told, strict=True)}
    assert said[True] == pytest.approx(0.6, abs=0.03)
    assert said[False] == pytest.approx(0.9, abs=0.03)
    assert calibration_error(held_back(found)) < 0.05


def test_what_misled_is_doubted_from_then_on() -> None:
    good = [example(f"label-{i}", True) for i in range(200)]
    learned = fit.fit([*good, example("label-7", False, group="cause missing", given="b"), example("label-8", True, given="b")])
    assert [sorted(a.seen) for a in learned.ambiguous["b"]] == [["x"]]
    ((told, _, _), (other, _, _), (elsewhere, _, _)) = judged(
        [example("l", True, given="b"), example("l", True, given="b", evidence="y"), example("l", True)], learned
    )
    assert told < HIGH < min(other, elsewhere)


def test_what_misled_in_a_log_without_beginning_is_doubted_there_only() -> None:
    good = [example(f"label-{i}", True) for i in range(200)]
    learned = fit.fit([*good, example("label-7", False, "headless", group="cause missing", given="b")])
    asked = [example("l", True, "headless", given="b"), example("l", True, given="b")]
    ((without, _, _), (complete, _, _)) = judged(asked, learned)
    assert without < HIGH < complete


def test_a_sign_of_doubt_never_raises_the_chance() -> None:
    found = [example(f"label-{i}", i % 9 > 0) for i in range(300)] + [example(f"label-{i}", True, "far") for i in range(300)]
    assert fit.fit(found).weights["far"] == pytest.approx(fit.LEAST_SHARE * fit.PRIOR["far"])
    assert fit.fit([*found, *(example(f"label-{i}", False, "far") for i in range(150))]).weights["far"] < -0.5


def test_a_case_that_is_never_solved_teaches_no_doubt() -> None:
    good = [example(f"label-{i}", True) for i in range(200)]
    unsolved = replace(example("label-7", False, group="cause missing", given="b"), solved=False)
    assert fit.fit([*good, unsolved]).ambiguous == {}


def test_held_back_labels_are_not_fitted_on() -> None:
    """What misled for one label only must be news when that label is held back."""
    good = [example(f"label-{i}", True) for i in range(200)]
    bad = example("the-odd-one", False, group="cause missing", given="b")
    (told,) = [confidence for confidence, right, _ in held_back([*good, bad]) if not right]
    assert told > HIGH
    ((fitted, _, _),) = judged([bad], fit.fit([*good, bad]))
    assert fitted < HIGH
    assert len({e.fold for e in good}) == FOLDS
    assert example("a.b", True).fold == example("a.c", True).fold == example("a", True).fold


# --- the score ---------------------------------------------------------------------------------------------------------------


def row(name: str, worth: Any = "right", group: str = "plain", **more: Any) -> Row:
    known: dict[str, Any] = {
        "case": name, "kind": "crash", "area": "gpu", "right": frozenset({ROOT}), "variant": group, "group": group,
        "shown": True, "worth": worth, "misleads": False, "false_alarm": False, "verdict": "crash",
        "answer": None,
        "ids": (ROOT,) if worth == "right" else (OTHER, ROOT) if worth == "listed" else (),
    }  # fmt: skip
    return Row(**{**known, **more})


def test_measures_of_a_few_rows() -> None:
    found = [row("a"), row("b", "listed"), row("c", "silent"), row("d", "silent", shown=False), row("e", "wrong", kind="near")]
    assert score.measures(found) == {
        "logs": 5, "top1": 0.3333, "top3": 0.6667, "mrr": 0.5, "right": 0.4, "misled": 0, "false_alarms": 0,
    }  # fmt: skip
    assert score.measures([row("a", shown=False)])["top1"] is None


def numbers(*found: Row) -> dict[str, Any]:
    return score.summary(found)


def test_no_drop_is_no_shortfall() -> None:
    before = numbers(row("a"), row("b", "silent"))
    assert score.shortfalls(before, before) == []
    assert score.shortfalls(numbers(row("a"), row("b")), before) == []
    assert score.changed(before, before) == []


def test_a_drop_fails_and_names_the_case() -> None:
    before, now = numbers(row("a"), row("b", "silent")), numbers(row("a", "wrong"), row("b", "silent"))
    assert any("plain: top1 fell from 0.5000 to 0.0000" in line for line in score.shortfalls(now, before))
    assert score.changed(now, before) == ["a plain: wrong"]


def test_variants_may_fall_a_little_and_samples_not_at_all() -> None:
    def some(wrong: int, group: str) -> dict[str, Any]:
        return numbers(*(row(f"case-{i}", "silent" if i < wrong else "right", group) for i in range(1000)))

    assert score.shortfalls(some(4, "mixed"), some(0, "mixed")) == []
    assert score.shortfalls(some(6, "mixed"), some(0, "mixed")) != []
    assert score.shortfalls(some(1, "plain"), some(0, "plain")) != []


@pytest.mark.parametrize("fault", ["false_alarm", "misleads"])
def test_false_alarms_and_confident_mistakes_are_never_tolerated(fault: str) -> None:
    good = [row(f"case-{i}", group="mixed") for i in range(1000)]
    before, now = numbers(*good), numbers(*good[1:], row("case-0", group="mixed", **{fault: True}))
    (told,) = score.shortfalls(now, before)
    assert "rose from 0 to 1" in told


def test_a_group_that_is_gone_is_a_drop() -> None:
    before = numbers(row("a"), row("a", group="mixed"))
    assert any(line.startswith("mixed") for line in score.shortfalls(numbers(row("a")), before))


def test_the_calibration_error_has_a_limit() -> None:
    now = numbers(row("a"))
    now["calibration"]["error_held_back"] = 0.06
    assert score.shortfalls(now, numbers(row("a"))) == ["calibration: error_held_back is 0.0600, more than 0.05"]


def test_the_stored_baseline_is_of_this_form() -> None:
    stored = score.BASELINE.read_text(encoding="utf-8")
    data = json.loads(stored)
    assert score.baseline_text(data) == stored
    assert data["groups"]["plain"]["false_alarms"] == data["groups"]["plain"]["misled"] == 0
    assert set(data["groups"]) >= {"plain", "begin missing", "end missing", "cause missing", "mixed", "continued", "wrapped"}


def test_a_part_of_the_score_from_end_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    found = list(rows("cuda-oom/hit", "missing"))
    assert len({r.case for r in found}) > 3
    assert {r.group for r in found} == {"plain", "begin missing", "end missing", "cause missing"}
    assert all(r.worth == "right" and r.answer is not None for r in found if r.group == "plain")
    score.tell(found, numbers(*found))
    told = capsys.readouterr().out
    for expected in ("top-1", "cause missing", "calibration error", "most confident of the wrong", "begin-60"):
        assert expected in told
