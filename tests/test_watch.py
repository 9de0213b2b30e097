"""`vllm-crashsig watch`: files that grow, turn over and vanish, streams, commands, and what is told of them when."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from tiny import SAMPLES, classifier, fingerprint, indicator

from vllm_crashsig import Classifier, InputError, Report, Update
from vllm_crashsig.cli import run
from vllm_crashsig.outputs.live import LiveWriter
from vllm_crashsig.watch import Wanted, Watcher
from vllm_crashsig.watch.follow import Follower
from vllm_crashsig.watch.loop import LOOK
from vllm_crashsig.watch.notify import Notifier
from vllm_crashsig.watch.places import Places
from vllm_crashsig.watch.streams import Child, Ended, Exited, Inbox

COMMAND = [sys.executable, "-m", "vllm_crashsig", "watch"]
CRASH = (SAMPLES / "shm-exhausted-nccl" / "hit-vllm085-nccl221.log").read_bytes().splitlines(keepends=True)
DECISIVE = next(i for i, line in enumerate(CRASH) if b"failed to extend /dev/shm" in line)
SHOW = "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())"
SLOW = """
import sys, time
for line in open(sys.argv[1], "rb"):
    sys.stderr.buffer.write(line); sys.stderr.flush(); time.sleep(0.002)
