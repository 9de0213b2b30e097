"""Lives and incidents: what came before, what came after and what was concatenated do not change what killed the server."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from corpus import SAMPLES, Sample, classifier, samples
from tiny import classifier as tiny_classifier
from tiny import fingerprint, indicator

from vllm_crashsig import Classifier, Report
from vllm_crashsig.cli import run

GRACEFUL = (SAMPLES / "healthy/vllm-healthy-sigterm.log").read_bytes()
"""A server that starts, serves and is stopped by SIGTERM."""
UP = GRACEFUL[: GRACEFUL.index(b"Application startup complete")] + b"Application startup complete.\n"
DAY = UP + b"".join(
    b'INFO:     10.0.0.%d:%d - "POST /v1/completions HTTP/1.1" 200 OK\n' % (i % 250, 40000 + i) for i in range(300)
)
"""The same server after a day's work, cut off while all is well."""


def told(report: Report) -> str:
    """The verdict in one word: the first cause's id, where there is a crash."""
    return report.cause.id if report.cause and report.verdict == "crash" else report.verdict


def failed(report: Report) -> list[str]:
    """The first cause of each incident that is a crash."""
    return [i.classifications[0].id for i in report.incidents if i.verdict == "crash"]


@cache
def whole_lives() -> tuple[tuple[Sample, bytes, str], ...]:
    """Hits that begin with a start of the server, in plain text and outside of containers, with their bytes and their cause."""
    found = []
    for sample in samples():
        data = sample.path.read_bytes()
        if sample.kind != "hit" or b"\0" in data or b"\r" in data or data.lstrip()[:1] == b"{":
            continue
        session = classifier().session()
        session.take(data, "x")
        report = session.close()
        streams = session.streams()
        if (
            report.verdict == "crash"
            and len(streams) == 1
            and streams[0].container is None
            and "start" in streams[0].segments[0].milestones
            and len(report.incidents) == 1
            and report.incidents[0].repeats == 1
        ):
            found.append((sample, data.rstrip(b"\n") + b"\n", told(report)))
    return tuple(found)


def speaks_early(data: bytes) -> bool:
    """Whether the cause is told before the server's banner, while the program is loaded."""
    session = classifier().session()
    session.take(data, "x")
    cause = session.close().cause
    start = session.streams()[0].segments[0].milestones["start"][0]
    return cause is not None and min(e.line for e in cause.evidence) < start


def test_there_are_enough_whole_lives() -> None:
    assert len(whole_lives()) > 80
    assert len({cause for _, _, cause in whole_lives()}) > 40


def test_a_healthy_day_before_changes_nothing() -> None:
    after_a_day = {s.name: (cause, told(classifier().classify(DAY + data))) for s, data, cause in whole_lives()}
    assert {name: causes for name, causes in after_a_day.items() if causes[0] != causes[1]} == {}


def test_a_restart_in_good_order_afterwards_changes_nothing() -> None:
    wrong = {}
    for sample, data, cause in whole_lives():
        report = classifier().classify(data + GRACEFUL)
        got = (told(report), failed(report), report.incidents[-1].verdict)
        if got != (cause, [cause], "healthy"):
            wrong[sample.name] = got
    assert not wrong


def test_of_two_crashes_the_last_leads_and_both_are_told() -> None:
    wrong = {}
    lives = whole_lives()
    for (one, first, cause), (other, second, later) in zip(lives, [*lives[7:], *lives[:7]], strict=True):
        if cause == later or speaks_early(second):
            continue  # what is said before the banner cannot be told from a life before it that never came up
        report = classifier().classify(first + second)
        if (told(report), failed(report)) != (later, [cause, later]):
            wrong[one.name, other.name] = (told(report), failed(report))
    assert not wrong


def test_the_end_of_a_life_without_its_beginning_is_told() -> None:
    """``docker logs --tail``: the log begins in the middle of a crash, and the server that came after it is well."""
    lines = (SAMPLES / "cuda-oom.weights-load/hit-load.log").read_bytes().splitlines(keepends=True)
    tail = b"".join(lines[next(i for i, x in enumerate(lines) if b"Traceback" in x) :])
    report = classifier().classify(tail + GRACEFUL)
    assert told(report) == "cuda-oom.weights-load"
    assert [i.verdict for i in report.incidents] == ["crash", "healthy"]


