"""A catalogue -> the judge and the gate, the gate's database from the cache where it can be."""

from __future__ import annotations

import marshal
import os
from functools import lru_cache

from . import cache
from .catalogue import Catalogue
from .gate import Gate, HyperscanGate, Literals, make_gate, scanner_version
from .index import Index, index_of
from .match import Matcher
from .stored import makers

WORTH_KEEPING = 500
"""Patterns whose literals take longer to derive than to read: some milliseconds each."""


def prepare(catalogue: Catalogue) -> tuple[Matcher, Gate | None]:
    """The judge and the gate of a catalogue; no gate where Hyperscan is not installed."""
    matcher = Matcher(catalogue, _index(catalogue))
    scanner = scanner_version()
    if scanner is None:
        return matcher, None
    index = matcher.index
    if index.lazy_gate:
        matcher.lazy_gate = _gate("lazy", index.key, scanner, index.lazy_gate)
    return matcher, _gate("gate", index.key, scanner, index.gate, matcher.progress)


def _index(catalogue: Catalogue) -> Index:
    """The index that came with the catalogue, or out of the cache, or else made, and kept where that took long."""
    if catalogue.index is not None:
        return Index.from_data(catalogue.index)
    key = cache.key_of(catalogue.hash, makers())
    if (data := cache.read("index", key)) is not None:
        try:
            index = Index.from_data(marshal.loads(data))  # noqa: S302 - of a file that nobody else could have written
        except (EOFError, ValueError, TypeError, KeyError):
            pass
        else:
            if index.is_of(catalogue):
                return index
    index = index_of(catalogue)
    if len(index.probes) >= WORTH_KEEPING:
        cache.write("index", key, marshal.dumps(index.to_data()))
    return index


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
