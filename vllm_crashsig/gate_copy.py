"""A pattern -> the gate's copy of it: matches wherever the pattern does, perhaps more, and costs less to scan for.

The gate sees raw lines, before any envelope is peeled, one byte for each character, many lines at a time. So:

- anchors and word boundaries, which mean the peeled text, are dropped, and lookarounds with them (they may hold anchors);
- upper bounds of repeats are dropped: each costs Hyperscan a state;
- negated classes do not run over line ends, which the judge's text does not have;
- wildcards at the beginning (``\\S+: line``) are dropped: what follows them ends at the same place, and they keep Hyperscan
  from looking for literals; an unbounded repeat at the end is cut to its least, or the gate would fire at each character.
"""

from __future__ import annotations

from functools import lru_cache

import regex

_TOKEN = regex.compile(
    r"""(?P<escape>\\(?:[pP]\{[^}]*\}|x[0-9a-fA-F]{2}|.)) | (?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])
    | (?P<look>\(\?<?[=!]) | (?P<open>\((?:\?(?:P<\w+>|[a-zA-Z-]*:|>|P=\w+(?=\))))?) | (?P<close>\))
    | (?P<anchor>[\^$]) | (?P<bar>\|) | (?P<repeat>(?:[*+?]|\{\d*,?\d*\})[?+]?) | (?P<any>\.) | (?P<literal>[^\\])""",
    regex.VERBOSE | regex.DOTALL,
)
_BOUNDARIES = frozenset({r"\A", r"\Z", r"\z", r"\b", r"\B"})
_WILD_ESCAPES = frozenset({r"\S", r"\w", r"\d", r"\s", r"\W", r"\D"})
_BOUNDS = regex.compile(r"\{(\d*),(\d*)\}")
_REFERENCE = regex.compile(r"\(\?P=|(?<!\\)\\[1-9]")


@lru_cache(maxsize=8192)
def gate_expression(pattern: str) -> str:
    """The gate's copy of a pattern."""
    tokens = _without_edges(pattern)
    if not _REFERENCE.search(pattern):  # a reference needs its group as it is
        tokens = _without_leading_wildcards(tokens)
    return "".join(text for _, text in _with_short_end(tokens))


_Tokens = list[tuple[str, str]]


def _without_edges(pattern: str) -> _Tokens:
    out: _Tokens = []
    dropping = 0  # depth of parentheses inside a dropped lookaround
    for match in _TOKEN.finditer(pattern):
        kind, text = str(match.lastgroup), match.group(0)
        if dropping:
            dropping += (kind in ("open", "look")) - (kind == "close")
        elif kind == "look":
            dropping = 1
        elif kind == "anchor" or text in _BOUNDARIES:
            continue
        elif kind == "set" and text.startswith("[^"):
            out.append((kind, r"[^\n" + text[2:]))
        elif kind == "repeat" and (bounds := _BOUNDS.match(text)):
            least = int(bounds.group(1) or 0)
            out.append((kind, "*" if least == 0 else "+" if least == 1 else f"{{{least},}}"))
        else:
            out.append((kind, text))
    return out


def _without_leading_wildcards(tokens: _Tokens) -> _Tokens:
    out: _Tokens = []
    leading = [True]  # for each open group: does what comes now stand at the beginning?
    entered = [True]  # the same at the beginning of each open group
    skip = False
    for index, (kind, text) in enumerate(tokens):
        if skip:
            skip = False
            continue
        repeated = index + 1 < len(tokens) and tokens[index + 1][0] == "repeat"
        wild = kind in ("any", "set") or text in _WILD_ESCAPES
        if kind == "open":
            entered.append(leading[-1])
            leading.append(leading[-1])
        elif kind == "close":
            inside = leading.pop()
            entered.pop()
            leading[-1] = leading[-1] and inside and not repeated
        elif kind == "bar":
            leading[-1] = entered[-1]
        elif wild and repeated and leading[-1]:
            skip = True
            continue
        elif kind != "repeat":
            leading[-1] = False
        out.append((kind, text))
    return out


def _with_short_end(tokens: _Tokens) -> _Tokens:
    end = len(tokens)
    while end and tokens[end - 1][0] == "close":
        end -= 1
    if end >= 2 and tokens[end - 1][0] == "repeat" and tokens[end - 2][0] in ("any", "set", "escape"):
        repeat = tokens[end - 1][1]
        if repeat[0] == "+":
            return tokens[: end - 1] + tokens[end:]
        if repeat[0] in "*?":
            return tokens[: end - 2] + tokens[end:]
    return tokens
