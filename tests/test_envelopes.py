"""Peelers: a table of real-shaped lines, near misses that must stay whole, and properties of any text."""

from __future__ import annotations

import calendar
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_crashsig.envelopes import MAX_LAYERS, peel
from vllm_crashsig.envelopes.clean import strip_escapes
from vllm_crashsig.envelopes.json_line import decode_json_line


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: float = 0) -> float:
    return calendar.timegm((year, month, day, hour, minute, 0)) + second


T = at(2026, 11, 30, 19, 41, 58)
N = at(2000, 11, 30, 19, 41, 58)

# (line, message, layers, what else must be known)
LINES: list[tuple[str, str, list[str], dict[str, Any]]] = [
    # docker
    ("2026-11-30T19:41:58.500000000Z hello", "hello", ["rfc3339"], {"time": T + 0.5, "clock": "utc"}),
    ("2026-11-30T19:41:58Z   indented", "  indented", ["rfc3339"], {"time": T}),
    ("2026-11-30T19:41:58.5003443Z ", "", ["rfc3339"], {}),
    ("2026-11-30T20:41:58.5+01:00 x", "x", ["rfc3339"], {"time": T + 0.5}),
    ("vllm-1  | hello", "hello", ["compose"], {"container": "vllm-1", "component": "vllm"}),
    ("llm-server-12   |   x", "  x", ["compose"], {"container": "llm-server-12", "component": "llm-server"}),
    ("vllm_1  | hello", "hello", ["compose"], {"container": "vllm_1"}),
    ("vllm-1  |", "", ["compose"], {}),
    (
        "vllm_worker.1.k3j5h2k1l9p0q8@node-2    | Killed",
        "Killed",
        ["compose"],
        {"container": "vllm_worker.1.k3j5h2k1l9p0q8", "component": "vllm_worker", "node": "node-2"},
    ),
    ("vllm-server  | (APIServer pid=1) x", "x", ["compose", "vllm"], {"container": "vllm-server", "component": "APIServer"}),
    # kubernetes
    (
        "2026-11-30T19:41:58.25+00:00 stderr F   File \"x.py\"",
        "  File \"x.py\"",
        ["cri"],
        {"time": T + 0.25, "clock": "utc", "stream": "stderr"},
    ),
    ("2026-11-30T19:41:58.250000000Z stdout P part", "part", ["cri"], {"stream": "stdout"}),
    ("2026-11-30T19:41:58.250000000Z stdout F ", "", ["cri"], {"stream": "stdout"}),
    ("[pod/vllm-0/vllm] hello", "hello", ["kubectl"], {"container": "vllm-0/vllm"}),
    (
        "[pod/vllm-0/vllm] 2026-11-30T19:41:58.25Z (Worker_TP1 pid=7) x",
        "x",
        ["kubectl", "rfc3339", "vllm"],
        {"container": "vllm-0/vllm", "time": T + 0.25, "rank": 1, "pid": 7},
    ),
    ("default/vllm-0[vllm]: hello", "hello", ["kail"], {"container": "vllm-0/vllm"}),
    (
        "vllm-7d8c5c9f-2mxvk vllm ERROR 11-30 19:41:58 [core.py:1] boom",
        "boom",
        ["stern", "vllm-log"],
        {"container": "vllm-7d8c5c9f-2mxvk/vllm"},
    ),
    ("vllm-0 vllm RuntimeError: boom", "RuntimeError: boom", ["stern"], {"container": "vllm-0/vllm"}),
    (
        "prod vllm-7d8c5c9f-2mxvk vllm 2026-11-30T19:41:58Z x",
        "x",
        ["stern", "rfc3339"],
        {"container": "vllm-7d8c5c9f-2mxvk/vllm", "time": T},
    ),
    # journal and syslog
    (
        "Nov 30 19:41:58 node-a vllm[118]: x",
        "x",
        ["journald"],
        {"node": "node-a", "component": "vllm", "pid": 118, "time": N, "clock": "no-year"},
    ),
    ("Nov 30 19:41:58.250000 node-a vllm[118]:   x", "  x", ["journald"], {"time": N + 0.25}),
    ("Feb  9 09:14:03 n7 systemd[1]: Started x.", "Started x.", ["journald"], {"component": "systemd"}),
    ("Mär 10 23:17:46 n7 systemd[1]: Started x.", "Started x.", ["journald"], {"time": at(2000, 3, 10, 23, 17, 46)}),
    ("Nov 30 19:41:58 node-a kernel: NVRM: Xid", "NVRM: Xid", ["journald", "dmesg"], {"component": "kernel", "node": "node-a"}),
    ("Nov 30 19:41:58 kernel: NVRM: Xid", "NVRM: Xid", ["journald", "dmesg"], {"node": None, "time": N}),
    ("Nov 30 19:41:58 n kernel: [   12.345678]  <TASK>", " <TASK>", ["journald", "dmesg"], {"time": N, "clock": "no-year"}),
    ("Nov 30 19:41:58 n 18332958f6dc[1309]: 64 MiB", "64 MiB", ["journald"], {"container": "18332958f6dc", "pid": None}),
    ("2026-11-30T19:41:58+0000 node-a vllm[1]: x", "x", ["journald"], {"time": T, "clock": "utc", "node": "node-a"}),
    ("2026-11-30T19:41:58+0000 node-a kernel: x", "x", ["journald", "dmesg"], {}),
    ("2026-11-30T19:41:58.250000+00:00 node-a vllm[1]: x", "x", ["syslog"], {"time": T + 0.25}),
    ("Mon 2026-11-30 19:41:58 UTC node-a vllm.service[12]: x", "x", ["journald"], {"time": T, "clock": "utc", "pid": 12}),
    ("Mon 2026-11-30 19:41:58.25 CET node-a kernel: x", "x", ["journald", "dmesg"], {"clock": "local"}),
    ("[ 2053.610919] node-a kernel: Code: e8", "Code: e8", ["journald", "dmesg"], {"time": 2053.610919, "clock": "boot"}),
    ("1796067718.250000 node-a vllm[3]: x", "x", ["journald"], {"time": T + 0.25, "clock": "utc"}),
    ("<11>Nov 30 19:41:58 node-a vllm[3]: x", "x", ["syslog"], {"level": None, "time": N}),
    ("<13>Nov 30 19:41:58 node-a vllm[3]: x", "x", ["syslog"], {"level": None}),
    ("<4>Nov 30 19:41:58 node-a kernel: x", "x", ["syslog", "dmesg"], {"level": "warning"}),
    (
        '<165>1 2026-11-30T19:41:58.25Z node-a vllm 42 ID7 [a@1 k="v \\"]"] x',
        "x",
        ["syslog"],
        {"node": "node-a", "component": "vllm", "pid": 42, "time": T + 0.25, "level": None},
    ),
    ("118 <27>1 2026-11-30T19:41:58Z node-a vllm 42 - -    File \"x.py\"", "  File \"x.py\"", ["syslog"], {"time": T}),
    ("<6>1 - - kernel - - - NVRM: Xid", "NVRM: Xid", ["syslog", "dmesg"], {"component": "kernel", "node": None}),
    ("    MESSAGE=64 MiB", "64 MiB", ["journald"], {}),
    ("MESSAGE=(APIServer pid=3) x", "x", ["journald", "vllm"], {"pid": 3}),
    # kernel
    ("[  123.456789] oom-kill:x", "oom-kill:x", ["dmesg"], {"time": 123.456789, "clock": "boot", "component": "kernel"}),
    ("[  123.456789][  T12]  <TASK>", " <TASK>", ["dmesg"], {}),
    ("[  123.456789] vllm[31]: segfault at 0", "vllm[31]: segfault at 0", ["dmesg"], {"component": "kernel", "pid": None}),
    ("<4>[  123.456789] x", "x", ["dmesg"], {"level": "warning"}),
    ("[ 2053.610919 <    0.000014>] x", "x", ["dmesg"], {"time": 2053.610919}),
    ("[Mon Nov 30 19:41:58 2026]  x", " x", ["dmesg"], {"time": T, "clock": "local"}),
    ("[Di Mär 10 23:17:46 2026] x", "x", ["dmesg"], {"time": at(2026, 3, 10, 23, 17, 46)}),
    ("\x1b[32m[Mon Nov 30 19:41:58 2026] \x1b[0m\x1b[33mcgroup: \x1b[0mx", "cgroup: x", ["dmesg"], {}),
    ("kern  :err    : [  123.456789] x", "x", ["dmesg"], {"level": "error", "time": 123.456789}),
    ("kern  :info  : [Mon Nov 30 19:41:58 2026] x", "x", ["dmesg"], {"level": "info", "time": T}),
    ("kern  :warn  : x", "x", ["dmesg"], {"level": "warning"}),
    ("2026-11-30T19:41:58,250000+00:00 vllm[3]: segfault", "vllm[3]: segfault", ["dmesg"], {"time": T + 0.25, "clock": "utc"}),
    ("4,1234,5678000,-;x", "x", ["dmesg"], {"level": "warning", "time": 5.678}),
    ("[Nov30 19:41] x", "x", ["dmesg"], {"time": at(2000, 11, 30, 19, 41)}),
    ("[  +0.000014] x", "x", ["dmesg"], {"time": None}),
    ("[<    0.000014>] x", "x", ["dmesg"], {"time": None}),
    # ray
    (
        "\x1b[36m(RayWorkerWrapper pid=11, ip=10.0.0.2)\x1b[0m   x",
        "  x",
        ["ray"],
        {"component": "RayWorkerWrapper", "pid": 11, "node": "10.0.0.2"},
    ),
    ("(pid=12) x", "x", ["ray"], {"pid": 12, "component": None}),
    ("(pid=gcs_server) x", "x", ["ray"], {"component": "gcs_server", "pid": None}),
    ("(<main.Actor object at 0x7f> pid=12) x", "x", ["ray"], {"component": "<main.Actor object at 0x7f>"}),
    ("(ServeReplica:default:VLLM pid=12, ip=::1) x", "x", ["ray"], {"node": "::1"}),
    ("(raylet) x", "x", ["ray"], {"component": "raylet"}),
    ("(raylet, ip=10.0.0.3) x", "x", ["ray"], {"node": "10.0.0.3"}),
    ("(autoscaler +1m19s) Tip: x", "Tip: x", ["ray"], {"component": "autoscaler"}),
    ("    (raylet) x", "x", ["ray"], {}),
    (
        "(A pid=1) x\x1b[32m [repeated 14x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0)\x1b[0m",
        "x",
        ["ray"],
        {"count": 14},
    ),
    ("(A pid=1) x [repeated 3x across cluster]", "x", ["ray"], {"count": 3}),
    (
        "[2026-11-30 19:41:58,250 E 73 74] (raylet) node_manager.cc:492: x",
        "x",
        ["ray-log"],
        {"time": T + 0.25, "clock": "local", "level": "error", "pid": 73, "component": "raylet"},
    ),
    ("[2026-11-30 19:41:58,250 I 73 74] core_worker.cc:1:   x", "  x", ["ray-log"], {"component": None, "level": "info"}),
    ("2026-11-30 19:41:58,250\tWARNING worker.py:12 --   x", "  x", ["ray-log"], {"level": "warning", "time": T + 0.25}),
    ("2026-11-30 19:41:58,250\tSUCC scripts.py:1 -- x", "x", ["ray-log"], {"level": "info"}),
    ("2026-11-30 19:41:58,250\tERR scripts.py:1 -- x", "x", ["ray-log"], {"level": "error"}),
    ("2026-11-30 19:41:58,250\tVINFO scripts.py:1 -- x", "x", ["ray-log"], {"level": "info"}),
    ("INFO worker.py:1342 -- Connecting", "Connecting", ["ray-log"], {"level": "info", "time": None}),
    ("INFO 2026-11-30 19:41:58,250 controller 12 deployment_state.py:9 - x", "x", ["ray-log"], {"component": "controller"}),
    ("INFO 2026-11-30 19:41:58,250 controller 12 -- x", "x", ["ray-log"], {"component": "controller", "level": "info"}),
    ("ERROR 2026-11-30 19:41:58,250 default_VLLM ab1 r-1 -- replica.py:9 - x", "x", ["ray-log"], {"component": "default_VLLM"}),
    # vllm
    ("(EngineCore_DP0 pid=94) x", "x", ["vllm"], {"component": "EngineCore_DP0", "pid": 94, "rank": None}),
    ("(Worker_TP1_EP1 pid=94)   x", "  x", ["vllm"], {"rank": 1}),
    ("(Worker_DP0_TP1_EP1 pid=94) x", "x", ["vllm"], {"rank": None, "component": "Worker_DP0_TP1_EP1"}),
    ("(VllmWorker rank=3 pid=94) x", "x", ["vllm"], {"rank": 3, "component": "VllmWorker"}),
    ("(ApiServer_0 pid=94) x", "x", ["vllm"], {"component": "ApiServer_0"}),
    (
        "(VllmWorkerProcess pid=5) ERROR 11-30 19:41:58 multiproc_worker_utils.py:233]   File",
        "  File",
        ["vllm", "vllm-log"],
        {"level": "error", "time": N, "clock": "no-year", "component": "VllmWorkerProcess"},
    ),
    ("INFO 11-30 19:41:58 [v1/engine/core.py:12] x", "x", ["vllm-log"], {"level": "info"}),
    ("INFO 2026-11-30 19:41:58 [core.py:12] x", "x", ["vllm-log"], {"time": T, "clock": "local"}),
    ("WARNING 11-30 19:41:58.250 [core.py:12] ", "", ["vllm-log"], {"time": N + 0.25}),
    ("[1;36m(EngineCore_DP0 pid=1)[0;0m INFO 11-30 19:41:58 [core.py:12] x", "x", ["vllm", "vllm-log"], {}),
    ("#033[1;36m(EngineCore_DP0 pid=1)#033[0;0m x", "x", ["vllm"], {}),
    ("INFO:     Shutting down", "Shutting down", ["uvicorn"], {"level": "info"}),
    ("(APIServer pid=1) ERROR:    [Errno 98] x", "[Errno 98] x", ["vllm", "uvicorn"], {"level": "error"}),
    ("2026-11-30T19:41:58Z INFO:     Shutting down", "Shutting down", ["rfc3339", "uvicorn"], {"time": T}),
    ("2026-11-30 19:41:58 INFO 11-30 19:41:58 [core.py:12] x", "x", ["timestamp", "vllm-log"], {"time": T}),
    (
        "(EngineCore_DP0 pid=3) (RayWorkerWrapper pid=4) ERROR 11-30 19:41:58 [w.py:3] x",
        "x",
        ["vllm", "ray", "vllm-log"],
        {"component": "RayWorkerWrapper", "pid": 4},
    ),
    # nccl
    (
        "gpu-13:18220:18429 [3] transport/net_ib.cc:818 NCCL WARN x",
        "transport/net_ib.cc:818 NCCL WARN x",
        ["nccl"],
        {"node": "gpu-13", "pid": 18220, "gpu": 3, "level": "warning"},
    ),
    ("gpu-13:1:1 [0] NCCL INFO x", "NCCL INFO x", ["nccl"], {"level": "info"}),
    (
        "[2026-11-30 19:41:58] b300:40112:40112 [0] transport/nvls.cc:376 (nvlsAllocateMem) NCCL WARN x",
        "transport/nvls.cc:376 (nvlsAllocateMem) NCCL WARN x",
        ["timestamp", "nccl"],
        {"time": T, "node": "b300"},
    ),
    (
        "(RayWorkerWrapper pid=4, ip=10.0.0.2) box:7:8 [1] NCCL INFO x",
        "NCCL INFO x",
        ["ray", "nccl"],
        {"node": "10.0.0.2", "pid": 7},
    ),
    # torch
    ("[rank3]:   File", "  File", ["torch-rank"], {"rank": 3}),
    ("[rank3]:", "", ["torch-rank"], {"rank": 3}),
    (
        "[rank14]:[E919 03:03:17.250000000 ProcessGroupNCCL.cpp:758] [Rank 14] x",
        "[Rank 14] x",
        ["torch-rank", "c10-log"],
        {"rank": 14, "level": "error", "time": at(2000, 9, 19, 3, 3, 17.25)},
    ),
    ("[default3]:  File", "  File", ["torch-elastic"], {"rank": 3}),
    ("[default3]:[rank11]: x", "x", ["torch-elastic", "torch-rank"], {"rank": 11}),
    ("[E1130 19:41:58.250 socket.cpp:1028] [c10d] x", "[c10d] x", ["c10-log"], {"time": N + 0.25}),
    ("[W ProcessGroupNCCL.cpp:325] x", "x", ["c10-log"], {"level": "warning"}),
    ("E1130 19:41:58.250000 123 torch/run.py:803] x", "x", ["glog"], {"pid": 123, "level": "error", "time": N + 0.25}),
    ("E1130 19:41:58.250000     123 fork_posix.cc:76]   x", "  x", ["glog"], {"pid": None}),
    ("I427 11:02:18.25 140412007728192 checkpointer.py:64] x", "x", ["glog"], {"time": at(2000, 4, 27, 11, 2, 18.25)}),
    # ordinary loggers
    ("2026-11-30 19:41:58,250 - a.b - ERROR - x", "x", ["python-log"], {"level": "error", "time": T + 0.25, "clock": "local"}),
    ("2026-11-30 19:41:58,250 - INFO - autotuner.py:262 - flashinfer.jit: x", "x", ["python-log"], {}),
    ("2026-11-30 19:41:58,250 - INFO - reader 0: done - ok", "reader 0: done - ok", ["python-log"], {}),
    ("2026-11-30T19:41:58+08:00 - gpustack.worker - INFO - x", "x", ["python-log"], {"time": T - 8 * 3600, "clock": "utc"}),
    ("2026-11-30 19:41:58,250 ERROR torch.distributed: x", "x", ["python-log"], {"level": "error"}),
    ("2026-11-30 19:41:58,250 [ERROR] x", "x", ["python-log"], {"level": "error"}),
    ("2026-11-30 19:41:58,250 ERROR cuda: x", "cuda: x", ["python-log"], {"level": "error"}),
    ("2026-11-30 19:41:58,250 ERROR ValueError: x", "ValueError: x", ["python-log"], {"level": "error"}),
    ("2026-11-30 19:41:58.250 | ERROR    | mod.sub:fn:12 - x", "x", ["loguru"], {"level": "error"}),
    ("[2026-11-30 19:41:58,250] [ERROR] [launch.py:12:main] x", "x", ["python-log"], {"level": "error"}),
    ("[2026-11-30 19:41:58 +0000] [12] [INFO] Booting", "Booting", ["python-log"], {"pid": 12, "clock": "utc"}),
    ("[2026-11-30 19:41:58,250] torch.run: [WARNING] x", "x", ["python-log"], {"level": "warning"}),
    ("[2026-11-30 19:41:58 TP3] x", "x", ["timestamp"], {"component": "TP3", "rank": 3}),
    ("[2026-11-30 19:41:58 DP1 TP3 EP3] INFO:     x", "x", ["timestamp", "uvicorn"], {"component": "DP1 TP3 EP3"}),
    ("[2026-11-30T19:41:58.250] launch task", "launch task", ["timestamp"], {"time": T + 0.25}),
    ("2026-11-30 19:41:58 x", "x", ["timestamp"], {"time": T}),
    ("DEBUG 2026-11-30 19:41:58,250 a.b.c:29: x", "x", ["python-log"], {"level": "debug"}),
    ("ERROR:torch.distributed.run:x", "x", ["python-log"], {"level": "error"}),
    ("[INFO|2026-11-30 19:41:58] a.b:410 >> x", "x", ["python-log"], {"time": T}),
    ("[WARNING|trainer.py:12] 2026-11-30 19:41:58,250 >> x", "x", ["python-log"], {"level": "warning", "time": T + 0.25}),
    ("11/30/2026 19:41:58 - WARNING - __main__ -   x", "x", ["python-log"], {"time": T, "level": "warning"}),
    ("[11/30/2026-19:41:58] [TRT-LLM] [E] x", "x", ["python-log"], {"level": "error"}),
    ("2026/11/30 19:41:58 [warn] 1#1: x", "x", ["timestamp"], {"level": "warning", "pid": 1}),
    ("[Nov 30 2026 19:41:58] [ERROR] [tid 2207] x", "x", ["fabricmanager"], {"time": T, "component": "fabricmanager"}),
    ('time=2026-11-30T19:41:58.25Z level=ERROR msg="x y" err=z', 'msg="x y" err=z', ["logfmt"], {"level": "error"}),
    ("time=2026-11-30T19:41:58.25Z level=WARN source=/src/a.go:3 msg=x", "msg=x", ["logfmt"], {"level": "warning"}),
    ('ts=2026-11-30T19:41:58.25Z caller=main.go:12 level=info msg="x"', 'msg="x"', ["logfmt"], {"time": T + 0.25}),
    ("2026-11-30T19:41:58.25Z | x | y", "x | y", ["rfc3339"], {"time": T + 0.25}),
    ("2026-11-30T19:41:58.25Z | 0  H100 | x |", "| 0  H100 | x |", ["rfc3339"], {"time": T + 0.25}),
    ("2026-11-30 19:41:58 | 0  H100 | x |", "| 0  H100 | x |", ["timestamp"], {}),
    ('time="2026-11-30T19:41:58.25Z" level=error msg="x"', 'msg="x"', ["logfmt"], {"level": "error", "time": T + 0.25}),
    ("2026-11-30T19:41:58,250 [INFO ] W-9-m-stdout MODEL_LOG - (Worker pid=3) x", "x", ["torchserve", "vllm"], {"pid": 3}),
    ('2026-11-30T19:41:58Z {app="vllm", pod="v-0"} x', "x", ["rfc3339", "loki"], {}),
    (
        '2026-11-30T19:41:58Z {container="vllm", node_name="n1", pod="v-0"} x',
        "x",
        ["rfc3339", "loki"],
        {"container": "v-0/vllm", "node": "n1"},
    ),
    ("1796067718250\t2026-11-30T19:41:58.250Z\t  x", "  x", ["grafana"], {"time": T + 0.25, "clock": "utc"}),
    ("2026-11-30 19:41:58.250\tx", "x", ["grafana"], {"time": T + 0.25, "clock": "local"}),
    ("e2e (H100)\tRun vllm\t2026-11-30T19:41:58.2500000Z x", "x", ["github"], {"time": T + 0.25, "component": "e2e (H100)"}),
    ("2026-11-30T19:41:58.250000Z 01E x", "x", ["gitlab"], {"time": T + 0.25, "stream": "stderr"}),
    ("2026-11-30T19:41:58.250000Z 00O+x", "x", ["gitlab"], {"stream": "stdout"}),
    (
        "2026-11-30T19:41:58.250000+00:00 ecs/vllm/0af3b1c2d4e5f60718293a4b5c6d7e8f   x",
        "  x",
        ["cloudwatch"],
        {"time": T + 0.25, "clock": "utc"},
    ),
    (
        f"2026-11-30T19:41:58.250000+00:00 ip-10-0-0-1-application.var.log.containers.vllm-0_prod_vllm-{'ab' * 32}.log x",
        "x",
        ["cloudwatch"],
        {"container": "vllm-0/vllm", "node": "ip-10-0-0-1"},
    ),
    ("EVENTS\t1796067719150\tx\ty\t1796067718250", "x\ty", ["cloudwatch"], {"time": T + 0.25}),
    (
        '[0] kube.vllm: [[1796067718.250000000, {}], {"stream"=>"stderr", "log"=>"a "b", c"}]',
        'a "b", c',
        ["fluent-bit"],
        {"time": T + 0.25, "stream": "stderr"},
    ),
    # quotes
    ("> INFO 11-30 19:41:58 [core.py:12] x", "x", ["quote", "vllm-log"], {}),
    ("> >   File \"x.py\"", "  File \"x.py\"", ["quote"], {}),
    # launchers
    ("3:   File \"x.py\", line 3", "  File \"x.py\", line 3", ["srun"], {"rank": 3}),
    (" 3: Traceback (most recent call last):", "Traceback (most recent call last):", ["srun"], {"rank": 3}),
    ("13: INFO 11-30 19:41:58 [core.py:12] x", "x", ["srun", "vllm-log"], {"rank": 13}),
    ("[1,0]<stderr>:  File", "  File", ["mpirun"], {"rank": 0, "stream": "stderr"}),
    ("Mon Nov 30 19:41:58 2026<stderr>:  File", "  File", ["mpirun"], {"time": T, "stream": "stderr"}),
    ("Mon Nov 30 19:41:58 2026[1,2]<stderr>:x", "x", ["mpirun", "mpirun"], {"rank": 2, "time": T}),
    ("[llm3]:Traceback (most recent call last):", "Traceback (most recent call last):", ["torch-elastic"], {"rank": 3}),
    ("[gpu-07]: ValueError: x", "ValueError: x", ["bracketed"], {"node": "gpu-07", "rank": None}),
    ("[prterun-n1-7@1,3]<stdout>: x", "x", ["mpirun"], {"rank": 3, "stream": "stdout"}),
    ("gpu-12: [E ProcessGroupNCCL.cpp:325] x", "x", ["pdsh", "c10-log"], {"node": "gpu-12"}),
    ("10.0.0.7: gpu-12:1:1 [0] NCCL INFO x", "NCCL INFO x", ["pdsh", "nccl"], {"node": "10.0.0.7"}),
    # what consoles and viewers make of a stamp
    ("2026-11-30 19:41:58.500 | x", "x", ["timestamp"], {"time": T + 0.5, "clock": "local"}),
    ("2026-11-30 19:41:58.500 |", "", ["timestamp"], {}),
    ("2026-11-30 19:41:58.500 |   File \"x.py\"", "  File \"x.py\"", ["timestamp"], {}),
    ("2026-11-30 19:41:58.500 | ERROR 11-30 19:41:58 [a.py:1] x", "x", ["timestamp", "vllm-log"], {"level": "error"}),
    ("2026-11-30T19:41:58.500Z | x", "x", ["rfc3339"], {"time": T + 0.5, "clock": "utc"}),
    ("2026-11-30 19:41:58.500 | warning  |             UMD | x", "x", ["loguru"], {"level": "warning"}),
    ("2026-12-01T03:41:58.500000040 +08:00 CST x", "x", ["timestamp"], {"time": T + 0.50000004, "clock": "utc"}),
    ("2026-12-01 03:41:58.5 +0800 CST x", "x", ["timestamp"], {"time": T + 0.5, "clock": "utc"}),
    ("2026-12-01T03:41:58+08:00 CST n1:1:1 [0] NCCL INFO x", "NCCL INFO x", ["rfc3339", "nccl"], {"time": T}),
    ("2026-11-30 19:41:58.500 EDT ERROR 11-30 19:41:58 [a.py:1] x", "x", ["timestamp", "vllm-log"], {"time": T + 0.5}),
    ("[2026-11-30 19:41:58 UTC] x", "x", ["timestamp"], {"time": T}),
    ("2026-11-30 19:41:58 EDT: x", "EDT: x", ["timestamp"], {}),
    ("2026-11-30 19:41:58 NVRM x", "NVRM x", ["timestamp"], {}),
    ("2026-11-30 19:41:58 OOM killed", "OOM killed", ["timestamp"], {}),
    ("2026/11/30 19:41:58 ~ x", "x", ["timestamp"], {"time": T}),
    ("19:41:58 x", "x", ["clock"], {"time": None}),
    ("[19:41:58] x", "x", ["clock"], {"time": None}),
    ("19:41:58.500 | x", "x", ["clock"], {"time": None}),
    ("19:41:58 kernel: x", "x", ["journald", "dmesg"], {"component": "kernel", "time": None}),
    ("2026-11-30T19:41:58.500Z\tERROR\tcontrollers.RayCluster\tx", "x", ["python-log"], {"level": "error", "time": T + 0.5}),
    ("2026-11-30T19:41:58.500Z\tx y", "x y", ["rfc3339"], {"time": T + 0.5}),
    ("[ERROR] 2026-11-30-19:41:58 (PID:53, Device:0, RankID:1) x", "x", ["python-log"], {"pid": 53, "rank": 1, "time": T}),
    ("[ERROR] 2026-11-30-19:41:58 (PID:53, Device:-1, RankID:-1) x", "x", ["python-log"], {"level": "error", "rank": None}),
    ("[\u4e00 11\u6708 30 19:41:58 2026] x", "x", ["dmesg"], {"time": T}),
    ("[\u4e09 9\u6708  6 19:41:58 2026] x", "x", ["dmesg"], {}),
    ("0|vllm     | x", "x", ["pm2"], {"component": "vllm"}),
    ("(node-2, head, rank=0, pid=23862) x", "x", ["ray"], {"pid": 23862}),
    # a prefix of which the copying lost the first character
    ("EngineCore_DP0 pid=7) ERROR 11-30 19:41:58 [a.py:1] x", "x", ["vllm", "vllm-log"], {"component": "EngineCore_DP0"}),
    ("VllmWorkerProcess pid=7) ERROR 11-30 19:41:58 a.py:1] x", "x", ["vllm", "vllm-log"], {"pid": 7}),
    ("ServeController pid=7, ip=10.0.0.2) ERROR x", "ERROR x", ["ray"], {"pid": 7, "node": "10.0.0.2"}),
    # colours whose escape byte became another character, or was written out
    *(
        (f"{esc}[1;36m(EngineCore pid=7){esc}[0;0m x", "x", ["vllm"], {"pid": 7})
        for esc in ("\ufffd", "\u2190", "^[", "\\x1b", "\\u001b")
    ),
    # deeper
    (
        "node1: vllm-1  | 2026-11-30T19:41:58Z (EngineCore pid=3) (A pid=4, ip=10.1.1.1) [rank3]:[E1130 19:41:58.25 a.cpp:1] x",
        "x",
        ["pdsh", "compose", "rfc3339", "vllm", "ray", "torch-rank", "c10-log"],
        {"node": "10.1.1.1", "container": "vllm-1", "rank": 3, "pid": 4, "time": T, "clock": "utc"},
    ),
    # carriage returns and progress bars
    ("(EngineCore pid=3) \rLoading 10%\rLoading 20%\r", "Loading 20%", ["vllm"], {"pid": 3}),
    ("INFO 11-30 19:41:58 [core.py:12] x\r\n", "x", ["vllm-log"], {}),
    ("10%\r(EngineCore pid=3) x", "x", ["vllm"], {}),
    ("Loading:   0% | 0/15 [00:00<?, ?it/s][2026-11-30 19:41:58] Parameter x", "Parameter x", ["timestamp"], {"time": T}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "text", "layers", "known"), LINES, ids=[f"{n}-{row[2][0]}" for n, row in enumerate(LINES)])
