"""`Session.feed`: what it tells when, what it costs, and that sessions leave each other alone."""

from __future__ import annotations

import gc
import random
import threading
import time
import tracemalloc
from pathlib import Path

import pytest
from tiny import SAMPLES, classifier, fingerprint, indicator

from vllm_crashsig import Classifier, Report, Session, Update, envelopes
from vllm_crashsig.answer import Reporter
from vllm_crashsig.correlate import KEPT_SEGMENTS
from vllm_crashsig.pace import PRICE, SOON
from vllm_crashsig.patterns import SEARCH_TIMEOUT

CRASH = (SAMPLES / "shm-exhausted-nccl" / "hit-vllm085-nccl221.log").read_bytes()
START = (SAMPLES / "healthy" / "vllm-healthy-sigterm.log").read_bytes().split(b"[shutdown]")[0].rpartition(b"\n")[0] + b"\n"
ACCESS = b'(APIServer pid=7) INFO:     10.0.0.1:1234 - "GET /health HTTP/1.1" 200 OK\n'
KILOBYTE = 1000


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    """Knows two roots, what they break, work, a start, and a story in which nothing happens."""
    return classifier(
        tmp_path_factory.mktemp("zoo"),
        fingerprint("zebra-fell", "root", r"zebra \w+ fell over", explains=["zoo-closed"]),
        fingerprint("lion-left", "root", "lion has left", explains=["zoo-closed"]),
        fingerprint("zoo-closed", "cascade", "zoo is closed"),
        fingerprint("story", "noise", "once upon a time"),
        fingerprint("at-work", "healthy", indicators={"works": indicator("feeding time", milestone="progress")}),
        fingerprint("opening", "healthy", indicators={"opens": indicator("zoo opens", milestone="start")}),
    )


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Update]:
    """Every answer that is worked out from here on, told or not."""
    worked_out: list[Update] = []
    update = Reporter.update

    def counted(self: Reporter, *arguments: object, **named: object) -> Update:
        worked_out.append(update(self, *arguments, **named))  # type: ignore[arg-type]
        return worked_out[-1]

    monkeypatch.setattr(Reporter, "update", counted)
    return worked_out


def causes(updates: list[Update]) -> list[str | None]:
    return [update.classification.id if update.classification else None for update in updates]


# -- what is told -----------------------------------------------------------------------------------------


def test_the_answer_is_refined_as_more_comes(zoo: Classifier) -> None:
    session = zoo.session()
    assert session.feed("zoo opens\nfeeding time\n") == []
    (first,) = session.feed("zoo is closed\n", "keeper")
    assert (first.verdict, causes([first])) == ("crash", ["zoo-closed"])
    (second,) = session.feed("lion has left\n", "watchman")
    assert causes([second]) == ["lion-left"]
    assert second.classification is not None
    assert second.classification.explains == ["zoo-closed"]
    assert session.feed("lion has left\n", "watchman") == [], "nothing that was not told"


def test_what_a_cause_broke_is_told_too(zoo: Classifier) -> None:
    session = zoo.session()
    updates = [*session.feed("zebra Joe fell over\n"), *session.feed("zoo is closed\n")]
    assert [u.classification and u.classification.explains for u in updates] == [[], ["zoo-closed"]]


def test_other_ranks_refine_who_it_was(builtin: Classifier) -> None:
    """The rank that the others wait for is known only when they have said so."""
    session = builtin.session()
    log = (SAMPLES / "nccl-timeout" / "hit-one-of-eight-silent.log").read_bytes()
    updates = [u for line in log.splitlines(keepends=True) for u in session.feed(line)] + session.idle()
    report = session.close()
    assert report.cause is not None
    first, last = updates[0].classification, updates[-1].classification
    assert first is not None
    assert last is not None
    assert (last.id, last.culprit.role, last.culprit.rank) == (
        report.cause.id,
        report.cause.culprit.role,
        report.cause.culprit.rank,
    )
    assert (first.culprit.role, first.culprit.rank) != (last.culprit.role, last.culprit.rank)


