"""A catalogue -> the judge and the gate, the gate's database from the cache where it can be."""

from __future__ import annotations

import os
from functools import lru_cache

from . import cache
from .catalogue import Catalogue
from .gate import Gate, HyperscanGate, Literals, make_gate, scanner_version
from .index import Index
from .match import Matcher


def prepare(catalogue: Catalogue) -> tuple[Matcher, Gate | None]:
    """The judge and the gate of a catalogue; no gate where Hyperscan is not installed."""
    stored = catalogue.index
    matcher = Matcher(catalogue, Index.from_data(stored) if stored is not None else None)
    scanner = scanner_version()
    if scanner is None:
        return matcher, None
    index = matcher.index
    if index.lazy_gate:
        matcher.lazy_gate = _gate("lazy", index.key, scanner, index.lazy_gate)
    return matcher, _gate("gate", index.key, scanner, index.gate, matcher.progress)


def _gate(name: str, key: str, scanner: str, literals: Literals, frequent: frozenset[int] = frozenset()) -> Gate | None:
    """A gate out of the cache, or else compiled and put there."""
    key = cache.key_of(key, scanner, _cpu())
    if (data := cache.read(name, key)) is not None:
        try:
            return HyperscanGate.load(data, literals)
        except (ValueError, ImportError):
            pass
    gate = make_gate(literals, frequent)
    if gate is not None:
        cache.write(name, key, gate.dump())
    return gate


@lru_cache(maxsize=1)
def _cpu() -> str:
    """What a Hyperscan database is compiled for: it uses the instructions of the CPU at hand."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            head = file.read(4096)  # of the first of them
        flags = [line for line in head.splitlines() if line.startswith(("flags", "Features"))]
        return "\n".join([os.uname().machine, *flags[:1]])
    except OSError:
        import platform

        return f"{platform.machine()} {platform.system()} {platform.processor()}"
