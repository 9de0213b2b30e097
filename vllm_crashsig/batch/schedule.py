"""Cases -> chunks, in the order in which they are begun: big files neither hold up the small ones nor the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .cases import Case

BIG = 8 << 20
"""Bytes from which a case is a chunk of its own."""
CHUNK_CASES = 64
"""Small cases that are handed out together at most: handing out costs next to nothing, and little is lost with a worker."""
TASK_CASES = 512
"""The same for a Ray task, which costs some tens of milliseconds besides its work."""
CHUNK_BYTES = 4 << 20
PER_CASE = 1 << 20
"""What a case costs besides its bytes, in bytes that could be scanned meanwhile (some milliseconds)."""
WORTH_A_WORKER = 256 << 20
"""Work for which another process is started, in such bytes: some hundred small cases; starting one takes a second."""
_PACKED = (".gz", ".tgz", ".zst", ".tzst", ".xz", ".txz", ".bz2", ".tbz2", ".zip")
UNPACKED = 10
"""How much larger than the file the logs in a packed one are, about."""


def weight(case: Case) -> int:
    """Bytes that must be scanned, about."""
    return case.size * UNPACKED if case.name.lower().endswith(_PACKED) else case.size


def cost(cases: Iterable[Case]) -> int:
    """What cases cost together, in bytes, for estimates of the time that is left."""
    return sum(PER_CASE + weight(case) for case in cases)


def schedule(cases: Sequence[Case], jobs: int, most: int = CHUNK_CASES) -> list[list[Case]]:
    """Chunks of ``most`` cases at most for ``jobs`` workers that each take the next one when they are free.

    The biggest cases come first, one for every second worker: the longest of all is begun at once, and the other workers have
    begun with the small ones. Then come all small ones in chunks, and the rest of the big ones last, from big to small: small
    results never wait for more than half of the workers, and no long case is begun when all else is done.
    """
    big = sorted((c for c in cases if weight(c) >= BIG), key=weight, reverse=True)
    first = jobs // 2 if len(big) < len(cases) else len(big)
    small: list[list[Case]] = []
    limit = max(1, min(most, (len(cases) - len(big)) // (jobs * 4)))
    size = 0
    for case in cases:
        if weight(case) >= BIG:
            continue
        if not small or len(small[-1]) >= limit or size + weight(case) > CHUNK_BYTES:
            small.append([])
            size = 0
        small[-1].append(case)
        size += weight(case)
    return [*([c] for c in big[:first]), *small, *([c] for c in big[first:])]


def useful_jobs(cases: Sequence[Case], jobs: int) -> int:
    """How many of ``jobs`` workers have enough to do to be worth their start. At least 1."""
    return max(1, min(jobs, cost(cases) // WORTH_A_WORKER))
