"""How a pasted or exported log is laid out: hard-wrapped by a terminal, or newest line first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from .envelopes import peel

HEAD_BYTES = 64 * 1024
"""Bytes at the beginning of a source that decide on its layout."""
MIN_LINES = 12
"""Lines below which nothing is concluded."""
MIN_WIDTH = 60
MAX_WIDTH = 320
"""Columns that a terminal may have."""
WRAPPED_SHARE = 0.08
"""Share of lines that must fill the width exactly. In an unwrapped log next to none are as long as the longest."""
BEGUN_SHARE = 0.25
"""Share of the lines after full ones that may look like the beginning of a line."""
BACKWARD_SHARE = 0.9
"""Share of steps in time that must go backward in a log that is newest first."""


@dataclass(frozen=True, slots=True)
class Layout:
    """``columns``: the width at which lines were cut (None: they were not). ``newest_first``: the last line comes first."""

    columns: int | None = None
    newest_first: bool = False


def sniff_layout(head: bytes) -> Layout:
    """The layout that the first lines of a source show. A cut-off last line is left out."""
    lines = [line.rstrip("\r") for line in head[:HEAD_BYTES].decode(errors="replace").split("\n")]
    if len(head) >= HEAD_BYTES or not head.endswith(b"\n"):
        lines = lines[:-1]
    lines = [line for line in lines if line.strip()][:600]
    if len(lines) < MIN_LINES:
        return Layout()
    return Layout(_columns(lines), _is_newest_first(lines))


def _columns(lines: list[str]) -> int | None:
    lengths = Counter(map(len, lines))
    width = max(lengths)
    if not MIN_WIDTH <= width <= MAX_WIDTH or lengths[width] < max(4, WRAPPED_SHARE * len(lines)):
        return None
    full = [line for line in lines if len(line) == width]
    # lines of a table or a banner fill the same width too, but they repeat, or end in the same frame character
    if len(set(full)) < 0.7 * len(full) or len({line[-1] for line in full}) <= 2:
        return None
    followers = [after for line, after in pairwise(lines) if len(line) == width]
    # what continues a cut line begins in the middle of something: not with an envelope, nor as the line before it does
    begun = sum(bool(peel(after).layers) or after[:4] == line[:4] for line, after in pairwise(lines) if len(line) == width)
    return width if followers and begun < BEGUN_SHARE * len(followers) else None


def _is_newest_first(lines: list[str]) -> bool:
    times = [(p.time, p.clock) for line in lines[:200] if (p := peel(line)).time is not None]
    steps = [b[0] - a[0] for a, b in pairwise(times) if a[1] == b[1] and a[0] is not None and b[0] is not None]
    moved = [step for step in steps if step]
    return len(moved) >= MIN_LINES - 4 and sum(step < 0 for step in moved) >= BACKWARD_SHARE * len(moved)