def test_line(line: str, text: str, layers: list[str], known: dict[str, Any]) -> None:
    peeled = peel(line)
    assert (peeled.text, peeled.layers) == (text, layers)
    for name, value in known.items():
        found = getattr(peeled, name)
        assert found == (pytest.approx(value, abs=1e-5) if isinstance(value, float) else value), name


NOT_PREFIXES = [
    "",
    " ",
    "Error: foo",
    "error: foo",
    "ERROR: foo",
    "INFO: foo",
    "CRITICAL: foo",
    "WARNING: foo",
    "[WARNING] x",
    "[ERROR] x",
    "a | b",
    "foo   | bar  | baz",
    "Fan  Temp   Perf | Bus-Id",
    "| 0  NVIDIA H100 | 00000000:01:00.0 |",
    "3: something",
    "0|vllm|x",
    "1| 2 | 3",
    "19:41 x",
    "[19:41:58",
    "19:41:58,x",
    "19:41:58> x",
    "99:41:58 x",
    "EngineCore pid=7 died",
    "EngineCore pid=7 (died)",
    "The worker (Engine pid=7) x",
    "Process Engine pid=7) x",
    "\ufffd x",
    "a\ufffd[b]",
    "5: enp1s0f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000",
    "0: 12",
    "node-1: something happened",
    "gpu-11: | epoch 003: 41 / 1876 loss=2.610",
    "llama-3 model loaded",
    "vllm-0 was restarted: it failed",
    "    return func(*args, **kwargs)",
    '  File "/opt/vllm/x.py", line 1136, in run',
    "Traceback (most recent call last):",
    "torch.cuda.OutOfMemoryError: CUDA out of memory.",
    "ray.exceptions.RayTaskError(ValueError): ray::A.f() (pid=1, ip=10.0.0.1, actor_id=ab, repr=<A>)",
    "(pid=1, ip=10.0.0.1, actor_id=ab, repr=<A>)",
    "(no pending nodes)",
    "(global lru) capacity: 209715200",
    "[state-dump] NodeManager:",
    ":actor_name:Foo",
    ":job_id:01000000",
    "[0]:",
    "[llm3]: something",
    "[warning]: x",
    "EVENTS\tx",
    "EVENTS\t1796067719150\tx",
    "a\tb\tc",
    "[0] text: [1, 2]",
    "[1m] > 3",
    "[0.5] x",
    "[1, 2, 3]",
    "[Rank 3] Watchdog caught collective operation timeout",
    "[c10d] The client socket has timed out",
    "[Gloo] Rank 0 is connected",
    "[  5620]     0  5620   569961   201271 python",
    "<module>",
    "<6>1 apples",
    "frame #1: c10::Error",
    "NCCL version 2.22.3+cuda12.6",
    "NCCL WARN Cuda failure 'out of memory'",
    "Mar a Lago: x",
    "May 5 things happen: yes",
    "kern: x",
    "kernel: x",
    "2026-11-30",
    "2026-11-30T19:41:58",
    "10.0.0.1:8000 is busy",
    '127.0.0.1:43232 - "GET /health HTTP/1.1" 200 OK',
    "4,5,6,7",
    "E1130",
    "EXCEPTION: x",
    "ERROR:3:x",
    "{'a': 1}",
    '{"a": 1}',
    "rate(x[1m]) > 3",
    "x[repeated 3x across cluster]",
    "Loading safetensors checkpoint shards: 100% Completed | 5/5 [01:03<00:00, 12.76s/it]",
    "bash: line 1:     6 Killed                  python eat.py",
    "slurmstepd: error: *** STEP 771298.4 ON cn121 CANCELLED",
]


