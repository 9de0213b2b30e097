"""How a pasted or exported log is laid out: numbered or indented, labelled on every line, hard-wrapped by a terminal, or newest
line first. All of this shows only where many lines are seen together."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from .envelopes import FINAL, TRUSTED, Peeled, label, names, peel
from .envelopes.clean import has_remains, visible_width
from .envelopes.labels import TRACEBACK_LIKE
from .envelopes.pastes import NUMBERED
from .framing import Frame
from .lazy import lazy
from .nested import add_told
from .nouns import dataclass, field
from .records import reader_for
from .unwrap import Unwrapper

HEAD_BYTES = 64 * 1024
"""Bytes at the beginning of a source that decide on its layout."""
LOOKED_AT = 200
"""Lines of it that are peeled for this."""
MIN_LINES = 12
"""Lines below which there must be no doubt at all."""
MIN_WIDTH = 60
MAX_WIDTH = 320
"""Columns that a terminal may have."""
USUAL_WIDTHS = frozenset((72, 76, 78, 79, 80, 90, 100, 110, 120, 132, 140, 150, 160, 180, 200, 220, 240))
"""Widths of which one or two full lines tell enough."""
FEW_LETTERS = 12
"""Different characters below which a line is a rule or a frame."""
WRAPPED_SHARE = 0.08
"""Share of lines that must fill the width exactly. In an unwrapped log next to none are as long as the longest."""
BEGUN_SHARE = 0.25
"""Share of the lines after full ones that may look like the beginning of a line."""
BACKWARD_SHARE = 0.9
"""Share of steps in time that must go backward in a log that is newest first."""
FEW_STEPS = 3
"""Steps in time of a short log that must all go backward, with a time on each of its lines."""
LABELLED_SHARE = 0.97
"""Share of lines that must carry a label, for it to be taken from all."""
TRIED = 60
"""Lines on which it is tried what stands behind a label that no peeler knows."""
LONGEST = 120
"""Characters of such a label."""
WRITERS = 16
"""Names of containers among the lines of one log."""
PROVEN = 3
"""Lines that must begin with a known header behind it."""

_WORD = lazy(r"[^\W_]")
_DIGITS = lazy(r"[0-9]+")
_SHAPES = (
    lazy(r"\[(?!(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL))[A-Za-z][^\]\n]{0,200}\]:? "),
    lazy(r"[A-Za-z][\w.~-]{0,252} [a-z][a-z0-9.-]{0,62} ", re.ASCII),
    lazy(r"[\w.@~-]{1,120}[:/][\w.:/@~-]{1,200}:? ", re.ASCII),
)
"""How a log of several writers names them: ``[gateway] ``, ``llm server `` (stern), ``llm-0:server ``, ``service/task/7d ``."""
_HUGGED = lazy(r"\[[A-Za-z][\w.-]{1,252}\]:\S")


@dataclass(frozen=True, slots=True)
class Layout:
    """``columns``: the width at which lines were cut (None: they were not). ``newest_first``: the last line comes first.
    ``labels``: the prefixes that each line has, as `envelopes.peel` takes them."""

    columns: int | None = None
    newest_first: bool = False
    labels: list[str] = field(default_factory=list)


def sniff_layout(head: bytes, *, whole: bool = False) -> Layout:
    """The layout that the first lines of a source show. whole: there is no more; else a cut-off last line is left out."""
    lines = [line.rstrip("\r") for line in head[:HEAD_BYTES].decode(errors="replace").split("\n")]
    if len(head) >= HEAD_BYTES or not (whole or head.endswith(b"\n")):
        lines = lines[:-1]
    lines = [line for line in lines if line.strip()][:600]
    labels = _listing(lines)
    bare = _laid_bare(head[:HEAD_BYTES], labels)
    if not labels:
        inside = any(line.told is not None for line in bare)  # then what stands between the records tells nothing
        labels = _labels([x for x in bare if not inside or (x.told is not None and _WORD.search(x.text) is not None)])
        if labels:
            bare = _laid_bare(head[:HEAD_BYTES], labels)
    return Layout(_columns(lines), _is_newest_first(bare, len(lines)), labels)


@dataclass(slots=True)
class _Bare:
    """A line with text, laid bare."""

    text: str
    told: dict[str, Any] | None
    """What its container tells of it."""
    place: tuple[int, int]
    peeled: Peeled


def _listing(lines: Sequence[str]) -> list[str]:
    """Numbers or an indentation in front of all lines."""
    numbers: list[int] = []
    for line in lines:
        number = _number(line)
        if number is None:
            break
        numbers.append(number)
    counted = 1 < len(numbers) == len(lines) and all(a < b for a, b in pairwise(numbers)) and numbers[0] > 0
    if counted and (len(lines) > 2 or numbers[1] == numbers[0] + 1):
        return ["numbered"]
    return ["indented"] if lines and all(line.startswith(("    ", "\t")) for line in lines) else []


def _number(line: str) -> int | None:
    match = NUMBERED.pattern.match(line)
    digits = match.group().strip(" |:\t") if match is not None else ""
    return int(digits) if digits else None


def _labels(bare: Sequence[_Bare]) -> list[str]:
    """Labels that stand on every line, inside of what a container tells of them: such as look like prose (``3: text``), or such
    as nobody knows, and then perhaps others in them."""
    found = _trusted([line.peeled for line in bare])
    if not found and len(bare) >= PROVEN:
        texts = [line.peeled.text for line in bare]
        if unknown := _named(texts) or _in_common(texts):
            return [unknown, *_trusted([peel(line.text, [unknown]) for line in bare])]
    return found


def _trusted(peeled: Sequence[Peeled]) -> list[str]:
    found = []
    unsaid = [p for p in peeled if p.text and FINAL.isdisjoint(p.layers)]
    """Lines of which the text may begin with a label."""
    for name in TRUSTED:
        if name == "bracketed" and any(_HUGGED.match(p.text) is not None for p in peeled):
            continue  # a host has a space behind it
        proven = sum(name in p.layers for p in peeled)
        if len(peeled) < FEW_STEPS and not proven:
            continue
        if proven + len(unsaid) < LABELLED_SHARE * len(peeled):
            continue
        labelled = proven + sum(name not in p.layers and TRUSTED[name].peel(Peeled(p.text)) for p in unsaid)
        if labelled > proven and labelled >= LABELLED_SHARE * len(peeled):
            found.append(name)
    return found


def _named(texts: Sequence[str]) -> str | None:
    """Names that no peeler knows of who wrote each line: a few, with the header of a known logger right behind them on some."""
    for shape in _SHAPES:
        if sum(shape.match(text) is not None for text in texts[:MIN_LINES]) < min(MIN_LINES, len(texts)) - 1:
            continue
        found = Counter(match.group() for text in texts if (match := shape.match(text)) is not None)
        if len(found) > WRITERS or found.total() < max(LABELLED_SHARE * len(texts), 2 * len(found)):
            continue
        name = names(found)
        shown = sum(_shows_itself(text, name) for text in texts[:TRIED])
        if shown >= PROVEN and shown > 2 * sum(map(_shows_itself, texts[:TRIED])):
            return name
    return None


def _in_common(texts: Sequence[str]) -> str | None:
    """A prefix of all lines that no peeler knows, with the header of a known logger, or a failure, right behind it on some."""
    prefix = _shared(sorted(_DIGITS.sub("0", text[:LONGEST]) for text in texts))
    if not prefix:
        return None
    best, most = None, max(PROVEN, 2 * sum(map(_shows_itself, texts[:TRIED])) + 1) - 1
    for name in (label(prefix[:end]) for end in range(1, len(prefix) + 1) if not prefix[end - 1].isalnum()):
        shown = sum("label" in peel(text, [name]).layers and _shows_itself(text, name) for text in texts[:TRIED])
        best, most = (name, shown) if shown > most else (best, most)
    return best


def _shows_itself(text: str, name: str = "") -> bool:
    peeled = peel(text, [name])
    return not FINAL.isdisjoint(peeled.layers) or TRACEBACK_LIKE.match(peeled.text) is not None


def _shared(ordered: Sequence[str]) -> str:
    """The longest prefix that enough of the sorted lines share."""
    window = max(2, math.ceil(LABELLED_SHARE * len(ordered)))
    pairs = [(ordered[at], ordered[at + window - 1]) for at in range(len(ordered) - window + 1)]
    same = (next((at for at, (a, b) in enumerate(zip(*pair, strict=False)) if a != b), min(map(len, pair))) for pair in pairs)
    length, at = max(((length, -at) for at, length in enumerate(same)), default=(0, 0))
    return ordered[-at][:length] if ordered else ""


def _columns(lines: Sequence[str]) -> int | None:
    if not lines or reader_for(lines[0].encode()) is not None:
        return None
    lengths = Counter(map(visible_width, lines))
    width = max(lengths)
    full = [line for line in lines if visible_width(line) == width and len(set(line)) >= FEW_LETTERS]
    few = len(lines) < MIN_LINES or len(full) < 4 or len(full) < WRAPPED_SHARE * len(lines)
    if not MIN_WIDTH <= width <= MAX_WIDTH or (few and width not in USUAL_WIDTHS):
        return None
    if few and any(map(has_remains, full)):  # that it fills a terminal's width with these is by chance
        return None
    # lines of a table or a banner fill the same width too, but they end in frames
    if not full or (len(full) > 3 and not _has_ragged_end(full)):
        return None
    wide = set(full)
    followers = [(line, after) for line, after in pairwise(lines) if line in wide]
    # what continues a cut line begins in the middle of something: not with an envelope, nor as the line before it does
    if few and followers and _stand_out(lines, width):
        return width
    begun = sum(_begins(line, after) for line, after in followers)
    if not followers or begun > BEGUN_SHARE * len(followers):
        return None
    doubtful = sum(_may_begin(line, after) for line, after in followers) if few else 0
    return width if not few or doubtful < len(followers) - begun or (doubtful >= FEW_STEPS and not begun) else None


def _has_ragged_end(full: Sequence[str]) -> bool:
    return len({line[-1] for line in full}) > 1 or full[0][-1].isalnum()


def _stand_out(lines: Sequence[str], width: int) -> bool:
    """Whether each line begins with an envelope but some, and these stand behind full ones."""
    bare = [not peel(line).layers and TRACEBACK_LIKE.match(line) is None for line in lines]
    return (
        any(bare)
        and not bare[0]
        and all(visible_width(line) == width for line, is_bare in zip(lines, bare[1:], strict=False) if is_bare)
    )


def _begins(line: str, after: str) -> bool:
    """Whether a line begins something new, rather than going on with the full one before it."""
    return peel(after).layers not in ([], ["quote"]) or after[:4] == line[:4] or after[0] in "{}[]"


def _may_begin(line: str, after: str) -> bool:
    """Whether it is as likely that it does."""
    return (
        after.startswith("  ")
        or (line[-1] in '.:|;")}]' and not after[0].isdigit())
        or (line[-1].islower() and after[0].isupper())
    )


def _is_newest_first(bare: Sequence[_Bare], lines: int) -> bool:
    times = list(_times(bare))
    known = [(time, clock) for time, clock in times if time is not None]
    steps = [b[0] - a[0] for a, b in pairwise(known) if a[1] == b[1] and a[0] is not None and b[0] is not None]
    moved = [step for step in steps if step]
    if len(moved) >= MIN_LINES - 4:
        return sum(step < 0 for step in moved) >= BACKWARD_SHARE * len(moved)
    return len(moved) >= FEW_STEPS and len(known) == len(times) and lines < LOOKED_AT and all(step < 0 for step in moved)


def _times(bare: Iterable[_Bare]) -> Iterator[tuple[float | None, str | None]]:
    """The times of lines, out of whatever holds them."""
    place: tuple[int, int] | None = None
    for line in bare:
        if line.place != place:  # the lines of one record have one time
            if line.told:
                add_told(line.peeled, line.told)
            yield line.peeled.time, line.peeled.clock
        place = line.place


def _laid_bare(head: bytes, labels: list[str]) -> list[_Bare]:
    """The first lines with text. labels: that all of them have."""
    unwrapper = Unwrapper()
    unwrapper.hint = labels or None
    found: list[_Bare] = []
    for frame in (unwrapper.unwrap(Frame(head, 1, 0)), unwrapper.finish()):
        for index in range(frame.count if frame is not None else 0):
            if frame is None or len(found) == LOOKED_AT:
                return found
            line = frame.line(index)
            if line.strip():
                text = line.decode(errors="replace")
                place = (frame.line_number(index), frame.line_offset(index))
                found.append(_Bare(text, frame.told(index), place, peel(text, labels or None)))
    return found
