"""Headers of the services around vLLM: NVIDIA Fabric Manager, TorchServe, nginx and Go programs, logfmt."""

from __future__ import annotations

import re

from ..lazy import lazy
from .base import CLOCK, DAY, FRACTION, LEVEL_WORD, ZONE, Peeled, Prefix, month_number, seconds_of, set_iso

_STAMP = rf"{DAY}[T ]{CLOCK}{FRACTION}{ZONE}?"


def _fabric(match: re.Match[str], peeled: Peeled) -> None:
    month, day, year, clock, level = match.groups()
    number = month_number(month)
    if number is not None:
        peeled.set_time(seconds_of(f"{year}-{number:02d}-{day}", clock), "local")
    peeled.set_level(level)
    peeled.component = "fabricmanager"


FABRIC = Prefix(
    "fabricmanager",
    lazy(rf"\[([A-Z][a-z]{{2}}) (\d\d) (\d{{4}}) {CLOCK}\] \[([A-Z]{{4,8}})\] \[tid \d{{1,10}}\] ", re.ASCII),
    _fabric,
)
"""``[Oct 01 2025 06:12:40] [INFO] [tid 2207] text``: /var/log/fabricmanager.log."""


def _slashed(match: re.Match[str], peeled: Peeled) -> None:
    day, clock, fraction, level, pid = match.groups()
    peeled.set_time(seconds_of(day, clock, fraction), "local")
    peeled.set_level(level)
    if pid is not None:
        peeled.pid = int(pid)


SLASHED = Prefix(
    "timestamp",
    lazy(
        rf"(\d{{4}}/[01]\d/[0-3]\d) {CLOCK}{FRACTION}"
        r"(?: \[(debug|info|notice|warn|error|crit|alert|emerg)\] (\d{1,10})#\d+:| ~)? ",
        re.ASCII,
    ),
    _slashed,
)
"""``2026/11/30 12:00:00 [warn] 1#1: text`` (nginx) and ``2026/11/30 12:00:00 text`` (Go's log),
``2026/11/30 12:00:00 ~ text`` (Hugging Face's Inference Endpoints)."""


def _torchserve(match: re.Match[str], peeled: Peeled) -> None:
    day, clock, fraction, zone, level, stream = match.groups()
    set_iso(peeled, day, clock, fraction, zone)
    peeled.set_level(level)
    peeled.set_stream(stream)


TORCHSERVE = Prefix(
    "torchserve",
    lazy(rf"{_STAMP} \[({LEVEL_WORD}) *\] W-\d{{1,6}}-[^\s]{{1,160}}-(stdout|stderr) [\w.]{{1,160}} - ", re.ASCII),
    _torchserve,
)
"""``2026-11-30T12:00:00,123 [INFO ] W-9000-model_1.0-stdout MODEL_LOG - text``: TorchServe relays its workers' lines."""


def _logfmt(match: re.Match[str], peeled: Peeled) -> None:
    day, clock, fraction, zone, level = match.groups()
    set_iso(peeled, day, clock, fraction, zone)
    peeled.set_level(level)


LOGFMT = Prefix(
    "logfmt",
    lazy(
        rf"(?:time|ts)=\"?{_STAMP}\"? (?:(?:caller|source)=[^\s\"]{{1,200}} )?level=([A-Za-z]{{3,8}}) "
        r"(?:(?:caller|source)=[^\s\"]{1,200} )?(?=msg=)",
        re.ASCII,
    ),
    _logfmt,
)
"""``time="2026-11-30T12:00:00.123Z" level=error msg="text" ..``: dockerd, containerd (logrus' text_formatter.go); without
quotes, and with a ``source``: Go's log/slog (text_handler.go); with ``ts`` and ``caller``: go-kit/log. ``msg=`` stays."""
