"""A summary -> text for a terminal, Markdown, or one HTML page that needs nothing else. Nothing from a log becomes markup."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..outputs.escape import clip, columns, markdown_text, plain
from .summary import Summary, top

VERDICTS = ("crash", "degraded", "unclassified", "healthy", "empty", "unreadable")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title. The first column and the last are words, those between are numbers."""

    title: str
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    left_out: int = 0
    """Rows that there are besides these."""


def headline(summary: Summary) -> str:
    """All cases by their verdict, on one line."""
    told = ", ".join(f"{summary.verdicts[v]:,} {v}" for v in VERDICTS if summary.verdicts[v])
    return f"{summary.cases:,} case{'s' if summary.cases != 1 else ''}" + (f": {told}" if told else "")


def tables(summary: Summary, limit: int | None) -> Iterator[Table]:
    """The tables that have rows, of ``limit`` rows at most. Of the weeks and versions the last ones are kept."""
    total = max(1, summary.causes.total())
    causes = [
        (c, f"{n:,}", f"{n / total:.0%}", summary.titles[c] + (" (a consequence)" if c in summary.consequences else ""))
        for c, n in summary.ranked_causes()
    ]
    yield from _table("Causes", ("cause", "cases", "share", "what it is"), causes, limit)
    for what, title, head in (
        ("weeks", "By week", "week"), ("versions", "By vLLM version", "version"), ("nodes", "By node or folder", "node"),
    ):  # fmt: skip
        rows = [(name, f"{count.total():,}", top(count)) for name, count in summary.ordered(what)]
        yield from _table(title, (head, "cases", "causes"), rows, limit, last=what != "nodes")
    unknown = [(u.crash_id, f"{u.cases:,}", f"{u.headline}  ({u.example})") for u in summary.unknown_groups()]
    heads = ("crash id", "cases", "headline (first case)")
    yield from _table("Failures that no fingerprint names, by crash id", heads, unknown, limit)
    count = summary.verdicts["unreadable"]
    yield from _table("Could not be read", ("case", "why"), summary.unreadable, limit, count=count)


def _table(
    title: str,
    heads: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    limit: int | None,
    *,
    last: bool = False,
    count: int = 0,
) -> Iterator[Table]:
    if rows:
        shown = rows if limit is None else rows[-limit:] if last else rows[:limit]
        yield Table(title, heads, shown, max(count, len(rows)) - len(shown))


def render_text(summary: Summary, *, width: int = 100, limit: int = 15) -> str:
    """For a terminal of so many columns."""
    lines = [headline(summary)]
    for table in tables(summary, limit):
        lines += ["", table.title]
        rows = [tuple(plain(cell) for cell in row) for row in table.rows]
        widths = [min(max(columns(row[i]) for row in rows), width // 2) for i in range(len(table.heads) - 1)]
        for row in rows:
            cells = [_pad(row[0], widths[0])]
            cells += [" " * (w - len(cell)) + cell for cell, w in zip(row[1:-1], widths[1:], strict=True)]
            lines.append(clip("  " + "  ".join([*cells, row[-1]]), width))
        if table.left_out:
            lines.append(f"  and {table.left_out:,} more")
    return "\n".join(lines) + "\n"


def _pad(text: str, width: int) -> str:
    text = clip(text, width)
    return text + " " * (width - columns(text))


def render_markdown(summary: Summary, *, limit: int = 100) -> str:
    """GitHub-flavoured Markdown."""
    lines = ["# Crash report", "", markdown_text(headline(summary)), ""]
    for table in tables(summary, limit):
        lines += [f"## {markdown_text(table.title)}", "", _md_row(table.heads)]
        lines.append("|" + "|".join("---:" if 0 < i < len(table.heads) - 1 else "---" for i in range(len(table.heads))) + "|")
        lines += [_md_row(row) for row in table.rows]
        lines += ["", f"and {table.left_out:,} more", ""] if table.left_out else [""]
    lines.append(f"<sub>{_footer(summary)}</sub>")
    return "\n".join(lines) + "\n"


def _md_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(markdown_text(clip(plain(cell), 300)) for cell in cells) + " |"


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#1c2024;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}
td,th{padding:.25rem .6rem;border-bottom:1px solid #d9dce0;text-align:left;vertical-align:top}
td{overflow-wrap:anywhere}td:first-child{font-family:ui-monospace,monospace}.n{text-align:right;white-space:nowrap}
footer,.more{color:#5d6670;font-size:.9rem}
@media(prefers-color-scheme:dark){body{color:#e6e8ea;background:#16181b}td,th{border-color:#33383e}footer,.more{color:#9aa3ad}}
"""


def render_html(summary: Summary, *, limit: int = 1000) -> str:
    """One page, without scripts or anything to load."""
    body = [f"<h1>Crash report</h1>\n<p>{html.escape(headline(summary))}</p>"]
    for table in tables(summary, limit):
        body.append(f"<h2>{html.escape(table.title)}</h2>\n<table>\n<thead>{_html_row(table.heads, 'th')}</thead>\n<tbody>")
        body += [_html_row(row, "td") for row in table.rows]
        body.append("</tbody>\n</table>")
        if table.left_out:
            body.append(f'<p class="more">and {table.left_out:,} more</p>')
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>Crash report</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n" + "\n".join(body)
        + f"\n<footer><p>{html.escape(_footer(summary))}</p></footer>\n</body>\n</html>\n"
    )  # fmt: skip


def _html_row(cells: Sequence[str], tag: str) -> str:
    kinds = [' class="n"' if 0 < i < len(cells) - 1 else "" for i in range(len(cells))]
    told = [f"<{tag}{kind}>{html.escape(plain(cell))}</{tag}>" for kind, cell in zip(kinds, cells, strict=True)]
    return f"<tr>{''.join(told)}</tr>"


def _footer(summary: Summary) -> str:
    return (
        f"vllm-crashsig {summary.version}, catalogue {summary.catalogue[:12]}; "
        f"read {summary.lines:,} lines, {summary.bytes:,} bytes"
    )


RENDERERS: dict[tuple[str, ...], Callable[[Summary], str]] = {
    (".html", ".htm"): render_html,
    (".md", ".markdown"): render_markdown,
}
"""Writers of reports by the suffix of the file."""
