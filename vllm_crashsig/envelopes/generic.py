"""Headers of ordinary loggers: Python logging in its common shapes, loguru, SGLang, TensorRT-LLM.

A header with a level ends the peeling (see `vllm_crashsig.envelopes.FINAL`); a bare time stamp does not, since programs put it
before other programs' lines. A logger's name is stripped only where it cannot be the first word of the message: between
dashes, or dotted and lower-case (``torch.cuda.OutOfMemoryError: x`` and ``cuda: x`` stay).
"""

from __future__ import annotations

import re

from ..lazy import lazy
from .base import BAR, CLOCK, DAY, FRACTION, LEVEL_WORD, ZONE, ZONE_NAME, Peeled, Prefix, seconds_of, set_iso

_STAMP = rf"{DAY}[T ]{CLOCK}{FRACTION}(?: ?{ZONE})?{ZONE_NAME}"
_LOGGER = r"(?:__main__|root|[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)+)"
_PLACE = r"(?!\S{1,160}: \w*Warning\b)[\w./-]{1,120}\.py:\d{1,6}"


def _stamped(match: re.Match[str], peeled: Peeled) -> None:
    day, clock, fraction, zone, level = match.groups()
    set_iso(peeled, day, clock, fraction, zone)
    peeled.set_level(level)


DASHED = Prefix(
    "python-log",
    lazy(
        rf"{_STAMP} - (?:[^\s]{{1,120}} - )?({LEVEL_WORD})(?: - |: )(?:{_PLACE} - )?(?:(?:{_LOGGER}|{_PLACE})(?:: | - +))?",
        re.ASCII,
    ),
    _stamped,
)
"""``2026-11-30 12:00:00,123 - name - ERROR - text`` in any order of name and level, with or without file and line."""

LOGURU = Prefix(
    "loguru",
    lazy(
        rf"{_STAMP} \| ({LEVEL_WORD}|trace|debug|info|warning|error|critical) *\| "
        r"(?:[\w.<>/-]{1,160}:[\w<>.]{1,80}:\d{1,6} - | *[\w.-]{1,60} \| )?",
        re.ASCII,
    ),
    _stamped,
)
"""``2026-11-30 12:00:00.123 | ERROR    | mod:fn:12 - text``: loguru's default format (loguru/_defaults.py);
``.. | warning  |             UMD | text``: Tenstorrent's tt-logger."""

SPACED = Prefix(
    "python-log",
    lazy(
        rf"{_STAMP}:? +(?!{LEVEL_WORD}(?::  |:? [\[\w./-]*\d[\[\w./:-]*(?:\] | --| \d\d:\d\d)))"
        rf"\[?({LEVEL_WORD}) *\]?:? +(?:\[?(?:{_LOGGER}|{_PLACE}|{_LOGGER}:\d{{1,6}})\]?(?:: | - +| -- |(?<=\]) ))?",
        re.ASCII,
    ),
    _stamped,
)
"""``2026-11-30 12:00:00,123 ERROR name: text`` and ``.. [ERROR] name: text``. Where a time stamp of the transport stands before
a header of vLLM, Ray or uvicorn, it must not swallow that header's level."""

TIME = Prefix("timestamp", lazy(rf"{_STAMP}:?()(?: +- +| {BAR}(?: |$)| )", re.ASCII), _stamped)
"""``2026-11-30 12:00:00.123 text``; ``.. | text`` (Docker Desktop); ``2026-11-30 12:00:00.123 EDT text`` (Google's Logs
Explorer), ``2026-11-30T12:00:00.123 +08:00 CST text`` and ``2026-11-30 12:00:00.123 +0800 CST text`` (Go's time.String)."""

ZAP = Prefix("python-log", lazy(rf"{_STAMP}\t({LEVEL_WORD})\t(?:[A-Za-z][\w./-]{{0,119}}\t)?", re.ASCII), _stamped)
"""``2026-11-30T12:00:00.123Z<TAB>ERROR<TAB>controllers.RayCluster<TAB>text``: zap's console, as KubeRay and others
have it."""


def _bracketed(match: re.Match[str], peeled: Peeled) -> None:
    day, clock, fraction, zone, pid, level, level_after_name = match.groups()
    set_iso(peeled, day, clock, fraction, zone)
    peeled.set_level(level or level_after_name)
    if pid is not None:
        peeled.pid = int(pid)


BRACKET_LEVEL = Prefix(
    "python-log",
    lazy(
        rf"\[{_STAMP}\] ?(?:\[(\d{{1,10}})\] ?)?"
        rf"(?:\[({LEVEL_WORD}) *\] ?(?:\[[\w./<>-]{{1,160}}:\d{{1,6}}(?::\w+)?\] ?|{_LOGGER}: )?"
        rf"|{_LOGGER}: \[({LEVEL_WORD})\] )",
        re.ASCII,
    ),
    _bracketed,
)
"""``[2026-11-30 12:00:00,123] [ERROR] [launch.py:1:main] text`` (DeepSpeed), ``[.. +0000] [12] [INFO] text`` (gunicorn),
``[..] torch.distributed.run: [WARNING] text`` (torch 2.0 to 2.2)."""


