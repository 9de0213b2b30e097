"""Batches: which cases there are, the same results from every engine, nothing lost to a kill, one clear line for bad input."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import SAMPLES, fingerprint, write

from vllm_crashsig import CaseResult, Classifier, CrashsigError, InputError, OptionError, classify_cases, classify_paths
from vllm_crashsig.batch.attendant import Attendant
from vllm_crashsig.batch.cases import Case, case_name, find_cases
from vllm_crashsig.batch.command import batch_command
from vllm_crashsig.batch.journal import Journal
from vllm_crashsig.batch.pool import run_pool
from vllm_crashsig.batch.progress import Progress
from vllm_crashsig.batch.row import COLUMNS, decode, encode, row_of, unreadable_row
from vllm_crashsig.batch.run import Plan, run_batch
from vllm_crashsig.batch.schedule import BIG, CHUNK_CASES, cost, schedule, useful_jobs
from vllm_crashsig.batch.summary import Summary
from vllm_crashsig.batch.tables import render_html, render_markdown, render_text
from vllm_crashsig.batch.work import Settings, cases_of, cases_text, classify_case, finished_line
from vllm_crashsig.batch.writers import write_rows

COMMAND = [sys.executable, "-m", "vllm_crashsig", "batch"]
CRASH = SAMPLES / "shm-exhausted-nccl" / "hit-vllm085-nccl221.log"
HEALTHY = SAMPLES / "healthy" / "vllm-healthy-sigterm.log"
UNKNOWN = b'Traceback (most recent call last):\n  File "/srv/app/b.py", line 1, in f\nzoo.OddError: =1+1 <b>\n'
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs named pipes and signals")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end. There is never a traceback."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, cwd=cwd,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a .jsonl file."""
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder of small cases of every kind, in folders."""
    home = tmp_path / "logs"
    (home / "node-1" / "deep").mkdir(parents=True)
    (home / "b.log").write_bytes(CRASH.read_bytes())
    (home / "a.log").write_bytes(HEALTHY.read_bytes())
    (home / "node-1" / "unknown.log").write_bytes(UNKNOWN)
    (home / "node-1" / "deep" / "empty.log").write_bytes(b"")
    (home / "node-1" / "core.bin").write_bytes(bytes(range(256)) * 20)
    return home


def small_cases(count: int) -> list[Path]:
    """Samples of all areas."""
    found = sorted(SAMPLES.glob("*/*.log"))
    return found[:: max(1, len(found) // count)]


# Cases


def names(paths: Sequence[str | Path], *arguments: Any, base: Path) -> list[str]:
    return [os.path.relpath(c.name, base) for c in find_cases(paths, *arguments).cases]


def test_every_file_is_a_case_in_a_stable_order(logs: Path) -> None:
    (logs / ".hidden.log").write_bytes(UNKNOWN)
    found = find_cases([logs])
    assert [os.path.relpath(c.name, logs) for c in found.cases] == [
        "a.log", "b.log", "node-1/core.bin", "node-1/unknown.log", "node-1/deep/empty.log",
    ]  # fmt: skip
    assert any("hidden" in note for note in found.notes)
    first = found.cases[0]
    assert (first.size, first.modified, first.met) == (
        (logs / "a.log").stat().st_size,
        (logs / "a.log").stat().st_mtime_ns,
        True,
    )
    assert not find_cases([logs / "a.log"]).cases[0].met


def test_a_folder_or_a_path_as_a_case(logs: Path) -> None:
    assert names([logs], "folder", base=logs) == ["a.log", "b.log", "node-1"]
    assert names([logs], "path", base=logs) == ["."]
    assert names([logs / "node-1", logs / "a.log"], "path", base=logs) == ["node-1", "a.log"]
    (whole,) = (c for c in find_cases([logs], "folder").cases if c.name.endswith("node-1"))
    assert whole.size == sum(p.stat().st_size for p in (logs / "node-1").rglob("*") if p.is_file())
    (logs / "node-2").mkdir()
    assert names([logs], "folder", base=logs) == ["a.log", "b.log", "node-1"]
    with pytest.raises(OptionError, match="unknown kind"):
        find_cases([logs], "member")  # type: ignore[arg-type]


def test_patterns_and_missing_paths(logs: Path) -> None:
    assert names([f"{logs}/*.log"], base=logs) == ["a.log", "b.log"]
    assert names([f"{logs}/**/*.log"], base=logs) == ["a.log", "b.log", "node-1/deep/empty.log", "node-1/unknown.log"]
    none, gone = find_cases([f"{logs}/*.txt", logs / "gone.log"]).cases
    assert "no file matches" in (none.error or "")
    assert "no such file" in (gone.error or "")
    with pytest.raises(OptionError, match="standard input"):
        find_cases(["-"])


@POSIX
def test_links_count_once_and_pipes_not_at_all(logs: Path) -> None:
    (logs / "node-1" / "up").symlink_to(logs)
    (logs / "z-same.log").symlink_to(logs / "a.log")
    (logs / "z-broken.log").symlink_to(logs / "nothing")
    os.mkfifo(logs / "pipe")
    found = find_cases([logs, logs / "b.log"])
    assert len(found.cases) == 5
    notes = " ".join(found.notes)
    assert "other name(s)" in notes
    assert "pipe(s)" in notes
    assert "z-broken.log" in notes


@POSIX
def test_names_that_are_no_text(tmp_path: Path, builtin: Classifier) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"a\xff\n.log")
    with open(path, "wb") as file:
        file.write(CRASH.read_bytes())
    (case,) = find_cases([tmp_path]).cases
    assert case.name.endswith("a\\xff\n.log")
    assert cases_of(cases_text([case])) == [case]
    row = classify_case(case, builtin)
    assert row.cause == "shm-exhausted-nccl"
    assert encode(row).isascii()
    assert "\n" not in encode(row)


def test_cases_at_addresses() -> None:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    for name in ("bucket/logs/x.log", "bucket/logs/day1/a.log", "bucket/logs/day1/b.log", "bucket/logs/day2/n/a.log"):
        files.pipe(f"/{name}", CRASH.read_bytes())
    address = "memory://bucket/logs"
    assert len(find_cases([address]).cases) == 4
    folders = find_cases([address + "/"], "folder").cases
    assert [(c.name, len(c.paths)) for c in folders] == [
        ("memory:///bucket/logs/day1", 2), ("memory:///bucket/logs/day2", 1), ("memory:///bucket/logs/x.log", 1),
    ]  # fmt: skip
    assert [r.cause for r in classify_cases([c.paths for c in folders], jobs=0)] == ["shm-exhausted-nccl"] * 3
    assert "no such file" in (find_cases(["memory://bucket/none/"]).cases[0].error or "")


# Scheduling


@given(
    sizes=st.lists(st.integers(0, 3 * BIG), max_size=200),
    jobs=st.integers(1, 9),
)
def test_every_case_is_handed_out_once(sizes: list[int], jobs: int) -> None:
    cases = [Case(str(i), (str(i),), size) for i, size in enumerate(sizes)]
    chunks = schedule(cases, jobs)
    assert sorted(c.name for chunk in chunks for c in chunk) == sorted(c.name for c in cases)
    assert all(1 <= len(chunk) <= CHUNK_CASES for chunk in chunks)
    assert all(len(chunk) == 1 for chunk in chunks if chunk[0].size >= BIG)


def test_big_cases_starve_no_small_ones_and_hold_up_no_end() -> None:
    big = [Case(f"big{i}", ("",), size=(i + 1) << 30) for i in range(10)]
    small = [Case(f"s{i}", ("",), size=1000) for i in range(1000)]
    order = [[c.name for c in chunk] for chunk in schedule([*small, *big], 4)]
    assert order[:2] == [["big9"], ["big8"]], "the biggest are begun at once, by half of the workers"
    assert [chunk[0][:3] for chunk in order[-8:]] == ["big"] * 8, "and the rest when no small one is left"
    assert order[-1] == ["big0"]
    packed = Case("x.log.gz", ("",), size=BIG // 4)
    assert schedule([*small, packed], 4)[0] == [packed], "a packed case is as big as what is in it"


def test_few_cases_start_few_processes() -> None:
    case = Case("s", ("",), size=1000)
    assert useful_jobs([case] * 20, 64) == 1
    assert useful_jobs([case] * 100_000, 64) == 64
    assert cost([case]) > case.size


# Engines


def test_serial_pool_and_library_agree(builtin: Classifier) -> None:
    paths = small_cases(60)
    serial = list(classify_cases(paths, jobs=0))
    assert [r.case for r in serial] == [str(p) for p in paths]
    assert serial == [row_of(str(p), classify_paths(p, builtin)) for p in paths]
    cases = find_cases(paths).cases
    pooled = [answer for group in run_pool(schedule(cases, 3), 3, Settings()) for answer in group]
    assert {c.name for c, _ in pooled} == {r.case for r in serial}
    assert sorted(line for _, line in pooled) == sorted(
        finished_line(case, result).encode() + b"\n" for case, result in zip(cases, serial, strict=True)
    )


def test_results_come_in_the_order_of_the_cases(tmp_path: Path) -> None:
    big = tmp_path / "big.log"
    big.write_bytes(HEALTHY.read_bytes() * (BIG // HEALTHY.stat().st_size + 1))
    asked: list[Any] = [big, [CRASH, HEALTHY], CRASH, big, tmp_path / "none"]
    results = list(classify_cases(asked, jobs=2))
    assert [r.case for r in results] == [str(big), str(CRASH), str(CRASH), str(big), str(tmp_path / "none")]
    assert [r.sources for r in results] == [1, 2, 1, 1, 0]
    assert {r.case: r for r in classify_cases([CRASH, HEALTHY], jobs=1, ordered=False)}.keys() == {str(CRASH), str(HEALTHY)}


def test_settings_reach_the_workers(tmp_path: Path) -> None:
    own = write(tmp_path / "own", fingerprint("disk-full.zoo", "root", "zoo: no room for (?:the )?animals"))
    (tmp_path / "z.log").write_text("ERROR zoo: no room for animals, token=hf_abcdefghijklmnopqrstuv\n")
    for jobs in (0, 1):
        (row,) = classify_cases([tmp_path / "z.log"], jobs=jobs, fingerprints=[own], redact=False)
        assert row.cause == "disk-full.zoo"
        assert "hf_abc" in (row.evidence or "")
        (row,) = classify_cases([tmp_path / "z.log"], jobs=jobs, fingerprints=[own])
        assert "hf_abc" not in (row.evidence or "")
    with pytest.raises(OptionError, match="unknown runtime"):
        classify_cases([CRASH], runtime="moon")
    with pytest.raises(OptionError, match="1 or more"):
        list(classify_cases([CRASH], jobs=-1))


def test_bad_files_are_told_and_end_nothing(logs: Path, builtin: Classifier) -> None:
    (logs / "cut.log.gz").write_bytes(b"\x1f\x8b\x08\x00\x00")
    cases = find_cases([logs]).cases
    (logs / "b.log").unlink()
    told = {os.path.relpath(c.name, logs): classify_case(c, builtin) for c in cases}
    assert "vanished" in (told["b.log"].error or "")
    assert "binary" in (told["node-1/core.bin"].error or "")
    assert told["cut.log.gz"].error
    assert {n for n, r in told.items() if not r.readable} == {"b.log", "node-1/core.bin", "cut.log.gz"}
    assert told["node-1/deep/empty.log"].verdict == "empty"
    (named,) = find_cases([logs / "node-1" / "core.bin"]).cases
    assert classify_case(named, builtin).readable, "what is named is searched all the same"


def test_a_fault_of_our_own_is_told_too(monkeypatch: pytest.MonkeyPatch, builtin: Classifier) -> None:
    for fault, words in ((ZeroDivisionError("x"), "internal error"), (MemoryError(), "not enough memory")):

        def fail(*_: Any, fault: BaseException = fault) -> None:
            raise fault

        monkeypatch.setattr("vllm_crashsig.batch.work.open_paths", fail)
        row = classify_case(Case("x", ("x",)), builtin)
        assert row.verdict == "unreadable"
        assert words in (row.error or "")


def wait_for(what: Callable[[], Any], seconds: float = 60) -> Any:
    """Waits until something is true, and returns it."""
    end = time.monotonic() + seconds
    while not (told := what()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
    return told


def feed_pipe(path: Path, data: bytes) -> None:
    """Writes to a named pipe as soon as somebody reads."""

    def opened() -> int | None:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK) + 1
        except OSError:
            return None

    with os.fdopen(wait_for(opened) - 1, "wb") as pipe:
        os.set_blocking(pipe.fileno(), True)
        pipe.write(data)


@contextmanager
def in_background(generator: Iterator[Any]) -> Iterator[list[Any]]:
    """Takes what a generator yields, in a thread."""
    import threading

    taken: list[Any] = []
    thread = threading.Thread(target=lambda: taken.extend(generator))
    thread.start()
    yield taken
    thread.join(60)
    assert not thread.is_alive()


@LINUX
@pytest.mark.parametrize("deaths", [1, 2])
def test_a_worker_that_dies(tmp_path: Path, deaths: int) -> None:
    """A pipe that nobody writes to holds the worker in the middle of a chunk, where it is killed."""
    pipe = tmp_path / "pipe.log"
    os.mkfifo(pipe)
    cases = find_cases([HEALTHY, pipe, CRASH]).cases
    attendant = Attendant(Settings())
    try:
        with in_background(attendant.answer(cases)) as taken:
            before = None
            for _ in range(deaths):
                before = wait_for(partial(worker_in_pipe, attendant, before))
                os.kill(before, signal.SIGKILL)
            if deaths == 1:
                wait_for(partial(worker_in_pipe, attendant, before))  # the dying one may hold the other end for a moment
                feed_pipe(pipe, CRASH.read_bytes())
    finally:
        attendant.close()
    got = [decode(json.loads(line)["row"]) for _, line in taken]
    assert [r.case for r in got] == [c.name for c in cases]
    assert (got[0].verdict, got[2].cause) == ("healthy", "shm-exhausted-nccl")
    if deaths == 1:
        assert got[1].cause == "shm-exhausted-nccl"
    else:
        assert "SIGKILL" in (got[1].error or "")


def worker_in_pipe(attendant: Attendant, before: int | None) -> int | None:
    """The attendant's worker, another one than before, when it waits for somebody to write to its pipe."""
    pid = attendant.pid
    if pid is None or pid == before:
        return None
    try:
        told = Path(f"/proc/{pid}/syscall").read_bytes().split()
    except OSError:
        return None
    return pid if told[:1] in ([b"257"], [b"56"]) else None  # openat on x86-64 and arm64


