"""The catalogue's patterns as other programs spell them. None of these has lookarounds: they are left out, so a rival's pattern
is no harder than ours."""

from __future__ import annotations

import re

from bare import Pattern

_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?[=!]|\(\?P<\w+>|\(\?[a-z]+:|\(\?:|\(|\)|[*+?}]\?|[^\\\[()*+?}]+|.", re.DOTALL
)


def _plain(pattern: str) -> list[str]:
    """The tokens of a pattern without lookarounds and names of groups."""
    found, depth = [], 0
    for token in _TOKEN.findall(pattern):
        if depth:
            depth += token.startswith("(") - (token == ")")
        elif token in ("(?=", "(?!", "(?<=", "(?<!"):
            depth = 1
        else:
            found.append("(?:" if token.startswith("(?P<") else token)
    return found


def rust(pattern: Pattern) -> str:
    """For ripgrep."""
    text, ignore_case = pattern
    return ("(?i)" if ignore_case else "") + "".join(_plain(text))


def posix(pattern: Pattern) -> str:
    """For GNU grep's extended expressions, which have neither digits by letter, nor laziness, nor case for one part alone."""
    out = []
    for token in _plain(pattern[0]):
        if token.startswith("["):
            out.append(_posix_set(token))
        elif token in (r"\d", r"\D"):
            out.append("[0-9]" if token == r"\d" else "[^0-9]")
        elif token.startswith("(?"):
            out.append("(")
        elif len(token) == 2 and token[0] in "*+?}" and token[1] == "?":
            out.append(token[0])
        else:
            out.append(token)
    return "".join(out)


_MEMBER = re.compile(r"(?:\\.|[^\\])-(?:\\.|[^\\])|\\.|.", re.DOTALL)
_CLASSES = {r"\d": "0-9", r"\w": "0-9A-Za-z_", r"\s": " \t", r"\S": "!-~", r"\n": "", r"\t": "\t"}


def _posix_set(token: str) -> str:
    """A set: there, a backslash stands for itself, ``]`` must come first and ``-`` last, and ``[`` must not begin a class."""
    negated = token.startswith("[^")
    members = [_CLASSES.get(m, m.replace("\\", "")) for m in _MEMBER.findall(token[2 if negated else 1 : -1])]
    ordered = sorted((m for m in members if m), key=lambda m: (m != "]", m == "[", m == "-"))
    return f"[{'^' if negated else ''}{''.join(ordered)}]" if ordered else "."


def yara(pattern: Pattern) -> str:
    """For YARA, whose anchors mean the whole file and are left out, and which does not mix lazy and greedy repeats."""
    out = []
    for token in _plain(pattern[0]):
        if token.startswith("["):
            members = re.sub(r"^(\[\^?)\]", r"\1\\]", token)
            out.append(members if r"\/" in members else members.replace("/", r"\/"))
        elif token.startswith("\\"):
            out.append(token)
        elif token.startswith("(?"):
            out.append("(")
        elif len(token) == 2 and token[0] in "*+?}" and token[1] == "?":
            out.append(token[0])
        else:
            out.append(re.sub(r"[$^]", "", token).replace("/", r"\/"))
    return f"/{''.join(out)}/{'i' if pattern[1] or '(?i' in pattern[0] else ''}"
