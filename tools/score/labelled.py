"""The project's labelled logs: what is in each, which answers to it are right, and what an answer is worth."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import corpus as corpus  # noqa: E402 - the samples are read in one place, and that is beside the tests

from vllm_crashsig import Report  # noqa: E402
from vllm_crashsig.confidence import HIGH  # noqa: E402

Kind = Literal["crash", "near", "healthy"]
Worth = Literal["right", "listed", "silent", "wrong"]
"""``right``: as labelled. ``listed``: the right id is among the first three, but not first. ``silent``: no cause is claimed
where there was one. ``wrong``: something else is claimed, or a failure where there was none."""

Logs = tuple[tuple[str, bytes], ...]
"""The logs of a case, by name."""
QUIET = frozenset({"healthy", "graceful-shutdown"})
"""Labels of logs in which nothing failed."""


@dataclass(frozen=True)
class Labelled:
    """One case: its logs by name, and what may be said of it."""

    name: str
    kind: Kind
    area: str
    owner: str
    """The folder of the sample; of a case of several files the first expected id."""
    logs: Logs
    right: frozenset[str]
    """Ids of which one must come first; for `near` and `healthy` it may hold the words of a sidecar."""

    @property
    def text(self) -> bytes:
        """The bytes of the only log."""
        ((_, data),) = self.logs
        return data


def refines(given: str, label: str) -> bool:
    """Whether an id is the label, or a refinement of it."""
    return given == label or given.startswith(label + ".")


def related(given: str, label: str) -> bool:
    """Whether one of the two refines the other: what tells the special case may be cut off."""
    return refines(given, label) or refines(label, given)


def labelled() -> Iterator[Labelled]:
    """All cases of the samples, in a fixed order."""
    areas = corpus.catalogue().areas
    for sample in corpus.samples():
        expect = frozenset(sample.entry.expect)
        log = ((sample.path.name, sample.path.read_bytes()),)
        if sample.kind == "hit":
            yield Labelled(sample.name, "crash", areas[sample.owner], sample.owner, log, expect or frozenset({sample.owner}))
        elif sample.kind == "near":
            yield Labelled(sample.name, "near", areas[sample.owner], sample.owner, log, expect)
        elif sample.kind == "healthy":  # those of envelopes are tests/test_envelope_matrix.py's
            yield Labelled(sample.name, "healthy", "healthy", "healthy", log, expect)
    for case in corpus.cases():
        owner, right = case.entry.expect[0], frozenset(case.entry.expect)
        logs = tuple((p.name, p.read_bytes()) for p in case.paths)
        kind: Kind = "healthy" if right <= QUIET else "crash"
        yield Labelled(f"incidents/{case.name}", kind, areas.get(owner, "incidents"), owner, logs, right)


def claims(case: Labelled, report: Report) -> bool:
    """Whether a cause is claimed. Consequences alone claim nothing; nor does what hurts, unless that was looked for."""
    if report.verdict not in ("crash", "degraded"):
        return False
    looked_for = {"root", "either", *(corpus.catalogue()[i].role for i in case.right if i in corpus.catalogue())} - {"cascade"}
    return any(c.role in looked_for for c in report.classifications)


def worth(case: Labelled, report: Report, *, exact: bool = True) -> Worth:
    """What an answer is worth. exact: the label or a refinement of it; else the case that the label refines counts too."""
    ids = [c.id for c in report.classifications]
    if case.kind == "crash":
        fits = refines if exact else related
        if ids and any(fits(ids[0], label) for label in case.right):
            return "right"
        if any(fits(i, label) for i in ids[1:3] for label in case.right):
            return "listed"
        return "wrong" if claims(case, report) else "silent"
    fatal = report.verdict == "crash" or any(c.severity in ("critical", "high") for c in report.classifications)
    if case.kind == "healthy":
        return "wrong" if fatal or report.verdict == "unclassified" else "right"
    if case.owner in ids:
        return "wrong"
    if not case.right or "any" in case.right or report.verdict in case.right:
        return "right"
    if ids and any(refines(ids[0], label) for label in case.right):
        return "right"
    return "wrong" if claims(case, report) else "silent"


def is_false_alarm(case: Labelled, report: Report) -> bool:
    """Whether a failure is claimed in a log in which nothing failed."""
    quiet = case.kind == "healthy" or (case.kind == "near" and case.right and case.right <= QUIET)
    return bool(quiet) and report.verdict in ("crash", "unclassified")


def misleads(case: Labelled, report: Report) -> bool:
    """Whether a cause is claimed with confidence, and it is not the right one, nor what it refines or what refines it."""
    top = report.cause
    if top is None or top.confidence < HIGH or not claims(case, report):
        return False
    if case.kind == "crash":
        return not any(related(top.id, label) for label in case.right)
    if case.kind == "healthy":
        return report.verdict == "crash"
    return worth(case, report, exact=False) == "wrong"
