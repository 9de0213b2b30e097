"""What the ranks of a job tell about each other: a bounded table for each life, filled as the lines come.

Time-outs and lost connections are printed by the ranks that waited, so one line never names who is to blame; all ranks together
may. Hits are kept by indicator, the first and the last ones only, which in a large job loses most ranks. This table keeps one
small record for each rank instead. It is fed by the names of facts (see `TOLD`), so any fingerprint can take part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .lazy import lazy
from .model import FactValue, Hit, LogLine, Scope
from .names import pci_address, rank_of_file
from .nouns import dataclass, field
from .schema import Fingerprint

KEPT_RANKS = 4096
"""Records of each kind that are kept in each life."""
HEARD_OUT = 16
"""Lines of one kind that are read of each rank: it repeats itself, and of a flood the first lines tell all."""
TABLE_LINES = 4
"""Lines over which torchrun tells of one process: host, rank, exit code."""

REPORTS = frozenset({
    "seq_num", "op_type", "last_enqueued", "dump_signal", "first_rank", "observer", "stuck", "behind_ranks", "unfinished_ranks",
    "waits_for", "differs_from", "mismatched",
})  # fmt: skip
"""Facts of failures that say what a rank does in a collective.

``group`` (unique name of the process group), ``group_id`` (its number in the process), ``group_rank`` (the speaker's number in
it). ``seq_num``, ``op_type``, ``numel``: the operation that timed out. ``last_enqueued``, ``last_completed``: how far
the speaker came in the group. ``dump_signal``: ``observed`` by a rank that was told of somebody else's time-out.
``first_rank``: who told. ``observer``: the speaker waited for another rank, or lost one. ``stuck``: the speaker itself makes no
progress. ``behind_ranks``: named by the line as not having come. ``unfinished_ranks``: came, and did not end.
``waits_for``: the one rank that the speaker waits for. ``this_rank``, ``this_op``, ``differs_from``, ``other_op``: two ranks
that run different operations at the same time. ``mismatched``: so do some, whichever they are. ``joined`` of ``expected``: how
many ranks came."""
RECORDS = frozenset({
    "exit_rank", "exit_local_rank", "exit_status", "exit_pid", "exit_host", "exit_root", "placed_rank", "dp_rank", "pp_rank",
    "tp_rank", "ep_rank", "peer_ranks", "device_pci", "device_uuid", "device_index", "device_rank", "device_ranks",
    "ray_node_id", "ray_node_address", "ray_node_name",
})  # fmt: skip
"""Facts of context that belong to one rank, GPU or node among many: they go to the table, not into the report's context.

``exit_*``: how a process ended, as a launcher tells it. ``placed_rank`` and ``dp_rank``..: a rank's place in the parallel
groups. ``peer_ranks``: with how many others a rank is connected. ``device_*``: a GPU's address, UUID, index, the rank that uses
it, and how many ranks that one counts among (``device_ranks``).
``ray_node_*``: identifier, address and name of a Ray node."""
TOLD = REPORTS | RECORDS
_GROUP_NAME = lazy(r"\(\?P<(\w+)>", re.ASCII)
DEFAULT_GROUPS = frozenset({"0", "default_pg", "#0"})
"""Names of the group that all ranks of a job share; in it a rank's number is the rank itself."""


