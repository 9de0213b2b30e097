"""A pattern -> literals of which every match holds at least one: what the gate looks for.

The literals are derived from the regex itself (no hand-kept list of trigger words), so a line that holds none of them cannot
match. The derivation is the classic one of grep and RE2's prefilter: exact strings are multiplied along a sequence and
united over alternatives as long as they stay few; of the sets that a sequence offers, the most telling one is kept.

Hyperscan could gate on the regexes themselves, but its releases since Vectorscan 5.4.12 lose matches of some of them
(a literal behind ``x\\d+`` some bytes into the text); its pure literal matcher is simpler, exact and faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from .lazy import lazy
from .nouns import dataclass

MAX_STRINGS = 48
"""How many alternatives are multiplied out before a sequence is cut."""
MAX_LENGTH = 40
"""Longest literal that is built: a longer one tells no more."""
MIN_LENGTH = 2
"""Shortest literal that may stand for a pattern."""

_TOKEN = lazy(
    r"""(?P<escape>\\(?:[pP]\{[^}]*\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)) | (?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])
    | (?P<look>\(\?<?[=!]) | (?P<comment>\(\?\#[^)]*\)) | (?P<open>\((?:\?(?:P<\w+>|[a-zA-Z-]*:|>|<\w+>|P=\w+(?=\))))?)
    | (?P<close>\)) | (?P<anchor>[\^$]) | (?P<bar>\|) | (?P<repeat>(?:[*+?]|\{\d*,?\d*\})[?+]?) | (?P<any>\.)
    | (?P<literal>[^\\])""",
    re.VERBOSE | re.DOTALL,
)
COMMON = frozenset(
    {
        "EngineCore", "Worker", "APIServer", "raylet", "gcs_server", "INFO", "WARNING", "ERROR", "DEBUG", "Warning", "Error",
        "warning", "error", "NCCL", "vllm", "python",
    }
)  # fmt: skip
"""Words that the prefixes of ordinary lines hold: they tell next to nothing."""
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_BOUNDS = lazy(r"\{(\d*)(,?)(\d*)\}")
_SMALL_SET = lazy(r"\[(?P<members>(?:\\[^\w]|[^\]\\^-])+)\]")

_Strings = frozenset[str]


@dataclass(frozen=True, slots=True)
class _Info:
    """What is known of a part of a pattern."""

    exact: _Strings | None
    """All strings that it can match, where they are few."""
    required: _Strings | None
    """Strings of which every match holds at least one."""


_NOTHING = _Info(None, None)
_EMPTY = _Info(frozenset({""}), None)


class NoLiteralError(ValueError):
    """Some match of the pattern need hold no literal of at least MIN_LENGTH characters."""


@lru_cache(maxsize=65536)
def required_literals(pattern: str, ignore_case: bool = False) -> tuple[str, ...]:
    """Literals of which each match of the pattern holds at least one (lower case if ``ignore_case``).

    Raises NoLiteralError when there are none that are long enough.
    """
    tokens = [(str(m.lastgroup), m.group(0)) for m in _TOKEN.finditer(pattern)]
    info, _ = _alternatives(tokens, 0, ignore_case)
    found = _better(info.exact, info.required)
    if found is None or min(map(len, found)) < MIN_LENGTH:
        raise NoLiteralError(f"no literal of {MIN_LENGTH} characters or more is in every match")
    return tuple(sorted(_without_longer(found)))


def _alternatives(tokens: list[tuple[str, str]], at: int, fold: bool) -> tuple[_Info, int]:
    """Alternatives from ``at`` to the end or the closing parenthesis; also where that stands."""
    branches = []
    while True:
        info, at = _sequence(tokens, at, fold)
        branches.append(info)
        if at >= len(tokens) or tokens[at][0] == "close":
            return _union(branches), at
        at += 1  # the bar


def _sequence(tokens: list[tuple[str, str]], at: int, fold: bool) -> tuple[_Info, int]:
    parts: list[_Info] = []
    while at < len(tokens) and tokens[at][0] not in ("close", "bar"):
        kind, text = tokens[at]
        at += 1
        if kind == "look":
            at = _skip_group(tokens, at)
            continue
        if kind in ("anchor", "comment"):
            continue
        if kind == "open":
            inside_fold = fold or (text.endswith(":") and "i" in text[2:-1].partition("-")[0])
            info, at = _alternatives(tokens, at, inside_fold)
            at += 1
            if inside_fold and not fold:
                info = _NOTHING  # its literals are of any case, the others are not
            if text.startswith("(?P="):
                info = _NOTHING
        else:
            info = _atom(kind, text, fold)
        if at < len(tokens) and tokens[at][0] == "repeat":
            parts.extend(_repeated(info, tokens[at][1]))
            at += 1
        else:
            parts.append(info)
    return _concatenated(parts), at


def _skip_group(tokens: list[tuple[str, str]], at: int) -> int:
    depth = 1
    while depth and at < len(tokens):
        depth += (tokens[at][0] in ("open", "look")) - (tokens[at][0] == "close")
        at += 1
    return at


def _atom(kind: str, text: str, fold: bool) -> _Info:
    strings: Iterable[str] | None = None
    if kind == "literal":
        strings = [text]
    elif kind == "escape":
        letter = text[1]
        if letter in "bBAZzG":
            return _EMPTY
        if letter in _CONTROL:
            strings = [_CONTROL[letter]]
        elif letter in "xu" and len(text) > 2:
            strings = [chr(int(text[2:], 16))]
        elif not letter.isalnum():
            strings = [letter]
    elif kind == "set" and (match := _SMALL_SET.fullmatch(text)) is not None:
        members = match.group("members").replace("\\", "")
        strings = members if len(members) <= 4 else None
    if strings is None:
        return _NOTHING
    folded = frozenset(s.lower() if fold else s for s in strings)
    return _Info(folded, None) if all(s.isascii() for s in folded) else _NOTHING


def _repeated(info: _Info, repeat: str) -> list[_Info]:
    """The least number of copies, and then what may follow."""
    match = _BOUNDS.match(repeat)
    least = int(match.group(1) or 0) if match else {"*": 0, "+": 1, "?": 0}[repeat[0]]
    most_is_one = repeat[0] == "?" or (match is not None and match.group(3) == "1") or repeat.startswith("{1}")
    if least == 0:
        return [_Info(info.exact | {""}, None) if most_is_one and info.exact is not None else _NOTHING]
    return [info] * min(least, MAX_LENGTH) + ([] if most_is_one else [_NOTHING])


def _union(branches: list[_Info]) -> _Info:
    if len(branches) == 1:
        return branches[0]
    exact: _Strings | None = frozenset()
    required: _Strings | None = frozenset()
    for info in branches:
        exact = exact | info.exact if exact is not None and info.exact is not None else None
        best = _better(info.exact, info.required)
        required = required | best if required is not None and best is not None and _shortest(best) else None
    if exact is not None and len(exact) > MAX_STRINGS:
        exact = None
    return _Info(exact, required)


def _concatenated(parts: list[_Info]) -> _Info:
    run: _Strings = frozenset({""})
    best: _Strings | None = None
    whole = True
    for info in parts:
        product = {a + b for a in run for b in info.exact} if info.exact is not None else None
        if product is not None and len(product) <= MAX_STRINGS and max(map(len, product), default=0) <= MAX_LENGTH:
            run = frozenset(product)
            continue
        best = _better(best, run)
        if info.exact is not None:  # too many or too long together: begin anew with this part
            run = info.exact
        else:
            best = _better(best, info.required)
            run = frozenset({""})
        whole = False
    return _Info(run, None) if whole else _Info(None, _better(best, run))


def _shortest(strings: _Strings) -> int:
    return min(map(_telling, strings), default=0)


def _telling(text: str) -> int:
    """Characters that tell something."""
    return 1 if text.strip(" :(") in COMMON else len(text)


def _better(a: _Strings | None, b: _Strings | None) -> _Strings | None:
    """The set that tells more: its shortest string is longer; of equals, the one with fewer."""
    if a is None or b is None:
        return a if b is None else b

    def worth(strings: _Strings) -> tuple[float, int]:
        return min(_shortest(strings), 12) - len(strings) / 16, -len(strings)

    return a if worth(a) >= worth(b) else b


def _without_longer(strings: _Strings) -> _Strings:
    """Without strings that hold another one: finding the shorter is enough."""
    return frozenset(s for s in strings if not any(other != s and other in s for other in strings))
