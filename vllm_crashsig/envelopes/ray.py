"""Ray: the driver's prefixes on forwarded worker output, and Ray's own C++ and Python logs.

Sources: python/ray/_private/worker.py (print_worker_logs, log deduplicator in ray_logging/__init__.py),
src/ray/util/logging.cc (the spdlog pattern), python/ray/_private/ray_constants.py (LOGGER_FORMAT),
python/ray/serve/_private/logging_utils.py.
"""

from __future__ import annotations

import re

from ..lazy import lazy
from .base import CLOCK, DAY, LEVEL_WORD, Peeled, Prefix, set_iso

_REPEATED = lazy(
    r" ?\[repeated (\d{1,9})x across (?:the )?cluster\](?: \(Ray deduplicates logs by default\..*)?\s*$", re.DOTALL
)
"""Ray's mark on a line that stands for many, with the hint that follows the first one."""


def count_repeats(peeled: Peeled) -> None:
    """Remove ``[repeated 3x across cluster]`` from the end of the text and multiply the count."""
    if "[repeated " not in peeled.text:
        return
    match = _REPEATED.search(peeled.text)
    if match is not None:
        peeled.count *= int(match.group(1)) or 1
        peeled.text = peeled.text[: match.start()]


_WORKER = lazy(r"\((?:([^\n]{1,300}?) )?pid=(\d{1,10}|[a-z_]{1,32})(?:, ip=([^),\s]{1,64}))?(?:, actor_id=\w{1,64})?\)(?: |$)")
_CUT = lazy(r"([A-Z]\w{2,100}) pid=(\d{1,10})(?:, ip=([^),\s]{1,64}))?(?:, actor_id=\w{1,64})?\)(?: |$)", re.ASCII)
"""The same of an actor where the copying lost the parenthesis."""
_DAEMON = lazy(
    r"\((raylet|gcs_server|log_monitor|dashboard|monitor|autoscaler|scheduler)"
    r"(?: [+-][\dhms]{1,16})?(?:, ip=([^),\s]{1,64}))?\)(?: |$)"
)


class Driver:
    """``(RayWorkerWrapper pid=1, ip=10.0.0.2) text``, ``(raylet, ip=..) text``, ``(autoscaler +5s) text``.

    The name is an actor's class, its repr (any characters), a task, or missing (``(pid=12) text``, old Ray). It becomes the
    component, and the ip the node, also over an outer node: the driver prints what happened elsewhere.
    """

    __slots__ = ()
    name = "ray"

    def peel(self, peeled: Peeled) -> bool:
        worker = _WORKER if peeled.text[0] == "(" else _CUT
        match = worker.match(peeled.text) if peeled.text.find("pid=", 1, 320) > 0 else None
        if match is not None:
            name, pid, ip = match.groups()
            if pid.isdigit():
                peeled.pid = int(pid)
            else:
                name = name or pid  # (pid=gcs_server) of old releases
        else:
            match = _DAEMON.match(peeled.text)
            if match is None:
                return False
            name, ip = match.groups()
        peeled.component = name or peeled.component
        peeled.node = ip or peeled.node
        peeled.layers.append(self.name)
        peeled.text = peeled.text[match.end() :]
        count_repeats(peeled)
        return True


DRIVER = Driver()


def _core(match: re.Match[str], peeled: Peeled) -> None:
    day, clock, fraction, level, pid, component = match.groups()
    set_iso(peeled, day, clock, fraction, None)
    peeled.set_level(level)
    peeled.pid = int(pid)
    if component is not None:
        peeled.component = component


CORE = Prefix(
    "ray-log",
    lazy(
        rf"\[{DAY} {CLOCK},(\d{{3}}) ([A-Z]) (\d{{1,10}}) \d{{1,10}}\] (?:\(([\w:./-]{{1,64}})\) )?"
        r"(?:[\w./+-]{1,200}\.(?:cc|h|cpp|hpp|pyx|pxi|py):\d{1,6}: ?)?",
        re.ASCII,
    ),
    _core,
)
"""``[2026-11-30 19:00:00,123 E 123 456] (raylet) node_manager.cc:12: text``: raylet.out, gcs_server.out,
python-core-*.log. The numbers are process and thread."""


def _python(match: re.Match[str], peeled: Peeled) -> None:
    day, clock, fraction, level = match.groups()
    if day is not None:
        set_iso(peeled, day, clock, fraction, None)
    peeled.set_level(level)


PYTHON = Prefix(
    "ray-log",
    lazy(rf"(?:{DAY} {CLOCK},(\d{{3}})[\t ]+)?V{{0,3}}({LEVEL_WORD}) [\w./<>-]{{1,120}}:\d{{1,6}} --(?: |$)", re.ASCII),
    _python,
)
"""``2026-11-30 19:00:00,123<TAB>INFO worker.py:123 -- text``: Ray's Python logs;
before 2.0 drivers omitted the time. The command line's verbose messages have the level ``VINFO``."""


def _serve(match: re.Match[str], peeled: Peeled) -> None:
    level, day, clock, fraction, where = match.groups()
    set_iso(peeled, day, clock, fraction, None)
    peeled.set_level(level)
    first = where.split(" ", 1)[0]
    if first:
        peeled.component = first


SERVE = Prefix(
    "ray-log",
    lazy(
        rf"({LEVEL_WORD}) {DAY} {CLOCK},(\d{{3}}) ((?:[^\s\[\]]{{1,128}} ){{1,4}}?)"
        r"(?:(?:-- )?[\w./-]{1,120}\.py:\d{1,6} - |-- )",
        re.ASCII,
    ),
    _serve,
)
"""``INFO 2026-11-30 19:00:00,123 controller 12 deployment_state.py:9 - text``,
``INFO .. default_VLLM x1 req -- replica.py:3 - text``, since 2.40 ``INFO .. controller 12 -- text``: Ray Serve; the component
is the deployment."""
