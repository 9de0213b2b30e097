"""The system journal and syslog: every line-based output of journalctl, rsyslog's files, RFC 3164 and RFC 5424.

Sources: systemd src/shared/logs-show.c (output_short, output_verbose, output_export), rsyslog's
RSYSLOG_TraditionalFileFormat and RSYSLOG_FileFormat, RFC 3164 section 4.1, RFC 5424 section 6.
"""

from __future__ import annotations

import re

from ..lazy import lazy
from .base import CLOCK, DAY, FRACTION, SEVERITIES, ZONE, Clock, Peeled, Prefix, month_number, nominal_seconds, set_iso
from .kernel import strip_boot_stamp

_IDENT = r"(?:(?!\d{4}-\d\d-)([\w.:-]{0,252}\w) )?([^\s:\[\]<>\"'=]{1,128}?)(?:\[(\d{1,10})\])?:(?: |$)"
"""``host identifier[pid]: ``; the host is missing with --no-hostname, the pid for the kernel and for logger(1)."""

_PRI = r"(?:<(\d{1,3})>)?"
_CONTAINER_ID = lazy(r"[0-9a-f]{12}(?:[0-9a-f]{52})?")
_DAEMONS = frozenset(
    (
        "kernel",
        "systemd",
        "systemd-logind",
        "systemd-coredump",
        "systemd-oomd",
        "dockerd",
        "containerd",
        "kubelet",
        "k3s",
        "crio",
        "sshd",
        "sudo",
        "cron",
        "CRON",
        "nvidia-persistenced",
        "nv-fabricmanager",
        "slurmd",
        "slurmctld",
        "slurmstepd",
    )
)
"""Identifiers that are believed even without pid where the time stamp alone does not tell syslog from ``docker logs -t``."""


def _identify(peeled: Peeled, host: str | None, ident: str, pid: str | None) -> None:
    """Store who spoke. A container id is Docker's journald or syslog driver: its pid is dockerd's, so it is dropped."""
    if peeled.node is None and host is not None:
        peeled.node = host
    if _CONTAINER_ID.fullmatch(ident):
        if peeled.container is None:
            peeled.container = ident
        return
    peeled.component = ident
    if pid is not None:
        peeled.pid = int(pid)


def _priority(peeled: Peeled, pri: str | None, ident: str) -> None:
    """The kernel's severity says how bad a message is. Others' says which stream it came from, or nothing: notice is logger's
    default, info and err are what Docker's driver and systemd give to all of stdout and stderr."""
    if pri is not None and ident == "kernel":
        peeled.level = SEVERITIES[int(pri) & 7]


