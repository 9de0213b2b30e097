"""The command: parse, build, run, exit code. Holds no policy of its own."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from . import plain
from .commands.catalogue import catalogue, explain
from .commands.common import (
    EXIT_ERROR,
    EXIT_OF_VERDICT,
    at_terminal,
    fingerprints_option,
    hush,
    is_terminal,
    open_catalogue,
    print_text,
    terminal_width,
    use_color,
)
from .commands.watch import watch
from .errors import CatalogueErrors, CrashsigError
from .version import __version__

EXIT_INTERRUPTED = 130


class DefaultGroup(click.Group):
    """A group whose first verb may be left out: then it is ``classify``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not at_terminal():
            args = ["classify"]
        elif args and args[0] not in self.commands and self._is_for_classify(args[0]):
            args = ["classify", *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"{args[0]!r} is neither a command nor an existing file.{hint}")
        return super().resolve_command(ctx, args)

    def _is_for_classify(self, first: str) -> bool:
        if first == "-" or (first.startswith("-") and first.split("=")[0] not in ("--help", "-h", "--version")):
            return True
        return os.path.exists(first) or "://" in first or any(c in first for c in "*?[")


@click.group(
    cls=DefaultGroup,
    invoke_without_command=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "--version", prog_name="vllm-crashsig")
def main() -> None:
    """What killed a vLLM deployment, from its logs.

    \b
      docker logs vllm 2>&1 | vllm-crashsig
      vllm-crashsig classify container.log dmesg.txt
      vllm-crashsig batch crashes/ --output results.jsonl

    Exit status: 0 a crash was classified; 1 nothing failed; 3 a failure that no fingerprint knows;
    2 usage, input or catalogue error.
    """


@main.command()
@click.argument("paths", nargs=-1, metavar="[LOG]...")
@click.option("--format", "-f", "format_name", default="text", metavar="FORMAT", help="text (default), json or markdown.")
@fingerprints_option
@click.option("--all", "every", is_flag=True, help="Tell each incident in full, not only the last failure (json always does).")
@click.option("--explain", is_flag=True, help="Also tell how the answer came about, and why others did not.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour in text (default: on a terminal; NO_COLOR is heeded).",
)
@click.option(
    "--width",
    type=click.IntRange(min=40),
    default=None,
    metavar="COLUMNS",
    help="Width of text (default: the terminal's, at most 120).",
)
@click.option(
    "--exit-code",
    "--exit-status",
    "exit_status",
    type=click.IntRange(-64, 255),
    metavar="N",
    help="How the process or container ended (137, -9, 1), if you know: settles logs that just stop.",
)
@click.option(
    "--runtime",
    metavar="NAME",
    help="Where it ran, for the advice: docker, compose, k8s, swarm, podman, slurm, systemd or bare.",
)
@click.option("--redact/--no-redact", default=True, help="Mask tokens and passwords in quotes (default: mask).")
def classify(
    paths: Sequence[str],
    format_name: str,
    directories: Sequence[str],
    every: bool,
    explain: bool,
    color: str,
    width: int | None,
    redact: bool,
    exit_status: int | None,
    runtime: str | None,
) -> None:
    """Read logs of ONE case and name the root cause.

    LOG may be a file, a folder (every text file in it), a quoted pattern such as 'logs/**/*.log', an address such as
    s3://bucket/logs/ (with the extra "remote"), or - for standard input, which is also read when no LOG is given. gzip,
    bzip2, xz, zstd, tar and zip are looked into. Several logs are taken together: a container's log and the node's dmesg,
    for instance.
    """
    from .outputs import FORMATS, render

    if format_name not in FORMATS:
        raise click.BadParameter(f"{format_name!r} is not one of {', '.join(FORMATS)}.", param_hint="--format")
    if not paths and at_terminal():
        raise click.UsageError("Give a log file, or pipe a log in: docker logs vllm 2>&1 | vllm-crashsig")
    from .sources import open_paths

    sources = open_paths(paths or ("-",))
    catalogue = open_catalogue(directories)  # before anything that knows shapes: see `stored.cached_catalogue`
    from .api import classify_sources
    from .engine import Classifier

    classifier = Classifier(catalogue, redacted=redact, runtime=runtime)
    report = classify_sources(sources, classifier, exit_status=exit_status)
    text = render(report, format_name, width=width or terminal_width(), color=use_color(color), explain=explain, every=every)
    print_text(text)
    sys.exit(EXIT_OF_VERDICT[report.verdict])


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--output", "-o", metavar="FILE", help="Write a result for each case: FILE.jsonl, .csv or .parquet.")
@click.option("--report", metavar="FILE", help="Write the summary as a page too: FILE.html or .md.")
@click.option("--format", "-f", "format_name", type=click.Choice(["text", "json"]), default="text", help="Of the summary.")
@click.option(
    "--case",
    "kind",
    type=click.Choice(["file", "folder", "path"]),
    default="file",
    help="What is a case: every file (default), every folder right below PATH, or each PATH as a whole.",
)
@click.option("--jobs", "-j", type=click.IntRange(min=0), metavar="N", help="Processes (default: one for each processor).")
@click.option("--engine", type=click.Choice(["pool", "ray"]), default="pool", help="Work here, or on a Ray cluster.")
@click.option("--ray-address", metavar="ADDRESS", help="The cluster: host:port, ray://host:port or auto (default).")
@click.option("--ray-runtime-env", metavar="JSON", help="Runtime environment of the tasks, where the nodes lack this package.")
@click.option("--resume", is_flag=True, help="Go on with a batch that was broken off: skip what is finished.")
@click.option("--restart", is_flag=True, help="Throw away what a batch that was broken off had finished.")
@click.option("--keep-journal", is_flag=True, help="Leave FILE.journal: a later --resume reads only new or changed logs.")
@fingerprints_option
@click.option("--runtime", metavar="NAME", help="Where the servers ran (see classify), if it was the same place for all.")
@click.option("--redact/--no-redact", default=True, help="Mask tokens and passwords in quotes (default: mask).")
@click.option("--quiet", "-q", is_flag=True, help="Print neither progress nor summary.")
def batch(paths: Sequence[str], format_name: str, quiet: bool, **asked: Any) -> None:
    """Classify many cases and count their causes.

    Every file is a case, in folders too; an archive is one case. Results are kept in FILE.journal while the batch runs, and
    written to FILE, in the order of the cases, when it is done. What cannot be read is told and does not end the batch.

    Exit status: 0 the batch is done; 2 nothing could be done, or it broke off (finished cases are kept); 130 interrupted.
    """  # fmt: skip
    from .batch.command import batch_command

    text, status = batch_command(
        paths, format_name, terminal=sys.stderr if not quiet and is_terminal(sys.stderr) else None, width=terminal_width(),
        tell=lambda line: click.echo(f"vllm-crashsig: {line}", err=True), **asked,
    )  # fmt: skip
    if not quiet:
        print_text(text)
    sys.exit(status)


