"""Properties of the whole path: nothing raises, the gate changes nothing, cuts change nothing, envelopes change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tiny import SAMPLES

from vllm_crashsig import Catalogue, Classifier, Report, candidates, framing
from vllm_crashsig.candidates import candidates_by_line
from vllm_crashsig.framing import Frame
from vllm_crashsig.prepare import prepare

SUBSET = (
    "shm-exhausted-nccl", "cuda-oom", "host-oom-kill", "cgroup-oom-kill", "sigkill-unexplained", "nccl-unhandled",
    "nccl-timeout", "engine-init-failed", "engine-dead", "ray-actor-died", "gpu-fallen-off-bus", "port-in-use", "shm-bus-error",
)  # fmt: skip
"""Failures that the fast properties look for, beside everything that is no failure (context, milestones, noise)."""

FIXED = (
    "shm-exhausted-nccl/hit-vllm085-nccl221.log", "shm-exhausted-nccl/hit-guide-three-lines.log", "cuda-oom/hit-torch20.log",
    "cuda-oom/hit-cuda-error.log", "sigkill-unexplained/hit-tp2-worker.log", "shm-bus-error/hit-tp2-worker.log",
    "healthy/vllm-healthy-sigterm.log", "cuda-oom/near-prompt.log",
)  # fmt: skip
"""Samples on which the full catalogue is compared."""

slow_ok = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@lru_cache(maxsize=1)
def whole() -> Catalogue:
    return Classifier().catalogue


@lru_cache(maxsize=1)
def subset() -> Catalogue:
    kept = {f.id: f for f in whole() if f.id in SUBSET or not f.is_failure}
    return Catalogue(MappingProxyType(kept), whole().areas, whole().taxonomy, "subset")


@lru_cache(maxsize=4)
def classifier(gated: bool, full: bool = False) -> Classifier:
    return Classifier(whole() if full else subset(), gated=gated)


@lru_cache(maxsize=1)
def lines() -> list[str]:
    """Example lines of the subset, and some of the lines of its samples."""
    found = [text for f in subset() for i in f.indicators.values() for text in (i.examples.hit[0], i.examples.miss[0])]
    for name in FIXED:
        found += (SAMPLES / name).read_text(encoding="utf-8", errors="replace").splitlines()[-12:]
    return found


PREFIXES = (
    "", "", "(EngineCore_DP0 pid=41) ", "(Worker_TP1 pid=42) ERROR 11-30 12:00:00 [core.py:1] ", "[rank3]: ", "[rank1]:[E1130 ",
    "2026-11-30T19:41:58.5Z stderr F ", "2026-11-30T19:41:58.5Z stderr P ", "vllm-1  | ", "[  123.456789] ",
    "INFO 11-30 12:00:00 [a.py:1] ",
    "(RayWorkerWrapper pid=7, ip=10.0.0.2) ", "gpu01:1:2 [0] NCCL WARN ", "[pod/vllm-0/vllm] ", '{"log":"', " ", "\ufeff",
)  # fmt: skip
ODD = (
    b"\xff",
    "é".encode(),
    "漢".encode(),
    b"\x1b[31m",
    b"\x1b",
    b"\r",
    b"\0",
    b"\xe2\x80",
    b"\t",
    "\u2028".encode(),
    b"\x0b",
    b"\n",
)
ENDS = (
    b"\n",
    b"\n",
    b"\n",
    b"\r\n",
    b"",
    b" [repeated 3x across cluster]\n",
    b'","stream":"stderr","time":"2026-11-30T19:41:58Z"}\n',
)


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Prefixed catalogue lines with odd bytes put in, some whole and some cut, some repeated very often."""
    out = bytearray()
    for _ in range(draw(st.integers(0, 12))):
        text = draw(st.sampled_from(PREFIXES)).encode() + draw(st.sampled_from(lines())).encode()
        for odd in draw(st.lists(st.sampled_from(ODD), max_size=2)):
            place = draw(st.integers(0, len(text)))
            text = text[:place] + odd + text[place:]
        if draw(st.integers(0, 9)) == 0:
            text = text[: draw(st.integers(0, len(text)))]
        out += (text + draw(st.sampled_from(ENDS))) * draw(st.sampled_from([1, 1, 1, 1, 1, 1, 1, 2, 60]))
    return bytes(out)


CUTS = st.lists(st.integers(min_value=0, max_value=1 << 20), max_size=6)


def dumped(report: Report) -> dict[str, Any]:
    return report.model_dump(mode="json")


