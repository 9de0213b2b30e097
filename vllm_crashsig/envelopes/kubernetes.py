"""Kubernetes: the container runtime's log files and the prefixes of kubectl, kail and stern."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..lazy import lazy
from ..nouns import dataclass
from .base import CLOCK, DAY, FRACTION, ZONE, Peeled, Prefix, set_iso


def _cri(match: re.Match[str], peeled: Peeled) -> None:
    day, clock, fraction, zone, stream = match.groups()
    set_iso(peeled, day, clock, fraction, zone)
    peeled.set_stream(stream)


CRI = Prefix(
    "cri",
    lazy(f"{DAY}T{CLOCK}{FRACTION}{ZONE} (stdout|stderr) [FP](?::[^ ]{{0,64}})?(?: |$)", re.ASCII),
    _cri,
)
"""``2026-11-30T19:41:58.123456789+00:00 stderr F text``: /var/log/pods/*/*.log as written by containerd, CRI-O and
podman's k8s-file driver (kubernetes design-proposals kubelet-cri-logging.md). Joining of ``P`` parts is not done here."""


def _kubectl(match: re.Match[str], peeled: Peeled) -> None:
    if peeled.container is None:
        peeled.container = match.group(1)


KUBECTL = Prefix("kubectl", lazy(r"\[pod/([^/\]\s]{1,253}/[^\]\s]{1,253})\](?: |$)"), _kubectl)
"""``[pod/vllm-0/vllm] text``: kubectl logs --prefix (kubectl pkg/cmd/logs/logs.go). The container is ``vllm-0/vllm``."""


def _kail(match: re.Match[str], peeled: Peeled) -> None:
    if peeled.container is None:
        peeled.container = f"{match.group(1)}/{match.group(2)}"


KAIL = Prefix("kail", lazy(r"[a-z0-9-]{1,63}/([a-z0-9.-]{1,253})\[([a-z0-9-]{1,63})\]: "), _kail)
"""``default/vllm-0[vllm]: text``: boz/kail writer.go."""

_STERN = lazy(r"(?:([a-z0-9][a-z0-9-]{0,62}) )?([a-z0-9][a-z0-9.-]{1,252}) ([a-z0-9][a-z0-9-]{0,62}) ", re.ASCII)
_POD = lazy(r"[a-z].*-(?:\d{1,4}|[a-z0-9]{5}|[a-z0-9]{8,10}-[a-z0-9]{5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Stern:
    """``vllm-7d8c5c9f-2mxvk vllm text``: stern's default template (stern cmd/cmd.go), ``ns pod container`` with -A.

    Two lower-case words and a space are ordinary prose, so the pod must carry a generated suffix (``-0``, ``-2mxvk``)
    and what follows must be a known prefix or begin as tracebacks do (``confirm``), unless the caller trusts the source.
    """

    confirm: Callable[[str], bool] | None
    name: str = "stern"

    def peel(self, peeled: Peeled) -> bool:
        if "-" not in peeled.text[:128]:
            return False
        match = _STERN.match(peeled.text)
        if match is None:
            return False
        namespace, pod, container = match.groups()
        end = match.end()
        if namespace is not None and not _POD.fullmatch(pod):
            pod, container, end = namespace, pod, match.start(3)  # no namespace column: the third word is text
        if not _POD.fullmatch(pod) or (self.confirm is not None and not self.confirm(peeled.text[end:])):
            return False
        if peeled.container is None:
            peeled.container = f"{pod}/{container}"
        peeled.layers.append(self.name)
        peeled.text = peeled.text[end:]
        return True
