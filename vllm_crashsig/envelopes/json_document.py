"""Many log records in one JSON value: the answers of log services, export requests, arrays.

Known: OpenTelemetry's ExportLogsServiceRequest (opentelemetry-proto collector/logs/v1), Loki's query API, Elasticsearch's
search API, CloudWatch's get-log-events, filter-log-events and get-query-results, Datadog's logs API, Google's entries.list and
``gcloud logging read``, Log Analytics' query API and ``az monitor log-analytics query``, Grafana's JSON download,
``dmesg --json``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .json_line import Fields, Record, decode_record
from .json_values import from_json

_STERN_KEYS = frozenset(("namespace", "pod", "container", "message"))
_OBJECT_KEYS = frozenset(("kind", "apiVersion", "metadata", "involvedObject", "lastTransitionTime"))
"""Objects of Kubernetes have a message too, but are no log records: their other fields matter as much."""
_NAMES = (
    b'"resourceLogs"',
    b'"result"',
    b'"hits"',
    b'"events"',
    b'"results"',
    b'"data"',
    b'"entries"',
    b'"tables"',
    b'"dmesg"',
)


def decode_document(data: bytes) -> list[tuple[str, Fields]]:
    """The text and fields of each record in a JSON document that stands on one line; empty where it holds none."""
    data = data.strip().removesuffix(b",")
    if data[:1] == b"{":
        if not any(name in data for name in _NAMES):
            return []
    elif data[:1] != b"[" or data[-1:] != b"]":
        return []
    try:
        value = from_json(data)
    except ValueError:
        return []
    return [found for record in _records(value) if (found := decode_log_record(record)) is not None]


def decode_log_record(record: Any) -> tuple[str, Fields] | None:
    """The text and fields of an object, if it is a log record beyond doubt: with a time, or of a kind that has none."""
    if not isinstance(record, dict) or not _OBJECT_KEYS.isdisjoint(record):
        return None
    found = decode_record(record)
    if found is None or not ("time" in found[1] or found[1]["layer"] != "json" or record.keys() <= _STERN_KEYS):
        return None
    return found


def _records(value: Any) -> Iterator[Record]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))
    elif isinstance(value, dict):
        for name in ("events", "entries", "dmesg"):
            yield from _dicts(value.get(name))
        yield from _dicts(_at(value, "hits", "hits"))
        yield from _dicts(value.get("data"))
        for resource in _dicts(value.get("resourceLogs")):
            for scope in _dicts(resource.get("scopeLogs")):
                yield from ({"resource": resource.get("resource"), **record} for record in _dicts(scope.get("logRecords")))
        for stream in _dicts(_at(value, "data", "result")):
            for pair in _lists(stream.get("values")):
                if len(pair) >= 2:
                    yield {"line": pair[1], "timestamp": pair[0], "labels": stream.get("stream")}
        for cells in _lists(value.get("results")):
            yield {cell["field"]: cell.get("value") for cell in _dicts(cells) if isinstance(cell.get("field"), str)}
        for table in _dicts(value.get("tables")):
            names = [str(column.get("name")) for column in _dicts(table.get("columns"))]
            yield from (dict(zip(names, row, strict=False)) for row in _lists(table.get("rows")))


def _at(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _lists(value: Any) -> list[list[Any]]:
    return [item for item in value if isinstance(item, list)] if isinstance(value, list) else []
