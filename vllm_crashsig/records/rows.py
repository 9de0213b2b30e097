"""Log records as rows of a table: CSV and TSV exports of CloudWatch Insights, Grafana, Kibana, Datadog, Log Analytics, Splunk.

The first line names the columns; one of them must hold the text and another one the time.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from ..envelopes.json_line import Fields
from ..envelopes.json_values import level, number, read_time, stream
from .base import HELD_BYTES, Line, told

_COLUMNS = {
    "text": (
        "message",
        "line",
        "log",
        "logmessage",
        "logentry",
        "textpayload",
        "jsonpayloadmessage",
        "msg",
        "content",
        "body",
        "raw",
    ),
    "time": ("timestamp", "date", "time", "timegenerated", "ts", "datetime", "tsns", "receivetimestamp", "eventtime"),
    "node": ("host", "hostname", "computer", "node", "nodename", "kubernetesnodename", "kuberneteshost", "k8snodename"),
    "pod": ("pod", "podname", "kubernetespodname", "k8spodname", "resourcelabelspodname"),
    "container": ("container", "containername", "kubernetescontainername", "k8scontainername", "resourcelabelscontainername"),
    "component": ("service", "servicename"),
    "pid": ("pid", "processid", "processpid"),
    "rank": ("rank",),
    "stream": ("stream", "logsource", "logiostream"),
    "level": ("level", "levelname", "detectedlevel"),
}
"""What the columns are called, without anything but letters and digits."""


def read_header(line: bytes) -> tuple[str, dict[int, str]] | None:
    """The delimiter of a table of log records and what its columns tell, if this is its first line."""
    text = line.decode(errors="replace").lstrip("\ufeff").rstrip("\r")
    for delimiter in ",\t;":
        if delimiter in text:
            try:
                names = next(csv.reader([text], delimiter=delimiter, strict=True), [])
            except csv.Error:
                continue
            columns = _known(names)
            if {"text", "time"} <= set(columns.values()):
                return delimiter, columns
    return None


def _known(names: list[str]) -> dict[int, str]:
    """Of each field the first column in the order of preference."""
    plain = [re.sub(r"[^a-z0-9]", "", re.sub(r"\[.*?\]", "", name.lower())) for name in names]
    if any(len(name) > 40 for name in plain):
        return {}
    return {
        plain.index(name): field for field, known in _COLUMNS.items() if (name := next((n for n in known if n in plain), None))
    }


class Rows:
    """Rows below a header, put together where a quoted cell goes over many lines."""

    def __init__(self, delimiter: str, columns: dict[int, str]) -> None:
        self._delimiter = delimiter
        self._columns = columns
        self._held: list[Line] = []
        self._size = 0
        self._quotes = 0
        self._header = True

    def take(self, line: Line) -> Iterator[Line]:
        if self._header:
            self._header = False
            yield line
            return
        self._held.append(line)
        self._size += len(line.text)
        self._quotes += line.text.count(b'"')
        if self._quotes % 2 == 0 or self._size > HELD_BYTES:
            yield from self.finish()

    def finish(self) -> Iterator[Line]:
        held, self._held, self._size, self._quotes = self._held, [], 0, 0
        if not held:
            return
        text = b"\n".join(line.text.removesuffix(b"\r") for line in held).decode(errors="replace")
        try:
            cells = next(csv.reader(text.splitlines(keepends=True), delimiter=self._delimiter, strict=True), [])
        except csv.Error:
            cells = []
        values = {field: cells[index] for index, field in self._columns.items() if index < len(cells)}
        if "text" not in values:
            yield from held
            return
        yield from told(values["text"], _fields(values), held[0])


def _fields(values: dict[str, str]) -> Fields:
    fields: Fields = {"layer": "csv", **read_time(values.get("time", ""))}
    fields.update({name: values[name] for name in ("node", "component") if values.get(name)})
    pod, container = values.get("pod"), values.get("container")
    if pod or container:
        fields["container"] = f"{pod}/{container}" if pod and container else pod or container
    for name, found in (
        ("pid", number(values.get("pid"))),
        ("rank", number(values.get("rank"))),
        ("stream", stream(values.get("stream"))),
        ("level", level(values.get("level"))),
    ):
        if found is not None:
            fields[name] = found
    return fields
