"""A source -> a session: its kind and layout are looked at first. A document about containers is read as a whole, and a log
that stands on its head is turned round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby

from .documents import MAX_DOCUMENT, document_kind
from .encodings import Decoder
from .engine import Session
from .framing import Framer
from .layout import HEAD_BYTES, sniff_layout
from .records import Line
from .sources import Source
from .unwrap import Unwrapper

TURN_LIMIT = 64 << 20
"""Bytes of a newest-first log that are held in memory to be turned round; a longer one is read as it stands."""
BATCH = 2000
"""Lines or records handed on at a time where they are not handed on as bytes."""


class _Ahead:
    """The bytes of a source, with as much of a look ahead as is asked for."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held: list[bytes] = []

    def head(self, size: int) -> bytes:
        """The first bytes, at least ``size`` unless there are fewer. They are not taken."""
        held = sum(map(len, self._held))
        while held < size and (chunk := next(self._chunks, None)) is not None:
            self._held.append(chunk)
            held += len(chunk)
        return b"".join(self._held)

    def whole(self, limit: int) -> bytes | None:
        """All bytes, not taken either; None when there are more than ``limit``."""
        data = self.head(limit + 1)
        return data if len(data) <= limit else None

    def __iter__(self) -> Iterator[bytes]:
        held, self._held = self._held, []
        return chain(held, self._chunks)


def take_source(session: Session, source: Source) -> None:
    """Reads a source to its end into a session. Raises InputError when it cannot be read at all."""
    chunks = _Ahead(source.chunks())
    if not (_take_document(session, source.name, chunks) or _take_turned(session, source.name, chunks)):
        for chunk in chunks:
            session.take(chunk, source.name)
    scanner = session.scanner(source.name)
    for note in source.notes:
        scanner.note(note)
    session.end(source.name)


def _take_document(session: Session, name: str, chunks: _Ahead) -> bool:
    """Takes the source if it is a document about containers."""
    kind = document_kind(_utf8(chunks.head(HEAD_BYTES))[0])
    data = chunks.whole(MAX_DOCUMENT) if kind is not None else None
    if kind is None or data is None:
        return False
    from .documents.reading import read_document

    text, notes = _utf8(data)
    document = read_document(kind, text)
    if document is None:
        return False
    _take_lines(session, name, document.lines)
    for note in [*notes, *document.notes]:
        session.scanner(name).note(note)
    return True


def _utf8(data: bytes) -> tuple[bytes, list[str]]:
    """The same in UTF-8 (what PowerShell redirects is UTF-16), and what there is to say of it."""
    decoder = Decoder()
    return decoder.feed(data) + decoder.close(), decoder.notes()


def _take_turned(session: Session, name: str, chunks: _Ahead) -> bool:
    """Takes the source if its newest line comes first, from its end. Else tells the scanner how the source is laid out."""
    scanner = session.scanner(name)
    head = chunks.head(HEAD_BYTES)
    layout = sniff_layout(head, whole=len(head) < HEAD_BYTES)
    data = chunks.whole(TURN_LIMIT) if layout.newest_first else None
    if layout.newest_first and data is None:
        scanner.note(f"the newest line seems to come first, but it is longer than {TURN_LIMIT >> 20} MiB: read as it stands")
        return False
    scanner.set_layout(layout)
    if data is None:
        return False
    _take_backward(session, name, data, layout.labels)
    return True


def _take_backward(session: Session, name: str, data: bytes, labels: list[str]) -> None:
    """Reads forward, since a record may take many lines, and hands the records on from the last one to the first."""
    framer, unwrapper = Framer(), Unwrapper()
    unwrapper.hint = labels or None
    frames = [unwrapper.unwrap(frame) for frame in chain(framer.feed(data), framer.close())]
    if (rest := unwrapper.finish()) is not None:
        frames.append(rest)
    lines = [
        Line(frame.line(i), frame.line_number(i), frame.line_offset(i), frame.told(i))
        for frame in frames
        for i in range(frame.count)
    ]
    records = [list(record) for _, record in groupby(lines, key=lambda line: line.offset)]
    _take_lines(session, name, [line for record in reversed(records) for line in record])


def _take_lines(session: Session, name: str, lines: Sequence[Line]) -> None:
    for start in range(0, len(lines), BATCH):
        session.take_lines(list(lines[start : start + BATCH]), name)


def take_all(session: Session, sources: Iterable[Source]) -> None:
    """All sources, one after the other."""
    for source in sources:
        take_source(session, source)
