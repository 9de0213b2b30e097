"""Which probes the next lines are asked because of what lines before them showed: the last line of a traceback, frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .crashid import followed_by
from .model import Scope
from .patterns import Match

CLOSING = 60
"""Lines after a frame among which the last line of its traceback is looked for (processes write between each other)."""
MAX_OPEN = 200
"""Processes whose tracebacks are followed to their ends at a time."""


class Following:
    """Of one source. True while there are lines to ask; then each of its lines is to be counted with `step`."""

    def __init__(self, followers: Mapping[str, int]) -> None:
        self._followers = followers
        """Name -> probe."""
        self._closing = followers["closing"]
        self._until: dict[int, int] = {}
        """Probe -> the last line that it is asked of."""
        self._line = 0
        self._end = 0
        self._open: set[Scope] = set()
        self._probes: Sequence[int] = ()
        self._good = 0
        """The last line for which ``_probes`` holds."""

    def __bool__(self) -> bool:
        return self._end > self._line

    def step(self) -> Sequence[int]:
        """The probes of the next line, ascending."""
        self._line += 1
        if self._line > self._good:
            self._until = {probe: last for probe, last in self._until.items() if last >= self._line}
            self._probes = tuple(sorted(self._until))
            self._good = min(self._until.values(), default=0)
        return self._probes

    def begin(self, markers: Sequence[tuple[str, Match[str]]], scope: Scope) -> None:
        """Takes the markers of the line that was counted last (or of one that came before there was anything to count)."""
        for name, match in markers:
            if name == "frame":
                if len(self._open) < MAX_OPEN:
                    self._open.add(scope)
                self._ask(self._closing, CLOSING)
                continue
            was_open = False
            if name in ("exception", "closing") and (was_open := scope in self._open):
                self._open.discard(scope)
                if not self._open:  # nothing is left to be closed
                    self._until.pop(self._closing, None)
                    self._end = max(self._until.values(), default=0)
                    self._good = 0
            for follower, lines in followed_by(name, match, in_traceback=was_open):
                self._ask(self._followers[follower], lines)

    def _ask(self, probe: int, lines: int) -> None:
        last = self._line + lines
        before = self._until.get(probe, 0)
        if last > before:
            self._until[probe] = last
            self._end = max(self._end, last)
            if before <= self._line:  # it was not asked of the next line until now
                self._good = 0
