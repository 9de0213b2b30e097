"""The lists beside this file (``lists.txt``): what a crash id leaves out and what it knows, as data."""

from __future__ import annotations

import os.path
import re
from functools import lru_cache

from ..lazy import lazy

LISTS = os.path.join(os.path.dirname(__file__), "lists.txt")


@lru_cache(maxsize=1)
def sections() -> dict[str, tuple[str, ...]]:
    """The entries of each section."""
    found: dict[str, list[str]] = {}
    entries: list[str] = []
    with open(LISTS, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for raw in lines:
        line = raw.partition("# ")[0].strip() if not raw.startswith("#") else ""
        if line.startswith("[") and line.endswith("]"):
            entries = found.setdefault(line[1:-1], [])
        elif line:
            entries.append(line)
    return {name: tuple(told) for name, told in found.items()}


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
