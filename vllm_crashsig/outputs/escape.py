"""Text from a log, made harmless: what it shows cannot move the cursor, hide itself, or become markup."""

from __future__ import annotations

import re
import textwrap
import unicodedata

from ..lazy import lazy

_ODD = lazy(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control characters (C0 without tab, C1), line and paragraph separators, bidirectional controls (Unicode TR 9), zero-width
and invisible characters, variation selectors, surrogates and tags."""


def plain(text: str) -> str:
    """One line in which every control, bidirectional or invisible character is shown as an escape; tabs become spaces."""
    return _ODD.sub(_escape, text.replace("\t", "    "))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group(0))
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clip(text: str, width: int) -> str:
    """The text in at most ``width`` columns, cut with an ellipsis."""
    if columns(text) <= width:
        return text
    out, used = [], 0
    for character in text:
        used += _columns_of(character)
        if used > width - 1:
            break
        out.append(character)
    return "".join(out).rstrip() + "…"


def clip_start(text: str, width: int) -> str:
    """The same, but cut at the beginning: of a path its end tells most."""
    if columns(text) <= width:
        return text
    return "…" + clip(text[::-1], width)[:-1][::-1].lstrip()


def wrap(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """The text in lines of at most ``width`` columns, with indents. Words break only where one alone is longer."""
    if text.isascii():
        return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    lines: list[str] = []
    line, gap = first, ""
    for word in text.split():
        left = word
        while columns(line + gap + left) > width:
            head = "" if gap else _fitting(left, width - columns(line))
            lines.append(line + head)
            line, gap, left = rest, "", left[len(head) :]
        line, gap = line + gap + left, " "
    return [*lines, line] if gap else lines


def _fitting(word: str, width: int) -> str:
    """The beginning of a word that fits, at least one character."""
    used = columns(word[:1])
    for index in range(1, len(word)):
        used += _columns_of(word[index])
        if used > width:
            return word[:index]
    return word


def columns(text: str) -> int:
    """Terminal columns that a text takes."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


_MARKUP = lazy(r"([\\`*_{}\[\]()<>#+!|~&$@^-])")


def markdown_text(text: str) -> str:
    """Plain text for a Markdown paragraph: no markup, links, mentions or HTML."""
    return _MARKUP.sub(r"\\\1", plain(text)).replace("\\@", "@\u2060").replace("://", ":\u2060//")


def markdown_code(text: str) -> str:
    """A Markdown code span that shows exactly this (one line)."""
    text = plain(text) or " "
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def markdown_block(text: str, language: str = "") -> str:
    """A fenced Markdown block that nothing inside can close."""
    body = "\n".join(plain(line) for line in text.split("\n"))
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", body)), default=0) + 1)
    return f"{fence}{language}\n{body}\n{fence}"
