"""What a terminal would not show: escape sequences, and the earlier states of a progress bar."""

from __future__ import annotations

import re

from ..framing import ESCAPES

_ESCAPES = re.compile(ESCAPES)

_PRINTED = r"(?:\^\[|#033|\\x1b|\\u001b|\\033|\u241b)\[[0-9;]{0,16}m"
"""The same colours after a tool has made the escape byte visible: cat -v, rsyslog (#033), repr, copies from a web page."""

_LOST = r"\[(?:[01](?:;[39]\d)?|0;0|[39]\d|0;[39]\d)m(?=[(\sA-Za-z\[]|$)"
"""Colours whose escape byte was lost altogether, as in logs pasted into issues: ``[1;36m(EngineCore_DP0 pid=1)[0;0m``."""


_MARKED = re.compile(rf"(?:{_PRINTED}|{_LOST})+")


def strip_escapes(text: str) -> str:
    """Remove terminal escape sequences, also in their printed and in their mutilated form."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "[" in text and ("[0" in text or "[1" in text or "[3" in text):
        text = _without_remains(text)
    return text


def _without_remains(text: str) -> str:
    """Without remains of colours at the beginning of a word or the end of one, so that no word of a message is put together."""
    return _MARKED.sub(lambda match: "" if _at_word_edge(text, match) else match.group(0), text)


def _at_word_edge(text: str, match: re.Match[str]) -> bool:
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    return not (before.isalnum() and after.isalnum())


def last_state(text: str) -> tuple[str, str]:
    """Split a line at carriage returns: what stood before the first one, and the last segment that is not blank."""
    segments = text.split("\r")
    for segment in reversed(segments[1:]):
        if segment.strip():
            return segments[0], segment
    return segments[0], ""


_BAR = re.compile(r"(?:it/s|s/it|B/s)(?:, [^\]]{0,200})?\]")


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
