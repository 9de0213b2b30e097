"""Batches on a real Ray cluster of several raylets: the same results, also when a worker or a node dies in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from test_batch import COMMAND, CRASH, HEALTHY, UNKNOWN, feed_pipe, finished_count, rows, run, small_cases, wait_for
from test_sources import S3_SERVER
from tiny import fingerprint, write

from vllm_crashsig.batch.worker import main as worker_main

if find_spec("ray") is None or find_spec("ray.data") is None:
    pytest.skip("Ray Data (the extra 'ray') is not installed", allow_module_level=True)

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc"),
    pytest.mark.xdist_group("ray"),
]


class Cluster:
    """A cluster in another process."""

    def __init__(self, nodes: int) -> None:
        script = Path(__file__).with_name("ray_cluster.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script), str(nodes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.address = self._line()
        assert ":" in self.address

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def kill_node(self, raylet: int) -> None:
        """Kills the node whose raylet has this process id, and waits until it is gone."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{raylet}\n")
        self._process.stdin.flush()
        assert self._line() == "gone"

    def close(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster(3)
    yield made
    made.close()


def on(cluster: Cluster) -> list[str]:
    return ["--engine", "ray", "--ray-address", cluster.address]


def status(pid: int) -> tuple[int, str]:
    """Parent and command line of a process; (0, "") when it is gone."""
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return parent, Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (OSError, ValueError):
        return 0, ""


def holders() -> list[tuple[int, int, int]]:
    """(worker process, Ray's worker process, raylet) of the processes that wait for somebody to write to their pipe."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        ray_worker, command = status(int(entry.name))
        raylet, name = status(ray_worker)
        alive = "raylet" in status(raylet)[1]  # else it is about to end, too
        if worker_main.__module__ in command and name.startswith("ray::") and alive and waits(entry):
            found.append((int(entry.name), ray_worker, raylet))
    return found


def waits(process: Path) -> bool:
    """Whether the main thread of a process waits in opening a file, as only a pipe without a writer makes it."""
    try:
        told = (process / "syscall").read_bytes().split()
    except OSError:
        return False
    return told[:1] in ([b"257"], [b"56"])  # openat on x86-64 and arm64


@contextmanager
def held_run(cluster: Cluster, tmp_path: Path, *arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run that waits in the middle, for somebody to write to a pipe that is one of its cases."""
    pipe = tmp_path / "held.log"
    os.mkfifo(pipe)
    command = [*COMMAND, str(pipe), *map(str, arguments), "-o", str(tmp_path / "ray.jsonl"), *on(cluster)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process, pipe
        finally:
            process.kill()


def check_ended(process: subprocess.Popen[str], tmp_path: Path, pipe: Path, expected: Path) -> None:
    """The run ended well, and its results are those of the pool, besides that of the pipe."""
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    got = rows(tmp_path / "ray.jsonl")
    assert (got[0]["case"], got[0]["cause"]) == (str(pipe), "shm-exhausted-nccl")
    assert got[1:] == rows(expected)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small logs of all kinds, one of them empty and one that cannot be read."""
    home = tmp_path_factory.mktemp("logs")
    for number, source in enumerate(small_cases(150)):
        (home / f"{number:03d}.log").write_bytes(source.read_bytes())
    (home / "empty.log").write_bytes(b"")
    (home / "cut.log.gz").write_bytes(b"\x1f\x8b\x08\0\0")
    return home


@pytest.fixture(scope="module")
def expected(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the pool makes of them."""
    out = tmp_path_factory.mktemp("pool") / "pool.jsonl"
    assert run(logs, "-o", out, "-q").returncode == 0
    return out


def test_the_same_as_the_pool(cluster: Cluster, logs: Path, expected: Path, tmp_path: Path) -> None:
    done = run(logs, "-o", tmp_path / "ray.jsonl", "--format", "json", *on(cluster))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ray.jsonl").read_bytes() == expected.read_bytes()
    assert json.loads(done.stdout)["cases"] == len(rows(expected))
    (line,) = done.stderr.splitlines()
    assert "cut.log.gz" in line


def test_relative_paths_and_own_fingerprints(cluster: Cluster, tmp_path: Path) -> None:
    write(tmp_path / "own", fingerprint("disk-full.zoo", "root", "zoo: no room for (?:the )?animals"))
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "z.log").write_text("ERROR zoo: no room for animals, token=hf_abcdefghijklmnopqrstuv\n")
    done = run("z", "-o", "r.jsonl", "--fingerprints", "own", "--jobs", "1", *on(cluster), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = rows(tmp_path / "r.jsonl")
    assert (row["case"], row["evidence_source"], row["cause"]) == ("z/z.log", "z/z.log", "disk-full.zoo")
    assert "hf_abc" not in row["evidence"]


def test_a_ray_worker_that_dies(cluster: Cluster, logs: Path, expected: Path, tmp_path: Path) -> None:
    with held_run(cluster, tmp_path, logs) as (process, pipe):
        _, ray_worker, _ = wait_for(holders, 120)[0]
        os.kill(ray_worker, signal.SIGKILL)
        wait_for(lambda: [h for h in holders() if h[1] != ray_worker], 120)
        feed_pipe(pipe, CRASH.read_bytes())
        check_ended(process, tmp_path, pipe, expected)


def test_a_log_that_kills_its_worker(cluster: Cluster, tmp_path: Path) -> None:
    with held_run(cluster, tmp_path, CRASH) as (process, _pipe):
        for _ in range(2):
            os.kill(wait_for(holders, 120)[0][0], signal.SIGKILL)
            wait_for(lambda: not holders() or process.poll() is not None)
        _, told = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "SIGKILL" in told
    assert [r["verdict"] for r in rows(tmp_path / "ray.jsonl")] == ["unreadable", "crash"]


def test_addresses_are_read_by_the_nodes(cluster: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    (tmp_path / "a.log").write_bytes(CRASH.read_bytes())
    (tmp_path / "b.log").write_bytes(HEALTHY.read_bytes())

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(tmp_path))

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_address[1]}"
        done = run(f"{base}/a.log", f"{base}/b.log", f"{base}/none.log", "-o", tmp_path / "r.jsonl", *on(cluster))
        server.shutdown()
    assert done.returncode == 0, done.stderr
    got = rows(tmp_path / "r.jsonl")
    assert [(r["case"], r["cause"], r["verdict"]) for r in got] == [
        (f"{base}/a.log", "shm-exhausted-nccl", "crash"), (f"{base}/b.log", None, "healthy"),
        (f"{base}/none.log", None, "unreadable"),
    ]  # fmt: skip


def test_object_storage_and_a_runtime_environment(cluster: Cluster, tmp_path: Path) -> None:
    for module in ("moto", "flask", "flask_cors", "s3fs"):
        pytest.importorskip(module)
    upload = "import fsspec, sys; s3 = fsspec.filesystem('s3'); s3.mkdir('crashes'); s3.put(sys.argv[1], 'crashes/one', True)"
    (tmp_path / "logs" / "day1").mkdir(parents=True)
    (tmp_path / "logs" / "day1" / "a.log").write_bytes(CRASH.read_bytes())
    (tmp_path / "logs" / "b.log").write_bytes(HEALTHY.read_bytes())
    with subprocess.Popen(
        [sys.executable, "-c", S3_SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        port = next(line.split()[1] for line in server.stdout if line.startswith("port"))
        told = {
            "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_DEFAULT_REGION": "us-east-1",
            "FSSPEC_S3_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        }  # fmt: skip
        environment, runtime = {**os.environ, **told}, json.dumps({"env_vars": told})
        subprocess.run([sys.executable, "-c", upload, f"{tmp_path}/logs/"], check=True, capture_output=True, env=environment)
        done = subprocess.run(
            [*COMMAND, "s3://crashes/one", "-o", str(tmp_path / "r.jsonl"), *on(cluster), "--ray-runtime-env", runtime],
            capture_output=True, text=True, env=environment, timeout=120,
        )  # fmt: skip
        server.communicate()
    assert done.returncode == 0, done.stderr
    assert [(r["case"], r["cause"], r["folder"]) for r in rows(tmp_path / "r.jsonl")] == [
        ("s3://crashes/one/b.log", None, "one"), ("s3://crashes/one/day1/a.log", "shm-exhausted-nccl", "day1"),
    ]  # fmt: skip


def test_killed_and_resumed_on_another_engine(cluster: Cluster, logs: Path, expected: Path, tmp_path: Path) -> None:
    with held_run(cluster, tmp_path, logs) as (process, pipe):
        wait_for(lambda: finished_count(tmp_path / "ray.jsonl.journal") > 20, 120)
        process.kill()
    pipe.unlink()
    pipe.write_bytes(CRASH.read_bytes())
    done = run(pipe, logs, "-o", tmp_path / "ray.jsonl", "--resume")
    assert done.returncode == 0
    assert not done.stderr.startswith("vllm-crashsig: 0 of")
    got = rows(tmp_path / "ray.jsonl")
    assert got[0]["cause"] == "shm-exhausted-nccl"
    assert got[1:] == rows(expected)


def test_nobody_at_the_address(tmp_path: Path) -> None:
    done = run(CRASH, "-o", tmp_path / "r.jsonl", "--engine", "ray", "--ray-address", "127.0.0.1:1")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "127.0.0.1:1" in line
    assert "head" in line, "our own fingerprint's advice"
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        done = run(CRASH, "-o", tmp_path / "r.jsonl", "--engine", "ray", "--ray-address", address)
        server.shutdown()
    assert done.returncode == 2
    assert "no gRPC server" in done.stderr
    assert not list(tmp_path.iterdir())


def test_zz_a_node_that_dies(cluster: Cluster, logs: Path, expected: Path, tmp_path: Path) -> None:
    """The last one: it takes one of the cluster's nodes away."""
    with held_run(cluster, tmp_path, logs) as (process, pipe):
        wait_for(lambda: finished_count(tmp_path / "ray.jsonl.journal") > 20, 120)
        _, _, raylet = wait_for(holders, 120)[0]
        cluster.kill_node(raylet)
        wait_for(lambda: [h for h in holders() if h[2] != raylet], 120)
        feed_pipe(pipe, CRASH.read_bytes())
        check_ended(process, tmp_path, pipe, expected)


def test_an_unknown_failure_is_grouped(cluster: Cluster, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.log").write_bytes(UNKNOWN)
    told = json.loads(run(tmp_path, "--format", "json", *on(cluster)).stdout)
    assert [g["cases"] for g in told["unclassified"]] == [2]