@pytest.mark.parametrize("line", NOT_PREFIXES)
def test_near_miss(line: str) -> None:
    peeled = peel(line)
    assert (peeled.text, peeled.layers) == (line, [])


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("2026-11-30T19:41:58Z gpu-check: ok 4 gpus", "gpu-check: ok 4 gpus"),
        ("2026-11-30T19:41:58.123456789Z some words: text", "some words: text"),
        ("2026-11-30T19:41:58Z WARNING: foo", "WARNING: foo"),
        ("(APIServer pid=1) Error: foo", "Error: foo"),
        ("INFO 11-30 19:41:58 [logger.py:4] [  1.234567] NVRM: Xid", "[  1.234567] NVRM: Xid"),
        ("INFO 11-30 19:41:58 [logger.py:4] (raylet) Out of memory", "(raylet) Out of memory"),
        ("[  123.456789] (raylet) x", "(raylet) x"),
    ],
)
def test_stops_at_the_message(line: str, text: str) -> None:
    """What stands behind a logger's header is the message, whatever it looks like."""
    assert peel(line).text == text


@pytest.mark.parametrize(
    ("layer", "line", "text", "known"),
    [
        ("srun", "3: loss 2.1", "loss 2.1", {"rank": 3}),
        ("compose", "vllm  | loss | 2.1", "loss | 2.1", {"container": "vllm"}),
        ("pdsh", "gpu-11: | epoch 003", "| epoch 003", {"node": "gpu-11"}),
        ("stern", "vllm-7d8c5c9f-2mxvk vllm hello", "hello", {"container": "vllm-7d8c5c9f-2mxvk/vllm"}),
        ("bracketed", "[gpu-07]: hello", "hello", {"node": "gpu-07"}),
        ("torch-elastic", "[llm3]:  hello", "  hello", {"rank": 3}),
        ("numbered", "  12 |   hello", "  hello", {}),
        ("numbered", "12:hello", "hello", {}),
        ("indented", "      hello", "  hello", {}),
        ("indented", "\thello", "hello", {}),
    ],
)
def test_hint_trusts_a_label(layer: str, line: str, text: str, known: dict[str, Any]) -> None:
    assert peel(line).text == line
    peeled = peel(line, [layer])
    assert (peeled.text, peeled.layers) == (text, [layer])
    for name, value in known.items():
        assert getattr(peeled, name) == value
    assert peel("RuntimeError: x", [layer]).text == "RuntimeError: x"


