"""From a cause to what was seen of it: the consequences that it accounts for, each after what led to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .hypotheses import Hypothesis
from .model import Hit
from .processes import parse
from .report import ChainLink, Culprit

MAX_LINKS = 8


def chain_of(cause: Hypothesis, culprit: Culprit, hypotheses: Iterable[Hypothesis]) -> list[ChainLink]:
    """The cause and its consequences: by what explains what here, and by time where that leaves a choice.

    What only names the same event less closely (the base of a refinement) is no link of its own.
    """
    links = [_link(cause, cause.first).model_copy(update={"component": culprit.component, "rank": culprit.rank})]
    reached = {cause.first.line.source: cause.first.line.order}
    rest = [h for h in hypotheses if h.id in cause.explains and not _same_event(h, cause)]
    rest.sort(key=lambda h: (h.first.line.source != cause.first.line.source, h.first.line.order, h.id))
    while rest and len(links) < MAX_LINKS:
        following = next((h for h in rest if not any(h.id in o.explains for o in rest)), rest[0])
        rest.remove(following)
        hit = _after(following, reached)
        reached[hit.line.source] = max(hit.line.order, reached.get(hit.line.source, 0))
        links.append(_link(following, hit))
    return links


def _same_event(hypothesis: Hypothesis, cause: Hypothesis) -> bool:
    return hypothesis.fingerprint.base_id == cause.fingerprint.base_id


def _after(effect: Hypothesis, reached: Mapping[str, int]) -> Hit:
    """The effect's first line after the links before it, if it has one: headings of tracebacks stand before their matter."""
    return next((h for h in effect.hits if h.line.order > reached.get(h.line.source, h.line.order)), effect.first)


def _link(hypothesis: Hypothesis, hit: Hit) -> ChainLink:
    line = hit.line
    named = next((str(hit.facts[n]) for n in ("process", "proc") if n in hit.facts and parse(str(hit.facts[n]))), None)
    return ChainLink(
        id=hypothesis.id,
        title=hypothesis.fingerprint.title,
        source=line.source,
        line=line.number,
        component=named or line.scope.component,
        rank=None if named else line.scope.rank,
    )
