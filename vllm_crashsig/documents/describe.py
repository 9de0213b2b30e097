"""`kubectl describe pod`: which Pod and container each line is about, and when what it tells ended.

Source: kubernetes staging/src/k8s.io/kubectl/pkg/describe/describe.go (describePod, DescribeContainers, describeStatus).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..envelopes.base import month_number, seconds_of
from ..lazy import lazy
from .about import GPUS, About, speaks_of_serving

_SECTION = lazy(r"([A-Z][A-Za-z -]*):(?:\s+(.*))?$")
_CONTAINER = lazy(r"  ([a-z0-9][a-z0-9.-]*):\s*$")
_STATE = lazy(r"    (Last )?State:\s")
_FINISHED = lazy(r"\s+Finished:\s+(.*)")
_DATE = lazy(r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) ([+-]\d{4})\s*$")
_NAMING = lazy(r"    (?:  \S|(?:Image|Args|Command):)")
"""Lines of a container that may tell what it runs: its image, and arguments one below the other."""
_GROUPS = {"Containers": False, "Init Containers": True, "Ephemeral Containers": False}
"""Sections of containers, and whether the others wait for them."""


def read_describe(lines: Sequence[str]) -> list[About | None]:
    """Whom each line is about."""
    told: list[About | None] = []
    pod, node, section, name, current = "", None, "", None, False
    block: list[About] = []
    """Lines of the state of a container that is being read."""
    for line in lines:
        if line[:1].strip() and (match := _SECTION.match(line)):
            section, name = match.group(1), None
            value = (match.group(2) or "").strip()
            if section == "Name":
                pod, node = value, None
            elif section == "Node":
                node = value.partition("/")[0] or None
        elif section in _GROUPS and (match := _CONTAINER.match(line)):
            name = match.group(1)
        if not pod:
            told.append(None)
            continue
        about = About(pod, name, node, serves=_serves(line, section, name), needed=_GROUPS.get(section, False))
        told.append(about)
        if (state := _STATE.match(line)) is not None or not line.startswith("      "):
            block, current = [], state is not None and state.group(1) is None
        about.current = current
        block.append(about)
        if (match := _FINISHED.match(line)) is not None:
            ended = read_date(match.group(1))
            for one in block:
                one.time = ended
    return told


def _serves(line: str, section: str, name: str | None) -> bool:
    """Whether a line shows that what it is about serves models."""
    if name is None:
        return section == "Name" and speaks_of_serving([line])
    named = _NAMING.match(line) or _CONTAINER.match(line)
    return bool(named and speaks_of_serving([line])) or GPUS.search(line) is not None


def read_date(words: str) -> float | None:
    """Seconds since the epoch of a date as kubectl describe prints it (RFC 1123 with a numeric zone)."""
    match = _DATE.match(words)
    if match is None:
        return None
    day, month, year, clock, zone = match.groups()
    number = month_number(month)
    seconds = seconds_of(f"{year}-{number:02d}-{day}", clock, None, zone) if number else None
    return seconds if seconds is not None and seconds > 0 else None