def tells(fingerprint: Fingerprint, name: str) -> bool:
    """Whether an indicator captures or sets one of the facts of `TOLD`."""
    if TOLD.isdisjoint(fingerprint.facts):
        return False
    indicator = fingerprint.indicators[name]
    return not TOLD.isdisjoint([*indicator.sets, *(n.rstrip("0123456789") for n in _GROUP_NAME.findall(indicator.pattern))])


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line stands."""

    source: str
    number: int
    order: int
    time: float | None
    clock: str | None

    @classmethod
    def of(cls, line: LogLine) -> Place:
        return cls(line.source, line.number, line.order, line.time, line.clock)


@dataclass(slots=True)
class RankState:
    """What one rank told of itself in one group."""

    first: Place
    seq: int | None = None
    """Number of the first operation that it reported as timed out."""
    op: str | None = None
    numel: int | None = None
    waited: bool = False
    """It reported that it waited for another rank or lost one."""
    enqueued: int | None = None
    completed: int | None = None
    signalled: bool = False
    """It was told that another rank had timed out."""
    stuck: bool = False


@dataclass(frozen=True, slots=True)
class Exit:
    """How a launcher says that a process ended."""

    place: Place
    status: int
    rank: int | None = None
    local_rank: int | None = None
    pid: int | None = None
    host: str | None = None
    root: bool = False
    """The launcher saw it end first."""


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, as an inventory in the log lists it."""

    node: str | None
    pci: str | None
    index: int | None = None
    uuid: str | None = None
    rank: int | None = None
    of: int | None = None
    """The number of ranks among which it is this one."""
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A process that spoke: the first line with its name."""

    node: str | None
    container: str | None
    pid: int | None
    gpu: int | None
    component: str | None
    rank: int | None


Speaker = int | str
"""A rank, or the name of a process whose rank is not known."""


@dataclass(slots=True)
class Ranks:
    """The table of one life."""

    states: dict[tuple[str, Speaker], RankState] = field(default_factory=dict)
    """By group (empty: not told) and rank."""
    behind: dict[tuple[int, ...], Place] = field(default_factory=dict)
    unfinished: dict[tuple[int, ...], Place] = field(default_factory=dict)
    waits: dict[tuple[Speaker, int], Place] = field(default_factory=dict)
    differs: dict[tuple[int, str, int, str], Place] = field(default_factory=dict)
    """Rank and its operation, another rank and what that one runs instead."""
    told_by: dict[int, Place] = field(default_factory=dict)
    """Ranks that were named as the first to time out."""
    exits: list[Exit] = field(default_factory=list)
    places: dict[int, dict[str, int]] = field(default_factory=dict)
    """Rank -> its numbers in the data, pipeline, tensor and expert parallel groups (``dp_rank``..)."""
    devices: list[Device] = field(default_factory=list)
    nodes: dict[str, str] = field(default_factory=dict)
    """Ray's identifier of a node -> its address, or its name."""
    peers: int = 0
    """The most other ranks that a rank was connected with."""
    seen: dict[Speaker, Seen] = field(default_factory=dict)
    pids: dict[int, Seen] = field(default_factory=dict)
    dropped: int = 0
    folded: bool = False
    """Whether one line stands for the reports of several ranks (Ray folds repeats)."""
    _exit: dict[str, tuple[int, FactValue]] = field(default_factory=dict)
    _heard: dict[tuple[str, str, int], int] = field(default_factory=dict)

    def see(self, scope: Scope) -> None:
        """Remembers who speaks in a line."""
        rank, component, pid = scope.rank, scope.component, scope.pid
        if rank is None and component is None:
            return
        if (
            (rank is None or rank in self.seen)
            and (component is None or component in self.seen)
            and (pid is None or pid in self.pids)
        ):
            return
        if len(self.seen) >= KEPT_RANKS or len(self.pids) >= KEPT_RANKS:
            return
        seen = Seen(scope.node, scope.container, pid, scope.gpu, component, rank)
        for name in (rank, component):
            if name is not None:
                self.seen.setdefault(name, seen)
        if pid is not None:
            self.pids.setdefault(pid, seen)

    def note(self, hit: Hit) -> None:
        """Takes what a line tells of ranks. To be called for hits of the indicators that `tells` is true of."""
        line, rank = hit.line, hit.line.scope.rank
        if hit.decisive and line.count > 1:
            self.folded = True
        if rank is not None:
            key = (hit.fingerprint, hit.indicator, rank)
            if (heard := self._heard.get(key, 0)) >= HEARD_OUT:
                return
            if heard or len(self._heard) < 8 * KEPT_RANKS:
                self._heard[key] = heard + 1
        facts = dict(hit.facts)
        place = Place.of(line)
        speaker, group = _speaker(hit, facts), _group(facts)
        if speaker is not None and (state := self._state(group, speaker, place, facts)) is not None:
            _update(state, facts)
        for name, kept in (("behind_ranks", self.behind), ("unfinished_ranks", self.unfinished)):
            if (ranks := _numbers(facts.get(name))) and group in ("", *DEFAULT_GROUPS):
                self._keep(kept, ranks, place)
        if (told := _int(facts, "first_rank")) is not None:
            self._keep(self.told_by, told, place)
        if (awaited := _int(facts, "waits_for")) is not None:
            self._keep(self.waits, (speaker if speaker is not None else "", awaited), place)
        if (other := _int(facts, "differs_from")) is not None and (this := _int(facts, "this_rank")) is not None:
            self._keep(self.differs, (this, str(facts.get("this_op")), other, str(facts.get("other_op"))), place)
        if "joined" in facts and (expected := _int(facts, "expected")) is not None:
            self.peers = max(self.peers, expected - 1)
        if not RECORDS.isdisjoint(facts):
            self._record(hit, facts, place)

    def _state(self, group: str, speaker: Speaker, place: Place, facts: Mapping[str, FactValue]) -> RankState | None:
        if facts.keys().isdisjoint(REPORTS):
            return None
        state = self.states.get((group, speaker))
        if state is None:
            if len(self.states) >= KEPT_RANKS:
                self.dropped += 1
                return None
            state = self.states[group, speaker] = RankState(place)
        return state

    def _keep(self, kept: dict, key: object, place: Place) -> None:  # type: ignore[type-arg]
        if key not in kept and len(kept) < KEPT_RANKS:
            kept[key] = place

    def _record(self, hit: Hit, facts: Mapping[str, FactValue], place: Place) -> None:
        for name in ("exit_host", "exit_rank", "exit_local_rank", "exit_root"):
            if name in facts:
                self._exit[name] = (hit.line.order, facts[name])
        status = _int(facts, "exit_status")
        if status is not None and len(self.exits) < KEPT_RANKS:
            near = {n: v for n, (order, v) in self._exit.items() if 0 <= hit.line.order - order <= TABLE_LINES}
            self.exits.append(
                Exit(
                    place, status, _int(near, "exit_rank"), _int(near, "exit_local_rank"), _int(facts, "exit_pid"),
                    _machine(near.get("exit_host")) or hit.line.scope.node, "exit_root" in near,
                )
            )  # fmt: skip
            self._exit.clear()
        if (rank := _int(facts, "placed_rank")) is not None and len(self.places) < KEPT_RANKS:
            told = {name: n for name in ("dp_rank", "pp_rank", "tp_rank", "ep_rank") if (n := _int(facts, name)) is not None}
            self.places.setdefault(rank, {}).update(told)
            scope = hit.line.scope
            if scope.pid is not None:  # the process that says so is that rank
                self.pids[scope.pid] = Seen(scope.node, scope.container, scope.pid, scope.gpu, scope.component, rank)
                self.seen.setdefault(rank, self.pids[scope.pid])
        self.peers = max(self.peers, _int(facts, "peer_ranks") or 0)
        if not facts.keys().isdisjoint(("device_pci", "device_uuid")) and len(self.devices) < KEPT_RANKS:
            uuid = facts.get("device_uuid")
            device = Device(
                hit.line.scope.node, pci_address(facts.get("device_pci")), _int(facts, "device_index"),
                str(uuid) if uuid is not None else None, _int(facts, "device_rank"), _int(facts, "device_ranks"),
                hit.line.scope.pid,
            )  # fmt: skip
            if device not in self.devices[-64:]:
                self.devices.append(device)
        if (node := facts.get("ray_node_id")) is not None and len(self.nodes) < KEPT_RANKS:
            self.nodes.setdefault(str(node), str(facts.get("ray_node_address", facts.get("ray_node_name", ""))))


