"""Makes logs of any size, the same for the same seed: a vLLM server at work, errors and crashes out of samples/, and what
wraps them."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from vllm_crashsig import classify
from vllm_crashsig.envelopes import peel

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
SMALL = 20_000
"""Bytes below which a sample is a small log."""
BODY = 16_000_000
"""Bytes after which ordinary lines come again."""
STRETCH = 64 * 1024
"""Bytes of ordinary lines that are handed on together, where no error comes between."""

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


@lru_cache(maxsize=8)
def _chosen(seed: int, kinds: int) -> list[bytes]:
    """Lines of the samples that report failures. All of one server: none names a container, as in a log of several."""
    found = [
        line
        for path in sorted(SAMPLES.glob("*/hit-*.log"))
        for line in path.read_bytes().splitlines()
        if b"ERROR" in line
        and len(line) < 1000
        and line[:1] != b"{"
        and b'File "' not in line
        and peel(line.decode(errors="replace")).container is None
    ]
    random.Random(seed).shuffle(found)
    return list(itertools.islice((line for line in found if classify(line).verdict != "healthy"), kinds))


def error_lines(seed: int = 7, kinds: int = 12) -> Iterator[bytes]:
    """Endless lines that report failures, of a few kinds as in one crash, half of them with other numbers each time."""
    rng = random.Random(seed)
    chosen = _chosen(seed, kinds)
    while True:
        line = rng.choice(chosen)
        if rng.random() < 0.5:
            line = re.sub(rb"\d\d+", lambda m: b"%0*d" % (len(m[0]), rng.randrange(10 ** min(len(m[0]), 9))), line)
        yield line


def crash_log(size: int, seed: int = 7) -> bytes:
    """A server that worked for a while and crashed: about ``size`` bytes (at least the crash, a real one of 16 KB)."""
    crash = (SAMPLES / "demo" / "vllm.log").read_bytes()
    before = bytearray()
    for line in ordinary_lines(seed=seed):
        if len(before) + len(line) + len(crash) >= size:
            break
        before += line + b"\n"
    return bytes(before) + crash


def small_logs(count: int, seed: int = 7, *, healthy: bool = False) -> Iterator[bytes]:
    """So many small logs: samples of all areas in turn, or what a healthy server says for a moment."""
    if healthy:
        found = [b"".join(line + b"\n" for line in itertools.islice(ordinary_lines(seed=seed + n), 20)) for n in range(100)]
    else:
        found = [p.read_bytes() for p in sorted(SAMPLES.glob("*/*.log")) if p.stat().st_size < SMALL]
        random.Random(seed).shuffle(found)
    return itertools.islice(itertools.cycle(found), count)


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


@dataclass(frozen=True)
class Kind:
    """What a log is like. errors: the share of lines that report failures; with 1, there is nothing else."""

    mix: str = "busy"
    errors: float = 0.0
    envelope: str = "plain"


def pieces(kind: Kind, seed: int = 7) -> Iterator[bytes]:
    """An endless log: the start of a real healthy server, then its work. Only ordinary lines come again, after BODY."""
    rng = random.Random(seed)
    number = itertools.count()

    def wrapped(line: bytes) -> bytes:
        return ENVELOPES[kind.envelope](line.decode(), next(number)).encode() + b"\n"

    start = (SAMPLES / "healthy" / "vllm-healthy-sigterm.log").read_bytes().split(b"[shutdown]")[0].splitlines()[:-1]
    yield b"".join(map(wrapped, start))
    ordinary, failing = ordinary_lines(kind.mix, seed), error_lines(seed)
    if kind.errors >= 1:
        while True:
            yield b"".join(wrapped(line) for line in itertools.islice(failing, 100))
    told: list[bytes] = []
    size = 0
    while size < BODY:
        stretch = bytearray()
        while len(stretch) < STRETCH and rng.random() >= kind.errors:
            stretch += wrapped(next(ordinary))
        told.append(bytes(stretch))
        yield told[-1]
        if len(stretch) < STRETCH:
            yield wrapped(next(failing))
        size += len(stretch)
    text = b"".join(told)
    length = len(text) / text.count(b"\n")
    while True:  # the errors come at other places each time, or what is remembered of the lines behind them would count
        at = 0
        while at < len(text):
            skip = min(STRETCH, int(length * rng.expovariate(-math.log1p(-kind.errors)))) if kind.errors else STRETCH
            end = max(at, text.rfind(b"\n", at, at + skip) + 1)
            yield text[at:end]
            if skip < STRETCH:
                yield wrapped(next(failing))
            at = end


def write_log(path: Path, size: int, kind: Kind = Kind(), seed: int = 7) -> Path:
    """A log of at least ``size`` bytes."""
    with path.open("wb") as file:
        written = 0
        for piece in pieces(kind, seed):
            written += file.write(piece)
            if written >= size:
                break
    return path
