"""Launchers that label every line of many processes: srun, mpirun, pdsh.

``3: text`` and ``word: text`` are everyday prose. So these labels are taken only when what follows begins with another known
prefix or as tracebacks do (``confirm``), or when the caller says that the source is labelled (``confirm=None``; see ``hint`` of
`vllm_crashsig.envelopes.peel`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .base import Peeled, Prefix

TRACEBACK_LIKE = re.compile(
    r"Traceback \(most recent call last\)|  File \"|\*\*\* |slurmstepd: |srun: |terminate called |  what\(\): |frame #\d|"
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure)(?:: |$)|NCCL version |\w+: symbol lookup error",
    re.ASCII,
)
"""How the lines of a failure begin that carry no prefix of their own."""

_SRUN = re.compile(r" {0,6}(\d{1,6}): ", re.ASCII)


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
    re.compile(
        r"\[([\w.-]{1,128}@)?\d{1,9},(\d{1,6})\](?:\[[\w.:-]{0,64}\])?<(stdout|stderr|stddiag)>:(?(1) ?)",
        re.ASCII,
    ),
    _mpirun,
)
"""``[1,0]<stderr>:text``: mpirun --tag-output (Open MPI orte/mca/iof, prrte iof_write_output).
Only the newer form with the job's name, ``[prterun-n1-7@1,0]<stderr>: text``, has a space."""

_HOST = re.compile(r"(\d{1,3}(?:\.\d{1,3}){3}|[a-z](?=[a-z.-]*[\d-])[\w.-]{0,252}): ", re.ASCII)


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
