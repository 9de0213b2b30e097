"""README.md and CONTRIBUTING.md say what is true: commands are run, Python is executed, pasted output is compared.

``python tests/test_readme.py`` writes the outputs anew. Kinds of fenced blocks:

- ``console``: ``$ command`` lines, each followed by what it prints (both streams);
- ``sh``: commands that are not run here; those of this package are parsed, make targets must exist;
- ``python``: executed; a ``text`` block right after it is what it prints;
- ``yaml`` whose first line is ``# path``: a file that the commands and programs find.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from vllm_crashsig import cli

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRIVATE = re.compile(r"/work/|/tmp/|\.\./|/root/\.(?!cache)|pypi\.org|pythonhosted|localhost:\d")
PROGRAM = "vllm-crashsig"


@dataclass(frozen=True)
class Block:
    """One fenced block; ``line`` is that of its fence."""

    document: str
    line: int
    kind: str
    body: str
    output: str | None = None
    """Of a ``python`` block: the body of the ``text`` block right after it."""

    @property
    def name(self) -> str:
        return f"{self.document}:{self.line}"


def blocks_of(document: str, text: str) -> list[Block]:
    matches = list(FENCE.finditer(text))
    found = []
    for match, after in zip(matches, [*matches[1:], None], strict=True):
        output = None
        if after and match.group(1) == "python" and after.group(1) == "text" and not text[match.end() : after.start()].strip():
            output = after.group(2)
        found.append(Block(document, text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2), output))
    return found


def blocks(*kinds: str) -> list[Block]:
    everything = [b for d in DOCUMENTS for b in blocks_of(d, (ROOT / d).read_text(encoding="utf-8"))]
    return [b for b in everything if b.kind in kinds]


def params(*kinds: str) -> list[object]:
    return [pytest.param(b, id=b.name) for b in blocks(*kinds)]


def furnish(folder: Path) -> None:
    """Fills a folder with what the documents speak of: the samples, their own files, and the command."""
    (folder / "samples").symlink_to(ROOT / "samples", target_is_directory=True)
    for block in blocks("yaml"):
        first = block.body.partition("\n")[0]
        if first.startswith("# "):
            path = folder / first[2:]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
    command = folder / ".bin" / PROGRAM
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m vllm_crashsig "$@"\n', encoding="utf-8")
    command.chmod(0o755)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("readme")
    furnish(path)
    return path


def commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a ``console`` block, each with what it is said to print."""
    parts = re.split(r"^\$ ", block.body, flags=re.MULTILINE)
    assert not parts[0].strip(), f"{block.name}: begin with `$ command`"
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts[1:])]


def shell(command: str, folder: Path) -> str:
    """What a command prints to both streams."""
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR", "NO_COLOR")}
    environment["PATH"] = f"{folder / '.bin'}{os.pathsep}{environment.get('PATH', '')}"
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=120, check=False,
    )  # fmt: skip
    return done.stdout.decode()


def execute(block: Block, folder: Path) -> str:
    """What a Python block prints."""
    printed = io.StringIO()
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(block.body, block.name, "exec"), {"__name__": "readme"})
    finally:
        os.chdir(before)
    return printed.getvalue()


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are written for a POSIX shell")


@needs_bash
@pytest.mark.parametrize("block", params("console"))
def test_commands_print_what_is_pasted(block: Block, folder: Path) -> None:
    for command, pasted in commands(block):
        assert shell(command, folder) == pasted, f"{block.name}: {command}: run python tests/test_readme.py"


@pytest.mark.parametrize("block", params("python"))
def test_programs_print_what_is_pasted(block: Block, folder: Path) -> None:
    assert execute(block, folder) == (block.output or ""), f"{block.name}: run python tests/test_readme.py"


