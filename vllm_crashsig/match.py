"""The judge: confirms with `regex` what the gate let through, types the captures, and drops what a line cannot prove."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from .catalogue import Catalogue
from .facts import parse_fact
from .gate import Gate
from .index import FOLLOWER, GATED, LAZY, UNGATED, Index, ProbeRow, index_of
from .model import LEVELS, FactValue, Hit, LogLine
from .nouns import dataclass, field
from .patterns import Match, Pattern, PatternTimeoutError, compile_pattern, search
from .quoted import quoted_parts
from .schema import FAILURE_ROLES, Fingerprint

CLAIMING_ROLES = frozenset({"noise", "advice"})
"""A line that one of these matches is evidence for nothing else: it quotes, guesses or advises."""
PATIENCE = 3
"""Time-outs of a pattern in a source after which it is not looked for there any more: other sources wait."""


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

    __slots__ = ("_catalogue", "_match", "_probe", "_values")

    def __init__(self, catalogue: Catalogue, probe: ProbeRow, match: Match[str]) -> None:
        self._catalogue = catalogue
        self._probe = probe
        self._match = match
        self._values: dict[str, FactValue] | None = None

    def _all(self) -> dict[str, FactValue]:
        if self._values is None:
            fingerprint = self._catalogue[self._probe.fingerprint or ""]
            self._values = {**_facts(fingerprint, self._match), **fingerprint.indicators[self._probe.name].sets}
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

    def __init__(self, catalogue: Catalogue, index: Index | None = None) -> None:
        """index: of this catalogue, if somebody has it already."""
        self.index = index or index_of(catalogue)
        self.probes = self.index.probes
        self.ungated = [i for i, p in enumerate(self.probes) if p.way == UNGATED]
        """Probes that no gate can stand in front of: asked about every line."""
        self.gated = [i for i, p in enumerate(self.probes) if p.way == GATED]
        self.lazy = [i for i, p in enumerate(self.probes) if p.way == LAZY]
        """Probes that are only asked about lines where something else hit."""
        self.followers = {p.name: i for i, p in enumerate(self.probes) if p.way == FOLLOWER}
        """Probes of lines that mean something only after certain others, such as the last one of a traceback."""
        self.failures = frozenset(i for i, role in catalogue.roles.items() if role in FAILURE_ROLES)
        self.claiming = frozenset(i for i, role in catalogue.roles.items() if role in CLAIMING_ROLES)
        self.progress = frozenset(i for i, p in enumerate(self.probes) if p.progress)
        """Probes of healthy work, of which a long log holds very many."""
        self.frequent = tuple(sorted(self.progress))
        self.progressing = frozenset(p.fingerprint for i in self.progress if (p := self.probes[i]).fingerprint)
        self.lazy_gate: Gate | None = None
        """Finds what the lazy probes look for in a line; without it, each of them is asked."""
        self._catalogue = catalogue
        self._compiled: list[Pattern[str] | None] = [None] * len(self.probes)
        first: dict[tuple[str, bool], int] = {}
        self._twins = [first.setdefault((p.pattern, p.ignore_case), i) for i, p in enumerate(self.probes)]
        self.known: dict[tuple[str, str | None, tuple[str, ...], Sequence[int]], LineHits | None] = {}
        """Judgements of lines by text, level, layers and probes, for scanners to keep: one store for all, since there may be
        thousands of them."""

    def search(self, index: int, text: str) -> Match[str] | None:
        """What a probe finds. Its regex is compiled when a line first needs it. Raises PatternTimeoutError."""
        compiled = self._compiled[index]
        if compiled is None:
            probe = self.probes[index]
            compiled = self._compiled[index] = compile_pattern(probe.pattern, probe.ignore_case)
        return search(compiled, text)

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

    def _likely(self, text: str) -> Sequence[int]:
        """The lazy probes that may match a line."""
        if self.lazy_gate is None:
            return self.lazy
        announced = self.lazy_gate.scan(text.encode(errors="replace"))
        if not announced:
            return self.index.silent
        return sorted({*self.index.silent, *(index for _, indexes in announced for index in indexes)})

    def _ask(self, index: int, found: LineHits, timeouts: list[str], asked: dict[int, Match[str] | None]) -> None:
        """Asks one probe. ``asked``: what patterns have answered already; fingerprints of one family share some."""
        probe = self.probes[index]
        twin = self._twins[index]
        if twin not in asked:
            asked[twin] = None
            if timeouts and timeouts.count(probe.label) >= PATIENCE:
                return
            try:
                asked[twin] = self.search(twin, found.line.text)
            except PatternTimeoutError:
                timeouts.append(probe.label)
        match = asked[twin]
        if match is None:
            return
        fingerprint, line = probe.fingerprint, found.line
        if fingerprint is None:
            found.markers.append((probe.name, match))
        elif probe.envelopes and set(probe.envelopes).isdisjoint(line.layers):
            found.notes.append((fingerprint, f"{probe.name}: not in a line of {', '.join(probe.envelopes)}"))
        elif line.level and LEVELS[line.level] < probe.lowest:
            found.notes.append((fingerprint, f"{probe.name}: the line is only {line.level.upper()}"))
        else:
            facts = Facts(self._catalogue, probe, match)
            found.hits.append(Hit(fingerprint, probe.name, line, facts, match.span(), probe.decisive))

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
