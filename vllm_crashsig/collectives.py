"""Who is to blame when ranks wait for each other: what all ranks of a case told, put together.

A rank is named only where the logs say so: a rank's own number in the sequence of operations, a report of PyTorch or Gloo that
names it, its exit code, or its silence where all the others complain. Else the ranks that spoke are observers, and nobody is
named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from .job import Job
from .nouns import dataclass
from .ranks import DEFAULT_GROUPS, Exit, Place, RankState

Role = Literal["behind", "mismatched", "died", "stuck", "observer"]
ENDED_BY_LAUNCHER = frozenset({0, -15, -2, 143, 130})
"""Exit codes of processes that the launcher itself told to stop, or that were done."""
POINT_TO_POINT = frozenset({"SEND", "RECV", "RECVANYSOURCE", "UNKNOWN"})
"""Operations whose numbers are counted by each pair of ranks, and so are not the same on all of them."""
EQUAL_SIZES = frozenset({"ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "BARRIER"})
"""Operations to which all ranks must bring the same number of elements."""
WORDS_FOR_RANKS = 8
"""Ranks that a sentence lists."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the ranks together say."""

    role: Role
    ranks: tuple[int, ...]
    """Who is named; empty for observers."""
    reason: str
    observers: tuple[int, ...] = ()
    """Ranks that waited for another or lost it."""
    initiator: int | None = None
    """The rank that gave up first."""
    place: Place | None = None
    exit: Exit | None = None


def find(job: Job) -> Finding | None:
    """Who is behind, dead or out of step; or only who observed it. None where no rank told anything."""
    found = _named(job) or _different(job) or _by_numbers(job) or _awaited(job) or _ended(job) or _silent(job) or _stuck(job)
    return found or _observers(job)


def _named(job: Job) -> Finding | None:
    """Ranks that a report of PyTorch or Gloo names."""
    ranks = sorted({r for named in job.behind for r in named})
    if ranks and (job.size is None or len(ranks) < job.size):
        place = min(job.behind.values(), key=lambda p: p.order)
        return _finding(job, "behind", ranks, f"{_ranks(ranks)} did not come, as {place.source}:{place.number} says", place)
    ranks = sorted({r for named in job.unfinished for r in named})
    if ranks and not set(ranks) & job.waiting.keys():
        place = min(job.unfinished.values(), key=lambda p: p.order)
        told = f"{_ranks(ranks)} did not finish what the others had finished, as {place.source}:{place.number} says"
        return _finding(job, "behind", ranks, told, place)
    return None


def _different(job: Job) -> Finding | None:
    """The rank that runs another operation than the rest, if there is a rest."""
    runs: dict[int, str] = {}
    for this, op, other, instead in job.differs:
        runs.setdefault(this, op)
        runs.setdefault(other, instead)
    return _out_of_step(job, runs, "at", next(iter(job.differs.values()), None))


def _out_of_step(job: Job, runs: Mapping[int, str], verb: str, place: Place | None) -> Finding | None:
    counts = Counter(runs.values()).most_common()
    if len(counts) < 2:
        return None
    usual, most = counts[0]
    if most > len(runs) - most:
        odd = sorted(r for r, op in runs.items() if op != usual)
        told = f"{_ranks(odd)} {verb} {runs[odd[0]]}, {_ranks(r for r in runs if r not in odd)} {verb} {usual}"
        return _finding(job, "mismatched", odd, told, place)
    told = "; ".join(f"{_ranks(r for r in runs if runs[r] == op)} {verb} {op}" for op, _ in counts[:4])
    return _finding(job, "mismatched", [], f"{told}: nothing tells which of them is right", place)


def _by_numbers(job: Job) -> Finding | None:
    """The rank whose number in the sequence of operations is smaller than that of the others, group by group."""
    groups = sorted({g for g, _ in job.states}, key=lambda g: min(_when(s) for (h, _), s in job.states.items() if h == g))
    for group in groups:
        states = {r: s for (g, r), s in job.states.items() if g == group and isinstance(r, int)}
        if job.divided and (group == "" or (group.startswith("#") and group not in DEFAULT_GROUPS)):
            continue  # the line does not tell which of the groups it means
        if group == "":
            states = {r: s for r, s in states.items() if s.seq is not None}
        if len(states) < 2 or any(s.op in POINT_TO_POINT for _, s in _all(job, states)):
            continue
        if (found := _compare(job, states)) is not None:
            return found
    return None


