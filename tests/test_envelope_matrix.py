"""Every sample in every envelope that logs arrive in: the answer stays the same, and what the envelope tells is known.

A run puts each sample into some of the envelopes in turn, so that each envelope meets many samples. With
``VLLM_CRASHSIG_ENVELOPES=full`` in the environment it is every sample in every envelope, which takes half an hour of
a processor.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from corpus import Sample, cases, classifier, samples, utf8
from corpus import report as report_of
from wrapping import ALL, DOCUMENTS, PASTES, TRANSPORTS, Envelope, Spoken, nested, spoken

from vllm_crashsig import Report
from vllm_crashsig.api import classify_sources
from vllm_crashsig.documents import document_kind
from vllm_crashsig.framing import MAX_LINE
from vllm_crashsig.layout import HEAD_BYTES
from vllm_crashsig.report import EvidenceInfo
from vllm_crashsig.sources import Source

FULL = os.environ.get("VLLM_CRASHSIG_ENVELOPES") == "full"
EVERY = 1 if FULL else 48
"""Of the samples, each so-many-th one meets an envelope."""
CHAINS = 400 if FULL else 90
"""Compositions of envelopes, drawn by chance but the same in each run."""
APART = 160
"""How far apart the samples are that meet one composition."""
OF_KERNEL = frozenset({"dmesg", "journald", "syslog"})
FEW = 24
"""Samples in a header of a logger, unless it is to be all."""


@dataclass
class Memory:
    """A source that is no file."""

    data: bytes
    name: str = "log"

    def __post_init__(self) -> None:
        self.notes: list[str] = []

    def chunks(self) -> Iterator[bytes]:
        yield self.data


def classified(data: bytes) -> Report:
    source: Source = Memory(data)  # type: ignore[assignment]
    return classify_sources([source], classifier())


@dataclass(frozen=True)
class Log:
    """A sample as its program wrote it, and what is said of it."""

    name: str
    lines: tuple[Spoken, ...]
    bare: Report

    @property
    def size(self) -> int:
        """Lines with text."""
        return sum(bool(s.text.strip()) for s in self.lines)


@cache
def log(path: Path, name: str) -> Log:
    text = utf8(path).decode(errors="replace")
    return Log(name, tuple(spoken(text)), classified(text.encode()))


@cache
def names() -> tuple[tuple[Path, str], ...]:
    """All samples and the first file of each incident that are logs: nobody pipes ``docker inspect`` through a log driver, and
    what a tool has made of a log is in its envelope already."""
    found = [(s.path, s.name) for s in samples() if s.kind != "envelopes"]
    found += [(c.paths[0], f"incidents/{c.name}") for c in cases()]
    return tuple(one for one in found if document_kind(utf8(one[0])[:HEAD_BYTES]) is None)


@cache
def fitting(kind: str) -> tuple[Log, ...]:
    """The samples that can come in envelopes of the kernel, and those that can be a logger's messages."""
    logs = [log(*name) for name in names()]
    if kind == "kernel":
        return tuple(one for one in logs if "dmesg" in (own := set(one.bare.coverage.envelopes)) and own <= OF_KERNEL)
    return tuple(one for one in logs if not one.bare.coverage.envelopes)


