"""Which peelers to try on a line, told by its first characters, so that a plain line meets hardly any regex.

Order within a tuple matters only where formats overlap, and then the more specific one comes first.
"""

from __future__ import annotations

from . import docker, exports, generic, journal, kernel, kubernetes, labels, nccl, pastes, ray, services, torch, vllm
from .base import Peeled, Peeler

FINAL = frozenset(
    ("dmesg", "vllm-log", "ray-log", "uvicorn", "nccl", "c10-log", "glog", "python-log", "loguru", "fabricmanager", "logfmt")
)
"""Layers behind which the message itself begins. Nothing is peeled after them: what comes next may be a user's prompt or
another log quoted in a message, and must not set the time, the level or the process of this line."""

_PAREN: tuple[Peeler, ...] = (vllm.PROCESS, ray.DRIVER)
_BRACKET_WORD: tuple[Peeler, ...] = (
    torch.RANK,
    torch.C10,
    kubernetes.KUBECTL,
    torch.ROLE,
    kernel.CTIME,
    services.FABRIC,
    kernel.RELATIVE_TIME,
    generic.PIPED,
    labels.MPIRUN,
    generic.ASCEND,
)
_BRACKET_DATE: tuple[Peeler, ...] = (ray.CORE, generic.BRACKET_LEVEL, generic.BRACKET_TIME)
_BRACKET_NUMBER: tuple[Peeler, ...] = (
    journal.SECONDS,
    kernel.RAW,
    kernel.RELATIVE_TIME,
    labels.MPIRUN,
    generic.AMERICAN,
    exports.FLUENT_BIT,
    journal.CLOCK_ONLY,
)
_ANGLE: tuple[Peeler, ...] = (journal.RFC5424, journal.SHORT, journal.ISO, kernel.RAW)
_DATE_CRI: tuple[Peeler, ...] = (kubernetes.CRI, docker.RFC3339)
_DATE_COMMA: tuple[Peeler, ...] = (kernel.ISO, services.TORCHSERVE, generic.DASHED, generic.SPACED, journal.ISO, generic.TIME)
_DATE_DASH: tuple[Peeler, ...] = (generic.DASHED, docker.RFC3339, generic.TIME)
_DATE_WORD: tuple[Peeler, ...] = (
    exports.GITLAB,
    exports.FLUENTD_FILE,
    journal.ISO,
    exports.AWS_TAIL,
    docker.RFC3339,
    generic.SPACED,
    generic.TIME,
)
_DATE_OTHER: tuple[Peeler, ...] = (docker.RFC3339, services.TORCHSERVE, generic.SPACED, generic.TIME)
_DATE_TAB: tuple[Peeler, ...] = (exports.FLUENTD_FILE, generic.ZAP, docker.RFC3339)
_DATE_SPACE: tuple[Peeler, ...] = (
    ray.PYTHON,
    exports.GRAFANA_OLD,
    exports.FLUENTD_STDOUT,
    generic.DASHED,
    generic.LOGURU,
    services.TORCHSERVE,
    generic.SPACED,
    generic.TIME,
)
_SLASHED: tuple[Peeler, ...] = (services.SLASHED,)
_LEVEL: tuple[Peeler, ...] = (vllm.HEADER, vllm.UVICORN, ray.PYTHON, ray.SERVE, generic.LEVEL_TIME, generic.LEVEL_NAME)
_GLOG: tuple[Peeler, ...] = (torch.GLOG,)
_CALENDAR: tuple[Peeler, ...] = (journal.SHORT, journal.FULL, labels.MPIRUN_TIME)
_MESSAGE: tuple[Peeler, ...] = (journal.FIELD,)
_BRACE: tuple[Peeler, ...] = (exports.LOKI,)
_NUMBER: tuple[Peeler, ...] = (
    kernel.KMSG,
    journal.RFC5424,
    generic.AMERICAN,
    journal.SECONDS,
    exports.GRAFANA,
    nccl.NCCL,
    docker.SWARM,
    docker.PM2,
    journal.CLOCK_ONLY,
)
_WORD: tuple[Peeler, ...] = (nccl.NCCL, docker.SWARM, vllm.PROCESS, ray.DRIVER)
_LOWER: tuple[Peeler, ...] = (kernel.DECODED, services.LOGFMT, nccl.NCCL)
_LOWER_MARKED: tuple[Peeler, ...] = (*_LOWER, docker.SWARM, kubernetes.KAIL)
_QUOTED: tuple[Peeler, ...] = (pastes.QUOTE,)
_NONE: tuple[Peeler, ...] = ()

_LEVEL_INITIALS = frozenset("DIWECTSNFPV")
_LEVEL_STARTS = frozenset(("DE", "IN", "WA", "ER", "CR", "TR", "SU", "NO", "FA", "EX", "PA", "VI", "VV", "VW"))


