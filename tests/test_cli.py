"""The command: what goes in, what comes out, exit statuses, and one clear line for everything that is wrong."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny import SAMPLES, fingerprint, write

COMMAND = [sys.executable, "-m", "vllm_crashsig"]
CRASH = SAMPLES / "shm-exhausted-nccl" / "hit-vllm085-nccl221.log"
HEALTHY = SAMPLES / "healthy" / "vllm-healthy-sigterm.log"
UNKNOWN = b'Traceback (most recent call last):\n  File "/srv/app/b.py", line 1, in f\nzoo.OddError: x\n'


def run(*arguments: str | Path, stdin: bytes | None = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs the command. There is never a traceback."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], input=stdin, capture_output=True, timeout=60, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


def fails(*arguments: str | Path, stdin: bytes = b"", lines: int = 1) -> str:
    """Runs a command that is wrong: status 2, nothing on stdout, and a short message, which is returned."""
    done = run(*arguments, stdin=stdin)
    told = done.stderr.decode()
    assert done.returncode == 2, told
    assert done.stdout == b""
    assert 1 <= len(told.strip().splitlines()) <= lines, told
    return told


def test_piped_without_a_verb() -> None:
    done = run(stdin=CRASH.read_bytes())
    assert done.returncode == 0
    text = done.stdout.decode()
    assert "shm-exhausted-nccl" in text.splitlines()[0]
    assert "<stdin>:" in text
    assert done.stderr == b""


@pytest.mark.parametrize("arguments", [["classify"], ["-f", "json", "-"]])
def test_ways_to_read_stdin(arguments: list[str]) -> None:
    done = run(*arguments, stdin=CRASH.read_bytes())
    assert done.returncode == 0
    assert b"shm-exhausted-nccl" in done.stdout


def test_files_with_and_without_the_verb() -> None:
    plain = run("classify", CRASH)
    assert plain.returncode == 0
    assert f"{CRASH}:" in plain.stdout.decode()
    assert run(CRASH).stdout == plain.stdout


def test_several_files_are_one_case() -> None:
    folder = SAMPLES / "incidents" / "vllm-worker-oom-in-cgroup"
    done = run("classify", folder / "vllm.log", folder / "dmesg.log", "--format", "json")
    report = json.loads(done.stdout)
    assert report["classifications"][0]["id"].startswith("cgroup-oom-kill")
    assert len(report["coverage"]["sources"]) == 2


def test_formats() -> None:
    assert json.loads(run(CRASH, "--format", "json").stdout)["schema_version"] == "1"
    assert run(CRASH, "--format", "markdown").stdout.startswith(b"## ")


def test_explain_option_tells_the_trail() -> None:
    text = run(CRASH, "--explain").stdout.decode()
    assert re.search(r"added +shm-exhausted-nccl: rank 1", text)
    assert "a consequence of shm-exhausted-nccl" in text


@pytest.mark.parametrize(
    ("log", "status", "verdict"),
    [
        (CRASH.read_bytes(), 0, "crash"), (HEALTHY.read_bytes(), 1, "healthy"), (UNKNOWN, 3, "unclassified"),
        (b"", 1, "empty"), (b"\n \n", 1, "empty"), (bytes(range(256)) * 100, 1, "healthy"),
    ],
    ids=["crash", "healthy", "unknown", "empty", "blank", "binary"],
)  # fmt: skip
def test_exit_status(log: bytes, status: int, verdict: str) -> None:
    done = run("--format", "json", stdin=log)
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (status, verdict)
    assert done.stderr == b""


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    done = run(tmp_path / "empty.log")
    assert done.returncode == 1
    assert done.stdout.startswith(b"EMPTY")


def test_own_fingerprints_add_and_override(tmp_path: Path) -> None:
    one = write(tmp_path / "one", fingerprint("my-own", "root", "zebra fell over"))
    two = write(tmp_path / "two", fingerprint("shm-exhausted-nccl", "root", "no match at all"))
    assert run(stdin=b"zebra fell over\n").returncode == 1
    done = run("--fingerprints", one, "--fingerprints", two, stdin=b"zebra fell over\n" + CRASH.read_bytes())
    assert b"my-own" in done.stdout
    assert b"shm-exhausted-nccl" not in done.stdout.splitlines()[0]
    assert b"Title of my-own" in run("explain", "my-own", "--fingerprints", one).stdout
    assert b"my-own" in run("catalogue", "list", "--fingerprints", one).stdout


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    assert "no such file" in fails("classify", tmp_path / "none.log")
    assert "holds no text" in fails(tmp_path)
    assert "no such file" in fails("classify", CRASH, tmp_path / "none.log")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "secret.log"
    path.touch(mode=0)
    assert "permissions" in fails("classify", path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_compressed(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    path = tmp_path / "log.packed"
    path.write_bytes(pack(CRASH.read_bytes()))
    done = run(path, "--format", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["coverage"]["bytes"] == CRASH.stat().st_size


def test_compressed_stdin() -> None:
    assert run(stdin=gzip.compress(CRASH.read_bytes())).returncode == 0


def test_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(CRASH.read_bytes() + random.Random(5).randbytes(5000))[:-4000])
    done = run(path, "--format", "json")
    assert done.returncode == 0
    assert any("the gzip data is cut off" in cap for cap in json.loads(done.stdout)["coverage"]["caps"])
    assert "the gzip data is cut off" in " ".join(run(path).stdout.decode().split())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_wide_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(CRASH.read_text(encoding="utf-8").replace("\n", "\r\n").encode(encoding))
    done = run(path, "--format", "json")
    assert json.loads(done.stdout)["classifications"][0]["id"] == "shm-exhausted-nccl"


def test_unknown_options_formats_and_verbs() -> None:
    assert "--format" in fails("classify", "--fromat", "json", lines=4)
    assert "text, json, markdown" in fails("--format", "jsn", lines=4)
    assert "classify" in fails("clasify", lines=4)
    assert "lint" in fails("catalogue", "lnt", lines=4)
    assert "did you mean" in fails("explain", "shm-exhausted-ncll", lines=4)
    assert fails("explain", lines=4)
    assert fails("--width", "many", lines=4)
    assert fails("--width", "5", lines=4)
    assert fails("--color", "pink", lines=4)
    assert fails("catalogue", "list", "--area", "nowhere", lines=4)
    assert fails("catalogue", "schema", "nothing", lines=4)


def test_broken_catalogues(tmp_path: Path) -> None:
    assert "no such directory" in fails("--fingerprints", tmp_path / "none", stdin=b"x")
    assert "holds no fingerprint" in fails("--fingerprints", tmp_path, stdin=b"x")
    bad = write(tmp_path / "bad", fingerprint("bad-one", "rooot", "x", nonsense=1))
    told = fails("--fingerprints", bad, stdin=b"x", lines=2)
    assert re.search(r"bad-one\.yaml:\d+:\d+ \(role\): ", told)
    assert "(nonsense)" in told
    regex = write(tmp_path / "regex", fingerprint("bad-two", "root", "(unclosed"))
    assert "not a valid regex" in fails("--fingerprints", regex, stdin=b"x")
    lint = run("catalogue", "lint", bad)
    assert lint.returncode == 2
    assert b"(role)" in lint.stderr


def test_broken_pipe_is_quiet() -> None:
    script = f"{sys.executable} -m vllm_crashsig {CRASH} --format json | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=60, check=False)
    assert done.stderr == b""
    assert done.stdout == b'{\n  "schem'
    assert done.returncode == 0
    for arguments in ("--help", "catalogue list"):
        script = f"{sys.executable} -m vllm_crashsig {arguments} | true"
        assert subprocess.run(["bash", "-c", script], capture_output=True, timeout=60, check=False).stderr == b""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_interrupt_is_quiet() -> None:
    child = subprocess.Popen([*COMMAND, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write(CRASH.read_bytes())
    child.stdin.flush()
    time.sleep(1.5)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=60)
    assert b"Traceback" not in told
    assert len(told.splitlines()) <= 1
    assert child.returncode in (130, -signal.SIGINT)


def test_colour_and_width() -> None:
    assert b"\x1b[" not in run(CRASH).stdout
    assert b"\x1b[" in run(CRASH, "--color", "always", NO_COLOR="1").stdout, "an option is stronger than the environment"
    text = run(CRASH, "--width", "40").stdout.decode()
    assert max(len(line) for line in text.splitlines() if not line.startswith("     ")) <= 40


def test_no_colour_on_a_terminal() -> None:
    pty = pytest.importorskip("pty")
    for variable, coloured in (({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"TERM": "xterm"}, True)):
        master, slave = pty.openpty()
        environment = {**os.environ, **variable}
        child = subprocess.Popen([*COMMAND, str(CRASH)], stdout=slave, stderr=subprocess.PIPE, env=environment)
        os.close(slave)
        seen = b""
        try:
            while data := os.read(master, 65536):
                seen += data
        except OSError:  # Linux: the other end is closed
            pass
        child.communicate(timeout=60)
        os.close(master)
        assert (b"\x1b[" in seen) == coloured


def test_help_and_version() -> None:
    assert b"Exit status" in run("--help").stdout
    assert b"--fingerprints" in run("classify", "--help").stdout
    assert re.match(rb"vllm-crashsig, version \d+\.\d+", run("--version").stdout)


def test_catalogue_verbs() -> None:
    rows = run("catalogue", "list", "--area", "shm").stdout.decode().splitlines()
    assert any(row.startswith("shm-exhausted-nccl ") for row in rows)
    assert run("catalogue", "show", "cuda-oom").stdout == run("explain", "cuda-oom").stdout
    assert json.loads(run("catalogue", "schema", "report").stdout)["title"] == "Report"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
@pytest.mark.parametrize("arguments", [["no-such.log"], ["classify", "no-such.log"], ["--help"], ["--version"], [CRASH]])
@pytest.mark.parametrize("both", [False, True])
def test_a_full_disk_is_never_taken_for_health(arguments: list[str | Path], both: bool) -> None:
    """Neither for what is printed nor for the message about it."""
    with open("/dev/full", "wb") as full:
        wrong = arguments[-1] == "no-such.log"
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)], stdin=subprocess.DEVNULL, check=False, timeout=60,
            stdout=full, stderr=full if both or wrong else subprocess.PIPE,
        )  # fmt: skip
    assert done.returncode == 2
    assert b"Traceback" not in (done.stderr or b"")


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("print('answer', end='')", "answer"),
        ("atexit.register(print, 'tidied')", "tidied\n"),
        ("threading.Thread(target=lambda: (time.sleep(0.3), print('waited for'))).start()", "waited for\n"),
    ],
)
def test_the_end_is_quick_but_leaves_nothing_out(before: str, told: str) -> None:
    code = f"import atexit, threading, time\nfrom vllm_crashsig.cli import leave\n{before}\nleave(3)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (3, told, "")
