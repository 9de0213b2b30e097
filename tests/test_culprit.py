"""Who it was: the rank that is behind, the process that died first, the GPU, the node; and the chain of consequences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny import SAMPLES

from vllm_crashsig import Classification, Classifier, Report, classify_paths
from vllm_crashsig.names import pci_address, rank_of_file
from vllm_crashsig.processes import Process, parse
from vllm_crashsig.ranks import KEPT_RANKS, Ranks


@lru_cache(maxsize=1)
def classifier() -> Classifier:
    return Classifier()


def cause_of(lines: Sequence[str]) -> Classification:
    cause = classifier().classify("\n".join(lines) + "\n").cause
    assert cause is not None
    return cause


def who(cause: Classification, *names: str) -> dict[str, Any]:
    return {name: getattr(cause.culprit, name) for name in names}


def sample(name: str) -> Classification:
    path = SAMPLES / name
    paths = sorted(p for p in path.iterdir() if p.name != "expect.yaml") if path.is_dir() else [path]
    cause = classify_paths(paths, classifier=classifier()).cause
    assert cause is not None
    return cause


SAMPLE_CULPRITS: list[tuple[str, dict[str, Any]]] = [
    ("nccl-timeout/hit-gloo-rank-sleeps.log", {"rank": 2, "role": "behind", "pid": 11009, "observers": [0, 1, 3]}),
    ("nccl-timeout/hit-monitored-barrier.log", {"ranks": [1, 3], "role": "behind", "pid": None}),
    ("nccl-timeout/hit-numbers.log", {"rank": 2, "role": "behind", "observers": [0, 1, 3], "initiator": 0}),
    ("nccl-timeout/hit-desync.log", {"rank": 3, "role": "behind"}),
    ("nccl-timeout/hit-never-joined.log", {"ranks": [2, 3], "role": "behind", "observers": [1]}),
    (
        "nccl-timeout/hit-one-of-eight-silent.log",
        {"rank": 5, "role": "behind", "component": "Worker_TP5", "pid": 417, "tp_rank": 5, "initiator": 2},
    ),
    ("nccl-timeout/hit-after-shutdown.log", {"rank": None, "role": "observer", "observers": [0, 1]}),
    ("nccl-timeout/near-rank-oom-first.log", {"rank": 2, "role": "failed", "component": "Worker_TP2", "observers": [0, 1, 3]}),
    ("nccl-remote-died/near-torchrun-rank-killed.log", {"rank": 2, "pid": 11125, "local_rank": 2, "observers": [1, 3]}),
    ("nccl-remote-died/near-torchrun-rank-segfault.log", {"rank": 2, "pid": 11273, "local_rank": 2}),
    ("nccl-invalid-usage.collective-mismatch/hit-torch213-detail.log", {"rank": 1, "role": "mismatched", "pid": 11577}),
    ("nccl-invalid-usage.collective-mismatch/hit-torch213-gloo-sizes.log", {"rank": None, "role": "mismatched"}),
    ("incidents/torchrun-two-nodes-killed", {"rank": 3, "pid": 6794, "local_rank": 1, "observers": [0, 1, 2]}),
    ("incidents/torchrun-two-nodes-absent", {"rank": 3, "role": "behind", "pid": 6939, "observers": [0, 1, 2]}),
    ("incidents/rank-never-starts", {"rank": 2, "role": "behind", "observers": [0, 1, 3]}),
    (
        "incidents/xid-rank-by-bus-id",
        {
            "rank": 2,
            "role": "failed",
            "pci": "0000:86:00.0",
            "gpu_index": 2,
            "uuid": "GPU-7d0c9a52-1f64-0b3e-9a41-5c2d8e6f7a10",
        },
    ),
]


@pytest.mark.parametrize(("name", "expected"), SAMPLE_CULPRITS, ids=[n for n, _ in SAMPLE_CULPRITS])
def test_samples_name_the_culprit_and_say_why(name: str, expected: dict[str, Any]) -> None:
    cause = sample(name)
    assert who(cause, *expected) == expected
    assert cause.culprit.reason


def timed_out(
    rank: int, seq: int, *, op: str = "ALLREDUCE", numel: int = 4096, group: str = "0", enqueued: int | None = None,
    completed: int | None = None, second: int = 0, group_id: int | None = None,
) -> list[str]:  # fmt: skip
    """What a rank's watchdog prints about one operation (torch 2.6 on)."""
    stamp = f"1130 14:02:{second:02d}.22{rank:02d}871"
    place = f"PG ID {group if group_id is None else group_id} PG GUID {group}"
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000)"
    caught = f"Watchdog caught collective operation timeout: {work} ran for 600091 milliseconds before timing out."
    numbers = f"last enqueued work: {enqueued or seq}, last completed work: {completed or seq - 1}"
    detected = f"failure detected by watchdog at work sequence id: {seq} PG status: {numbers}"
    return [
        f"[rank{rank}]:[E{stamp} ProcessGroupNCCL.cpp:683] [Rank {rank}] {caught}",
        f"[rank{rank}]:[E{stamp} ProcessGroupNCCL.cpp:2241] [{place} Rank {rank}]  {detected}",
    ]


