"""Answers while a log is being written."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .common import (
    EXIT_OF_VERDICT,
    at_terminal,
    fingerprints_option,
    is_terminal,
    open_catalogue,
    print_text,
    terminal_width,
    use_color,
)

if TYPE_CHECKING:
    from ..report import Report, Update


class WithCommand(click.Command):
    """A command that takes all that follows ``--exec`` as it stands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        command: list[str] = []
        for index, word in enumerate(args):
            if word == "--":
                break
            if word == "--exec" or word.startswith("--exec="):
                command = [*([word.partition("=")[2]] if "=" in word else []), *args[index + 1 :]]
                if not command or not command[0].strip():
                    raise click.UsageError("--exec needs the command to run.", ctx)
                args = args[:index]
                break
        rest = super().parse_args(ctx, args)
        ctx.params["command"] = tuple(command)
        return rest


@click.command(cls=WithCommand)
@click.argument("paths", nargs=-1, metavar="[LOG]...")
@click.option(
    "--format", "-f", "format_name", type=click.Choice(["text", "json", "markdown"]), default="text",
    help="text (default), json (one object a line) or markdown.",
)  # fmt: skip
@click.option(
    "--case", "kind", type=click.Choice(["all", "file"]), default="all",
    help="What is a case: everything together (default), or every file.",
)  # fmt: skip
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Begin with the last N lines of files (default: all).")
@click.option("--exit-on-crash", is_flag=True, help="Stop when a failure is told and its consequences have come.")
@click.option("--echo", is_flag=True, help="Pass the log on, to standard error.")
@fingerprints_option
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour in text (see classify).")
@click.option("--width", type=click.IntRange(min=40), metavar="COLUMNS", help="Width of text (see classify).")
@click.option("--runtime", metavar="NAME", help="Where it runs, for the advice (see classify).")
@click.option("--redact/--no-redact", default=True, help="Mask tokens and passwords in quotes (default: mask).")
@click.option(
    "--exec", "command", metavar="COMMAND...", help="Run COMMAND and watch its output. All that follows belongs to it."
)
def watch(
    paths: Sequence[str],
    command: Sequence[str],
    format_name: str,
    kind: str,
    tail: int | None,
    exit_on_crash: bool,
    echo: bool,
    directories: Sequence[str],
    color: str,
    width: int | None,
    runtime: str | None,
    redact: bool,
) -> None:
    """Tell what killed it as soon as the log shows it, and refine that while more comes.

    \b
      docker logs -f vllm 2>&1 | vllm-crashsig watch
      vllm-crashsig watch server.log /var/log/kern.log
      vllm-crashsig watch --exec vllm serve Qwen/Qwen3-8B

    LOG may be a file (rotated, cut or not there yet), a folder or a quoted pattern (new files in them are found), a pipe, or -
    for standard input, which is watched when nothing is named. The final answer comes when standard input or the command
    ends, or with Ctrl-C; files alone are watched until then. A command's exit status counts unless it only shows logs.

    Exit status: as for classify, by the final answer (of several cases, by the worst).
    """
    if not paths and not command:
        if at_terminal():
            raise click.UsageError("Give a log file, pipe a log in, or run a command: vllm-crashsig watch --exec COMMAND...")
        paths = ("-",)
    from ..engine import Classifier
    from ..outputs.live import LiveWriter
    from ..watch import Wanted, Watcher

    writer = LiveWriter(format_name, width=width or terminal_width(), color=use_color(color))

    def tell(case: str | None, update: Update) -> None:
        if not print_text(writer.update(case, update)):
            raise BrokenPipeError

    output = None if sys.stdout is None else sys.stdout.fileno()
    wanted = Wanted(paths, command, tail, kind == "file", exit_on_crash, _pass_on if echo else None, output)
    watcher = Watcher(Classifier(open_catalogue(directories), redacted=redact, runtime=runtime), wanted, tell, _say)
    if is_terminal(sys.stderr):
        click.echo("vllm-crashsig: watching; Ctrl-C for the answer so far", err=True)
    answers = watcher.run()
    for name, report in answers:
        print_text(writer.final(name, report))
    sys.exit(_status([report for _, report in answers]))


def _status(reports: Sequence[Report]) -> int:
    verdicts = {report.verdict for report in reports}
    return next(
        (EXIT_OF_VERDICT[verdict] for verdict in ("crash", "unclassified") if verdict in verdicts), EXIT_OF_VERDICT["empty"]
    )


def _say(source: str, text: str) -> None:
    click.echo(f"vllm-crashsig: {source}: {text}", err=True)


def _pass_on(data: bytes) -> None:
    """To standard error, as far as somebody reads it."""
    if sys.stderr is not None:
        try:
            sys.stderr.buffer.write(data)
            sys.stderr.buffer.flush()
        except OSError:
            pass
