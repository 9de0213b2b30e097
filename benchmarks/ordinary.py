"""Makes an ordinary log of any size: a vLLM server at work, with what surrounds it, and nothing that failed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent.parent / "samples" / "healthy"

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


def ordinary_lines(seed: int = 7) -> Iterator[bytes]:
    """Endless lines in the proportions of a busy server: mostly access log, a statistics line now and then."""
    rng = random.Random(seed)
    shapes = [(REQUEST, 70), (HEALTH, 12), (APP, 13), (RAYLET, 4), (STATS, 1)]
    templates = [t for t, _ in shapes]
    weights = [w for _, w in shapes]
    second = 0
    while True:
        second += 1
        time = f"{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        for template in rng.choices(templates, weights, k=50):
            yield template.format(
                pid=70 + rng.randrange(3), a=rng.randrange(250), b=rng.randrange(1, 250), c=rng.randrange(1, 9),
                port=rng.randrange(30000, 60000), time=time,
            ).encode() + b"\n"  # fmt: skip


def write_ordinary(path: Path, size: int, seed: int = 7) -> None:
    """An ordinary log of about ``size`` bytes: the start of a real healthy server, then its work (16 MB of it, repeated)."""
    start = (SAMPLES / "vllm-healthy-sigterm.log").read_bytes().split(b"[shutdown]")[0].rpartition(b"\n")[0] + b"\n"
    body = bytearray()
    for line in ordinary_lines(seed):
        body += line
        if len(body) >= min(size, 16_000_000):
            break
    with path.open("wb") as file:
        written = file.write(start)
        while written < size:
            written += file.write(body)
