"""Lines that are JSON objects with the log text in one field, found by name.

Known by name: Docker's json-file driver (moby daemon/logger/jsonfilelog), ``journalctl -o json`` (systemd
logs-show.c: output_json), OpenTelemetry log records (opentelemetry-proto logs.proto and the collector's file exporter),
``dmesg --json`` records, Ray's JSON logging and export events (ray/_common/formatters.py, src/ray/util/event.cc),
python-json-logger (vLLM with VLLM_LOGGING_CONFIG_PATH), Loki and Grafana exports, CloudWatch, Datadog, Fluent Bit and
Kubernetes metadata, and any other object with a field called message, msg, log, line or text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .base import SEVERITIES
from .clean import plain_text
from .json_failures import with_failures
from .json_values import attribute_map, bytes_or_text, from_json, level, number, read_time, stream, string, tag_map

Fields = dict[str, Any]
Record = Mapping[str, Any]

_TEXT_KEYS = (
    "log", "message", "msg", "line", "MESSAGE", "text", "event", "textPayload", "@message", "Message", "body", "LogMessage",
    "LogEntry", "_raw",
)  # fmt: skip
_INNER_KEYS = ("attributes", "content", "jsonPayload", "_source", "fields", "result", "message", "log", "LogMessage")
"""Where Datadog, Google Cloud Logging, Elasticsearch, structlog and Splunk exports put the record proper; and where stern,
Azure and collectors put a message that was JSON itself."""

_TIME_KEYS = (
    "time", "asctime", "timestamp", "@timestamp", "ts", "timestamp_ns", "date", "timeUnixNano", "observedTimeUnixNano",
    "ingestionTime", "@ingestionTime", "created", "datetime", "TimeGenerated", "receiveTimestamp", "_time",
)  # fmt: skip
_LEVEL_KEYS = ("levelname", "level", "severity", "severityText", "status", "log_level", "lvl", "loglevel", "level_name")
_PID_KEYS = ("pid", "process", "process_id", "source_pid", "_PID")
_NODE_KEYS = (
    "hostname", "host", "node", "node_ip", "node_ip_address", "host_name", "source_hostname", "node_name", "nodename",
    "nodeName", "pod_node_name", "Computer", "compute.googleapis.com/resource_name",
)  # fmt: skip
_POD_KEYS = ("pod", "pod_name", "podName", "PodName")
_CONTAINER_KEYS = ("container", "container_name", "containerName", "ContainerName", "kube_container_name")
_LABELS = ("labels", "stream", "kubernetes", "resource", "tags", "attributes", "fields")
"""Where collectors put what they know of where a line came from."""
_MASKED = ("textPayload", "jsonPayload", "LogMessage", "attributes")
"""Records whose level says only which stream the line came from: of Google, Azure and Datadog."""
_COMPONENT_KEYS = (
    "component",
    "processName",
    "process_name",
    "actor_name",
    "service",
    "source_type",
    "deployment",
    "logger_name",
)
_RANK_KEYS = ("rank", "global_rank", "local_rank")


def decode_json_line(line: bytes) -> tuple[str, Fields] | None:
    """The text inside a JSON line and what its other fields tell, or None when it is no such line.

    The fields are those of ``node, container, pod, pid, rank, component, time, clock, stream, level`` that are known, and
    ``layer``, the kind of envelope. ``partial`` is there where the line goes on in another record.
    """
    data = line.strip(b" \t\r\n\x1e")
    if data[-1:] == b"m":  # the end of a colour
        data = plain_text(data).strip()
    if data[:6] == b"data: ":  # server-sent events, as journalctl -o json-sse has them
        data = data[6:]
    if data[:1] != b"{" and data[:3] == b"},{":
        data = data[2:]
    if data[-1:] == b",":
        data = data[:-1]
    if data[:1] != b"{" or data[-1:] != b"}":
        return None
    try:
        record = from_json(data)
    except ValueError:
        if (other := _mended(data)) is None:
            return None
        record = other
    return decode_record(record) if isinstance(record, dict) else None


def _mended(data: bytes) -> Any:
    """A record on its way through a terminal or a chat: with colours in its strings, or with entities for its quotes."""
    mended = plain_text(data)
    if mended == data:
        return None
    try:
        return from_json(mended)
    except ValueError:
        return None


def decode_record(record: Record) -> tuple[str, Fields] | None:
    """The same for a record that has been read already."""
    for matches, decode in _KINDS:
        if matches(record):
            return decode(record)
    return None


def _docker(record: Record) -> tuple[str, Fields]:
    fields = _fields("docker-json", time=record.get("time"), source=record.get("stream"))
    attributes = record.get("attrs")
    if isinstance(attributes, dict):
        name = attributes.get("tag") or attributes.get("name") or attributes.get("com.docker.compose.service")
        fields.update(_known(container=string(name)))
    if not record["log"].endswith("\n"):
        fields["partial"] = True
    return record["log"], fields


def _journal(record: Record) -> tuple[str, Fields] | None:
    text = bytes_or_text(record["MESSAGE"])
    if text is None:
        return None
    ident = string(record.get("SYSLOG_IDENTIFIER")) or string(record.get("_COMM"))
    container = string(record.get("CONTAINER_NAME")) or string(record.get("CONTAINER_ID"))
    kernel = record.get("_TRANSPORT") == "kernel"
    fields = _fields("dmesg" if kernel else "journald", time=None)
    if stamp := (record.get("__REALTIME_TIMESTAMP") or record.get("_SOURCE_REALTIME_TIMESTAMP")):
        fields.update(read_time(stamp))
    fields.update(_known(node=string(record.get("_HOSTNAME")), container=container))
    if container is None:  # else identifier and pid are those of dockerd
        fields.update(_known(component="kernel" if kernel else ident, pid=number(record.get("_PID"))))
        priority = number(record.get("PRIORITY"))
        if priority is not None and 0 <= priority < len(SEVERITIES) and kernel:  # others' is that of their stream
            fields["level"] = SEVERITIES[priority]
    if record.get("CONTAINER_PARTIAL_MESSAGE") == "true":
        fields["partial"] = True
    return text, fields


def _dmesg(record: Record) -> tuple[str, Fields]:
    fields = _fields("dmesg", time=None)
    fields.update(component="kernel", level=SEVERITIES[int(record["pri"]) & 7])
    if isinstance(record["time"], (int, float)) and 0 <= record["time"] < 1e12:
        fields.update(time=float(record["time"]), clock="boot")
    return record["msg"], fields


def _otel(record: Record) -> tuple[str, Fields]:
    attributes = {**attribute_map(record.get("resource")), **attribute_map(record)}
    body = record["body"]
    fields = _fields("otel-json", time=record.get("timeUnixNano") or record.get("observedTimeUnixNano"))
    _add_common(fields, {**attributes, "severityText": record.get("severityText")})
    fields.update(
        _known(
            node=string(attributes.get("k8s.node.name") or attributes.get("host.name")),
            pod=string(attributes.get("k8s.pod.name")),
            container=string(attributes.get("k8s.container.name") or attributes.get("container.name")),
            pid=number(attributes.get("process.pid")),
            component=string(attributes.get("service.name")),
            stream=stream(attributes.get("log.iostream")),
        )
    )
    return (body if isinstance(body, str) else body["stringValue"]), _qualified(fields)


def _generic(record: Record) -> tuple[str, Fields] | None:
    text, inner = _find_text(record)
    if text is None:
        return None
    fields = _fields("json", time=None, source=record.get("stream") or record.get("_stream") or record.get("LogSource"))
    own: Fields = {}
    if inner is not record and inner is not record.get("_source"):  # what the program said of itself goes first
        known = next((found for matches, decode in _KINDS[:-1] if matches(inner) and (found := decode(inner))), None)
        own = known[1] if known is not None else own
        _add_common(own, inner)
        fields.update(_known(level=own.get("level"), pid=own.get("pid"), rank=own.get("rank"), component=own.get("component")))
    _add_common(fields, record)
    if inner is not record:
        for name, value in own.items():
            fields.setdefault(name, value)
        _add_common(fields, inner)
    if any(key in record for key in _MASKED) and ("level" not in own or "attributes" in record):
        fields.pop("level", None)
    if record.get("logtag") == "P" or record.get("_p") == "P":  # of a CRI record, by Fluent Bit and fluentd
        fields["partial"] = True
    return text, _qualified(fields)


def _find_text(record: Record) -> tuple[str | None, Record]:
    """The first text field by name: outside, then one level down."""
    for key in _TEXT_KEYS:
        value = record.get(key)
        if isinstance(value, str):
            return with_failures(value, record), record
    for key in _INNER_KEYS:
        inner = record.get(key)
        if isinstance(inner, dict):
            text, found = _find_text(inner)
            if text is not None:
                return text, found
    return None, record


def _add_common(fields: Fields, record: Record) -> None:
    """Times, levels and names under the keys that loggers and collectors use; the first that reads well wins."""
    if "time" not in fields:
        for key in _TIME_KEYS:
            if key in record and (found := read_time(record[key])):
                fields.update(found)
                break
    labels = [record[k] for k in _LABELS if isinstance(record.get(k), dict)]
    labels += [label["labels"] for label in labels if isinstance(label.get("labels"), dict)]
    for key in ("tags", "ddtags"):
        if key in record:
            labels.append(tag_map(record[key]))
    for holder in (record, *labels[:]):
        labels += [
            {f"{kind}_name": named["name"]}
            for kind in ("host", "pod", "container", "node")
            if isinstance(named := holder.get(kind), dict) and isinstance(named.get("name"), str)
        ]
    for source in (record, *labels):
        for name, value in (
            ("level", level(_first(source, _LEVEL_KEYS))),
            ("pid", number(_first(source, _PID_KEYS))),
            ("rank", number(_first(source, _RANK_KEYS))),
            ("node", string(_first(source, _NODE_KEYS))),
            ("component", string(_first(source, _COMPONENT_KEYS))),
            ("pod", string(_first(source, _POD_KEYS))),
            ("container", string(_first(source, _CONTAINER_KEYS))),
            ("stream", stream(source.get("stream"))),
        ):
            if value is not None and name not in fields:
                fields[name] = value


def _fields(layer: str, time: Any, source: Any = None) -> Fields:
    return {"layer": layer, **(read_time(time) if time is not None else {}), **_known(stream=stream(source))}


def _qualified(fields: Fields) -> Fields:
    """A container's name says little without its pod: ``vllm-0/vllm``, as kubectl's prefix has it."""
    if "pod" in fields and "container" in fields:
        fields["container"] = f"{fields['pod']}/{fields['container']}"
    return fields


def _known(**values: Any) -> Fields:
    return {name: value for name, value in values.items() if value is not None}


def _first(record: Record, keys: Iterable[str]) -> Any:
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _is_otel(record: Record) -> bool:
    body = record.get("body")
    if isinstance(body, dict):
        return isinstance(body.get("stringValue"), str)
    return isinstance(body, str) and "severityText" in record


_Kind = tuple[Callable[[Record], bool], Callable[[Record], tuple[str, Fields] | None]]
_KINDS: tuple[_Kind, ...] = (
    (lambda r: isinstance(r.get("log"), str) and "time" in r and r.keys() <= {"log", "stream", "time", "attrs"}, _docker),
    (lambda r: "MESSAGE" in r and ("__REALTIME_TIMESTAMP" in r or "_TRANSPORT" in r or "__CURSOR" in r), _journal),
    (lambda r: isinstance(r.get("msg"), str) and isinstance(r.get("pri"), int) and "time" in r, _dmesg),
    (_is_otel, _otel),
    (lambda _r: True, _generic),
)
"""Kinds by their tell-tale keys, the strict ones first."""
