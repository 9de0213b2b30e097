"""What quoting and listing put in front of a line: Markdown and mail quotes, line numbers, the indentation of code."""

from __future__ import annotations

import re

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
