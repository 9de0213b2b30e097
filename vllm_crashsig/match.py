"""The judge: confirms with `regex` what the gate let through, types the captures, and drops what a line cannot prove."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .catalogue import Catalogue
from .crashid import FOLLOWERS, MARKERS
from .envelopes.clean import SPOILERS
from .facts import parse_fact
from .gate import Gate, gateable
from .literals import NoLiteralError, required_literals
from .model import LEVELS, FactValue, Hit, LogLine
from .patterns import Match, Pattern, PatternTimeoutError, compile_pattern, search
from .quoted import quoted_parts
from .schema import Fingerprint, Indicator

SPOILED = -1
"""Announced by the gate, beside indexes of probes, for lines with remains of colours and the like: what they say must be
scanned again without these."""
CLAIMING_ROLES = frozenset({"noise", "advice"})
"""A line that one of these matches is evidence for nothing else: it quotes, guesses or advises."""
PATIENCE = 3
"""Time-outs of a pattern in a source after which it is not looked for there any more: other sources wait."""


@dataclass(slots=True)
class Probe:
    """One pattern to look for; its regex is compiled when a line first needs it."""

    name: str
    pattern: str
    ignore_case: bool = False
    fingerprint: Fingerprint | None = None
    indicator: Indicator | None = None
    compiled: Pattern[str] | None = None
    envelopes: tuple[str, ...] = ()
    """Of which the line must have come in one; any will do if there are none."""
    lowest: int = 0
    """Least weight of the line's level."""
    decisive: bool = False

    def __post_init__(self) -> None:
        """What is asked about every line that hits is worked out once."""
        if self.fingerprint is not None and self.indicator is not None:
            failure = self.fingerprint.is_failure
            self.envelopes = tuple(self.indicator.envelopes)
            self.lowest = LEVELS[self.indicator.min_level or ("warning" if failure else "debug")]
            self.decisive = failure and self.indicator.weight == "decisive"

    @property
    def label(self) -> str:
        """What it is called where it is told of."""
        return f"{self.fingerprint.id if self.fingerprint else 'marker'}:{self.name}"

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
    """(fingerprint id, why its hit on this line does not count)."""
    only_progress: bool = False

    def again(self, line: LogLine) -> LineHits:
        """The same of another line with the same text, level and layers."""
        hits = [Hit(h.fingerprint, h.indicator, line, h.facts, h.span, h.decisive) for h in self.hits]
        return LineHits(line, hits, self.markers, self.notes, self.only_progress)


