"""A report -> text for people or programs. Every writer takes the report alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import OptionError

if TYPE_CHECKING:
    from ..report import Report

FORMATS = ("text", "json", "markdown")


def render(
    report: Report, format_name: str, *, width: int = 100, color: bool = False, explain: bool = False, every: bool = False
) -> str:
    """The report in one of `FORMATS`, ending with a newline.

    width and color matter to ``text`` only; explain adds the trail of decisions, every tells each incident in full and not
    only the headline's (JSON always holds both). Raises OptionError for an unknown format.
    """
    if format_name == "text":
        from .text import render_text

        return render_text(report, width=width, color=color, explain=explain, every=every)
    writers: dict[str, Callable[[], str]] = {
        "json": lambda: report.model_dump_json(indent=2) + "\n",
        "markdown": lambda: _markdown(report, explain, every),
    }
    if format_name not in writers:
        raise OptionError(f"unknown format {format_name!r}; choose one of {', '.join(FORMATS)}")
    return writers[format_name]()


def _markdown(report: Report, explain: bool, every: bool) -> str:
    from .markdown import render_markdown

    return render_markdown(report, explain=explain, every=every)
