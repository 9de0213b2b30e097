"""What names tell: addresses of GPUs, ranks and pods in the names of files and containers."""

from __future__ import annotations

import re
from functools import lru_cache

from .lazy import lazy
from .model import FactValue

_RANK_OF_FILE = lazy(
    r"(?:^|[^a-z])rank[._-]?(\d{1,5})(?!\d)[^/\\]*$|[/\\]attempt_\d+[/\\](\d{1,5})[/\\]std(?:out|err)\.log", re.IGNORECASE
)
"""``rank3.log``, and where torchrun writes: ``attempt_0/3/stderr.log``."""
_POD_PATH = lazy(r"/pods/[^/_]+_([^/_]+)_[^/]+/|/containers/([a-z0-9.-]+)_[a-z0-9-]+_[a-z0-9.-]+-[0-9a-f]{12,}\.log")
"""The kubelet's names of log files: ``/var/log/pods/<namespace>_<pod>_<uid>/..`` and
``/var/log/containers/<pod>_<namespace>_<container>-<id>.log``."""


@lru_cache(maxsize=1024)
def rank_of_file(source: str) -> int | None:
    """The rank that the name of a log file tells, for logs in which nothing else does."""
    match = _RANK_OF_FILE.search(source)
    return int(match.group(1) or match.group(2)) if match else None


def pod_of(container: str | None, source: str | None) -> str | None:
    """The pod of a container that is called ``pod/container``, or of the kubelet's file."""
    if container is not None and "/" in container:
        return container.partition("/")[0]
    match = _POD_PATH.search(source.replace("\\", "/")) if source else None
    return next((g for g in match.groups() if g), None) if match else None


def pci_address(text: FactValue | None) -> str | None:
    """An address as the kernel writes it (``0000:3b:00.0``), from any of the forms that NVIDIA's tools print: with eight digits
    of domain, without function, or as the one number of NCCL's ``busId`` (``3b000``)."""
    if text is None or not str(text):
        return None
    plain = str(text).lower().removeprefix("pci:")
    if ":" not in plain:
        if len(plain) > 13 or not all(c in "0123456789abcdef" for c in plain):
            return None
        plain = plain.rjust(13, "0")
        plain = f"{plain[:8]}:{plain[8:10]}:{plain[10:12]}.{plain[12]}"
    domain, _, rest = plain.rpartition(":")[0].rpartition(":")
    last, _, function = plain.rpartition(":")[2].partition(".")
    try:
        return f"{int(domain or '0', 16):04x}:{int(rest, 16):02x}:{int(last, 16):02x}.{int(function or '0', 16):x}"
    except ValueError:
        return None
