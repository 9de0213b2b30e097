"""What the peelers share: the `Peeled` record, the `Prefix` peeler, and the reading of clocks and levels.

A peeler strips one kind of log prefix from the front of a line and writes down what the prefix tells. Prefixes nest
(a pod's timestamp, then a Ray driver prefix, then vLLM's own header), so peelers are applied one after another,
outermost first.

Who wins when two layers tell the same thing:

* ``level``, ``component``, ``pid``, ``rank``, ``gpu``: the innermost layer, which is closest to the code that spoke;
* ``time``: the outermost absolute time; a clock without year or since boot is used only until an absolute one comes;
* ``node``, ``container``, ``stream``: the outermost layer, because it was written by the machine that kept the line
  (Ray's ``ip=`` is the exception: the driver prints other nodes' lines, so it names the true node).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Literal, Protocol

from ..nouns import dataclass, field

Level = Literal["debug", "info", "warning", "error", "critical"]
Stream = Literal["stdout", "stderr"]
Clock = Literal["utc", "local", "no-year", "boot"]

NOMINAL_YEAR = 2000
"""Year given to clocks that print none. A leap year, so that 29 February exists."""


@dataclass(slots=True)
class Peeled:
    """A line without its prefixes, and what these said.

    ``time`` is in seconds since the Unix epoch, UTC assumed where the line names no zone; ``clock`` says how far that
    can be trusted: ``utc`` (zone given), ``local`` (full date, no zone), ``no-year`` (seconds within the nominal year
    2000) or ``boot`` (seconds since boot). ``count`` is how many equal lines this one stands for.
    """

    text: str
    layers: list[str] = field(default_factory=list)
    node: str | None = None
    container: str | None = None
    component: str | None = None
    rank: int | None = None
    gpu: int | None = None
    pid: int | None = None
    time: float | None = None
    clock: Clock | None = None
    stream: Stream | None = None
    level: Level | None = None
    count: int = 1

    def copy(self) -> Peeled:
        """Another one that may be changed."""
        return Peeled(
            self.text, self.layers.copy(), self.node, self.container, self.component, self.rank, self.gpu, self.pid,
            self.time, self.clock, self.stream, self.level, self.count,
        )  # fmt: skip

    def set_time(self, seconds: float | None, clock: Clock) -> None:
        """Take a time unless an outer layer gave one that is at least as good."""
        if seconds is None:
            return
        if self.clock is None or (self.clock in RELATIVE and clock not in RELATIVE):
            self.time, self.clock = seconds, clock

    def set_level(self, word: str | None) -> None:
        """Take a level from a word or letter of any of the supported formats; unknown words change nothing."""
        if word is not None:
            level = LEVELS.get(word) or LEVELS.get(word.upper())
            if level is not None:
                self.level = level

    def set_stream(self, word: str | None) -> None:
        """Take ``stdout`` or ``stderr`` unless an outer layer said it."""
        if self.stream is None:
            if word == "stdout":
                self.stream = "stdout"
            elif word == "stderr":
                self.stream = "stderr"


class Peeler(Protocol):
    """Strips one kind of prefix. ``peel`` says whether it applied, and changes nothing when it did not."""

    @property
    def name(self) -> str: ...

    def peel(self, peeled: Peeled) -> bool: ...


@dataclass(frozen=True, slots=True)
class Prefix:
    """A peeler made of one anchored regex and a function that stores its groups."""

    name: str
    pattern: re.Pattern[str]
    fill: Callable[[re.Match[str], Peeled], None]

    def peel(self, peeled: Peeled) -> bool:
        match = self.pattern.match(peeled.text)
        if match is None:
            return False
        self.fill(match, peeled)
        peeled.layers.append(self.name)
        peeled.text = peeled.text[match.end() :]
        return True


RELATIVE = frozenset({"no-year", "boot"})

LEVELS: dict[str, Level] = {
    **dict.fromkeys(("TRACE", "DEBUG", "D", "V", "T", "VERBOSE"), "debug"),
    **dict.fromkeys(("INFO", "I", "NOTICE", "SUCC", "SUCCESS", "VERSION"), "info"),
    **dict.fromkeys(("WARNING", "WARN", "W"), "warning"),
    **dict.fromkeys(("ERROR", "ERR", "E", "EXCEPTION"), "error"),
    **dict.fromkeys(("CRITICAL", "CRIT", "FATAL", "F", "C", "PANIC", "ALERT", "EMERG", "ABORT"), "critical"),
}
LEVEL_WORD = r"(?:TRACE|DEBUG|INFO|NOTICE|SUCCESS|SUCC|WARNING|WARN|ERROR|ERR|EXCEPTION|CRITICAL|FATAL|PANIC)"
"""Level names of Python's logging, loguru and Ray, as the upper-case words that the formats print."""

