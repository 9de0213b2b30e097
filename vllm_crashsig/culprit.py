"""Who it was: rank, process, node, GPU and pod of a classification, as far as the logs say, and why.

The line that decides is often not the culprit's own: a parent reports its child's end, the kernel reports a process, ranks
report that another one did not come. So what a line says comes before who says it, and ranks that only waited are never named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from .catalogue import Catalogue
from .collectives import Finding, Role, find
from .correlate import comparable
from .hypotheses import Hypothesis
from .incidents import Incident
from .job import Job
from .model import Hit, LogLine
from .names import pci_address, pod_of, rank_of_file
from .nouns import dataclass, field, replace
from .processes import Process, parse
from .ranks import REPORTS, Device, Exit, Place, Ranks, Seen
from .report import Culprit

NAMES = ("process", "proc")
"""Facts that name a process which the line is about."""
REPORTERS = frozenset({"kernel", "gcs_server", "log_monitor", "monitor", "autoscaler"})
"""Speakers that tell of others."""
GPU_WORLD = frozenset({"gpu", "amdgpu", "rocm", "cuda", "nccl"})
"""Components of fingerprints whose PCI addresses are those of GPUs."""


@dataclass(slots=True)
class _Who:
    """What is known so far. Values that are there are not overwritten."""

    node: str | None = None
    pod: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    pid: int | None = None
    component: str | None = None
    process: str | None = None
    gpu: int | str | None = None
    pci: str | None = None
    uuid: str | None = None
    gpu_index: int | None = None
    dp: int | None = None
    pp: int | None = None
    tp: int | None = None
    ep: int | None = None
    reasons: list[str] = field(default_factory=list)
    named: bool = False
    """Whether the line itself says which process it is about."""

    @property
    def is_known(self) -> bool:
        """Whether a process, rank, machine or GPU is told apart from others."""
        told = (self.node, self.rank, self.local_rank, self.pid, self.component, self.process, self.gpu, self.uuid)
        return any(value is not None for value in told)

    def add(self, **told: object) -> None:
        for name, value in told.items():
            if value is not None and getattr(self, name) is None:
                setattr(self, name, value)


class Culprits:
    """Answers for the hypotheses of one incident."""

    def __init__(self, incident: Incident, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._context = incident.context
        self._tables: Sequence[Ranks] = [segment.ranks for segment in incident.segments]
        self._finding: Finding | None = find(Job.of(self._tables, self._context))
        self._at: dict[tuple[str, int], list[Hit]] = {}
        """Hits of failures by source and line number: what one fingerprint does not capture of a line, another may."""
        for segment in incident.segments:
            for (fingerprint_id, _), track in segment.tracks.items():
                if catalogue[fingerprint_id].is_failure:
                    for hit in track.hits:
                        self._at.setdefault((hit.line.source, hit.line.number), []).append(hit)

    def of(self, hypothesis: Hypothesis) -> Culprit:
        """Who the hypothesis is about. Everything is None where nothing is known."""
        hit = _first(hypothesis)
        finding = self._finding
        if any(not REPORTS.isdisjoint(h.facts) for h in hypothesis.hits):
            return self._told_by_others(hypothesis, hit, finding)
        who = self._own(hypothesis, hit)
        place = f"{hit.line.source}:{hit.line.number}"
        if finding is not None and finding.ranks and (not who.is_known or finding.ranks == (who.rank,)):
            role: Role | Literal["failed"] = "failed" if who.is_known else finding.role
            if who.is_known:
                who.reasons.append(f"first told at {place}")
            else:
                self._from_finding(who, finding)
            who.reasons.append(finding.reason)
            return self._culprit(who, role, finding)
        if not who.is_known and (dead := self._first_dead()) is not None:
            self._named(who, *dead)
            self._complete(who)
            who.reasons.append(f"the first process whose end is told, at {dead[1].source}:{dead[1].number}")
            return self._culprit(who, "died", None)
        if not who.is_known:
            return Culprit(pod=who.pod)
        if hypothesis.role == "cascade" and not who.named:
            who.reasons.insert(0, f"it was the first to report the consequence, at {place}")
            return self._culprit(who, "reporter", None)
        ranks = {h.line.scope.rank for h in hypothesis.hits} - {None}
        first = f"the first of {len(ranks)} ranks that report it, at {place}" if len(ranks) > 1 else f"first told at {place}"
        who.reasons.insert(0, first)
        return self._culprit(who, "failed", None)

    def _told_by_others(self, hypothesis: Hypothesis, hit: Hit, finding: Finding | None) -> Culprit:
        """For lines of ranks that waited: whoever the ranks together name."""
        who = _Who(pod=_pod(hit))
        if finding is None:
            finding = Finding("observer", (), "only somebody who waited spoke; nothing tells for whom")
        if any(h.facts.get("mismatched") for h in hypothesis.hits) and finding.role != "mismatched":
            return Culprit(role="mismatched", pod=who.pod, reason="the ranks differ; nothing tells which of them is wrong")
        who.reasons.append(finding.reason)
        self._from_finding(who, finding)
        if not finding.ranks and (peer := _lost_peer(hypothesis)) is not None:
            who.add(node=peer)
            who.reasons.append(f"the connection that broke led to {peer}")
        return self._culprit(who, finding.role, finding)

    def _from_finding(self, who: _Who, finding: Finding) -> None:
        """The rank that is named, with what else is known of it. Of several only the numbers."""
        who.add(rank=next(iter(finding.ranks), None))
        if len(finding.ranks) == 1:
            self._complete(who)

    def _own(self, hypothesis: Hypothesis, hit: Hit) -> _Who:
        """From the first decisive line: what it says, else who says it."""
        scope = hit.line.scope
        who = _Who(pod=_pod(hit))
        here = self._at.get((hit.line.source, hit.line.number), [])
        for told in sorted([hit, *here], key=lambda h: (h is not hit, h.fingerprint != hit.fingerprint)):
            self._from_facts(who, told)
        if (ended := next((e for t in self._tables for e in t.exits if e.place == Place.of(hit.line)), None)) is not None:
            who.add(rank=ended.rank, local_rank=ended.local_rank, pid=ended.pid, node=ended.host)
        who.named = any(v is not None for v in (who.rank, who.local_rank, who.pid, who.component, who.process))
        if who.rank is not None and who.rank == scope.rank and who.component is None and who.process is None:
            who.add(pid=scope.pid, component=scope.component)  # the rank speaks of itself
        if not (who.named or scope.component in REPORTERS or self._is_of_the_dead(hypothesis)):
            who.add(rank=scope.rank, pid=scope.pid, component=scope.component, gpu=scope.gpu)
            if scope.component is None:
                who.add(rank=rank_of_file(hit.line.source))
        if who.node is None and scope.node is None:
            who.add(node=self._node_of_family(hypothesis))
        who.add(node=scope.node)
        self._complete(who)
        return who

    def _from_facts(self, who: _Who, hit: Hit) -> None:
        fingerprint, facts = self._catalogue[hit.fingerprint], hit.facts
        kinds, is_gpu = fingerprint.facts, not GPU_WORLD.isdisjoint(fingerprint.components)
        for name, value in facts.items():
            kind = kinds[name].type if name in kinds else "str"
            if kind == "rank" and isinstance(value, int):
                who.add(**{"local_rank" if name == "local_rank" else "rank": value})
            elif kind == "pid" and isinstance(value, int) and (name == "pid" or "pid" not in facts):
                who.add(pid=value)
            elif kind == "node":
                who.add(node=str(value))
            elif kind == "pci" and name == "pci":
                who.add(gpu=value if is_gpu else None, pci=pci_address(value))
            elif kind == "gpu" and isinstance(value, int | str):
                who.add(gpu=value)
        if isinstance(uuid := facts.get("uuid"), str):
            who.add(uuid=uuid)
        if (node_id := facts.get("node_id")) is not None:
            who.add(node=self._ray_node(str(node_id)))
        if who.component is None and who.process is None and (called := _called(hit)) is not None:
            self._named(who, called, hit.line)

    def _is_of_the_dead(self, hypothesis: Hypothesis) -> bool:
        """Whether the line can only come from somebody else: who was killed does not speak."""
        base = self._catalogue.fingerprints.get(hypothesis.fingerprint.base_id, hypothesis.fingerprint)
        return base.last_resort

    def _node_of_family(self, hypothesis: Hypothesis) -> str | None:
        """The node that a line about the same event names: of another refinement, or of the plain form."""
        base = hypothesis.fingerprint.base_id
        family = [h for hits in self._at.values() for h in hits if self._catalogue[h.fingerprint].base_id == base]
        for hit in sorted(family, key=lambda h: (h.line.source != hypothesis.first.line.source, h.line.order)):
            for name, value in hit.facts.items():
                kind = self._catalogue[hit.fingerprint].facts.get(name)
                if kind is not None and kind.type == "node":
                    return str(value)
            if (node := self._ray_node(str(hit.facts["node_id"])) if "node_id" in hit.facts else None) is not None:
                return node
        return None

    def _first_dead(self) -> tuple[str, LogLine] | None:
        """The first process of the server whose end its parent reports."""
        named = [
            (called, hit.line)
            for hits in self._at.values()
            for hit in hits
            if hit.decisive and (called := _called(hit)) is not None and parse(called) is not None
        ]
        return min(named, key=lambda pair: (pair[1].source, pair[1].order), default=None)

    def _named(self, who: _Who, name: str, line: LogLine) -> None:
        """A process that the line names. A worker belongs to the engine core that speaks of it."""
        process = parse(name)
        if process is None:
            who.add(process=name)
            return
        parent = parse(line.scope.component)
        if process.kind == "worker" and process.dp is None and parent is not None and parent.kind == "engine-core":
            process = replace(process, dp=parent.dp)
        who.add(component=name, rank=process.rank(self._context), dp=process.dp)

    def _complete(self, who: _Who) -> None:
        """Adds what the rest of the case tells of the same process, rank or GPU."""
        if (ended := self._exit(who)) is not None:
            who.add(rank=ended.rank, local_rank=ended.local_rank, pid=ended.pid, node=ended.host)
        for seen in self._seen(who):
            who.add(node=seen.node, pid=seen.pid, component=seen.component, rank=seen.rank, pod=pod_of(seen.container, None))
        if (device := self._device(who)) is not None:
            who.add(pci=device.pci, uuid=device.uuid, gpu_index=device.index, node=device.node, pid=device.pid)
            if device.rank is not None and who.rank is None:
                who.rank = device.rank
                who.reasons.append(f"rank {device.rank} uses that GPU")
                self._complete(who)
        process = parse(who.component) or Process("daemon")
        who.add(dp=process.dp, pp=process.pp, tp=process.tp, ep=process.ep)
        if who.rank is None:
            who.rank = process.rank(self._context)
        for table in self._tables:
            if who.rank is not None and (place := table.places.get(who.rank)):
                who.add(dp=place.get("dp_rank"), pp=place.get("pp_rank"), tp=place.get("tp_rank"), ep=place.get("ep_rank"))
            elif who.rank is None and process.kind == "worker" and (who.tp is not None or who.pp is not None):
                who.add(rank=_placed(table, who))

    def _seen(self, who: _Who) -> list[Seen]:
        process = parse(who.component)
        unique = process is not None and (process.kind != "worker" or process != Process("worker"))
        keys = [k for k in (who.rank, who.component if unique else None) if k is not None]
        found = [t.seen[k] for t in self._tables for k in keys[:1] if k in t.seen]
        if who.pid is not None:
            found += [s for t in self._tables if (s := t.pids.get(who.pid)) is not None and _agrees(s, who)]
        return found

    def _exit(self, who: _Who) -> Exit | None:
        """How a launcher told of the end of this process."""
        exits = [e for table in self._tables for e in table.exits]
        for name in ("pid", "rank", "local_rank"):
            value = getattr(who, name)
            matching = [e for e in exits if value is not None and getattr(e, name) == value]
            if matching and len({(e.rank, e.host) for e in matching if e.rank is not None}) <= 1:
                return max(matching, key=lambda e: (e.rank is not None, e.pid is not None))
        return None

    def _device(self, who: _Who) -> Device | None:
        devices = [d for table in self._tables for d in table.devices]
        if who.pci is not None:
            matching = [d for d in devices if d.pci == who.pci and (d.node is None or who.node in (None, d.node))]
        elif who.uuid is not None:
            matching = [d for d in devices if d.uuid == who.uuid]
        elif who.rank is None and who.pid is not None:
            matching = [d for d in devices if d.pid == who.pid and d.rank is not None and who.node in (None, d.node)]
        else:
            return None
        if not matching:
            return None
        widest = max((d.of or 0 for d in matching if d.rank is not None), default=0)
        ranks = {d.rank for d in matching if (d.of or 0) == widest} - {None}
        pids = {d.pid for d in matching} - {None}
        return Device(
            next((d.node for d in matching if d.node), None),
            next((d.pci for d in matching if d.pci), None),
            next((d.index for d in matching if d.index is not None), None),
            next((d.uuid for d in matching if d.uuid), None),
            ranks.pop() if len(ranks) == 1 else None,
            pid=pids.pop() if len(pids) == 1 else None,
        )

    def _ray_node(self, node_id: str) -> str | None:
        """The address of a Ray node; identifiers may be cut."""
        for table in self._tables:
            for whole, address in table.nodes.items():
                if whole.startswith(node_id) and address:
                    return address
        return None

    def _culprit(self, who: _Who, role: Role | Literal["failed", "reporter"], finding: Finding | None) -> Culprit:
        return Culprit(
            node=who.node, rank=who.rank, gpu=who.gpu if who.gpu is not None else who.pci, pid=who.pid, component=who.component,
            role=role, pod=who.pod, process=who.process, local_rank=who.local_rank, pci=who.pci, uuid=who.uuid,
            gpu_index=who.gpu_index, dp_rank=who.dp, pp_rank=who.pp, tp_rank=who.tp, ep_rank=who.ep,
            ranks=list(finding.ranks) if finding is not None and len(finding.ranks) > 1 else [],
            observers=list(finding.observers) if finding is not None else [],
            initiator=finding.initiator if finding is not None else None,
            reason="; ".join(dict.fromkeys(who.reasons)) or None,
        )  # fmt: skip


def _first(hypothesis: Hypothesis) -> Hit:
    """The decisive line that came first: by the clock, to the second, where all lines share one; else in the order of the
    server's own log."""
    hits = hypothesis.hits
    if all(comparable(hits[0].line, h.line) for h in hits[1:]):
        return min(hits, key=lambda h: (int(h.line.time or 0), h.line.source != hits[0].line.source, h.line.order))
    return hits[0]


