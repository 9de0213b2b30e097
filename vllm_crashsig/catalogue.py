"""One immutable, hashed `Catalogue` of fingerprints, and how its parts refer to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from .nouns import dataclass
from .schema import Fingerprint, Role, TaxonomyEntry

CATALOGUE_VERSION = "1"
"""Version of the built-in catalogue's conventions (ids and roles), told in every report beside its hash."""


@dataclass(frozen=True)
class Catalogue:
    """All fingerprints by id, with the taxonomy of root causes. Immutable; safe to share between threads."""

    fingerprints: Mapping[str, Fingerprint]
    areas: Mapping[str, str]
    """Area (folder name) of each fingerprint."""
    taxonomy: Mapping[str, TaxonomyEntry]
    hash: str
    """SHA-256 (hex) over the names and bytes of all files it was read from."""
    version: str = CATALOGUE_VERSION

    def __reduce__(self) -> tuple[Any, ...]:
        """Whatever the mappings are, and without what was worked out."""
        return Catalogue, (dict(self.fingerprints), dict(self.areas), dict(self.taxonomy), self.hash, self.version)

    def __len__(self) -> int:
        return len(self.fingerprints)

    def __iter__(self) -> Iterator[Fingerprint]:
        return iter(self.fingerprints.values())

    def __getitem__(self, fingerprint_id: str) -> Fingerprint:
        return self.fingerprints[fingerprint_id]

    def __contains__(self, fingerprint_id: object) -> bool:
        return fingerprint_id in self.fingerprints

    @cached_property
    def roles(self) -> Mapping[str, Role]:
        """The role of each fingerprint."""
        return {f.id: f.role for f in self}

    @cached_property
    def explains(self) -> Mapping[str, Sequence[str]]:
        """For each fingerprint the ids that it says it causes."""
        return {f.id: f.explains for f in self}

    @cached_property
    def explained(self) -> Mapping[str, frozenset[str]]:
        """For each fingerprint the ids that it causes, directly or through others. Worked out when first asked for.

        An id stands for its dotted refinements too: what explains ``cuda-oom`` explains ``cuda-oom.graph-capture``. But a
        refinement that explains its own base means the base alone, not its siblings.
        """
        return _Explained(self.explains)

    @cached_property
    def index(self) -> Mapping[str, Any] | None:
        """What `index` made of it, as data, if it was stored."""
        return None


class _Explained(dict[str, frozenset[str]]):
    def __init__(self, explains: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self._explains = explains
        self._refinements: dict[str, set[str]] = {}
        for i in explains:
            base = i
            while "." in base:
                base = base.rpartition(".")[0]
                self._refinements.setdefault(base, set()).add(i)

    def __missing__(self, fingerprint_id: str) -> frozenset[str]:
        found: set[str] = set()
        waiting = [fingerprint_id]
        while waiting:
            fresh = self._direct(waiting.pop()) - found
            found |= fresh
            waiting += fresh
        reached = self[fingerprint_id] = frozenset(found - {fingerprint_id})
        return reached

    def _direct(self, fingerprint_id: str) -> set[str]:
        told = self._explains[fingerprint_id]
        base = fingerprint_id.partition(".")[0]
        found = {target for target in told if target in self._explains}
        return found.union(*(self._refinements.get(target, ()) for target in told if target != base))


def resolve_ref(ref: str, own_id: str, own_indicators: Mapping[str, object]) -> tuple[str, str | None]:
    """Fingerprint id and indicator name (None: any decisive one) that a reference in a condition means."""
    owner, colon, indicator = ref.partition(":")
    if colon:
        return owner, indicator
    if ref in own_indicators:
        return own_id, ref
    return ref, None