def told(rank: int, first: int, enqueued: int, group: str = "0") -> str:
    """What a rank prints that is told of another's time-out."""
    place = f"[PG ID {group} PG GUID {group} Rank {rank}]"
    signal = f"Received a dump signal due to a collective timeout from  rank {first} and we will try our best to dump the debug"
    numbers = f"info. Last enqueued NCCL work: {enqueued}, last completed NCCL work: {enqueued}.This is most likely caused by"
    return f"[rank{rank}]:[E1130 14:02:09.402284 ProcessGroupNCCL.cpp:1987] {place} {signal} {numbers}"


def args(tensor: int, pipeline: int = 1, data: int = 1) -> str:
    head = "(EngineCore_DP0 pid=281) INFO 11-30 11:20:31 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: "
    sizes = f"tensor_parallel_size={tensor}, pipeline_parallel_size={pipeline}, data_parallel_size={data}"
    return f"{head}model='m', speculative_config=None, {sizes}, disable_custom_all_reduce=True"


LOADED = "[gpu_model_runner.py:2653] Model loading took 16.9819 GiB and 31.104 seconds"
DIED = "[multiproc_executor.py:230] Worker proc VllmWorker-{} died unexpectedly{}, shutting down executor."


def test_one_rank_alone_is_an_observer() -> None:
    cause = cause_of(timed_out(1, 7))
    assert who(cause, "rank", "role", "observers") == {"rank": None, "role": "observer", "observers": [1]}
    assert "behind: rank not told" in cause.summary


def test_all_ranks_in_one_operation_leave_nobody_behind() -> None:
    cause = cause_of([args(2), *timed_out(0, 7), *timed_out(1, 7)])
    assert who(cause, "rank", "role", "observers") == {"rank": None, "role": "observer", "observers": [0, 1]}
    assert "none is behind" in (cause.culprit.reason or "")


def test_the_smallest_number_is_behind() -> None:
    cause = cause_of([*timed_out(0, 9), *timed_out(1, 8), *timed_out(3, 9)])
    assert who(cause, "rank", "observers") == {"rank": 1, "observers": [0, 3]}
    assert cause.facts["lagging_rank"] == 1
    assert "rank 1" in cause.summary


def test_completed_operations_tell_too() -> None:
    lines = [x for r in range(8) for x in timed_out(r, 123, enqueued=125, completed=121 if r == 3 else 122)]
    cause = cause_of(lines)
    assert cause.culprit.rank == 3
    assert cause.culprit.reason == "rank 3 last completed operation 121 while ranks 0, 1, 2, 4, 5, 6 and 7 completed 122"


def test_another_operation_at_the_same_number_is_a_mismatch() -> None:
    cause = cause_of([*timed_out(0, 9), *timed_out(1, 9), *timed_out(2, 9, op="BROADCAST")])
    assert who(cause, "rank", "role") == {"rank": 2, "role": "mismatched"}
    two = cause_of([*timed_out(0, 9), *timed_out(1, 9, numel=1)])
    assert who(two, "rank", "role") == {"rank": None, "role": "mismatched"}


