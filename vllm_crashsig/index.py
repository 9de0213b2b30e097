"""What the matcher must know of all fingerprints before the first line comes: plain data, quickly made from its stored form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .catalogue import Catalogue
from .crashid import FOLLOWERS, MARKERS
from .envelopes.clean import SPOILERS
from .gate import Literals, gateable, literals_of
from .literals import NoLiteralError, required_literals
from .model import LEVELS
from .nouns import dataclass

SPOILED = -1
"""Announced by the gate, beside indexes of probes, for lines with remains of colours and the like: what they say must be
scanned again without these."""
GATED, LAZY, UNGATED, FOLLOWER = "gated", "lazy", "ungated", "follower"
"""When a probe is asked: where the gate says so; where something else hit; about every line; after certain other lines."""


@dataclass(slots=True)
class ProbeRow:
    """One pattern to look for."""

    fingerprint: str | None
    """None: a marker of unknown failures (see `crashid`)."""
    name: str
    pattern: str
    ignore_case: bool = False
    way: str = GATED
    decisive: bool = False
    """Whether it decides for a failure."""
    progress: bool = False
    """Whether it shows healthy work, of which a long log holds very much."""
    lowest: int = 0
    """Least weight of the line's level."""
    envelopes: Sequence[str] = ()
    """Of which the line must have come in one; any will do if there are none."""

    @property
    def label(self) -> str:
        """What it is called where it is told of."""
        return f"{self.fingerprint or 'marker'}:{self.name}"


@dataclass(slots=True)
class Index:
    """All probes, and the literals that announce them, with the probes behind each."""

    probes: list[ProbeRow]
    gate: Literals
    lazy_gate: Literals
    silent: list[int]
    """Lazy probes that no literal announces."""
    key: str
    """Tells the literals of the gates from others."""

    def to_data(self) -> dict[str, Any]:
        """As `marshal` can hold it."""
        rows = [
            (p.fingerprint, p.name, p.pattern, p.ignore_case, p.way, p.decisive, p.progress, p.lowest, tuple(p.envelopes))
            for p in self.probes
        ]
        return {
            "probes": rows,
            "gate": dict(self.gate),
            "lazy_gate": dict(self.lazy_gate),
            "silent": self.silent,
            "key": self.key,
        }

    def is_of(self, catalogue: Catalogue) -> bool:
        """Whether these are the patterns of this catalogue."""
        known = {(p.fingerprint, p.name): (p.pattern, p.ignore_case) for p in self.probes if p.fingerprint}
        told = {(f.id, name): (i.pattern, i.ignore_case) for f in catalogue for name, i in f.indicators.items()}
        return known == told

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Index:
        """From `to_data`. Raises an error of Python's own on anything else."""
        probes = [ProbeRow(*row) for row in data["probes"]]
        return cls(probes, data["gate"], data["lazy_gate"], data["silent"], data["key"])


def index_of(catalogue: Catalogue) -> Index:
    """The index of a catalogue."""
    probes = []
    for fingerprint in catalogue:
        failure = fingerprint.is_failure
        for name, indicator in fingerprint.indicators.items():
            probes.append(
                ProbeRow(
                    fingerprint.id,
                    name,
                    indicator.pattern,
                    indicator.ignore_case,
                    LAZY if not indicator.gate else GATED if gateable(indicator) else UNGATED,
                    failure and indicator.weight == "decisive",
                    indicator.milestone == "progress",
                    LEVELS[indicator.min_level or ("warning" if failure else "debug")],
                    tuple(indicator.envelopes),
                )
            )
    probes += [ProbeRow(None, name, pattern) for name, pattern in MARKERS.items()]
    probes += [ProbeRow(None, name, pattern, way=FOLLOWER) for name, pattern in FOLLOWERS.items()]
    gated = [(i, p.pattern, p.ignore_case) for i, p in enumerate(probes) if p.way == GATED]
    lazy = [(i, p.pattern, p.ignore_case) for i, p in enumerate(probes) if p.way == LAZY]
    silent = [i for i, pattern, ignore_case in lazy if not _has_literals(pattern, ignore_case)]
    spoilers = [(SPOILED, spoiler, False) for spoiler in SPOILERS]
    from hashlib import sha256  # loads OpenSSL

    gate, lazy_gate = literals_of([*spoilers, *gated]), literals_of([p for p in lazy if p[0] not in silent])
    progress = [i for i, p in enumerate(probes) if p.progress]
    key = sha256(repr((list(gate.items()), list(lazy_gate.items()), progress)).encode(errors="surrogatepass")).hexdigest()
    return Index(probes, gate, lazy_gate, silent, key)


def _has_literals(pattern: str, ignore_case: bool) -> bool:
    try:
        required_literals(pattern, ignore_case)
    except NoLiteralError:
        return False
    return True
