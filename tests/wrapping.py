"""Every envelope that logs arrive in, written from the formats' definitions upstream and never from the project's peelers.

An `Envelope` wraps a log: line by line (then it may be put around another one), or as a whole document. It says what a
reader must know afterwards.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

BEGIN = datetime(2026, 11, 30, 9, 41, 58, 250000, tzinfo=timezone.utc)
BOOT = datetime(2026, 11, 20, 0, 0, 0, tzinfo=timezone.utc)
NODE, NAMESPACE, POD, CONTAINER = "gpu-node-07", "prod", "vllm-7d8c5c9f7b-2mxvk", "vllm"
PID, RANK, IP = 4321, 3, "10.0.0.2"
QUALIFIED = f"{POD}/{CONTAINER}"
TASK = "llm_vllm.1.k3j5h2k1l9p0q8r7s6t5u4v3w"
ID = "4be1f0c7a92d5d3f0c1e8b7a6f5e4d3c2b1a09f8e7d6c5b4a3f2e1d0c9b8a7f6"


@dataclass(frozen=True, slots=True)
class Spoken:
    """A line as the program wrote it, and when."""

    text: str
    time: datetime


Line = Callable[[str, datetime], str]
Document = Callable[[Sequence[Spoken]], str]


@dataclass(frozen=True)
class Envelope:
    """One wrapping. ``tells``: fields of the scope that each line carries afterwards; ``clock``: what its times are."""

    name: str
    line: Line | None = None
    """The lines (mostly one) that stand for one line."""
    document: Document | None = None
    """Everything in one, for what is no sequence of lines."""
    tells: dict[str, Any] = field(default_factory=dict)
    clock: str | None = None
    layer: str = ""
    """``ray`` for what speaks of other nodes than the one that wrote the log."""
    precision: float = 0.001
    """Seconds to which times are told."""
    for_kernel: bool = False
    """Only the kernel's messages come in it."""
    bare_only: bool = False
    """Only a program's bare messages come in it: it is the header of a logger."""
    trims: bool = False
    """White space at the edges of a line is lost on the way."""
    proof: int = 0
    """Lines with text below which nothing can tell this envelope from prose."""
    unordered: bool = False
    """Other lines stand next to each other afterwards."""

    def wrap(self, log: Sequence[Spoken]) -> str:
        if self.document is not None:
            return self.document(log)
        assert self.line is not None
        return "".join(self.line(s.text, s.time) + "\n" for s in log)


def nested(outermost: Envelope, *inner: Envelope) -> Callable[[Sequence[Spoken]], str]:
    """A wrapping in several envelopes, given from the outermost inward."""

    def wrap(log: Sequence[Spoken]) -> str:
        for envelope in reversed(inner):
            assert envelope.line is not None
            log = [Spoken(part, s.time) for s in log for part in envelope.line(s.text, s.time).split("\n")]
        return outermost.wrap(log)

    return wrap


_DATE = re.compile(r"(?:(\d{4})[-/])?\b([01]\d)-([0-3]\d)[T ]$")
_CLOCK = re.compile(r"([0-2]\d):([0-5]\d):([0-6]\d)(?:[.,](\d{1,6}))?")
_SINCE_BOOT = re.compile(r"\[ *(\d{1,9}\.\d{6})\]")


def spoken(text: str) -> list[Spoken]:
    """The lines of a log with times that keep the distances between the times in the log, as far as these are told."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    found: list[Spoken] = []
    first: dict[str, float] = {}
    now = 0.0
    for line in lines:
        told = _told(line[:160])
        if told is not None:
            kind, seconds = told
            first.setdefault(kind, seconds - now)
            now = max(now, seconds - first[kind])
        found.append(Spoken(line, BEGIN + timedelta(seconds=min(now, 30 * 86400))))
        now += 0.0005
    return found


def _told(head: str) -> tuple[str, float] | None:
    match = _SINCE_BOOT.search(head)
    if match is not None:
        return "boot", float(match.group(1))
    match = _CLOCK.search(head)
    if match is None:
        return None
    hours, minutes, seconds, fraction = match.groups()
    of_day = int(hours) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction or 0}")
    date = _DATE.search(head[: match.start()])
    if date is None:
        return "clock", of_day
    return "date", (int(date.group(2)) * 31 + int(date.group(3))) * 86400 + of_day


# times as programs print them


def nano(time: datetime) -> str:
    """Go's RFC3339NanoFixed."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond:06d}123Z"


def go_nano(time: datetime) -> str:
    """Go's RFC3339Nano: no zeros at the end of the fraction."""
    fraction = f"{time.microsecond:06d}".rstrip("0")
    return time.strftime("%Y-%m-%dT%H:%M:%S") + (f".{fraction}" if fraction else "") + "Z"