def test_uneven_sizes_are_no_mismatch_where_they_are_allowed() -> None:
    cause = cause_of([*timed_out(0, 9, op="ALLTOALL", numel=8), *timed_out(1, 9, op="ALLTOALL", numel=4)])
    assert cause.culprit.role == "observer"


def test_numbers_of_point_to_point_operations_are_not_compared() -> None:
    cause = cause_of([*timed_out(0, 9, op="SEND"), *timed_out(1, 12, op="RECV")])
    assert who(cause, "rank", "role") == {"rank": None, "role": "observer"}


def test_numbers_of_different_groups_are_not_compared() -> None:
    cause = cause_of([*timed_out(0, 9, group="3"), *timed_out(1, 9, group="3"), told(2, 0, 1)])
    assert cause.culprit.rank is None
    divided = cause_of([args(2, pipeline=2), *timed_out(0, 9, group="3"), *timed_out(2, 5, group="4")])
    assert divided.culprit.rank is None


def test_the_silent_rank_is_named_only_if_it_is_one_among_many() -> None:
    three = [x for r in (0, 1, 3) for x in timed_out(r, 9, group="3", group_id=2)]
    assert cause_of([args(4), *three]).culprit.rank == 2
    assert cause_of([args(4, pipeline=2), *three]).culprit.rank is None, "they may be of several groups"
    assert cause_of(three).culprit.rank is None, "nobody knows how many ranks there are"
    assert cause_of([args(8), *three]).culprit.rank is None, "five are silent"
    folded = [f"(RayWorkerWrapper pid={33 + i}) {line}" for i, line in enumerate(three)]
    assert cause_of([args(4), *folded]).culprit.rank == 2
    folded[2] += " [repeated 2x across cluster]"
    assert cause_of([args(4), *folded]).culprit.rank is None, "the line stands for the others too"


def test_of_two_ranks_the_one_that_was_only_told() -> None:
    cause = cause_of([args(2), *timed_out(1, 90, group="3", group_id=2), told(0, 1, 4)])
    assert who(cause, "rank", "role", "observers", "initiator") == {
        "rank": 0, "role": "behind", "observers": [1], "initiator": 1
    }  # fmt: skip


def test_a_watchdog_that_stands_still_names_its_own_rank() -> None:
    place = "[rank2]:[E1130 14:02:09.402284 ProcessGroupNCCL.cpp:1370] [PG ID 0 PG GUID 0(default_pg) Rank 2]"
    stuck = f"{place} ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring"
    cause = cause_of([stuck])
    assert cause.id == "nccl-timeout.heartbeat"
    assert who(cause, "rank", "role") == {"rank": 2, "role": "stuck"}


CLOSED = "gpu-a:18{0}:18{0} [{0}] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer {1}<41302>"


def test_broken_connections_name_the_machine_at_their_other_end() -> None:
    cause = cause_of([CLOSED.format(0, "gpu-b"), CLOSED.format(1, "gpu-b")])
    assert cause.id == "nccl-remote-died"
    assert who(cause, "node", "rank", "role") == {"node": "gpu-b", "rank": None, "role": "observer"}
    assert cause_of([CLOSED.format(0, "gpu-b"), CLOSED.format(1, "gpu-c")]).culprit.node is None, "they lead to two"
    assert cause_of([CLOSED.format(0, "127.0.0.1")]).culprit.node is None, "that is any process of this machine"


HCCL = "[ERROR] HCCL(27{0},python3):2026-07-23-03:49:57.177.194 [hccl_socket_manager.cc:778] [2734][Wait][LinkEstablish]"


def test_of_a_row_of_waiting_ranks_the_last_is_behind() -> None:
    waits = [
        f"[rank{a}]: {HCCL.format(a)}wait socket establish timeout, role[1] rank[{b}] timeout[120]" for a, b in ((0, 1), (1, 2))
    ]
    assert who(cause_of(waits), "rank", "role") == {"rank": 2, "role": "behind"}
    circle = [*waits, waits[0].replace("rank0", "rank2").replace("rank[1]", "rank[0]")]
    assert who(cause_of(circle), "rank", "role") == {"rank": None, "role": "observer"}


