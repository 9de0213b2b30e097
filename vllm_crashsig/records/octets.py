"""Syslog over TCP as it is captured: each message has its length in front (RFC 6587, 3.4.1), and perhaps no newline behind."""

from __future__ import annotations

from collections.abc import Iterator

from ..lazy import lazy
from .base import HELD_BYTES, Line

_COUNT = lazy(rb"([1-9]\d{0,6}) (?=<\d{1,3}>)")


def is_counted(line: bytes) -> bool:
    """Whether a message with its length begins here."""
    return _COUNT.match(line) is not None


class Octets:
    """Cuts what comes into messages by their lengths."""

    def __init__(self) -> None:
        self._held = b""
        self._place: Line | None = None

    def take(self, line: Line) -> Iterator[Line]:
        place = self._place or line
        data = self._held + line.text + b"\n"
        while (match := _COUNT.match(data)) is not None:
            end = match.end() + int(match.group(1))
            if end > len(data) and len(data) <= HELD_BYTES:
                if end == len(data) + 1 and len(data) == 0:
                    break
                self._held, self._place = data, place
                return
            yield from self._message(data[match.end() : end], place)
            data = data[end:].removeprefix(b"\n")
            place = line
        self._held, self._place = b"", None
        if data.strip(b"\r\n"):
            yield Line(data.removesuffix(b"\n"), place.number, place.offset)

    def finish(self) -> Iterator[Line]:
        if self._place is not None:
            match = _COUNT.match(self._held)
            yield from self._message(self._held[match.end() if match else 0 :], self._place)
            self._held, self._place = b"", None

    @staticmethod
    def _message(data: bytes, place: Line) -> Iterator[Line]:
        for text in data.rstrip(b"\r\n\0").split(b"\n"):
            yield Line(text, place.number, place.offset)
