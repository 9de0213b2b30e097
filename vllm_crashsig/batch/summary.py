"""Rows -> what an archive of crashes holds: causes by count, by week, by version, by node, and the failures nobody knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NOT_TOLD = "(not told)"
UNCLASSIFIED = "unclassified"
SAMPLES = 1000
"""Unreadable cases that are kept with their errors; more are only counted."""


@dataclass(slots=True)
class Unknown:
    """Failures of one crash id."""

    crash_id: str
    headline: str
    example: str
    """The first case that shows it."""
    cases: int = 0


@dataclass(slots=True)
class Summary:
    """Counts of cases. ``weeks``, ``versions`` and ``nodes`` count the failures in each: by cause, or as ``unclassified``."""

    version: str
    catalogue: str
    cases: int = 0
    lines: int = 0
    bytes: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    titles: dict[str, str] = field(default_factory=dict)
    consequences: set[str] = field(default_factory=set)
    """Ids among the causes that are only consequences: their logs do not show why."""
    weeks: dict[str, Counter[str]] = field(default_factory=dict)
    versions: dict[str, Counter[str]] = field(default_factory=dict)
    nodes: dict[str, Counter[str]] = field(default_factory=dict)
    unknown: dict[str, Unknown] = field(default_factory=dict)
    """Failures of the cases that are unclassified, by crash id. (Those beside a known cause are in the results alone.)"""
    unreadable: list[tuple[str, str]] = field(default_factory=list)

    def add(self, row: Mapping[str, Any]) -> None:
        """Counts a case: the fields of a `CaseResult`."""
        self.cases += 1
        self.lines += row["lines"]
        self.bytes += row["bytes"]
        self.verdicts[row["verdict"]] += 1
        if row["error"] is not None and len(self.unreadable) < SAMPLES:
            self.unreadable.append((row["case"], row["error"]))
        if row["verdict"] == UNCLASSIFIED:
            for crash_id, headline in zip(row["crash_ids"], row["headlines"], strict=True):
                self.unknown.setdefault(crash_id, Unknown(crash_id, headline, row["case"])).cases += 1
        cause = row["cause"]
        if cause is not None:
            self.causes[cause] += 1
            self.titles.setdefault(cause, row["title"])
            if row["role"] == "cascade":
                self.consequences.add(cause)
        elif row["verdict"] == UNCLASSIFIED:
            cause = UNCLASSIFIED
        else:
            return
        node = row["node"] or (row["folder"] + "/" if row["folder"] else NOT_TOLD)
        for table, key in (
            (self.weeks, row["week"] or NOT_TOLD), (self.versions, row["vllm_version"] or NOT_TOLD), (self.nodes, node),
        ):  # fmt: skip
            table.setdefault(key, Counter())[cause] += 1

    def ordered(self, what: str) -> list[tuple[str, Counter[str]]]:
        """``weeks`` and ``versions`` from old to new, ``nodes`` from many causes to few; what is not told comes last."""
        table: dict[str, Counter[str]] = getattr(self, what)
        if what == "nodes":
            return sorted(table.items(), key=lambda item: (item[0] == NOT_TOLD, -item[1].total(), item[0]))
        key = _version_key if what == "versions" else lambda name: name
        return sorted(table.items(), key=lambda item: (item[0] == NOT_TOLD, key(item[0])))

    def unknown_groups(self) -> list[Unknown]:
        """From many cases to few."""
        return sorted(self.unknown.values(), key=lambda u: (-u.cases, u.crash_id))

    def ranked_causes(self) -> list[tuple[str, int]]:
        """From many cases to few."""
        return sorted(self.causes.items(), key=lambda item: (-item[1], item[0]))

    def as_dict(self) -> dict[str, Any]:
        """For JSON. Keys are only ever added."""
        return {
            "schema_version": "1",
            "tool": {"version": self.version, "catalogue": {"hash": self.catalogue}},
            "cases": self.cases, "lines": self.lines, "bytes": self.bytes,
            "verdicts": dict(self.verdicts.most_common()),
            "causes": [
                {"id": cause, "title": self.titles[cause], "cases": count, "consequence": cause in self.consequences}
                for cause, count in self.ranked_causes()
            ],
            "weeks": self._groups("weeks"), "versions": self._groups("versions"), "nodes": self._groups("nodes"),
            "unclassified": [
                {"crash_id": u.crash_id, "cases": u.cases, "headline": u.headline, "example": u.example}
                for u in self.unknown_groups()
            ],
            "unreadable": [{"case": case, "error": error} for case, error in self.unreadable],
        }  # fmt: skip

    def _groups(self, what: str) -> list[dict[str, Any]]:
        return [{"name": n, "cases": c.total(), "causes": dict(_ranked(c))} for n, c in self.ordered(what)]


def _ranked(count: Counter[str]) -> list[tuple[str, int]]:
    return sorted(count.items(), key=lambda item: (-item[1], item[0]))


def top(count: Counter[str], limit: int = 3) -> str:
    """The most frequent ones of a counter in words."""
    ranked = _ranked(count)
    more = f", {len(ranked) - limit} more" if len(ranked) > limit else ""
    return ", ".join(f"{name} {n:,}" for name, n in ranked[:limit]) + more


def _version_key(text: str) -> tuple[object, ...]:
    from packaging.version import InvalidVersion, Version

    try:
        return (0, Version(text), text)
    except InvalidVersion:
        return (1, text)
