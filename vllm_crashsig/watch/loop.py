"""The loop of `vllm-crashsig watch`: takes what flows, looks at files, and tells each change of the answer.

One thread does all the work; others only wait for bytes. Idle, it sleeps: streams wake it, and files where the system tells.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from ..engine import Classifier
from ..nouns import dataclass
from ..report import Report, Update
from ..sources.paths import STDIN
from .cases import Case
from .notify import Notifier
from .places import Places, Say
from .streams import (
    Asked,
    Child,
    Chunk,
    Ended,
    Event,
    Exited,
    Inbox,
    Left,
    Woken,
    notice_departure,
    read_stream,
    stdin_descriptor,
)

LOOK = 0.25
"""Seconds between two looks at files whose changes the system tells."""
POLL = 0.04
"""The same where it does not."""
SEARCH = 2.0
"""Seconds between two searches for new files."""
LINGER = 1.0
"""Seconds for which files are read on after the last stream ended, and a command's output after the command."""
LAST_WORDS = 0.3
"""Seconds for which streams are read on after somebody asked to stop: what they are told at the same time, they end."""
PATIENCE = 30.0
"""Seconds that a command may take to end when it was asked to."""


@dataclass(frozen=True)
class Wanted:
    """What to watch and how.

    names: files, folders, patterns, pipes, or ``-``. command: to be run and watched. tail: how many of the last lines of files
    to begin with (None: all). apart: each source is a case of its own. until_failure: stop when a failure is known with
    its consequences. echo: takes the bytes as they come. output: where the answers go, if watching is to end when nobody
    reads them any more.
    """

    names: Sequence[str] = ()
    command: Sequence[str] = ()
    tail: int | None = None
    apart: bool = False
    until_failure: bool = False
    echo: Callable[[bytes], None] | None = None
    output: int | None = None


