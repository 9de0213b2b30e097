"""vLLM: the process prefix on every line of its children, its log header, and uvicorn's.

Sources: vllm/utils/system_utils.py (decorate_logs), vllm/v1/executor/multiproc_executor.py (setup_proc_title_and_log_prefix),
vllm/logger.py and vllm/logging_utils/formatter.py (``%(levelname)s %(asctime)s [%(fileinfo)s:%(lineno)d] %(message)s``, the
bracket is open on the right only up to 0.8.0), vllm/executor/multiproc_worker_utils.py (V0's prefix), uvicorn/logging.py.
"""

from __future__ import annotations

import re

from ..lazy import lazy
from .base import CLOCK, FRACTION, Peeled, Prefix, nominal_seconds, set_iso
from .ray import count_repeats

_TENSOR_ONLY = lazy(r"Worker_TP(\d{1,5})(?:_EP\d{1,5})?")


def _process(match: re.Match[str], peeled: Peeled) -> None:
    component, rank, pid = match.groups()
    peeled.component = component
    peeled.pid = int(pid)
    if rank is not None:
        peeled.rank = int(rank)
    elif component.startswith("Worker_TP"):
        tensor = _TENSOR_ONLY.fullmatch(component)
        if tensor is not None:
            peeled.rank = int(tensor.group(1))
    count_repeats(peeled)


PROCESS = Prefix(
    "vllm",
    lazy(
        r"\(?((?:EngineCore|APIServer|ApiServer|VllmWorker|DP_?Coordinator|CoreEngine|Worker(?=[_ ]))\w{0,64})"
        r"(?: rank=(\d{1,6}))? pid=(\d{1,10})\)(?: |$)",
        re.ASCII,
    ),
    _process,
)
"""``(EngineCore_DP0 pid=1) text``, ``(Worker_DP0_PP1_TP0_EP0 pid=1) text``, ``(VllmWorker rank=1 pid=2) text``;
the parenthesis is often lost where somebody copied a log from its first line on.

The rank is taken from ``rank=`` or from a name with TP alone: with pipeline or data parallelism the global rank cannot be
told from the name."""


def _header(match: re.Match[str], peeled: Peeled) -> None:
    level, year, month, day, clock, fraction = match.groups()
    if year is not None:
        set_iso(peeled, f"{year}{month}-{day}", clock, fraction, None)
    else:
        peeled.set_time(nominal_seconds(int(month), int(day), clock, fraction), "no-year")
    peeled.set_level(level)


HEADER = Prefix(
    "vllm-log",
    lazy(
        rf"(DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d{{4}}-)?([01]\d)-([0-3]\d) {CLOCK}{FRACTION} "
        r"\[?[^\]\s]{1,200}:\d{1,6}\](?: |$)",
        re.ASCII,
    ),
    _header,
)
"""``INFO 11-30 12:00:00 [v1/engine/core.py:123] text`` and, before 0.8, ``INFO 11-30 12:00:00 core.py:123] text``; DEBUG lines
name the path. A year and a fraction are allowed (VLLM_LOGGING_CONFIG_PATH users and forks add them)."""


def _uvicorn(match: re.Match[str], peeled: Peeled) -> None:
    peeled.set_level(match.group(1))


UVICORN = Prefix(
    "uvicorn",
    lazy(r"(INFO(?=:     (?:\S|$))|(?:ERROR|DEBUG|TRACE)(?=:    (?:\S|$))|WARNING(?=:  (?:\S|$))): +"),
    _uvicorn,
)
"""``INFO:     text``: uvicorn pads ``LEVEL:`` to ten columns, which tells it from prose such as ``ERROR: text``."""
