"""JSON records that are printed over many lines: journalctl -o json-pretty, stern's ppextjson, what cloud command lines print.

An object is a record when it begins with a brace on a line of its own and is a log record beyond doubt; everything else (what
``docker inspect`` and ``kubectl get -o json`` print) goes through line by line.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..envelopes.clean import plain_text
from ..envelopes.json_document import decode_log_record
from ..envelopes.json_values import from_json
from ..framing import clean_text
from ..lazy import lazy
from ..nouns import dataclass
from .base import HELD_BYTES, HELD_LINES, Line, told

_OPENS = lazy(rb"[ \t]*(?:\[|\},)?[ \t]*\{[ \t\r]*$")
"""``{``, ``[{``, ``},{``: with the closing of the one before, where there is one."""
_CLOSES = lazy(rb"[ \t]*\}[ \t]*(?:,?[ \t\r]*\]?|,[ \t]*\{)[ \t\r,]*$")


@dataclass(slots=True)
class _Object:
    """An object whose end has not come: which of the held lines begins it, and how far it is indented."""

    start: int
    indent: int


class PrettyJson:
    """Stateful per source."""

    def __init__(self) -> None:
        self._held: list[Line] = []
        self._size = 0
        self._open: list[_Object] = []

    @property
    def holds(self) -> bool:
        """Whether lines are held whose record is not complete."""
        return bool(self._held)

    def take(self, line: Line) -> Iterator[Line]:
        closes = _CLOSES.match(line.text) is not None
        opens = _OPENS.match(line.text) is not None
        if not self._open and not opens:
            yield line
            return
        self._held.append(line)
        self._size += len(line.text)
        indent = len(line.text) - len(line.text.lstrip(b" \t"))
        if closes and self._open and indent == self._open[-1].indent:
            yield from self._close()
        if opens:
            if not self._held:  # its closing half was the end of a record
                self._held.append(line)
            self._open.append(_Object(len(self._held) - 1, indent))
        if not self._open or len(self._held) > HELD_LINES or self._size > HELD_BYTES:
            yield from self.finish()

    def finish(self) -> Iterator[Line]:
        yield from self._held
        self._drop()

    def _drop(self) -> None:
        self._held, self._size, self._open = [], 0, []

    def _close(self) -> Iterator[Line]:
        begun = self._open.pop()
        lines = self._held[begun.start :]
        data = clean_text(b"\n".join(line.text for line in lines)).text
        data = data[data.find(b"{") :]
        data = data[: data.rfind(b"}") + 1]
        try:
            record = from_json(data)
        except ValueError:
            try:
                record = from_json(plain_text(data))
            except ValueError:
                return
        found = decode_log_record(record)
        if found is None:
            return
        before = self._held[: begun.start]
        self._drop()  # the objects around it hold records; they are no record themselves
        yield from before
        yield from told(*found, lines[0])