@POSIX
def test_stopping_stops_the_workers(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.log"
    os.mkfifo(pipe)
    groups = run_pool([[case] for case in find_cases([CRASH, pipe]).cases], 2, Settings())
    next(group for group in groups if group)
    assert children(os.getpid())
    start = time.monotonic()
    groups.close()
    assert time.monotonic() - start < 10
    assert not children(os.getpid())


def children(parent: int) -> list[int]:
    told = subprocess.run(["ps", "-wweo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    return [
        int(p)
        for p, pp, args in (line.split(None, 2) for line in told.splitlines())
        if int(pp) == parent and "batch.worker" in args
    ]


def test_a_worker_that_cannot_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(CrashsigError, match="cannot start a worker"):
        list(classify_cases([CRASH], jobs=1))
    monkeypatch.undo()
    with pytest.raises(CrashsigError, match="another catalogue"):
        list(run_pool([find_cases([CRASH]).cases], 1, Settings(catalogue="0" * 64)))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(CrashsigError, match=r"ended with status 1 \(ModuleNotFoundError"):
        list(run_pool([find_cases([CRASH]).cases], 1, Settings()))


# The journal

HEADER = {"version": "1", "catalogue": "c" * 64, "case": "file"}


def finished(name: str, **more: Any) -> tuple[Case, bytes]:
    case = Case(name, (name,), **more)
    return case, finished_line(case, CaseResult(name, "healthy")).encode() + b"\n"


def test_journal_goes_on_after_a_torn_line(tmp_path: Path) -> None:
    path = str(tmp_path / "x.journal")
    one, two, bad = finished("one", size=5, modified=7), finished("two"), Case("bad", ("bad",))
    journal = Journal(path, HEADER)
    journal.add([one, two, (bad, finished_line(bad, unreadable_row("bad", "why")).encode() + b"\n")])
    journal.close()
    whole = Path(path).read_bytes()
    for cut in (0, 1, 20):
        Path(path).write_bytes(whole[: len(whole) - cut])
        journal = Journal(path, HEADER, resume=True)
        assert journal.is_finished(one[0]) and journal.is_finished(two[0]), cut
        assert not journal.is_finished(bad), "what could not be read is tried again"
        assert not journal.is_finished(Case("one", ("one",), size=6, modified=7)), "what has changed is read again"
        journal.add([finished("three")])
        assert [json.loads(row)["case"] for row in journal.rows(["three", "none", "one"])] == ["three", "one"]
        journal.close()
        assert Path(path).read_bytes().startswith(whole[: whole.index(b'"row":{"case":"bad"') - 20])
        assert all(json.loads(line) for line in Path(path).read_bytes().splitlines())


def test_journal_whose_first_line_is_torn_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    Journal(str(path), HEADER).close()
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        Journal(str(path), HEADER, resume=True).close()
        assert path.read_bytes() == whole


def test_journal_of_other_conditions(tmp_path: Path) -> None:
    path = str(tmp_path / "x.journal")
    Journal(path, HEADER).close()
    Journal(path, {**HEADER, "version": "2"}).close()  # nothing was finished: nothing to protect
    journal = Journal(path, HEADER)
    journal.add([finished("one")])
    journal.close()
    with pytest.raises(OptionError, match=r"1 finished cases .* --resume .* --restart"):
        Journal(path, HEADER)
    with pytest.raises(OptionError, match=r"catalogue cccccccccccc instead of dddddddddddd.*--restart"):
        Journal(path, {**HEADER, "catalogue": "d" * 64}, resume=True)
    journal = Journal(path, {**HEADER, "version": "2"}, restart=True)
    assert not journal.places
    journal.close()
    for foreign in (b"my precious notes\n", b"my precious", b'{"a": 1}\n', b"\x00\xff\n"):
        Path(path).write_bytes(foreign)
        for how in ({}, {"resume": True}, {"restart": True}):
            with pytest.raises(OptionError, match="is no journal"):
                Journal(path, HEADER, **how)
        assert Path(path).read_bytes() == foreign


@POSIX
def test_two_batches_do_not_share_a_journal(tmp_path: Path) -> None:
    path = str(tmp_path / "x.journal")
    journal = Journal(path, HEADER)
    with pytest.raises(OptionError, match="another batch"):
        Journal(path, HEADER, resume=True)
    journal.close()
    Journal(path, HEADER, resume=True).close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_journal_on_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/dev/full: cannot be written: it is a device"):
        Journal("/dev/full", HEADER)
    (tmp_path / "out.jsonl").symlink_to("/dev/full")
    done = run(CRASH, "--output", tmp_path / "out.jsonl")
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "1 cases are finished and kept" in done.stderr
    (tmp_path / "out.jsonl").unlink()
    assert run(CRASH, "--output", tmp_path / "out.jsonl", "--resume").returncode == 0
    assert rows(tmp_path / "out.jsonl")[0]["cause"] == "shm-exhausted-nccl"


# Results


def test_rows_survive_a_round_trip(builtin: Classifier) -> None:
    for path in small_cases(30):
        row = row_of(str(path), classify_paths(path, builtin))
        assert decode(json.loads(encode(row))) == row
    row = row_of(str(CRASH), classify_paths(CRASH, builtin))
    assert (row.verdict, row.cause, row.outcome, row.folder) == ("crash", "shm-exhausted-nccl", "terminal", CRASH.parent.name)
    assert (row.evidence_source, row.error) == (str(CRASH), None)
    assert row.evidence


@pytest.mark.parametrize(
    ("line", "first", "week"),
    [
        ("2026-11-30T23:59:59.5Z ERROR x", "2026-11-30T23:59:59.500Z", "2026-W49"),
        ("2027-01-01 00:00:00,000 ERROR x", "2027-01-01T00:00:00.000", "2026-W53"),
        ("ERROR 11-30 10:00:00 [core.py:1] x", None, None),
        ("[    4.2] x", None, None),
    ],
)
def test_times_that_tell_a_date(builtin: Classifier, line: str, first: str | None, week: str | None) -> None:
    row = row_of("x", builtin.classify(line + "\n"))
    assert (row.first_time, row.last_time, row.week) == (first, first, week)


def test_formats_hold_the_same(tmp_path: Path, logs: Path) -> None:
    for suffix in (".jsonl", ".csv"):
        run_batch(Plan([str(logs)], str(tmp_path / f"r{suffix}"), jobs=0))
    told = rows(tmp_path / "r.jsonl")
    assert [tuple(row) for row in told] == [COLUMNS] * 5
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [r["case"] for r in table] == [r["case"] for r in told]
    crash = next(r for r in table if r["cause"] == "shm-exhausted-nccl")
    assert crash["explains"].split("; ") == next(r["explains"] for r in told if r["cause"] == "shm-exhausted-nccl")
    assert float(crash["confidence"]) > 0.5


def test_csv_starts_no_formula(tmp_path: Path) -> None:
    row = CaseResult("-x.log", "unclassified", evidence="=HYPERLINK(1)", headlines=("@a", "b"), rank=-1)
    write_rows(str(tmp_path / "r.csv"), [encode(row).encode()])
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        (got,) = csv.DictReader(file)
    assert (got["case"], got["evidence"], got["headlines"], got["rank"]) == ("'-x.log", "'=HYPERLINK(1)", "'@a; b", "-1")


def test_parquet(tmp_path: Path, logs: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow (the extra 'parquet') is not installed")
    run_batch(Plan([str(logs)], str(tmp_path / "r.jsonl"), jobs=0))
    run_batch(Plan([str(logs)], str(tmp_path / "r.parquet"), jobs=0))
    table = parquet.read_table(tmp_path / "r.parquet")
    assert table.to_pylist() == rows(tmp_path / "r.jsonl")
    kinds = {f.name: str(f.type) for f in table.schema}
    assert (kinds["rank"], kinds["confidence"], kinds["ranks"]) == ("int64", "double", "list<element: int64>")
    write_rows(str(tmp_path / "odd.parquet"), [encode(CaseResult("x", "empty", evidence="\ud800")).encode()])
    assert parquet.read_table(tmp_path / "odd.parquet").column("evidence").to_pylist() == ["?"]


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OptionError, match=r"extra 'parquet'.*pip install"):
        run_batch(Plan([str(CRASH)], str(tmp_path / "r.parquet"), jobs=0))
    assert not list(tmp_path.iterdir())


def test_a_writer_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("old\n")

    def broken() -> Iterator[bytes]:
        yield b"{}"
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"r\.jsonl: cannot be written: No space left"):
        write_rows(str(path), broken())
    assert path.read_text() == "old\n"
    assert os.listdir(tmp_path) == ["r.jsonl"]


# The summary


def counted(*made: CaseResult) -> Summary:
    summary = Summary("1.0", "f" * 64)
    for row in made:
        summary.add(json.loads(encode(row)))
    return summary


def crash(case: str, cause: str, **more: Any) -> CaseResult:
    return CaseResult(case, "crash", cause=cause, title=f"Title of {cause}", role=more.pop("role", "root"), **more)


ODD = '</td><script>alert("x")</script>|\x1b[31m`'


@pytest.fixture
def summary() -> Summary:
    return counted(
        crash("d/a", "cuda-oom", vllm_version="0.9.2", week="2026-W02", node="n1"),
        crash("d/b", "cuda-oom", vllm_version="0.10.0", week="2025-W50", folder="day1"),
        crash("d/c", "engine-dead", role="cascade", vllm_version="nightly", crash_ids=("beside",), headlines=("h",)),
        CaseResult("d/d", "unclassified", crash_ids=("c1", "c2"), headlines=(ODD, "two"), vllm_version="0.9.2"),
        CaseResult("d/e", "unclassified", crash_ids=("c1",), headlines=(ODD,)),
        CaseResult("d/f", "healthy", vllm_version="0.9.2"),
        unreadable_row(f"d/{ODD}", "no such file"),
    )


def test_summary_counts(summary: Summary) -> None:
    told = summary.as_dict()
    json.dumps(told)
    assert told["cases"] == 7
    assert told["verdicts"] == {"crash": 3, "unclassified": 2, "healthy": 1, "unreadable": 1}
    assert [(c["id"], c["cases"], c["consequence"]) for c in told["causes"]] == [
        ("cuda-oom", 2, False),
        ("engine-dead", 1, True),
    ]
    assert [(w["name"], w["causes"]) for w in told["weeks"]] == [
        ("2025-W50", {"cuda-oom": 1}), ("2026-W02", {"cuda-oom": 1}), ("(not told)", {"unclassified": 2, "engine-dead": 1}),
    ]  # fmt: skip
    assert [w["name"] for w in told["versions"]] == ["0.9.2", "0.10.0", "nightly", "(not told)"], "by version, not by letter"
    assert [(w["name"], w["cases"]) for w in told["nodes"]] == [("day1/", 1), ("n1", 1), ("(not told)", 3)]
    assert [(u["crash_id"], u["cases"], u["example"]) for u in told["unclassified"]] == [("c1", 2, "d/d"), ("c2", 1, "d/d")]
    assert told["unreadable"] == [{"case": f"d/{ODD}", "error": "no such file"}]


def test_pages_show_no_markup_of_a_log(summary: Summary) -> None:
    for page in (render_html(summary), render_markdown(summary), render_text(summary)):
        assert "\x1b" not in page
        assert "cuda-oom" in page.replace("\\", "")
        assert "no such file" in page
    page = render_html(summary)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"(?:src|href)=", page), "it needs nothing else"
    markdown = render_markdown(summary)
    assert "<script" not in markdown.replace("\\<", "")
    heads = [line for line in markdown.splitlines() if line.startswith("| c1") or "c1" in line]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 4 for line in heads), "no cell breaks its row"


