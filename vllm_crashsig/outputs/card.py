"""All that a fingerprint says, as text: for `vllm-crashsig explain ID`."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalogue import Catalogue
from ..facts import fill
from ..schema import Fingerprint, Step
from .escape import plain, wrap


def render_card(catalogue: Catalogue, fingerprint_id: str, *, width: int = 100, color: bool = False) -> str:
    """The card of one fingerprint. Raises KeyError for an unknown id."""
    fingerprint = catalogue[fingerprint_id]
    return "\n".join(_card(fingerprint, catalogue, width, color)) + "\n"


def _card(fingerprint: Fingerprint, catalogue: Catalogue, width: int, color: bool) -> Iterator[str]:
    def bold(text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if color else text

    def wrapped(text: str, indent: str = "") -> list[str]:
        return wrap(plain(" ".join(text.split())), width, indent, indent)

    yield bold(fingerprint.id)
    yield from wrapped(fingerprint.title)
    yield f"{fingerprint.role}, {fingerprint.severity}, {fingerprint.status}; {', '.join(fingerprint.components)}"
    yield ""
    yield from wrapped(fill(fingerprint.summary, {}, fingerprint.facts))
    if fingerprint.impact:
        yield from wrapped(fingerprint.impact)
    yield "\n" + bold("Messages")
    for name, indicator in fingerprint.indicators.items():
        versions = f"; {indicator.versions}" if indicator.versions else ""
        yield f"  {name} ({indicator.weight}{versions})"
        yield from wrapped(indicator.examples.hit[0], "    ")
    if fingerprint.explains:
        yield "\n" + bold("Explains")
        yield from wrapped(", ".join(fingerprint.explains), "  ")
    causes = sorted(f.id for f in catalogue if fingerprint.id in f.explains)
    if causes:
        yield "\n" + bold("Caused by")
        yield from wrapped(", ".join(causes), "  ")
    remediation = fingerprint.remediation
    for title, steps in (
        ("Do now", remediation.immediate),
        ("Investigate", remediation.investigate),
        ("Prevent", remediation.prevent),
        ("Verify", remediation.verify),
    ):
        if steps:
            yield "\n" + bold(title)
        for number, step in enumerate(steps, 1):
            yield from wrapped(f"{number}. {fill(step.text, {}, fingerprint.facts)} [{step.risk}]{_when(step)}", "  ")
            command = fill(step.command, {}, fingerprint.facts, command=True) if step.command else ""
            yield from (f"       {plain(line)}" for line in command.splitlines())
    yield "\n" + bold("Versions") + f"\n  {plain(fingerprint.versions)}"
    yield "\n" + bold("May be wrong when")
    for text in fingerprint.false_positives:
        yield from wrapped(text, "  ")
    if fingerprint.references:
        yield "\n" + bold("References")
        yield from (f"  {plain(r.title)}: {r.url}" for r in fingerprint.references)


def _when(step: Step) -> str:
    if step.if_ is None:
        return ""
    told = [*step.if_.runtime, *(f"{p} {s}" for p, s in step.if_.versions.items())]
    told += [f"{name} {wanted}" for name, wanted in step.if_.context.items()]
    return f" (if {', '.join(told)})" if told else ""
