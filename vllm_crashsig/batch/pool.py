"""A pool of worker processes over a list of chunks, each looked after by a thread."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

from ..errors import CrashsigError, OptionError
from .attendant import Attendant
from .cases import Case
from .work import Settings

TICK = 0.2
"""Seconds after which an empty group is handed on when nothing is finished, so that whoever waits can tell that all is well."""

_Told = tuple[Case, bytes] | CrashsigError | None
"""What a thread says: a finished case, why it cannot go on, or that it has ended."""
Done = list[tuple[Case, bytes]]
"""Finished cases with their journal lines, each with its newline."""


def run_pool(chunks: Sequence[Sequence[Case]], jobs: int, settings: Settings) -> Generator[Done, None, None]:
    """The results of all cases, in groups as they come, through ``jobs`` processes at most.

    Raises OptionError for less than one process, CrashsigError when no worker can be started. Whoever stops iterating stops
    the workers.
    """
    if jobs < 1:
        raise OptionError(f"{jobs} processes cannot do anything; give 1 or more")
    todo = deque(chunks)
    done: SimpleQueue[_Told] = SimpleQueue()
    attendants = [Attendant(settings) for _ in range(min(jobs, len(chunks)))]
    threads = [threading.Thread(target=_serve, args=(a, todo, done), daemon=True) for a in attendants]
    try:
        for thread in threads:
            thread.start()
        left = len(threads)
        while left:
            group: Done = []
            for told in _available(done):
                if told is None:
                    left -= 1
                elif isinstance(told, CrashsigError):
                    raise told
                else:
                    group.append(told)
            yield group
    finally:
        todo.clear()
        for attendant in attendants:
            attendant.stop()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def _available(done: SimpleQueue[_Told]) -> Iterator[_Told]:
    """What is finished now; waits a moment where nothing is."""
    try:
        yield done.get(timeout=TICK)
        while True:
            yield done.get_nowait()
    except Empty:
        return


def _serve(attendant: Attendant, todo: deque[Sequence[Case]], done: SimpleQueue[_Told]) -> None:
    try:
        while True:
            try:
                chunk = todo.popleft()
            except IndexError:
                return
            for answer in attendant.answer(chunk):
                done.put(answer)
    except CrashsigError as error:
        done.put(error)
    finally:
        attendant.close()
        done.put(None)


def available_cpus() -> int:
    """Processors that this process may use: those of the machine, less what its affinity and its cgroup's quota take away."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, min(count, -(-int(quota) // int(period))))
    except (OSError, ValueError):
        return count
