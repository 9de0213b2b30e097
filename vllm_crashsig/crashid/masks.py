"""What changes from run to run, masked: in messages, and in names of functions."""

from __future__ import annotations

import re
from functools import lru_cache

from ..lazy import lazy
from .lists import matcher

MESSAGE = 200
"""Characters of a masked message that count: what comes later is lists and dumps."""

_ADDRESS = (lazy(r"0x[0-9a-fA-F]+"), "<addr>")
_MASKS = (
    _ADDRESS,
    (lazy(r"(?:/[\w.@+-]+){2,}"), "<path>"),
    (lazy(r"\b[0-9a-fA-F]{12,}\b"), "<hex>"),
    (lazy(r"\d+(?:\.\d+)*"), "<n>"),
    (lazy(r"\s+"), " "),
)
_QUOTED = lazy(r"(?<!\w)'(?:[^'\\]|\\.){0,400}'(?!\w)|\"(?:[^\"\\]|\\.){0,400}\"|`[^`]{0,400}`")
_PLAIN_NAME = lazy(r"[A-Za-z_]+(?:\.[A-Za-z_]+)*")
_SOURCE = r"[\w-]+\.(?:py|pyx|pxi|c|cc|cpp|cu|cuh|h|hpp|rs|go|java|js)"
_MESSAGE_MASKS = tuple(
    (lazy(pattern), placeholder)
    for pattern, placeholder in (
        (r"\s+", " "),
        (r"\{[^{}]{0,200}['\"\d][^{}]{0,200}\}", "<value>"),
        (r"<[\w.]+ object at 0x[0-9a-fA-F]+>", "<object>"),
        (r"0x[0-9a-fA-F]+", "<addr>"),
        (r"\b[a-z][a-z0-9+.-]*://[^\s'\",;)\]]+", "<url>"),
        (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<id>"),
        (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d\b)?", "<time>"),
        (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (rf"(?:\b[A-Za-z]:)?(?:[\w.@+%=~-]*[/\\])*({_SOURCE})(?::\d+)+", r"\1"),
        (r"(?:\b[A-Za-z]:)?(?<![\w.])[~.]{0,2}[/\\](?:[\w.@+%=-]+[/\\]?)+", "<path>"),
        (r"\b[\w.+-]+(?:/[\w.@+-]+)+", "<path>"),
        (r"\b(?:[\w-]+\.)*[A-Za-z][\w-]*:\d{2,5}\b", "<host>"),
        (r"\b(?:[\w-]+\.)+(?:local|internal|lan|svc|com|net|org|io|ai|cloud|edu|dev)\b", "<host>"),
        (r"\[[0-9a-fA-F:]*::?[0-9a-fA-F:.]*\](?::\d+)?|\b(?:[0-9a-fA-F]{1,4}:){3,}[0-9a-fA-F:]*", "<host>"),
        (r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b", "<host>"),
        (
            r"\b(?!\d+(?:\.\d+)?[eE][-+]?\d+\b)(?=[\w.-]*\d)(?=[\w.]*[A-Za-z])\w+(?:\.\w+)*(?:-[\w.]+)+\b|\b\d+(?:-\w+)+\b",
            "<name>",
        ),
        (r"\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,}\b", "<hex>"),
        (r"[-+]?\d+(?:[._]\d+)*(?:[eE][-+]?\d+)?(?:x\d+)*", "<n>"),
        (r"<n> ?(?:[KMGTP]i?B|kB|B|bytes?)\b", "<size>"),
        (r"<n> ?(?:[mun]?s|secs?|seconds?|min|minutes?|h|hours?|days?)\b", "<n>"),
        (r"[\[(] ?<n>(?:, ?<n>)*,? ?[\])]|<n>(?:, ?<n>)+", "<n>"),
    )
)


def mask(text: str) -> str:
    """The text with numbers, addresses and paths replaced by placeholders."""
    for pattern, placeholder in _MASKS:
        text = pattern.sub(placeholder, text)
    return text.strip()


def message_class(text: str, kind: str = "") -> str:
    """What a message says whoever it speaks of: no quoted names, numbers, sizes, shapes, times, paths, hosts and ids.

    kind: the exception. Of some the quoted name is what tells them apart ("No module named 'x'"): a plain one stays.
    """
    keep = matcher("told-names").fullmatch(kind.rpartition(".")[2]) is not None
    return _message_class(text[: 4 * MESSAGE].translate(_ZEROS), keep)


_ZEROS = str.maketrans("123456789", "000000000")
"""Which digits they are means nothing to the masks, so that a flood of like messages is masked once."""


@lru_cache(maxsize=4096)
def _message_class(text: str, keep: bool) -> str:
    def hidden(match: re.Match[str]) -> str:
        inside = match.group(0)[1:-1]
        return f"«{inside}»" if keep and _PLAIN_NAME.fullmatch(inside) else "<str>"

    text = _QUOTED.sub(hidden, text)
    for pattern, placeholder in _MESSAGE_MASKS:
        text = pattern.sub(placeholder, text)
    return text.strip(" .:")[:MESSAGE]


def telling_words(message: str) -> tuple[str, ...]:
    """Codes in a message that tell failures of one place apart."""
    return tuple(dict.fromkeys(m.group(0) for m in matcher("telling-words").finditer(message[: 4 * MESSAGE])))


_OPERATOR = lazy(r"operator\s*(?:<<|>>|<=|>=|<|>|->\*?|\(\))")
_LAMBDA = lazy(r"(?:::)?(?:\{lambda\(.*?\)#\d+\}|\{\{closure\}\}|\{closure#\d+\}|\$_\d+)")
_DECORATION = lazy(
    r"\s*\[clone[^\]]*\]|\[abi:\w+\]|(?:\.(?:isra|constprop|part|cold|lto_priv|localalias)(?:\.\d+)?)+|::h[0-9a-f]{16}$"
    r"|@plt|@@?[A-Z]\w+_[\d.]+$| ?\+ ?(?:0x)?[0-9a-f]+(?:/0x[0-9a-f]+)?$| const\b|\blts_\d+::|\b__1::|\b__cxx11::"
)
_INNERMOST = lazy(r"\((?!anonymous namespace\))[^()]*\)|<[^<>]*>")


def function_of(symbol: str) -> str:
    """A function's name from a native stack: without arguments, templates, offsets and the compiler's marks."""
    symbol = _LAMBDA.sub("", _OPERATOR.sub("operator", _DECORATION.sub("", symbol.strip())))
    for _ in range(12):  # from the innermost brackets outwards
        shorter = _INNERMOST.sub("", symbol)
        if shorter == symbol:
            break
        symbol = shorter
    symbol = symbol.strip()
    if " " in symbol and not symbol.startswith("(") and "operator" not in symbol and "(anonymous" not in symbol:
        symbol = symbol.rpartition(" ")[2]  # a return type before it
    return symbol
