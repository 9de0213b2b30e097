"""Records that take more than one line, or of which one line holds many: readers, chosen by how a source begins."""

from __future__ import annotations

from .base import Line, Reader, told
from .journal import Events, Export, Verbose, is_verbose
from .octets import Octets, is_counted
from .pretty import PrettyJson
from .rows import Rows, read_header

__all__ = ["Line", "PrettyJson", "Reader", "reader_for", "told"]


def reader_for(first: bytes) -> Reader | None:
    """The reader for a source whose first line with text is this one; None where its lines stand for themselves."""
    if is_verbose(first):
        return Verbose()
    if first.startswith((b"__CURSOR=", b"__REALTIME_TIMESTAMP=")):
        return Export()
    if is_counted(first):
        return Octets()
    if first.startswith(b"data: {"):
        return Events()
    header = read_header(first) if (len(first) < 2000 and b"," in first) or b"\t" in first or b";" in first else None
    return Rows(*header) if header is not None else None
