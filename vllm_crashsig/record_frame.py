"""JSON records without decoding each: the gate reads the escaped text, and only lines that hit are decoded.

Most escapes leave what the gate looks for as it is; the others are undone for the whole frame at once by replacing bytes, which
leaves each line where it was. Records that this does not lay bare (JSON inside JSON, text of several lines, arrays of bytes)
are told by their shapes and decoded at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import accumulate

from .envelopes.json_failures import ENDED, ERRORS
from .envelopes.json_line import Fields
from .framing import Frame, clean_text
from .gate import Gate, literals_of, make_gate
from .lazy import lazy
from .nested import Found, lay_bare

MANY = 0.3
"""Share of the lines that must be decoded at once beyond which nothing is gained."""

_COLONS = (":", ": ", " : ")
_STREAMS = ("logtag", "_p")
_SHAPES = (
    *(f"{{{space}{after}" for space in ("", " ") for after in ("\\", "&", "\u201c")), "{  ", "[{", "[ {", "\x1b",
    "\\x1b[", "\\033[", "\\e[", "\\\\u001b",
    *(f'"{key}"{colon}{{' for key in (*ERRORS, ENDED) for colon in _COLONS),
    *(f'"{key}"{colon}"P"' for key in _STREAMS for colon in _COLONS),
    *(f'"MESSAGE"{colon}[' for colon in _COLONS), '"CONTAINER_PARTIAL_MESSAGE"',
    *(f'"{name}"' for name in
      ("resourceLogs", "result", "hits", "events", "results", "data", "entries", "tables", "dmesg")),
)  # fmt: skip
"""What stands in a line whose record holds another one, more than one, text out of two fields, no text but bytes, or a part of
a line; see `nested.lay_bare`, `envelopes.json_line` and `envelopes.json_document`."""
_OPEN = tuple(f"{{{space}\n" for space in ("", " ", "\t", "\r"))
"""A record that is printed over many lines begins so."""
_FILLED = tuple(f'"{key}"{colon}"' for key in ERRORS for colon in _COLONS)
"""The same of a line where it is not `_EMPTY` what follows."""
_EMPTY = (b'"', b'nil"')
_LINE, _FRAME, _UNLESS_EMPTY = -1, -2, -3

_ODD = lazy(rb'\\(?:[^n"]|n[^"])')
"""An escape that is no quote and no newline at the end of a text. The gate knows its literals with escaped quotes too."""
_BREAK = lazy(rb'\\n(?!")')
"""A newline inside a text."""
_TELLING = lazy(rb"\\(?:/|u00|u20)")
"""Of the escapes, those that may stand for what the gate looks for, or for what it must not see."""
_ESCAPED = lazy(rb"\\u(00[0-7][0-9a-fA-F]|00[aA]0|202[fF]|201[89cCdD])")
_COMMON = ((b"\\u001b", b"\x1b"), (b"\\u003c", b"<"), (b"\\u003e", b">"), (b"\\u0026", b"&"), (b"\\u0027", b"'"))
_MARK = b"\x01"
"""Stands for an escaped backslash. JSON does not let it stand for itself."""
_MESSAGE = lazy(rb'"MESSAGE" ?: ?"([^"\\\n]*(?:\\.[^"\\\n]*)*)"')
_NO_BREAK = b'\\\\n"'
"""A backslash and an n at the end of a text, which are no newline."""
_DOCKER_END = b'\\n","stream":"'


def record_frame(frame: Frame, hint: list[str] | None) -> RecordFrame | None:
    """A frame with JSON records; None where they must be read one after the other, or where that is as fast."""
    raw = frame.raw
    if frame.numbers is not None or _MARK in raw or not raw.endswith(b"\n") or raw[:-1].rstrip(b" \t\r\n").endswith(b"{"):
        return None
    shapes = _shapes()
    if shapes is None:
        return None
    lines = frame.newlines
    text = _messages(raw, lines) or raw
    found = RecordFrame(frame, text, hint)
    for index in _suspects(text, lines, shapes):
        if index is None or len(found.decoded) > MANY * lines + 10 or not found.decode(index):
            return None
    found.settle()
    return found


def _messages(raw: bytes, lines: int) -> bytes | None:
    """The texts of the journal's records, in as many lines: their other fields are long, and say what was started how."""
    if b'"MESSAGE"' not in raw[: raw.find(b"\n")] or raw.count(b'"__CURSOR"') != lines or b'"CONTAINER_PARTIAL' in raw:
        return None
    texts = _MESSAGE.findall(raw)
    return b"\n".join(texts) + b"\n" if len(texts) == lines == raw.count(b'"MESSAGE"') else None


