"""The judge: confirms with `regex` what the gate let through, types the captures, and drops what a line cannot prove."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .catalogue import Catalogue
from .crashid import MARKERS
from .facts import parse_fact
from .gate import Gate, gateable
from .literals import NoLiteralError, required_literals
from .model import LEVELS, FactValue, Hit, LogLine
from .patterns import Match, Pattern, PatternTimeoutError, compile_pattern, search
from .schema import Fingerprint, Indicator

CLAIMING_ROLES = frozenset({"noise", "advice"})
"""A line that one of these matches is evidence for nothing else: it quotes, guesses or advises."""


@dataclass(slots=True)
class Probe:
    """One pattern to look for; its regex is compiled when a line first needs it."""

    name: str
    pattern: str
    ignore_case: bool = False
    fingerprint: Fingerprint | None = None
    indicator: Indicator | None = None
    compiled: Pattern[str] | None = None

    def search(self, text: str) -> Match[str] | None:
        if self.compiled is None:
            self.compiled = compile_pattern(self.pattern, self.ignore_case)
        return search(self.compiled, text)


@dataclass(slots=True)
class LineHits:
    """What one line shows."""

    line: LogLine
    hits: list[Hit] = field(default_factory=list)
    markers: list[tuple[str, Match[str]]] = field(default_factory=list)
    """Text that any failure may print (see `crashid.MARKERS`)."""
    notes: list[tuple[str, str]] = field(default_factory=list)
    only_progress: bool = False
    """(fingerprint id, why its hit on this line does not count)."""


class Matcher:
    """All probes of a catalogue. Immutable after construction but for lazily compiled patterns; thread-safe."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.probes: list[Probe] = []
        self.lazy: list[int] = []
        """Probes that are only asked about lines where something else hit."""
        self.ungated: list[int] = []
        """Probes that no gate can stand in front of: asked about every line."""
        for fingerprint in catalogue:
            for name, indicator in fingerprint.indicators.items():
                index = len(self.probes)
                self.probes.append(Probe(name, indicator.pattern, indicator.ignore_case, fingerprint, indicator))
                if not indicator.gate:
                    self.lazy.append(index)
                elif not gateable(indicator):
                    self.ungated.append(index)
        self.closing: list[int] = []
        """The probe for the last line of a traceback: asked about lines that follow a frame."""
        for name, pattern in MARKERS.items():
            if name == "closing":
                self.closing.append(len(self.probes))
            self.probes.append(Probe(name, pattern))
        self.failures = frozenset(f.id for f in catalogue if f.is_failure)
        self.progress = frozenset(i for i, p in enumerate(self.probes) if p.indicator and p.indicator.milestone == "progress")
        """Probes of healthy work, of which a long log holds very many."""
        self.progressing = frozenset(p.fingerprint.id for i in self.progress if (p := self.probes[i]).fingerprint)
        self.claiming = frozenset(f.id for f in catalogue if f.role in CLAIMING_ROLES)
        self._lazy_literals = [(i, self._lower_literals(i)) for i in self.lazy]
        first: dict[tuple[str, bool], int] = {}
        self._twins = [first.setdefault((p.pattern, p.ignore_case), i) for i, p in enumerate(self.probes)]
        aside = {*self.lazy, *self.ungated, *self.closing}
        self.gated = [i for i in range(len(self.probes)) if i not in aside]

    def _lower_literals(self, index: int) -> tuple[str, ...]:
        """Literals, in lower case, of which a line that the probe matches holds one; none where that is not known."""
        probe = self.probes[index]
        try:
            return tuple(literal.lower() for literal in required_literals(probe.pattern, probe.ignore_case))
        except NoLiteralError:
            return ()

    def gate_patterns(self) -> list[tuple[int, str, bool]]:
        """(index, pattern, ignore case) of what the gate looks for."""
        return [(i, self.probes[i].pattern, self.probes[i].ignore_case) for i in self.gated]

    def judge(self, line: LogLine, candidates: Iterable[int], timeouts: list[str]) -> LineHits | None:
        """What the candidates really show on this line, or None. Time-outs are appended to ``timeouts``."""
        found = LineHits(line)
        asked: dict[int, Match[str] | None] = {}
        for index in candidates:
            self._ask(index, found, timeouts, asked)
        if not found.hits and not found.markers:
            return None
        if found.markers or any(h.decisive for h in found.hits):
            text = line.text.lower()
            for index, literals in self._lazy_literals:
                if not literals or any(literal in text for literal in literals):
                    self._ask(index, found, timeouts, asked)
        self._settle_claims(found)
        found.only_progress = all(h.fingerprint in self.progressing for h in found.hits)
        return found if found.hits or found.markers or found.notes else None

    def _ask(self, index: int, found: LineHits, timeouts: list[str], asked: dict[int, Match[str] | None]) -> None:
        """Asks one probe. ``asked``: what patterns have answered already; fingerprints of one family share some."""
        probe = self.probes[index]
        twin = self._twins[index]
        if twin not in asked:
            asked[twin] = None
            try:
                asked[twin] = probe.search(found.line.text)
            except PatternTimeoutError:
                timeouts.append(f"{probe.fingerprint.id if probe.fingerprint else 'marker'}:{probe.name}")
        match = asked[twin]
        if match is None:
            return
        if probe.fingerprint is None or probe.indicator is None:
            found.markers.append((probe.name, match))
            return
        if probe.indicator.envelopes and not set(probe.indicator.envelopes) & set(found.line.layers):
            found.notes.append((probe.fingerprint.id, f"{probe.name}: not in a line of {', '.join(probe.indicator.envelopes)}"))
            return
        lowest = probe.indicator.min_level or ("warning" if probe.fingerprint.is_failure else "debug")
        if found.line.level and LEVELS[found.line.level] < LEVELS[lowest]:
            found.notes.append((probe.fingerprint.id, f"{probe.name}: the line is only {found.line.level.upper()}"))
            return
        facts = _facts(probe.fingerprint, match)
        facts.update(probe.indicator.sets)
        decisive = probe.fingerprint.is_failure and probe.indicator.weight == "decisive"
        found.hits.append(Hit(probe.fingerprint.id, probe.name, found.line, facts, match.span(), decisive))

    def _settle_claims(self, found: LineHits) -> None:
        claim = next((h for h in found.hits if h.fingerprint in self.claiming), None)
        if claim is None:
            return
        kept = []
        for hit in found.hits:
            if hit.fingerprint in self.failures:
                found.notes.append((hit.fingerprint, f"{hit.indicator}: the line is claimed by {claim.fingerprint}"))
            else:
                kept.append(hit)
        found.hits = kept
        found.markers = []