CATALOGUE = (
    fingerprint("disk-gone", "root", "disk gone", explains=["engine-down"]),
    fingerprint("no-driver", "root", "no driver", explains=["engine-down"]),
    fingerprint("engine-down", "cascade", "engine is down"),
    fingerprint("slow-disk", "degraded", "disk is slow"),
    fingerprint(
        "life",
        "healthy",
        indicators={
            "boot": indicator("container begins", milestone="boot"),
            "import": indicator("loading code", milestone="import"),
            "start": indicator("server starts", milestone="start"),
            "ready": indicator("server is ready", milestone="ready"),
            "tick": indicator("served a request", milestone="progress"),
        },
    ),
)
CRASH = ["Traceback (most recent call last):", '  File "x.py", line 1, in f', "OSError: disk gone"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    return tiny_classifier(tmp_path_factory.mktemp("catalogue"), *CATALOGUE)


@pytest.mark.parametrize(
    ("lines", "verdicts", "cause"),
    [
        # what a container's entrypoint says belongs to the server that it starts, not to the one before
        (["server starts", "served a request", "container begins", "no driver", "server starts", "engine is down"],
         ["healthy", "crash"], "no-driver"),
        (["container begins", "no driver", "server starts", "engine is down"], ["crash"], "no-driver"),
        # so does what a program says while it is loaded, after a server that was up
        (["server starts", "served a request", "loading code", "no driver", "server starts", "engine is down"],
         ["healthy", "crash"], "no-driver"),
        # but workers load it too, before the server is up
        (["server starts", "no driver", "loading code", "engine is down"], ["crash"], "no-driver"),
        # and is overcome by a server that comes up
        (["container begins", "no driver", "server starts", "server is ready"], ["healthy"], "healthy"),
        # an exception before the first banner: the cause of a life that never came up ...
        ([*CRASH, "server starts", "engine is down"], ["crash"], "disk-gone"),
        # ... the end of another where one came up ...
        ([*CRASH, "server starts", "server is ready"], ["crash", "healthy"], "disk-gone"),
        # ... while a line without an exception is not
        (["disk gone", "server starts", "server is ready"], ["healthy"], "healthy"),
        # what hurt an earlier life is told when nothing worse happened
        (["server starts", "server is ready", "disk is slow", "server starts", "server is ready"],
         ["degraded", "healthy"], "slow-disk"),
    ],
)  # fmt: skip
def test_lives(made: Classifier, lines: list[str], verdicts: list[str], cause: str) -> None:
    report = made.classify("".join(f"{line}\n" for line in lines))
    assert [i.verdict for i in report.incidents] == verdicts
    assert (report.cause.id if report.cause else report.verdict) == cause


@pytest.fixture
def three_lives(tmp_path: Path) -> Path:
    path = tmp_path / "vllm.log"
    oom = (SAMPLES / "cuda-oom.weights-load/hit-load.log").read_bytes()
    shm = (SAMPLES / "shm-exhausted-nccl/hit-guide-three-lines.log").read_bytes()
    path.write_bytes(shm + GRACEFUL + oom)
    return path


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_all_tells_each_incident(three_lives: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["classify", str(three_lives), "--format", form, "--width", "200"]) == 0
    plain = capsys.readouterr().out
    assert run(["classify", str(three_lives), "--format", form, "--width", "200", "--all"]) == 0
    every = capsys.readouterr().out
    quote = "Error while creating shared memory segment"
    assert quote not in plain and quote in every
    assert every.index(quote) < every.index("CUDA out of memory")
    assert "Incidents in this log" in plain and "Incidents in this log" not in every


def test_all_with_a_single_incident_is_the_plain_answer(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLES / "shm-exhausted-nccl/hit-guide-three-lines.log")
    run(["classify", path])
    plain = capsys.readouterr().out
    run(["classify", path, "--all"])
    assert capsys.readouterr().out == plain


def test_json_always_holds_all(three_lives: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["classify", str(three_lives), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert [i["verdict"] for i in report["incidents"]] == ["crash", "healthy", "crash"]
