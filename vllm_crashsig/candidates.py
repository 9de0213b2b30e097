"""Which lines of a text are judged, and for what: those that the gate lets through, found no sooner than they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache

from .framing import MAX_LINE, count_newlines
from .gate import Gate, Part
from .match import Matcher

WINDOW = 8 * 1024
"""Bytes that are scanned at first for progress after something else happened; then twice as many, and so on."""

Candidate = tuple[int, int, Sequence[int]]
"""Of a line: where it begins and ends in the text, and the probes that may match it, ascending."""


def candidates_by_line(gate: Gate, text: bytes, part: Part = "all") -> list[Candidate]:
    """The lines of ``text`` that the gate lets through."""
    lines: list[Candidate] = []
    start, line_end = 0, -1
    current: Sequence[int] = ()
    for end, announced in gate.scan(text, part):
        if end > line_end + 1:
            at = end - 1
            start = text.rfind(b"\n", 0, at) + 1
            line_end = text.find(b"\n", at)
            if line_end < 0:
                line_end = len(text)
            current = announced
            lines.append((start, line_end, current))
        elif announced is not current:
            current = united(current, announced)
            lines[-1] = (start, line_end, current)
    return lines


@lru_cache(maxsize=4096)
def united(a: Sequence[int], b: Sequence[int]) -> Sequence[int]:
    """The probes of both, ascending. Few literals meet in a line, so most answers are known."""
    return tuple(sorted({*a, *b}))


class Lookout:
    """Goes through the texts of one source. ``gate`` None: every line is a candidate for everything.

    While it is calm, lines that show nothing but progress are not looked for. An ordinary log is full of them.
    """

    def __init__(self, matcher: Matcher, gate: Gate | None) -> None:
        self._gate = gate
        self._frequent = matcher.frequent
        self._always = tuple(sorted([*matcher.ungated, *(matcher.gated if gate is None else ())]))
        self._window = MAX_LINE
        self.begin(b"", calm=False)

    def begin(self, text: bytes, *, calm: bool) -> None:
        """Turns to another text."""
        self._text = text
        self._next = 0
        self._progress: deque[Candidate] = deque()
        self._seen = 0
        # rather everything at once where no progress is in sight, and so it will hardly become calm
        part: Part = "all" if self._always or (not calm and self._window >= len(text)) else "rare"
        self._whole = part == "all"
        self._lines = candidates_by_line(self._gate, text, part) if self._gate is not None and text else []

    def disturb(self) -> None:
        """Something happened: what follows it is looked at closely."""
        self._window = WINDOW

    def after(self, at: int, *, calm: bool) -> Candidate | None:
        """The first candidate among the lines from the one on that begins at ``at``, which may not go back."""
        lines = self._lines
        while self._next < len(lines) and lines[self._next][0] < at:
            self._next += 1
        following = lines[self._next] if self._next < len(lines) else None
        if self._always:
            return self._every_line(at, following)
        if self._whole:
            return following
        if not calm:
            progress = self._progress_before(len(self._text) if following is None else following[0], at)
            if progress is not None:
                return progress
        return following and (following[0], following[1], united(following[2], self._frequent))

    def _every_line(self, at: int, following: Candidate | None) -> Candidate | None:
        if at >= len(self._text):
            return None
        if following is not None and following[0] == at:
            return at, following[1], united(following[2], self._always)
        return at, line_end(self._text, at), self._always

    def _progress_before(self, stop: int, at: int) -> Candidate | None:
        """The first line with progress between two places. There is nothing else between them."""
        found = self._progress
        while self._gate is not None:
            while found and found[0][0] < at:
                found.popleft()
            if found:
                return found[0] if found[0][0] < stop else None
            start = self._seen = max(self._seen, at)
            if start >= stop:
                return None
            self._seen = line_end(self._text, start + self._window) + 1
            self._window *= 2
            window = self._text[start : self._seen]
            found.extend((start + a, start + b, probes) for a, b, probes in candidates_by_line(self._gate, window, "frequent"))
        return None


def line_end(text: bytes, at: int) -> int:
    """Where the line ends that a place is in: at its newline, or with the text."""
    end = text.find(b"\n", at)
    return end if end >= 0 else len(text)


class Places:
    """Counts the lines of a text on the way, and only where somebody asks."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._counted = 0
        self._index = 0

    def index(self, start: int) -> int:
        """Index of the line that begins at ``start``, which may not go back."""
        self._index += count_newlines(self._text, self._counted, start)
        self._counted = start
        return self._index

    def newlines(self) -> int:
        """All newlines of the text."""
        return self._index + count_newlines(self._text, self._counted)
