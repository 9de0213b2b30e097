"""Ranking: roots before cascades, what was survived is no cause, a stop on purpose is none, and lives are kept apart."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tiny import classifier, fingerprint, indicator

from vllm_crashsig import Classifier, Report

Classify = Callable[..., Report]

CATALOGUE = (
    fingerprint("disk-gone", "root", r"disk (?P<disk>\w+ )?gone", explains=["engine-down"], facts={"disk": {"label": "disk"}}),
    fingerprint("disk-gone.for-good", "root", "disk gone for good", explains=["engine-down"]),
    fingerprint("card-lost", "root", "card lost", explains=["worker-down"]),
    fingerprint("kill-event", "root", "kernel killed it", explains=["engine-down"], stands_after_stop=True),
    fingerprint("signal-seen", "either", "died of a signal", explains=["engine-down"]),
    fingerprint("worker-down", "cascade", "worker is down", explains=["engine-down"]),
    fingerprint("engine-down", "cascade", "engine is down"),
    fingerprint("slow-disk", "degraded", "disk is slow"),
    fingerprint("user-text", "noise", "prompt: "),
    fingerprint(
        "life",
        "healthy",
        indicators={
            "start": indicator("server starts", milestone="start"),
            "ready": indicator("server is ready", milestone="ready"),
            "tick": indicator("served a request", milestone="progress"),
            "asked": indicator("asked to stop", milestone="planned-stop"),
            "bye": indicator("good bye", milestone="stop"),
        },
    ),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    return classifier(tmp_path_factory.mktemp("catalogue"), *CATALOGUE)


@pytest.fixture
def classify(made: Classifier) -> Classify:
    """Classifies lines, or several sources of lines by name."""

    def run(*lines: str, **sources: list[str]) -> Report:
        session = made.session()
        for name, content in ({"log": [*lines]} | sources).items():
            session.feed("".join(f"{line}\n" for line in content), source=name)
        return session.close()

    return run


def ids(report: Report) -> list[str]:
    return [c.id for c in report.classifications]


def test_root_before_cascade_in_any_order(classify: Classify) -> None:
    for lines in (("disk gone", "engine is down"), ("engine is down", "disk gone")):
        report = classify(*lines)
        assert report.verdict == "crash"
        assert ids(report) == ["disk-gone"]
        assert report.classifications[0].explains == ["engine-down"]
        assert any(n.fingerprint == "engine-down" and n.action == "absorbed" for n in report.trail)


def test_explains_reaches_through_others(classify: Classify) -> None:
    report = classify("card lost", "worker is down", "engine is down")
    assert ids(report) == ["card-lost"]
    assert report.classifications[0].explains == ["engine-down", "worker-down"]


def test_a_cascade_alone_is_told_as_one(classify: Classify) -> None:
    report = classify("engine is down")
    assert report.verdict == "crash"
    (found,) = report.classifications
    assert (found.id, found.role, found.band) == ("engine-down", "cascade", "low")


def test_a_consequence_long_before_its_cause_is_not_explained(classify: Classify) -> None:
    report = classify("engine is down", *["chatter"] * 700, "disk gone")
    assert ids(report) == ["disk-gone", "engine-down"]
    assert report.classifications[0].explains == []


def test_root_before_either(classify: Classify) -> None:
    assert ids(classify("died of a signal", "card lost"))[0] == "card-lost"
    assert ids(classify("died of a signal", "engine is down")) == ["signal-seen"]


def test_the_earliest_of_equal_roots_leads(classify: Classify) -> None:
    assert ids(classify("disk gone", "card lost")) == ["disk-gone", "card-lost"]
    assert ids(classify("card lost", "disk gone")) == ["card-lost", "disk-gone"]


def test_rivals_cost_confidence(classify: Classify) -> None:
    alone, first = (classify(*lines).classifications[0] for lines in (["disk gone"], ["disk gone", "card lost"]))
    assert first.confidence < alone.confidence
    assert any("card-lost" in reason for reason in first.reasons)


def test_refinement_absorbs_its_base(classify: Classify) -> None:
    report = classify("disk gone for good")
    assert ids(report) == ["disk-gone.for-good"]


def test_survived_errors_are_no_causes(classify: Classify) -> None:
    assert classify("disk gone", "served a request", "served a request").verdict == "healthy"
    assert classify("disk gone", "server is ready").verdict == "healthy"
    assert classify("disk gone", "served a request").verdict == "crash", "one such line may have been on its way"
    report = classify("disk gone", *["served a request"] * 500, "engine is down")
    assert ids(report) == ["engine-down"]
    assert any(n.fingerprint == "disk-gone" and n.action == "vetoed" for n in report.trail)


def test_a_root_is_not_survived_when_its_consequence_ends_the_log_soon_after(classify: Classify) -> None:
    work = ["served a request"] * 50
    assert ids(classify("server starts", "disk gone", *work, "engine is down")) == ["disk-gone"]
    assert ids(classify("server starts", "disk gone", *work * 20, "engine is down")) == ["engine-down"]
    assert ids(classify("server starts", "disk gone", *work, "worker is down", "card lost")) == ["card-lost"]


def test_degraded_is_told_but_is_no_crash(classify: Classify) -> None:
    report = classify("disk is slow", *["served a request"] * 5)
    assert (report.verdict, ids(report)) == ("degraded", ["slow-disk"])
    assert ids(classify("disk is slow", "disk gone")) == ["disk-gone", "slow-disk"]


def test_orderly_stop_vetoes_its_echoes(classify: Classify) -> None:
    for stop in ("asked to stop", "good bye"):
        report = classify("server is ready", stop, "engine is down", "disk gone")
        assert report.verdict == "healthy"
        assert any("orderly stop at line 2" in n.detail for n in report.trail)


def test_orderly_stop_does_not_veto_what_came_before(classify: Classify) -> None:
    report = classify("disk gone", "asked to stop", "engine is down")
    assert ids(report)[0] == "disk-gone"
    assert report.classifications[0].outcome == "unresolved"


def test_orderly_stop_does_not_veto_late_failures(classify: Classify) -> None:
    assert ids(classify("asked to stop", *["chatter"] * 500, "disk gone")) == ["disk-gone"]
    stamp = "2026-11-30T12:{:02}:00Z {}"
    assert ids(classify(stamp.format(0, "asked to stop"), stamp.format(5, "disk gone"))) == ["disk-gone"]
    assert classify(stamp.format(0, "asked to stop"), stamp.format(0, "disk gone")).verdict == "healthy"


def test_events_stand_after_a_stop(classify: Classify) -> None:
    assert ids(classify("asked to stop", "kernel killed it", "engine is down"))[0] == "kill-event"


def test_a_stop_that_a_failure_caused_is_no_excuse(classify: Classify) -> None:
    report = classify("server is ready", "disk gone", "good bye", "engine is down")
    assert ids(report) == ["disk-gone"]


def test_info_lines_are_no_failures(classify: Classify) -> None:
    header = "{} 11-30 12:00:00 [a.py:1] disk gone"
    assert classify(header.format("INFO")).verdict == "healthy"
    error, warning = (classify(header.format(level)).classifications[0] for level in ("ERROR", "WARNING"))
    assert error.confidence > warning.confidence


def test_claimed_lines_are_no_evidence(classify: Classify) -> None:
    report = classify("prompt: why is my disk gone and the engine is down?")
    assert report.verdict == "healthy"
    assert any("claimed by user-text" in n.detail for n in report.trail)


def test_restart_loop_with_one_cause_is_told_once(classify: Classify) -> None:
    report = classify(*["server starts", "disk gone", "engine is down"] * 4)
    assert report.verdict == "crash"
    (incident,) = report.incidents
    assert (incident.repeats, incident.first_line, incident.last_line, incident.ended) == (4, 1, 12, "failure")
    assert ids(report) == ["disk-gone"]
    assert report.classifications[0].evidence[0].line == 11, "the headline is the last one"


def test_restart_loop_with_changing_causes(classify: Classify) -> None:
    report = classify(
        "server starts",
        "disk gone",
        "server starts",
        "card lost",
        "server starts",
        "card lost",
        "server starts",
        "server is ready",
    )
    assert [(i.classifications[0].id if i.classifications else None, i.repeats) for i in report.incidents] == [
        ("disk-gone", 1),
        ("card-lost", 2),
        (None, 1),
    ]
    assert (report.verdict, ids(report)) == ("crash", ["card-lost"])


def test_a_new_start_without_an_end_is_the_same_life(classify: Classify) -> None:
    assert len(classify("server starts", "server starts", "disk gone").incidents) == 1


def test_very_long_restart_loops_are_bounded(classify: Classify) -> None:
    report = classify(*(line for i in range(300) for line in ("server starts", "disk gone" if i % 2 else "card lost")))
    assert len(report.incidents) < 100
    assert any("restarts in the middle are not listed" in cap for cap in report.coverage.caps)


def test_containers_in_one_stream_are_kept_apart(classify: Classify) -> None:
    report = classify("a-1  | disk gone", *["b-1  | served a request"] * 9)
    assert ids(report) == ["disk-gone"], "what another container goes on doing is no recovery"
    assert report.classifications[0].evidence[0].scope.container == "a-1"
    report = classify("a-1  | asked to stop", "b-1  | disk gone")
    assert ids(report) == ["disk-gone"], "the stop of another is no excuse"
    assert classify("a-1  | disk gone", *["a-1  | served a request"] * 9).verdict == "healthy"


def test_repeats_are_counted(classify: Classify) -> None:
    report = classify("(W pid=1) disk gone", "(W pid=2) disk gone [repeated 3x across cluster]")
    assert report.classifications[0].evidence[0].count == 4


def test_evidence_is_bounded(classify: Classify) -> None:
    (found,) = classify(*["disk gone"] * 500, "disk gone " + "x" * 9000).classifications
    assert len(found.evidence) <= 12
    assert found.evidence[0].count == 501
    assert all(len(e.text) <= 2100 for e in found.evidence)


def test_several_sources_are_one_case(classify: Classify) -> None:
    report = classify("engine is down", dmesg=["kernel killed it"])
    assert ids(report) == ["kill-event"]
    assert report.classifications[0].explains == ["engine-down"]
    assert report.classifications[0].evidence[0].source == "dmesg"


def test_unknown_failure_beside_a_cascade(classify: Classify) -> None:
    traceback = ["Traceback (most recent call last):", '  File "/srv/a.py", line 1, in f', "zoo.OddError: x"]
    assert classify(*traceback, "engine is down").verdict == "unclassified"
    report = classify(*traceback, "disk gone")
    assert (report.verdict, ids(report)) == ("crash", ["disk-gone"])
    assert classify(*traceback, *["served a request"] * 3).verdict == "healthy"


@pytest.mark.parametrize(
    "kernel",
    [
        ["[ 1234.5] Out of memory: Killed process 4242 (VLLM::Worker_TP) total-vm:9kB, anon-rss:8kB, file-rss:0kB, UID:0"],
        ["Nov 30 12:00:00 gpu01 kernel: Out of memory: Kill process 4242 (python3) score 900 or sacrifice child"],
        ["[ 1234.5] Memory cgroup out of memory: Killed process 4242 (python3) total-vm:9kB, anon-rss:8kB, file-rss:0kB"],
    ],
)
def test_the_kernel_settles_an_exit_by_signal_9(builtin: Classifier, kernel: list[str]) -> None:
    died = "Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor."
    log = f"ERROR 11-30 12:00:00 [multiproc_executor.py:1] {died}\n"
    alone = builtin.classify(log).cause
    assert alone is not None
    assert alone.id.startswith("sigkill-unexplained")
    session = builtin.session()
    session.feed(log, source="vllm.log")
    session.feed("\n".join(kernel), source="dmesg")
    cause = session.close().cause
    assert cause is not None
    assert cause.id.startswith("cgroup-oom-kill" if "cgroup" in kernel[0] else "host-oom-kill")
