"""Listings: `docker ps`, `docker events`, `kubectl get pods`, `kubectl get events`. Whom each row is about."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from ..envelopes.json_values import read_time
from ..lazy import lazy
from .about import About, speaks_of_serving
from .kinds import LISTINGS

_ROWS = {
    "docker-ps": lazy(r"[0-9a-f]{12,64}\s"),
    "kubectl-pods": lazy(r"(?:[a-z0-9.-]{1,253}\s+){1,2}\d+/\d+\s+[A-Z]\S*\s+\d+\s"),
}
"""What each row of a table looks like: where people paste, a log or another command's output goes on below it."""
_OBJECT = lazy(r"\s(pod|node)/([\w.-]+)\s", re.IGNORECASE)
_EVENT_NAME = lazy(r"[(, ]name=([\w.-]+)")
_EVENT_IMAGE = lazy(r"[(, ]image=([^,)]+)")


def read_listing(kind: str, lines: Sequence[str]) -> list[About | None]:
    """Whom each row is about; None for the heading and for what is no row."""
    if kind == "docker-events":
        return _docker_events(lines)
    rows = {"docker-ps": _docker_ps, "docker-events-json": _docker_event, "kubectl-pods": _pod, "kubectl-events": _event}
    heading = lines[0] if lines else ""
    return [rows[kind](line, heading) if _is_row(kind, line) else None for line in lines]


def _is_row(kind: str, line: str) -> bool:
    if kind in _ROWS:
        return _ROWS[kind].match(line) is not None
    return line.strip() != "" and (kind == "docker-events-json" or LISTINGS[kind].match(line) is None)


def _docker_ps(line: str, _: str) -> About | None:
    words = line.split()
    return About(words[-1], serves=speaks_of_serving([line])) if len(words) > 4 else None


def _pod(line: str, heading: str) -> About | None:
    words = line.split()
    at = 1 if heading.startswith("NAMESPACE") else 0
    return About(words[at], serves=speaks_of_serving([words[at]])) if len(words) > at + 3 else None


def _event(line: str, _: str) -> About | None:
    match = _OBJECT.search(line[:400])
    if match is None:
        return None
    kind, name = match.groups()
    return About(name, serves=speaks_of_serving([name])) if kind.lower() == "pod" else About("", node=name)


def _docker_events(lines: Sequence[str]) -> list[About | None]:
    """An event goes on over several lines where a command in it has some."""
    told: list[About | None] = []
    for line in lines:
        if (match := LISTINGS["docker-events"].match(line)) is None:
            told.append(told[-1] if told else None)
            continue
        name, image = _EVENT_NAME.search(line), _EVENT_IMAGE.search(line)
        about = None
        if match.group(2) == "container" and name is not None:
            about = About(name.group(1), serves=speaks_of_serving([name.group(1), image.group(1) if image else ""]))
            about.time = read_time(match.group(1)).get("time")
        told.append(about)
    return told


def _docker_event(line: str, _: str) -> About | None:
    try:
        event = json.loads(line)
        attributes = event["Actor"]["Attributes"]
        if event["Type"] != "container":
            return None
        name, image = str(attributes["name"]), str(attributes.get("image", ""))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    about = About(name, serves=speaks_of_serving([name, image]))
    about.time = read_time(event.get("timeNano") or event.get("time")).get("time")
    return about