class Watcher:
    """tell: takes each change of a case's provisional answer; the case's name is None where all is one case. say: takes what
    happens to sources.

    Raises InputError for what cannot be watched; `run` raises BrokenPipeError when nobody reads the answers any more.
    """

    def __init__(self, classifier: Classifier, wanted: Wanted, tell: Callable[[str | None, Update], None], say: Say) -> None:
        self._classifier = classifier
        self._wanted = wanted
        self._tell = tell
        self._say = say
        self._inbox = Inbox()
        self._cases: dict[str | None, Case] = {}
        self._flowing: set[str] = set()
        self._streamed = False
        self._child: Child | None = None
        self._status: int | None = None
        self._asked = 0
        self._deadline: float | None = None
        self._busy = False
        self._notifier = Notifier(lambda: self._inbox.put(Woken()))
        self._untold: set[str] = set()
        """Files whose changes the system does not tell."""
        self._search_at = self._look_at = 0.0
        classifier.session()  # what takes a second is done before anything is looked at
        if not wanted.apart:
            self._case("")
        self._places = Places([n for n in wanted.names if n != "-"], say, tail=wanted.tail)

    def run(self) -> list[tuple[str | None, Report]]:
        """Watches until the end, and returns the final answer of each case."""
        try:
            with self._signals():
                self._begin()
                while not self._is_over():
                    event = self._inbox.get(self._patience())
                    if event is not None:
                        self._take(event)
                    if self._busy or isinstance(event, Woken) or time.monotonic() >= self._look_at:
                        self._look_at_files()
                    self._rest()
                self._look_at_files()  # what came before somebody asked to stop
                self._end_child()
        finally:
            self._notifier.close()
            if self._child is not None and self._status is None:
                self._child.send(signal.SIGTERM)
        answers = [(case.name, case.close()) for case in self._cases.values()]
        for case in self._cases.values():
            if case.broken is not None:
                self._say(str(case.name), f"could not be watched to its end: {case.broken!r}")
        for follower in self._places.followers.values():
            follower.close()
        return [(name, report) for name, report in answers if report is not None]

    def stop(self, number: int = signal.SIGINT) -> None:
        """Asks to finish. May be called from any thread."""
        self._inbox.put(Asked(number))

    def _begin(self) -> None:
        if "-" in self._wanted.names:
            self._flows(STDIN, stdin_descriptor())
        for path in self._places.streams:
            self._flows(path, path)
        if self._wanted.command:
            self._child = Child(self._wanted.command, self._inbox)
            self._flowing.add(self._child.source)
            self._streamed = True
        for path in self._places.followers:
            self._watch(path)
        if self._wanted.output is not None:
            notice_departure(self._wanted.output, self._inbox)
        self._search_at = time.monotonic() + SEARCH
        self._look_at_files()

    def _flows(self, source: str, file: int | str) -> None:
        self._flowing.add(source)
        self._streamed = True
        read_stream(source, file, self._inbox)

    def _watch(self, path: str) -> None:
        (self._untold.discard if self._notifier.watch(path) else self._untold.add)(path)

    def _case(self, source: str) -> Case:
        name = source if self._wanted.apart else None
        case = self._cases.get(name)
        if case is None:
            case = self._cases[name] = Case(name, self._classifier.session(), self._tell)
        return case

    def _feed(self, source: str, data: bytes) -> None:
        if self._wanted.echo is not None:
            self._wanted.echo(data)
        self._case(source).feed(source, data)

    def _take(self, event: Event) -> None:
        if isinstance(event, Chunk):
            self._feed(event.source, event.data)
            event.room.release()
        elif isinstance(event, Ended):
            self._flowing.discard(event.source)
            if event.trouble is not None:
                self._say(event.source, f"broke off: {event.trouble}")
                self._case(event.source).note(event.source, f"broke off: {event.trouble}")
        elif isinstance(event, Exited):
            self._status = event.status
            self._deadline = time.monotonic() + LINGER  # what it has started may hold the pipe for ever
        elif isinstance(event, Asked):
            self._hand_on(event.number)
        elif isinstance(event, Left):
            raise BrokenPipeError

    def _hand_on(self, number: int) -> None:
        """Somebody asks to stop: a command is asked in turn, and its last words are heard. Asked again, it ends at once."""
        self._asked += 1
        now = time.monotonic()
        if self._child is None or self._status is not None:
            self._deadline = now + LAST_WORDS if self._flowing and self._asked == 1 else now
        elif self._asked == 1:
            self._child.send(number)
            self._deadline = now + PATIENCE
        else:
            self._child.kill()
            self._deadline = now + LAST_WORDS

    def _look_at_files(self) -> None:
        """Reads one piece of each file that has grown."""
        self._busy = False
        self._notifier.rearm()
        now = time.monotonic()
        if self._places.searched and now >= self._search_at:
            self._search_at = now + SEARCH
            for found in self._places.look():
                self._watch(found.path)
        for follower in list(self._places.followers.values()):
            before = follower.file
            data = follower.read()
            if follower.file != before or follower.notes:
                self._watch(follower.path)
            for note in follower.notes:
                self._case(follower.path).note(follower.path, note)
            follower.notes.clear()
            if data:
                self._busy = True
                self._feed(follower.path, data)
        self._look_at = time.monotonic() + (POLL if self._untold else LOOK)

    def _rest(self) -> None:
        now = time.monotonic()
        for case in self._cases.values():
            case.rest(now)

    def _patience(self) -> float | None:
        """How long to wait for an event. None: until there is one."""
        if self._busy:
            return 0.0
        now = time.monotonic()
        waits = [s for case in self._cases.values() if (s := case.seconds_to_rest(now)) is not None]
        if self._wanted.until_failure:
            waits += [s for case in self._cases.values() if (s := case.seconds_to_settle(now)) is not None]
        if self._places.any:
            waits.append(max(0.0, self._look_at - now))
        if self._deadline is not None:
            waits.append(max(0.0, self._deadline - now))
        return min(waits, default=None)

    def _is_over(self) -> bool:
        now = time.monotonic()
        if self._busy and not self._asked:
            return False
        if self._wanted.until_failure and any(c.seconds_to_settle(now) == 0 for c in self._cases.values()):
            return True
        running = self._child is not None and self._status is None
        if self._deadline is not None and now >= self._deadline:
            return True
        if self._asked and not self._flowing and not running:
            return True
        if not self._streamed:
            return not self._places.any
        if self._flowing or running:
            return False
        if self._places.any and self._deadline is None:
            self._deadline = now + LINGER
        return not self._places.any

    def _end_child(self) -> None:
        """Takes how the command ended, where that says how the server ended."""
        child, status = self._child, self._status
        if child is None:
            return
        killed = self._asked > 1
        if status is not None and not child.only_shows_logs and not killed:
            self._case(child.source).exited(status)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Lets the first SIGINT or SIGTERM ask for the final answer."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def asked(number: int, _: FrameType | None) -> None:
            self._inbox.put(Asked(number))

        before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
