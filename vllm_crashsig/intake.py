"""A source -> a session: its layout is looked at first, and a log that stands on its head is turned round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, chain

from .engine import Session
from .layout import HEAD_BYTES, sniff_layout
from .sources import Source

TURN_LIMIT = 64 << 20
"""Bytes of a newest-first log that are held in memory to be turned round; a longer one is read as it stands."""
BATCH = 2000
"""Lines handed on at a time when a log is turned round."""


def take_source(session: Session, source: Source) -> None:
    """Reads a source to its end into a session. Raises InputError when it cannot be read at all."""
    scanner = session.scanner(source.name)
    chunks = iter(source.chunks())
    head = _head(chunks)
    layout = sniff_layout(b"".join(head))
    whole = None
    if layout.newest_first:
        whole, chunks = _whole(head, chunks)
        head = []
    if whole is not None:
        scanner.set_layout(layout)
        _take_backward(session, source.name, whole)
    else:
        if layout.newest_first:
            scanner.note(
                f"the newest line seems to come first, but it is longer than {TURN_LIMIT >> 20} MiB: read as it stands"
            )
        elif layout.columns:
            scanner.set_layout(layout)
        for chunk in chain(head, chunks):
            session.take(chunk, source.name)
    for note in source.notes:
        scanner.note(note)
    session.end(source.name)


def _head(chunks: Iterator[bytes]) -> list[bytes]:
    """The first chunks, until they are enough to tell the layout."""
    head: list[bytes] = []
    size = 0
    while size < HEAD_BYTES and (chunk := next(chunks, None)) is not None:
        head.append(chunk)
        size += len(chunk)
    return head


def _whole(head: list[bytes], chunks: Iterator[bytes]) -> tuple[bytes | None, Iterator[bytes]]:
    """All of the source, or (when it is too long) None and its chunks from the beginning."""
    read = list(head)
    size = sum(map(len, read))
    while size <= TURN_LIMIT:
        chunk = next(chunks, None)
        if chunk is None:
            return b"".join(read), iter(())
        read.append(chunk)
        size += len(chunk)
    return None, chain(read, chunks)


def _take_backward(session: Session, name: str, data: bytes) -> None:
    lines = data.removesuffix(b"\n").split(b"\n")
    offsets = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for end in range(len(lines), 0, -BATCH):
        batch = range(end - 1, max(end - BATCH, 0) - 1, -1)
        session.take_lines([lines[i] for i in batch], [i + 1 for i in batch], [offsets[i] for i in batch], name)


def take_all(session: Session, sources: Iterable[Source]) -> None:
    """All sources, one after the other."""
    for source in sources:
        take_source(session, source)