def micro(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.%f")


def milli(time: datetime) -> str:
    return micro(time)[:-3]


def seconds(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S")


def stamp(time: datetime) -> float:
    return time.timestamp()


def epoch_ns(time: datetime) -> str:
    return str(int(time.timestamp() * 1_000_000) * 1000)


def epoch_ms(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def since_boot(time: datetime) -> float:
    return (time - BOOT).total_seconds()


# JSON as programs print it


def go_json(value: Any) -> str:
    """encoding/json: no spaces, and ``<``, ``>``, ``&`` escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda m: f"\\u{ord(m.group()):04x}", text)


def plain_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def js_json(value: Any) -> str:
    """JSON.stringify."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fits_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# Docker


def json_file(text: str, time: datetime) -> str:
    return go_json({"log": text + "\n", "stream": "stderr", "time": go_nano(time)})


def json_file_attributes(text: str, time: datetime) -> str:
    attributes = {"com.docker.compose.service": "vllm", "tag": "vllm-1"}
    return go_json({"log": text + "\n", "stream": "stderr", "attrs": attributes, "time": go_nano(time)})


def json_file_parts(text: str, time: datetime) -> str:
    """As for lines of more than 16 KiB: only the last part has the newline."""
    parts = [text[i : i + 60] for i in range(0, len(text), 60)] or [""]
    parts[-1] += "\n"
    return "\n".join(go_json({"log": p, "stream": "stderr", "time": go_nano(time)}) for p in parts)


def cri_parts(text: str, time: datetime) -> str:
    parts = [text[i : i + 60] for i in range(0, len(text), 60)] or [""]
    last = len(parts) - 1
    return "\n".join(f"{nano(time)} stderr {'F' if i == last else 'P'} {p}" for i, p in enumerate(parts))


def ppextjson(log: Sequence[Spoken]) -> str:
    """stern's: a message that is JSON goes in as it is."""
    messages = [s.text if fits_json(s.text) else go_json(s.text) for s in log]
    return "".join(f'{{\n  "pod": "{POD}",\n  "container": "{CONTAINER}",\n  "message": {m}\n}}\n' for m in messages)


# the journal

JOURNAL = {
    "_BOOT_ID": "9c1f4b8f2d3e4f5a8b7c6d5e4f3a2b1c",
    "_MACHINE_ID": "0c1f4b8f2d3e4f5a8b7c6d5e4f3a2b1d",
    "_HOSTNAME": NODE,
    "PRIORITY": "6",
    "_UID": "0",
    "_TRANSPORT": "stdout",
    "SYSLOG_IDENTIFIER": "vllm",
    "_PID": str(PID),
    "_COMM": "python3",
    "_SYSTEMD_UNIT": "vllm.service",
}


def journal_fields(text: str, time: datetime) -> dict[str, str]:
    cursor = f"s=3c;i=7f2;b={JOURNAL['_BOOT_ID']};m=1;t={epoch_ns(time)[:-3]};x=e7"
    return {
        "__CURSOR": cursor,
        "__REALTIME_TIMESTAMP": epoch_ns(time)[:-3],
        "__MONOTONIC_TIMESTAMP": str(int(since_boot(time) * 1e6)),
        **JOURNAL,
        "MESSAGE": text,
    }


def journal_json(text: str, time: datetime) -> str:
    """systemd writes bytes as an array where the text holds a control character other than a newline."""
    fields: dict[str, Any] = journal_fields(text, time)
    if any(ord(c) < 32 and c not in "\n\t" for c in text):
        fields["MESSAGE"] = list(text.encode())
    return json.dumps(fields, ensure_ascii=False)


def journal_pretty(log: Sequence[Spoken]) -> str:
    return "".join(json.dumps(journal_fields(s.text, s.time), ensure_ascii=False, indent="\t") + "\n" for s in log)


def journal_export(log: Sequence[Spoken]) -> str:
    out = []
    for s in log:
        fields = journal_fields(s.text, s.time)
        if any(ord(c) < 32 and c != "\t" for c in s.text):
            del fields["MESSAGE"]
            size = len(s.text.encode()).to_bytes(8, "little").decode(errors="surrogateescape")
            out.append("".join(f"{k}={v}\n" for k, v in fields.items()) + f"MESSAGE\n{size}{s.text}\n\n")
        else:
            out.append("".join(f"{k}={v}\n" for k, v in fields.items()) + "\n")
    return "".join(out)


def journal_verbose(log: Sequence[Spoken]) -> str:
    out = []
    for s in log:
        fields = journal_fields(s.text, s.time)
        cursor = fields["__CURSOR"]
        out.append(f"{s.time:%a %Y-%m-%d %H:%M:%S.%f} UTC [{cursor}]\n")
        out += [f"    {k}={v}\n" for k, v in fields.items() if not k.startswith("__")]
    return "".join(out)


# syslog


def rfc5424(text: str, time: datetime) -> str:
    return f"<11>1 {micro(time)}Z {NODE} vllm {PID} - - {text}"


def octets(text: str, time: datetime) -> str:
    """RFC 6587 3.4.1, with the newline that many senders count in."""
    message = rfc5424(text, time) + "\n"
    return f"{len(message.encode())} {message}".removesuffix("\n")


def octets_run_together(log: Sequence[Spoken]) -> str:
    messages = [rfc5424(s.text, s.time) for s in log]
    return "".join(f"{len(m.encode())} {m}" for m in messages)


# the kernel


def dmesg_json(log: Sequence[Spoken]) -> str:
    """util-linux's lib/jsonwrt.c, three spaces a level."""
    records = []
    for s in log:
        message = plain_json(_STAMPED.sub("", s.text, count=1))
        body = f'         "pri": 3,\n         "time": {since_boot(s.time):12.6f},\n         "msg": {message}\n'
        records.append("{\n" + body + "      }")
    return '{\n   "dmesg": [\n      ' + ",".join(records) + "\n   ]\n}\n"


# collectors and clouds


def loki_api(log: Sequence[Spoken]) -> str:
    stream = {"stream": {"namespace": NAMESPACE, "pod": POD, "container": CONTAINER, "node_name": NODE}}
    values = [[epoch_ns(s.time), s.text] for s in log]
    return go_json({"status": "success", "data": {"resultType": "streams", "result": [{**stream, "values": values}]}}) + "\n"


LABELS = {"container": CONTAINER, "namespace": NAMESPACE, "node_name": NODE, "pod": POD}


def loki_labels() -> str:
    return "{" + ", ".join(f'{k}="{v}"' for k, v in LABELS.items()) + "}"


def grafana_json(log: Sequence[Spoken]) -> str:
    return js_json(
        [
            {"line": s.text, "timestamp": epoch_ns(s.time), "date": milli(s.time) + "Z", "fields": {"id": "1_2", **LABELS}}
            for s in log
        ]
    )


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], *, quote_all: bool = False, delimiter: str = ",") -> str:
    out = io.StringIO()
    writer = csv.writer(
        out, quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL, delimiter=delimiter, lineterminator="\n"
    )
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def grafana_csv(log: Sequence[Spoken]) -> str:
    return table(
        ["Date", "Time", "Line", "tsNs", "id"],
        [[milli(s.time) + "Z", epoch_ms(s.time), s.text, epoch_ns(s.time), f"{epoch_ns(s.time)}_a1"] for s in log],
        quote_all=True,
    )


def get_log_events(log: Sequence[Spoken]) -> str:
    events = [{"timestamp": epoch_ms(s.time), "message": s.text, "ingestionTime": epoch_ms(s.time) + 900} for s in log]
    answer = {"events": events, "nextForwardToken": "f/3711", "nextBackwardToken": "b/3711"}
    return json.dumps(answer, indent=4, ensure_ascii=False) + "\n"


def filter_log_events(log: Sequence[Spoken]) -> str:
    events = [
        {
            "logStreamName": f"{NODE}-application.var.log.containers.{POD}_{NAMESPACE}_{CONTAINER}-{ID}.log",
            "timestamp": epoch_ms(s.time),
            "message": s.text,
            "ingestionTime": epoch_ms(s.time) + 900,
            "eventId": str(36000 + i),
        }
        for i, s in enumerate(log)
    ]
    return json.dumps({"events": events, "searchedLogStreams": []}, indent=4, ensure_ascii=False) + "\n"


def insights_csv(log: Sequence[Spoken]) -> str:
    return table(
        ["@timestamp", "@message", "@logStream", "@log"],
        [[milli(s.time).replace("T", " "), s.text, "vllm/vllm/0af3", "123456789012:/ecs/vllm"] for s in log],
    )


def datadog_api(log: Sequence[Spoken]) -> str:
    events = [
        {
            "id": f"AwAAAY{i:06d}",
            "type": "log",
            "attributes": {
                "service": "vllm",
                "host": NODE,
                "status": "info",
                "timestamp": milli(s.time) + "Z",
                "message": s.text,
                "tags": [f"pod_name:{POD}", f"kube_container_name:{CONTAINER}", f"kube_namespace:{NAMESPACE}"],
            },
        }
        for i, s in enumerate(log)
    ]
    return json.dumps({"data": events, "meta": {"status": "done"}}, ensure_ascii=False) + "\n"


def datadog_csv(log: Sequence[Spoken]) -> str:
    rows = [[milli(s.time) + "Z", NODE, "vllm", s.text] for s in log]
    return table(["Date", "Host", "Service", "Message"], rows, quote_all=True)


def gcloud_entry(s: Spoken, payload: dict[str, Any]) -> dict[str, Any]:
    labels = {"cluster_name": "c1", "container_name": CONTAINER, "namespace_name": NAMESPACE, "pod_name": POD}
    return {
        "insertId": "1q2w3e4r5t",
        "labels": {"compute.googleapis.com/resource_name": NODE, "k8s-pod/app": "vllm"},
        "logName": "projects/p/logs/stderr",
        "receiveTimestamp": micro(s.time + timedelta(seconds=1)) + "123Z",
        "resource": {"labels": labels, "type": "k8s_container"},
        "severity": "INFO",
        **payload,
        "timestamp": nano(s.time),
    }


def gcloud_text(log: Sequence[Spoken]) -> str:
    return json.dumps([gcloud_entry(s, {"textPayload": s.text}) for s in log], indent=2, ensure_ascii=False) + "\n"


def gcloud_json(log: Sequence[Spoken]) -> str:
    entries = [gcloud_entry(s, {"jsonPayload": {"message": s.text, "pid": PID}}) for s in log]
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def azure_record(s: Spoken) -> dict[str, Any]:
    return {
        "Computer": NODE,
        "ContainerId": ID,
        "ContainerName": CONTAINER,
        "LogLevel": "unknown",
        "LogMessage": s.text,
        "LogSource": "stderr",
        "PodName": POD,
        "PodNamespace": NAMESPACE,
        "TableName": "PrimaryResult",
        "TimeGenerated": milli(s.time) + "Z",
    }


def azure_json(log: Sequence[Spoken]) -> str:
    return json.dumps([azure_record(s) for s in log], indent=2, ensure_ascii=False) + "\n"


def azure_csv(log: Sequence[Spoken]) -> str:
    header = ["TimeGenerated [UTC]", "Computer", "ContainerId", "ContainerName", "PodName", "LogMessage", "LogSource"]
    rows = [
        [f"{s.time:%m/%d/%Y, %H:%M:%S}.{s.time.microsecond // 1000:03d}", NODE, ID, CONTAINER, POD, s.text, "stderr"]
        for s in log
    ]
    return table(header, rows, quote_all=True)


KUBERNETES = {
    "pod_name": POD,
    "namespace_name": NAMESPACE,
    "host": NODE,
    "container_name": CONTAINER,
    "docker_id": ID,
    "labels": {"app": "vllm"},
}


def fluent_bit(text: str, time: datetime) -> str:
    return plain_json({"date": round(stamp(time), 6), "stream": "stderr", "_p": "F", "log": text, "kubernetes": KUBERNETES})


def fluent_bit_stdout(text: str, time: datetime) -> str:
    """The stdout output plugin prints msgpack (msgpack_object_print), which escapes nothing in strings."""
    body = ", ".join(f'"{k}"=>"{v}"' for k, v in (("stream", "stderr"), ("log", text)))
    return f"[0] kube.var.log.containers.{POD}_{NAMESPACE}_{CONTAINER}-{ID}.log: [[{stamp(time):.9f}, {{}}], {{{body}}}]"


def fluentd_file(text: str, time: datetime) -> str:
    record = js_json({"stream": "stderr", "log": text, "kubernetes": KUBERNETES})
    return f"{seconds(time)}+00:00\tkubernetes.var.log.containers.vllm\t{record}"


def fluentd_stdout(text: str, time: datetime) -> str:
    record = js_json({"log": text, "stream": "stderr"})
    return f"{time:%Y-%m-%d %H:%M:%S.%f}000 +0000 kube.vllm: {record}"


def vector(text: str, time: datetime) -> str:
    kubernetes = {"container_name": CONTAINER, "pod_name": POD, "pod_namespace": NAMESPACE, "pod_node_name": NODE}
    return js_json(
        {
            "file": f"/var/log/pods/{NAMESPACE}_{POD}_1/vllm/0.log",
            "kubernetes": kubernetes,
            "message": text,
            "source_type": "kubernetes_logs",
            "stream": "stderr",
            "timestamp": micro(time) + "123Z",
            "timestamp_end": micro(time) + "123Z",
        }
    )


def elastic_source(s: Spoken) -> dict[str, Any]:
    return {
        "@timestamp": milli(s.time) + "Z",
        "message": s.text,
        "stream": "stderr",
        "host": {"name": NODE},
        "container": {"id": ID, "runtime": "containerd"},
        "kubernetes": {
            "pod": {"name": POD, "uid": "0a1"},
            "container": {"name": CONTAINER},
            "namespace": NAMESPACE,
            "node": {"name": NODE},
        },
    }


def elastic_search(log: Sequence[Spoken]) -> str:
    hits = [{"_index": ".ds-logs-1", "_id": f"x{i}", "_score": None, "_source": elastic_source(s)} for i, s in enumerate(log)]
    total = {"value": len(hits), "relation": "eq"}
    return js_json({"took": 4, "timed_out": False, "hits": {"total": total, "max_score": None, "hits": hits}}) + "\n"


def elastic_pretty(log: Sequence[Spoken]) -> str:
    return json.dumps(json.loads(elastic_search(log)), indent=2, ensure_ascii=False) + "\n"


def elastic_dump(text: str, time: datetime) -> str:
    """elasticdump: one hit a line."""
    return js_json({"_index": "logs", "_type": "_doc", "_id": "x1", "_score": 1, "_source": elastic_source(Spoken(text, time))})


def kibana_csv(log: Sequence[Spoken]) -> str:
    rows = [
        [f"{s.time:%b} {s.time.day}, {s.time:%Y @ %H:%M:%S}.{s.time.microsecond // 1000:03d}", NODE, POD, CONTAINER, s.text]
        for s in log
    ]
    header = ["@timestamp", "host.name", "kubernetes.pod.name", "kubernetes.container.name", "message"]
    return table(header, rows)


def otel_attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def otel(log: Sequence[Spoken]) -> str:
    """One export request, as the collector's file exporter writes it."""
    resource = [("k8s.pod.name", POD), ("k8s.container.name", CONTAINER), ("k8s.node.name", NODE)]
    records = [
        {
            "timeUnixNano": epoch_ns(s.time),
            "observedTimeUnixNano": epoch_ns(s.time + timedelta(seconds=1)),
            "body": {"stringValue": s.text},
            "attributes": [otel_attribute("log.iostream", "stderr"), otel_attribute("logtag", "F")],
            "traceId": "",
            "spanId": "",
        }
        for s in log
    ]
    scope = {"scope": {}, "logRecords": records}
    resource_logs = {"resource": {"attributes": [otel_attribute(k, v) for k, v in resource]}, "scopeLogs": [scope]}
    return go_json({"resourceLogs": [resource_logs]}) + "\n"


def otel_line(text: str, time: datetime) -> str:
    return otel([Spoken(text, time)]).removesuffix("\n")


# pastes


def numbered(log: Sequence[Spoken], form: str) -> str:
    return "".join(form.format(i, s.text) + "\n" for i, s in enumerate(log, 1))


_SGR = re.compile("\x1b\\[[0-9;]*m")


def terminal(log: Sequence[Spoken], columns: int) -> str:
    """What is copied from a terminal that has no more columns than this."""
    out = []
    for s in log:
        shown = _SGR.sub("", s.text)
        out += [shown[i : i + columns] + "\n" for i in range(0, max(len(shown), 1), columns)]
    return "".join(out)


def typescript(log: Sequence[Spoken]) -> str:
    """script(1)."""
    begin = (
        f'Script started on {BEGIN:%Y-%m-%d %H:%M:%S}+00:00 [TERM="xterm-256color" TTY="/dev/pts/0" COLUMNS="200" LINES="50"]\n'
    )
    prompt = "\x1b[?2004h\x1b]0;root@gpu: ~\x07root@gpu:~# docker logs vllm\r\n\x1b[?2004l\r"
    body = "".join(s.text + "\r\n" for s in log)
    return begin + prompt + body + 'root@gpu:~# exit\r\n\nScript done on 2026-11-30 20:00:00+00:00 [COMMAND_EXIT_CODE="0"]\n'


def newest_first(log: Sequence[Spoken]) -> str:
    """journalctl -r."""
    return "".join(f"{s.time:%Y-%m-%dT%H:%M:%S.%f}+0000 {NODE} vllm[{PID}]: {s.text}\n" for s in reversed(log))


def smart(text: str) -> str:
    """What macOS and word processors make of quotes."""
    text = re.sub(r"(^|[\s(\[{=])\"", "\\1\u201c", text).replace('"', "\u201d")
    return re.sub(r"(^|[\s(\[{=])'", "\\1\u2018", text).replace("'", "\u2019")


def sgr_around_words(text: str, escape: str) -> str:
    """Colours inside a message, as highlighters (grep, ccze, tail front ends) put them around words."""
    words = text.split(" ")
    for i in range(2, len(words), 3):
        if words[i]:
            words[i] = f"{escape}[1;31m{words[i]}{escape}[0m"
    return " ".join(words)


def _line(form: str) -> Line:
    return lambda text, time: form.replace("%T", nano(time)).replace("%S", text)


TRANSPORTS: tuple[Envelope, ...] = (
    # Docker: moby daemon/logger/jsonfilelog/jsonlog, loggerutils; docker/cli; docker/compose cmd/formatter/logs.go
    Envelope("docker json-file", json_file, clock="utc"),
    Envelope("docker json-file with attributes", json_file_attributes, tells={"container": "vllm-1"}, clock="utc"),
    Envelope(
        "docker json-file in parts",
        document=lambda log: "".join(json_file_parts(s.text, s.time) + "\n" for s in log),
        clock="utc",
    ),
    Envelope("docker logs -t", lambda s, t: f"{nano(t)} {s}", clock="utc"),
    Envelope("docker compose", lambda s, t: f"vllm-1  | {s}", tells={"container": "vllm-1"}),
    Envelope("docker compose -t", lambda s, t: f"vllm-1  | {nano(t)} {s}", tells={"container": "vllm-1"}, clock="utc"),
    Envelope("docker compose coloured", lambda s, t: f"\x1b[36mvllm-1  | \x1b[0m{s}", tells={"container": "vllm-1"}),
    Envelope("docker-compose 1", lambda s, t: f"\x1b[36mvllm_1  |\x1b[0m {s}", tells={"container": "vllm_1"}),
    Envelope("docker service", lambda s, t: f"{TASK}@{NODE}    | {s}", tells={"node": NODE, "container": TASK}),
    # Kubernetes: CRI logging; kubectl pkg/cmd/logs; stern cmd/cmd.go; boz/kail writer.go
    Envelope("cri", lambda s, t: f"{nano(t)} stderr F {s}", clock="utc"),
    Envelope("cri with offset", lambda s, t: f"{micro(t)}123+00:00 stdout F {s}", clock="utc"),
    Envelope("cri in parts", document=lambda log: "".join(cri_parts(s.text, s.time) + "\n" for s in log), clock="utc"),
    Envelope("kubectl --prefix", lambda s, t: f"[pod/{POD}/{CONTAINER}] {s}", tells={"container": QUALIFIED}),
    Envelope("kubectl --timestamps", lambda s, t: f"{nano(t)} {s}", clock="utc"),
    Envelope(
        "kubectl --prefix --timestamps",
        lambda s, t: f"[pod/{POD}/{CONTAINER}] {nano(t)} {s}",
        tells={"container": QUALIFIED},
        clock="utc",
    ),
    Envelope("stern", lambda s, t: f"{POD} {CONTAINER} {s}", proof=3, tells={"container": QUALIFIED}),
    Envelope(
        "stern coloured",
        lambda s, t: f"\x1b[36m{POD}\x1b[0m \x1b[1;36m{CONTAINER}\x1b[0m {s}",
        proof=3,
        tells={"container": QUALIFIED},
    ),
    Envelope(
        "stern -A -t", lambda s, t: f"{NAMESPACE} {POD} {CONTAINER} {nano(t)} {s}", tells={"container": QUALIFIED}, clock="utc"
    ),
    Envelope(
        "stern json",
        lambda s, t: go_json(
            {
                "message": s,
                "nodeName": NODE,
                "namespace": NAMESPACE,
                "podName": POD,
                "containerName": CONTAINER,
                "labels": {"app": "vllm"},
                "annotations": {},
            }
        ),
        tells={"node": NODE, "container": QUALIFIED},
    ),
    Envelope(
        "stern extjson",
        lambda s, t: f'{{"pod": "{POD}", "container": "{CONTAINER}", "message": {s if fits_json(s) else go_json(s)}}}',
        tells={"container": QUALIFIED},
    ),
    Envelope(
        "stern extjson coloured",
        lambda s, t: (
            f'{{"pod": "\x1b[36m{POD}\x1b[0m", "container": "\x1b[1;36m{CONTAINER}\x1b[0m", '
            f'"message": {s if fits_json(s) else go_json(s)}}}'
        ),
        tells={"container": QUALIFIED},
    ),
    Envelope("kail", lambda s, t: f"{NAMESPACE}/{POD}[{CONTAINER}]: {s}", tells={"container": QUALIFIED}),
    # the journal: systemd src/shared/logs-show.c
    Envelope(
        "journalctl short",
        lambda s, t: f"{t:%b %d %H:%M:%S} {NODE} vllm[{PID}]: {s}",
        tells={"node": NODE, "pid": PID},
        clock="no-year",
        precision=1.0,
    ),
    Envelope(
        "journalctl short-precise",
        lambda s, t: f"{t:%b %d %H:%M:%S.%f} {NODE} vllm[{PID}]: {s}",
        tells={"node": NODE, "pid": PID},
        clock="no-year",
    ),
    Envelope(
        "journalctl short-iso",
        lambda s, t: f"{seconds(t)}+0000 {NODE} vllm[{PID}]: {s}",
        tells={"node": NODE, "pid": PID},
        clock="utc",
        precision=1.0,
    ),
    Envelope(
        "journalctl short-iso, systemd 255",
        lambda s, t: f"{seconds(t)}+00:00 {NODE} vllm[{PID}]: {s}",
        tells={"node": NODE, "pid": PID},
        clock="utc",
        precision=1.0,
    ),
    Envelope(
        "journalctl short-iso-precise",
        lambda s, t: f"{micro(t)}+0000 {NODE} vllm[{PID}]: {s}",
        tells={"node": NODE, "pid": PID},
        clock="utc",
    ),
    Envelope(
        "journalctl short-full",
        lambda s, t: f"{t:%a %Y-%m-%d %H:%M:%S} UTC {NODE} vllm[{PID}]: {s}",
        tells={"node": NODE, "pid": PID},
        clock="utc",
        precision=1.0,
    ),
    Envelope(
        "journalctl with-unit",
        lambda s, t: f"{t:%a %Y-%m-%d %H:%M:%S} UTC {NODE} vllm.service[{PID}]: {s}",
        tells={"node": NODE, "pid": PID},
        clock="utc",
        precision=1.0,
    ),
    Envelope(
        "journalctl short-unix",
        lambda s, t: f"{stamp(t):.6f} {NODE} vllm[{PID}]: {s}",
        tells={"node": NODE, "pid": PID},
        clock="utc",
    ),
    Envelope(
        "journalctl short-monotonic",
        lambda s, t: f"[{since_boot(t):12.6f}] {NODE} vllm[{PID}]: {s}",
        tells={"node": NODE, "pid": PID},
        clock="boot",
    ),
    Envelope("journalctl json", journal_json, tells={"node": NODE, "pid": PID}, clock="utc"),
    Envelope(
        "journalctl json-sse",
        document=lambda log: "".join(f"data: {journal_json(s.text, s.time)}\n\n" for s in log),
        tells={"node": NODE, "pid": PID},
        clock="utc",
    ),
    Envelope("journalctl json-seq", lambda s, t: f"\x1e{journal_json(s, t)}", tells={"node": NODE, "pid": PID}, clock="utc"),
    # syslog: RFC 3164, RFC 5424, rsyslog's templates
    Envelope(
        "rfc3164",
        lambda s, t: f"<13>{t:%b %d %H:%M:%S} {NODE} vllm[{PID}]: {s}",
        tells={"node": NODE, "pid": PID},
        clock="no-year",
        precision=1.0,
    ),
    Envelope("rfc5424", rfc5424, tells={"node": NODE, "pid": PID}, clock="utc"),
    Envelope(
        "rfc5424 info", lambda s, t: rfc5424(s, t).replace("<11>", "<14>", 1), tells={"node": NODE, "pid": PID}, clock="utc"
    ),
    Envelope(
        "rfc5424 with data",
        lambda s, t: f'<27>1 {milli(t)}Z {NODE} vllm {PID} - [meta@1 seq="7" k="a\\"b\\]"] \ufeff{s}',
        tells={"node": NODE, "pid": PID},
        clock="utc",
    ),
    Envelope(
        "rsyslog file", lambda s, t: f"{micro(t)}+00:00 {NODE} vllm[{PID}]: {s}", tells={"node": NODE, "pid": PID}, clock="utc"
    ),
    Envelope("octet counting", octets, tells={"node": NODE, "pid": PID}, clock="utc"),
    # launchers: slurm src/api/step_io.c, ompi iof, prrte, pdsh, clush, torch/distributed/elastic
    Envelope("srun --label", lambda s, t: f"{RANK}: {s}", proof=3, tells={"rank": RANK}),
    Envelope("srun --label of many", lambda s, t: f" {RANK}: {s}", proof=3, tells={"rank": RANK}),
    Envelope("mpirun --tag-output", lambda s, t: f"[1,{RANK}]<stderr>:{s}", tells={"rank": RANK}),
    Envelope("mpirun 5 --tag-output", lambda s, t: f"[prterun-{NODE}-1234@1,{RANK}]<stdout>: {s}", tells={"rank": RANK}),
    Envelope("mpirun --timestamp-output", lambda s, t: f"{t:%a %b %d %H:%M:%S %Y}<stderr>:{s}", clock="local", precision=1.0),
    Envelope("pdsh", lambda s, t: f"{NODE}: {s}", proof=3, tells={"node": NODE}),
    Envelope("torchrun --tee", lambda s, t: f"[default{RANK}]:{s}", tells={"rank": RANK}),
    Envelope("torchrun --tee --role", lambda s, t: f"[llm{RANK}]:{s}", proof=3, tells={"rank": RANK}),
    Envelope("torch rank", lambda s, t: f"[rank{RANK}]: {s}", tells={"rank": RANK}),
    Envelope("[hostname]:", lambda s, t: f"[{NODE}]: {s}", proof=3, tells={"node": NODE}),
    # Ray: python/ray/_private/worker.py print_worker_logs; vLLM: vllm/utils decorate_logs
    Envelope("ray driver", lambda s, t: f"(RayWorkerWrapper pid={PID}) {s}", tells={"pid": PID}),
    Envelope(
        "ray driver with ip",
        lambda s, t: f"\x1b[36m(RayWorkerWrapper pid={PID}, ip={IP})\x1b[0m {s}",
        tells={"pid": PID, "node": IP},
        layer="ray",
    ),
    Envelope(
        "ray driver, actor name",
        lambda s, t: f"(my actor: llm/0 pid={PID}, ip={IP}) {s}",
        tells={"pid": PID, "node": IP},
        layer="ray",
    ),
    Envelope(
        "ray driver, ESC lost",
        lambda s, t: f"[36m(RayWorkerWrapper pid={PID}, ip={IP})[0m {s}",
        tells={"pid": PID, "node": IP},
        layer="ray",
    ),
    Envelope("vllm process", lambda s, t: f"(EngineCore_DP0 pid={PID}) {s}", tells={"pid": PID}),
    Envelope(
        "vllm worker, ESC lost", lambda s, t: f"[1;36m(Worker_TP{RANK} pid={PID})[0;0m {s}", tells={"pid": PID, "rank": RANK}
    ),
    Envelope("vllm 0 worker", lambda s, t: f"(VllmWorker rank={RANK} pid={PID}) {s}", tells={"pid": PID, "rank": RANK}),
    # CI: actions/runner, cli/cli run view --log, gitlab-runner common/buildlogger/internal/timestamper
    Envelope("github actions", lambda s, t: f"{micro(t)}1Z {s}", clock="utc"),
    Envelope("gh run view --log", lambda s, t: f"e2e (H100)\tRun vllm serve\t{micro(t)}1Z {s}", clock="utc"),
    Envelope("gitlab ci", lambda s, t: f"{micro(t)}Z 01E {s}", clock="utc"),
    Envelope("buildkite", lambda s, t: f"\x1b_bk;t={epoch_ms(t)}\x07{s}"),
    # Loki: pkg/logcli/output; Grafana: features/inspector/utils/download.ts
    Envelope(
        "logcli",
        lambda s, t: f"{seconds(t)}Z {loki_labels()} {s.strip()}",
        tells={"node": NODE, "container": QUALIFIED},
        clock="utc",
        precision=1.0,
        trims=True,
    ),
    Envelope(
        "logcli jsonl",
        lambda s, t: go_json({"labels": LABELS, "line": s, "timestamp": go_nano(t)}),
        tells={"node": NODE, "container": QUALIFIED},
        clock="utc",
    ),
    Envelope("grafana txt", lambda s, t: f"{epoch_ms(t)}\t{milli(t)}Z\t{s}", clock="utc"),
    Envelope("grafana txt before 9", lambda s, t: f"{milli(t).replace('T', ' ')}\t{s}", clock="local"),
    # CloudWatch: aws-cli customizations/logs/tail.py and the service's API
    Envelope("aws logs tail", lambda s, t: f"{micro(t)}+00:00 ecs/vllm/0af3b1c2d4e5f60718293a4b5c6d7e8f {s}", clock="utc"),
    Envelope("aws logs tail --format short", lambda s, t: f"{seconds(t)} {s}", clock="local", precision=1.0),
    Envelope("aws --output text", lambda s, t: f"EVENTS\t{epoch_ms(t) + 900}\t{s}\t{epoch_ms(t)}", clock="utc"),
    # collectors
    Envelope("fluent-bit json lines", fluent_bit, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    Envelope("fluent-bit stdout", fluent_bit_stdout, tells={"container": QUALIFIED}, clock="utc"),
    Envelope("fluentd file", fluentd_file, tells={"node": NODE, "container": QUALIFIED}, clock="utc", precision=1.0),
    Envelope("fluentd stdout", fluentd_stdout, clock="utc"),
    Envelope("vector", vector, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    Envelope("elasticdump", elastic_dump, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    Envelope("otel, a record a line", otel_line, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    # JSON lines that say no level; with one, they are a logger's (below)
    Envelope("json: msg", lambda s, t: go_json({"ts": stamp(t), "caller": "a/b.go:7", "msg": s}), clock="utc"),
    Envelope("json: event", lambda s, t: plain_json({"event": s, "timestamp": micro(t) + "Z"}), clock="utc"),
    Envelope(
        "json: text and host",
        lambda s, t: js_json({"host": NODE, "pid": PID, "text": s, "time": milli(t) + "Z"}),
        tells={"node": NODE, "pid": PID},
        clock="utc",
    ),
    # viewers and process managers: Docker Desktop, Go's time.String, Google's Logs Explorer, pm2 lib/API/Log.js
    Envelope("docker desktop", lambda s, t: f"{t:%Y-%m-%d %H:%M:%S}.{t.microsecond // 1000:03d} | {s}", clock="local"),
    Envelope("stamp and zone, Go", lambda s, t: f"{t:%Y-%m-%d %H:%M:%S.%f}123 +0000 UTC {s}", clock="utc"),
    Envelope("stamp and zone, ISO", lambda s, t: f"{t:%Y-%m-%dT%H:%M:%S.%f}123 +00:00 UTC {s}", clock="utc"),
    Envelope("stamp and zone, Google", lambda s, t: f"{t:%Y-%m-%d %H:%M:%S.%f} UTC {s}", clock="local"),
    Envelope("inference endpoints", lambda s, t: f"{t:%Y/%m/%d %H:%M:%S} ~ {s}", clock="local", precision=1.0),
    Envelope("clock alone", lambda s, t: f"{t:%H:%M:%S} {s}"),
    Envelope("clock in brackets", lambda s, t: f"[{t:%H:%M:%S}] {s}"),
    Envelope("pm2", lambda s, t: f"0|vllm     | {s}"),
    Envelope("skypilot", lambda s, t: f"(head, rank=0, pid={PID}) {s}", tells={"pid": PID}),
)
"""What is put around a line; may be put around each other."""

DOCUMENTS: tuple[Envelope, ...] = (
    Envelope("stern ppextjson", document=ppextjson, tells={"container": QUALIFIED}),
    Envelope("journalctl json-pretty", document=journal_pretty, tells={"node": NODE, "pid": PID}, clock="utc"),
    Envelope("journalctl export", document=journal_export, tells={"node": NODE, "pid": PID}, clock="utc"),
    Envelope("journalctl verbose", document=journal_verbose, tells={"node": NODE, "pid": PID}, clock="utc"),
    Envelope("octet counting, run together", document=octets_run_together, tells={"node": NODE, "pid": PID}, clock="utc"),
    Envelope("loki api", document=loki_api, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    Envelope("grafana json", document=grafana_json, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    Envelope("grafana csv", document=grafana_csv, clock="utc"),
    Envelope("aws get-log-events", document=get_log_events, clock="utc"),
    Envelope("aws filter-log-events", document=filter_log_events, clock="utc"),
    Envelope("aws insights csv", document=insights_csv, clock="local"),
    Envelope("datadog api", document=datadog_api, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    Envelope("datadog csv", document=datadog_csv, tells={"node": NODE}, clock="utc"),
    Envelope("gcloud textPayload", document=gcloud_text, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    Envelope("gcloud jsonPayload", document=gcloud_json, tells={"node": NODE, "container": QUALIFIED, "pid": PID}, clock="utc"),
    Envelope("azure json", document=azure_json, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    Envelope("azure csv", document=azure_csv, tells={"node": NODE, "container": QUALIFIED}, clock="local"),
    Envelope("elasticsearch", document=elastic_search, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    Envelope("elasticsearch pretty", document=elastic_pretty, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    Envelope("kibana csv", document=kibana_csv, tells={"node": NODE, "container": QUALIFIED}, clock="local"),
    Envelope("otel", document=otel, tells={"node": NODE, "container": QUALIFIED}, clock="utc"),
    Envelope("newest first", proof=4, document=newest_first, tells={"node": NODE, "pid": PID}, clock="utc", unordered=True),
)
"""What holds a log as a whole."""

_STAMPED = re.compile(
    r"(?:kern +:\w+ *: )?(?:<\d+>)?\[[ \d.]+\](?:\[ *[TC]\d+\])? |\[\w{3} \w{3} +\d+ [\d:]{8} \d{4}\] "
    r"|\w{3} +\d+ [\d:]{8} \S+ kernel: (?:\[[ \d.]+\] )?|[\d-]{10}T[\d:.,]{8,15}[+\d:]+ (?:\S+ kernel: (?:\[[ \d.]+\] )?)?"
)


def of_kernel(name: str, line: Line, **told: Any) -> Envelope:
    """An envelope around a message of the kernel, without the one that the sample has."""
    return Envelope(name, lambda s, t: line(_STAMPED.sub("", s, count=1), t), for_kernel=True, **told)


KERNEL: tuple[Envelope, ...] = (
    # util-linux sys-utils/dmesg.c, kernel/printk/printk.c, Documentation/ABI/testing/dev-kmsg
    of_kernel("dmesg", lambda s, t: f"[{since_boot(t):12.6f}] {s}", clock="boot"),
    of_kernel("dmesg -T", lambda s, t: f"[{t:%a %b} {t.day:2d} {t:%H:%M:%S %Y}] {s}", clock="local", precision=1.0),
    of_kernel("dmesg -x", lambda s, t: f"kern  :err   : [{since_boot(t):12.6f}] {s}", clock="boot"),
    of_kernel(
        "dmesg -xT", lambda s, t: f"kern  :err   : [{t:%a %b} {t.day:2d} {t:%H:%M:%S %Y}] {s}", clock="local", precision=1.0
    ),
    of_kernel("dmesg -r", lambda s, t: f"<3>[{since_boot(t):12.6f}] {s}", clock="boot"),
    of_kernel("dmesg -d", lambda s, t: f"[{since_boot(t):12.6f} <    0.000014>] {s}", clock="boot"),
    of_kernel("dmesg -H", lambda s, t: f"[  +0.000014] {s}"),
    of_kernel("dmesg --time-format iso", lambda s, t: f"{seconds(t)},{t.microsecond:06d}+00:00 {s}", clock="utc"),
    of_kernel("dmesg --time-format delta", lambda s, t: f"[<    0.000014>] {s}"),
    of_kernel(
        "dmesg --time-format ctime -d",
        lambda s, t: f"[{t:%a %b} {t.day:2d} {t:%H:%M:%S %Y} <    0.000014>] {s}",
        clock="local",
        precision=1.0,
    ),
    Envelope("dmesg --json", document=dmesg_json, clock="boot", for_kernel=True),
    of_kernel(
        "/dev/kmsg",
        lambda s, t: f"3,1234,{int(since_boot(t) * 1e6)},-;{s}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:0a:00.0",
        clock="boot",
    ),
    of_kernel(
        "syslog of the kernel",
        lambda s, t: f"{t:%b %d %H:%M:%S} {NODE} kernel: [{since_boot(t):12.6f}] {s}",
        tells={"node": NODE},
        clock="no-year",
        precision=1.0,
    ),
    of_kernel(
        "journal of the kernel",
        lambda s, t: f"{t:%b %d %H:%M:%S} {NODE} kernel: {s}",
        tells={"node": NODE},
        clock="no-year",
        precision=1.0,
    ),
)
"""What the kernel's messages come in."""

LOGGERS: tuple[Envelope, ...] = (
    Envelope(
        "vllm 1",
        lambda s, t: f"(EngineCore_DP0 pid={PID}) ERROR {t:%m-%d %H:%M:%S} [core.py:1510] {s}",
        tells={"pid": PID},
        clock="no-year",
        precision=1.0,
        bare_only=True,
    ),
    Envelope(
        "vllm 1 coloured",
        lambda s, t: (
            f"\x1b[0;36m(EngineCore_DP0 pid={PID})\x1b[0;0m \x1b[31mERROR\x1b[0m "
            f"\x1b[90m{t:%m-%d %H:%M:%S}\x1b[0m \x1b[90m[core.py:1510]\x1b[0m {s}"
        ),
        tells={"pid": PID},
        clock="no-year",
        precision=1.0,
        bare_only=True,
    ),
    Envelope(
        "vllm 0",
        lambda s, t: f"(VllmWorkerProcess pid={PID}) ERROR {t:%m-%d %H:%M:%S} multiproc_worker_utils.py:233] {s}",
        tells={"pid": PID},
        clock="no-year",
        precision=1.0,
        bare_only=True,
    ),
    Envelope(
        "ray component",
        lambda s, t: f"[{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d} E {PID} 4400] (raylet) node_manager.cc:3040: {s}",
        tells={"pid": PID},
        clock="local",
        bare_only=True,
    ),
    Envelope(
        "ray core worker",
        lambda s, t: f"[{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d} C {PID} 4400] core_worker.cc:885: {s}",
        tells={"pid": PID},
        clock="local",
        bare_only=True,
    ),
    Envelope(
        "ray python",
        lambda s, t: f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d}\tERROR worker.py:405 -- {s}",
        clock="local",
        bare_only=True,
    ),
    Envelope(
        "ray serve",
        lambda s, t: f"ERROR {t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d} default_VLLM ab12cd -- replica.py:9 - {s}",
        clock="local",
        bare_only=True,
    ),
    Envelope(
        "ray json",
        lambda s, t: plain_json(
            {
                "asctime": f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d}",
                "levelname": "ERROR",
                "message": s,
                "filename": "a.py",
                "lineno": 7,
                "process": PID,
                "job_id": "01000000",
                "worker_id": "ab" * 28,
                "node_id": "cd" * 28,
                "actor_id": "ef" * 16,
                "task_id": "01" * 24,
                "task_name": "A.f",
                "actor_name": "",
                "timestamp_ns": int(epoch_ns(t)),
            }
        ),
        tells={"pid": PID},
        clock="local",
        bare_only=True,
    ),
    Envelope(
        "c10",
        lambda s, t: f"[rank{RANK}]:[E{t.month}{t:%d %H:%M:%S.%f}123 ProcessGroupNCCL.cpp:616] {s}",
        tells={"rank": RANK},
        clock="no-year",
        bare_only=True,
    ),
    Envelope(
        "glog",
        lambda s, t: f"E{t:%m%d %H:%M:%S.%f} {PID} torch/distributed/run.py:803] {s}",
        tells={"pid": PID},
        clock="no-year",
        bare_only=True,
    ),
    Envelope("uvicorn", lambda s, t: f"ERROR:    {s.lstrip()}", bare_only=True, trims=True),
    Envelope(
        "gunicorn",
        lambda s, t: f"[{t:%Y-%m-%d %H:%M:%S} +0000] [{PID}] [ERROR] {s}",
        tells={"pid": PID},
        clock="utc",
        precision=1.0,
        bare_only=True,
    ),
    Envelope(
        "loguru",
        lambda s, t: f"{t:%Y-%m-%d %H:%M:%S}.{t.microsecond // 1000:03d} | ERROR    | app.main:run:12 - {s}",
        clock="local",
        bare_only=True,
    ),
    Envelope(
        "python logging",
        lambda s, t: f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d} - app.main - ERROR - {s}",
        clock="local",
        bare_only=True,
    ),
    Envelope(
        "json: python-json-logger",
        lambda s, t: plain_json(
            {
                "asctime": f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d}",
                "levelname": "ERROR",
                "name": "vllm.engine",
                "process": PID,
                "message": s,
            }
        ),
        tells={"pid": PID},
        clock="local",
        bare_only=True,
    ),
    Envelope(
        "json: zap",
        lambda s, t: go_json({"level": "error", "ts": stamp(t), "caller": "a/b.go:7", "msg": s}),
        clock="utc",
        bare_only=True,
    ),
    Envelope(
        "json: structlog",
        lambda s, t: plain_json({"event": s, "level": "error", "timestamp": micro(t) + "Z"}),
        clock="utc",
        bare_only=True,
    ),
    Envelope(
        "json: bunyan",
        lambda s, t: js_json(
            {"name": "llm", "hostname": NODE, "pid": PID, "level": 50, "msg": s, "time": milli(t) + "Z", "v": 0}
        ),
        tells={"node": NODE, "pid": PID},
        clock="utc",
        bare_only=True,
    ),
    Envelope(
        "json: logback",
        lambda s, t: js_json(
            {
                "@timestamp": milli(t) + "+00:00",
                "@version": "1",
                "message": s,
                "logger_name": "a.B",
                "thread_name": "main",
                "level": "ERROR",
                "level_value": 40000,
            }
        ),
        clock="utc",
        bare_only=True,
    ),
)
"""Headers of the programs' own loggers, in front of a bare message."""

PASTES: tuple[Envelope, ...] = (
    Envelope("as it is", lambda s, t: s),
    Envelope("crlf", lambda s, t: s + "\r"),
    Envelope("coloured", lambda s, t: f"\x1b[1;36m{s}\x1b[0m"),
    Envelope("coloured words", lambda s, t: sgr_around_words(s, "\x1b")),
    Envelope("coloured words, ESC lost", lambda s, t: sgr_around_words(s, "")),
    Envelope("coloured words, ESC not decoded", lambda s, t: sgr_around_words(s, "\ufffd")),
    Envelope("coloured words, old console", lambda s, t: sgr_around_words(s, "\u2190")),
    Envelope("coloured words, cat -v", lambda s, t: sgr_around_words(s, "^[")),
    Envelope("coloured words, repr", lambda s, t: sgr_around_words(s, "\\x1b")),
    Envelope("coloured words, JSON escapes", lambda s, t: sgr_around_words(s, "\\u001b")),
    Envelope("coloured words, rsyslog", lambda s, t: sgr_around_words(s, "#033")),
    Envelope("markdown quote", lambda s, t: f"> {s}"),
    Envelope("mail quote, twice", lambda s, t: f">> {s}"),
    Envelope("indented code", lambda s, t: f"    {s}"),
    Envelope("indented by a tab", lambda s, t: f"\t{s}"),
    Envelope("html", lambda s, t: html.escape(s)),
    Envelope("no-break spaces", lambda s, t: s.replace(" ", "\u00a0")),
    Envelope("smart quotes", lambda s, t: smart(s)),
    Envelope("numbered: bar", proof=2, document=lambda log: numbered(log, "{:>4} | {}")),
    Envelope("numbered: colon", proof=2, document=lambda log: numbered(log, "{}: {}")),
    Envelope("numbered: grep -n", proof=2, document=lambda log: numbered(log, "{}:{}")),
    Envelope("numbered: cat -n", proof=2, document=lambda log: numbered(log, "{:>6}\t{}")),
    Envelope("script(1)", document=typescript),
    Envelope("80 columns", document=lambda log: terminal(log, 80), unordered=True),
    Envelope("120 columns", document=lambda log: terminal(log, 120), unordered=True),
)
"""What happens to a log on its way through terminals, chats and trackers."""

ALL: tuple[Envelope, ...] = (*TRANSPORTS, *DOCUMENTS, *KERNEL, *LOGGERS, *PASTES)