class Facts(Mapping[str, FactValue]):
    """The typed captures of a hit, and what its indicator sets. Worked out when first asked for: of a flood, few are needed."""

    __slots__ = ("_fingerprint", "_match", "_sets", "_values")

    def __init__(self, fingerprint: Fingerprint, match: Match[str], sets: Mapping[str, FactValue]) -> None:
        self._fingerprint = fingerprint
        self._match = match
        self._sets = sets
        self._values: dict[str, FactValue] | None = None

    def _all(self) -> dict[str, FactValue]:
        if self._values is None:
            self._values = {**_facts(self._fingerprint, self._match), **self._sets}
        return self._values

    def __getitem__(self, name: str) -> FactValue:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


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
        self.followers: dict[str, int] = {}
        """Probes of lines that mean something only after certain others, such as the last one of a traceback."""
        for name, pattern in (*MARKERS.items(), *FOLLOWERS.items()):
            if name in FOLLOWERS:
                self.followers[name] = len(self.probes)
            self.probes.append(Probe(name, pattern))
        self.failures = frozenset(f.id for f in catalogue if f.is_failure)
        self.progress = frozenset(i for i, p in enumerate(self.probes) if p.indicator and p.indicator.milestone == "progress")
        """Probes of healthy work, of which a long log holds very many."""
        self.frequent = tuple(sorted(self.progress))
        self.progressing = frozenset(p.fingerprint.id for i in self.progress if (p := self.probes[i]).fingerprint)
        self.claiming = frozenset(f.id for f in catalogue if f.role in CLAIMING_ROLES)
        self._lazy_literals = [(i, self._lower_literals(i)) for i in self.lazy]
        self._always_likely = [i for i, literals in self._lazy_literals if not literals]
        self.lazy_gate: Gate | None = None
        """Finds what the lazy probes look for in a line; without it, their literals are looked for one by one."""
        first: dict[tuple[str, bool], int] = {}
        self._twins = [first.setdefault((p.pattern, p.ignore_case), i) for i, p in enumerate(self.probes)]
        aside = {*self.lazy, *self.ungated, *self.followers.values()}
        self.gated = [i for i in range(len(self.probes)) if i not in aside]
        self.known: dict[tuple[str, str | None, tuple[str, ...], Sequence[int]], LineHits | None] = {}
        """Judgements of lines by text, level, layers and probes, for scanners to keep: one store for all, since there may be
        thousands of them."""

    def _lower_literals(self, index: int) -> tuple[str, ...]:
        """Literals, in lower case, of which a line that the probe matches holds one; none where that is not known."""
        probe = self.probes[index]
        try:
            return tuple(literal.lower() for literal in required_literals(probe.pattern, probe.ignore_case))
        except NoLiteralError:
            return ()

    def gate_patterns(self) -> list[tuple[int, str, bool]]:
        """(index, pattern, ignore case) of what the gate looks for."""
        spoilers = [(SPOILED, spoiler, False) for spoiler in SPOILERS]
        return [*spoilers, *((i, self.probes[i].pattern, self.probes[i].ignore_case) for i in self.gated)]

    def lazy_patterns(self) -> list[tuple[int, str, bool]]:
        """The same for the gate of the lazy probes."""
        return [(i, self.probes[i].pattern, self.probes[i].ignore_case) for i, literals in self._lazy_literals if literals]

    def judge(self, line: LogLine, candidates: Iterable[int], timeouts: list[str]) -> LineHits | None:
        """What the candidates really show on this line, or None. Time-outs are appended to ``timeouts``."""
        found = LineHits(line)
        asked: dict[int, Match[str] | None] = {}
        for index in candidates:
            self._ask(index, found, timeouts, asked)
        if not found.hits and not found.markers:
            return None
        if found.markers or any(h.decisive for h in found.hits):
            for index in self._likely(line.text):
                self._ask(index, found, timeouts, asked)
        self._settle_claims(found)
        self._drop_quoted(found)
        found.only_progress = all(h.fingerprint in self.progressing for h in found.hits)
        return found if found.hits or found.markers or found.notes else None

    def _likely(self, text: str) -> list[int]:
        """The lazy probes that may match a line."""
        if self.lazy_gate is not None:
            announced = self.lazy_gate.scan(text.encode(errors="replace"))
            if not announced:
                return self._always_likely
            found = {index for _, indexes in announced for index in indexes}
            return [i for i, literals in self._lazy_literals if i in found or not literals]
        lower = text.lower()
        return [i for i, literals in self._lazy_literals if not literals or any(literal in lower for literal in literals)]

    def _ask(self, index: int, found: LineHits, timeouts: list[str], asked: dict[int, Match[str] | None]) -> None:
        """Asks one probe. ``asked``: what patterns have answered already; fingerprints of one family share some."""
        probe = self.probes[index]
        twin = self._twins[index]
        if twin not in asked:
            asked[twin] = None
            if timeouts and timeouts.count(probe.label) >= PATIENCE:
                return
            try:
                asked[twin] = probe.search(found.line.text)
            except PatternTimeoutError:
                timeouts.append(probe.label)
        match = asked[twin]
        if match is None:
            return
        fingerprint, indicator, line = probe.fingerprint, probe.indicator, found.line
        if fingerprint is None or indicator is None:
            found.markers.append((probe.name, match))
        elif probe.envelopes and set(probe.envelopes).isdisjoint(line.layers):
            found.notes.append((fingerprint.id, f"{probe.name}: not in a line of {', '.join(probe.envelopes)}"))
        elif line.level and LEVELS[line.level] < probe.lowest:
            found.notes.append((fingerprint.id, f"{probe.name}: the line is only {line.level.upper()}"))
        else:
            facts = Facts(fingerprint, match, indicator.sets)
            found.hits.append(Hit(fingerprint.id, probe.name, line, facts, match.span(), probe.decisive))

    def _drop_quoted(self, found: LineHits) -> None:
        """Leaves out what stands in quoted text of users (see `quoted`)."""
        if not found.markers and all(h.fingerprint in self.progressing for h in found.hits):
            return
        text = found.line.text
        parts = list(quoted_parts(text)) if '"' in text or "'" in text else ()
        if not parts:
            return

        def is_quoted(start: int) -> bool:
            return any(begin <= start < end for begin, end in parts)

        found.markers = [(name, match) for name, match in found.markers if not is_quoted(match.start())]
        kept = []
        for hit in found.hits:
            if is_quoted(hit.span[0]) and hit.fingerprint not in self.progressing:
                found.notes.append((hit.fingerprint, f"{hit.indicator}: quoted text of a request, an answer or a name"))
            else:
                kept.append(hit)
        found.hits = kept

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
