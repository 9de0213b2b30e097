"""One line on a terminal that tells how far a batch is, how fast, and how long it will take."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from typing import TextIO

from .cases import Case
from .schedule import cost

REFRESH = 0.1
"""Seconds between two drawings."""
BAR = 24


class Progress:
    """Draws over its own line. cases: all that are to be done; finished: those of an earlier run, which took no time now."""

    def __init__(self, cases: Sequence[Case], *, finished: int = 0, out: TextIO | None = None) -> None:
        self._out = out
        self._total = len(cases) + finished
        self._before = self._count = finished
        self._cost = cost(cases)
        self._paid = 0
        self._start = self._drawn = time.monotonic()
        self._shown = False

    def add(self, cases: Sequence[Case]) -> None:
        """Counts finished cases, perhaps none, and draws when it is time."""
        self._count += len(cases)
        self._paid += cost(cases)
        now = time.monotonic()
        if self._out is not None and now - self._drawn >= REFRESH:
            self._drawn = now
            self._draw(self._out, self.text(now - self._start))

    def text(self, elapsed: float) -> str:
        """The line, after so many seconds of work."""
        share = self._count / self._total if self._total else 1.0
        done = round(BAR * share)
        speed = (self._count - self._before) / elapsed if elapsed > 0 else 0.0
        left = elapsed * (self._cost - self._paid) / self._paid if self._paid else None
        eta = "--:--" if left is None else _clock(left)
        return (
            f"[{'#' * done}{'.' * (BAR - done)}] {self._count:,}/{self._total:,} cases, {share:.0%}, "
            f"{speed:,.0f} a second, {eta} left"
        )

    def clear(self) -> None:
        """Takes the line away, so that something else can be said."""
        if self._shown and self._out is not None:
            self._out.write("\r\x1b[K")
            self._out.flush()
            self._shown = False

    def _draw(self, out: TextIO, text: str) -> None:
        width = shutil.get_terminal_size((100, 24)).columns
        out.write("\r" + text[: width - 1] + "\x1b[K")
        out.flush()
        self._shown = True


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute:02d}:{second:02d}"
