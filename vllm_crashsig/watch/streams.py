"""What flows by itself: standard input, pipes, and the output of a command that is run. Each is read by a thread of its own."""

from __future__ import annotations

import os
import queue
import select
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError, Location
from ..nouns import dataclass
from ..sources.base import CHUNK, clean_name

PIPE_CHUNK = 64 * 1024
"""What a pipe holds at most, as a rule."""
AHEAD = 8
"""Chunks of one stream that may wait to be looked at."""


@dataclass(frozen=True)
class Chunk:
    """Bytes of a stream. ``room`` is to be released when they were taken."""

    source: str
    data: bytes
    room: threading.Semaphore


@dataclass(frozen=True)
class Ended:
    """A stream is at its end. trouble: why, if it broke."""

    source: str
    trouble: str | None = None


@dataclass(frozen=True)
class Exited:
    """The command ended, with an exit status or minus the number of a signal."""

    status: int


@dataclass(frozen=True)
class Asked:
    """Somebody asks to stop, by a signal."""

    number: int


@dataclass(frozen=True)
class Woken:
    """A file may have changed."""


@dataclass(frozen=True)
class Left:
    """Nobody reads the answers any more."""


Event = Chunk | Ended | Exited | Asked | Woken | Left


class Inbox:
    """What happened, in order. May be put into from any thread, and from signal handlers."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def put(self, event: Event) -> None:
        self._queue.put(event)

    def get(self, seconds: float | None) -> Event | None:
        """The next event. None when there was none for so long (never, if None)."""
        try:
            # on Windows a wait without end cannot be interrupted by Ctrl-C
            return self._queue.get(timeout=seconds if seconds is not None or os.name != "nt" else 1.0)
        except queue.Empty:
            return None


def read_stream(source: str, file: int | str, inbox: Inbox, *, close: bool = False) -> None:
    """Begins to read a descriptor, or a path of what is no file (a named pipe, a device), into the inbox."""

    def read() -> None:
        trouble = None
        try:
            if isinstance(file, str):
                descriptor = os.open(file, os.O_RDONLY)
                try:
                    _read(source, descriptor, inbox)
                finally:
                    os.close(descriptor)
            else:
                _read(source, file, inbox)
        except OSError as error:
            trouble = error.strerror or str(error)
        if close and isinstance(file, int):
            os.close(file)
        inbox.put(Ended(source, trouble))

    threading.Thread(target=read, name=f"crashsig-{source}", daemon=True).start()


def _read(source: str, descriptor: int, inbox: Inbox) -> None:
    room = threading.Semaphore(AHEAD)
    size = CHUNK if stat.S_ISREG(os.fstat(descriptor).st_mode) else PIPE_CHUNK
    while data := os.read(descriptor, size):
        room.acquire()
        inbox.put(Chunk(source, data, room))


def notice_departure(descriptor: int, inbox: Inbox) -> None:
    """Tells when whoever reads a pipe has gone, as far as the system tells without anything being written."""
    if not hasattr(select, "poll") or not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return
    poll = select.poll()
    poll.register(descriptor, 0)  # errors are told always

    def wait() -> None:
        poll.poll()
        inbox.put(Left())

    threading.Thread(target=wait, name="crashsig-reader", daemon=True).start()


class Child:
    """A command whose output (of both kinds, in order) is a stream. It is told of signals by this process alone.

    command: the program and its arguments; one argument alone that holds white space is for the shell.

    Raises InputError when it cannot be started.
    """

    def __init__(self, command: Sequence[str], inbox: Inbox) -> None:
        shell = len(command) == 1 and any(c.isspace() for c in command[0])
        self.words = command[0].split() if shell else list(command)
        self.source = f"<{clean_name(Path(self.words[0]).name)}>"
        ours, its = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - to run what the user names is what this is for
                command[0] if shell else list(command), shell=shell, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=its, stderr=its,
            )  # fmt: skip
        except OSError as error:
            os.close(ours)
            why = "no such program" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
            raise InputError(f"cannot be run: {why}", Location(clean_name(self.words[0]))) from error
        finally:
            os.close(its)
        read_stream(self.source, ours, inbox, close=True)
        threading.Thread(target=lambda: inbox.put(Exited(self._process.wait())), name="crashsig-wait", daemon=True).start()

    @property
    def only_shows_logs(self) -> bool:
        """Whether its exit status says nothing about the server: it shows what another program writes."""
        names = [Path(word).name for word in self.words]
        runtime = next((i for i, name in enumerate(names) if name in _RUNTIMES), len(names))
        return bool(names) and (names[0] in _VIEWERS or "logs" in names[runtime:])

    def send(self, number: int) -> None:
        """Hands a signal on, to all that the command has started."""
        try:
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()
        except OSError:  # it has ended already
            pass

    def kill(self) -> None:
        """Ends it at once."""
        self.send(getattr(signal, "SIGKILL", signal.SIGTERM))


_RUNTIMES = frozenset({
    "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "kubectl", "oc", "k3s", "crictl", "ray",
})  # fmt: skip
"""Programs with a verb ``logs``."""
_VIEWERS = frozenset({"journalctl", "tail", "dmesg", "stern", "kail", "kubetail", "cat", "zcat", "ssh"})


def stdin_descriptor() -> int:
    """Raises InputError when standard input was closed by the caller."""
    if sys.stdin is None:
        raise InputError("standard input is closed")
    return sys.stdin.fileno()
