"""When a session works out its provisional answer: at once for what is new, seldom in a flood.

An answer costs the more the more has been seen, so answering after each line that might change it would take a flood of errors
quadratic time. Lines pay for answers instead. No clock is asked: fed the same way, a log is answered the same way.
"""

from __future__ import annotations

from .match import LineHits

PRICE = 100
"""Bytes of log that pay for each thing that an answer has to look at: about as much work."""
BURST = 400_000
"""Bytes that may be saved up: an ordinary crash is answered after each line that matters."""
SOON = 8
"""Times that a failure is answered at once; after that each time that they are twice as many."""
PATIENCE = 8
"""How many times dearer answers become that change nothing."""


class Pace:
    """The account of one session."""

    __slots__ = ("_credit", "_factor", "_fresh", "_price", "_repeated", "_since", "_times", "_urgent", "failing")

    def __init__(self) -> None:
        self.failing = False
        """Whether anything spoke of a failure so far. Before that there is nothing to answer."""
        self._urgent = False
        self._fresh = False
        self._repeated = False
        self._times: dict[str, int] = {}
        self._credit = BURST
        self._since = 0
        self._price = 0
        self._factor = 1

    def read(self, size: int) -> None:
        """So many bytes were read."""
        self._credit = min(BURST, self._credit + size)
        self._since += size

    def note(self, found: LineHits, fresh: bool) -> None:
        """Takes what a line shows. fresh: whether something of its kind was not seen before."""
        failure = next((h.fingerprint for h in found.hits if h.decisive), None)
        if failure is not None or found.markers:
            self.failing = True
        if fresh:
            self._fresh = True
            if failure is not None or found.markers:
                kind = failure or "unknown"
                times = self._times[kind] = self._times.get(kind, 0) + 1
                self._urgent = self._urgent or times <= SOON or not times & (times - 1)
        elif failure is not None:  # who else says it, and how late, can change the answer too
            self._repeated = True

    def told(self) -> None:
        """Something else came to be known that matters at once."""
        self.failing = self._fresh = self._urgent = True

    @property
    def owed(self) -> bool:
        """Whether something came since the last answer that may change it."""
        return self.failing and (self._fresh or self._repeated)

    @property
    def due(self) -> bool:
        """Whether to answer now. What is new is paid for with savings, what is repeated is not."""
        if not self.failing:
            return False
        price = self._price * self._factor
        return self._urgent or (self._fresh and self._credit >= price) or (self._repeated and self._since >= price)

    def answered(self, things: int, *, changed: bool) -> None:
        """An answer was given that had to look at so many things. changed: whether it is another one than before."""
        self._price = things * PRICE
        self._credit = max(0, self._credit - self._price)
        self._since = 0
        self._factor = 1 if changed else min(2 * self._factor, PATIENCE)
        self._fresh = self._repeated = self._urgent = False
