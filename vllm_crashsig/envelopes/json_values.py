"""Values as JSON logs write them: times, levels, numbers in quotes, attribute lists, bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from ..lazy import lazy
from .base import CLOCK, DAY, FRACTION, LEVELS, ZONE, month_number, nominal_seconds, seconds_of

_ISO = lazy(rf"{DAY}[T ]{CLOCK}{FRACTION} ?{ZONE}?$", re.ASCII)
_SHORT = lazy(rf"([01]\d)-([0-3]\d) {CLOCK}{FRACTION}$", re.ASCII)
"""vLLM's own date format, used as asctime."""
_KIBANA = lazy(rf"([A-Z][a-z]{{2}}) (\d{{1,2}}), (\d{{4}}) @ {CLOCK}{FRACTION}$", re.ASCII)
_PORTAL = lazy(rf"(\d{{1,2}})/(\d{{1,2}})/(\d{{4}}), (\d{{1,2}})(:[0-5]\d:[0-6]\d){FRACTION}(?: ([AP])M)?$", re.ASCII)
"""Kibana's and the Azure portal's American dates."""
_DIGITS = lazy(r"\d{9,20}(?:\.\d{1,9})?$", re.ASCII)


def from_json(data: bytes | str) -> Any:
    """What a JSON text says; also NaN and infinities. Raises ValueError."""
    return _parser()(data)


@cache
def _parser() -> Callable[..., Any]:
    """The fastest one that understands NaN. It comes with pydantic's core, which many logs do without."""
    from pydantic_core import from_json

    return from_json


def read_time(value: Any) -> dict[str, Any]:
    """``{"time": seconds, "clock": "utc" | "local" | "no-year"}``, or nothing when the value is no time.

    The unit of a number follows from its size: log times lie between 1990 and 2200.
    """
    if isinstance(value, str):
        match = _ISO.match(value)
        if match is not None:
            return _pack(seconds_of(*match.groups()), "utc" if match.group(4) else "local")
        match = _SHORT.match(value)
        if match is not None:
            month, day, clock, fraction = match.groups()
            return _pack(nominal_seconds(int(month), int(day), clock, fraction), "no-year")
        if _DIGITS.match(value) is None:
            return _read_american(value)
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return {}
    if not 0 < value < 1e20:
        return {}
    for divisor in (1, 1_000, 1_000_000, 1_000_000_000):
        if 6e8 < value / divisor < 7.3e9:
            return {"time": value / divisor, "clock": "utc"}
    return {}


def _read_american(value: str) -> dict[str, Any]:
    match = _KIBANA.match(value)
    if match is not None:
        name, day, year, clock, fraction = match.groups()
        return _pack(seconds_of(f"{year}-{month_number(name) or 0:02d}-{int(day):02d}", clock, fraction), "local")
    match = _PORTAL.match(value)
    if match is not None:
        month, day, year, hour, rest, fraction, half = match.groups()
        hours = int(hour) % 12 + 12 * (half == "P") if half else int(hour)
        return _pack(seconds_of(f"{year}-{int(month):02d}-{int(day):02d}", f"{hours:02d}{rest}", fraction), "local")
    return {}


def _pack(seconds: float | None, clock: str) -> dict[str, Any]:
    return {} if seconds is None else {"time": seconds, "clock": clock}


def attribute_map(holder: Any) -> dict[str, Any]:
    """OpenTelemetry's attribute lists, or its flat maps, as a dict."""
    attributes = holder.get("attributes") if isinstance(holder, dict) else None
    if isinstance(attributes, dict):
        return attributes
    pairs: dict[str, Any] = {}
    for pair in attributes if isinstance(attributes, list) else ():
        value = pair.get("value") if isinstance(pair, dict) else None
        if isinstance(value, dict) and isinstance(pair.get("key"), str):
            pairs[pair["key"]] = next(iter(value.values()), None)
    return pairs


def tag_map(tags: Any) -> dict[str, Any]:
    """Datadog's tags, ``["pod_name:vllm-0", ...]`` or ``"pod_name:vllm-0,..."``, as a dict."""
    if isinstance(tags, str):
        tags = tags.split(",")
    if not isinstance(tags, list):
        return tags if isinstance(tags, dict) else {}
    return dict(tag.split(":", 1) for tag in tags if isinstance(tag, str) and ":" in tag)


def bytes_or_text(value: Any) -> str | None:
    """journald writes text that is not clean UTF-8 as an array of byte values."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        try:
            return bytes(value).decode(errors="replace")
        except (TypeError, ValueError):
            return None
    return None


def string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12 else None


def level(value: Any) -> str | None:
    if isinstance(value, int):
        return {10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical"}.get(value)
    return LEVELS.get(value.strip().upper()) if isinstance(value, str) else None


def stream(value: Any) -> str | None:
    return value if value in ("stdout", "stderr") else None