PREFIXES = [
    "2026-11-30T19:41:58.123456789Z ",
    "2026-11-30T19:41:58.123456789Z stderr F ",
    "vllm-1  | ",
    "[pod/vllm-0/vllm] ",
    "Nov 30 19:41:58 node-a vllm[118]: ",
    "2026-11-30T19:41:58+0000 node-a vllm[118]: ",
    "(RayWorkerWrapper pid=11, ip=10.0.0.2) ",
    "(Worker_TP1 pid=7) ",
    "[rank3]: ",
    "\x1b[1;36m(EngineCore_DP0 pid=94)\x1b[0;0m ",
]
MESSAGES = [row for row in NOT_PREFIXES if row.strip() and "[repeated" not in row]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PREFIXES), max_size=4), st.sampled_from(MESSAGES))
def test_any_stack_of_transports_comes_off(prefixes: list[str], message: str) -> None:
    peeled = peel("".join(prefixes) + message)
    assert peeled.text == message
    assert len(peeled.layers) == len(prefixes)


@settings(deadline=None)
@given(st.lists(st.sampled_from(PREFIXES), max_size=4), st.sampled_from(LINES))
def test_stack_over_any_line(prefixes: list[str], row: tuple[str, str, list[str], dict[str, Any]]) -> None:
    """Transports in front never change the message, nor the level and the rank that are told further in."""
    line, _, layers, _ = row
    if len(prefixes) + len(layers) > MAX_LAYERS or "\r" in line or {"srun", "pdsh", "stern"} & set(layers):
        return
    bare, wrapped = peel(line), peel("".join(prefixes) + line)
    assert wrapped.text == bare.text
    assert wrapped.layers[len(prefixes) :] == bare.layers
    assert wrapped.level == bare.level
    if bare.rank is not None:
        assert wrapped.rank == bare.rank


