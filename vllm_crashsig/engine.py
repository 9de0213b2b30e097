"""`Classifier` and `Session`: wire the stages together and hold no policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from typing import get_args

from .answer import Reporter
from .catalogue import Catalogue, builtin_directory, load_catalogue
from .correlate import Correlator
from .errors import OptionError
from .gate import Gate
from .match import Matcher
from .prepare import prepare
from .report import Report, Update
from .scan import SourceScanner
from .schema import Runtime

EXIT_SOURCE = "<exit status>"
"""Name of the source that holds the exit status, when it was told."""
PIECE = 1 << 20
"""Bytes that are handed on at a time."""


class Classifier:
    """A catalogue made ready to classify. Immutable and thread-safe: make one and use it for everything.

    catalogue: what to look for; None means the built-in catalogue.
    gated: False looks at every line with every pattern instead of scanning first. Same answers, far slower.
    redacted: False leaves secrets in quotes.
    runtime: where the server ran (``docker``, ``k8s``, ...), for the advice; None means as the log shows it.

    Raises CatalogueError when a pattern cannot be compiled, OptionError for an unknown runtime.
    """

    def __init__(
        self,
        catalogue: Catalogue | None = None,
        *,
        gated: bool = True,
        redacted: bool = True,
        runtime: str | None = None,
    ) -> None:
        self.catalogue = catalogue if catalogue is not None else _builtin()
        self._gated = gated
        if runtime is not None and runtime not in get_args(Runtime):
            raise OptionError(f"unknown runtime {runtime!r}; choose one of {', '.join(get_args(Runtime))}")
        self._reporter = Reporter(self.catalogue, redacted=redacted, runtime=runtime)

    @cached_property
    def _prepared(self) -> tuple[Matcher, Gate | None]:
        matcher, gate = prepare(self.catalogue)
        return matcher, gate if self._gated else None

    def session(self) -> Session:
        """A new, empty session for one case."""
        matcher, gate = self._prepared
        return Session(self.catalogue, matcher, gate, self._reporter)

    def classify(self, log: str | bytes | Iterable[str | bytes], source: str = "<input>") -> Report:
        """The report for a log given as text, as bytes, or as lines (with or without their newlines)."""
        session = self.session()
        if isinstance(log, str | bytes | bytearray | memoryview):
            session.take(_bytes(log), source)
        else:
            for chunk in _chunks(log):
                session.take(chunk, source)
        return session.close()


class Session:
    """One case while its logs arrive. Not thread-safe: feed it from one thread at a time."""

    def __init__(self, catalogue: Catalogue, matcher: Matcher, gate: Gate | None, reporter: Reporter) -> None:
        self._matcher = matcher
        self._gate = gate
        self._reporter = reporter
        self._correlator = Correlator(catalogue)
        self._scanners: dict[str, SourceScanner] = {}
        self._told: Update | None = None
        self._report: Report | None = None
        self._exit_status: int | None = None

    def feed(self, chunk: str | bytes, source: str = "<input>") -> list[Update]:
        """Takes the next part of a source, cut anywhere, and returns how the provisional answer changed (if it did).

        A line counts when its newline has come. Raises OptionError after `close`.
        """
        return self._updates() if self.take(chunk, source) else []

    def take(self, chunk: str | bytes, source: str = "<input>") -> bool:
        """Like `feed`, without working out the provisional answer: True when it may have changed."""
        if self._report is not None:
            raise OptionError("this session is closed; open a new one with Classifier.session()")
        data = _bytes(chunk)
        scanner = self.scanner(source)
        if scanner.closed:
            raise OptionError(f"the source {source!r} was ended; feed what follows under another name")
        changed = False
        for start in range(0, len(data), PIECE):
            for found in scanner.feed(data[start : start + PIECE]):
                changed = self._correlator.add(found) or changed
        return changed

    def take_lines(self, lines: list[bytes], numbers: list[int], offsets: list[int], source: str) -> None:
        """Takes lines of a source that is not read from its beginning, with their places in it."""
        for found in self.scanner(source).take_lines(lines, numbers, offsets):
            self._correlator.add(found)

    def exited(self, status: int) -> None:
        """Tells how the server's process or container ended: an exit status, or minus the number of a signal."""
        self._exit_status = 128 - status if status < 0 else status
        self.take(f"exited with code {self._exit_status}\n", EXIT_SOURCE)

    def scanner(self, source: str) -> SourceScanner:
        """The state of a source, made when first asked for."""
        scanner = self._scanners.get(source)
        if scanner is None:
            scanner = self._scanners[source] = SourceScanner(source, self._matcher, self._gate)
        return scanner

    def end(self, source: str) -> None:
        """Says that no more comes from this source: counts its last line and frees its memory."""
        for found in self.scanner(source).close():
            self._correlator.add(found)

    def report(self) -> Report:
        """The provisional report: what would be said if nothing more came."""
        if self._report is not None:
            return self._report
        scanners = self._scanners.values()
        return self._reporter.report(
            self._correlator.streams(),
            [s.coverage() for s in scanners],
            blank=all(s.blank for s in scanners),
            exit_status=self._exit_status,
        )

    def close(self) -> Report:
        """Ends all sources and returns the final report. May be called again."""
        if self._report is None:
            for scanner in self._scanners.values():
                for found in scanner.close():
                    self._correlator.add(found)
            self._report = self.report()
        return self._report

    def _updates(self) -> list[Update]:
        report = self.report()
        update = Update(verdict=report.verdict, classification=report.cause)
        before, self._told = self._told, update
        if before is not None and _same(before, update):
            return []
        return [update] if before is not None or update.verdict != "healthy" else []


def _bytes(data: str | bytes | bytearray | memoryview) -> bytes:
    return data.encode(errors="surrogatepass") if isinstance(data, str) else bytes(data)


def _chunks(lines: Iterable[str | bytes]) -> Iterator[bytes]:
    """Lines joined to chunks worth scanning."""
    batch: list[bytes] = []
    size = 0
    for line in lines:
        data = _bytes(line)
        batch.append(data if data.endswith(b"\n") else data + b"\n")
        size += len(batch[-1])
        if size >= PIECE:
            yield b"".join(batch)
            batch, size = [], 0
    yield b"".join(batch)


def _same(a: Update, b: Update) -> bool:
    one, other = a.classification, b.classification
    if one is None or other is None:
        return a.verdict == b.verdict and one is other
    return (a.verdict, one.id, one.band, one.outcome) == (b.verdict, other.id, other.band, other.outcome)


@lru_cache(maxsize=1)
def _builtin() -> Catalogue:
    from .cache import cached_catalogue

    return cached_catalogue([builtin_directory()])


__all__ = ["Classifier", "Session", "load_catalogue"]
