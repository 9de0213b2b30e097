"""The lists beside this file (``lists.txt``): what a crash id leaves out and what it knows, as data."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ..lazy import lazy

LISTS = Path(__file__).with_name("lists.txt")


@lru_cache(maxsize=1)
def sections() -> dict[str, tuple[str, ...]]:
    """The entries of each section."""
    found: dict[str, list[str]] = {}
    entries: list[str] = []
    for raw in LISTS.read_text(encoding="utf-8").splitlines():
        line = raw.partition("# ")[0].strip() if not raw.startswith("#") else ""
        if line.startswith("[") and line.endswith("]"):
            entries = found.setdefault(line[1:-1], [])
        elif line:
            entries.append(line)
    return {name: tuple(lines) for name, lines in found.items()}


@lru_cache(maxsize=32)
def names(section: str) -> frozenset[str]:
    """The entries of a section of plain names."""
    return frozenset(sections()[section])


@lru_cache(maxsize=32)
def matcher(section: str) -> re.Pattern[str]:
    """A pattern for ``fullmatch`` with the names of a section of regular expressions."""
    return lazy("|".join(f"(?:{entry})" for entry in sections()[section]))


@lru_cache(maxsize=32)
def below(section: str) -> re.Pattern[str]:
    """A pattern for ``match`` with the module paths of a section of files: those modules, and what is in them."""
    return lazy(rf"(?:{'|'.join(map(re.escape, sections()[section]))})(?=[/. >-]|$)")