ANY = st.one_of(
    st.text(max_size=200),
    st.lists(st.one_of(st.sampled_from(PREFIXES + [r[0] for r in LINES]), st.text(max_size=5)), max_size=5).map("".join),
    st.text(alphabet="[](){}<>|:=,;. -+'\"0123456789TZEWIabcpidrank\x1b\r\t\u0660\u00e4\ufeff", max_size=80),
)


@settings(deadline=None, max_examples=600)
@given(ANY, st.sampled_from([None, ["srun", "compose", "pdsh", "stern"], ["nonsense"]]))
def test_never_raises_and_only_cuts(line: str, hint: list[str] | None) -> None:
    peeled = peel(line, hint)
    assert peeled.text in strip_escapes(line)
    assert len(peeled.layers) <= MAX_LAYERS + 1
    assert (peeled.time is None) == (peeled.clock is None)
    assert peeled.count >= 1
    assert "\r" not in peeled.text
    if not peeled.layers and "\r" not in line and not line.endswith("\n"):
        assert peeled.text == strip_escapes(line).removeprefix("\ufeff")
        if strip_escapes(peeled.text) == peeled.text:  # removing one escape sequence can form another
            assert peel(peeled.text, hint).text == peeled.text.removeprefix("\ufeff")


@settings(deadline=None)
@given(st.sampled_from([r[0] for r in LINES]))
def test_same_answer_twice(line: str) -> None:
    assert peel(line) == peel(line)


