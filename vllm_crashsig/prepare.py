"""A catalogue -> the judge and the gate, the gate's database from the cache where it can be."""

from __future__ import annotations

import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from . import cache
from .catalogue import Catalogue
from .gate import Gate, HyperscanGate, Patterns, literals_of, make_gate
from .match import Matcher


def prepare(catalogue: Catalogue) -> tuple[Matcher, Gate | None]:
    """The judge and the gate of a catalogue; no gate where Hyperscan is not installed."""
    matcher = Matcher(catalogue)
    try:
        scanner = version("hyperscan")
    except PackageNotFoundError:
        return matcher, None
    if lazy := matcher.lazy_patterns():
        matcher.lazy_gate = _gate("lazy", scanner, lazy)
    return matcher, _gate("gate", scanner, matcher.gate_patterns(), matcher.progress)


def _gate(name: str, scanner: str, patterns: Patterns, frequent: frozenset[int] = frozenset()) -> Gate | None:
    """A gate out of the cache, or else compiled and put there."""
    # the literals depend on code, not only on patterns
    key = cache.key_of(repr(literals_of(patterns)), repr(sorted(frequent)), scanner, _cpu())
    if (data := cache.read(name, key)) is not None:
        try:
            return HyperscanGate.load(data, patterns)
        except (ValueError, ImportError):
            pass
    gate = make_gate(patterns, frequent)
    if gate is not None:
        cache.write(name, key, gate.dump())
    return gate


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
