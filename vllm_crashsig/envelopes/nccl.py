"""NCCL and RCCL: ``host:pid:tid [gpu] `` before the part that says what happened.

Source: NVIDIA/nccl src/debug.cc (ncclDebugLog); RCCL is a fork with the same code. The kept text begins at ``NCCL INFO`` or
at ``transport/shm.cc:72 (function) NCCL WARN``. The newer time stamp ``[2026-01-01 12:00:00] `` in front (NCCL 2.26 and later,
NCCL_DEBUG_TIMESTAMP_FORMAT) is peeled by `generic.BRACKET_TIME`.
"""

from __future__ import annotations

import re

from ..lazy import lazy
from .base import Peeled

_PREFIX = lazy(
    r"([A-Za-z0-9][\w.-]{0,252}):(\d{1,10}):\d{1,10} (?:\[(-?\d{1,4})\] )?"
    r"(?=(?:\d+\.\d+ )?(?:[\w./+-]{1,200}:\d{1,6} (?:\([\w:~<>]{1,120}\) )?)?[NR]CCL (WARN|INFO|TRACE|ABORT|VERSION|ERROR)\b)",
    re.ASCII,
)


class Nccl:
    """``gpu-11:18220:18429 [0] transport/net_ib.cc:818 NCCL WARN text``. The host name is the node unless an outer layer or
    Ray told it: in a container it is only the container's name. The process holds its own pid namespace's pid."""

    __slots__ = ()
    name = "nccl"

    def peel(self, peeled: Peeled) -> bool:
        if "CCL " not in peeled.text:
            return False
        match = _PREFIX.match(peeled.text)
        if match is None:
            return False
        host, pid, gpu, level = match.groups()
        if peeled.node is None:
            peeled.node = host
        peeled.pid = int(pid)
        if gpu is not None and not gpu.startswith("-"):
            peeled.gpu = int(gpu)
        peeled.set_level(level)
        peeled.layers.append(self.name)
        peeled.text = peeled.text[match.end() :]
        return True


NCCL = Nccl()
