"""What a terminal, a browser or a chat would not show, or shows otherwise: escape sequences, entities, typographic characters;
and the earlier states of a progress bar."""

from __future__ import annotations

import re

from ..framing import ESCAPES
from ..lazy import lazy

_ESCAPES = lazy(ESCAPES)

_CODES = (0, 1, 2, 3, 4, 7, 9, 22, 23, 24, 27, 29, 39, 49, *range(30, 38), *range(40, 48), *range(90, 98), *range(100, 108))
"""Colours and styles that programs set in logs (ECMA-48 SGR)."""
_CODE = "0?(?:" + "|".join(map(str, sorted(_CODES, reverse=True))) + ")"
_WIDE = r"[34]8;(?:5;\d{1,3}|2;\d{1,3};\d{1,3};\d{1,3})"
_SGR = rf"\[(?:{_CODE}|{_WIDE})(?:;(?:{_CODE}|{_WIDE})){{0,5}}m"
_SHOWN = ("^[", "#033", "\\x1b", "\\u001b", "\\033", "\\e", "\u241b", "\ufffd", "\u2190")
_PRINTED = rf"(?:{'|'.join(map(re.escape, _SHOWN))})(?:{_SGR}|\[m)"
"""Colours after a tool has made the escape byte visible: cat -v, rsyslog (#033), repr, JSON, copies from a web page, a decoder
that did not expect it (U+FFFD), an old Windows console (an arrow)."""

_LOST = rf"(?:{_SGR}(?!\])|\[m(?=\[K))(?:\[K)?"
"""Colours whose escape byte was lost altogether, as in logs pasted into issues: ``[1;36m(EngineCore_DP0 pid=1)[0;0m``, or
grep's ``[01;31m[K``. ``[2m]`` is a duration of PromQL."""

_MARKED = lazy(rf"(?:{_PRINTED}|{_LOST})+")

_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#34;": '"', "&#39;": "'", "&#x27;": "'", "&apos;": "'", "&nbsp;": " ",
             "&#x2F;": "/", "&#124;": "|", "&amp;": "&"}  # fmt: skip
_ENTITY = lazy("|".join(map(re.escape, _ENTITIES)))
_TYPOGRAPHIC = {"\u00a0": " ", "\u202f": " ", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'}
"""What chats, mail programs and word processors make of spaces and quotes."""
_TYPED = str.maketrans(_TYPOGRAPHIC)

_ACTOR = lazy(r"\[address=[^\s,\]]{1,200}, pid=\d{1,10}\] ")
"""What xoscar, on which Xinference runs vLLM, writes into the middle of an exception that comes from another of its processes:
``RuntimeError: [address=0.0.0.0:37821, pid=37851] CUDA out of memory`` (xoscar backends/message.pyx: _AsCauseBase)."""

SPOILERS = (
    "[address=",
    *(f"{before}{code}m" for code in _CODES for before in "[;"),
    *(f"{before}0{code}m" for code in _CODES if code < 10 for before in "[;"),
    "[m[K",
    *(f"{ground};{kind};" for ground in (38, 48) for kind in (2, 5)),
    *(f"{shown}[m" for shown in _SHOWN),
    *_ENTITIES,
    *_TYPOGRAPHIC,
)
"""Some of these stand in every text that `plain_text` would change."""


def strip_escapes(text: str) -> str:
    """Remove terminal escape sequences, also in their printed and in their mutilated form, and what else stands in the middle
    of messages; and undo what pasting does."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "[" in text:
        at = text.find("m", 2)
        while at > 0:
            if text[at - 1] in "0123456789[":  # so does a colour end, and hardly a word
                text = _without_remains(text)
                break
            at = text.find("m", at + 1)
        if "[address=" in text:
            text = _ACTOR.sub("", text)
    if "&" in text:
        text = _ENTITY.sub(lambda match: _ENTITIES[match.group()], text)
    return text if text.isascii() else text.translate(_TYPED)


def visible_width(line: str) -> int:
    """How many columns a line takes in a terminal, if each character takes one."""
    return len(_ESCAPES.sub("", line).rstrip("\r"))


def has_remains(line: str) -> bool:
    """Whether a line shows colours that were made visible, as no terminal shows them."""
    plain = _ESCAPES.sub("", line)
    return "[" in plain and _without_remains(plain) != plain


def plain_text(text: bytes) -> bytes:
    """The same for many lines of UTF-8 at once, from which escape sequences are gone already. Lines stay lines."""
    return strip_escapes(text.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _without_remains(text: str) -> str:
    """Without remains of colours at the beginning of a word or the end of one, so that no word of a message is put together."""
    return _MARKED.sub(lambda match: "" if _at_word_edge(text, match) else match.group(0), text)


def _at_word_edge(text: str, match: re.Match[str]) -> bool:
    before, after = text[max(match.start() - 1, 0) : match.start()], text[match.end() : match.end() + 1]
    return not (before.isalnum() and after.isalnum())


def last_state(text: str) -> tuple[str, str]:
    """Split a line at carriage returns: what stood before the first one, and the last segment that is not blank."""
    segments = text.split("\r")
    for segment in reversed(segments[1:]):
        if segment.strip():
            return segments[0], segment
    return segments[0], ""


_BAR = lazy(r"(?:it/s|s/it|B/s)(?:, [^\]]{0,200})?\]")


def glued_log(text: str) -> int:
    """Offset of what follows a tqdm bar on the same line (``.. 0/15 [00:00<?, ?it/s]INFO 11-30 ..``), or 0.

    tqdm ends its bar with a carriage return only on the next update, so another thread's log line is glued to it.
    """
    if "it/s" not in text and "s/it" not in text and "B/s" not in text:
        return 0
    end = 0
    for match in _BAR.finditer(text):
        end = match.end()
        if end < len(text) and text[end] not in "\r ":
            return end
    return end if end < len(text) else 0
