"""Docker: the time stamps of ``docker logs -t`` and the name column of ``docker compose logs`` and ``docker service logs``.

The json-file driver hides whole lines in JSON; that is `json_line`'s matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..lazy import lazy
from ..nouns import dataclass
from .base import BAR, CLOCK, DAY, FRACTION, ZONE, ZONE_NAME, Peeled, Prefix, set_iso


def _stamp(match: re.Match[str], peeled: Peeled) -> None:
    set_iso(peeled, *match.groups())


RFC3339 = Prefix("rfc3339", lazy(rf"{DAY}T{CLOCK}{FRACTION}{ZONE}{ZONE_NAME}(?: {BAR})?(?:[ \t]|$)", re.ASCII), _stamp)
"""``2026-11-30T19:41:58.123456789Z text``: docker logs -t (moby daemon/logger/loggerutils, RFC3339NanoFixed),
kubectl logs --timestamps, and the log files of GitHub Actions (seven digits)."""


def _swarm(match: re.Match[str], peeled: Peeled) -> None:
    service, task, node = match.groups()
    peeled.component = service
    if peeled.container is None:
        peeled.container = f"{service}.{task}"
    if peeled.node is None:
        peeled.node = node


SWARM = Prefix("compose", lazy(r"([\w.-]{1,128}?)\.(\d{1,5}\.[a-z0-9]{12,25})@([\w.-]{1,253}) +\|(?: |$)", re.ASCII), _swarm)
"""``vllm_worker.1.k3j5h2k1l9p0@node-2    | text``: docker service logs (docker/cli command/service/logs.go)."""


def _pm2(match: re.Match[str], peeled: Peeled) -> None:
    peeled.component = match.group(1)


PM2 = Prefix("pm2", lazy(r"\d{1,4}\|([\w.@/-]{1,64}) +\|(?: |$)", re.ASCII), _pm2)
"""``0|vllm     | text``: pm2 logs."""

_NUMBERED = lazy(r"([a-z0-9][a-z0-9_.-]{0,127}?)[-_](\d{1,4}) *\|(?: |$)", re.ASCII)
_NAMED = lazy(r"([A-Za-z0-9][\w.-]{0,127})  +\|(?: |$)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Compose:
    """``vllm-1  | text``: docker compose logs (docker/compose cmd/formatter/logs.go; v1 wrote ``vllm_1  | ``).

    A name with the replica number is always taken. A container with a name of its own (``vllm-server  | ``) looks like a
    row of a table, so it needs ``confirm`` (the rest begins with another known prefix) or, with no ``confirm``, trust.
    """

    confirm: Callable[[str], bool] | None
    name: str = "compose"

    def peel(self, peeled: Peeled) -> bool:
        text = peeled.text
        bar = text.find("|", 1, 160)
        if bar < 0 or text[bar - 1] != " ":
            return False
        match = _NUMBERED.match(text)
        if match is not None:
            container, service = f"{text[: match.end(2)]}", match.group(1)
        else:
            match = _NAMED.match(text)
            if match is None or (self.confirm is not None and not self.confirm(text[match.end() :])):
                return False
            container = service = match.group(1)
        if peeled.container is None:
            peeled.container = container
        peeled.component = service
        peeled.layers.append(self.name)
        peeled.text = text[match.end() :]
        return True
