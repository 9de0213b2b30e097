"""Fingerprints for people who look things up, and for those who write their own."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from .common import EXIT_ERROR, fingerprints_option, open_catalogue, print_text, terminal_width, use_color


@click.command()
@click.argument("fingerprint_id", metavar="ID")
@fingerprints_option
def explain(fingerprint_id: str, directories: Sequence[str]) -> None:
    """Tell all that is known of a fingerprint: meaning, messages, remedies."""
    from ..outputs.card import render_card

    catalogue = open_catalogue(directories)
    if fingerprint_id not in catalogue:
        from difflib import get_close_matches

        near = get_close_matches(fingerprint_id, list(catalogue.fingerprints), 3)
        hint = f"; did you mean {', '.join(near)}?" if near else "; see `vllm-crashsig catalogue list`"
        raise click.BadParameter(f"no fingerprint is called {fingerprint_id!r}{hint}", param_hint="ID")
    print_text(render_card(catalogue, fingerprint_id, width=terminal_width(), color=use_color("auto")))


@click.group()
def catalogue() -> None:
    """Look at fingerprints and check your own."""


@catalogue.command("list")
@click.option("--area", metavar="AREA", help="Only this area (host, shm, gpu, ray, vllm, ...).")
@click.option("--role", metavar="ROLE", help="Only this role (root, cascade, ...).")
@fingerprints_option
def list_fingerprints(area: str | None, role: str | None, directories: Sequence[str]) -> None:
    """List fingerprints: id, role, severity, title."""
    found = open_catalogue(directories)
    rows = [f for f in found if area in (None, found.areas[f.id]) and role in (None, f.role)]
    if not rows:
        raise click.UsageError("No fingerprint is of that area and role; run `vllm-crashsig catalogue list` to see all.")
    width = max(len(f.id) for f in rows)
    print_text("".join(f"{f.id:{width}}  {f.role:8}  {f.severity:8}  {f.title}\n" for f in rows))


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
    from ..lint import lint_directories

    problems, count = lint_directories(directories)
    for problem in problems:
        click.echo(str(problem), err=True)
    if problems:
        click.echo(f"{len(problems)} problem(s) in {count} fingerprints", err=True)
        sys.exit(EXIT_ERROR)
    print_text(f"{count} fingerprints are sound\n")


@catalogue.command("docs")
@click.option("--output", "-o", metavar="FILE", help="Write the page to FILE (default: print it).")
def docs(output: str | None) -> None:
    """Print the built-in fingerprints as one Markdown page: causes, messages, versions, first remedies."""
    from ..outputs.catalogue_docs import render_catalogue_docs

    page = render_catalogue_docs(open_catalogue(()))
    if output is None:
        print_text(page)
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
    from ..schemas import schema_text

    print_text(schema_text(what))