def _update(state: RankState, facts: Mapping[str, FactValue]) -> None:
    """Keeps what the rank says of its first operation; of one line several fingerprints may capture different parts."""
    seq = _int(facts, "seq_num")
    if state.seq is None:
        state.seq = seq
    if seq == state.seq:
        if state.op is None and (op := facts.get("op_type")) is not None:
            state.op = str(op)
        if state.numel is None:
            state.numel = _int(facts, "numel")
    state.waited = state.waited or seq is not None or "op_type" in facts or facts.get("observer") is True
    if (enqueued := _int(facts, "last_enqueued")) is not None and state.enqueued is None:
        state.enqueued, state.completed = enqueued, _int(facts, "last_completed")
    state.signalled = state.signalled or facts.get("dump_signal") == "observed" or "first_rank" in facts
    state.stuck = state.stuck or facts.get("stuck") is True


def _speaker(hit: Hit, facts: Mapping[str, FactValue]) -> Speaker | None:
    """Who speaks: the rank of the envelope, or what the text itself calls its rank, where that is the same."""
    if hit.line.scope.rank is not None:
        return hit.line.scope.rank
    told = _int(facts, "group_rank")
    if told is not None:
        group = _group(facts)
        return told if group in ("", *DEFAULT_GROUPS) else f"{told} of group {group}"
    return rank_of_file(hit.line.source) if hit.line.scope.component is None else hit.line.scope.component


def _group(facts: Mapping[str, FactValue]) -> str:
    """The group's name. A number counts only within its process, so it is marked: ``#2`` of two processes may be two groups."""
    if (name := facts.get("group")) is not None:
        return str(name)
    number = facts.get("group_id")
    return f"#{number}" if number is not None else ""


def _int(facts: Mapping[str, FactValue], name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _machine(name: FactValue | None) -> str | None:
    return None if name is None or str(name).startswith("localhost") else str(name)


def _numbers(text: FactValue | None) -> tuple[int, ...]:
    if text is None:
        return ()
    parts = str(text).replace(" ", "").split(",")
    return tuple(sorted({int(p) for p in parts if p.isdigit()}))
