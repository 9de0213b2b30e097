"""`when` and `unless`: which hits of an incident satisfy a condition."""

from __future__ import annotations

from collections.abc import Sequence, Set

from .catalogue import Catalogue, resolve_ref
from .correlate import Segment, Track, lines_between, seconds_between
from .model import Hit
from .schema import Condition, Fingerprint, Unless, Within


class Conditions:
    """Evaluates conditions over the segments of one incident."""

    def __init__(self, catalogue: Catalogue, segments: list[Segment]) -> None:
        self._catalogue = catalogue
        self._segments = segments
        self._tracks: dict[str, list[tuple[str, Track]]] = {}
        for segment in segments:
            for (fingerprint, indicator), track in segment.tracks.items():
                self._tracks.setdefault(fingerprint, []).append((indicator, track))

    def decisive(self, fingerprint: Fingerprint) -> list[Hit]:
        """Kept decisive hits of a fingerprint, in order of segment and line."""
        return self.hits(fingerprint.id, _decisive(fingerprint))

    def hits(self, fingerprint: str, indicators: Set[str]) -> list[Hit]:
        """Kept hits of these indicators of a fingerprint, likewise."""
        return [hit for name, track in self.tracks(fingerprint) if name in indicators for hit in track.hits]

    def tracks(self, fingerprint: str) -> Sequence[tuple[str, Track]]:
        """What there is of a fingerprint, by indicator, in order of segment."""
        return self._tracks.get(fingerprint, ())

    def refer(self, ref: str, owner: Fingerprint) -> list[Hit]:
        """Hits that a reference means. A fingerprint that is not a failure counts with all its indicators."""
        fingerprint_id, indicator = resolve_ref(ref, owner.id, owner.indicators)
        if not self.tracks(fingerprint_id):  # of most there is nothing: their fingerprints need not be made
            return []
        if indicator:
            return self.hits(fingerprint_id, {indicator})
        fingerprint = self._catalogue[fingerprint_id]
        return self.hits(fingerprint_id, _decisive(fingerprint) if fingerprint.is_failure else fingerprint.indicators.keys())

    def met(self, condition: Condition, owner: Fingerprint) -> bool:
        """Whether the condition holds somewhere in the incident."""
        lists = {ref: self.refer(ref, owner) for ref in condition.refs()}
        if condition.any_of and not any(lists[r] for r in condition.any_of):
            return False
        if not all(lists[r] for r in condition.all_of):
            return False
        for ref, least in condition.count.items():
            if sum(hit.line.count for hit in lists[ref]) < least and self._count(ref, owner) < least:
                return False
        if condition.ordered and not self._ordered([lists[r] for r in condition.ordered], condition):
            return False
        if condition.all_of and (condition.within or condition.same):
            return _together([], [lists[r] for r in condition.all_of], condition)
        return True

    def veto(self, unless: Unless, owner: Fingerprint, hit: Hit) -> bool:
        """Whether this hit is vetoed: the condition holds near it."""

        def near(ref: str) -> list[Hit]:
            return [
                h
                for h in self.refer(ref, owner)
                if h.line != hit.line
                and _placed(hit, h, unless)
                and _near(hit, h, unless)
                and _side(hit, h, unless)
                and not self._is_other_replicas(h, hit)
            ]

        if unless.any_of and not any(near(r) for r in unless.any_of):
            return False
        if not all(near(r) for r in unless.all_of):
            return False
        if unless.ordered and not self._ordered([near(r) for r in unless.ordered], unless):
            return False
        return all(sum(h.line.count for h in near(r)) >= least for r, least in unless.count.items())

    def _is_other_replicas(self, milestone: Hit, hit: Hit) -> bool:
        """Whether a line tells how far another container of the same stream has come, which says nothing of this one."""
        theirs, own = milestone.line.scope.container, hit.line.scope.container
        if theirs is None or own is None or theirs == own or milestone.line.source != hit.line.source:
            return False
        return self._catalogue[milestone.fingerprint].indicators[milestone.indicator].milestone is not None

    def _count(self, ref: str, owner: Fingerprint) -> int:
        fingerprint_id, indicator = resolve_ref(ref, owner.id, owner.indicators)
        tracks = self.tracks(fingerprint_id)
        names: Set[str] | None = {indicator} if indicator else None
        if tracks and names is None and (fingerprint := self._catalogue[fingerprint_id]).is_failure:
            names = _decisive(fingerprint)
        return sum(track.count for name, track in tracks if names is None or name in names)

    def _ordered(self, lists: list[list[Hit]], condition: Condition) -> bool:
        def follow(at: Hit, rest: list[list[Hit]]) -> bool:
            if not rest:
                return True
            return any(_not_before(at, b) and _near(at, b, condition) and follow(b, rest[1:]) for b in rest[0])

        return any(follow(a, lists[1:]) for a in lists[0])


def _together(chosen: list[Hit], lists: list[list[Hit]], condition: Condition) -> bool:
    """Whether one hit of each list can be chosen so that all stand near each other."""
    if not lists:
        return True
    return any(
        all(_near(a, hit, condition) for a in chosen) and _together([*chosen, hit], lists[1:], condition) for hit in lists[0]
    )


def _decisive(fingerprint: Fingerprint) -> frozenset[str]:
    return frozenset(n for n, i in fingerprint.indicators.items() if i.weight == "decisive")


def _not_before(a: Hit, b: Hit) -> bool:
    lines = lines_between(a.line, b.line)
    if lines is not None:
        return lines >= 0
    seconds = seconds_between(a.line, b.line)
    return seconds is None or seconds >= 0


def _near(a: Hit, b: Hit, condition: Condition) -> bool:
    for name in condition.same:
        left = a.facts.get(name, getattr(a.line.scope, name))
        right = b.facts.get(name, getattr(b.line.scope, name))
        if left is not None and right is not None and left != right:
            return False
    return condition.within is None or _within(a, b, condition.within)


def _within(a: Hit, b: Hit, within: Within) -> bool:
    if within.seconds is not None and (seconds := seconds_between(a.line, b.line)) is not None:
        return abs(seconds) <= within.seconds
    if within.lines is not None and (lines := lines_between(a.line, b.line)) is not None:
        return abs(lines) <= within.lines
    return within.seconds is not None  # lines of two files are never near; of times that cannot be compared nobody knows


def _placed(hit: Hit, other: Hit, unless: Unless) -> bool:
    """Whether it is known how two lines stand to each other, where that matters: a veto needs proof."""
    if unless.within is None and unless.order == "around":
        return True
    return lines_between(hit.line, other.line) is not None or seconds_between(hit.line, other.line) is not None


def _side(hit: Hit, other: Hit, unless: Unless) -> bool:
    if unless.order == "around":
        return True
    lines = lines_between(hit.line, other.line)
    distance = lines if lines is not None else seconds_between(hit.line, other.line)
    if distance is None:
        return True
    return distance >= 0 if unless.order == "after" else distance <= 0
