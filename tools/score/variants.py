"""What may have happened to a log before we get it: cut, wrapped, mixed, continued. Bytes to bytes, and nothing by chance."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache

from labelled import Labelled, Logs, corpus, labelled, related
from reading import Reading, read
from wrapping import DOCUMENTS, PASTES, TRANSPORTS, Envelope, spoken

from vllm_crashsig.documents import document_kind

CUTS = (10, 30, 60)
"""Per cent of the lines that are cut off."""
WRAPPINGS = 3
"""How many of the envelopes each log is put in. Together the logs go through all."""
INNER = frozenset({"vllm", "vllm-log", "uvicorn", "ray", "ray-log", "nccl", "c10-log", "torch-rank", "glog", "python-log"})
"""Envelopes that the process itself writes: around a log with only these a container's may come, or other processes' lines."""
BEFORE, AFTER = "vllm-healthy-tp2-sigterm.log", "vllm-healthy-sigterm.log"
"""Healthy lives that are put before and after a crash."""
STAMP = re.compile(rb"(?<= )\d\d-\d\d \d\d:\d\d:\d\d(?= \[)")
"""vLLM's time, which tells no year."""
PAUSE = 90.0
"""Seconds between two lives."""


@dataclass(frozen=True)
class Subject:
    """A labelled case with what its lines show, from which variants are made."""

    case: Labelled
    plain: Reading
    """What is made of it as it is."""

    @property
    def lines(self) -> dict[str, list[bytes]]:
        """The lines of each log, with their ends."""
        return {name: io.BytesIO(data).readlines() for name, data in self.case.logs}

    @property
    def countable(self) -> bool:
        """Whether lines of the files are lines of text."""
        return not any(b"\0" in data for _, data in self.case.logs)

    @property
    def bare(self) -> bool:
        """Whether it is one log and no container, journal or collector has written around its lines."""
        return len(self.case.logs) == 1 and self.countable and INNER.issuperset(self.plain.report.coverage.envelopes)

    @property
    def telling(self) -> frozenset[tuple[str, int]]:
        """Log and number of each line that speaks of the labelled cause, or of what it refines or what refines it."""
        return self._lines({h.fingerprint for h in self.plain.hits if any(related(h.fingerprint, x) for x in self.case.right)})

    @property
    def proof(self) -> frozenset[tuple[str, int]]:
        """The same of the lines that show the labelled cause by themselves."""
        top = self.plain.report.cause
        return self._lines({top.id}) & self.telling if top is not None else frozenset()

    def _lines(self, fingerprints: set[str]) -> frozenset[tuple[str, int]]:
        return frozenset(
            (h.line.source, h.line.number) for h in self.plain.hits if h.decisive and h.fingerprint in fingerprints
        )

    @property
    def crashed(self) -> bool:
        """Whether it is a crash whose cause shows."""
        return self.case.kind == "crash" and self.plain.report.verdict == "crash" and bool(self.telling)

    @property
    def starts(self) -> bool:
        """Whether a start banner stands before all failures."""
        for hit in self.plain.hits:
            fingerprint = corpus.catalogue()[hit.fingerprint]
            if fingerprint.indicators[hit.indicator].milestone == "start":
                return True
            if hit.decisive and fingerprint.is_failure:
                return False
        return False


@dataclass(frozen=True)
class Variant:
    """A log, or several, that were made of a labelled case."""

    name: str
    group: str
    logs: Logs
    shown: bool = True
    """Whether lines that show the labelled cause are still there. If not, saying nothing is right, and so is doubt."""


def variants(subject: Subject, wrappings: int = WRAPPINGS) -> Iterator[Variant]:
    """All variants of a case, in ``wrappings`` of the envelopes."""
    if subject.case.kind == "crash":
        for percent in CUTS:
            yield from without_end(subject, percent)
            yield from without_beginning(subject, percent)
        yield from without_cause(subject)
        telling = subject.telling
        if telling:
            yield from _kept("alone", "cause alone", subject, lambda log, n, _: (log, n) in telling)
        yield from _logs_missing(subject)
        if subject.bare and subject.crashed:
            yield surrounded(subject)
            if subject.starts:
                yield second(subject)
    if subject.bare:  # a healthy log that is cut may end before what was overcome: only additions keep it healthy
        yield beside(subject)
        yield among(subject)
        yield from wrapped(subject, wrappings)


