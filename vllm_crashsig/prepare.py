"""A catalogue -> the judge and the gate, the gate's database from the cache where it can be."""

from __future__ import annotations

import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from . import cache
from .catalogue import Catalogue
from .gate import Gate, HyperscanGate, literals_of, make_gate
from .match import Matcher


def prepare(catalogue: Catalogue) -> tuple[Matcher, Gate | None]:
    """The judge and the gate of a catalogue; no gate where Hyperscan is not installed."""
    matcher = Matcher(catalogue)
    patterns = matcher.gate_patterns()
    try:
        scanner = version("hyperscan")
    except PackageNotFoundError:
        return matcher, None
    key = cache.key_of(repr(literals_of(patterns)), scanner, _cpu())  # literals: they depend on code, not only on patterns
    if (data := cache.read("gate", key)) is not None:
        try:
            return matcher, HyperscanGate.load(data, patterns)
        except (ValueError, ImportError):
            pass
    gate = make_gate(patterns)
    if gate is not None:
        cache.write("gate", key, gate.dump())
    return matcher, gate


@lru_cache(maxsize=1)
def _cpu() -> str:
    """What a Hyperscan database is compiled for: it uses the instructions of the CPU at hand."""
    told = [platform.machine(), platform.system()]
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            told += [line for line in file if line.startswith(("flags", "Features"))][:1]
    except OSError:
        told.append(platform.processor())
    return "\n".join(told)