def test_cutting_a_line_anywhere_is_safe() -> None:
    for line, *_ in LINES:
        for end in range(len(line)):
            assert peel(line[:end]).text in strip_escapes(line[:end])


@pytest.mark.parametrize(
    "unit", ["(", "[", "a-0 ", "1,", '<34>1 - a b c d ["', "| ", "\x1b[", "\r", "a: ", "it/s]", '{a=""', "3: "]
)
def test_long_lines_stay_cheap(unit: str) -> None:
    peel(unit * 100_000)


# JSON lines

JSON: list[tuple[bytes, str, dict[str, Any]]] = [
    (
        b'{"log":"a \\u003cb\\u003e\\n","stream":"stderr","time":"2026-11-30T19:41:58.25Z"}',
        "a <b>\n",
        {"layer": "docker-json", "stream": "stderr", "time": T + 0.25, "clock": "utc", "partial": None},
    ),
    (
        b'{"log":"x\\n","stream":"stdout","attrs":{"tag":"vllm"},"time":"2026-11-30T19:41:58Z"}\r\n',
        "x\n",
        {"layer": "docker-json", "container": "vllm"},
    ),
    (
        b'{"MESSAGE":"x","__REALTIME_TIMESTAMP":"1796067718250000","_HOSTNAME":"n1","SYSLOG_IDENTIFIER":"vllm","_PID":"12","PRIORITY":"3"}',
        "x",
        {"layer": "journald", "node": "n1", "component": "vllm", "pid": 12, "level": None, "time": T + 0.25, "clock": "utc"},
    ),
    (
        b'{"MESSAGE":[226,130,172,10,255],"__REALTIME_TIMESTAMP":"1796067718250000","_TRANSPORT":"stdout"}',
        "\u20ac\n\ufffd",
        {"layer": "journald"},
    ),
    (
        b'{"MESSAGE":"x","__CURSOR":"s","CONTAINER_NAME":"vllm","_PID":"1893","SYSLOG_IDENTIFIER":"4be1f0c7a92d","PRIORITY":"3"}',
        "x",
        {"layer": "journald", "container": "vllm"},
    ),
    (
        b'{"MESSAGE":"NVRM: Xid","_TRANSPORT":"kernel","PRIORITY":"4","SYSLOG_IDENTIFIER":"kernel"}',
        "NVRM: Xid",
        {"layer": "dmesg", "component": "kernel", "level": "warning"},
    ),
    (b'   {"pri":3,"time":2053.610905,"msg":"x"},', "x", {"layer": "dmesg", "time": 2053.610905, "level": "error"}),
    # stern puts a message that is a record of the journal in as it is
    (
        b'{"pod":"p","container":"c","message":{"MESSAGE":"x","__CURSOR":"s","_HOSTNAME":"n1","_PID":"7","_COMM":"dockerd"}}',
        "x",
        {"layer": "json", "container": "p/c", "node": "n1", "pid": 7, "component": "dockerd"},
    ),
    (
        b'{"asctime": "2026-11-30 19:41:58,250", "levelname": "ERROR", "process": 7, "message": "x"}',
        "x",
        {"layer": "json", "level": "error", "pid": 7, "time": T + 0.25, "clock": "local"},
    ),
    (b'{"asctime":"11-30 19:41:58","levelname":"INFO","message":"x"}', "x", {"time": N, "clock": "no-year"}),
    (b'{"message":"x","exc_info":"Traceback\\nValueError: y"}', "x\nTraceback\nValueError: y", {}),
    # what failed, beside the message
    (b'{"level":"error","msg":"Reconciler error","error":"pods is forbidden"}', "Reconciler error\npods is forbidden", {}),
    (b'{"msg":"x: y","error":"y"}', "x: y", {}),
    (b'{"msg":"x","error":null,"err":"","reason":"nil"}', "x", {}),
    (b'{"msg":"x","error":7,"err":["y"],"stack":true}', "x", {}),
    (b'{"msg":"x","err":{"type":"ValueError","message":"y"}}', "x\nValueError: y", {}),
    (b'{"msg":"x","err":{"type":"E","message":"y","stack":"E: y\\n at f"}}', "x\nE: y\n at f", {}),
    (b'{"message":"x","error.message":"y","error.stack_trace":"y at f"}', "x\ny\ny at f", {}),
    (b'{"msg":"x","state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}', "x\nReason: OOMKilled\nExit Code: 137", {}),
    (b'{"msg":"x","terminated":{"exitCode":1}}', "x\nExit Code: 1", {}),
    (b'{"msg":"x","state":{"running":{"startedAt":"y"}},"lastState":{}}', "x", {}),
    (
        b'{"msg":"x","Ray container terminated status":"&ContainerStateTerminated{ExitCode:137,Signal:0,Reason:OOMKilled,}"}',
        "x\nReason: OOMKilled\nExit Code: 137",
        {},
    ),
    (b'{"msg":"x","prompt":"y","text":"y","content":"y","errors":"y","input":{"error":"y"}}', "x", {}),
    (
        b'{"timestamp":"1796067718","severity":"INFO","label":"RAY","source_hostname":"n1","source_pid":31,"source_type":"GCS","message":"x"}',
        "x",
        {"time": T, "node": "n1", "pid": 31, "component": "GCS", "level": "info"},
    ),
    (
        b'{"line":"x","timestamp":"1796067718250000000","labels":{"pod":"vllm-0","container":"vllm","node":"n1"}}',
        "x",
        {"container": "vllm-0/vllm", "pod": "vllm-0", "node": "n1", "time": T + 0.25},
    ),
    (b'{"timestamp":1796067718250,"message":"x","ingestionTime":1796067719000}', "x", {"time": T + 0.25, "clock": "utc"}),
    (b'{"attributes":{"message":"x","status":"error","host":"n1","service":"vllm"}}', "x", {"level": None, "node": "n1"}),
    (
        b'{"log":"x","stream":"stdout","kubernetes":{"pod_name":"v-0","container_name":"c","host":"n1"},"@timestamp":"2026-11-30T19:41:58Z"}',
        "x",
        {"container": "v-0/c", "node": "n1", "time": T, "stream": "stdout"},
    ),
    (
        (
            b'{"timeUnixNano":"1796067718250000000","severityText":"WARN","body":{"stringValue":"x"},'
            b'"attributes":[{"key":"k8s.pod.name","value":{"stringValue":"v-0"}},{"key":"process.pid","value":{"intValue":"9"}}]}'
        ),
        "x",
        {"layer": "otel-json", "level": "warning", "pod": "v-0", "pid": 9, "time": T + 0.25},
    ),
    (b'{"textPayload":"x","resource":{"labels":{}},"severity":"ERROR"}', "x", {"level": None}),  # it was on stderr
    (b'{"jsonPayload":{"message":"x","level":"WARNING"},"severity":"DEFAULT"}', "x", {"level": "warning"}),
    (
        b'{"message":"x","nodeName":"n1","namespace":"p","podName":"v-0","containerName":"c"}',
        "x",
        {"node": "n1", "container": "v-0/c"},
    ),
    (b'{"pod":"v-0","container":"c","message":{"msg":"x","level":"error"}}', "x", {"container": "v-0/c", "level": "error"}),
    (b'data: {"MESSAGE":"x","__CURSOR":"s","_HOSTNAME":"n1"}', "x", {"node": "n1"}),
    (b'\x1e{"MESSAGE":"x","__CURSOR":"s"}', "x", {}),
    (
        b'{"Computer":"n1","ContainerName":"c","PodName":"v-0","LogMessage":"x","LogLevel":"info","TimeGenerated":"2026-11-30T19:41:58Z"}',
        "x",
        {"node": "n1", "container": "v-0/c", "level": None, "time": T},
    ),
    (
        b'{"_source":{"message":"x","host":{"name":"h"},"kubernetes":{"pod":{"name":"v-0"},"container":{"name":"c"},"node":{"name":"n1"}}}}',
        "x",
        {"container": "v-0/c", "node": "h"},
    ),
    (
        b'{"attributes":{"message":"x","tags":["pod_name:v-0","kube_container_name:c"],"timestamp":"2026-11-30T19:41:58Z"}}',
        "x",
        {"container": "v-0/c", "time": T},
    ),
    (b'{"asctime":"2026-11-30 19:41:58,250","levelname":"E","message":"x","component":"raylet"}', "x", {"level": "error"}),
    (b'{"message":"x","exc_text":"Traceback\\nValueError: y","process":7}', "x\nTraceback\nValueError: y", {"pid": 7}),
    ("{\u201cmessage\u201d:\u201cx\u201d}".encode(), "x", {}),
    (b"{&quot;message&quot;:&quot;a &amp;lt; b&quot;}", "a &lt; b", {}),
    (b'{"message":"\x1b[31mx\x1b[0m"}', "x", {}),
    (b'{"log":"x","stream":"stdout","time":"2026-11-30T19:41:58Z"}', "x", {"partial": True}),
    (b'{"level":"info","ts":1796067718.25,"msg":"x"}', "x", {"level": "info", "time": T + 0.25}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "text", "known"), JSON)