def _called(hit: Hit) -> str | None:
    return next((str(hit.facts[n]) for n in NAMES if n in hit.facts), None)


def _agrees(seen: Seen, who: _Who) -> bool:
    return who.rank is None or seen.rank is None or seen.rank == who.rank


def _placed(table: Ranks, who: _Who) -> int | None:
    wanted = {"dp_rank": who.dp or 0, "pp_rank": who.pp or 0, "tp_rank": who.tp or 0}
    found = [rank for rank, place in table.places.items() if place and all(place.get(n, 0) == v for n, v in wanted.items())]
    return found[0] if len(found) == 1 else None


def _lost_peer(hypothesis: Hypothesis) -> str | None:
    """The machine at the other end of the broken connections, if they all lead to one that is not this machine itself."""
    peers = {str(h.facts["peer"]).partition("%")[0] for h in hypothesis.hits if "peer" in h.facts}
    if len(peers) != 1:
        return None
    peer = peers.pop()
    return None if peer in ("localhost", "::1") or peer.startswith(("127.", "::ffff:127.", "0.")) else peer


def _pod(hit: Hit) -> str | None:
    container = hit.line.scope.container
    told = hit.facts.get("pod")
    if isinstance(told, str):
        return told.rpartition("/")[2]
    return pod_of(container, hit.line.source) if container is None or "/" in container else pod_of(None, hit.line.source)