def _when(state: RankState) -> tuple[float, int]:
    return (state.first.time or 0.0, state.first.order)


def _compare(job: Job, states: Mapping[int, RankState]) -> Finding | None:
    waiting = {r: s for r, s in states.items() if s.seq is not None}
    if not waiting or len(states) < 2:
        return None
    front = max(s.seq for s in waiting.values() if s.seq is not None)
    there = [r for r, s in waiting.items() if s.seq == front]
    late = [r for r, s in states.items() if _reached(s) < front and r not in there]
    if late:
        state = states[late[0]]
        what = f"waits in operation {state.seq}" if state.seq is not None else f"last started operation {state.enqueued}"
        op = next((s.op for r, s in _all(job, there) if s.op), None)
        told = f"{_ranks(late)} {what} while {_ranks(there)} wait{'s' * (len(there) == 1)} in {front}{f' ({op})' if op else ''}"
        return _finding(job, "behind", late, told, state.first)
    done = {r: s.completed for r, s in states.items() if s.completed is not None}
    least, most = min(done.values(), default=0), max(done.values(), default=0)
    if least < most:
        late = [r for r, n in done.items() if n == least]
        ahead = [r for r, n in done.items() if n > least]
        if len(late) < len(ahead) or len(done) == 2:
            told = f"{_ranks(late)} last completed operation {least} while {_ranks(ahead)} completed {most}"
            return _finding(job, "behind", late, told, states[late[0]].first)
    runs: dict[int, str] = {}
    for rank, state in _all(job, there):
        if state.seq == front and state.op:
            sized = state.op in EQUAL_SIZES and state.numel is not None
            runs.setdefault(rank, state.op + (f" of {state.numel} elements" if sized else ""))
    return _out_of_step(job, runs, f"at operation {front}:", next(iter(waiting.values())).first)


def _reached(state: RankState) -> int:
    """The highest number that the rank came to."""
    return max(n for n in (state.seq, state.enqueued, state.completed, -1) if n is not None)


def _all(job: Job, ranks: Iterable[int]) -> list[tuple[int, RankState]]:
    """Everything that these ranks told, in whatever group: the line with the operation's name does not tell its group."""
    wanted = set(ranks)
    return [(r, s) for (_, r), s in job.states.items() if isinstance(r, int) and r in wanted]


def _awaited(job: Job) -> Finding | None:
    """The one rank that others wait for and that waits for nobody."""
    waiters = {w for w, _ in job.waits}
    ends = {awaited for _, awaited in job.waits} - {w for w in waiters if isinstance(w, int)} - job.waiting.keys()
    if len(ends) != 1:
        return None
    rank = ends.pop()
    place = next(p for (_, awaited), p in job.waits.items() if awaited == rank)
    who = _ranks(w for w in waiters if isinstance(w, int)) or "another rank"
    return _finding(job, "behind", [rank], f"{who} waited for it, as {place.source}:{place.number} says", place)


def _ended(job: Job) -> Finding | None:
    """The process that ended by itself, as the launcher tells, while the others complained."""
    waiting = job.waiting
    own = [e for e in job.exits if e.status not in ENDED_BY_LAUNCHER and e.rank is not None and e.rank not in waiting]
    ranks = {e.rank for e in own}
    if not waiting or not ranks:
        return None
    if len(ranks) > 1:
        own = [e for e in own if e.root]
        ranks = {e.rank for e in own}
    if len(ranks) != 1 or own[0].rank is None:
        return None
    told = f"it ended with exit code {own[0].status}; {_ranks(waiting)} waited for it or lost it"
    return _finding(job, "died", [own[0].rank], told, own[0].place, own[0])


def _silent(job: Job) -> Finding | None:
    """The few ranks that told of no time-out while all the others did."""
    waiting = job.waiting
    if job.size is None or not waiting or job.folded or not _whole(job, waiting):
        return None
    silent = [r for r in range(job.size) if r not in waiting]
    if not silent or len(silent) >= len(waiting) or max(waiting) >= job.size:
        return _late_observer(job, waiting)
    running = [e for e in job.exits if e.rank in silent and e.status in (-15, 143)]
    stopped = " and had to be stopped by the launcher" if len(running) == len(silent) else ""
    signalled = {r for (_, r), s in job.states.items() if s.signalled}
    did = "was only told of it" if signalled.issuperset(silent) and len(silent) == 1 else "reported nothing"
    told = f"{_ranks(waiting)} gave up waiting; {_ranks(silent)} {did}{stopped}"
    return _finding(job, "behind", silent, told, running[0].place if running else None)