def test_json_line(line: bytes, text: str, known: dict[str, Any]) -> None:
    decoded = decode_json_line(line)
    assert decoded is not None
    assert decoded[0] == text
    for name, value in known.items():
        found = decoded[1].get(name)
        assert found == (pytest.approx(value, abs=1e-5) if isinstance(value, float) else value), name


def test_a_container_hides_dockerd() -> None:
    decoded = decode_json_line(JSON[4][0])
    assert decoded is not None
    assert not {"pid", "component", "level"} & decoded[1].keys()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"x",
        b"{",
        b"{}",
        b"{x}",
        b"[1]",
        b'{"a":1}',
        b'{"message":3}',
        b"{'message': 'x'}",
        b'{"message":"x"',
        b'"x"',
        b"\xff\xfe{",
    ],
)
def test_not_a_json_log_line(line: bytes) -> None:
    assert decode_json_line(line) is None


_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.integers(-3, 300), max_size=3)
)
_KEYS = st.sampled_from(
    [
        "log",
        "time",
        "stream",
        "attrs",
        "MESSAGE",
        "__REALTIME_TIMESTAMP",
        "_TRANSPORT",
        "PRIORITY",
        "pri",
        "msg",
        "message",
        "body",
        "attributes",
        "level",
        "labels",
        "host",
        "pid",
        "rank",
        "timestamp",
        "severityText",
        "kubernetes",
        "resource",
        "stringValue",
    ]
)


@settings(deadline=None)
@given(st.dictionaries(_KEYS, st.one_of(_SCALARS, st.dictionaries(_KEYS, _SCALARS, max_size=4)), max_size=6))
def test_json_never_raises(record: dict[str, Any]) -> None:
    decoded = decode_json_line(json.dumps(record).encode())
    assert decoded is None or isinstance(decoded[0], str)


@pytest.mark.parametrize("value", ["1" + "0" * 400, "-1", "1e999", "NaN", "true", "null", '"\\ud800"', "[" * 500 + "]" * 500])
def test_json_odd_values(value: str) -> None:
    for record in (
        '{"message":"x","time":%s}',
        '{"msg":"x","pri":1,"time":%s}',
        '{"MESSAGE":"x","_TRANSPORT":"kernel","PRIORITY":%s}',
    ):
        decoded = decode_json_line((record % value).encode())
        assert decoded is None or decoded[0] == "x"


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_json_of_any_bytes(line: bytes) -> None:
    decode_json_line(b"{" + line + b"}")
