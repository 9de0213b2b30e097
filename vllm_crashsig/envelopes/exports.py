"""What hosted services put around a line: CI systems, Grafana and Loki, CloudWatch, Fluent Bit's standard output.

Sources: cli/cli pkg/cmd/run/view (``gh run view --log``), gitlab-runner common/buildlogger/internal/timestamper, Grafana's
public/app/features/inspector/utils/download.ts, loki pkg/logcli/output/default.go, aws-cli customizations/logs/tail.py,
botocore's text output, fluent-bit plugins/out_stdout. Their JSON and CSV are `json_line`'s and `records.rows`'s matter.
"""

from __future__ import annotations

import re

from ..lazy import lazy
from .base import CLOCK, DAY, FRACTION, ZONE, Peeled, Prefix, set_iso
from .json_values import read_time

_CONTAINER_LOG = lazy(
    r"containers\.([a-z0-9][a-z0-9.-]{0,252})_([a-z0-9-]{1,63})_([a-z0-9][a-z0-9.-]{0,62}?)-[0-9a-f]{64}\.log"
)


def set_container_log(peeled: Peeled, name: str) -> None:
    """Take pod and container from the name of a file of /var/log/containers, which collectors use as tag or stream."""
    match = _CONTAINER_LOG.search(name)
    if match is not None and peeled.container is None:
        peeled.container = f"{match.group(1)}/{match.group(3)}"


def _github(match: re.Match[str], peeled: Peeled) -> None:
    peeled.component = match.group(1)
    set_iso(peeled, *match.groups()[1:])


GITHUB_VIEW = Prefix("github", lazy(rf"([^\t]{{1,120}})\t[^\t]{{1,200}}\t\ufeff?{DAY}T{CLOCK}{FRACTION}{ZONE}(?: |$)"), _github)
"""``job<TAB>step<TAB>2026-11-30T19:41:58.1234567Z text``: gh run view --log. The component is the job."""


def _gitlab(match: re.Match[str], peeled: Peeled) -> None:
    set_iso(peeled, *match.groups()[:4])
    peeled.set_stream("stderr" if match.group(5) == "E" else "stdout")


GITLAB = Prefix("gitlab", lazy(rf"{DAY}T{CLOCK}{FRACTION}{ZONE} [0-9a-f]{{2}}([OE])[ +]", re.ASCII), _gitlab)
"""``2026-11-30T19:41:58.123456Z 01E text``: GitLab's job logs with FF_TIMESTAMPS, the default since 17."""


def _grafana(match: re.Match[str], peeled: Peeled) -> None:
    set_iso(peeled, *match.groups())


GRAFANA = Prefix("grafana", lazy(rf"\d{{13}}\t{DAY}T{CLOCK}{FRACTION}{ZONE}\t", re.ASCII), _grafana)
"""``1796067718250<TAB>2026-11-30T19:41:58.250Z<TAB>text``: Explore's TXT download."""

GRAFANA_OLD = Prefix("grafana", lazy(rf"{DAY} {CLOCK}{FRACTION}{ZONE}?\t", re.ASCII), _grafana)
"""``2026-11-30 19:41:58.250<TAB>text``: the same before Grafana 10."""

_LABEL = lazy(r"([a-z_]\w{0,63})=\"([^\"]{0,256})\"", re.ASCII)


def _loki(match: re.Match[str], peeled: Peeled) -> None:
    labels = dict(_LABEL.findall(match.group()))
    pod, container = labels.get("pod"), labels.get("container")
    if peeled.container is None and (pod or container):
        peeled.container = f"{pod}/{container}" if pod and container else pod or container
    if peeled.node is None:
        peeled.node = labels.get("node_name") or labels.get("node") or labels.get("host") or labels.get("hostname")
    peeled.set_stream(labels.get("stream"))


LOKI = Prefix(
    "loki",
    lazy(r"\{[a-z_]\w{0,63}=\"[^\"]{0,256}\"(?:, ?[a-z_]\w{0,63}=\"[^\"]{0,256}\"){0,40}\} +", re.ASCII),
    _loki,
)
"""``{app="vllm", pod="vllm-0"} text`` behind a time stamp: logcli query."""


