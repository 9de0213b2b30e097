"""Launchers that label every line of many processes: srun, mpirun, pdsh.

``3: text`` and ``word: text`` are everyday prose. So these labels are taken only when what follows begins with another known
prefix or as tracebacks do (``confirm``), or when the caller says that the source is labelled (``confirm=None``; see ``hint`` of
`vllm_crashsig.envelopes.peel`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..lazy import lazy
from ..nouns import dataclass
from .base import CLOCK, Peeled, Prefix, month_number, seconds_of

TRACEBACK_LIKE = lazy(
    r"Traceback \(most recent call last\)|  File \"|\*\*\* |slurmstepd: |srun: |terminate called |  what\(\): |frame #\d|"
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure)(?:: |$)|NCCL version |\w+: symbol lookup error",
    re.ASCII,
)
"""How the lines of a failure begin that carry no prefix of their own."""

_SRUN = lazy(r" {0,6}(\d{1,6}): ", re.ASCII)


@dataclass(frozen=True, slots=True)
class Srun:
    """``3: text``: srun --label (slurm src/api/step_io / eio label, padded to the width of the largest task id)."""

    confirm: Callable[[str], bool] | None
    name: str = "srun"

    def peel(self, peeled: Peeled) -> bool:
        match = _SRUN.match(peeled.text)
        if match is None or (self.confirm is not None and not self.confirm(peeled.text[match.end() :])):
            return False
        peeled.rank = int(match.group(1))
        peeled.layers.append(self.name)
        peeled.text = peeled.text[match.end() :]
        return True


def _mpirun(match: re.Match[str], peeled: Peeled) -> None:
    _, rank, stream = match.groups()
    peeled.rank = int(rank)
    peeled.set_stream(stream)


MPIRUN = Prefix(
    "mpirun",
    lazy(
        r"\[([\w.-]{1,128}@)?\d{1,9},(\d{1,6})\](?:\[[\w.:-]{0,64}\])?<(stdout|stderr|stddiag)>:(?(1) ?)",
        re.ASCII,
    ),
    _mpirun,
)
"""``[1,0]<stderr>:text``: mpirun --tag-output (Open MPI orte/mca/iof, prrte iof_write_output).
Only the newer form with the job's name, ``[prterun-n1-7@1,0]<stderr>: text``, has a space."""


def _stamped(match: re.Match[str], peeled: Peeled) -> None:
    month, day, clock, year, stream = match.groups()
    number = month_number(month)
    if number is not None:
        peeled.set_time(seconds_of(f"{year}-{number:02d}-{int(day):02d}", clock), "local")
    peeled.set_stream(stream)


MPIRUN_TIME = Prefix(
    "mpirun",
    lazy(
        rf"[A-Z][a-z]{{2}} ([A-Z][a-z]{{2}}) {{1,2}}(\d{{1,2}}) {CLOCK} (\d{{4}})"
        r"(?:<(stdout|stderr|stddiag)>:|(?=\[\d{1,9},\d))",
        re.ASCII,
    ),
    _stamped,
)
"""``Mon Nov 30 19:41:58 2026<stderr>:text``: mpirun --timestamp-output, or in front of the tag where both are asked for."""

_HOST = lazy(r"(\d{1,3}(?:\.\d{1,3}){3}|[a-z](?=[a-z.-]*[\d-])[\w.-]{0,252}): ", re.ASCII)


@dataclass(frozen=True, slots=True)
class Pdsh:
    """``gpu-11: text``: pdsh, clush and DeepSpeed's launcher. Only names that hold a digit or a hyphen can be hosts here."""

    confirm: Callable[[str], bool] | None
    name: str = "pdsh"

    def peel(self, peeled: Peeled) -> bool:
        if peeled.text.find(": ", 1, 256) < 0:
            return False
        match = _HOST.match(peeled.text)
        if match is None or (self.confirm is not None and not self.confirm(peeled.text[match.end() :])):
            return False
        if peeled.node is None:
            peeled.node = match.group(1)
        peeled.layers.append(self.name)
        peeled.text = peeled.text[match.end() :]
        return True


_BRACKETED = lazy(r"\[([A-Za-z][\w.-]{1,252})\]:( {0,8})", re.ASCII)
_ROLE = lazy(r"[A-Za-z]+_?(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Bracketed:
    """``[llm3]:text`` of torchrun --tee with a role of its own, ``[gpu-node-3]: text`` of launchers that write the host so.

    torchrun writes no space behind the colon, the launchers write one; Python indents by an even number of them.
    """

    confirm: Callable[[str], bool] | None
    name: str = "bracketed"
    is_role: bool | None = None
    """Which of the two it is, where many lines have shown it."""

    def peel(self, peeled: Peeled) -> bool:
        match = _BRACKETED.match(peeled.text)
        if match is None:
            return False
        label, spaces = match.groups()
        is_role = len(spaces) % 2 == 0 if self.is_role is None else self.is_role
        role = _ROLE.fullmatch(label) if is_role else None
        if role is None and self.is_role:
            return False
        end = match.end() - len(spaces) + (role is None and bool(spaces))
        if role is None and _HOST.match(f"{label.lower()}: ") is None:
            return False
        if self.confirm is not None and not self.confirm(peeled.text[end:]):
            return False
        if role is not None:
            peeled.rank = int(role.group(1))
        elif peeled.node is None:
            peeled.node = label
        peeled.layers.append("torch-elastic" if role is not None else "bracketed")
        peeled.text = peeled.text[end:]
        return True