class _Journal:
    """Common end of all forms: a line of the kernel gets the layer ``dmesg`` too, and may hold printk's own stamp."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def finish(self, peeled: Peeled, end: int, host: str | None, ident: str, pid: str | None, syslog: bool = False) -> bool:
        peeled.layers.append("syslog" if syslog else self.name)
        peeled.text = peeled.text[end:]
        _identify(peeled, host, ident, pid)
        if ident == "kernel":
            peeled.layers.append("dmesg")
            strip_boot_stamp(peeled)
        return True


class Short(_Journal):
    """``Nov 30 19:45:10 node-a vllm[123]: text``: journalctl -o short and short-precise, /var/log/syslog, RFC 3164 with
    or without its ``<PRI>``. Localised month names are known. The month must be one, else nothing is peeled."""

    __slots__ = ()
    pattern = lazy(rf"{_PRI}([^\W\d_]{{3,5}})\.? {{1,2}}(\d{{1,2}}) {CLOCK}{FRACTION} {_IDENT}")

    def peel(self, peeled: Peeled) -> bool:
        match = self.pattern.match(peeled.text)
        if match is None:
            return False
        pri, month, day, clock, fraction, host, ident, pid = match.groups()
        number = month_number(month)
        if number is None:
            return False
        _priority(peeled, pri, ident)
        peeled.set_time(nominal_seconds(number, int(day), clock, fraction), "no-year")
        return self.finish(peeled, match.end(), host, ident, pid, syslog=pri is not None)


class ClockOnly(_Journal):
    """``19:45:10 kernel: text`` of a log from which the dates and the host were cut; ``19:45:10.250 | text``,
    ``[19:45:10] text``. It tells no time, since it tells no day."""

    __slots__ = ()
    pattern = lazy(rf"(?:{CLOCK}{FRACTION}|\[{CLOCK}{FRACTION}\])(?: \|)?(?: (?:(kernel): )?|$)", re.ASCII)

    def peel(self, peeled: Peeled) -> bool:
        match = self.pattern.match(peeled.text)
        if match is None:
            return False
        if match.group(5) is not None:
            return self.finish(peeled, match.end(), None, "kernel", None)
        peeled.layers.append("clock")
        peeled.text = peeled.text[match.end() :]
        return True


class Iso(_Journal):
    """``2026-11-30T19:45:10+0000 node-a vllm[123]: text``: journalctl -o short-iso(-precise) and rsyslog's file format.

    ``docker logs -t`` of a program that prints ``words: text`` looks alike, so with ``Z`` or nine digits, and wherever
    the host is missing, the identifier must have a pid or be a known daemon.
    """

    __slots__ = ()
    pattern = lazy(f"{_PRI}{DAY}T{CLOCK}{FRACTION}{ZONE} {_IDENT}", re.ASCII)

    def peel(self, peeled: Peeled) -> bool:
        match = self.pattern.match(peeled.text)
        if match is None:
            return False
        pri, day, clock, fraction, zone, host, ident, pid = match.groups()
        docker_like = zone == "Z" or (fraction is not None and len(fraction) > 6)
        if pid is None and (host is None or docker_like) and not (ident in _DAEMONS and (host is not None or not docker_like)):
            return False
        _priority(peeled, pri, ident)
        set_iso(peeled, day, clock, fraction, zone)
        return self.finish(peeled, match.end(), host, ident, pid, syslog=pri is not None or ":" in zone)


class Full(_Journal):
    """``Mon 2026-11-30 19:45:10 UTC node-a vllm.service[123]: text``: journalctl -o short-full and with-unit."""

    __slots__ = ()
    pattern = lazy(rf"[^\W\d_]{{2,5}}\.? {DAY} {CLOCK}{FRACTION} ([A-Z]{{2,5}}|[+-]\d\d(?:\d\d)?) {_IDENT}")

    def peel(self, peeled: Peeled) -> bool:
        match = self.pattern.match(peeled.text)
        if match is None:
            return False
        day, clock, fraction, zone, host, ident, pid = match.groups()
        offset = "Z" if zone in ("UTC", "GMT") else f"{zone}00"[:5] if zone[0] in "+-" else None
        set_iso(peeled, day, clock, fraction, offset)
        return self.finish(peeled, match.end(), host, ident, pid)


class Seconds(_Journal):
    """``[ 2053.610919] node-a kernel: text`` and ``1796067910.573650 node-a vllm[1]: text``: journalctl -o
    short-monotonic, short-delta and short-unix. Kernel messages begin alike, hence a pid or ``kernel`` is demanded."""

    __slots__ = ()
    pattern = lazy(rf"(?:\[ *(\d{{1,9}}\.\d{{6}})(?: <[^>]{{0,20}}>)?\]|(\d{{9,11}}\.\d{{6}})) {_IDENT}", re.ASCII)

    def peel(self, peeled: Peeled) -> bool:
        match = self.pattern.match(peeled.text)
        if match is None:
            return False
        boot, unix, host, ident, pid = match.groups()
        if host is None or (pid is None and ident != "kernel"):
            return False
        clock: Clock = "boot" if boot else "utc"
        peeled.set_time(float(boot or unix), clock)
        return self.finish(peeled, match.end(), host, ident, pid)


class Rfc5424(_Journal):
    """``<165>1 2026-11-30T19:45:10.123Z host app 123 ID [sd x="y"] text``, perhaps with its length in front (see
    `vllm_crashsig.records.octets`)."""

    __slots__ = ()
    pattern = lazy(
        rf"(?:[1-9]\d{{0,6}} )?<(\d{{1,3}})>1 "
        rf"(?:-|{DAY}T{CLOCK}{FRACTION}{ZONE}) (\S{{1,255}}) (\S{{1,48}}) (\S{{1,128}}) \S{{1,32}} "
        r"(?:-|(?:\[(?:[^\]\\\"]|\\.|\"(?:[^\"\\]|\\.){0,2000}\"){0,2000}\]){1,40})(?: \ufeff?|$)",
        re.ASCII,
    )

    def peel(self, peeled: Peeled) -> bool:
        match = self.pattern.match(peeled.text)
        if match is None:
            return False
        pri, day, clock, fraction, zone, host, app, pid = match.groups()
        _priority(peeled, pri, app)
        if day is not None:
            set_iso(peeled, day, clock, fraction, zone)
        end = match.end()
        spaces = len(peeled.text) - end - len(peeled.text[end:].lstrip(" "))
        end += spaces % 2  # rsyslog keeps the space behind an RFC 3164 tag; Python indents by an even number
        return self.finish(peeled, end, host if host != "-" else None, app, pid if pid.isdigit() else None)


FIELD = Prefix("journald", lazy(r"(?:    )?MESSAGE="), lambda _match, _peeled: None)
"""``MESSAGE=text``: the message's own line in journalctl -o export and -o verbose (four spaces)."""

SHORT, ISO, FULL, SECONDS = Short("journald"), Iso("journald"), Full("journald"), Seconds("journald")
CLOCK_ONLY = ClockOnly("journald")
RFC5424 = Rfc5424("syslog")