for verb in (watch, explain, catalogue):
    main.add_command(verb)


def run(arguments: Sequence[str] | None = None) -> int:
    """The entry point: runs the command and returns its exit status. Never lets a traceback reach the user."""
    stdout = sys.stdout
    try:
        main.main(args=list(arguments) if arguments is not None else None, standalone_mode=False)
    except SystemExit as stop:
        if sys.stdout is not stdout:  # click puts another one in its place when its reader went away
            return 0
        return stop.code if isinstance(stop.code, int) else 1
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help; older versions of click have no such error
            return _fail(error.format_message(), prefix="")
        command = getattr(getattr(error, "ctx", None), "command_path", "vllm-crashsig")
        return _fail(f"{error.format_message()} (help: {command} --help)")
    except CatalogueErrors as error:
        more = [f"and {len(error.errors) - 20} more mistakes"] if len(error.errors) > 20 else []
        return _fail(*map(str, error.errors[:20]), *more)
    except CrashsigError as error:
        return _fail(str(error))
    except BrokenPipeError:
        hush()
        return 0
    except OSError as error:  # what click itself prints finds no room, for instance
        if sys.stdout is not None:
            hush()
        return _fail(f"it cannot go on: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
    return 0


def _fail(*lines: str, prefix: str = "vllm-crashsig: ") -> int:
    """Tells what is wrong, if anybody can hear it. Returns the exit status."""
    try:
        for line in lines:
            click.echo(f"{prefix}{line}", err=True)
    except OSError:
        hush(sys.stderr)
    return EXIT_ERROR


def leave(status: int) -> NoReturn:
    """Ends the process without taking its thousands of objects to pieces first, which takes a tenth of a short run.

    As ever where something wants to be done at the end: a function that is registered for it, a thread to wait for.
    """
    if not getattr(atexit, "_ncallbacks", lambda: 1)() and threading.active_count() == 1:
        try:
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
            os._exit(status)
        except (OSError, ValueError):  # told as Python tells it
            pass
    sys.exit(status)


def entry() -> NoReturn:
    """What `__main__` starts."""
    plain.allow()
    gc.set_threshold(50_000, 20, 20)  # starting makes many objects that stay, and hardly any circles
    leave(run())
