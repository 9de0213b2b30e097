"""The kernel's messages: every output of dmesg(1), the raw console, and /dev/kmsg. All give the layer ``dmesg``.

Sources: util-linux sys-utils/dmesg.c (print_record), kernel kernel/printk/printk.c (print_prefix, msg_print_ext_header).
"""

from __future__ import annotations

import re

from ..lazy import lazy
from .base import CLOCK, DAY, SEVERITIES, ZONE, Peeled, Prefix, month_number, nominal_seconds, seconds_of, set_iso

_CALLER = r"(?:\[ *[TC]\d{1,8}\])?"
"""``[  T123]``: thread or CPU, with CONFIG_PRINTK_CALLER."""
_DELTA = r"(?: <[ \d.]{1,20}>)?"
_STAMP = rf"\[ *(\d{{1,10}}\.\d{{6}}){_DELTA}\]{_CALLER}(?: |$)"
_BOOT = lazy(_STAMP, re.ASCII)


def strip_boot_stamp(peeled: Peeled) -> None:
    """Remove printk's ``[412907.551236] ``, which syslog files keep after ``kernel: ``."""
    match = _BOOT.match(peeled.text)
    if match is not None:
        peeled.set_time(float(match.group(1)), "boot")
        peeled.text = peeled.text[match.end() :]


def _raw(match: re.Match[str], peeled: Peeled) -> None:
    pri, seconds = match.groups()
    peeled.component = "kernel"
    if pri is not None:
        peeled.level = SEVERITIES[int(pri) & 7]
    peeled.set_time(float(seconds), "boot")


RAW = Prefix("dmesg", lazy(rf"(?:<(\d{{1,3}})>)?{_STAMP}", re.ASCII), _raw)
"""``[  123.456789] text``, ``<4>[  123.456789] text`` (dmesg -r, serial console), ``[  1.2 <    0.1>] text`` (--show-delta)."""


def _ctime(match: re.Match[str], peeled: Peeled) -> None:
    month, day, clock, year = match.groups()
    number = month_number(month)
    if number is not None:
        peeled.set_time(seconds_of(f"{year}-{number:02d}-{int(day):02d}", clock), "local")
    peeled.component = "kernel"


CTIME = Prefix(
    "dmesg",
    lazy(rf"\[[^\s\d\]]{{1,6}} ([^\s\]]{{2,6}}) {{1,3}}(\d{{1,2}}) {CLOCK} (\d{{4}}){_DELTA}\]{_CALLER}(?: |$)"),
    _ctime,
)
"""``[Mon Nov 30 19:41:58 2026] text``: dmesg -T, in the system's language (``[Di Mär 10 23:17:46 2026]``)."""


def _relative(match: re.Match[str], peeled: Peeled) -> None:
    month, day, minute = match.groups()
    if month is not None:
        peeled.set_time(nominal_seconds(month_number(month), int(day), f"{minute}:00"), "no-year")
    peeled.component = "kernel"


RELATIVE_TIME = Prefix(
    "dmesg",
    lazy(
        r"\[(?:([A-Z][a-z]{2}) ?(\d{1,2}) ([0-2]\d:[0-5]\d)| {0,8}\+\d{1,9}\.\d{6}|< {0,8}\d{1,9}\.\d{6}>)\](?: |$)", re.ASCII
    ),
    _relative,
)
"""``[Nov30 19:45] text`` and ``[  +0.000014] text``: dmesg -H / --reltime; ``[<    0.000014>] text``: --time-format delta."""


def _iso(match: re.Match[str], peeled: Peeled) -> None:
    set_iso(peeled, *match.groups())
    peeled.component = "kernel"


ISO = Prefix("dmesg", lazy(rf"{DAY}T{CLOCK},(\d{{6}}){ZONE} ", re.ASCII), _iso)
"""``2026-11-30T19:41:58,123456+00:00 text``: dmesg --time-format iso; the comma tells it from RFC 3339."""


def _kmsg(match: re.Match[str], peeled: Peeled) -> None:
    pri, microseconds = match.groups()
    peeled.component = "kernel"
    peeled.level = SEVERITIES[int(pri) & 7]
    peeled.set_time(int(microseconds) / 1e6, "boot")


KMSG = Prefix("dmesg", lazy(r"(\d{1,4}),\d{1,19},(\d{1,16}),[-c+][^;\s]{0,80};", re.ASCII), _kmsg)
"""``4,1234,5678,-;text``: /dev/kmsg (Documentation/ABI/testing/dev-kmsg)."""


class Decoded:
    """``kern  :warn  : [  123.456789] text``: dmesg -x, with any of the time formats or none behind it."""

    __slots__ = ()
    name = "dmesg"
    pattern = lazy(
        r"(?:kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|res\d|local\d) *"
        r":(emerg|alert|crit|err|warn|notice|info|debug) *: ",
        re.ASCII,
    )

    def peel(self, peeled: Peeled) -> bool:
        match = self.pattern.match(peeled.text)
        if match is None:
            return False
        peeled.set_level(match.group(1))
        peeled.component = "kernel"
        peeled.text = peeled.text[match.end() :]
        if not any(inner.peel(peeled) for inner in (RAW, CTIME, ISO, RELATIVE_TIME)):
            peeled.layers.append(self.name)
        return True


DECODED = Decoded()
