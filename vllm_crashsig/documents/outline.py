"""JSON and YAML as tools print them -> the place of each line in the document. Cut off ones are read as far as they go."""

from __future__ import annotations

from collections.abc import Sequence

from ..lazy import lazy
from ..nouns import dataclass

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line stands (its own key or index last), and its value if that is a plain one."""

    path: Path
    value: str | None = None


_JSON_LINE = lazy(r'\s*(?:"((?:[^"\\]|\\.)*)"\s*:\s*)?(.*?)\s*,?\s*$')
_YAML_KEY = lazy(r"""("[^"]*"|'[^']*'|[^\s:#'"&*!|>{}\[\]][^:]*?):(?:\s+(.*))?$""")
_BLOCK = lazy(r"[|>][+-]?\d?[+-]?$")


@dataclass(slots=True)
class _Bracket:
    """An object or a list of JSON that is open, and how far the list came."""

    path: Path
    is_list: bool
    index: int = -1


def json_outline(lines: Sequence[str]) -> list[Place]:
    """The places of the lines of pretty-printed JSON, which has one key or bracket on each."""
    brackets: list[_Bracket] = []
    places = []
    for line in lines:
        match = _JSON_LINE.match(line)
        key, rest = (match.group(1), match.group(2)) if match else (None, "")
        top = brackets[-1] if brackets else None
        if key is None and rest[:1] in ("}", "]", ""):
            places.append(Place(top.path if top else ()))
            if top and rest:
                brackets.pop()
            continue
        here: Path = ()
        if top is not None and top.is_list:
            top.index += 1
            here = (*top.path, top.index)
        elif top is not None:
            here = (*top.path, key or "")
        if rest in ("{", "["):
            brackets.append(_Bracket(here, rest == "["))
            places.append(Place(here))
        else:
            places.append(Place(here, _plain(rest)))
    return places


def yaml_outline(lines: Sequence[str]) -> list[Place]:
    """The places of the lines of block-style YAML, as kubectl prints it."""
    above: list[tuple[int, Path, bool]] = []
    """Keys and list items around a line: their columns, paths, and whether they are items."""
    counts: dict[Path, int] = {}
    places: list[Place] = []
    text_below: int | None = None
    for line in lines:
        content = line.lstrip(" ").rstrip()
        column = len(line) - len(line.lstrip(" "))
        if not content or content[0] == "#" or (text_below is not None and column > text_below):
            places.append(Place(places[-1].path if places else ()))  # a comment, or text of the key above
            continue
        text_below = None
        while content == "-" or content.startswith("- "):
            while above and (above[-1][0] > column or (above[-1][0] == column and above[-1][2])):
                above.pop()
            parent = above[-1][1] if above else ()
            counts[parent] = counts.get(parent, -1) + 1
            above.append((column, (*parent, counts[parent]), True))
            shorter = content[1:].lstrip(" ")
            column += len(content) - len(shorter)
            content = shorter
        match = _YAML_KEY.match(content)
        if match is None:
            places.append(Place(above[-1][1] if above else (), _plain(content)))
            continue
        while above and above[-1][0] >= column:
            above.pop()
        value = match.group(2) or ""
        here = (*(above[-1][1] if above else ()), _plain(match.group(1)) or "")
        above.append((column, here, False))
        text_below = column if _BLOCK.match(value) else None
        places.append(Place(here, _plain(value) if value and text_below is None else None))
    return places


def _plain(text: str) -> str | None:
    """A scalar without its quotes; None for brackets and for nothing."""
    if text[:1] in ("{", "[", "") or text == "null":
        return None
    return text[1:-1] if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] else text
