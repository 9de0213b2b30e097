"""What the ranks of all lives of an incident told, as one, with what is known of the size and shape of the job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .model import FactValue
from .nouns import dataclass
from .ranks import Exit, Place, Ranks, RankState, Speaker


@dataclass(frozen=True, slots=True)
class Job:
    """The tables of all lives of an incident as one."""

    states: Mapping[tuple[str, Speaker], RankState]
    behind: Mapping[tuple[int, ...], Place]
    unfinished: Mapping[tuple[int, ...], Place]
    waits: Mapping[tuple[Speaker, int], Place]
    differs: Mapping[tuple[int, str, int, str], Place]
    told_by: Mapping[int, Place]
    exits: Sequence[Exit]
    size: int | None
    """Number of ranks, where it is known."""
    divided: bool
    """Whether the job is known to have smaller groups beside that of all ranks (pipeline or data parallelism)."""
    tensor_only: bool
    """Whether the group that works is known to be that of all ranks (tensor parallelism alone)."""
    folded: bool
    """Whether lines of several ranks were folded into one, so that silence means nothing."""

    @classmethod
    def of(cls, tables: Iterable[Ranks], context: Mapping[str, FactValue]) -> Job:
        tables = list(tables)
        exits = [e for table in tables for e in table.exits]
        size = _size(tables, exits, context)
        divided = any(isinstance(n := context.get(f"{name}_parallel_size"), int) and n > 1 for name in ("pipeline", "data"))
        tensor_only = not divided and size is not None and context.get("tensor_parallel_size") == size
        states: dict[tuple[str, Speaker], RankState] = {}
        for table in tables:
            for (group, speaker), state in table.states.items():
                number = speaker.partition(" of group ")[0] if tensor_only and isinstance(speaker, str) else ""
                states.setdefault((group, int(number) if number.isdigit() else speaker), state)
        return cls(
            states,
            {k: v for t in tables for k, v in t.behind.items()},
            {k: v for t in tables for k, v in t.unfinished.items()},
            {k: v for t in tables for k, v in t.waits.items()},
            {k: v for t in tables for k, v in t.differs.items()},
            {k: v for t in tables for k, v in t.told_by.items()},
            exits,
            size,
            divided,
            tensor_only,
            any(t.folded for t in tables),
        )

    @property
    def waiting(self) -> dict[int, RankState]:
        """Ranks that waited for another or lost it, each with the first that it told."""
        found: dict[int, RankState] = {}
        for (_, speaker), state in self.states.items():
            if isinstance(speaker, int) and state.waited and speaker not in found:
                found[speaker] = state
        return found


def _size(tables: Sequence[Ranks], exits: Sequence[Exit], context: Mapping[str, FactValue]) -> int | None:
    told = context.get("world_size")
    if not isinstance(told, int) or told < 2:
        sizes = [context.get(f"{name}_parallel_size", 1) for name in ("tensor", "pipeline")]
        told = 1
        for size in sizes:
            told *= size if isinstance(size, int) else 1
    peers = max((t.peers for t in tables), default=0) + 1
    table = {e.rank for e in exits if e.rank is not None}
    listed = len(table) if table == set(range(len(table))) else 0
    size = max(told, peers, listed)
    return size if size > 1 else None
