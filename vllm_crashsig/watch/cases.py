"""One case that is watched: its session, what is known of its sources, and when it was quiet."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..engine import Session
from ..layout import HEAD_BYTES, MIN_LINES, Layout, sniff_layout
from ..report import Report, Update

QUIET = 0.25
"""Seconds without a byte after which a last line without a newline counts, and what was put off is looked at."""
SETTLED = 3.0
"""Seconds without a byte after a failure after which its consequences are taken to be told."""
LONG = 30.0
"""Seconds after a failure after which it is taken to be told, whatever goes on."""
FAILED = ("crash", "unclassified")


class Case:
    """What goes wrong in the session is kept in ``broken``, and does not touch other cases.

    name: None when there is but one case, whose faults are everybody's. tell: takes each change of the provisional answer.
    """

    def __init__(self, name: str | None, session: Session, tell: Callable[[str | None, Update], None]) -> None:
        self.name = name
        self.broken: Exception | None = None
        self._session = session
        self._tell = tell
        self._heads: dict[str, bytearray | None] = {}
        """The first bytes of each source, until its layout is known."""
        self._last: float | None = None
        """When bytes came that were not followed by a quiet moment yet."""
        self._failed: float | None = None
        """When the answer became a failure."""
        self._touched = 0.0

    def feed(self, source: str, data: bytes) -> None:
        """Takes the next bytes of a source."""
        self._last = self._touched = time.monotonic()
        self._sniff(source, data)
        self._guarded(lambda: self._session.feed(data, source))

    def note(self, source: str, text: str) -> None:
        """Records what readers of the answer should know of a source."""
        self._session.scanner(source).note(text)

    def exited(self, status: int) -> None:
        """Takes how the server ended."""
        self._guarded(lambda: self._session.exited(status))

    def rest(self, now: float) -> None:
        """Looks at what was put off, if it is quiet."""
        if self._last is not None and now - self._last >= QUIET:
            self._last = None
            self._guarded(self._session.idle)

    def seconds_to_rest(self, now: float) -> float | None:
        """When to call `rest`, if at all."""
        return None if self._last is None else max(0.0, self._last + QUIET - now)

    def seconds_to_settle(self, now: float) -> float | None:
        """When a failure is known with its consequences (0: it is); None where nothing failed so far."""
        if self._failed is None:
            return None
        return max(0.0, min(self._touched + SETTLED, self._failed + LONG) - now)

    def close(self) -> Report | None:
        """The final answer, or None when the session is broken."""
        report: Report | None = None

        def closing() -> list[Update]:
            nonlocal report
            report = self._session.close()
            return []

        self._guarded(closing)
        return report

    def _guarded(self, work: Callable[[], list[Update]]) -> None:
        if self.broken is not None:
            return
        try:
            updates = work()
        except Exception as error:
            if self.name is None:
                raise
            self.broken = error
            return
        for update in updates:
            if update.verdict not in FAILED:
                self._failed = None
            elif self._failed is None:
                self._failed = time.monotonic()
            self._tell(self.name, update)

    def _sniff(self, source: str, data: bytes) -> None:
        """Finds out which labels stand on every line (``3: text``), as soon as there are enough lines to tell."""
        head = self._heads.setdefault(source, bytearray())
        if head is None:
            return
        head += data[: HEAD_BYTES - len(head)]
        if len(head) < HEAD_BYTES and head.count(b"\n") < MIN_LINES:
            return
        self._heads[source] = None
        labels = sniff_layout(bytes(head)).labels
        if labels:
            self._session.scanner(source).set_layout(Layout(labels=labels))