def chosen(number: int) -> list[Log]:
    """The samples whose turn it is to come in this envelope."""
    envelope = ALL[number]
    if envelope.for_kernel or envelope.bare_only:
        logs = fitting("kernel" if envelope.for_kernel else "logger")
        return list(logs if FULL else logs[number % 5 :: max(1, len(logs) // FEW)])
    return [one for name in names()[number % EVERY :: EVERY] if (one := log(*name)).size >= envelope.proof]


def told(report: Report) -> tuple[str, str | None]:
    return report.verdict, report.cause.id if report.cause else None


def evidence(report: Report) -> EvidenceInfo | None:
    return report.cause.evidence[0] if report.cause else None


def same_text(bare: str, wrapped: str, envelope: Envelope) -> bool:
    if envelope.trims:
        bare, wrapped = "".join(bare.split()), "".join(wrapped.split())
    # a level in brackets behind a bare time is read as the level of a logger
    return bare == wrapped or (bare.startswith("[") and bare.endswith(wrapped))


def difference(log: Log, report: Report, chain: Sequence[Envelope]) -> str | None:
    """What the envelopes (the outermost first) have changed or failed to tell."""
    # a logger that says ERROR of a line makes a failure of it; without its indentation a traceback may not be known for one
    is_excused = (chain[0].bare_only and log.bare.verdict == "healthy") or (
        chain[0].trims and log.bare.verdict == "unclassified"
    )
    if told(report) != told(log.bare) and not is_excused:
        return f"{told(log.bare)} became {told(report)}"
    before, after = evidence(log.bare), evidence(report)
    if before is None or after is None or chain[0].unordered:
        return None
    if not all(same_text(before.text, after.text, envelope) for envelope in chain):
        return f"{before.text[:100]!r} became {after.text[:100]!r}"
    known: dict[str, object] = {}
    for envelope in reversed(chain):
        for name, value in envelope.tells.items():
            if name in ("node", "container") or name not in known:
                known[name] = value
    elsewhere = [e.tells["node"] for e in chain if e.layer == "ray" and "node" in e.tells]
    if elsewhere:
        known["node"] = elsewhere[-1]
    for name in ("node", "container", "rank", "pid", "gpu"):
        own, now = getattr(before.scope, name), getattr(after.scope, name)
        if name in known and now != known[name] and (own is None or now != own):
            return f"{name} is {now}, not {known[name]}"
        if name not in known and now != own and not (name == "node" and chain[0].for_kernel):
            return f"{name} is {now}, not {own}"
    clocks = [e.clock for e in chain if e.clock is not None]
    if clocks and after.time is None:
        return "no time is known"
    absolute = [e for e in chain if e.clock in ("utc", "local")]
    if absolute and after.time is not None and after.clock == absolute[0].clock:
        spoken_at = {round(s.time.timestamp() / absolute[0].precision) for s in log.lines}
        if not {round(after.time / absolute[0].precision) + d for d in (-1, 0, 1)} & spoken_at:
            return f"no line was written at {after.time}"
    return None


def is_read_whole(data: bytes) -> bool:
    """Whether no line is so long that it is looked at in pieces: a document of many records may be one line."""
    return max(map(len, data.split(b"\n"))) <= MAX_LINE


@pytest.mark.parametrize("number", [pytest.param(n, id=e.name) for n, e in enumerate(ALL)])
def test_an_envelope_keeps_the_answer(number: int) -> None:
    envelope = ALL[number]
    wrong = {}
    logs = chosen(number)
    assert len(logs) >= 12
    for one in logs:
        data = envelope.wrap(one.lines).encode(errors="surrogateescape")
        report = classified(data)
        if is_read_whole(data) and (found := difference(one, report, [envelope])) is not None:
            wrong[one.name] = found
    assert wrong == {}


def chain(number: int) -> list[Envelope]:
    """Two to four envelopes around each other, the outermost first."""
    draw = random.Random(number)
    inner = [e for e in TRANSPORTS if e.line is not None and not e.trims]
    found = draw.sample(inner, draw.randint(1, 3))
    outermost = draw.choice([e for e in (*TRANSPORTS, *DOCUMENTS, *QUOTES) if e not in found])
    labels = [e for e in (outermost, *found) if e.proof]
    return [outermost, *(e for e in found if e not in labels[1:])] if len(labels) > 1 else [outermost, *found]


QUOTES = tuple(e for e in PASTES if e.name in ("markdown quote", "indented code", "html", "crlf", "numbered: bar"))


@pytest.mark.parametrize("number", range(CHAINS))
def test_envelopes_around_each_other_keep_the_answer(number: int) -> None:
    envelopes = chain(number)
    wrap: Callable[[Sequence[Spoken]], str] = nested(*envelopes)
    wrong = {}
    for one in [log(*name) for name in names()[number % APART :: APART]]:
        if one.size >= max(e.proof for e in envelopes):
            data = wrap(one.lines).encode(errors="surrogateescape")
            report = classified(data)
            if is_read_whole(data) and (found := difference(one, report, envelopes)) is not None:
                wrong[one.name] = found
    assert wrong == {}, " < ".join(e.name for e in envelopes)


REAL = [pytest.param(s, id=s.path.name) for s in samples() if s.kind == "envelopes"]
TOLD: dict[str, tuple[str, dict[str, object], str | None]] = {
    # layer, what the scope of the evidence holds, the kind of its time
    "docker-json-file": ("docker-json", {}, "utc"),
    "docker-json-file-parts": ("docker-json", {}, "utc"),
    "docker-json-file-tag": ("docker-json", {"container": "vllm-tagged"}, "utc"),
    "docker-local-t": ("rfc3339", {}, "utc"),
    "docker-compose-logs": ("compose", {"container": "vllm_1"}, None),
    "docker-compose-logs-t": ("compose", {"container": "vllm_1"}, "utc"),
    "journal-docker-json": ("journald", {"container": "vllm-journald", "node": "vm"}, "utc"),
    "journal-docker-short": ("journald", {"container": "55c7fbf00751", "node": "vm"}, "no-year"),
    "journal-newest-first": ("journald", {"pid": 20203, "node": "vm"}, "no-year"),
    "journal-short-": ("journald", {"pid": 20203, "node": "vm"}, "utc"),
    "journal-short.": ("journald", {"pid": 20203, "node": "vm"}, "no-year"),
    "journal-short-precise": ("journald", {"pid": 20203, "node": "vm"}, "no-year"),
    "journal-short-monotonic": ("journald", {"pid": 20203, "node": "vm"}, "boot"),
    "journal-": ("journald", {"pid": 20203, "node": "vm"}, "utc"),
    "dmesg-iso": ("dmesg", {}, "utc"),
    "dmesg-T": ("dmesg", {}, "local"),
    "dmesg-xT": ("dmesg", {}, "local"),
    "dmesg-H": ("dmesg", {}, None),
    "dmesg-delta": ("dmesg", {}, None),
    "dmesg-reltime": ("dmesg", {}, None),
    "dmesg": ("dmesg", {"component": "kernel"}, "boot"),
    "kmsg": ("dmesg", {"component": "kernel"}, "boot"),
    "syslog-3164": ("syslog", {"pid": 4321, "node": "vm"}, "no-year"),
    "syslog-": ("syslog", {"pid": 4321, "node": "vm"}, "utc"),
    "rsyslog-traditional": ("journald", {"pid": 4321, "node": "vm"}, "no-year"),
    "rsyslog-": ("syslog", {"pid": 4321, "node": "vm"}, "utc"),
    "mpirun-tag": ("mpirun", {"rank": 1}, None),
    "mpirun-both": ("mpirun", {"rank": 1}, "local"),
    "mpirun-timestamp": ("mpirun", {}, "local"),
    "pdsh": ("pdsh", {"node": "gpu-1"}, None),
    "clush": ("pdsh", {"node": "gpu-1"}, None),
    "torchrun-": ("torch-elastic", {"rank": 1}, None),
    "ray-2.60-json": ("json", {"pid": 24565}, "local"),
    "ray-2.60-driver": ("ray", {"pid": 24167}, None),
    "ray-2.9-driver": ("ray", {"component": "Engine(model=acme/chat-9b)"}, None),
    "script-": ("vllm-log", {}, None),
}
"""By how the file's name begins; the longest beginning counts."""


@pytest.mark.parametrize("sample", REAL)
def test_real_output_is_read(sample: Sample) -> None:
    report = report_of(sample.path)
    answer = report.cause.id if report.cause else report.verdict
    assert answer in sample.entry.expect
    if answer == "healthy":
        return
    layer, scope, clock = TOLD[max((name for name in TOLD if sample.path.name.startswith(name)), key=len)]
    assert layer in report.coverage.envelopes
    found = evidence(report)
    assert found is not None
    assert {name: getattr(found.scope, name) for name in scope} == scope
    assert found.clock == clock and (found.time is None) == (clock is None)