"""
SOON = 60.0
"""Seconds after which what should come at once is given up."""
posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")

Say = list[tuple[str, str]]


class Running:
    """The command, fed and read line by line."""

    def __init__(self, *arguments: str | Path, stdin: bool = True, **environment: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)], stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, **environment},
        )  # fmt: skip
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self.errors: list[bytes] = []
        self._threads = [
            threading.Thread(target=self._read, args=(self.process.stdout, self._lines.put)),
            threading.Thread(target=self._read, args=(self.process.stderr, lambda x: self.errors.append(x or b""))),
        ]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _read(stream: IO[bytes], put: Callable[[bytes | None], None]) -> None:
        for line in stream:
            put(line)
        put(None)

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def line(self) -> bytes:
        """The next line of output; fails when it does not come."""
        line = self._lines.get(timeout=SOON)
        assert line is not None, b"".join(self.errors).decode()
        return line

    def event(self) -> dict[str, Any]:
        """The next line as JSON."""
        found = json.loads(self.line())
        assert isinstance(found, dict)
        return found

    def told(self, words: bytes) -> None:
        """Waits until standard error says something."""
        end = time.monotonic() + SOON
        while not any(words in line for line in self.errors):
            assert time.monotonic() < end, b"".join(self.errors).decode()
            time.sleep(0.01)

    def end(self) -> tuple[int, list[bytes]]:
        """Ends standard input; the exit status and the rest of the output."""
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        status = self.process.wait(SOON)
        for thread in self._threads:
            thread.join(SOON)
        rest: list[bytes] = []
        while (line := self._lines.get(timeout=SOON)) is not None:
            rest.append(line)
        assert b"Traceback" not in b"".join(self.errors), b"".join(self.errors).decode()
        return status, rest


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def begin(*arguments: str | Path, **more: Any) -> Running:
        started.append(Running(*arguments, **more))
        return started[-1]

    yield begin
    for running in started:
        running.process.kill()
        running.process.wait()
        for stream in (running.process.stdin, running.process.stdout, running.process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


@pytest.fixture(scope="module")
def zebra(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    """Knows one root, what it breaks, and a story in which it does not happen."""
    return classifier(
        tmp_path_factory.mktemp("zebra"),
        fingerprint("zebra-fell", "root", r"zebra \w+ fell over", explains=["zoo-closed"]),
        fingerprint("zoo-closed", "cascade", "zoo is closed"),
        fingerprint("story", "noise", "once upon a time"),
        fingerprint("at-work", "healthy", indicators={"works": indicator("feeding time", milestone="progress")}),
    )


class Watched:
    """A watcher in a thread of this process."""

    def __init__(self, classifier: Classifier, *names: str | Path, **wanted: Any) -> None:
        self.updates: queue.Queue[tuple[str | None, Update]] = queue.Queue()
        self.said: Say = []
        self.answers: list[tuple[str | None, Report]] = []
        self.watcher = Watcher(
            classifier, Wanted(tuple(map(str, names)), **wanted),
            lambda case, update: self.updates.put((case, update)), lambda source, text: self.said.append((source, text)),
        )  # fmt: skip
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.answers = self.watcher.run()

    def update(self) -> Update:
        return self.updates.get(timeout=SOON)[1]

    def stop(self) -> Report:
        """Asks for the final answer of the only case."""
        self.watcher.stop()
        return self.finish()

    def finish(self) -> Report:
        self.join()
        ((_, report),) = self.answers
        return report

    def join(self) -> None:
        self._thread.join(SOON)
        assert not self._thread.is_alive()


@pytest.fixture
def watch() -> Iterator[Callable[..., Watched]]:
    begun: list[Watched] = []

    def begin(classifier: Classifier, *names: str | Path, **wanted: Any) -> Watched:
        begun.append(Watched(classifier, *names, **wanted))
        return begun[-1]

    yield begin
    for watched in begun:
        watched.watcher.stop()
        watched.watcher.stop()
        watched.join()


# -- the command -----------------------------------------------------------------------------------------


def test_tells_before_the_log_ends(start: Callable[..., Running]) -> None:
    running = start("--format", "json")
    for line in CRASH[: DECISIVE + 1]:
        running.write(line)
    first = running.event()
    assert first["event"] == "update"
    assert first["schema_version"] == "1"
    assert first["case"] is None
    assert first["verdict"] == "crash"
    assert first["classification"]["id"] == "shm-exhausted-nccl"
    assert first["classification"]["evidence"][0]["line"] == DECISIVE + 1
    assert first["classification"]["explains"] == []
    running.write(b"".join(CRASH[DECISIVE + 1 :]))
    status, rest = running.end()
    assert status == 0
    *refined, final = map(json.loads, rest)
    assert {event["event"] for event in refined} == {"update"}
    assert "engine-init-failed" in refined[-1]["classification"]["explains"]
    assert final["event"] == "final"
    assert final["report"]["classifications"][0]["id"] == "shm-exhausted-nccl"
    assert final["report"]["coverage"]["lines"] == len(CRASH)


def test_text(start: Callable[..., Running]) -> None:
    running = start("--width", "100")
    running.write(b"".join(CRASH))
    head = running.line().decode()
    assert head.startswith("21:33:44Z  CRASH  shm-exhausted-nccl  (high confidence")
    status, rest = running.end()
    told = b"".join(rest).decode()
    assert status == 0
    assert f"<stdin>:{DECISIVE + 1}" in told
    assert "-- final answer --\nCRASH  shm-exhausted-nccl" in told
    assert all(len(line) <= 100 for line in told.splitlines() if not line.startswith("     "))


@pytest.mark.parametrize(
    ("log", "status", "verdict"),
    [
        ((SAMPLES / "healthy" / "vllm-healthy-sigterm.log").read_bytes(), 1, "healthy"),
        (b'Traceback (most recent call last):\n  File "/srv/a/b.py", line 1, in f\nzoo.OddError: x\n', 3, "unclassified"),
        (b"".join(CRASH), 0, "crash"),
    ],
    ids=["healthy", "unclassified", "crash"],
)
def test_exit_status(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], log: bytes, status: int, verdict: str) -> None:
    (tmp_path / "a.log").write_bytes(log)
    assert run(["watch", "-f", "json", "--exec", sys.executable, "-c", SHOW, str(tmp_path / "a.log")]) == status
    lines = capfdbinary.readouterr().out.splitlines()
    assert json.loads(lines[-1])["report"]["verdict"] == verdict
    assert len(lines) == 1 if verdict == "healthy" else len(lines) > 1, "a healthy log is told of only at its end"


def test_an_empty_stream(start: Callable[..., Running]) -> None:
    status, lines = start("-f", "json").end()
    assert status == 1
    assert [json.loads(line)["report"]["verdict"] for line in lines] == ["empty"]


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_gives_the_final_answer(start: Callable[..., Running], tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"".join(CRASH))
    running = start("-f", "json", log)
    assert running.event()["event"] == "update"
    running.process.send_signal(number)
    status, rest = running.end()
    assert status == 0
    assert json.loads(rest[-1])["report"]["verdict"] == "crash"


@posix
def test_a_reader_that_goes_away_is_no_error() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{' '.join(COMMAND)} -f json {SAMPLES / 'demo' / 'vllm.log'} | head -c 1"],
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert b"Traceback" not in done.stderr
    assert done.stdout == b"{", "the file goes on, but nobody listens"
    ours, its = os.pipe()
    with subprocess.Popen([*COMMAND, "-f", "json"], stdin=subprocess.PIPE, stdout=its, stderr=subprocess.PIPE) as process:
        os.close(its)
        os.close(ours)
        assert process.wait(SOON) == 0, "nobody listens, and its own input goes on"
        assert process.stderr is not None
        assert process.stderr.read() == b""


@posix
def test_an_idle_watch_takes_no_time(start: Callable[..., Running], tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"".join(CRASH))
    running = start("-f", "json", "-", tmp_path / "a.log")
    running.event()
    time.sleep(1.0)
    before = _cpu(running.process.pid)
    time.sleep(2.0)
    assert _cpu(running.process.pid) - before < 0.1, "seconds of two"


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--exec"], "needs the command"),
        (["--exec", "no-such-program-here"], "no such program"),
        (["old.log.gz"], "compressed (gzip)"),
        (["s3://bucket/log"], "pipe the log in"),
        (["--tail", "-1"], "--tail"),
        (["--format", "html"], "--format"),
        (["--runtime", "moon", "a.log"], "unknown runtime"),
    ],
)
def test_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.log.gz").write_bytes(b"\x1f\x8b\x08\x00rest")
    assert run(["watch", *arguments]) == 2
    told = capfd.readouterr()
    assert told.out == ""
    assert words in told.err
    assert len(told.err.splitlines()) == 1


def test_echo_passes_the_log_on(start: Callable[..., Running]) -> None:
    running = start("--echo", "-f", "json")
    running.write(CRASH[0] + CRASH[1])
    running.told(CRASH[1])
    running.end()
    assert running.errors[:2] == CRASH[:2]


# -- commands that are run -------------------------------------------------------------------------------


def test_a_command_that_dies(start: Callable[..., Running]) -> None:
    log = SAMPLES / "demo" / "vllm.log"
    running = start("-f", "json", "--exec", sys.executable, "-c", SLOW + "sys.exit(1)", log, stdin=False)
    updates = [running.event()]
    status, rest = running.end()
    updates += map(json.loads, rest)
    ids = [u["classification"]["id"] for u in updates[:-1]]
    assert ids[0] == "engine-init-failed", "the consequence is told first, since it comes first"
    assert ids[-1] == "shm-exhausted"
    assert status == 0
    final = updates[-1]["report"]
    assert final["classifications"][0]["id"] == "shm-exhausted"
    assert final["coverage"]["lines"] >= len(log.read_bytes().splitlines())


@posix
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["sh", "-c", "echo hello; kill -9 $$"], "exit status 137"),
        (["sh", "-c", "echo hello; exit 3"], "exit status 3"),
        (["echo hello; exit 3"], "exit status 3"),
        (["sh", "-c", "echo hello; exit 0"], None),
        (["sh", "-c", "echo hello; exit 143"], None),
    ],
)
def test_exit_status_of_a_command_counts(
    watch: Callable[..., Watched], builtin: Classifier, command: list[str], words: str | None
) -> None:
    report = watch(builtin, command=command).finish()
    assert report.coverage.sources[0] in ("<sh>", "<echo>")
    if words is None:
        assert report.verdict == "healthy"
    else:
        told = [f.headline for f in report.unclassified] + [c.summary for c in report.classifications]
        assert any(words.rpartition(" ")[2] in text for text in told), told


@posix
@pytest.mark.parametrize(
    ("words", "shows"),
    [
        ("docker logs -f vllm", True),
        ("sudo /usr/bin/docker logs --follow vllm", True),
        ("kubectl -n llm logs -f deploy/vllm", True),
        ("tail -F /var/log/vllm.log", True),
        ("journalctl -fu vllm", True),
        ("docker run --rm vllm/vllm-openai", False),
        ("vllm serve m --log-dir logs", False),
        ("docker start -a vllm", False),
    ],
)
def test_who_only_shows_logs(words: str, shows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Process:
        stdout = None

        def __init__(self, *_: object, **__: object) -> None:
            pass

        def wait(self) -> int:
            return 0

    monkeypatch.setattr(subprocess, "Popen", Process)
    assert Child(words.split(), Inbox()).only_shows_logs is shows
    assert Child([words], Inbox()).only_shows_logs is shows


@posix
def test_a_viewer_that_fails_says_nothing_about_the_server(
    watch: Callable[..., Watched], tmp_path: Path, builtin: Classifier
) -> None:
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\necho hello\nexit 1\n")
    docker.chmod(0o755)
    assert watch(builtin, command=[str(docker), "logs", "-f", "vllm"]).finish().verdict == "healthy"


@posix
def test_children_that_outlive_the_command(watch: Callable[..., Watched], zebra: Classifier) -> None:
    begun = time.monotonic()
    report = watch(zebra, command=["sh", "-c", "sleep 60 & echo zebra Joe fell over; exit 1"]).finish()
    assert time.monotonic() - begun < 20, "a worker that is left behind holds the pipe"
    assert report.verdict == "crash"


@posix
def test_a_command_hears_of_a_signal_once(start: Callable[..., Running], tmp_path: Path) -> None:
    script = (
        "import signal, sys, time\n"
        "n = 0\n"
        "def seen(*_):\n    global n; n += 1; print('signal', n, flush=True)\n"
        "signal.signal(signal.SIGINT, seen)\nprint('up', flush=True)\n"
        "while not n: time.sleep(0.01)\n"
        "time.sleep(0.5); print('last words', n, flush=True)\n"
    )
    running = start("--echo", "--exec", sys.executable, "-c", script, stdin=False)
    running.told(b"up")
    os.kill(running.process.pid, signal.SIGINT)
    running.end()
    assert b"last words 1\n" in running.errors


# -- files -----------------------------------------------------------------------------------------------


def follow(path: Path, tail: int | None = None) -> tuple[Follower, Say]:
    said: Say = []
    return Follower(str(path), lambda text: said.append((path.name, text)), tail=tail), said


def drain(follower: Follower, size: int = 1 << 20) -> bytes:
    out = b""
    while data := follower.read(size):
        out += data
    return out


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_what_is_appended(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    follower, said = follow(log)
    assert drain(follower) == b"one\n"
    assert drain(follower) == b""
    append(log, b"tw")
    assert drain(follower) == b"tw"
    append(log, b"o\nthree\n")
    assert drain(follower, 2) == b"o\nthree\n"
    assert said == []
    assert follower.notes == []
    follower.close()


def test_a_file_that_appears_later(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    follower, said = follow(log, tail=0)
    assert drain(follower) == b""
    assert drain(follower) == b""
    assert said == [("a.log", "does not exist yet; waiting for it")]
    log.write_bytes(b"one\ntwo\n")
    assert drain(follower) == b"one\ntwo\n", "all of it is new, whatever the tail"
    follower.close()


def test_renamed_and_created_anew(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    follower, said = follow(log)
    assert drain(follower) == b"one\n"
    append(log, b"last words\n")
    log.rename(tmp_path / "a.log.1")
    log.write_bytes(b"new\n")
    assert drain(follower) == b"last words\nnew\n", "what the old file held at last comes first"
    assert said == [("a.log", "was replaced by a new file")]
    assert follower.notes == ["was replaced by a new file; lines are counted on"]
    follower.close()


def test_a_writer_that_has_not_noticed_the_rotation(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    follower, _ = follow(log)
    drain(follower)
    log.rename(tmp_path / "a.log.1")
    log.touch()  # as logrotate's `create` does, before it tells the writer
    assert drain(follower) == b""
    append(tmp_path / "a.log.1", b"two\n")
    assert drain(follower) == b"two\n"
    append(log, b"three\n")
    assert drain(follower) == b"three\n"
    follower.close()


def test_an_unfinished_line_before_a_rotation(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"half a li")
    follower, _ = follow(log)
    log.rename(tmp_path / "a.log.1")
    log.write_bytes(b"new\n")
    assert drain(follower) == b"half a li\nnew\n"
    follower.close()


def test_copied_and_cut(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\ntwo\nthree\n")
    follower, said = follow(log)
    drain(follower)
    os.truncate(log, 0)
    assert drain(follower) == b""
    append(log, b"new\n")
    assert drain(follower) == b"new\n"
    assert said == [("a.log", "was cut off and written anew")]
    follower.close()


@pytest.mark.parametrize(
    "new", [b"NEW\nlonger than before\n", b"abc\nbcd\ncde\n", b"short\n"], ids=["longer", "same", "shorter"]
)
def test_cut_and_written_again_between_two_looks(tmp_path: Path, new: bytes) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\ntwo\nsix\n")
    follower, _ = follow(log)
    drain(follower)
    stamp = log.stat().st_mtime_ns
    log.write_bytes(new)
    os.utime(log, ns=(stamp, stamp + 10_000_000))
    assert drain(follower) == new
    follower.close()


@posix
def test_a_writer_that_goes_on_behind_a_hole(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    with log.open("wb", buffering=0) as writer:  # not for appending: it keeps its place when the file is cut
        writer.write(b"x" * 200_000 + b"\n")
        follower, _ = follow(log)
        drain(follower)
        os.truncate(log, 0)
        writer.write(b"after\n")
        assert drain(follower).strip(b"\0") == b"after\n"
    follower.close()


def test_deleted_and_created_again(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    follower, said = follow(log)
    drain(follower)
    log.unlink()
    assert drain(follower) == b""
    assert drain(follower) == b""
    assert said == [("a.log", "is gone; waiting for it to come back")]
    log.write_bytes(b"two\n")
    assert drain(follower) == b"two\n"
    follower.close()


@posix
def test_a_link_that_is_switched(tmp_path: Path) -> None:
    (tmp_path / "0.log").write_bytes(b"zero\n")
    link = tmp_path / "vllm.log"
    link.symlink_to("0.log")
    follower, _ = follow(link)
    assert drain(follower) == b"zero\n"
    append(tmp_path / "0.log", b"dies\n")
    (tmp_path / "1.log").write_bytes(b"one\n")
    (tmp_path / "new").symlink_to("1.log")
    (tmp_path / "new").rename(link)
    assert drain(follower) == b"dies\none\n"
    follower.close()


@pytest.mark.parametrize(
    ("data", "lines", "rest"),
    [
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\nc\n", 3, b"a\nb\nc\n"),
        (b"a\nb\n", 9, b"a\nb\n"),
        (b"a\nb\n", 0, b""),
        (b"", 5, b""),
        (b"x" * 100_000 + b"\n" + b"y\n" * 50_000, 50_000, b"y\n" * 50_000),
        (b"\n\n\n", 2, b"\n\n"),
    ],
)
def test_the_last_lines(tmp_path: Path, data: bytes, lines: int, rest: bytes) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(data)
    follower, _ = follow(log, tail=lines)
    assert drain(follower) == rest
    append(log, b"new\n")
    assert drain(follower) == b"new\n"
    assert (follower.notes == []) == (len(rest) == len(data))
    follower.close()


def test_a_disk_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")
    follower, said = follow(log)

    def broken(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr("vllm_crashsig.watch.follow.os.read", broken)
        assert drain(follower) == drain(follower) == b""
    assert said == [("a.log", "cannot be read (Input/output error); trying again")]
    append(log, b"two\n")
    assert drain(follower) == b"one\ntwo\n"
    follower.close()


# -- names -----------------------------------------------------------------------------------------------


def places(*names: Path | str, tail: int | None = None) -> tuple[Places, Say]:
    said: Say = []
    return Places([str(n) for n in names], lambda source, text: said.append((source, text)), tail=tail), said


def test_folders_and_patterns_are_looked_through_again(tmp_path: Path) -> None:
    (tmp_path / "session" / "logs").mkdir(parents=True)
    (tmp_path / "session" / "logs" / "worker-1.out").write_bytes(b"one\n")
    (tmp_path / "session" / ".hidden").write_bytes(b"no\n")
    (tmp_path / "gpu0.log").write_bytes(b"two\n")
    found, _ = places(tmp_path / "session", tmp_path / "gpu*.log")
    assert [Path(p).name for p in found.followers] == ["worker-1.out", "gpu0.log"]
    assert found.searched
    (tmp_path / "session" / "raylet.err").write_bytes(b"")
    (tmp_path / "gpu1.log").write_bytes(b"three\n")
    assert [Path(f.path).name for f in found.look()] == ["raylet.err", "gpu1.log"]
    assert found.look() == []


def test_what_is_not_followed_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "vllm.log").write_bytes(b"one\n")
    (tmp_path / "worker-7").write_bytes(b"a rank, and no older part of anything\n")
    found, _ = places(tmp_path)
    assert [Path(p).name for p in found.followers] == ["vllm.log", "worker-7"]
    (tmp_path / "vllm.log").rename(tmp_path / "vllm.log.1")
    (tmp_path / "vllm.log").write_bytes(b"new\n")
    (tmp_path / "vllm.log-20261130").write_bytes(b"copied\n")
    (tmp_path / "vllm.log.20261130-101112").write_bytes(b"copied\n")
    (tmp_path / "vllm.log.2.gz").write_bytes(b"\x1f\x8b\x08\x00rest")
    (tmp_path / "bundle.zip").write_bytes(b"PK\x03\x04rest")
    (tmp_path / "core").write_bytes(b"\x7fELF" + bytes(range(256)) * 8)
    if os.name == "posix":
        (tmp_path / "latest").symlink_to("worker-7")
        os.mkfifo(tmp_path / "pipe")
    assert found.look() == []


def test_very_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_crashsig.watch.places.MOST", 3)
    for number in range(5):
        (tmp_path / f"{number}.log").write_bytes(b"x\n")
    found, said = places(tmp_path)
    assert len(found.followers) == 3
    assert found.look() == []
    assert said == [(str(tmp_path), "holds more than 3 files; the rest is not followed")]


@pytest.mark.parametrize(("name", "words"), [("s3://a/b", "address"), ("a\0b", "file name")])
def test_names_that_can_never_be_followed(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        places(name)


# -- the loop --------------------------------------------------------------------------------------------


def test_several_files_are_one_case(watch: Callable[..., Watched], zebra: Classifier, tmp_path: Path) -> None:
    a, b, missing = tmp_path / "a.log", tmp_path / "b.log", tmp_path / "c.log"
    a.write_bytes(b"feeding time\n")
    b.write_bytes(b"zoo is closed\n")
    watched = watch(zebra, a, b, missing)
    first = watched.update()
    assert first.classification is not None
    assert first.classification.role == "cascade"
    missing.write_bytes(b"zebra Joe fell over\n")
    second = watched.update()
    assert second.classification is not None
    assert (second.classification.id, second.classification.evidence[0].source) == ("zebra-fell", str(missing))
    report = watched.stop()
    assert report.coverage.sources == [str(a), str(b), str(missing)]
    assert report.cause is not None
    assert report.cause.explains == ["zoo-closed"]
    assert (str(missing), "does not exist yet; waiting for it") in watched.said


def test_every_file_may_be_a_case(watch: Callable[..., Watched], zebra: Classifier, tmp_path: Path) -> None:
    for name, text in (("a", "zebra Joe fell over"), ("b", "feeding time"), ("c", "zoo is closed")):
        (tmp_path / f"{name}.log").write_text(f"{text}\n")
    watched = watch(zebra, tmp_path, apart=True)
    told = {watched.updates.get(timeout=SOON)[0] for _ in range(2)}
    assert told == {str(tmp_path / "a.log"), str(tmp_path / "c.log")}
    append(tmp_path / "b.log", b"zebra Ann fell over\n")
    assert watched.updates.get(timeout=SOON)[0] == str(tmp_path / "b.log")
    watched.watcher.stop()
    watched.join()
    assert {Path(str(name)).name: report.verdict for name, report in watched.answers} == dict.fromkeys(
        ("a.log", "b.log", "c.log"), "crash"
    )


def test_a_broken_case_does_not_touch_others(
    watch: Callable[..., Watched], zebra: Classifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vllm_crashsig.engine import Session

    feed = Session.feed

    def faulty(self: Session, chunk: str | bytes, source: str = "<input>") -> list[Update]:
        if b"poison" in (chunk if isinstance(chunk, bytes) else chunk.encode()):
            raise RuntimeError("a fault")
        return feed(self, chunk, source)

    monkeypatch.setattr(Session, "feed", faulty)
    bad, good = tmp_path / "bad.log", tmp_path / "good.log"
    bad.write_bytes(b"poison\n")
    good.write_bytes(b"feeding time\n")
    watched = watch(zebra, bad, good, apart=True)
    append(good, b"zebra Joe fell over\n")
    assert watched.updates.get(timeout=SOON)[0] == str(good)
    watched.watcher.stop()
    watched.join()
    assert [name for name, _ in watched.answers] == [str(good)]
    assert any(source == str(bad) and "a fault" in text for source, text in watched.said)


def test_a_last_line_without_a_newline_counts_when_it_is_quiet(
    watch: Callable[..., Watched], zebra: Classifier, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"zebra Joe fell over")
    watched = watch(zebra, log)
    assert watched.update().verdict == "crash"
    append(log, b", once upon a time\n")
    assert watched.update().verdict == "healthy", "the rest of the line tells that it is a story"
    assert watched.stop().verdict == "healthy"


def test_rotation_while_watching(watch: Callable[..., Watched], zebra: Classifier, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"feeding time\n" * 5)
    watched = watch(zebra, log)
    for turn in range(3):
        time.sleep(2 * LOOK)
        log.rename(tmp_path / f"a.log.{turn}")
        log.write_bytes(b"feeding time\n")
    time.sleep(2 * LOOK)
    append(log, b"zebra Joe fell over\n")
    assert watched.update().verdict == "crash"
    report = watched.stop()
    assert report.coverage.lines == 9
    assert [cap for cap in report.coverage.caps if "replaced by a new file" in cap]


@posix
def test_named_pipes_and_files_beside_them(watch: Callable[..., Watched], zebra: Classifier, tmp_path: Path) -> None:
    pipe, log = tmp_path / "pipe", tmp_path / "a.log"
    os.mkfifo(pipe)
    log.write_bytes(b"feeding time\n")
    watched = watch(zebra, pipe, log)
    with pipe.open("wb", buffering=0) as writer:
        writer.write(b"zoo is closed\n")
        assert watched.update().verdict == "crash"
        append(log, b"zebra Joe fell over\n")
        update = watched.update()
        assert update.classification is not None
        assert update.classification.id == "zebra-fell"
    report = watched.finish()  # when its streams end, without being asked
    assert report.coverage.lines == 3


def test_stopping_at_a_crash(
    watch: Callable[..., Watched], zebra: Classifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vllm_crashsig.watch.cases.SETTLED", 0.4)
    log = tmp_path / "a.log"
    log.write_bytes(b"zoo is closed\n")
    watched = watch(zebra, log, until_failure=True)
    watched.update()
    append(log, b"zebra Joe fell over\n")
    report = watched.finish()
    assert report.cause is not None
    assert (report.cause.id, report.cause.explains) == ("zebra-fell", ["zoo-closed"])


def test_not_stopping_where_all_is_well(
    watch: Callable[..., Watched], zebra: Classifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vllm_crashsig.watch.cases.SETTLED", 0.4)
    log = tmp_path / "a.log"
    log.write_bytes(b"feeding time\n")
    watched = watch(zebra, log, until_failure=True)
    time.sleep(1.0)
    append(log, b"feeding time\n")
    assert watched.stop().coverage.lines == 2


def test_labels_on_every_line_are_found_while_it_flows(
    watch: Callable[..., Watched], builtin: Classifier, tmp_path: Path
) -> None:
    log = tmp_path / "srun.log"
    plain = [line.partition(b" ")[2] for line in CRASH]
    log.write_bytes(b"".join(b"3: " + line for line in plain[:20]))
    watched = watch(builtin, log)
    append(log, b"".join(b"3: " + line for line in plain[20:]))
    assert watched.update().verdict == "crash"
    evidence = watched.stop().classifications[0].evidence
    assert all(not e.text.startswith("3: ") for e in evidence)


def test_a_stream_that_breaks_off() -> None:
    inbox = Inbox()
    from vllm_crashsig.watch.streams import read_stream

    read_stream("gone", "/no/such/pipe", inbox)
    event = inbox.get(SOON)
    assert isinstance(event, Ended)
    assert event.trouble is not None
    assert inbox.get(0.01) is None


@posix
def test_a_command_that_is_killed() -> None:
    inbox = Inbox()
    child = Child(["sleep", "60"], inbox)
    child.kill()
    events = [inbox.get(SOON), inbox.get(SOON)]
    assert Exited(-9) in events
    assert Ended("<sleep>") in events


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify")
def test_the_system_tells_of_changes(tmp_path: Path) -> None:
    woken: queue.Queue[None] = queue.Queue()
    notifier = Notifier(lambda: woken.put(None))
    log, link = tmp_path / "real" / "0.log", tmp_path / "vllm.log"
    log.parent.mkdir()
    log.write_bytes(b"")
    link.symlink_to(log)
    assert notifier.watch(str(link))

    def change(work: Callable[[], object]) -> None:
        work()
        woken.get(timeout=SOON)
        while not woken.empty():
            woken.get()
        notifier.rearm()

    change(lambda: append(log, b"x"))
    change(lambda: os.truncate(log, 0))
    change(lambda: log.rename(log.with_name("0.log.1")))
    change(lambda: log.write_bytes(b"new"))
    (tmp_path / "other").symlink_to(log)
    change(lambda: (tmp_path / "other").rename(link))
    assert notifier.watch(str(tmp_path / "not-yet.log")), "its folder is enough"
    assert not notifier.watch(str(tmp_path / "no-folder" / "x.log"))
    notifier.close()


# -- what is printed -------------------------------------------------------------------------------------


def updates_of(classifier: Classifier, *chunks: str) -> list[Update]:
    session = classifier.session()
    return [update for chunk in chunks for update in session.feed(chunk, "a.log")]


def test_text_of_updates(zebra: Classifier) -> None:
    crash, recovered = updates_of(zebra, "zebra Joe fell over\n", "feeding time\nfeeding time\nfeeding time\n")
    writer = LiveWriter("text", width=80)
    assert writer.update(None, crash).splitlines()[0].startswith("CRASH  zebra-fell  (")
    assert "a.log:1  zebra Joe fell over" in writer.update(None, crash)
    assert writer.update("b.log", crash).startswith("b.log:  CRASH")
    assert writer.update(None, recovered) == "HEALTHY  what was seen before was survived\n"
    colored = LiveWriter("text", width=80, color=True).update(None, crash)
    assert colored.startswith("\x1b[1;31mCRASH\x1b[0m")


def test_what_a_log_says_stays_harmless(zebra: Classifier) -> None:
    (update,) = updates_of(zebra, "zebra Joe fell over\x1b]0;title\x07 \u202e`*_[x](y)\n")
    assert "\u202e" not in LiveWriter("text").update("a\x1b[2J\n.log", update)
    assert "\x1b" not in LiveWriter("text").update("a\x1b[2J\n.log", update)
    assert len(LiveWriter("markdown").update("a\n# b", update).splitlines()) == 1
    assert len(LiveWriter("json").update("a\nb", update).splitlines()) == 1


def test_an_unknown_failure_is_told(builtin: Classifier) -> None:
    session = builtin.session()
    (update,) = session.feed(
        'Traceback (most recent call last):\n  File "/srv/a/b.py", line 1, in f\nzoo.OddError: x\n', "a.log"
    )
    assert update.unclassified is not None
    told = LiveWriter("text").update(None, update)
    assert f"unknown failure {update.unclassified.crash_id}" in told
    assert "zoo.OddError: x" in told
    silent = builtin.session()
    silent.feed("INFO hello\n")
    (exited,) = silent.exited(3)
    assert "exit status 3" in LiveWriter("text").update(None, exited)


def test_markdown_of_the_end(zebra: Classifier) -> None:
    session = zebra.session()
    session.feed("zebra Joe fell over\n", "a.log")
    told = LiveWriter("markdown").final("a.log", session.close())
    assert told.startswith("\n# a.log\n\n## Crash: ")