def test_a_recovery_is_told(zoo: Classifier) -> None:
    session = zoo.session()
    verdicts = [u.verdict for line in ("zebra Joe fell over", *["feeding time"] * 5) for u in session.feed(line + "\n")]
    assert verdicts == ["crash", "healthy"]


def test_an_exit_status_is_told(builtin: Classifier) -> None:
    session = builtin.session()
    assert session.feed(START) == []
    (update,) = session.exited(-9)
    assert update.verdict in ("crash", "unclassified")
    assert session.close().verdict == update.verdict
    well = builtin.session()
    well.feed(START)
    assert well.exited(0) == []


@pytest.mark.parametrize(
    "name",
    [
        "shm-exhausted-nccl/hit-vllm085-nccl221.log", "cuda-oom/hit-aoti-docker-json.log",
        "cuda-arch-unsupported/hit-rtx50-utf16.log", "driver-too-old/hit-hook-journal.log",
        "max-len-exceeds-model/hit-docker-restart-loop.log", "demo/vllm.log", "healthy/vllm-healthy-debug-log.log",
    ],
)  # fmt: skip
def test_watching_leaves_no_trace_in_the_answer(builtin: Classifier, name: str) -> None:
    """However the log is cut, and however often somebody asks in between."""
    data = (SAMPLES / name).read_bytes()
    rng = random.Random(7)
    session, at = builtin.session(), 0
    updates: list[Update] = []
    while at < len(data):
        size = rng.choice([1, 20, 200, 2000])
        updates += session.feed(data[at : at + size])
        if rng.random() < 0.3:
            updates += session.idle()
        if rng.random() < 0.1:
            session.report()
        at += size
    updates += session.idle()
    report = session.close()
    assert report == builtin.classify(data)
    assert (updates[-1].verdict if updates else "healthy") == report.verdict
    if updates and report.cause is not None:
        assert causes(updates)[-1] == report.cause.id


# -- lines that are not finished --------------------------------------------------------------------------


def test_an_unfinished_line_counts_when_it_is_quiet(zoo: Classifier) -> None:
    session = zoo.session()
    assert session.feed("zebra Joe fell over") == []
    assert causes(session.idle()) == ["zebra-fell"]
    assert session.idle() == [], "told once"
    assert session.feed(" today\nfeeding") == []
    assert session.idle() == []
    report = session.close()
    assert report == zoo.classify("zebra Joe fell over today\nfeeding")
    assert report.cause is not None
    assert report.cause.evidence[0].count == 1


def test_the_rest_of_a_line_may_take_it_back(zoo: Classifier) -> None:
    session = zoo.session()
    session.feed("zebra Joe fell over")
    assert [u.verdict for u in session.idle()] == ["crash"]
    assert [u.verdict for u in session.feed(", once upon a time\n")] == ["healthy"]


def test_a_progress_bar_is_no_news(builtin: Classifier, answers: list[Update]) -> None:
    session = builtin.session()
    session.feed(START)
    for done in range(20):
        session.feed(f"\rLoading safetensors checkpoint shards: {5 * done}% Completed")
        assert session.idle() == []
    assert answers == []


# -- what it costs ----------------------------------------------------------------------------------------


def test_an_ordinary_crash_is_answered_at_each_line_that_matters(zoo: Classifier, answers: list[Update]) -> None:
    session = zoo.session()
    for line in ("zoo opens", "zoo is closed", "a line", "zebra Joe fell over", "lion has left"):
        session.feed(line + "\n")
    assert causes(answers) == ["zoo-closed", "zebra-fell", "zebra-fell"]


def test_nothing_is_worked_out_while_all_is_well(builtin: Classifier, answers: list[Update]) -> None:
    session = builtin.session()
    for line in START.splitlines(keepends=True):
        assert session.feed(line) == []
    assert session.idle() == []
    assert answers == []