def test_a_rank_is_known_by_its_process_in_nccls_start() -> None:
    init = "ncclCommInitRank comm 0x55c1 rank 5 nranks 8 cudaDev 1 nvmlDev 1 busId 3b000 commId 0x56 - Init START"
    started = f"gpu-a:181:181 [1] NCCL INFO {init}"
    failed = "gpu-a:181:190 [1] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device"
    cause = cause_of([started, failed])
    assert who(cause, "rank", "pid", "node", "pci") == {"rank": 5, "pid": 181, "node": "gpu-a", "pci": "0000:3b:00.0"}
    assert cause_of([started, failed.replace(":181:", ":182:")]).culprit.rank is None


def test_the_rank_that_is_behind_is_not_lost_among_many() -> None:
    lines = [x for r in range(512) for x in timed_out(r, 99 if r != 301 else 98, second=r % 60)]
    cause = cause_of(lines)
    assert cause.culprit.rank == 301
    assert len(cause.culprit.observers) == 511


def test_the_table_is_bounded() -> None:
    lines = [x for r in range(3 * KEPT_RANKS) for x in timed_out(r, 9)]
    session = classifier().session()
    session.feed("\n".join(lines))
    session.close()
    tables: list[Ranks] = [s.ranks for stream in session._correlator.streams() for s in stream.segments]
    assert all(max(len(t.states), len(t.seen), len(t.pids), len(t.exits)) <= KEPT_RANKS for t in tables)
    assert any(t.dropped for t in tables)


OOM = (
    "(Worker_TP2 pid=414) ERROR 11-30 13:52:30 [multiproc_executor.py:671] torch.OutOfMemoryError: CUDA out of memory. "
    "Tried to allocate 2.32 GiB. GPU 2 has a total capacity of 79.25 GiB of which 1.02 GiB is free."
)
SEGFAULT = "[rank2]: Fatal Python error: Segmentation fault"
XID = "Nov 30 13:52:28 gpu-n1 kernel: NVRM: Xid (PCI:0000:86:00): 79, pid=48112, name=python3, GPU has fallen off the bus."


