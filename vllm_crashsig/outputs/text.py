"""The answer for a person at a terminal: one screen."""

from __future__ import annotations

from collections.abc import Iterator

from ..report import Classification, Report, StepInfo
from . import words
from .escape import clip, clip_start, plain, wrap

_STYLES = {"bold": "1", "dim": "2", "red": "1;31", "yellow": "1;33", "green": "1;32", "cyan": "36", "magenta": "1;35"}
_VERDICT_STYLE = {"crash": "red", "degraded": "yellow", "healthy": "green", "unclassified": "magenta", "empty": "yellow"}


def render_text(report: Report, *, width: int = 100, color: bool = False, explain: bool = False, every: bool = False) -> str:
    """The report as lines of at most ``width`` columns (at least 40); commands are never wrapped."""
    writer = _Writer(max(width, 40), color)
    lines = writer.each(report, explain) if every and len(report.incidents) > 1 else writer.report(report, explain)
    return "\n".join(line.rstrip() for line in lines) + "\n"


class _Writer:
    def __init__(self, width: int, color: bool) -> None:
        self._width = width
        self._color = color

    def each(self, report: Report, explain: bool) -> Iterator[str]:
        """All incidents in full, in order of time."""
        alone = report.of_each_incident()
        for number, (one, told) in enumerate(zip(alone, words.restarts(report.incidents), strict=True), 1):
            yield self._style(clip(plain(f"Incident {number} of {len(alone)}  {told}"), self._width), "bold")
            yield from self._answer(one)
            yield ""
        yield from self._rest(report, incidents=False)
        if explain:
            yield from self._trail(report)

    def report(self, report: Report, explain: bool) -> Iterator[str]:
        yield from self._answer(report)
        yield from self._rest(report)
        if explain:
            yield from self._trail(report)

    def _answer(self, report: Report) -> Iterator[str]:
        cause = report.cause
        verdict = self._style(words.VERDICTS[report.verdict], _VERDICT_STYLE[report.verdict])
        if cause is not None and report.verdict in ("crash", "degraded"):
            certainty = f"({words.certainty(cause)})"
            apart = len(words.VERDICTS[report.verdict]) + len(cause.id) + len(certainty) + 4 > self._width
            yield f"{verdict}  {self._style(cause.id, 'bold')}" + ("" if apart else f"  {certainty}")
            if apart:
                yield from self._wrap(certainty)
        else:
            yield verdict
        yield from self._wrap(words.headline(report))
        if report.verdict == "unclassified":
            yield from self._unknown(report)
        for told in words.silences(report):
            yield ""
            yield from self._wrap(told)
        if cause is not None:
            yield from self._cause(cause, report)
        else:
            yield from self._steps("What would settle it", report.settle)

    def _cause(self, cause: Classification, report: Report) -> Iterator[str]:
        if report.verdict == "unclassified":
            yield from self._field("It broke", f"{cause.id}: {cause.title}")
        else:
            yield ""
            yield from self._wrap(cause.summary)
        yield self._heading("Evidence")
        for evidence in words.evidence_to_show(cause):
            times = f"  (x{evidence.count})" if evidence.count > 1 else ""
            place = clip_start(plain(words.where(evidence)), self._width - 2 - len(times))
            yield "  " + self._style(place, "cyan") + self._style(times, "dim")
            for line in _fold(plain(evidence.text), self._width - 4, 3):
                yield "    " + line
        if cause.explains:
            yield from self._field("Explains", ", ".join(cause.explains))
        if chain := words.chain(cause):
            yield self._heading("Chain")
            for link in chain:
                yield from wrap(plain(link), self._width, "  ", "     ")
        if who := words.culprit(cause.culprit):
            yield from self._field("Where", plain(who))
        steps = cause.remediation
        yield from self._steps("Do now", steps.immediate)
        yield from self._steps("What would settle it", report.settle)
        yield from self._steps("Check", steps.verify[:1])
        settled = {step.command for step in report.settle}
        further = [*(s for s in steps.investigate if s.command not in settled), *steps.prevent, *steps.verify[1:]]
        more = len(further)
        if more > 0:
            told = f"({more} more: vllm-crashsig explain {cause.id})"
            yield from (self._style(line, "dim") for line in wrap(told, self._width, "  ", "  "))
        others, hurting = words.others(report)
        if others:
            yield from self._field("Also considered", ", ".join(f"{c.id} ({c.confidence:.0%})" for c in others[:4]))
        if hurting:
            yield from self._field("Also hurts", ", ".join(c.id for c in hurting[:4]))

    def _unknown(self, report: Report) -> Iterator[str]:
        for failure in report.unclassified[:3]:
            yield self._heading(f"Unknown failure {failure.crash_id}" + (f"  (x{failure.count})" if failure.count > 1 else ""))
            if failure.evidence:
                yield "  " + self._style(clip_start(plain(words.where(failure.evidence[0])), self._width - 2), "cyan")
            for line in _fold(plain(failure.headline), self._width - 4, 3):
                yield "    " + line
            if failure.frames:
                yield from self._field("In", plain(" -> ".join(failure.frames[-3:])))
            if len(failure.chain) > 1:
                yield from self._field("Then", plain("; ".join(failure.chain[1:4])))
        if len(report.unclassified) > 3:
            yield f"  and {len(report.unclassified) - 3} more (--format json lists them)"

    def _rest(self, report: Report, incidents: bool = True) -> Iterator[str]:
        if incidents and (len(report.incidents) > 1 or any(i.repeats > 1 for i in report.incidents)):
            yield self._heading("Incidents in this log")
            told = words.restarts(report.incidents)
            for line in told[-5:]:
                yield "  " + clip(plain(line), self._width - 2)
            if len(told) > 5:
                yield f"  and {len(told) - 5} before (--all tells each)"
        if report.unclassified and report.verdict == "crash":
            ids = ", ".join(f.crash_id for f in report.unclassified[:3])
            yield from self._field("Also unexplained", f"{len(report.unclassified)} other failure(s): {ids}")
        for cap in report.coverage.caps[:4]:
            yield from self._field("Note", plain(cap))
        if report.coverage.undecodable:
            yield from self._field("Note", f"{report.coverage.undecodable} byte sequence(s) were not valid UTF-8")

    def _trail(self, report: Report) -> Iterator[str]:
        yield self._heading("Trail")
        if not report.trail:
            yield "  No fingerprint of a failure matched any line."
        for note in report.trail:
            yield from wrap(plain(f"{note.action:9} {note.fingerprint}: {note.detail}"), self._width, "  ", " " * 14)

    def _steps(self, title: str, steps: list[StepInfo]) -> Iterator[str]:
        if not steps:
            return
        yield self._heading(title)
        for number, step in enumerate(steps[:4], 1):
            label = f"{number}. "
            text = plain(step.text.replace("\n", " "))
            risk = "" if step.risk == "read-only" else f"  [{step.risk}]"
            yield from wrap(text + risk, self._width, "  " + label, "  " + " " * len(label))
            for line in (step.command or "").splitlines():
                yield "     " + self._style(plain(line), "bold")

    def _field(self, name: str, text: str) -> Iterator[str]:
        label = f"{name}: "
        lines = wrap(text, self._width, label, "  ") or [label]
        yield ""
        yield self._style(lines[0][: len(label)], "bold") + lines[0][len(label) :]
        yield from lines[1:]

    def _wrap(self, text: str) -> list[str]:
        return wrap(plain(" ".join(text.split())), self._width)

    def _heading(self, text: str) -> str:
        return "\n" + self._style(text, "bold")

    def _style(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._color and text else text


def _fold(text: str, width: int, lines: int) -> list[str]:
    """A quote over a few lines, cut in the middle of nothing: words may break, since logs hold long ones."""
    wrapped = wrap(text, width) or [""]
    if len(wrapped) > lines:
        wrapped = [*wrapped[: lines - 1], clip(wrapped[lines - 1] + " …", width)]
    return wrapped