# --- less --------------------------------------------------------------------------------------------------------------------


def without_end(subject: Subject, percent: int) -> Iterator[Variant]:
    """The last lines are missing: the disk was full, the copy stopped, somebody pasted the beginning."""

    def keep(_: str, number: int, count: int) -> bool:
        return number <= count - _share(count, percent)

    return _kept(f"end-{percent}", "end missing", subject, keep)


def without_beginning(subject: Subject, percent: int) -> Iterator[Variant]:
    """The first lines are missing: `docker logs --tail`, a rotated file, what a terminal still showed."""

    def keep(_: str, number: int, count: int) -> bool:
        return number > _share(count, percent)

    return _kept(f"begin-{percent}", "begin missing", subject, keep)


def without_cause(subject: Subject) -> Iterator[Variant]:
    """All but the lines that show the cause."""
    if telling := subject.telling:
        yield from _kept("without", "cause missing", subject, lambda log, n, _: (log, n) not in telling)


def _kept(name: str, group: str, subject: Subject, keep: Callable[[str, int, int], bool]) -> Iterator[Variant]:
    """The case with the lines that are to be kept, told by log, 1-based number and number of lines of the log.

    Documents about containers (`docker inspect` and the like) stay whole: nobody tears those in two.
    """
    if not subject.countable:
        return
    logs, all_kept, shown, proof = [], True, False, subject.proof
    for log, lines in subject.lines.items():
        whole = document_kind(b"".join(lines)) is not None
        numbers = [n for n in range(1, len(lines) + 1) if whole or keep(log, n, len(lines))]
        logs.append((log, b"".join(lines[n - 1] for n in numbers)))
        all_kept = all_kept and len(numbers) == len(lines)
        shown = shown or any((log, n) in proof for n in numbers)
    if not all_kept and any(data for _, data in logs):
        yield Variant(name, group, tuple(logs), shown)


def _share(count: int, percent: int) -> int:
    return max(1, round(count * percent / 100))


def _logs_missing(subject: Subject) -> Iterator[Variant]:
    """A case of several logs without one of them."""
    logs = subject.case.logs
    for name, _ in logs if len(logs) > 1 else ():
        shown = any(log != name for log, _ in subject.proof)
        yield Variant(f"no {name}", "log missing", tuple(log for log in logs if log[0] != name), shown)


# --- more --------------------------------------------------------------------------------------------------------------------


def surrounded(subject: Subject) -> Variant:
    """A server that has worked for long, crashes, and comes up again until it is stopped in order."""
    begin, end = _no_year(subject)
    before = _retimed(_until_stop(_healthy(BEFORE)), end=begin)
    after = _retimed(_healthy(AFTER), begin=end)
    return _variant("surrounded", "continued", subject, [*before, _ended(subject.case.text), *after])


def second(subject: Subject) -> Variant:
    """Another life that crashed of something else came before; the last crash is the answer."""
    others = [c for c in _crashes() if c.area != subject.case.area]
    other = others[zlib.crc32(subject.case.name.encode()) % len(others)]
    return _variant("second", "continued", subject, [_ended(other.text), subject.case.text])


def beside(subject: Subject) -> Variant:
    """In one stream with a replica that serves and a proxy, as `docker compose logs` prints them."""
    begin, _ = _no_year(subject)
    served = b'(APIServer pid=1) INFO:     10.0.0.7:40112 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    replica = [*_retimed(_until_stop(_healthy(AFTER)), begin=None if begin is None else begin - 2 * PAUSE), served]
    proxy = b'proxy-1  | 10.0.0.7 - - [30/Nov/2026:19:41:58 +0000] "GET /health HTTP/1.1" 200 2 "-" "kube-probe/1.31"\n'
    out = []
    for number, line in enumerate(_only(subject)):
        out += [b"vllm-1  | " + _ended(line), b"vllm-2  | " + replica[min(number, len(replica) - 1)], proxy]
    return _variant("beside", "mixed", subject, out)


