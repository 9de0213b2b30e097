"""Records that take more than one line, or of which one line holds many: readers, chosen by how a source begins."""

from __future__ import annotations

import re

from ..lazy import lazy
from .base import Line, Reader, told

__all__ = ["Line", "Reader", "reader_for", "told"]

_NAMES_A_TIME = lazy(rb"time|date|\bts", re.IGNORECASE)
"""What every name of a column of times holds."""


def reader_for(first: bytes) -> Reader | None:
    """The reader for a source whose first line with text is this one; None where its lines stand for themselves.

    Loads a reader where the line looks like its own at a glance: few logs need any.
    """
    if b"[s=" in first[:80] or first.startswith((b"__CURSOR=", b"__REALTIME_TIMESTAMP=", b"data: {")):
        from .journal import Events, Export, Verbose, is_verbose

        if first.startswith(b"__"):
            return Export()
        if is_verbose(first):
            return Verbose()
        if first.startswith(b"data: {"):
            return Events()
    if first[:1].isdigit() and b" <" in first[:10]:
        from .octets import Octets, is_counted

        if is_counted(first):
            return Octets()
    if _NAMES_A_TIME.search(first) and ((len(first) < 2000 and b"," in first) or b"\t" in first or b";" in first):
        from .rows import Rows, read_header

        header = read_header(first)
        return Rows(*header) if header is not None else None
    return None
