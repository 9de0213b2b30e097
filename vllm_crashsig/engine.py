"""`Classifier` and `Session`: wire the stages together and hold no policy."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, get_args

from .answer import Reporter
from .catalogue import Catalogue
from .correlate import Correlator, Stream
from .errors import OptionError
from .gate import Gate
from .kept import keep_compiled
from .match import LineHits, Matcher
from .pace import Pace
from .places import builtin_directory
from .prepare import prepare
from .records import Line
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
        self._made_of = (catalogue, gated, redacted, runtime)
        self._gated = gated
        if runtime is not None and runtime not in get_args(Runtime):
            raise OptionError(f"unknown runtime {runtime!r}; choose one of {', '.join(get_args(Runtime))}")
        self._reporter = Reporter(self.catalogue, redacted=redacted, runtime=runtime)

    def __reduce__(self) -> tuple[Any, ...]:
        """So that it can be sent to other processes, such as a cluster's: it is made anew there, of their built-in catalogue if
        of the built-in one here."""
        return _made, (type(self), *self._made_of)

    @cached_property
    def _prepared(self) -> tuple[Matcher, Gate | None]:
        matcher, gate = prepare(self.catalogue)
        return matcher, gate if self._gated else None

    def session(self) -> Session:
        """A new, empty session for one case."""
        matcher, gate = self._prepared
        return Session(self.catalogue, matcher, gate, self._reporter)

    def classify(self, log: str | bytes | Iterable[str | bytes], source: str = "<input>") -> Report:
        """The report for a log given as text, as bytes, or as lines (with or without their newlines).

        Raises OptionError for anything else.
        """
        session = self.session()
        if isinstance(log, str | bytes | bytearray | memoryview):
            session.take(_bytes(log), source)
        elif isinstance(log, os.PathLike):
            raise OptionError(f"{os.fsdecode(log)} is a path; give it to classify_paths")
        elif isinstance(log, Mapping) or not isinstance(log, Iterable):
            raise OptionError(f"a log is text, bytes or lines of these, not {type(log).__name__}")
        else:
            for chunk in _chunks(log):
                session.take(chunk, source)
        return session.close()


class Session:
    """One case while its logs arrive. Not thread-safe: feed it from one thread at a time, any number of sessions in any number.

    Kept small between chunks, so that one process can follow thousands. What goes wrong in one never touches another.
    """

    def __init__(self, catalogue: Catalogue, matcher: Matcher, gate: Gate | None, reporter: Reporter) -> None:
        self._catalogue = catalogue
        self._matcher = matcher
        self._gate = gate
        self._reporter = reporter
        self._correlator = Correlator(catalogue)
        self._scanners: dict[str, SourceScanner] = {}
        self._unfinished: set[str] = set()
        """Sources whose last line has no newline yet."""
        self._pace = Pace()
        self._told: Hashable = None
        self._report: Report | None = None
        self._exit_status: int | None = None

    def feed(self, chunk: str | bytes, source: str = "<input>") -> list[Update]:
        """Takes the next part of a source, cut anywhere, and returns how the provisional answer changed (if it did).

        A line counts when its newline has come (or see `idle`). What may change the answer is looked at when it comes; in a
        flood of errors, only now and then. Raises OptionError after `close`.
        """
        self.take(chunk, source)
        self._scanners[source].rest()
        return self._updates() if self._pace.due else []

    def idle(self) -> list[Update]:
        """Says that nothing came for a moment, and returns how the provisional answer changed.

        Whatever `feed` has put off is looked at, and so is a last line without a newline; it stays open for its rest.
        """
        if self._report is not None:
            return []
        if self._unfinished:
            ahead = self._copy()
            for source in list(ahead._unfinished):
                ahead.end(source)
            if ahead._pace.owed:
                updates = ahead._updates()
                if ahead._told != self._told:
                    self._told = ahead._told
                    self._pace.told()  # the rest of the line may take it back
                return updates
        return self._updates() if self._pace.owed else []

    def take(self, chunk: str | bytes, source: str = "<input>") -> None:
        """Like `feed`, without working out the provisional answer."""
        if self._report is not None:
            raise OptionError("this session is closed; open a new one with Classifier.session()")
        data = _bytes(chunk)
        scanner = self.scanner(source)
        if scanner.closed:
            raise OptionError(f"the source {source!r} was ended; feed what follows under another name")
        if not data:
            return
        self._pace.read(len(data))
        (self._unfinished.discard if data.endswith(b"\n") else self._unfinished.add)(source)
        for start in range(0, len(data), PIECE):
            self._add(scanner.feed(data[start : start + PIECE]))

    def take_lines(self, lines: list[Line], source: str) -> None:
        """Takes lines that are laid bare already, of a source that is not read from its beginning, with their places in it."""
        self._add(self.scanner(source).take_lines(lines))

    def exited(self, status: int) -> list[Update]:
        """Tells how the server's process or container ended: an exit status, or minus the number of a signal.

        Returns how the provisional answer changed.
        """
        self._exit_status = 128 - status if status < 0 else status
        self.take(f"exited with code {self._exit_status}\n", EXIT_SOURCE)
        self._pace.told()
        return self._updates()

    def streams(self) -> list[Stream]:
        """What happened so far in each container of each source, before it is judged."""
        return self._correlator.streams()

    def scanner(self, source: str) -> SourceScanner:
        """The state of a source, made when first asked for."""
        scanner = self._scanners.get(source)
        if scanner is None:
            scanner = self._scanners[source] = SourceScanner(source, self._matcher, self._gate)
        return scanner

    def end(self, source: str) -> None:
        """Says that no more comes from this source: counts its last line and frees its memory."""
        self._add(self.scanner(source).close())
        self._unfinished.discard(source)

    def report(self) -> Report:
        """The provisional report: what would be said if nothing more came."""
        if self._report is not None:
            return self._report
        scanners = self._scanners.values()
        return self._reporter.report(
            self.streams(),
            [s.coverage() for s in scanners],
            blank=all(s.blank for s in scanners),
            exit_status=self._exit_status,
        )

    def close(self) -> Report:
        """Ends all sources and returns the final report. May be called again."""
        if self._report is None:
            for source in self._scanners:
                self.end(source)
            self._report = self.report()
            keep_compiled()
        return self._report

    def _add(self, lines: Iterable[LineHits]) -> None:
        for found in lines:
            self._pace.note(found, self._correlator.add(found))

    def _updates(self) -> list[Update]:
        scanners = self._scanners.values()
        update = self._reporter.update(
            self.streams(),
            [s.coverage() for s in scanners],
            blank=all(s.blank for s in scanners),
            exit_status=self._exit_status,
        )
        before, self._told = self._told, _essence(update)
        changed = self._told != before and (before is not None or update.verdict != "healthy")
        segments = [s for stream in self.streams() for s in stream.segments[-2:]]
        things = sum(len(s.tracks) + len(s.failures.failures) + 1 for s in segments)
        self._pace.answered(things + len(segments) ** 2 // 100, changed=changed)
        return [update] if changed else []

    def _copy(self) -> Session:
        """One that can be looked ahead with. What never changes is shared."""
        from copy import deepcopy

        shared = (self._catalogue, self._matcher, self._gate, self._reporter)
        return deepcopy(self, {id(one): one for one in shared})


def _bytes(data: str | bytes | bytearray | memoryview) -> bytes:
    if isinstance(data, str):
        return data.encode(errors="surrogatepass")
    if not isinstance(data, bytes | bytearray | memoryview):
        raise OptionError(f"a log is text or bytes, not {type(data).__name__}: {data!r:.80}")
    return bytes(data)


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


def _essence(update: Update) -> Hashable:
    """What makes it worth telling."""
    cause, unknown = update.classification, update.unclassified
    if cause is None:
        return update.verdict, unknown and unknown.crash_id
    who = cause.culprit
    return (
        update.verdict, unknown and unknown.crash_id, cause.id, cause.band, cause.outcome, tuple(cause.explains),
        who.role, who.node, who.rank, who.gpu, who.pid,
    )  # fmt: skip


def _made(kind: type[Classifier], catalogue: Catalogue | None, gated: bool, redacted: bool, runtime: str | None) -> Classifier:
    return kind(catalogue, gated=gated, redacted=redacted, runtime=runtime)


@lru_cache(maxsize=1)
def _builtin() -> Catalogue:
    from .stored import cached_catalogue

    return cached_catalogue([builtin_directory()])
