"""Checks of fingerprints beyond their shape: patterns, examples, graph, taxonomy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from .catalogue import Catalogue
from .errors import CatalogueError, Location
from .facts import parse_fact
from .gate import gate_problem
from .literals import required_literals
from .load import TAXONOMY_FILE, load_catalogue
from .patterns import PatternTimeoutError, compile_pattern, foreign, search
from .places import builtin_directory
from .schema import Fingerprint, Indicator, capture_names, placeholders

SHORT = 3
"""Characters below which a literal is too common to gate on."""


def lint_directories(directories: Sequence[str | Path]) -> tuple[list[CatalogueError], int]:
    """All problems in these folders (none given: the built-in catalogue), and the number of fingerprints looked at."""
    problems: list[CatalogueError] = []
    folders = [Path(d) for d in directories]
    catalogue = load_catalogue(*folders, errors="collect", collected=problems)
    own = set(catalogue.fingerprints)
    if folders:
        own = {p.stem for folder in folders for p in folder.rglob("*.y*ml")} & own
    paths = {p.stem: p for folder in folders or [Path(builtin_directory())] for p in sorted(folder.rglob("*.y*ml"))}
    for fingerprint_id in sorted(own):
        problems.extend(lint_fingerprint(catalogue[fingerprint_id], catalogue, str(paths.get(fingerprint_id, fingerprint_id))))
    problems.extend(_titles(catalogue, own, paths))
    return problems, len(own)


def lint_fingerprint(fingerprint: Fingerprint, catalogue: Catalogue, path: str) -> Iterator[CatalogueError]:
    """Problems of one fingerprint."""
    for name, indicator in fingerprint.indicators.items():
        for message in _indicator(fingerprint, indicator):
            yield CatalogueError(message, Location(path, key=f"indicators.{name}"))
    for message in _whole(fingerprint, catalogue):
        yield CatalogueError(message, Location(path))


def _whole(fingerprint: Fingerprint, catalogue: Catalogue) -> Iterator[str]:
    if not fingerprint.is_failure and fingerprint.severity != "info":
        yield f"severity must be info for role {fingerprint.role}"
    entry = catalogue.taxonomy.get(fingerprint.base_id)
    if entry is None and fingerprint.is_failure:
        yield (
            f"{fingerprint.base_id!r} is not in the taxonomy; use one of its ids or a refinement with a dotted suffix, "
            f"or add it to a {TAXONOMY_FILE} in your folder"
        )
    if entry is not None and fingerprint.id == fingerprint.base_id and entry.role != fingerprint.role:
        yield f"role is {fingerprint.role}, but the taxonomy says {entry.role}"
    if fingerprint.successor and fingerprint.successor not in catalogue:
        yield f"successor {fingerprint.successor!r} does not exist"
    for name in sorted(set(placeholders(fingerprint.summary)) - set(fingerprint.facts)):
        yield f"the summary names the undeclared fact {name!r}"


def _indicator(fingerprint: Fingerprint, indicator: Indicator) -> Iterator[str]:
    try:
        compiled = compile_pattern(indicator.pattern, indicator.ignore_case)
    except CatalogueError as error:
        yield error.message
        return
    if not indicator.pattern.isascii():
        yield "the pattern holds non-ASCII characters; match around them with a class such as [^ ]"
    if found := foreign().search(indicator.pattern):
        yield f"{found.group(0)!r} is syntax that only one engine knows; write it another way"
        return
    literals: tuple[str, ...] = ()
    if indicator.slow is None and indicator.gate:
        if problem := gate_problem(indicator.pattern, indicator.ignore_case):
            yield f"the pattern cannot stand behind the gate ({problem}); change it or give `slow: reason`"
            return
        literals = required_literals(indicator.pattern, indicator.ignore_case)
        if short := [text for text in literals if len(text) < SHORT and not text.startswith("^")]:
            yield f"the gate would look for {short[0]!r}, which is too common; make the pattern say more"
    for text in indicator.examples.hit:
        try:
            match = search(compiled, text)
        except PatternTimeoutError:
            yield "the pattern runs out of time on its own example; remove nested or overlapping repeats"
            return
        if match is None:
            yield f"does not match its example {text[:80]!r}"
            continue
        for name in capture_names(indicator.pattern):
            value = match.groupdict().get(name)
            if value is not None and parse_fact(fingerprint.facts[name].type, value) is None:
                yield f"{name} captures {value[:40]!r}, which is no {fingerprint.facts[name].type}"
        plain = text.lower() if indicator.ignore_case else text
        if literals and not any(literal in plain for literal in literals):
            yield f"the gate misses its example {text[:80]!r} (it looks for {', '.join(map(repr, literals[:4]))})"
    for text in indicator.examples.miss:
        try:
            if search(compiled, text) is not None:
                yield f"matches what it must miss: {text[:80]!r}"
        except PatternTimeoutError:
            yield "the pattern runs out of time on its own example; remove nested or overlapping repeats"


def _titles(catalogue: Catalogue, own: set[str], paths: dict[str, Path]) -> Iterator[CatalogueError]:
    seen: dict[str, str] = {}
    for fingerprint in catalogue:
        before = seen.setdefault(fingerprint.title.lower(), fingerprint.id)
        if before != fingerprint.id and fingerprint.id in own:
            yield CatalogueError(
                f"has the same title as {before}", Location(str(paths.get(fingerprint.id, fingerprint.id)), key="title")
            )
