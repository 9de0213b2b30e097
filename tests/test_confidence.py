"""Confidence: what raises and lowers it, what is never said with confidence, and that its data fit the catalogue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corpus import catalogue, report, samples
from fit import SIGNS
from tiny import classifier, fingerprint, indicator

from vllm_crashsig import Classifier, confidence
from vllm_crashsig.confidence import (
    CIRCUMSTANCES,
    CONSEQUENCE,
    DOUBTFUL,
    HIGH,
    LEAST,
    MEDIUM,
    MOST,
    Ambiguity,
    Curve,
    band,
    curve,
    estimate,
    is_ambiguous,
)

SEEN = frozenset({"seen"})
PLAIN = Curve({"base": 4.0, "ambiguous": -1.5, "far": -1.0}, {})
DOUBTED = Curve(PLAIN.weights, {"a": (Ambiguity(frozenset({"seen", "also"}), frozenset()),)})
ELSEWHERE = Curve(PLAIN.weights, {"a": (Ambiguity(SEEN, CIRCUMSTANCES),)})


def test_bands_begin_where_they_say() -> None:
    assert [band(c) for c in (LEAST, MEDIUM - 0.001, MEDIUM, HIGH - 0.001, HIGH, MOST)] == [
        "low",
        "low",
        "medium",
        "medium",
        "high",
        "high",
    ]
    assert band(DOUBTFUL) == "medium"


def test_the_estimate_stays_within_bounds() -> None:
    for base in (-50.0, 50.0):
        assert LEAST <= estimate("a", SEEN, {}, Curve({"base": base, "ambiguous": 0.0}, {})) <= MOST


@pytest.mark.parametrize("sign", ["either", "last_resort"])
def test_what_may_be_a_consequence_is_never_said_with_confidence(sign: str) -> None:
    assert estimate("a", SEEN, {}, PLAIN) > HIGH
    assert estimate("a", SEEN, {sign: 1.0}, PLAIN) == DOUBTFUL


def test_evidence_that_misled_is_doubted_unless_there_is_more() -> None:
    assert estimate("a", SEEN, {}, DOUBTED) <= DOUBTFUL
    assert estimate("a", frozenset({"seen", "also"}), {}, DOUBTED) <= DOUBTFUL
    assert estimate("a", frozenset({"seen", "more"}), {}, DOUBTED) > HIGH
    assert estimate("b", SEEN, {}, DOUBTED) > HIGH


def test_evidence_that_misled_in_some_circumstances_is_doubted_in_those() -> None:
    assert is_ambiguous("a", SEEN, {"headless": 1.0, "elsewhere": 1.0, "far": 1.0}, ELSEWHERE)
    assert not is_ambiguous("a", SEEN, {"headless": 1.0}, ELSEWHERE)
    assert not is_ambiguous("a", SEEN, {}, ELSEWHERE)


def test_the_weights_that_ship_say_what_the_signs_mean() -> None:
    weights = curve().weights
    assert set(weights) == {"base", *SIGNS}
    for sign in ("either", "last_resort", "ambiguous", "unresolved", "far", "unlinked", "rival", "rivals"):
        assert weights[sign] < 0, f"{sign} must not raise confidence"
    for sign in ("explains", "supported", "told_twice"):
        assert weights[sign] > 0, f"{sign} must not lower confidence"
    assert estimate("nobody", SEEN, {}, curve()) > HIGH


def test_the_ambiguous_evidence_that_ships_is_in_the_catalogue() -> None:
    data = json.loads(Path(confidence.__file__).with_name("confidence.json").read_text(encoding="utf-8"))
    unknown = [
        (name, one)
        for name, entries in data["ambiguous"].items()
        for entry in entries
        for one in entry["seen"]
        if one != CONSEQUENCE
        if name not in catalogue() or one not in catalogue()[name].indicators
    ]
    assert unknown == [], "stale: run make calibrate"


# --- in the answer -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    return classifier(
        tmp_path_factory.mktemp("catalogue"),
        fingerprint("disk-gone", "root", "disk gone", explains=["engine-down"]),
        fingerprint("card-lost", "root", "card lost"),
        fingerprint("signal-seen", "either", "died of a signal"),
        fingerprint("ended-somehow", "root", "it ended", last_resort=True),
        fingerprint("engine-down", "cascade", "engine is down"),
        fingerprint("slow-disk", "degraded", "disk is slow"),
        fingerprint("life", "healthy", indicators={"asked": indicator("asked to stop", milestone="planned-stop")}),
    )


def told(made: Classifier, *lines: str) -> list[tuple[str, float, str]]:
    return [(c.id, c.confidence, c.band) for c in made.classify("\n".join(lines)).classifications]


def test_a_lone_cause_is_said_with_confidence(made: Classifier) -> None:
    ((name, said, word),) = told(made, "disk gone", "engine is down")
    assert (name, word) == ("disk-gone", "high")
    assert said >= 0.95


def test_doubt_has_its_reasons(made: Classifier) -> None:
    for line, reason in (
        ("died of a signal", "may itself follow from something that this log does not show"),
        ("it ended", "tells what happened rather than why"),
        ("engine is down", "only consequences are shown; the cause is not in this log"),
    ):
        (found,) = made.classify(line).classifications
        assert found.band != "high"
        assert reason in found.reasons
    (sure,) = made.classify("disk gone").classifications
    assert not [r for r in sure.reasons if "may" in r or "only" in r]


def test_rivals_share_what_is_left(made: Classifier) -> None:
    (_, alone, _), (_, first, _), (_, second, _) = told(made, "disk gone") + told(made, "disk gone", "card lost")
    assert first < alone
    assert second <= max(1 - first, LEAST) + 0.001


def test_what_hurts_is_told_as_surely_beside_a_crash(made: Classifier) -> None:
    ((_, alone, _),) = told(made, "disk is slow")
    beside = {name: said for name, said, _ in told(made, "disk is slow", "disk gone")}
    assert beside["slow-disk"] > 1 - beside["disk-gone"]
    assert beside["slow-disk"] <= alone


def test_a_stop_on_purpose_after_the_failure_costs_confidence(made: Classifier) -> None:
    ((_, ended, _),) = told(made, "disk gone")
    ((_, stopped, _),) = told(made, "disk gone", "asked to stop")
    assert stopped < ended


def test_only_roots_are_said_with_confidence_on_any_sample() -> None:
    """The bands of all answers, also the wrong ones, keep to the rule."""
    for sample in samples():
        for found in report(sample.path).classifications:
            vague = found.role in ("either", "cascade") or catalogue()[found.id].last_resort
            assert not (vague and found.band == "high"), f"{sample.name}: {found.id} is {found.role}, at {found.confidence}"