SEVERITIES: tuple[Level, ...] = ("critical", "critical", "critical", "error", "warning", "info", "info", "debug")
"""Syslog and kernel severities 0 (emerg) to 7 (debug), RFC 5424 table 2."""

_MONTHS = (
    "jan|ene|gen|janv|янв",
    "feb|fév|févr|fev|фев",
    "mar|mär|mrt|mars|märz|мар",
    "apr|abr|avr|avril|апр",
    "may|mai|mei|mag|май",
    "jun|juin|giu|juni|июн",
    "jul|juil|lug|juli|июл",
    "aug|ago|août|aou|aoû|авг",
    "sep|sept|set|сен",
    "oct|okt|ott|out|окт",
    "nov|ноя",
    "dec|dez|dic|déc|des|дек",
)
MONTHS: dict[str, int] = {word: number for number, words in enumerate(_MONTHS, 1) for word in words.split("|")}
"""Abbreviated months: C locale first, then the languages that journalctl and ``dmesg -T`` print in practice."""


def month_number(word: str) -> int | None:
    """Number of an abbreviated month name, also localised or in the CJK form ``11月``."""
    word = word.lower().rstrip(".月")
    return MONTHS.get(word) or (int(word) if word.isascii() and word.isdigit() and len(word) < 3 else None)


@lru_cache(maxsize=4096)
def _minute(day: str, minute: str) -> float | None:
    """Epoch seconds of ``2026-11-30`` (or with slashes) and ``19:41``; cached, because neighbours share the minute."""
    try:
        ordinal = date(int(day[:4]), int(day[5:7]), int(day[8:10])).toordinal()
        return (ordinal - _EPOCH) * 86400.0 + int(minute[:2]) * 3600 + int(minute[3:5]) * 60
    except ValueError:
        return None


_EPOCH = date(1970, 1, 1).toordinal()


def seconds_of(day: str, clock: str, fraction: str | None = None, zone: str | None = None) -> float | None:
    """Epoch seconds of a date, ``HH:MM:SS``, the digits of a fraction, and a zone (``Z`` or ``+01:00``; none is UTC)."""
    base = _minute(day, clock[:5])
    if base is None:
        return None
    base += int(clock[6:8])
    if fraction:
        base += int(fraction) / 10 ** len(fraction)
    if zone and zone[0] in "+-":
        offset = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        base += offset if zone[0] == "-" else -offset
    return base


def nominal_seconds(month: int | None, day: int, clock: str, fraction: str | None = None) -> float | None:
    """Seconds of a date without year, placed in the nominal year."""
    if month is None:
        return None
    return seconds_of(f"{NOMINAL_YEAR}-{month:02d}-{day:02d}", clock, fraction)


def set_iso(peeled: Peeled, day: str, clock: str, fraction: str | None, zone: str | None) -> None:
    """Take an absolute time; it counts as local where no zone is written."""
    peeled.set_time(seconds_of(day, clock, fraction, zone), "utc" if zone else "local")


DAY = r"(\d{4}-[01]\d-[0-3]\d)"
CLOCK = r"([0-2]\d:[0-5]\d:[0-6]\d)"
FRACTION = r"(?:[.,](\d{1,9}))?"
ZONE = r"(Z|[+-]\d\d:?\d\d)"
"""Building blocks of time stamps; each holds one group. Use with ``re.ASCII``."""
BAR = r"\|(?!.*\|[ \t]*$)"
"""Between a prefix and the text; in a line that ends with one too, it is the border of a table (of nvidia-smi's)."""
ZONE_NAME = (
    r"(?: (?:UTC|GMT|[ECMP][SD]T|AK[SD]T|HST|[WCE]ES?T|CES?T|BST|MSK|IST|PKT|HKT|SGT|WIB|[JK]ST|AW?[CE]?[SD]T|NZ[SD]T|BRT)"
    r"(?=[ \]]))?"
)
"""The name of a time zone behind a stamp, as Go, ``date`` and log consoles print it; known names only, since the word behind a
stamp may be the message's. It holds no group: most names stand for several offsets, so the offset counts, if there is one."""