def _suspects(text: bytes, lines: int, shapes: Gate) -> Iterator[int | None]:
    """Indexes of lines to decode at once; None when it must be the whole frame."""
    at = index = 0
    for end, (kind,) in shapes.scan(text):
        if kind == _FRAME:
            yield None
        if kind == _UNLESS_EMPTY and text.startswith(_EMPTY, end):
            continue
        index += text.count(b"\n", at, end - 1)
        at = end - 1
        yield index
    if (odd := _ODD.search(text)) is not None:
        at = index = 0
        for match in _BREAK.finditer(text, odd.start()):
            index += text.count(b"\n", at, match.start())
            at = match.start()
            yield index
    # Docker's text ends with a newline unless the line goes on
    unended = odd is not None and _NO_BREAK in text
    if b'"log"' in text and (unended or text.count(_DOCKER_END) != lines):
        for index, record in enumerate(text.split(b"\n")):
            if b'"log"' in record and b'"time"' in record and (b'\\n"' not in record or _NO_BREAK in record):
                yield index


@cache
def _shapes() -> Gate | None:
    kinds = ((_LINE, _SHAPES), (_FRAME, _OPEN), (_UNLESS_EMPTY, _FILLED))
    return make_gate(literals_of([(kind, shape, False) for kind, shapes in kinds for shape in shapes]))


class RecordFrame(Frame):
    """Lines of which some are JSON records. ``text``: of each, what its record says, with escapes."""

    def __init__(self, frame: Frame, text: bytes, hint: list[str] | None) -> None:
        super().__init__(frame.raw, frame.first_line, frame.first_offset)
        self.bare = False
        self.decoded: dict[int, Found | None] = {}
        """What records say, by their index; None for lines that are none."""
        self._escaped = text
        self._hint = hint
        self._several: list[int] = []  # records of several lines, where each one's lines begin, and what comes after them
        self._firsts: list[int] = []
        self._afters: list[int] = []
        self.newlines = frame.newlines

    def decode(self, index: int) -> bool:
        """Decodes a record at once. False for a part of a line, which must be joined to others."""
        if index not in self.decoded:
            self.decoded[index] = lay_bare(self._records[index], self._hint)
        return not any(fields is not None and "partial" in fields for _, fields in self.decoded[index] or ())

    def settle(self) -> None:
        """To be told when everything is decoded that may have more than one line."""
        more = 0
        for record, found in sorted(self.decoded.items()):
            if found is not None and len(found) != 1:
                self._several.append(record)
                self._firsts.append(record + more)
                self._afters.append(record + more + len(found))
                more += len(found) - 1
        self.newlines += more

    @property
    def count(self) -> int:
        return self.newlines

    @cached_property
    def text(self) -> bytes:
        """What the records say, as far as the gate can tell: what stands in a line stands here in the same line."""
        text = _unescaped(self._escaped)
        if self.decoded:
            lines = text.split(b"\n")
            for index, found in self.decoded.items():
                lines[index] = self._records[index] if found is None else b"\n".join(line for line, _ in found)
            text = b"\n".join(lines)
        cleaned = clean_text(text)
        self.undecodable, self.zeros = cleaned.undecodable, cleaned.zeros
        return cleaned.text

    def line(self, index: int) -> bytes:
        record, inner = self._place(index)
        found = self._found(record)
        return clean_text(self._records[record] if found is None else found[inner][0]).text

    def told(self, index: int) -> Fields | None:
        record, inner = self._place(index)
        found = self._found(record)
        return None if found is None else found[inner][1]

    def line_number(self, index: int) -> int:
        return self.first_line + self._place(index)[0]

    def line_offset(self, index: int) -> int:
        return self._offsets[self._place(index)[0]]

    @cached_property
    def _records(self) -> list[bytes]:
        return self.raw.split(b"\n")

    @cached_property
    def _offsets(self) -> list[int]:
        ends = accumulate(map(len, self._records), initial=self.first_offset)
        return [end + newlines for newlines, end in enumerate(ends)]

    def _place(self, index: int) -> tuple[int, int]:
        """Which record a line is from, and which of its lines it is."""
        at = bisect_right(self._firsts, index)
        if not at:
            return index, 0
        record, after = self._several[at - 1], self._afters[at - 1]
        return (record, index - self._firsts[at - 1]) if index < after else (record + 1 + index - after, 0)

    def _found(self, record: int) -> Found | None:
        if record not in self.decoded:
            found = lay_bare(self._records[record], self._hint)
            if found is not None and len(found) != 1:  # no known shape does this; the lines must stay as many as they are
                found = [(b" ".join(text for text, _ in found), found[0][1])]
            self.decoded[record] = found
        return self.decoded[record]


def _unescaped(text: bytes) -> bytes:
    """The text as JSON strings mean it, but for escapes that make no difference to the gate."""
    odd = _ODD.search(text)
    if odd is None or _TELLING.search(text, odd.start()) is None:
        return text
    backslashes = b"\\\\" in text
    if backslashes:
        text = text.replace(b"\\\\", _MARK)
    text = text.replace(b"\\/", b"/")
    for escaped, plain in _COMMON:
        text = text.replace(escaped, plain)
    text = _ESCAPED.sub(lambda match: chr(int(match.group(1), 16)).encode(), text)
    return text.replace(_MARK, b"\\\\") if backslashes else text
