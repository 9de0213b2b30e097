"""What quoting and listing put in front of a line: Markdown and mail quotes, line numbers, the indentation of code, and
whatever else the lines of a source have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ..lazy import lazy
from ..nouns import dataclass
from .base import Peeled, Prefix

QUOTE = Prefix("quote", lazy(r"(?:> ?){1,6}"), lambda _match, _peeled: None)
"""``> text``."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A number or an indentation that every line of a source has in front (see `vllm_crashsig.layout`); anywhere else such a
    thing belongs to the message."""

    name: str
    pattern: re.Pattern[str]

    def peel(self, peeled: Peeled) -> bool:
        match = self.pattern.match(peeled.text)
        if match is None:
            return False
        peeled.layers.append(self.name)
        peeled.text = peeled.text[match.end() :]
        return True


NUMBERED = Listed("numbered", lazy(r" {0,8}\d{1,8}(?: \| ?| ?\t|: ?| {2})|$", re.ASCII))
"""``  12 | text``, ``12: text``, ``12:text``, ``    12<TAB>text``: bat, pull requests, grep -n, cat -n."""

INDENTED = Listed("indented", lazy(r" {4}|\t|\s*$"))
"""Four spaces or a tab: a block of code in Markdown."""

_LABEL, _NAMES = "label ", "names "


def label(prefix: str) -> str:
    """The name, among the labels of a layout, of a prefix that no peeler knows and every line of a source has. Its numbers may
    differ."""
    return _LABEL + prefix


def names(prefixes: Iterable[str]) -> str:
    """The same of some prefixes of which every line has one, each with the name of who wrote it."""
    return _NAMES + "\n".join(sorted(prefixes))


@dataclass(frozen=True, slots=True)
class Named:
    """One of some given prefixes, each the name of a container: ``[gateway] text``, ``llm server text``."""

    pattern: re.Pattern[str]
    name: str = "names"

    def peel(self, peeled: Peeled) -> bool:
        match = self.pattern.match(peeled.text)
        if match is None:
            return False
        if peeled.container is None:
            peeled.container = "/".join(match.group().strip(" []:|").split())
        peeled.layers.append(self.name)
        peeled.text = peeled.text[match.end() :]
        return True


@lru_cache(maxsize=64)
def labelled(name: str) -> Listed | Named | None:
    """The peeler of such prefixes; None where this is no such name.

    Their regexes are made of what stands in a log, so they are compiled here and not by `lazy`, which keeps them in the cache.
    """
    if name.startswith(_LABEL):
        prefix = name.removeprefix(_LABEL)
        return Listed("label", re.compile(f"{_numbered(prefix)}|{_numbered(prefix.rstrip())}\\s*$", re.ASCII))
    if name.startswith(_NAMES):
        each = name.removeprefix(_NAMES).split("\n")
        return Named(re.compile("|".join(f"{re.escape(prefix)}|{re.escape(prefix.rstrip())}$" for prefix in each)))
    return None


def _numbered(prefix: str) -> str:
    return "".join(r"\d+" if part.isdigit() else re.escape(part) for part in _NUMBERS.split(prefix) if part)


_NUMBERS = lazy(r"([0-9]+)")