def _bracket_time(match: re.Match[str], peeled: Peeled) -> None:
    day, clock, fraction, zone, scope = match.groups()
    set_iso(peeled, day, clock, fraction, zone)
    if scope:
        peeled.component = scope.strip()
        if len(peeled.component.split()) == 1 and peeled.component.startswith("TP"):
            peeled.rank = int(peeled.component[2:])


BRACKET_TIME = Prefix(
    "timestamp",
    lazy(rf"\[{_STAMP}((?: (?:DP|PP|TP|EP|ATTN_?TP|MOE_?EP|CP)\d{{1,5}}){{1,6}})?\](?: |$)", re.ASCII),
    _bracket_time,
)
"""``[2026-11-30 12:00:00] text`` (NCCL, Slurm, Megatron) and SGLang's ``[2026-11-30 12:00:00 DP0 TP3] text``
(sglang/srt/utils: configure_logger). A lone TP number is the rank."""


def _level_first(match: re.Match[str], peeled: Peeled) -> None:
    level, day, clock, fraction, zone = match.groups()
    if day is not None:
        set_iso(peeled, day, clock, fraction, zone)
    peeled.set_level(level)


LEVEL_TIME = Prefix(
    "python-log",
    lazy(rf"({LEVEL_WORD}):? {_STAMP}:? (?:(?:{_LOGGER}(?::\d{{1,6}})?|{_PLACE})(?:: | - ))?", re.ASCII),
    _level_first,
)
"""``DEBUG 2026-11-30 12:00:00,123 instructlab.eval:29: text``."""


def _ascend(match: re.Match[str], peeled: Peeled) -> None:
    level, day, clock, pid, rank = match.groups()
    set_iso(peeled, day, clock, None, None)
    peeled.set_level(level)
    peeled.pid = int(pid)
    if not rank.startswith("-"):
        peeled.rank = int(rank)


ASCEND = Prefix(
    "python-log",
    lazy(rf"\[({LEVEL_WORD})\] {DAY}-{CLOCK} \(PID:(\d{{1,10}}), Device:-?\d{{1,4}}, RankID:(-?\d{{1,6}})\) ", re.ASCII),
    _ascend,
)
"""``[ERROR] 2026-11-30-12:00:00 (PID:5309, Device:0, RankID:-1) text``: torch_npu."""


def _level_name(match: re.Match[str], peeled: Peeled) -> None:
    peeled.set_level(match.group(1))


LEVEL_NAME = Prefix("python-log", lazy(rf"({LEVEL_WORD}):(?:{_LOGGER}|[a-z_]\w*):(?=[^:])", re.ASCII), _level_name)
"""``ERROR:torch.distributed.run:text``: logging.BASIC_FORMAT."""


def _piped(match: re.Match[str], peeled: Peeled) -> None:
    level, day, clock, fraction, zone, day2, clock2, fraction2, zone2 = match.groups()
    if day is not None:
        set_iso(peeled, day, clock, fraction, zone)
    elif day2 is not None:
        set_iso(peeled, day2, clock2, fraction2, zone2)
    peeled.set_level(level)


PIPED = Prefix(
    "python-log",
    lazy(rf"\[({LEVEL_WORD})\|(?:{_STAMP}\] [\w.]{{1,120}}:\d{{1,6}}|[\w./-]{{1,120}}:\d{{1,6}}\] {_STAMP}) >> ?", re.ASCII),
    _piped,
)
"""``[INFO|trainer.py:12] 2026-11-30 12:00:00,123 >> text`` (transformers), ``[INFO|2026-11-30 12:00:00] name:410 >> text``."""


def _american(match: re.Match[str], peeled: Peeled) -> None:
    month, day, year, clock, level, short = match.groups()
    peeled.set_time(seconds_of(f"{year}-{month}-{day}", clock), "local")
    peeled.set_level(level or short)


AMERICAN = Prefix(
    "python-log",
    lazy(
        rf"\[?([01]\d)/([0-3]\d)/(\d{{4}})[- ]{CLOCK}"
        rf"(?: - ({LEVEL_WORD}) - [\w.]{{1,120}} - {{1,3}}|\] \[TRT-LLM\] \[([A-Z])\] )",
        re.ASCII,
    ),
    _american,
)
"""``06/22/2021 07:41:26 - WARNING - __main__ -   text`` (accelerate, transformers' examples),
``[11/30/2026-12:00:00] [TRT-LLM] [E] text``."""
