"""Captured text -> typed facts, and typed facts -> words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .lazy import lazy
from .model import FactValue
from .schema import PLACEHOLDER, Fact, FactType

_UNITS = {
    "": 1, "b": 1, "bytes": 1, "k": 1024, "kb": 1024, "kib": 1024, "m": 1024**2, "mb": 1024**2, "mib": 1024**2,
    "g": 1024**3, "gb": 1024**3, "gib": 1024**3, "t": 1024**4, "tb": 1024**4, "tib": 1024**4, "ki": 1024, "mi": 1024**2,
    "gi": 1024**3, "ti": 1024**4,
}  # fmt: skip
_SIZE = lazy(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_BYTES_OF = {"bytes": 1, "kib": 1024, "mib": 1024**2, "gib": 1024**3}
_SHELL_LITERAL = lazy(r"[\w@%+=:,./][\w@%+=:,./-]*")
"""Text that means itself in a shell, quoted or not, and is no option."""
_INTEGERS = {"int", "rank", "pid", "port", "exit_code"}
SIZE_TYPES = frozenset({"bytes", "kib", "mib", "gib", "size"})


def parse_fact(kind: FactType, text: str) -> FactValue | None:
    """The value of a capture, or None where the text is not of that kind. Sizes come out in bytes, times in seconds."""
    text = text.strip()
    try:
        if kind in _INTEGERS:
            return int(text.replace(",", ""))
        if kind in _BYTES_OF:
            return round(float(text.replace(",", "")) * _BYTES_OF[kind])
        if kind == "size":
            match = _SIZE.match(text.replace(",", ""))
            unit = _UNITS.get(match.group(2).lower()) if match else None
            return round(float(match.group(1)) * unit) if match and unit else None
        if kind in ("float", "seconds"):
            return float(text.replace(",", ""))
        if kind == "ms":
            return float(text) / 1000
        if kind == "bool":
            return text.lower() in ("true", "1", "yes")
        if kind == "gpu":
            return int(text) if text.isdigit() else text
    except (ValueError, OverflowError):  # "inf" is a number, too
        return None
    return text[:300] or None


def format_size(value: float) -> str:
    """Bytes in the unit that a person would use ("64 MiB")."""
    for unit, size in (("TiB", 1024**4), ("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if value >= size:
            number = value / size
            return f"{number:.0f} {unit}" if number == round(number) or number >= 100 else f"{number:.2f} {unit}"
    return f"{value:.0f} bytes"


def format_fact(fact: Fact, value: FactValue) -> str:
    """A fact as a person reads it."""
    if fact.type in SIZE_TYPES and isinstance(value, int | float) and not isinstance(value, bool):
        return format_size(value)
    if fact.type in ("seconds", "ms", "float") and isinstance(value, float):
        return f"{value:g}"
    return str(value)


def _for_shell(fact: Fact, value: FactValue) -> str | None:
    if isinstance(value, str):
        return value if _SHELL_LITERAL.fullmatch(value) else None
    return str(value) if fact.type in SIZE_TYPES else format_fact(fact, value)


def fill(template: str, facts: Mapping[str, FactValue], declared: Mapping[str, Fact], *, command: bool = False) -> str:
    """The template with ``{fact}`` and ``{fact|fallback}`` filled in.

    An unknown fact becomes its fallback, else generic words: "the requested size", in commands ``<requested size>``. So
    does text that a shell would not take literally: commands are pasted, and anybody may have written what the log says.
    """

    def replace(match: re.Match[str]) -> str:
        name, fallback = match.group(1), match.group(2)
        fact = declared.get(name)
        if fact is None:
            return match.group(0)
        if name in facts and not command:
            return format_fact(fact, facts[name])
        if name in facts and (value := _for_shell(fact, facts[name])) is not None:
            return value
        if fallback is not None:
            return fallback
        return f"<{fact.label}>" if command else f"the {fact.label}"

    return PLACEHOLDER.sub(replace, template)