def classify_in_parts(classifier: Classifier, data: bytes, places: Sequence[int]) -> Report:
    edges = [0, *sorted(p % (len(data) + 1) for p in places), len(data)]
    session = classifier.session()
    for start, end in pairwise(edges):
        session.feed(data[start:end])
    return session.close()


@given(st.binary(max_size=2000), st.booleans())
@slow_ok
def test_arbitrary_bytes_never_raise(data: bytes, gated: bool) -> None:
    report = classifier(gated).classify(data)
    assert report.coverage.bytes == len(data)
    # a journal record may hold no message
    bare = len(data.strip()) < 6 or not data.replace(b"\0", b"").strip() or b"__CURSOR=" in data
    assert report.verdict != "empty" or bare, "only marks, zeros and records without a message are empty"


@given(st.text(max_size=300))
@slow_ok
def test_arbitrary_text_never_raises(text: str) -> None:
    classifier(True).classify(text)
    classifier(True).classify(text.split())


@given(logs(), CUTS)
@example(b"[backbone] u\x1b\x1b[31m[31mnable to save AOT compiled function to /x: [Errno 28] No space left on device\n", [])
@example(b"torch.OutOfMemoryError: CUDA out\x1bA of memory. Tried to allocate 2.00 GiB\n", [])
@slow_ok
def test_gate_and_cuts_change_nothing(data: bytes, places: Sequence[int]) -> None:
    plain = dumped(classifier(False).classify(data))
    assert dumped(classifier(True).classify(data)) == plain
    assert dumped(classify_in_parts(classifier(True), data, places)) == plain
    assert dumped(classify_in_parts(classifier(False), data, places)) == plain


@given(st.lists(logs(), min_size=1, max_size=6).map(b"".join), st.integers(200, 3000), st.integers(1, 400))
@slow_ok
def test_the_gate_changes_nothing_over_many_frames(data: bytes, size: int, window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "MAX_LINE", size)
        patch.setattr(framing, "OVERLAP", size // 4)
        patch.setattr(candidates, "MAX_LINE", size)
        patch.setattr(candidates, "WINDOW", window)
        assert dumped(classifier(True).classify(data)) == dumped(classifier(False).classify(data))


BETWEEN = (
    b"[b] (a) {c} 'd' <f> x=1, y: 2. /g/h.py:3 -9 ERROR error Error torch vllm ray nccl NCCL CUDA GPU 0 0x12ab %d # @ ! ~ & * "
)


@pytest.mark.parametrize("filler", [b"", b"x" * 100, BETWEEN * 4], ids=["nothing", "a run", "words"])
def test_the_gate_lets_every_example_through_behind_other_text(filler: bytes) -> None:
    matcher, gate = prepare(whole())
    if gate is None:
        pytest.skip("Hyperscan is not installed")
    wanted: dict[int, set[int]] = {}
    data: list[bytes] = []
    for index in matcher.gated:
        probe = matcher.probes[index]
        for hit in whole()[probe.fingerprint].indicators[probe.name].examples.hit if probe.fingerprint else ():
            wanted.setdefault(len(data) + 1, set()).add(index)
            data += [filler, hit.encode().replace(b"\n", b" ")]
    text = Frame(b"\n".join(data), 1, 0).text
    found = {text.count(b"\n", 0, start): set(probes) for start, _, probes in candidates_by_line(gate, text)}
    missed = [matcher.probes[i] for line, probes in wanted.items() for i in probes - found.get(line, set())]
    assert not [p.label for p in missed]


@pytest.mark.parametrize("name", FIXED)
def test_gate_and_cuts_change_nothing_on_samples(name: str) -> None:
    data = (SAMPLES / name).read_bytes()[-20_000:]
    middle = len(data) // 2
    odd = data[:middle] + b"\xff\x1b[0m\r\n" + "é漢".encode() + data[middle:].replace(b" the ", " thé ".encode())
    for log in (data, odd):
        plain = dumped(classifier(False, full=True).classify(log))
        assert dumped(classifier(True, full=True).classify(log)) == plain
        assert dumped(classify_in_parts(classifier(True, full=True), log, range(0, len(log), 997))) == plain


def test_byte_by_byte() -> None:
    data = (SAMPLES / "shm-exhausted-nccl/hit-guide-three-lines.log").read_bytes()
    session = classifier(True).session()
    for byte in data:
        session.take(bytes([byte]))
    assert dumped(session.close()) == dumped(classifier(True).classify(data))
