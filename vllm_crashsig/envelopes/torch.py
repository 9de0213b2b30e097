"""PyTorch, c10 and glog: rank labels and C++ or Python log headers.

Sources: torch/distributed/distributed_c10d.py (the ``[rank0]: `` excepthook), torch/distributed/elastic/multiprocessing/api.py
(``[{role}{local_rank}]:`` of --tee), c10/util/Logging.cpp (MessageLogger), torch/_logging/_internal.py (TorchLogsFormatter),
google/glog logging.cc, absl, klog.
"""

from __future__ import annotations

import re

from ..lazy import lazy
from .base import Peeled, Prefix, nominal_seconds


def _rank(match: re.Match[str], peeled: Peeled) -> None:
    peeled.rank = int(match.group(1))


RANK = Prefix("torch-rank", lazy(r"\[rank(\d{1,6})\]:(?: |$)?", re.ASCII), _rank)
"""``[rank3]: text`` of Python tracebacks and ``[rank3]:[E1130 ...`` of c10."""


def _role(match: re.Match[str], peeled: Peeled) -> None:
    local, rank = match.groups()
    peeled.rank = int(rank or local)


ROLE = Prefix("torch-elastic", lazy(r"\[(?:default|trainer|worker)_?(\d{1,6})(?:\|(\d{1,6}))?\]:", re.ASCII), _role)
"""``[default3]:text``: torchrun --tee. It is the local rank; it counts as rank until ``[rankN]:`` inside says better."""


def _dated(peeled: Peeled, monthday: str, clock: str, fraction: str | None) -> None:
    """``1130`` or, as c10 writes January to September, ``919``."""
    month, day = int(monthday[:-2]), int(monthday[-2:])
    if 1 <= month <= 12 and day:
        peeled.set_time(nominal_seconds(month, day, clock, fraction), "no-year")


_CLOCK = r"(\d\d:\d\d:\d\d)\.(\d{1,9})"


def _c10(match: re.Match[str], peeled: Peeled) -> None:
    level, monthday, clock, fraction = match.groups()
    peeled.set_level(level)
    if monthday is not None:
        _dated(peeled, monthday, clock, fraction)


C10 = Prefix(
    "c10-log",
    lazy(rf"\[([IWEFVD])(?:(\d{{3,4}}) {_CLOCK}(?: \d{{1,16}})?)? [\w./+-]{{1,200}}:\d{{1,6}}\](?: |$)", re.ASCII),
    _c10,
)
"""``[E1130 12:00:00.123456789 ProcessGroupNCCL.cpp:616] text``; ``[E ProcessGroupNCCL.cpp:325] text`` before torch 2.2."""

_PID_LIMIT = 1 << 22
"""Linux's largest pid; absl prints a thread handle in the same place."""


def _glog(match: re.Match[str], peeled: Peeled) -> None:
    level, monthday, clock, fraction, number, suffix = match.groups()
    peeled.set_level(level)
    _dated(peeled, monthday, clock, fraction)
    if suffix == "py" and int(number) <= _PID_LIMIT:
        peeled.pid = int(number)


GLOG = Prefix(
    "glog",
    lazy(rf"([IWEFCVD])(\d{{3,4}}) {_CLOCK} +(\d{{1,16}}) [^\s\]]{{1,200}}\.(\w{{1,4}}):\d{{1,6}}\](?: |$)", re.ASCII),
    _glog,
)
"""``E1130 12:00:00.123456 12345 fork_posix.cc:76] text``: glog, gRPC, klog, absl, and torch's Python loggers. The number is a
process only in torch's Python logs; elsewhere it is a thread and is not kept."""