def _tail(match: re.Match[str], peeled: Peeled) -> None:
    *when, stream, host = match.groups()
    set_iso(peeled, *when)
    set_container_log(peeled, stream)
    if host is not None and peeled.node is None:
        peeled.node = host


AWS_TAIL = Prefix(
    "cloudwatch",
    lazy(
        rf"{DAY}T{CLOCK}{FRACTION}(\+00:00) "
        r"([\w.-]{1,128}/[\w.-]{1,128}/[0-9a-f]{12,36}|i-[0-9a-f]{8,17}|([\w.-]{1,128})-\w+\.var\.log\.\S{1,400}\.log) ",
        re.ASCII,
    ),
    _tail,
)
"""``2026-11-30T19:41:58.250000+00:00 ecs/vllm/0af3.. text``: aws logs tail. Only names of log streams that ECS, the agent on
EC2 and the collector of Container Insights give are known; any other one could be the first word of the message."""


class AwsText:
    """``EVENTS<TAB>1796067719150<TAB>text<TAB>1796067718250``: aws logs get-log-events --output text, and filter-log-events
    with the event's id and the stream's name. The last column is the time."""

    __slots__ = ()
    name = "cloudwatch"
    pattern = lazy(r"EVENTS\t(?:\d{40,80}\t\d{13}\t([^\t]{1,512})|\d{13})\t", re.ASCII)
    end = lazy(r"\t(\d{13})$", re.ASCII)

    def peel(self, peeled: Peeled) -> bool:
        match, end = self.pattern.match(peeled.text), self.end.search(peeled.text)
        if match is None or end is None or end.start() < match.end():
            return False
        time = read_time(end.group(1))
        if time:
            peeled.set_time(time["time"], "utc")
        if match.group(1) is not None:
            set_container_log(peeled, match.group(1))
        peeled.layers.append(self.name)
        peeled.text = peeled.text[match.end() : end.start()]
        return True


AWS_TEXT = AwsText()


class FluentBit:
    """``[0] kube.vllm: [[1796067718.250000000, {}], {"stream"=>"stderr", "log"=>"text"}]``: Fluent Bit's stdout output, which
    prints MessagePack and escapes nothing."""

    __slots__ = ()
    name = "fluent-bit"
    pattern = lazy(r"\[\d{1,9}\] (\S{1,500}): \[(?:\[(\d{9,11}\.\d{1,9}), \{\}\]|(\d{9,11}\.\d{1,9})), \{(?=\")", re.ASCII)
    text = lazy(r"\"(?:log|message|MESSAGE|msg)\"=>\"(.*?)(?:\\n)?\"(?:, \"[\w@./-]{1,100}\"=>|\}\]?\s*$)", re.ASCII)
    stream = lazy(r"\"stream\"=>\"(stdout|stderr)\"")

    def peel(self, peeled: Peeled) -> bool:
        match = self.pattern.match(peeled.text)
        text = match and self.text.search(peeled.text, match.end())
        if match is None or text is None:
            return False
        tag, new, old = match.groups()
        time = read_time(new or old)
        if time:
            peeled.set_time(time["time"], "utc")
        set_container_log(peeled, tag)
        stream = self.stream.search(peeled.text, match.end())
        if stream is not None:
            peeled.set_stream(stream.group(1))
        peeled.layers.append(self.name)
        peeled.text = text.group(1)
        return True


FLUENT_BIT = FluentBit()


def _fluentd(match: re.Match[str], peeled: Peeled) -> None:
    *when, tag = match.groups()
    set_iso(peeled, *when)
    set_container_log(peeled, tag)


_TAG = r"([\w.*/-]{1,400})"
FLUENTD_FILE = Prefix("fluentd", lazy(rf"{DAY}T{CLOCK}{FRACTION}{ZONE}\t{_TAG}\t(?=\{{\")", re.ASCII), _fluentd)
"""``2026-11-30T19:41:58+00:00<TAB>kube.vllm<TAB>{"log":..}``: fluentd's file output."""

FLUENTD_STDOUT = Prefix("fluentd", lazy(rf"{DAY} {CLOCK}{FRACTION} {ZONE} {_TAG}: (?=\{{\")", re.ASCII), _fluentd)
"""``2026-11-30 19:41:58.250000000 +0000 kube.vllm: {"log":..}``: its standard output."""