def candidates(text: str) -> tuple[Peeler, ...]:
    """The peelers whose formats can begin like ``text`` (not empty)."""
    first = text[0]
    if first == "(":
        return _PAREN
    if first == "[":
        second = text[1:2]
        if second.isdigit():
            return _BRACKET_DATE if text[5:6] == "-" else _BRACKET_NUMBER
        return _BRACKET_NUMBER if second == " " else _BRACKET_WORD
    if "0" <= first <= "9":
        fifth = text[4:5]
        if fifth == "-":
            return _after_iso(text) if text[10:11] == "T" else _DATE_SPACE
        return _SLASHED if fifth == "/" else _NUMBER
    if "A" <= first <= "Z":
        if first in _LEVEL_INITIALS:
            if "0" <= text[1:2] <= "9":
                return _GLOG
            if text[:2] in _LEVEL_STARTS:
                return _LEVEL
        if text[1:3].islower() and " " in text[3:6] and ":" in text[8:32]:
            return _CALENDAR
        return _MESSAGE if text.startswith("MESSAGE=") else _WORD
    if "a" <= first <= "z":
        return _LOWER_MARKED if text.find("@", 1, 300) > 0 or text.find("]: ", 1, 300) > 0 else _LOWER
    if first == "<":
        return _ANGLE
    if first == "{":
        return _BRACE
    if first == ">":
        return _QUOTED
    if first == " ":
        return _MESSAGE if text.startswith("    MESSAGE=") else _NONE
    return _CALENDAR if first.isalpha() else _NONE


def _after_iso(text: str) -> tuple[Peeler, ...]:
    """The peelers for a line that begins like ``2026-11-30T``, told by what stands behind the time stamp."""
    if text[19:20] == ",":
        return _DATE_COMMA
    if text.find("\t", 19, 36) > 0:
        return _DATE_TAB
    space = text.find(" ", 19, 40)
    if text.startswith(("stdout ", "stderr "), space + 1):
        return _DATE_CRI
    follower = text[space + 1 : space + 2]
    if follower == "-":
        return _DATE_DASH
    return _DATE_WORD if follower.isalnum() else _DATE_OTHER


def strong(peeled: Peeled) -> bool:
    """Apply the first unambiguous peeler that fits."""
    return any(peeler.peel(peeled) for peeler in candidates(peeled.text)) if peeled.text else False


def _between_tabs(peeled: Peeled) -> bool:
    return exports.AWS_TEXT.peel(peeled) or exports.GITHUB_VIEW.peel(peeled)


def confirms(rest: str) -> bool:
    """Whether a text begins with an unambiguous prefix or as the lines of a failure do."""
    if not rest:
        return False
    if labels.TRACEBACK_LIKE.match(rest) is not None or rest.startswith("NCCL "):
        return True
    if rest.startswith('{"') and rest.endswith("}"):
        return True
    if "\t" in rest and _between_tabs(Peeled(rest)):
        return True
    return strong(Peeled(rest)) or _NUMBERED.peel(Peeled(rest))


_NUMBERED = docker.Compose(lambda _rest: False)
_COMPOSE, _STERN = docker.Compose(confirms), kubernetes.Stern(confirms)
_SRUN, _PDSH = labels.Srun(confirms), labels.Pdsh(confirms)
_BRACKETED = labels.Bracketed(confirms)

TRUSTED: dict[str, Peeler] = {
    "compose": docker.Compose(None),
    "stern": kubernetes.Stern(None),
    "srun": labels.Srun(None),
    "pdsh": labels.Pdsh(None),
    "bracketed": labels.Bracketed(None, "bracketed", is_role=False),
    "torch-elastic": labels.Bracketed(None, "torch-elastic", is_role=True),
}
"""The ambiguous peelers without their proof, for sources that are known to carry such a label on every line."""

OUTERMOST: dict[str, Peeler] = {listed.name: listed for listed in (pastes.NUMBERED, pastes.INDENTED)}
"""What stands before everything else, in sources that are known to have it on every line."""


def trusted(name: str) -> Peeler | None:
    """The peeler of a label that stands on every line, by a name of `TRUSTED` or one that `pastes` made."""
    return TRUSTED.get(name) or pastes.labelled(name)


def weak(peeled: Peeled) -> bool:
    """Apply an ambiguous peeler if the line proves it: compose's columns, labels of launchers and stern, columns of tabs."""
    text = peeled.text
    first = text[0]
    if first == " ":
        return text.find(": ", 1, 14) > 0 and _SRUN.peel(peeled)
    if first == "[" and text.find("]:", 2, 260) > 0 and _BRACKETED.peel(peeled):
        return True
    if first.isalnum() and _labelled(peeled, text, first):
        return True
    return "\t" in text and _between_tabs(peeled)


def _labelled(peeled: Peeled, text: str, first: str) -> bool:
    if "|" in text[:160] and _COMPOSE.peel(peeled):
        return True
    if text.find(": ", 1, 256) > 0:
        if "0" <= first <= "9":
            return _SRUN.peel(peeled) or _PDSH.peel(peeled)
        if not first.isupper() and _PDSH.peel(peeled):
            return True
    return _STERN.peel(peeled) if "a" <= first <= "z" else False