def _late_observer(job: Job, waiting: Mapping[int, RankState]) -> Finding | None:
    """Of two ranks, the one that was only told of the other's time-out: it was in no operation itself."""
    told = [r for (_, r), s in job.states.items() if isinstance(r, int) and s.signalled and r not in waiting]
    if job.size == 2 and len(set(told)) == 1 and len(waiting) == 1:
        return _finding(job, "behind", set(told), f"{_ranks(told)} was told of the time-out and had none of its own", None)
    return None


def _whole(job: Job, waiting: Mapping[int, RankState]) -> bool:
    """Whether those who waited did so as members of the group of all ranks."""
    groups = {g for (g, r), s in job.states.items() if r in waiting and s.waited}
    if job.divided:
        return bool(groups - {""}) and groups <= {"", *DEFAULT_GROUPS}
    return job.tensor_only or groups <= {"", *DEFAULT_GROUPS}


def _stuck(job: Job) -> Finding | None:
    """The rank whose own watchdog makes no progress."""
    stuck = sorted({r for (_, r), s in job.states.items() if isinstance(r, int) and s.stuck})
    if not stuck or (job.size is not None and len(stuck) >= job.size) or (job.size is None and len(stuck) > 1):
        return None
    place = next(s.first for (_, r), s in job.states.items() if r == stuck[0] and s.stuck)
    return _finding(job, "stuck", stuck, f"the watchdog of {_ranks(stuck)} itself made no progress", place)


def _observers(job: Job) -> Finding | None:
    waiting = job.waiting
    if not waiting:
        return None
    stages = {(s.seq, s.op) for s in waiting.values() if s.seq is not None}
    if job.size is not None and len(waiting) >= job.size > 1 and len(stages) == 1:
        seq, op = stages.pop()
        told = f"all {job.size} ranks wait in the same operation ({seq}{f', {op}' if op else ''}): none is behind"
    elif len(waiting) == 1:
        told = f"{_ranks(waiting)} only waited; the rank that it waited for is not named here"
    else:
        where = " only waited"
        if len(stages) == 1 and all(s.seq is not None for s in waiting.values()):
            seq, op = stages.pop()
            where = f" wait in the same operation ({seq}{f', {op}' if op else ''})"
        told = f"{_ranks(waiting)}{where}; nothing tells which rank they waited for"
    return _finding(job, "observer", [], told, None)


def _finding(
    job: Job, role: Role, ranks: Iterable[int], reason: str, place: Place | None, ended: Exit | None = None
) -> Finding:
    named = tuple(sorted(ranks))
    waiting = job.waiting
    if ended is None and len(named) == 1:
        ended = next((e for e in job.exits if e.rank == named[0]), None)
    return Finding(
        role, named, reason, tuple(sorted(r for r in waiting if r not in named)), _initiator(job, waiting), place, ended
    )


def _initiator(job: Job, waiting: Mapping[int, RankState]) -> int | None:
    """The rank that timed out first: as it is told, or by the clock or the order of one log."""
    if len(job.told_by) == 1:
        return next(iter(job.told_by))
    places = [(state.first, rank) for rank, state in waiting.items()]
    if len(places) < 2:
        return None
    if len({p.clock for p, _ in places}) == 1 and all(p.time is not None for p, _ in places):
        return min(places, key=lambda pair: (pair[0].time or 0.0, pair[0].order))[1]
    if len({p.source for p, _ in places}) == 1:
        return min(places, key=lambda pair: pair[0].order)[1]
    return None


def _ranks(ranks: Iterable[int]) -> str:
    """``rank 3``, ``ranks 0, 1 and 2``, ``14 ranks``."""
    numbers = sorted(set(ranks))
    if not numbers:
        return ""
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    if len(numbers) > WORDS_FOR_RANKS:
        return f"{len(numbers)} ranks"
    return f"ranks {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
