"""Peel the envelopes off a log line: the prefixes that transports, launchers and loggers put before a message.

`peel` removes what it knows from the front of one line, layer by layer, and keeps what the layers told: time, level, node,
container, component, process, rank, GPU. The message keeps its own leading spaces, because tracebacks mean something by them.
Whole-line JSON envelopes are `json_line.decode_json_line`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .base import Peeled, Peeler
from .clean import glued_log, last_state, strip_escapes
from .dispatch import FINAL, OUTERMOST, TRUSTED, candidates, strong, trusted, weak
from .pastes import label, names

__all__ = ["FINAL", "OUTERMOST", "TRUSTED", "Peeled", "Peeler", "label", "names", "peel"]

MAX_LAYERS = 12
"""Deeper nesting than any real log has; a bound, so that hostile input costs little."""

KNOWN_LENGTH = 1000
"""Characters of lines whose peeling is remembered for a while."""

MAX_INDENT = 12
"""A known prefix may be indented, as in logs quoted in Markdown or in Ray's 'last lines of the log'."""


def peel(text: str, hint: list[str] | None = None) -> Peeled:
    """Strip the prefixes of one line (without its newline).

    ``hint`` names layers that every line of the source is known to carry. It matters only for `TRUSTED` layers, whose
    prefixes look like prose (``3: text``): without a hint they are peeled only where the rest of the line proves them; and
    for `OUTERMOST` ones. A hint must be a property of the source; taking it from whatever line came before would make results
    depend on history.
    """
    if len(text) > KNOWN_LENGTH:
        return _peel(text, hint)
    return _known(text, tuple(hint or ())).copy()


@lru_cache(maxsize=1024)
def _known(text: str, hint: tuple[str, ...]) -> Peeled:
    """The first lines of a log are peeled once for its layout and once for what they say, and a flood repeats itself."""
    return _peel(text, hint)


def _peel(text: str, hint: Sequence[str] | None) -> Peeled:
    text = strip_escapes(text)
    if text[-1:] in ("\r", "\n"):
        text = text.rstrip("\r\n")
    if text[:1] == "\ufeff":
        text = text[1:]
    if "\r" in text:
        return _overwritten(text, hint)
    peeled = Peeled(text)
    if hint:
        for name in hint:
            if name in OUTERMOST:
                OUTERMOST[name].peel(peeled)
    _run(peeled, hint)
    return peeled


def _overwritten(text: str, hint: Sequence[str] | None) -> Peeled:
    """A line that carriage returns overwrote: its last state counts, under the prefixes of its beginning."""
    peeled = Peeled(text)
    _run(peeled, hint)
    start, state = last_state(peeled.text)
    if not state:
        peeled.text = start
        return peeled
    inner = Peeled(state)
    _run(inner, hint)
    if inner.layers and start.strip():
        return inner  # two whole lines: the later one has prefixes of its own
    peeled.text = state
    if not FINAL.intersection(peeled.layers):
        _run(peeled, hint)
    return peeled


def _run(peeled: Peeled, hint: Sequence[str] | None) -> None:
    """Apply peelers until none fits, the message is reached, or the bound is met."""
    while peeled.text and len(peeled.layers) < MAX_LAYERS:
        if not (_step(peeled, hint) or _indented(peeled) or _after_bar(peeled)):
            return
        if peeled.layers[-1] in FINAL:
            return


def _step(peeled: Peeled, hint: Sequence[str] | None) -> bool:
    for peeler in candidates(peeled.text):
        if peeler.peel(peeled):
            return True
    if hint:
        for name in hint:
            known = trusted(name)
            if known is not None and known.name not in peeled.layers and known.peel(peeled):
                return True
    return weak(peeled)


def _indented(peeled: Peeled) -> bool:
    """Peel an unambiguous prefix behind a few spaces or a tab; otherwise these belong to the message."""
    text = peeled.text
    if text[0] not in " \t":
        return False
    stripped = text.lstrip(" \t")
    if not stripped or len(text) - len(stripped) > MAX_INDENT or not (stripped[0] in "([" or stripped[0].isdigit()):
        return False
    peeled.text = stripped
    if strong(peeled):
        return True
    peeled.text = text
    return False


def _after_bar(peeled: Peeled) -> bool:
    """Drop a progress bar to which a log line with a known prefix is glued."""
    end = glued_log(peeled.text)
    if not end:
        return False
    text = peeled.text
    peeled.text = text[end:]
    if strong(peeled):
        return True
    peeled.text = text
    return False