def test_long_tables_are_cut(summary: Summary) -> None:
    many = counted(*[crash(f"d/{i}", f"cause-{i:03d}", week=f"20{i:02d}-W01") for i in range(40)])
    text = render_text(many, width=80, limit=15)
    assert text.count("and 25 more") >= 2
    assert "cause-014" in text
    assert "cause-015 " not in text.partition("By week")[0]
    assert "2039-W01" in text, "of weeks, the last ones are shown"
    assert "2001-W01" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "2001-W01" in render_html(many)


# Progress


def test_progress_tells_rate_and_time_left() -> None:
    cases = [Case(str(i), ("",), size=0) for i in range(100)]
    progress = Progress(cases, finished=100)
    assert "100/200 cases, 50%, 0 a second, --:-- left" in progress.text(1.0)
    progress.add(cases[:50])
    assert "150/200 cases, 75%, 5 a second, 00:10 left" in progress.text(10.0)
    assert "1:00:00 left" in progress.text(3600.0)
    big = [Case("big", ("",), size=100 << 20), *cases[:1]]
    progress = Progress(big)
    progress.add(cases[:1])
    assert "01:41 left" in progress.text(1.0), "what is left counts by size"


@POSIX
def test_progress_on_a_terminal_only(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.log"
    os.mkfifo(pipe)
    leader, follower = os.openpty()
    with subprocess.Popen(
        [*COMMAND, str(CRASH), str(pipe)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=follower
    ) as process:
        os.close(follower)
        told = b""
        while b"1/2 cases, 50%" not in told:
            told += os.read(leader, 4096)
        feed_pipe(pipe, HEALTHY.read_bytes())
        output, _ = process.communicate(timeout=60)
    os.close(leader)
    assert re.search(rb"\r\[#{12}\.{12}\] 1/2 cases, 50%, \d+ a second, \d\d:\d\d left\x1b\[K", told)
    assert output.startswith(b"2 cases: 1 crash, 1 healthy\n")
    assert process.returncode == 0
    assert run(CRASH).stderr == ""


# The command


def test_command(logs: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "r.jsonl", tmp_path / "r.html"
    done = run(logs, "--output", out, "--report", page)
    assert done.returncode == 0
    assert done.stdout.startswith("5 cases: 1 crash, 1 unclassified, 1 healthy, 1 empty, 1 unreadable\n")
    assert done.stderr.splitlines() == [
        f"vllm-crashsig: {logs}/node-1/core.bin: binary data, not a log; name the file itself to have it searched all the same"
    ]
    assert [r["verdict"] for r in rows(out)] == ["healthy", "crash", "unreadable", "unclassified", "empty"]
    assert "shm-exhausted-nccl" in page.read_text(encoding="utf-8")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["logs", "r.html", "r.jsonl"], "nothing is left behind"
    told = json.loads(run(logs, "--format", "json").stdout)
    assert told["causes"][0]["id"] == "shm-exhausted-nccl"
    assert run(logs, "-q").stdout == ""


@pytest.mark.parametrize("engine", ["pool", "ray"])
def test_what_ray_prints_is_no_part_of_the_result(
    engine: str, summary: Summary, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def noisy(*_: Any) -> Summary:
        print("(raylet) The node with node id: 9d88f5 has been marked dead")
        return summary

    monkeypatch.setattr("vllm_crashsig.batch.command.run_batch", noisy)
    text, status = batch_command(
        ["logs"], "json", terminal=None, width=100, tell=print, directories=(), runtime=None, redact=False,
        ray_address=None, ray_runtime_env=None, engine=engine,
    )  # fmt: skip
    assert (json.loads(text)["cases"], status) == (7, 0)
    out, err = capsys.readouterr()
    assert ("(raylet)" in err, "(raylet)" in out) == (engine == "ray", engine == "pool")


def test_output_among_the_logs_is_no_case(logs: Path) -> None:
    for _ in range(2):
        done = run(".", "--output", "r.jsonl", "--report", "./node-1/r.md", "--jobs", "0", cwd=logs)
        assert done.returncode == 0
    assert [r["case"] for r in rows(logs / "r.jsonl")] == [
        "./a.log", "./b.log", "./node-1/core.bin", "./node-1/unknown.log", "./node-1/deep/empty.log",
    ]  # fmt: skip


def test_a_folder_as_a_case_takes_its_files_together() -> None:
    done = run(SAMPLES / "incidents", "--case", "folder", "--format", "json")
    causes = {c["id"] for c in json.loads(done.stdout)["causes"]}
    assert {"cgroup-oom-kill"} <= causes
    assert json.loads(done.stdout)["cases"] == sum(p.is_dir() for p in (SAMPLES / "incidents").iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{crash}", "-o", "{tmp}/none/r.jsonl"], "there is no folder"),
        (["{crash}", "-o", "{tmp}"], "suffix"),
        (["{crash}", "-o", "{tmp}/r.txt"], ".jsonl, .csv or .parquet"),
        (["{crash}", "-o", "{tmp}/dir.csv"], "it is a folder"),
        (["{crash}", "--report", "{tmp}/r.pdf"], ".html or .md"),
        (["{crash}", "--report", "{tmp}/none/r.md"], "there is no folder"),
        (["{crash}", "--resume"], "give --output"),
        (["{crash}", "-o", "{tmp}/r.csv", "--resume", "--restart"], "give one of them"),
        (["{tmp}/dir.csv"], "there is no file"),
        (["-"], "standard input"),
        (["{crash}", "--ray-address", "auto"], "--engine ray"),
        (["{crash}", "--engine", "ray", "--ray-runtime-env", "{{"], "is not JSON"),
        (["{crash}", "--engine", "ray", "--ray-runtime-env", "1"], "JSON object"),
        (["{crash}", "--fingerprints", "{tmp}/none"], "no such directory"),
        (["{crash}", "--runtime", "moon"], "unknown runtime"),
        (["{tmp}/gone.log"], "no such file; check the path"),
        ([], "PATH"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "dir.csv").mkdir()
    done = run(*(a.format(tmp=tmp_path, crash=CRASH) for a in arguments), "-q")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert words in line
    assert os.listdir(tmp_path) == ["dir.csv"]


def test_a_missing_path_does_not_end_the_others(tmp_path: Path) -> None:
    done = run(tmp_path / "gone.log", CRASH, "-o", tmp_path / "r.jsonl", "-q")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [f"vllm-crashsig: {tmp_path}/gone.log: no such file; check the path"]
    assert [r["verdict"] for r in rows(tmp_path / "r.jsonl")] == ["unreadable", "crash"]


@contextmanager
def held_batch(tmp_path: Path, paths: Sequence[Path], *options: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A batch over these paths that a pipe keeps from ending, once all else is finished."""
    pipe, out = tmp_path / "zz-pipe.log", tmp_path / "r.jsonl"
    if not pipe.exists():
        os.mkfifo(pipe)
    command = [*COMMAND, *map(str, paths), str(pipe), "-o", str(out), "--jobs", "2", *options]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process, pipe
        finally:
            process.kill()


def finished_count(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n") - 1
    except FileNotFoundError:
        return -1


@LINUX
def test_killed_and_resumed(tmp_path: Path) -> None:
    """Killed without warning while it waits for a pipe; then gone on with, one file having vanished and one grown meanwhile."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for number, source in enumerate(small_cases(200)):
        (logs / f"{number:03d}.log").write_bytes(source.read_bytes())
    count = len(os.listdir(logs))
    assert run(logs, "-o", tmp_path / "whole.jsonl").returncode == 0
    journal = tmp_path / "r.jsonl.journal"
    with held_batch(tmp_path, [logs]) as (process, _):
        wait_for(lambda: finished_count(journal) >= count)
        workers = children(process.pid)
        assert workers
        process.kill()
    wait_for(lambda: not any(Path(f"/proc/{pid}/stat").exists() and not is_zombie(pid) for pid in workers))
    journal.write_bytes(journal.read_bytes()[:-10])
    refused = run(logs, "-o", tmp_path / "r.jsonl")
    assert refused.returncode == 2
    assert f"{count - 1} finished cases" in refused.stderr
    (logs / "005.log").unlink()
    (logs / "007.log").write_bytes((logs / "007.log").read_bytes() + b"\n")
    with held_batch(tmp_path, [logs], "--resume") as (process, pipe):
        feed_pipe(pipe, UNKNOWN)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert f"{count - 3} of {count} cases were finished already" in told
    assert "1 finished case(s) are no longer there" in told
    whole = {r["case"]: r for r in rows(tmp_path / "whole.jsonl")}
    got = {r["case"]: r for r in rows(tmp_path / "r.jsonl")}
    assert len(got) == count + 1
    assert got[str(pipe)]["verdict"] == "unclassified"
    grown = str(logs / "007.log")
    assert {n: r for n, r in whole.items() if n != grown} == {n: r for n, r in got.items() if n not in (grown, str(pipe))}
    assert got[grown]["bytes"] == whole[grown]["bytes"] + 1
    assert not journal.exists()


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@POSIX
def test_interrupted(tmp_path: Path) -> None:
    with held_batch(tmp_path, [CRASH, HEALTHY]) as (process, _):
        wait_for(lambda: finished_count(tmp_path / "r.jsonl.journal") == 2)
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    kept = f"2 cases are finished and kept in {tmp_path}/r.jsonl.journal"
    assert told.strip() == f"vllm-crashsig: broken off: {kept}; --resume goes on with it"
    other = run(CRASH, "-o", tmp_path / "r.jsonl", "--resume", "--no-redact")
    assert other.returncode == 2
    assert "redact True instead of False" in other.stderr
    assert "--restart" in other.stderr
    assert run(CRASH, "-o", tmp_path / "r.jsonl", "--restart", "--no-redact").returncode == 0
    assert len(rows(tmp_path / "r.jsonl")) == 1


def test_keep_journal_reads_only_what_is_new(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.csv"
    assert run(logs, "-o", out, "--keep-journal").returncode == 0
    (logs / "new.log").write_bytes(CRASH.read_bytes())
    done = run(logs, "-o", out, "--resume", "--keep-journal")
    assert "4 of 6 cases were finished already" in done.stderr
    assert done.stdout.startswith("6 cases: 2 crash")
    assert (tmp_path / "r.csv.journal").exists()


# Costs


def test_other_commands_do_not_load_batches() -> None:
    code = (
        "import sys, vllm_crashsig\nfrom vllm_crashsig.cli import run\n"
        f"run(['classify', {str(CRASH)!r}])\nprint([m for m in sys.modules if 'vllm_crashsig.batch' in m or m == 'ray'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_case_names_are_text() -> None:
    assert case_name(os.fsdecode(b"a\xff")) == "a\\xff"


def test_resumed_with_other_paths(tmp_path: Path) -> None:
    """What is finished and not asked for now is left out; only what vanished is kept."""
    logs = tmp_path / "logs"
    for name, source in (("a/1.log", CRASH), ("b/2.log", HEALTHY), ("b/3.log", CRASH)):
        (logs / name).parent.mkdir(parents=True, exist_ok=True)
        (logs / name).write_bytes(source.read_bytes())
    assert run(logs, "-o", tmp_path / "r.jsonl", "--keep-journal").returncode == 0
    (logs / "b" / "3.log").unlink()
    done = run(logs / "a", "-o", tmp_path / "r.jsonl", "--resume")
    assert done.returncode == 0
    assert "1 finished case(s) are no longer there" in done.stderr
    assert "1 finished case(s) are not among those asked for now" in done.stderr
    assert [r["case"] for r in rows(tmp_path / "r.jsonl")] == [str(logs / "a" / "1.log"), str(logs / "b" / "3.log")]
