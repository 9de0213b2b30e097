"""The command: parse, build, run, exit code. Holds no policy of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .errors import CatalogueErrors, CrashsigError, OptionError
from .version import __version__

if TYPE_CHECKING:
    from .catalogue import Catalogue

EXIT_OF_VERDICT = {"crash": 0, "healthy": 1, "degraded": 1, "empty": 1, "unclassified": 3}
"""Contract: 0 a crash was classified; 1 nothing failed; 3 failure text that no fingerprint knows."""
EXIT_ERROR = 2
EXIT_INTERRUPTED = 130

T = TypeVar("T")


class DefaultGroup(click.Group):
    """A group whose first verb may be left out: then it is ``classify``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not _at_terminal():
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

    Exit status: 0 a crash was classified; 1 nothing failed; 3 failure text that no fingerprint knows;
    2 usage, input or catalogue error.
    """


def fingerprints_option(function: Callable[..., T]) -> Callable[..., T]:
    return click.option(
        "--fingerprints", "directories", metavar="DIR", multiple=True,
        help="Folder of more fingerprints (<area>/<id>.yaml): they add to the built-in ones, or replace those of the same id."
        " Repeatable.",
    )(function)  # fmt: skip


@main.command()
@click.argument("paths", nargs=-1, metavar="[LOG]...")
@click.option("--format", "-f", "format_name", default="text", metavar="FORMAT", help="text (default), json or markdown.")
@fingerprints_option
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
    from .outputs import FORMATS

    if format_name not in FORMATS:
        raise click.BadParameter(f"{format_name!r} is not one of {', '.join(FORMATS)}.", param_hint="--format")
    if not paths and _at_terminal():
        raise click.UsageError("Give a log file, or pipe a log in: docker logs vllm 2>&1 | vllm-crashsig")
    from .api import classify_sources
    from .engine import Classifier
    from .outputs import render
    from .sources import open_paths

    sources = open_paths(paths or ("-",))
    classifier = Classifier(_catalogue(directories), redacted=redact, runtime=runtime)
    report = classify_sources(sources, classifier, exit_status=exit_status)
    text = render(report, format_name, width=width or _width(), color=_color(color), explain=explain)
    _print(text)
    sys.exit(EXIT_OF_VERDICT[report.verdict])


@main.command()
@click.argument("fingerprint_id", metavar="ID")
@fingerprints_option
def explain(fingerprint_id: str, directories: Sequence[str]) -> None:
    """Tell all that is known of a fingerprint: meaning, messages, remedies."""
    from .outputs.card import render_card

    catalogue = _catalogue(directories)
    if fingerprint_id not in catalogue:
        from difflib import get_close_matches

        near = get_close_matches(fingerprint_id, list(catalogue.fingerprints), 3)
        hint = f"; did you mean {', '.join(near)}?" if near else "; see `vllm-crashsig catalogue list`"
        raise click.BadParameter(f"no fingerprint is called {fingerprint_id!r}{hint}", param_hint="ID")
    _print(render_card(catalogue, fingerprint_id, width=_width(), color=_color("auto")))


@main.group()
def catalogue() -> None:
    """Look at fingerprints and check your own."""


@catalogue.command("list")
@click.option("--area", metavar="AREA", help="Only this area (host, shm, gpu, ray, vllm, ...).")
@click.option("--role", metavar="ROLE", help="Only this role (root, cascade, ...).")
@fingerprints_option
def list_fingerprints(area: str | None, role: str | None, directories: Sequence[str]) -> None:
    """List fingerprints: id, role, severity, title."""
    found = _catalogue(directories)
    rows = [f for f in found if area in (None, found.areas[f.id]) and role in (None, f.role)]
    if not rows:
        raise click.UsageError("No fingerprint is of that area and role; run `vllm-crashsig catalogue list` to see all.")
    width = max(len(f.id) for f in rows)
    _print("".join(f"{f.id:{width}}  {f.role:8}  {f.severity:8}  {f.title}\n" for f in rows))


@catalogue.command("show")
@click.argument("fingerprint_id", metavar="ID")
@fingerprints_option
@click.pass_context
def show(ctx: click.Context, fingerprint_id: str, directories: Sequence[str]) -> None:
    """The same as `vllm-crashsig explain ID`."""
    ctx.invoke(explain, fingerprint_id=fingerprint_id, directories=directories)


@catalogue.command("lint")
@click.argument("directories", nargs=-1, metavar="[DIR]...")
def lint(directories: Sequence[str]) -> None:
    """Check the fingerprints in DIR (default: the built-in ones): shape, patterns, examples, references.

    Exit status 0 when all is well, 2 when something is wrong.
    """
    from .lint import lint_directories

    problems, count = lint_directories(directories)
    for problem in problems:
        click.echo(str(problem), err=True)
    if problems:
        click.echo(f"{len(problems)} problem(s) in {count} fingerprints", err=True)
        sys.exit(EXIT_ERROR)
    _print(f"{count} fingerprints are sound\n")


@catalogue.command("docs")
@click.option("--output", "-o", metavar="FILE", help="Write the page to FILE (default: print it).")
def docs(output: str | None) -> None:
    """Print the built-in fingerprints as one Markdown page: causes, messages, versions, first remedies."""
    from .outputs.catalogue_docs import render_catalogue_docs

    page = render_catalogue_docs(_catalogue(()))
    if output is None:
        _print(page)
        return
    try:
        with open(output, "w", encoding="utf-8", newline="\n") as file:
            file.write(page)
    except OSError as error:
        raise click.BadParameter(f"cannot write {output}: {error.strerror or error}", param_hint="--output") from None


@catalogue.command("schema")
@click.argument("what", type=click.Choice(["fingerprint", "report"]), default="fingerprint")
def schema(what: str) -> None:
    """Print the JSON Schema of a fingerprint file or of the JSON report."""
    from .schemas import schema_text

    _print(schema_text(what))


def run(arguments: Sequence[str] | None = None) -> int:
    """The entry point: runs the command and returns its exit status. Never lets a traceback reach the user."""
    try:
        main.main(args=list(arguments) if arguments is not None else None, standalone_mode=False)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        command = getattr(getattr(error, "ctx", None), "command_path", "vllm-crashsig")
        click.echo(f"vllm-crashsig: {error.format_message()} (help: {command} --help)", err=True)
        return EXIT_ERROR
    except CatalogueErrors as error:
        for mistake in error.errors[:20]:
            click.echo(f"vllm-crashsig: {mistake}", err=True)
        if len(error.errors) > 20:
            click.echo(f"vllm-crashsig: and {len(error.errors) - 20} more mistakes", err=True)
        return EXIT_ERROR
    except CrashsigError as error:
        click.echo(f"vllm-crashsig: {error}", err=True)
        return EXIT_ERROR
    except BrokenPipeError:
        _hush()
        return 0
    return 0


def entry() -> Any:
    """Console-script entry."""
    sys.exit(run())


def _catalogue(directories: Sequence[str]) -> Catalogue:
    from pathlib import Path

    from .cache import cached_catalogue
    from .catalogue import builtin_directory

    return cached_catalogue([builtin_directory(), *map(Path, directories)])


def _print(text: str) -> None:
    """Writes to standard output; a reader that went away is no error."""
    if sys.stdout is None:  # closed by the caller: the exit status is all that was wanted
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode(errors="replace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _hush()
    except OSError as error:
        _hush()
        raise OptionError(f"the answer cannot be written to standard output: {error.strerror or error}") from error


def _hush() -> None:
    """Keeps the interpreter from complaining about the broken pipe when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _at_terminal() -> bool:
    """Whether nothing is piped in."""
    return sys.stdin is None or sys.stdin.isatty()


def _width() -> int:
    return min(shutil.get_terminal_size((100, 24)).columns, 120)


def _color(when: str) -> bool:
    if when != "auto":
        return when == "always"
    return (
        sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )
