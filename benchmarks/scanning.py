"""How fast logs are classified, beside reading them alone and bare Hyperscan scans for the same patterns and literals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bare import bare_scan
from logs import Kind, write_log
from measuring import Cost, Plan, Times, here, one_core
from results import Goal, Section

from vllm_crashsig import Catalogue, Classifier, Report, classify_paths

KINDS = {
    "busy server": Kind(),
    "progress lines": Kind("progress"),
    "busy server, 0.1% errors": Kind(errors=0.001),
    "busy server, 1% errors": Kind(errors=0.01),
    "progress lines, 0.1% errors": Kind("progress", errors=0.001),
    "progress lines, 1% errors": Kind("progress", errors=0.01),
    "nothing but errors": Kind(errors=1.0),
}
FLOOD = 0.05
"""Of the size, where there is nothing but errors."""
CHUNK = 256 * 1024


def read_alone(path: Path) -> None:
    """Reads a file and looks at nothing."""
    with path.open("rb", buffering=0) as file:
        while file.read(CHUNK):
            pass


def classified(path: Path, catalogue: Catalogue | None = None, *, warm: bool = True) -> Callable[[], Cost]:
    """A way: the file is classified as if it were the first one. The classifier is made ready before, and remembers nothing.

    warm: that patterns are compiled when a line first needs them is left out.
    """

    def run() -> Cost:
        classifier = Classifier(catalogue)
        classifier.classify(b"x\n")
        return here(lambda: classify_paths([path], classifier))()

    if warm:
        run()
    return run


def four_ways(plan: Plan, path: Path, scans: dict[str, Callable[[Path], object]]) -> dict[str, Times]:
    """Reading, scanning, classifying."""
    with one_core():
        return plan.side_by_side(
            {
                "read": here(lambda: read_alone(path)),
                **{name: here(lambda scan=scan: scan(path)) for name, scan in scans.items()},  # type: ignore[misc]
                "classify": classified(path),
            }
        )


def measure(plan: Plan) -> list[Section]:
    """Plain text, with more and more errors in it."""
    section = Section(
        "Plain text",
        "Reading alone, bare Hyperscan scans of the file (in pieces of 256 KiB, with a callback that does nothing) for the "
        "catalogue's patterns and for the literals to which the gate reduces them, and a whole classification. Ratios are of "
        "these rates: 1 would be as fast as the bare scan.",
        ("log", "MB", "MB/s", "of patterns' scan", "of literals' scan", "of reading", "us a line"),
    )
    scans = {"patterns": bare_scan(patterns=True), "literals": bare_scan()}
    for name, kind in KINDS.items():
        size = int(plan.size * 1e6 * (FLOOD if kind.errors >= 1 else 1))
        path = write_log(plan.path(f"{name}.log"), size, kind, plan.seed)
        times = four_ways(plan, path, scans)
        report = classify_paths([path])
        section.rows.append(_row(name, times, report))
        if name in ("busy server", "progress lines"):
            figure = times["patterns"].least / times["classify"].least
            section.goals.append(Goal(f"plain text, {name}: of a bare scan for the patterns", figure, 0.8, at_least=True))
        path.unlink()
    return [section]


def _row(name: str, times: dict[str, Times], report: Report) -> list[str]:
    took, size, lines = times["classify"].least, report.coverage.bytes / 1e6, report.coverage.lines
    return [
        name, f"{size:.0f}", f"{size / took:.0f}",
        *(f"{times[way].least / took:.2f}" for way in ("patterns", "literals", "read")), f"{took / lines * 1e6:.2f}",
    ]  # fmt: skip