def flood(kind: str, number: int) -> str:
    """The next lines of a flood of some kind."""
    if kind == "unknown errors, each another":
        name = "".join(chr(65 + number // 26**i % 26) for i in range(3))
        return f'Traceback (most recent call last):\n  File "/a/b{name}.py", line 1, in f{name}\nzoo.{name}Error: x\n'
    if kind == "many containers":
        return f"pod-{number}  | zebra Joe fell over\n"
    turns = {
        "the same error": ["zebra Joe fell over"],
        "errors and work in turn": ["zebra Joe fell over", "feeding time"],
        "a restart loop": ["zoo opens", "feeding time", "zebra Joe fell over", "zoo is closed"],
    }[kind]
    return turns[number % len(turns)] + "\n"


@pytest.mark.parametrize(
    "kind", ["the same error", "errors and work in turn", "unknown errors, each another", "a restart loop", "many containers"]
)
def test_a_flood_is_answered_now_and_then(
    zoo: Classifier, answers: list[Update], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once savings are used up, so much log pays for each answer, and the more the dearer it is."""
    monkeypatch.setattr("vllm_crashsig.pace.BURST", 1000)
    session = zoo.session()
    lines = 800 if kind == "many containers" else 4000
    counts, size = [], 0
    for number in range(2 * lines):
        size += len(more := flood(kind, number))
        session.feed(more)
        if number + 1 in (lines, 2 * lines):
            counts.append(len(answers))
    assert counts[1] - counts[0] < size / 2 / (2 * PRICE) + 10
    session.idle()
    assert answers[-1].verdict == session.report().verdict


def test_something_new_in_a_flood_is_told_at_once(zoo: Classifier, answers: list[Update]) -> None:
    session = zoo.session()
    session.feed("zoo opens\nfeeding time\n")
    for _ in range(3000):
        session.feed("zebra Joe fell over\n")
    before = len(answers)
    session.feed("zoo opens\n")
    assert causes(session.feed("lion has left\n")) == ["lion-left"]
    assert len(answers) <= before + 2


def test_every_life_of_a_loop_is_told_at_once_for_a_while(zoo: Classifier, answers: list[Update]) -> None:
    session = zoo.session()
    for life in range(3 * SOON):
        before = len(answers)
        session.feed("zoo opens\nfeeding time\n")
        session.feed("zebra Joe fell over\n" if life % 2 else "lion has left\n")
        assert len(answers) > before


def test_what_a_flood_put_off_is_told_when_it_is_quiet(zoo: Classifier) -> None:
    session = zoo.session()
    told: list[Update] = []
    for _ in range(5000):
        told += session.feed("zebra Joe fell over\nfeeding time\nfeeding time\nfeeding time\n")
    told += session.feed("zoo is closed\n") + session.idle()
    assert told[-1].verdict == session.report().verdict
    assert session.idle() == []


def test_answers_of_a_restart_loop_stay_cheap(builtin: Classifier) -> None:
    """Each looks at the last lives, not at all that were kept."""
    loop = (SAMPLES / "max-len-exceeds-model" / "hit-docker-restart-loop.log").read_bytes()
    session = builtin.session()
    session.take(loop)
    few = seconds_of_an_answer(session)
    for _ in range(KEPT_SEGMENTS):
        session.take(loop)
    assert seconds_of_an_answer(session) < 10 * few


def seconds_of_an_answer(session: Session) -> float:
    best = 60.0
    for _ in range(5):
        begun = time.process_time()
        session.exited(1)
        best = min(best, time.process_time() - begun)
    return best


@pytest.mark.parametrize("whole", [False, True], ids=["by lines", "at once"])
@pytest.mark.parametrize("log", [START + 1900 * ACCESS, CRASH], ids=["healthy", "crash"])
def test_a_session_is_small(builtin: Classifier, log: bytes, whole: bool) -> None:
    parts = [log] if whole else log.splitlines(keepends=True)
    sessions = [builtin.session() for _ in range(5)]
    for part in parts:
        sessions[0].feed(part)  # what all share is made now
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    del sessions[0]
    for session in sessions:
        for part in parts:
            session.feed(part)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert used / len(sessions) < 100 * KILOBYTE


def test_a_flood_does_not_make_it_grow(zoo: Classifier) -> None:
    session = zoo.session()
    sizes = []
    tracemalloc.start()
    for number in range(2500):
        session.feed(f"ERROR {number} zebra Joe fell over {'and over ' * 20}\n")
        if number in (499, 2499):
            zoo._prepared[0].known.clear()  # what all sessions share
            envelopes._known.cache_clear()
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[1] - sizes[0] < 50 * KILOBYTE, "of 500 KB that came"


# -- many at once -----------------------------------------------------------------------------------------


def test_a_thousand_sessions_at_once(builtin: Classifier) -> None:
    """Fed in turn; each has its own answer, and is small."""
    crash, well = CRASH.splitlines(keepends=True)[16:40], START.splitlines(keepends=True)[:24]
    builtin.classify(CRASH)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    sessions = [builtin.session() for _ in range(1000)]
    told: list[list[str | None]] = [[] for _ in sessions]
    for at in range(0, 24, 8):
        for number, session in enumerate(sessions):
            lines = crash if number % 10 == 0 else well
            told[number] += causes(session.feed(b"".join(lines[at : at + 8]), "vllm"))
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert used / len(sessions) < 100 * KILOBYTE
    for number, session in enumerate(sessions):
        expected = ["shm-exhausted-nccl"] if number % 10 == 0 else []
        assert list(dict.fromkeys(told[number])) == expected
        if number < 20:
            assert session.report().verdict == ("crash" if expected else "healthy")


def test_a_fault_in_one_session_does_not_touch_others(zoo: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = zoo.session(), zoo.session()
    good.feed("zebra Joe")
    with monkeypatch.context() as patched:
        patched.setattr(bad, "_correlator", None)
        with pytest.raises(AttributeError):
            bad.feed("zebra Joe fell over\n")
    assert causes(good.feed(" fell over\n")) == ["zebra-fell"]
    assert causes(zoo.session().feed("zebra Joe fell over\n")) == ["zebra-fell"]


def test_a_line_that_takes_a_pattern_for_ever(tmp_path: Path) -> None:
    """It may do so a few times. Then the pattern is given up in this source; others go on with it."""
    slow = classifier(
        tmp_path,
        fingerprint("slow", "root", indicators={"seen": indicator(r"(?:a+)+b$", slow="for this test")}),
        fingerprint("zebra-fell", "root", r"zebra \w+ fell over"),
    )
    bad, good = slow.session(), slow.session()
    line = "a" * 2000 + "c\n"
    begun = time.monotonic()
    bad.feed(line)
    assert time.monotonic() - begun >= SEARCH_TIMEOUT, "this line does take for ever"
    for _ in range(40):
        bad.feed(line)
        good.feed("abd\n")
    assert time.monotonic() - begun < 20 * SEARCH_TIMEOUT
    assert causes(bad.feed("zebra Joe fell over\n")) == ["zebra-fell"]
    assert causes(good.feed("aab\n")) == ["slow"]
    assert any("pattern time-out" in cap for cap in bad.close().coverage.caps)
    assert good.close().coverage.caps == []


def test_sessions_in_many_threads(builtin: Classifier) -> None:
    wanted = builtin.classify(CRASH)
    found: list[Report | Exception] = []
    together = threading.Barrier(6)

    def work() -> None:
        together.wait()
        try:
            for _ in range(3):
                session = builtin.session()
                for line in CRASH.splitlines(keepends=True):
                    session.feed(line)
                session.idle()
                found.append(session.close())
        except Exception as error:  # noqa: BLE001 - told below
            found.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 18
