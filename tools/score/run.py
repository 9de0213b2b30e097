"""Classifies all labelled logs and their variants: one row for each, with all that scores and calibration need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from labelled import Kind, Labelled, Worth, is_false_alarm, labelled, misleads, related, worth
from reading import Answer, Reading, read
from variants import WRAPPINGS, Subject, Variant, variants


@dataclass(frozen=True)
class Row:
    """What became of one log."""

    case: str
    kind: Kind
    area: str
    right: frozenset[str]
    variant: str
    group: str
    shown: bool
    worth: Worth
    misleads: bool
    false_alarm: bool
    verdict: str
    ids: tuple[str, ...]
    answer: Answer | None

    @property
    def name(self) -> str:
        return f"{self.case} {self.variant}"

    @property
    def rank(self) -> int | None:
        """The place of the label among the classifications."""
        return next((i for i, given in enumerate(self.ids, 1) if any(related(given, x) for x in self.right)), None)

    @property
    def judged(self) -> tuple[float, bool] | None:
        """Confidence and whether it was right, where a cause is claimed and a label can tell."""
        told = self.kind != "near" or (bool(self.right) and "any" not in self.right)
        if self.answer is None or not told or self.worth == "silent":
            return None
        return self.answer.confidence, self.worth == "right"


def row(case: Labelled, variant: Variant, reading: Reading) -> Row:
    """What a reading of a variant of a case is worth."""
    report = reading.report
    return Row(
        case.name, case.kind, case.area, case.right, variant.name, variant.group, variant.shown,
        worth(case, report, exact=variant.group == "plain"), misleads(case, report), is_false_alarm(case, report),
        report.verdict, tuple(c.id for c in report.classifications[:3]), reading.answer,
    )  # fmt: skip


def rows(only: str = "", kinds: str = "", wrappings: int = WRAPPINGS) -> Iterator[Row]:
    """All rows, case by case. only: of cases whose name holds this; kinds: and of variants whose name or group does."""
    for case in labelled():
        if only in case.name:
            whole = Subject(case, read(case.logs))
            yield row(case, Variant("plain", "plain", case.logs), whole.plain)
            for variant in variants(whole, wrappings):
                if kinds in variant.name or kinds in variant.group:
                    yield row(case, variant, read(variant.logs))
