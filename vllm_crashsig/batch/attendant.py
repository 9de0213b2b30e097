"""A worker process and the one who looks after it: a worker that dies is replaced, and what kills two is left out.

The pool's threads and Ray's tasks both answer through an `Attendant`, so that a bad file does the same harm in both: none.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TypeVar

from ..errors import CrashsigError
from ..version import __version__
from .cases import Case
from .row import unreadable_row
from .work import Settings, cases_text, finished_line

T = TypeVar("T")


class WorkerDied(Exception):
    """A process ended before it had answered. ``how`` says how, in words."""

    def __init__(self, how: str) -> None:
        self.how = how
        super().__init__(how)


class Worker:
    """One process that classifies (see `worker`). Raises CrashsigError when it cannot be started at all."""

    def __init__(self, settings: Settings) -> None:
        told = json.dumps({"fingerprints": settings.fingerprints, "redact": settings.redact, "runtime": settings.runtime})
        # as multiprocessing does it: the child looks for modules just where we do, and never in the current folder
        code = f"import sys; sys.path[:] = {sys.path!r}; from vllm_crashsig.batch.worker import main; main({told!r})"
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        try:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                cwd=settings.folder if settings.folder is not None and Path(settings.folder).is_dir() else None,
            )
        except (OSError, ValueError) as error:
            self._errors.close()
            raise CrashsigError(f"cannot start a worker process ({sys.executable}): {error}") from error
        self._in, self._out = self._process.stdin, self._process.stdout
        self.pid = self._process.pid

    def greet(self) -> dict[str, str]:
        """Waits until it is ready: its version and the hash of its catalogue. Raises CrashsigError when it does not get so far,
        WorkerDied when it was killed meanwhile."""
        line = self._line()
        told: dict[str, str] = json.loads(line)
        if "failed" in told:
            raise CrashsigError(told["failed"])
        return told

    def run(self, cases: Sequence[Case]) -> Iterator[bytes]:
        """A journal line (with its newline) for each case, in order, as they come. Raises WorkerDied when no more can come."""
        try:
            _sure(self._in).write(cases_text(cases).encode() + b"\n")
            _sure(self._in).flush()
        except OSError:
            raise WorkerDied(self._how()) from None
        for _ in cases:
            yield self._line()

    def kill(self) -> None:
        """Ends it, from any thread: whoever waits for an answer gets WorkerDied."""
        self._process.kill()

    def close(self) -> None:
        """Ends it and frees what it holds. May be called again."""
        self._process.kill()
        self._process.wait()
        for file in (self._in, self._out, self._errors):
            try:
                if file is not None:
                    file.close()
            except OSError:  # a broken pipe, as what was written last is flushed
                pass

    def _line(self) -> bytes:
        line = _sure(self._out).readline()
        if not line.endswith(b"\n"):
            raise WorkerDied(self._how())
        return line

    def _how(self) -> str:
        status = self._process.wait()
        self._errors.seek(max(0, os.fstat(self._errors.fileno()).st_size - 2000))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        if status == -9:
            return "was killed by SIGKILL, as happens when the memory is full"
        if status < 0:
            return f"was killed by {_signal_name(-status)}"
        return f"ended with status {status}" + (f" ({lines[-1].strip()[:200]})" if lines else "")


class Attendant:
    """Answers chunks through a worker process, and through another one when that dies. Not thread-safe but for `stop`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._worker: Worker | None = None
        self._told: dict[str, str] = {}
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The process that works now."""
        worker = self._worker
        return worker.pid if worker is not None else None

    def greet(self) -> dict[str, str]:
        """Starts the worker, if there is none: its version and the hash of its catalogue. Raises CrashsigError."""
        if self._worker is not None:
            return self._told
        try:
            self._start()
        except WorkerDied:
            try:
                self._start()
            except WorkerDied as death:
                raise CrashsigError(f"a worker process {death.how}, before it had done anything") from None
        return self._told

    def answer(self, cases: Sequence[Case]) -> Iterator[tuple[Case, bytes]]:
        """Each case with its journal line, in order, as they come. Ends early only when it was stopped.

        Cases that a worker left unanswered as it died are each tried once more alone; what kills its worker again is answered
        with an unreadable row. Raises CrashsigError when no worker can be started.
        """
        answered = 0
        try:
            for line in self._ready().run(cases):
                yield cases[answered], line
                answered += 1
            return
        except WorkerDied:
            self._bury()
        for case in cases[answered:]:
            if self._stopped.is_set():
                return
            try:
                (line,) = self._ready().run([case])
            except WorkerDied as death:
                self._bury()
                if self._stopped.is_set():
                    return
                fault = f"the process that read it {death.how}, and so did the next one; it was left out"
                line = finished_line(case, unreadable_row(case.name, fault)).encode() + b"\n"
            yield case, line

    def stop(self) -> None:
        """Ends the worker at once, from any thread, and for good."""
        with self._lock:
            self._stopped.set()
            if self._worker is not None:
                self._worker.kill()

    def close(self) -> None:
        """Ends the worker; the next chunk starts another one."""
        self._bury()

    def _start(self) -> None:
        worker = Worker(self._settings)
        with self._lock:
            self._worker = worker
            if self._stopped.is_set():
                worker.kill()
        try:
            self._told = worker.greet()
            self._check()
        except (WorkerDied, CrashsigError):
            self._bury()
            raise

    def _check(self) -> None:
        wanted, found = self._settings.catalogue, self._told["catalogue"]
        if self._told["version"] != __version__:
            raise CrashsigError(
                f"a worker process runs vllm-crashsig {self._told['version']}, not {__version__}; "
                "install the same one everywhere"
            )
        if wanted is not None and wanted != found:
            raise CrashsigError(
                f"a worker process has another catalogue ({found[:12]} instead of {wanted[:12]}): "
                "the fingerprints were changed meanwhile, or its machine has others"
            )

    def _ready(self) -> Worker:
        self.greet()
        return _sure(self._worker)

    def _bury(self) -> None:
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()


def _sure(what: T | None) -> T:
    """What must be there by now."""
    if what is None:
        raise RuntimeError("a worker process is used before it runs")
    return what


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
