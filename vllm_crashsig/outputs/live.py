"""Answers while a log still flows: a few lines for each change, and the whole answer at the end.

Text is for people; JSON is one object a line (JSON Lines), with a key ``event``: ``update`` or ``final``.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

from ..report import SCHEMA_VERSION, EvidenceInfo, Report, Update
from . import render, words
from .escape import clip, clip_start, columns, markdown_code, markdown_text, plain

_STYLES = {"crash": "1;31", "degraded": "1;33", "healthy": "1;32", "unclassified": "1;35", "empty": "1;33"}
_INDENT = "    "


class LiveWriter:
    """Writes in one of the formats of `render`. width and color matter to ``text`` only."""

    def __init__(self, format_name: str, *, width: int = 100, color: bool = False) -> None:
        self._format = format_name
        self._width = max(width, 40)
        self._color = color

    def update(self, case: str | None, update: Update) -> str:
        """A change of the provisional answer. case: which one, where there are several."""
        if self._format == "json":
            return _line("update", case, update.model_dump(mode="json"))
        if self._format == "markdown":
            return "- " + _markdown(case, update) + "\n"
        return "\n".join(self._text(case, update)) + "\n"

    def final(self, case: str | None, report: Report) -> str:
        """The answer at the end."""
        if self._format == "json":
            return _line("final", case, {"report": report.model_dump(mode="json")})
        answer = render(report, self._format, width=self._width, color=self._color)
        if self._format == "markdown":
            return f"\n{f'# {markdown_text(case)}' + chr(10) * 2 if case else ''}{answer}"
        head = f"-- {clip_start(plain(case), self._width - 6)} --" if case else "-- final answer --"
        return f"\n{self._style(head, '2')}\n{answer}"

    def _text(self, case: str | None, update: Update) -> list[str]:
        evidence = _evidence(update)
        cause = update.classification
        parts = [_time(evidence), clip_start(plain(case), self._width // 2) + ":" if case else ""]
        head = "  ".join(p for p in parts if p)
        verdict = words.VERDICTS[update.verdict]
        told = _what(update)
        room = self._width - columns(head) - columns(verdict) - 4
        lines = [f"{head + '  ' if head else ''}{self._style(verdict, _STYLES[update.verdict])}  {clip(plain(told), room)}"]
        if cause is not None and update.verdict != "unclassified":
            lines.append(_INDENT + clip(plain(cause.title), self._width - len(_INDENT)))
        if evidence is not None:
            place = clip_start(plain(words.where(evidence)), self._width // 2)
            quote = clip(plain(evidence.text), max(self._width - len(_INDENT) - columns(place) - 2, 10))
            lines.append(f"{_INDENT}{self._style(place, '36')}  {quote}")
        lines += [_INDENT + clip(plain(line), self._width - len(_INDENT)) for line in _more(update)]
        return [line.rstrip() for line in lines]

    def _style(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._color else text


def _line(event: str, case: str | None, data: dict[str, Any]) -> str:
    return json.dumps({"event": event, "schema_version": SCHEMA_VERSION, "case": case, **data}, separators=(",", ":")) + "\n"


def _markdown(case: str | None, update: Update) -> str:
    evidence = _evidence(update)
    told = [f"{_time(evidence)}".strip(), f"{markdown_code(case)}:" if case else "", f"**{words.VERDICTS[update.verdict]}**"]
    told.append(markdown_text(_what(update)))
    if evidence is not None:
        told.append(f"({markdown_code(words.where(evidence))}: {markdown_code(clip(evidence.text, 200))})")
    told += [markdown_text(line) for line in _more(update)]
    return " ".join(part for part in told if part)


def _what(update: Update) -> str:
    """What the answer is, in a few words."""
    cause = update.classification
    if update.verdict == "unclassified" and update.unclassified is not None:
        return f"unknown failure {update.unclassified.crash_id}"
    if cause is not None:
        return f"{cause.id}  ({words.certainty(cause)})"
    return "what was seen before was survived" if update.verdict == "healthy" else ""


def _more(update: Update) -> list[str]:
    """Who it was, and what it broke; of an unknown failure without a line, what it is."""
    cause = update.classification
    if update.verdict == "unclassified" and update.unclassified is not None:
        return [] if update.unclassified.evidence else [update.unclassified.headline]
    if cause is None:
        return []
    who = words.culprit(cause.culprit)
    return [*([f"Where: {who}"] if who else []), *([f"Explains: {', '.join(cause.explains)}"] if cause.explains else [])]


def _evidence(update: Update) -> EvidenceInfo | None:
    if update.verdict == "unclassified" and update.unclassified is not None:
        return next(iter(update.unclassified.evidence), None)
    return next(iter(update.classification.evidence), None) if update.classification is not None else None


def _time(evidence: EvidenceInfo | None) -> str:
    """By the log's own clock."""
    if evidence is None or evidence.time is None:
        return ""
    if evidence.clock == "boot":
        return f"[{evidence.time:.3f}]"
    return f"{datetime.fromtimestamp(evidence.time, timezone.utc):%H:%M:%S}" + ("Z" if evidence.clock == "utc" else "")