@st.composite
def interleaved(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A rank's own failure, the time-outs of the other ranks, and what follows; each rank's lines in their order."""
    roots = [(OOM, "cuda-oom"), (SEGFAULT, "segfault"), (XID, "gpu-fallen-off-bus"), ("", "nccl-timeout")]
    root, expected = draw(st.sampled_from(roots))
    streams = [timed_out(r, 90, group="3", group_id=2, second=r) for r in (0, 1, 3)]
    streams.append([told(2, 0, 4)])
    if root:
        streams.append([root])
    streams.append(["(APIServer pid=7) INFO 11-30 14:02:10 [launcher.py:1] waiting"] * 3)
    lines = [args(4)]
    while any(streams):
        index = draw(st.sampled_from([i for i, s in enumerate(streams) if s]))
        lines.append(streams[index].pop(0))
    lines.append("(EngineCore_DP0 pid=281) ERROR 11-30 14:03:34 " + DIED.format(0, ""))
    return expected, lines


@given(interleaved())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_cause_and_culprit_do_not_depend_on_how_the_ranks_interleave(made: tuple[str, list[str]]) -> None:
    expected, lines = made
    cause = cause_of(lines)
    assert cause.id == expected
    assert cause.culprit.role == ("behind" if expected == "nccl-timeout" else "failed")
    if expected != "gpu-fallen-off-bus":  # nothing here says which rank used that GPU
        assert cause.culprit.rank == 2
        assert cause.culprit.observers == [0, 1, 3]
    else:
        assert cause.culprit.pci == "0000:86:00.0"
        assert cause.culprit.process == "python3"
        assert cause.culprit.pid == 48112
    ids = [link.id for link in cause.chain]
    assert ids[0] == expected
    assert ids[-1] == "engine-dead"
    assert expected == "nccl-timeout" or ids[1] == "nccl-timeout"


def test_who_reports_is_not_who_died() -> None:
    agent = "E1201 02:17:59.343000 11119 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -9)"
    cause = cause_of([f"{agent} local_rank: 2 (pid: 11125) of binary: /usr/bin/python3"])
    assert who(cause, "pid", "local_rank") == {"pid": 11125, "local_rank": 2}
    kernel = cause_of([XID])
    assert kernel.culprit.component is None
    assert kernel.culprit.node == "gpu-n1"


def test_a_worker_that_is_named_by_its_engine_core_is_found_again() -> None:
    parent = "(EngineCore pid=22) ERROR 11-30 14:03:34 " + DIED.format(1, " (exit code: -9)")
    cause = cause_of([args(2), f"(Worker_TP1 pid=33) INFO 11-30 11:21:12 {LOADED}", parent])
    assert who(cause, "component", "pid", "rank") == {"component": "VllmWorker-1", "pid": 33, "rank": 1}
    second = [args(2, data=2), f"(Worker_DP1_TP1 pid=33) INFO 11-30 11:21:12 {LOADED}", parent.replace("Core", "Core_DP1")]
    found = who(cause_of(second), "component", "dp_rank", "rank")
    assert found == {"component": "VllmWorker-1", "dp_rank": 1, "rank": None}


def test_the_first_process_that_died_is_named_where_the_cause_does_not_say() -> None:
    core = "[core_client.py:598] Engine core proc EngineCore_DP0 died unexpectedly, shutting down client."
    cause = cause_of(
        [
            "!!!!!!! Segfault encountered !!!!!!!",
            "(EngineCore pid=22) ERROR 11-30 14:03:34 " + DIED.format(1, " (exit code: -11)"),
            f"(APIServer pid=7) ERROR 11-30 14:03:35 {core}",
        ]
    )
    assert cause.id == "segfault"
    assert who(cause, "component", "rank") == {"component": "VllmWorker-1", "rank": 1}
    assert [(link.id, link.component) for link in cause.chain] == [
        ("segfault", "VllmWorker-1"),
        ("engine-dead", "VllmWorker-1"),
    ]


def test_consequences_alone_name_a_reporter() -> None:
    cause = cause_of(["(EngineCore_DP0 pid=22) ERROR 11-30 14:03:34 [core.py:700] EngineCore encountered a fatal error."])
    assert cause.role == "cascade"
    assert who(cause, "role", "component") == {"role": "reporter", "component": "EngineCore_DP0"}


def test_pods_come_from_prefixes_and_from_the_kubelets_file_names(tmp_path: Path) -> None:
    assert cause_of([f"[pod/vllm-0/vllm] {OOM}"]).culprit.pod == "vllm-0"
    path = tmp_path / "pods/prod_vllm-7d8c5c9f-2mxvk_2a7c/vllm/0.log"
    path.parent.mkdir(parents=True)
    path.write_text(f"2026-11-30T19:41:58.123456789+00:00 stderr F {OOM}\n")
    cause = classify_paths([path], classifier=classifier()).cause
    assert cause is not None
    assert cause.culprit.pod == "vllm-7d8c5c9f-2mxvk"
    assert cause_of([OOM]).culprit.pod is None


def test_the_node_whose_raylet_died_first_is_named() -> None:
    first, second = (
        "3bef9575ba1bdad0717e41682591ca5568203144f9912973084d6235",
        "559aa4685524db1170de1cad1f359c702f3892192c2119c2",
    )
    gcs = "[2026-11-30 20:{},480 I 4 4] (gcs_server) gcs_node_manager.cc:{}"
    register = gcs.format("02:01", "111: Registering new node. node_id={} node_name=x node_address={}")
    death = gcs.format("03:20", "734: , death reason = UNEXPECTED_TERMINATION, death message = health check failed node_id={}")
    lines = [register.format(second, "10.4.0.6"), register.format(first, "10.4.0.7"), death.format(first), death.format(second)]
    cause = cause_of(lines)
    assert cause.id == "ray-node-dead"
    assert who(cause, "node", "component") == {"node": "10.4.0.7", "component": None}


def test_the_gpus_index_and_uuid_come_from_an_inventory() -> None:
    table = [
        "|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |",
        "|   1  NVIDIA A100-SXM4-80GB          On  | 00000000:86:00.0 Off |                    0 |",
        "1, 00000000:86:00.0, GPU-b24b298b-41f7-3e46-1abc-22b28f4c4644",
    ]
    cause = cause_of([*table, XID])
    assert who(cause, "gpu_index", "uuid", "pci") == {
        "gpu_index": 1, "uuid": "GPU-b24b298b-41f7-3e46-1abc-22b28f4c4644", "pci": "0000:86:00.0"
    }  # fmt: skip
    assert cause_of([*table, XID]).facts.get("device_index") is None
    assert not [n for n in classifier().classify("\n".join([*table, XID])).context if n.startswith("device_")]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:3b:00", "0000:3b:00.0"), ("00000000:3B:00.0", "0000:3b:00.0"), ("3b000", "0000:3b:00.0"),
        ("PCI:0000:c1:00.1", "0000:c1:00.1"), ("10000:81:00.0", "10000:81:00.0"), ("3b:00.0", "0000:3b:00.0"),
        ("1a1000", "0001:a1:00.0"), ("gpu0", None), ("", None), (None, None),
    ],
)  # fmt: skip
def test_pci_addresses_of_all_forms(text: str | None, address: str | None) -> None:
    assert pci_address(text) == address


@pytest.mark.parametrize(
    ("name", "process"),
    [
        ("Worker_DP0_PP1_TP2_EP3", Process("worker", 0, 1, 2, 3)),
        ("VLLM::Worker_TP1", Process("worker", tp=1)),
        ("Worker_PP0_PCP1_TP1", Process("worker", pp=0, tp=1, other_groups=True)),
        ("VllmWorker-3", Process("worker", index=3)),
        ("rank=[2]", Process("worker", index=2)),
        ("RayWorkerWrapper", Process("worker")),
        ("EngineCore_DP2", Process("engine-core", dp=2)),
        ("EngineCore_3", Process("engine-core", dp=3)),
        ("EngineCore", Process("engine-core")),
        ("ApiServer_1", Process("api-server", index=1)),
        ("DPCoordinator", Process("coordinator")),
        ("raylet", Process("daemon")),
        ("python3", None),
        ("Worker_TPx", None),
        (None, None),
    ],
)
def test_process_names(name: str | None, process: Process | None) -> None:
    assert parse(name) == process


@pytest.mark.parametrize(
    ("name", "context", "rank"),
    [
        ("Worker_TP1", {}, 1),
        ("Worker_PP1_TP0", {"tensor_parallel_size": 4}, 4),
        ("Worker_PP1_TP0", {}, None),
        ("Worker_PP2", {"tensor_parallel_size": 1}, 2),
        ("Worker_DP1_TP0", {"tensor_parallel_size": 2}, None),
        ("VllmWorker-5", {"data_parallel_size": 2}, None),
        ("VllmWorker-5", {}, 5),
        ("EngineCore_DP1", {}, None),
    ],
)
def test_ranks_of_names(name: str, context: dict[str, int], rank: int | None) -> None:
    process = parse(name)
    assert process is not None
    assert process.rank(context) == rank


@pytest.mark.parametrize(
    ("source", "rank"),
    [
        ("logs/rank3.log", 3), ("job_rank-12.out", 12), ("/l/attempt_0/2/stderr.log", 2), ("franks2.log", None),
        ("rank3/other.log", None), ("worker1.log", None),
    ],
)  # fmt: skip
def test_ranks_of_file_names(source: str, rank: int | None) -> None:
    assert rank_of_file(source) == rank


def test_healthy_logs_name_nobody() -> None:
    report: Report = classify_paths([SAMPLES / "healthy/vllm-healthy-tp2-sigterm.log"], classifier=classifier())
    assert [c.culprit for i in report.incidents for c in i.classifications] == []