def _facts(fingerprint: Fingerprint, match: Match[str]) -> dict[str, FactValue]:
    """The typed captures. ``path2`` is another place in the pattern for ``path`` (a name may be given only once)."""
    facts: dict[str, FactValue] = {}
    for group, text in match.groupdict().items():
        plain = group.rstrip("0123456789").rstrip("_")
        name = plain if plain in fingerprint.facts else group
        if text is not None and name not in facts and (value := parse_fact(fingerprint.facts[name].type, text)) is not None:
            facts[name] = value
    return facts


def candidates_by_line(gate: Gate, text: bytes) -> tuple[list[tuple[int, int, list[int]]], int]:
    """(line start, line index, candidate probes) of each line of ``text`` that the gate lets through; and how many newlines
    ``text`` holds, since they are counted on the way."""
    lines: list[tuple[int, int, list[int]]] = []
    line_end = -1
    index = counted = 0
    current: list[int] = []
    for end, announced in gate.scan(text):
        at = end - 1 if end else 0
        if at > line_end:
            start = text.rfind(b"\n", 0, at) + 1
            line_end = text.find(b"\n", at)
            if line_end < 0:
                line_end = len(text)
            index += text.count(b"\n", counted, start)
            counted = start
            current = []
            lines.append((start, index, current))
        current.extend(announced)
    for _, _, found in lines:
        found[:] = sorted(set(found))
    return lines, index + text.count(b"\n", counted)