def calls(line: str) -> Iterator[list[str]]:
    """Arguments of each call of this package's command in a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    call: list[str] | None = None
    for token in [*lexer, ";"]:
        if set(token) <= set("|;&<>()"):
            if call is not None:
                yield call
            call = None
        elif call is not None:
            call.append(token)
        elif token.rpartition("/")[2] == PROGRAM:
            call = []


def inline() -> Iterator[tuple[str, str]]:
    """Commands of this package in code spans of the running text."""
    for document in DOCUMENTS:
        text = FENCE.sub("", (ROOT / document).read_text(encoding="utf-8"))
        yield from ((document, span) for span in re.findall(r"`([^`\n]+)`", text) if span.startswith(PROGRAM + " "))


def parse(arguments: list[str]) -> None:
    """Raises UsageError for a verb or an option that does not exist."""
    verb, rest = (arguments[0], arguments[1:]) if arguments and arguments[0] in cli.main.commands else ("classify", arguments)
    if verb == "classify" and rest and re.fullmatch(r"[\w-]+", rest[0]) and not rest[0].startswith("-"):
        raise click.UsageError(f"{rest[0]} is neither a verb nor looks like a file")
    command = cli.main.commands[verb]
    while isinstance(command, click.Group) and rest and rest[0] in command.commands:
        command, rest = command.commands[rest[0]], rest[1:]
    assert not isinstance(command, click.Group), f"{verb}: no such command: {rest}"
    command.make_context(verb, list(rest))


def test_commands_that_are_not_run_are_understood() -> None:
    lines = [(b.name, line) for b in blocks("sh") for line in b.body.splitlines()]
    parsed = 0
    for name, line in [*lines, *inline()]:
        for arguments in calls(line):
            try:
                parse(arguments)
            except click.ClickException as error:
                pytest.fail(f"{name}: {line}: {error.message}")
            parsed += 1
    assert parsed >= 3


def test_make_targets_exist() -> None:
    text = "".join((ROOT / d).read_text(encoding="utf-8") for d in DOCUMENTS)
    told = set(re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {"demo", "test"} <= told <= targets


@pytest.mark.parametrize("document", [*DOCUMENTS, "CHANGELOG.md"])
def test_links_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert [link for link in links if not link.startswith("https://") and not (ROOT / link).exists()] == []
    assert [m.group(0) for m in PRIVATE.finditer(text)] == []


def test_every_key_of_a_fingerprint_is_told() -> None:
    from vllm_crashsig.schema import Condition, Fingerprint, Indicator, Step, StepIf, Unless

    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    told = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`\n]+)`", FENCE.sub("", text)))))
    for model in (Fingerprint, Indicator, Condition, Unless, Step, StepIf):
        keys = {field.alias or name for name, field in model.model_fields.items()}
        assert keys - told == set(), f"{model.__name__}: tell of them in CONTRIBUTING.md"


def test_modules_that_are_named_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## How the modules are layered")[2]
    told = re.findall(r"`(\w+)/?`", "".join(line.rpartition(" | ")[2] for line in text.splitlines() if line.startswith("| ")))
    package = ROOT / "vllm_crashsig"
    there = {p.stem for p in package.glob("*.py")} | {p.parent.name for p in package.glob("*/__init__.py")}
    assert told
    assert set(told) - there == set()


def test_the_demo_is_answered_as_its_sidecar_says() -> None:
    from corpus import SAMPLES, report, sidecar

    for name, entry in sidecar(SAMPLES / "demo").items():
        assert report(SAMPLES / "demo" / name).classifications[0].id in entry.expect


def rewrite(document: str, folder: Path) -> None:
    """Writes a document's pasted outputs anew."""
    path = ROOT / document
    text = path.read_text(encoding="utf-8")
    for block in blocks_of(document, text):
        if block.kind == "console":
            new = "".join(f"$ {command}\n{shell(command, folder)}" for command, _ in commands(block))
            text = text.replace(f"```console\n{block.body}```", f"```console\n{new}```")
        elif block.output is not None:
            head = f"```python\n{block.body}```\n\n```text\n"
            text = text.replace(f"{head}{block.output}```", f"{head}{execute(block, folder)}```")
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        furnish(Path(temporary))
        for one in DOCUMENTS:
            rewrite(one, Path(temporary))
