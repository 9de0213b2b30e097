"""Advice that fits: steps chosen by runtime, versions and facts, with numbers from the log filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .facts import fill
from .lazy import lazy
from .model import FactValue
from .report import RemediationInfo, StepInfo
from .schema import Fact, Fingerprint, Step, StepIf

_COMPARISON = lazy(r"\s*(>=|<=|==|!=|>|<)?\s*(.+?)\s*$")


def advise(
    fingerprint: Fingerprint, facts: Mapping[str, FactValue], context: Mapping[str, FactValue], runtimes: frozenset[str]
) -> RemediationInfo:
    """The steps of a fingerprint that apply here."""
    known = {**context, **facts}

    def choose(steps: list[Step]) -> list[StepInfo]:
        return [_filled(step, known, fingerprint.facts) for step in steps if applies(step.if_, known, runtimes)]

    remediation = fingerprint.remediation
    immediate = choose(remediation.immediate)
    if not immediate and remediation.immediate:  # a condition may narrow the advice, but must not leave nothing to do
        immediate = [_filled(step, known, fingerprint.facts) for step in remediation.immediate]
    return RemediationInfo(
        immediate=immediate,
        investigate=choose(remediation.investigate),
        prevent=choose(remediation.prevent),
        verify=choose(remediation.verify),
    )


def applies(condition: StepIf | None, known: Mapping[str, FactValue], runtimes: frozenset[str]) -> bool:
    """Whether a step is offered, given the known facts and context and the runtimes that the log shows."""
    if condition is None:
        return True
    if condition.runtime and runtimes and not runtimes & {*condition.runtime}:
        return False
    if any(name not in known for name in condition.facts) or any(name in known for name in condition.without_facts):
        return False
    for product, specifier in condition.versions.items():
        version = known.get(f"{product}_version")
        if version is not None and not version_in(str(version), specifier):
            return False
    return all(name in known and compares(known[name], wanted) for name, wanted in condition.context.items())


def version_in(version: str, specifier: str) -> bool:
    """Whether a version satisfies a PEP 440 specifier; a version that cannot be read satisfies everything.

    Only its release numbers count, so that 0.9.0rc1 is 0.9.0 to ``<0.9`` and ``>=0.9`` alike (PEP 440 has it in neither).
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    release = re.match(r"v?(\d+(?:\.\d+)*)", version)
    try:
        return release is None or SpecifierSet(specifier).contains(release.group(1))
    except InvalidSpecifier:
        return True


def compares(value: FactValue, wanted: str) -> bool:
    """Whether a context value satisfies ``">1"``, ``"ray"`` or the like."""
    match = _COMPARISON.match(wanted)
    operator, operand = (match.group(1) or "==", match.group(2)) if match else ("==", wanted)
    try:
        left, right = float(value), float(operand)
    except ValueError:
        return (str(value).lower() == operand.lower()) is (operator != "!=")
    return {
        "==": left == right,
        "!=": left != right,
        ">": left > right,
        "<": left < right,
        ">=": left >= right,
        "<=": left <= right,
    }[operator]


def _filled(step: Step, known: Mapping[str, FactValue], declared: Mapping[str, Fact]) -> StepInfo:
    return StepInfo(
        text=fill(step.text, known, declared),
        command=fill(step.command, known, declared, command=True) if step.command else None,
        risk=step.risk,
    )
