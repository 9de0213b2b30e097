"""A process that classifies cases for another one: chunks of cases come in on standard input, one on each line, and a line for
each case goes out. It ends with its parent, however that ends."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from queue import Empty, SimpleQueue
from typing import BinaryIO

from ..errors import CrashsigError
from ..version import __version__
from .work import Settings, cases_of, classify_case, finished_line

LINGER = 0.02
"""Seconds for which results are gathered, to be sent together."""


def main(settings: str) -> None:
    """Answers until standard input ends. settings: those of `Settings` as JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed must not get among the answers
    chunks: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(chunks,), daemon=True).start()
    try:
        told = json.loads(settings)
        classifier = Settings(tuple(told["fingerprints"]), told["redact"], told["runtime"]).classifier()
        classifier.session()  # compiles what is compiled once
    except CrashsigError as error:
        _send(out, json.dumps({"failed": str(error)}))
        return
    _send(out, json.dumps({"version": __version__, "catalogue": classifier.catalogue.hash}))
    lines: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_talk, args=(out, lines), daemon=True).start()
    while True:
        for case in cases_of(chunks.get()):
            lines.put(finished_line(case, classify_case(case, classifier)))


def _listen(chunks: SimpleQueue[bytes]) -> None:
    """Hands chunks on; when the parent is gone there is nobody to work for."""
    for line in sys.stdin.buffer:
        chunks.put(line)
    os._exit(0)


def _talk(out: BinaryIO, lines: SimpleQueue[str]) -> None:
    """Sends what is finished, a little at a time, whatever the next case is like."""
    while True:
        told = [lines.get()]
        try:
            while True:
                told.append(lines.get_nowait())
        except Empty:
            _send(out, *told)
        time.sleep(LINGER)


def _send(out: BinaryIO, *lines: str) -> None:
    try:
        out.write("".join(line + "\n" for line in lines).encode("ascii"))
        out.flush()
    except OSError:
        os._exit(0)
