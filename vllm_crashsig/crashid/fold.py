"""Failures of one incident -> one for each exception, however many processes printed it."""

from __future__ import annotations

from collections.abc import Iterable

from .lists import matcher
from .masks import mask
from .told import Failure


def fold(failures: Iterable[Failure]) -> list[Failure]:
    """One for each exception: a process hands what it caught to the next, which prints it again with frames of its own.

    The first one with frames stands for all. Exceptions that only say that another process failed are left out where anything
    else is told.
    """
    groups: list[list[Failure]] = []
    place: dict[tuple[str, str], int] = {}
    for failure in failures:
        keys = _keys(failure)
        known = sorted({place[key] for key in keys if key in place})
        at = known[0] if known else len(groups)
        if not known:
            groups.append([])
        groups[at].append(failure)
        for other in known[1:]:  # it ties together what seemed apart
            groups[at] += groups[other]
            groups[other] = []
            place.update({key: at for key, index in place.items() if index == other})
        place.update(dict.fromkeys(keys, at))
    found = [_joined(group) for group in groups if group]
    return [f for f in found if not _hands_on(f)] or found


def _keys(failure: Failure) -> set[tuple[str, str]]:
    """What names the exceptions that hang together here, wherever they are printed."""
    keys = set()
    for text in (failure.headline, *failure.chain):
        kind, colon, message = text.partition(":")
        keys.add((kind.strip().rpartition(".")[2], mask(message)) if colon and message.strip() else ("", mask(text)))
    return keys


def _joined(group: list[Failure]) -> Failure:
    stands = next((f for f in group if f.frames), group[0])
    if len(group) == 1:
        return stands
    return Failure(
        stands.crash_id, stands.headline, stands.kind, stands.frames, stands.lines, sum(f.count for f in group),
        set().union(*(f.claimants for f in group)), set().union(*(f.chained for f in group)), stands.chain,
        min((f.first for f in group), key=lambda line: line.order), max((f.last for f in group), key=lambda line: line.order),
    )  # fmt: skip


def _hands_on(failure: Failure) -> bool:
    return matcher("carriers").fullmatch(failure.kind.rpartition(".")[2]) is not None
