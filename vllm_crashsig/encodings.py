"""UTF-16 and UTF-32, with or without a byte order mark -> UTF-8, chunk by chunk and the same however the chunks fall.

Everything else passes through untouched: UTF-8 is what the rest works on, and Latin-1 is patched up line by line there.
"""

from __future__ import annotations

import codecs

from .lazy import lazy

_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
SAMPLE = 256
"""Bytes that a guess without a byte order mark rests on."""
MAX_PIECE = 64 * 1024
"""Bytes without a newline after which the question whether a line is narrow is settled: it is not."""
_NARROW_RUN = lazy(rb"[\t\r\x20-\x7e]{16}")
_NARROW_LINE = lazy(rb"(\0{0,3})([\t\r\x20-\x7e]{16,}\n)")


def wide_encoding(head: bytes, *, final: bool = False) -> str | None:
    """The encoding that begins here, "" for none of these; None when more bytes must be seen first."""
    if head[2:] and not (0 in head[:2] or head[:2] in (b"\xff\xfe", b"\xfe\xff")):
        return ""
    if not final and len(head) < 4:
        undecided = not head[1:] or 0 in head[:2] or head[:2] in (b"\xff\xfe", b"\xfe\xff")
        return None if undecided else ""
    marked = next((encoding for bom, encoding in _BOMS if head.startswith(bom)), None)
    if marked:
        return marked
    if len(head) < SAMPLE and not final:
        return None
    return _guess(head[:SAMPLE])


def _guess(head: bytes) -> str:
    """By where the zeros are: most characters of a log are ASCII."""
    if len(head) <= 8:
        return ""
    a, b, c, d = (head[i::4].count(0) / len(head[i::4]) for i in range(4))
    if min(c, d) > 0.9 and a < 0.1:
        return "utf-32-le"
    if min(a, b) > 0.9 and d < 0.1:
        return "utf-32-be"
    if min(b, d) > 0.6 and max(a, c) < 0.1:
        return "utf-16-le"
    if min(a, c) > 0.6 and max(b, d) < 0.1:
        return "utf-16-be"
    return ""


class Decoder:
    """Turns the bytes of one source into UTF-8. ``narrow`` once it is clear that there is nothing to do."""

    def __init__(self) -> None:
        self.encoding: str | None = None
        self.narrow = False
        self.bytes_seen = 0
        self.replaced = 0
        self.narrow_lines = 0
        self._held = b""
        self._long = False

    def feed(self, chunk: bytes) -> bytes:
        """The next bytes as UTF-8. A few are held back until it is clear what they are."""
        self.bytes_seen += len(chunk)
        if self.narrow:
            return chunk
        data = self._held + chunk
        if self.encoding is None:
            self.encoding = wide_encoding(data)
            if self.encoding is None:
                self._held = data
                return b""
            self._begin()
            if not self.encoding:
                return data
        return self._wide(data)

    def close(self) -> bytes:
        """What was still held back."""
        data, self._held = self._held, b""
        if self.encoding is None:
            self.encoding = wide_encoding(data, final=True) or ""
            self._begin()
        if self.narrow:
            return data
        return self._wide(data) + self._text(self._take_held(), final=True)

    def notes(self) -> list[str]:
        """What a reader of offsets and counts should know."""
        if not self.encoding:
            return []
        mixed = f"; {self.narrow_lines} line(s) in it are plain text" if self.narrow_lines else ""
        return [f"read as {self.encoding}{mixed}; offsets count its UTF-8 form"]

    def _begin(self) -> None:
        self._held = b""
        self.narrow = not self.encoding
        if self.encoding:
            self._reset()
            self._skip_mark = True

    def _reset(self) -> None:
        self._decoder = codecs.getincrementaldecoder(self.encoding or "utf-8")(errors="replace")

    def _take_held(self) -> bytes:
        data, self._held = self._held, b""
        return data

    def _wide(self, data: bytes) -> bytes:
        """Decodes whole lines, among them those that somebody appended in UTF-8 (``>>`` does not ask what is there)."""
        end = data.rfind(b"\n") + 1
        if end:
            while end < len(data) and not data[end] and self.encoding in ("utf-16-le", "utf-32-le"):
                end += 1  # the newline's own zeros, so that it counts at once
        out, self._held = self._lines(data[:end]), data[end:]
        if len(self._held) > MAX_PIECE or (self._long and self._held):
            self._long = True
            out += self._text(self._take_held())
        return out

    def _lines(self, data: bytes) -> bytes:
        if not data:
            return b""
        if self._long or not _NARROW_RUN.search(data):
            first = data.find(b"\n") + 1 if self._long else len(data)
            self._long = False
            rest = data[first:]
            return self._text(data[:first]) + (self._lines(rest) if rest else b"")
        out = b""
        at = 0
        pieces: list[bytes] = []
        while at < len(data):
            end = data.find(b"\n", at) + 1 or len(data)
            line = _NARROW_LINE.fullmatch(data, at, end) if end - at <= MAX_PIECE else None
            if line is None:
                pieces.append(data[at:end])
            else:
                out += self._text(b"".join(pieces) + line[1], final=True) + line[2]
                self._reset()
                self.narrow_lines += 1
                pieces = []
            at = end
        return out + self._text(b"".join(pieces))

    def _text(self, data: bytes, *, final: bool = False) -> bytes:
        text = self._decoder.decode(data, final)
        if self._skip_mark and text:
            text, self._skip_mark = text.removeprefix("\ufeff"), False
        if "\ufffd" in text:
            self.replaced += text.count("\ufffd")
        return text.encode(errors="replace")
