"""The answer as Markdown, for an incident channel or an issue."""

from __future__ import annotations

from collections.abc import Iterator

from ..report import Classification, Report, StepInfo
from . import words
from .escape import markdown_block, markdown_code, markdown_text


def render_markdown(report: Report, *, explain: bool = False, every: bool = False) -> str:
    """The report as GitHub-flavoured Markdown. Nothing from the log becomes markup."""
    return "\n".join(_report(report, explain, every and len(report.incidents) > 1)) + "\n"


def _report(report: Report, explain: bool, every: bool) -> Iterator[str]:
    if every:
        for number, (one, told) in enumerate(zip(report.of_each_incident(), words.restarts(report.incidents), strict=True), 1):
            yield f"# Incident {number}: {markdown_text(told)}"
            yield ""
            yield from _answer(one)
    else:
        yield from _answer(report)
    if not every and (len(report.incidents) > 1 or any(i.repeats > 1 for i in report.incidents)):
        yield "**Incidents in this log**"
        yield ""
        yield from (f"- {markdown_text(line)}" for line in words.restarts(report.incidents)[-10:])
        yield ""
    yield from _footer(report)
    if explain:
        yield "<details><summary>Trail</summary>"
        yield ""
        yield markdown_block(
            "\n".join(f"{n.action} {n.fingerprint}: {n.detail}" for n in report.trail) or "nothing matched", "text"
        )
        yield ""
        yield "</details>"


def _answer(report: Report) -> Iterator[str]:
    cause = report.cause
    title = markdown_text(words.headline(report))
    yield f"## {words.VERDICTS[report.verdict].capitalize()}: {title}"
    yield ""
    if cause is not None:
        yield from _cause(cause)
    for failure in report.unclassified[:5]:
        yield f"### Unknown failure {markdown_code(failure.crash_id)} (seen {failure.count} times)"
        yield ""
        place = f"{words.where(failure.evidence[0])}: " if failure.evidence else ""
        frames = ("\n  in " + " -> ".join(failure.frames[-3:])) if failure.frames else ""
        yield markdown_block(place + failure.headline + frames, "text")
        yield ""
    for told in words.silences(report):
        yield markdown_text(told)
        yield ""
    yield from _steps("What would settle it", report.settle)
    others, hurting = words.others(report)
    if others:
        yield "**Also considered:** " + ", ".join(f"{markdown_code(c.id)} ({c.confidence:.0%})" for c in others[:5])
        yield ""
    if hurting:
        yield "**Also hurts:** " + ", ".join(markdown_code(c.id) for c in hurting[:5])
        yield ""


def _cause(cause: Classification) -> Iterator[str]:
    yield f"**Cause:** {markdown_code(cause.id)} ({words.certainty(cause)}, severity {cause.severity})"
    yield ""
    yield markdown_text(" ".join(cause.summary.split()))
    yield ""
    yield "**Evidence**"
    yield ""
    quotes = []
    for evidence in words.evidence_to_show(cause, 4):
        times = f" (x{evidence.count})" if evidence.count > 1 else ""
        quotes.append(f"{words.where(evidence)}{times}: {evidence.text}")
    yield markdown_block("\n".join(q.replace("\n", " ") for q in quotes), "text")
    yield ""
    if cause.explains:
        yield "**Explains:** " + ", ".join(markdown_code(i) for i in cause.explains)
        yield ""
    if chain := words.chain(cause):
        yield "**Chain**"
        yield ""
        yield from (f"{number}. {markdown_text(link.removeprefix('-> '))}" for number, link in enumerate(chain, 1))
        yield ""
    if who := words.culprit(cause.culprit):
        yield f"**Where:** {markdown_text(who)}"
        yield ""
    for title, steps in (
        ("Do now", cause.remediation.immediate),
        ("Investigate", cause.remediation.investigate),
        ("Prevent", cause.remediation.prevent),
        ("Verify", cause.remediation.verify),
    ):
        yield from _steps(title, steps)
    if cause.references:
        yield "**References:** " + ", ".join(f"[{markdown_text(r.title)}]({r.url})" for r in cause.references)
        yield ""


def _steps(title: str, steps: list[StepInfo]) -> Iterator[str]:
    if not steps:
        return
    yield f"**{title}**"
    yield ""
    for number, step in enumerate(steps, 1):
        risk = "" if step.risk == "read-only" else f" *({step.risk})*"
        yield f"{number}. {markdown_text(' '.join(step.text.split()))}{risk}"
        if step.command:
            block = markdown_block(step.command, "sh")
            yield ""
            yield from ("   " + line for line in block.split("\n"))
            yield ""
    yield ""


def _footer(report: Report) -> Iterator[str]:
    coverage = report.coverage
    yield (
        f"<sub>vllm-crashsig {report.tool.version}, catalogue {report.tool.catalogue.hash[:12]}; "
        f"read {coverage.lines} lines, {coverage.bytes} bytes from {len(coverage.sources)} source(s)</sub>"
    )
    for cap in coverage.caps[:10]:
        yield f"- note: {markdown_text(cap)}"