STRANGERS = (
    b'10.0.0.7 - - [30/Nov/2026:19:41:58 +0000] "GET /healthz HTTP/1.1" 200 2 "-" "kube-probe/1.31"\n',
    b'ts=2026-11-30T19:41:58.113Z caller=main.go:1260 level=info msg="Completed loading of configuration file"\n',
    b'{"level":"info","ts":1796067718.2,"logger":"http.log.access","msg":"handled request","status":200}\n',
    b"[2026-11-30 19:41:58 +0000] [7] [INFO] Booting worker with pid: 7\n",
    b"2026/11/30 19:41:58 [notice] 1#1: start worker process 29\n",
)
"""Healthy lines of other programs: nginx, Prometheus, Caddy, gunicorn."""


def among(subject: Subject) -> Variant:
    """In one stream with other programs, which write without a name in front."""
    out = []
    for number, line in enumerate(_only(subject)):
        out += [_ended(line), STRANGERS[number // 3 % len(STRANGERS)]] if number % 3 == 2 else [_ended(line)]
    return _variant("among", "mixed", subject, out)


def wrapped(subject: Subject, count: int) -> Iterator[Variant]:
    """In ``count`` of the envelopes, others for each case."""
    envelopes = all_envelopes()
    log = spoken(subject.case.text.decode(errors="replace"))
    first = zlib.crc32(subject.case.name.encode())
    step = max(1, len(envelopes) // max(count, 1))
    for at in range(min(count, len(envelopes))):
        envelope = envelopes[(first + at * step) % len(envelopes)]
        yield _variant(f"in {envelope.name}", "wrapped", subject, [envelope.wrap(log).encode(errors="surrogateescape")])


@cache
def all_envelopes() -> tuple[Envelope, ...]:
    """Those that leave a log as readable as it was: not those that say a level of their own for each line."""
    return tuple(e for e in (*TRANSPORTS, *DOCUMENTS, *PASTES) if e.name != "as it is")


# --- pieces ------------------------------------------------------------------------------------------------------------------


def _variant(name: str, group: str, subject: Subject, pieces: Sequence[bytes]) -> Variant:
    return Variant(name, group, ((subject.case.logs[0][0], b"".join(pieces)),))


def _only(subject: Subject) -> list[bytes]:
    return next(iter(subject.lines.values()))


@cache
def _healthy(name: str) -> tuple[bytes, ...]:
    return tuple(io.BytesIO((corpus.SAMPLES / "healthy" / name).read_bytes()).readlines())


@cache
def _until_stop(lines: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """A healthy life as long as it serves."""
    for hit in read((("healthy", b"".join(lines)),)).hits:
        if corpus.catalogue()[hit.fingerprint].indicators[hit.indicator].milestone in ("planned-stop", "stop"):
            return lines[: hit.line.number - 1]
    raise ValueError("this life does not end in order")


@cache
def _crashes() -> tuple[Labelled, ...]:
    """Bare logs of a server that starts and crashes."""
    found = []
    for case in labelled():
        if case.kind == "crash" and len(case.logs) == 1 and len(case.text) < 8000:
            made = Subject(case, read(case.logs))
            if made.bare and made.starts and made.crashed:
                found.append(case)
    return tuple(found)


def _no_year(subject: Subject) -> tuple[float | None, float | None]:
    """First and last time of the log, where they are of the clock that tells no year."""
    coverage = subject.plain.report.coverage
    return (coverage.first_time, coverage.last_time) if coverage.clock == "no-year" else (None, None)


def _retimed(lines: Sequence[bytes], *, begin: float | None = None, end: float | None = None) -> list[bytes]:
    """Lines with vLLM's stamps moved so that they begin PAUSE seconds after, or end PAUSE seconds before, a time in the year
    2000 (which is what times without a year are counted in)."""
    stamps = [_seconds(m.group()) for line in lines if (m := STAMP.search(line))]
    if not stamps or (begin is None and end is None):
        return list(lines)
    shift = begin + PAUSE - stamps[0] if begin is not None else (end or 0) - PAUSE - stamps[-1]
    return [STAMP.sub(lambda m: _stamp(_seconds(m.group()) + shift), line) for line in lines]


def _seconds(stamp: bytes) -> float:
    return datetime.strptime(f"2000-{stamp.decode()}+0000", "%Y-%m-%d %H:%M:%S%z").timestamp()


def _stamp(seconds: float) -> bytes:
    return (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)).strftime("%m-%d %H:%M:%S").encode()


def _ended(data: bytes) -> bytes:
    return data if data.endswith(b"\n") else data + b"\n"
