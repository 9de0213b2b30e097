"""Makes logs of any size: a vLLM server at work, with what surrounds it, errors out of samples/, and what wraps them."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from vllm_crashsig import classify

SAMPLES = Path(__file__).resolve().parent.parent / "samples"

REQUEST = '(APIServer pid={pid}) INFO:     10.0.{a}.{b}:{port} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
HEALTH = '(APIServer pid={pid}) INFO:     10.0.0.{b}:{port} - "GET /health HTTP/1.1" 200 OK'
STATS = (
    "(APIServer pid={pid}) INFO 11-30 {time} [loggers.py:257] Engine 000: Avg prompt throughput: {a}.3 tokens/s, "
    "Avg generation throughput: {b}.7 tokens/s, Running: {c} reqs, Waiting: 0 reqs, GPU KV cache usage: {c}.1%, "
    "Prefix cache hit rate: 41.2%"
)
RAYLET = (
    "[2026-11-30 {time},{a:03d} I {pid} {pid}] (raylet) node_manager.cc:525: [state-dump] NumPendingTasks: {a} cumulative: {b}"
)
APP = '{time}.{a:03d} gateway level=info msg="request finished" id=req-{port:x} model=qwen tokens={b} duration_ms={a}'

MIXES = {
    "busy": ((REQUEST, 70), (HEALTH, 12), (APP, 13), (RAYLET, 4), (STATS, 1)),
    "progress": ((STATS, 80), (REQUEST, 20)),
}
"""Templates and how often each one comes: a busy server's log is mostly access log; one without it tells its progress."""


def ordinary_lines(mix: str = "busy", seed: int = 7) -> Iterator[bytes]:
    """Endless lines of a healthy server."""
    rng = random.Random(seed)
    templates, weights = zip(*MIXES[mix], strict=True)
    for second in itertools.count(1):
        time = f"{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        for template in rng.choices(templates, weights, k=50):
            yield template.format(
                pid=70 + rng.randrange(3), a=rng.randrange(250), b=rng.randrange(1, 250), c=rng.randrange(1, 9),
                port=rng.randrange(30000, 60000), time=time,
            ).encode()  # fmt: skip


def error_lines(seed: int = 7, kinds: int = 12) -> Iterator[bytes]:
    """Endless lines that report failures, of a few kinds as in one crash, half of them with other numbers each time."""
    rng = random.Random(seed)
    found = [
        line
        for path in sorted(SAMPLES.glob("*/hit-*.log"))
        for line in path.read_bytes().splitlines()
        if b"ERROR" in line and len(line) < 1000 and line[:1] != b"{" and b'File "' not in line
    ]
    rng.shuffle(found)
    chosen = list(itertools.islice((line for line in found if classify(line).verdict != "healthy"), kinds))
    while True:
        line = rng.choice(chosen)
        if rng.random() < 0.5:
            line = re.sub(rb"\d\d+", lambda m: b"%0*d" % (len(m[0]), rng.randrange(10 ** min(len(m[0]), 9))), line)
        yield line


def _time(number: int) -> str:
    second = number // 50
    return f"2026-11-30T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{number % 50 * 20_000_000:09d}Z"


def _docker(text: str, number: int) -> str:
    quoted = re.sub(r"[<>&]", lambda m: f"\\u{ord(m[0]):04x}", json.dumps(text + "\n", ensure_ascii=False))
    return f'{{"log":{quoted},"stream":"stdout","time":"{_time(number)}"}}'


def _journald(text: str, number: int) -> str:
    fields = {
        "__CURSOR": f"s=5d1c4d5b0d9e4f0aa6b2;i={number:x};b=6b0c;m={number * 977:x};t=5f3;x=9",
        "__REALTIME_TIMESTAMP": str(1796067718000000 + number), "__MONOTONIC_TIMESTAMP": str(number),
        "_BOOT_ID": "6b0c7e2a4b6d4b0f8f0a", "PRIORITY": "6", "SYSLOG_FACILITY": "3", "SYSLOG_IDENTIFIER": "vllm",
        "_UID": "1000", "_COMM": "vllm", "_EXE": "/usr/bin/python3.12",
        "_CMDLINE": "/usr/bin/python3.12 /opt/venv/bin/vllm serve Qwen/Qwen3-8B", "_MACHINE_ID": "2f0d1f1c",
        "_SYSTEMD_CGROUP": "/system.slice/vllm.service", "_SYSTEMD_UNIT": "vllm.service", "_HOSTNAME": "gpu01",
        "_TRANSPORT": "stdout", "_PID": "4321", "MESSAGE": text,
    }  # fmt: skip
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def _logger(text: str, number: int) -> str:
    record = {"asctime": _time(number), "levelname": "INFO", "name": "vllm.engine.metrics", "message": text, "process": 70}
    return json.dumps(record)


ENVELOPES: dict[str, Callable[[str, int], str]] = {
    "plain": lambda text, _: text,
    "docker json-file": _docker,
    "CRI": lambda text, number: f"{_time(number)} stdout F {text}",
    "journald JSON": _journald,
    "JSON logger": _logger,
}


def write_log(path: Path, size: int, *, mix: str = "busy", errors: float = 0.0, envelope: str = "plain", seed: int = 7) -> None:
    """A log of about ``size`` bytes: the start of a real healthy server, then its work (16 MB of it, repeated).

    errors: the share of lines that report failures; with 1, there is nothing else.
    """
    rng = random.Random(seed)
    wrap = ENVELOPES[envelope]
    ordinary, failing = ordinary_lines(mix, seed), error_lines(seed)
    start = (SAMPLES / "healthy" / "vllm-healthy-sigterm.log").read_bytes().split(b"[shutdown]")[0].splitlines()[:-1]
    lines = itertools.chain(start, (next(failing if rng.random() < errors else ordinary) for _ in itertools.count()))
    body = bytearray()
    head = 0
    for number, line in enumerate(lines):
        if number == len(start):
            head = len(body)
        body += wrap(line.decode(), number).encode() + b"\n"
        if len(body) >= min(size, 16_000_000):
            break
    with path.open("wb") as file:
        written = file.write(body)
        while written < size:
            written += file.write(body[head:])
