"""Several files of one crash: which container and which life each line is about, on one time line; and logs that just stop."""

from __future__ import annotations

import importlib
import io
import json
import random
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from corpus import SAMPLES, Case, cases, classifier, report
from tiny import classifier as tiny_classifier
from tiny import fingerprint, indicator

from vllm_crashsig import Report, classify_paths
from vllm_crashsig.cli import run
from vllm_crashsig.documents import BESIDE, document_kind
from vllm_crashsig.documents.reading import read_document

try:
    zstd: Any = importlib.import_module("compression.zstd")
except ImportError:
    zstd = importlib.import_module("backports.zstd")

INCIDENTS = SAMPLES / "incidents"
HEALTHY = SAMPLES / "healthy"
POD = "vllm-llama-6c9d7f8b5d-x2k9q"
UID = "3b1f6c2e-8a54-4b0e-9d6c-5f1f0e7a9c21"


def classify(*paths: Path, exit_status: int | None = None) -> Report:
    return classify_paths(paths, classifier(), exit_status=exit_status)


def told(found: Report) -> str:
    """The verdict in one word: the first cause's id, where there is a crash."""
    return found.cause.id if found.cause and found.verdict == "crash" else found.verdict


def incident(name: str) -> Case:
    return next(case for case in cases() if case.name == name)


def put(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def fields(data: str | bytes, word: str) -> list[dict[str, Any]]:
    """What a document tells of its lines that hold a word."""
    raw = data if isinstance(data, bytes) else data.encode()
    kind = document_kind(raw)
    assert kind is not None
    document = read_document(kind, raw)
    assert document is not None
    return [line.fields or {} for line in document.lines if word.encode() in line.text]


# --- Documents -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "layer"),
    [
        ("docker-neighbour-oom/inspect.json", "json", "docker-inspect"),
        ("podman-oom-flag-false/inspect.json", "json", "podman-inspect"),
        ("k8s-137-no-oom/pod.json", "json", "kubernetes-object"),
        ("k8s-oom-former-instance/pod.yaml", "yaml", "kubernetes-object"),
        ("k8s-node-oom/describe.txt", "describe", "kubectl-describe"),
        ("k8s-node-oom/events.json", "json", "kubernetes-object"),
        ("docker-neighbour-oom/docker-ps.txt", "docker-ps", "docker-ps"),
        ("docker-neighbour-oom/docker-events.txt", "docker-events", "docker-events"),
        ("docker-kill-at-start/docker-events.json", "docker-events-json", "docker-events-json"),
        ("../healthy/crictl-inspect.json", "json", "crictl-inspect"),
        ("../healthy/kubectl-pods.txt", "kubectl-pods", "kubectl-pods"),
        ("../healthy/kubectl-events.txt", "kubectl-events", "kubectl-events"),
    ],
)
def test_documents_are_known_by_their_content(name: str, kind: str, layer: str) -> None:
    data = (INCIDENTS / name).read_bytes()
    assert document_kind(data) == kind
    document = read_document(kind, data)
    assert document is not None
    assert {(line.fields or {})["layers"][0] for line in document.lines} == {layer}
    assert b"\n".join(line.text for line in document.lines) == data.removesuffix(b"\n"), "every line is there as it was"
    for line in document.lines:
        assert data[line.offset :].startswith(line.text)


@pytest.mark.parametrize("table", ["kubectl-pods.txt", "docker-ps-other-killed.txt"])
def test_what_is_pasted_below_a_table_is_none_of_its_rows(tmp_path: Path, table: str) -> None:
    rows = (HEALTHY / table).read_text()
    assert classify(put(tmp_path, "rows", rows)).verdict == "healthy", "what other containers died of counts for nothing"
    below = "\n$ kubectl logs vllm-llama-6c9d7f8b5d-x2k9q\nLoading shards 3/4 of the model below\n"
    failure = "Traceback (most recent call last):\nRuntimeError: CUDA error: device-side assert triggered\n"
    pasted = classify(put(tmp_path, "pasted", rows + below + failure))
    assert pasted.classifications[0].id == "cuda-device-assert"


@pytest.mark.parametrize("path", sorted(HEALTHY.glob("*.log")), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_logs_are_no_documents(path: Path) -> None:
    kind = document_kind(path.read_bytes()[: 1 << 16])
    assert kind is None or read_document(kind, path.read_bytes()) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"log":"INFO start\\n","stream":"stdout","time":"2026-11-30T19:58:33Z"}\n' * 3,
        '{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "vllm"}}\n',
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: vllm\n",
        "Name: vllm\nthe rest is prose\n",
        "[\n]\n",
        '{"Id": "x", "State": 1',
        "",
    ],
)
def test_what_is_no_document(text: str) -> None:
    kind = document_kind(text.encode())
    assert kind is None or read_document(kind, text.encode()) is None


def test_state_and_last_state_have_times_of_their_own() -> None:
    for name in ("pod.yaml",):
        data = (INCIDENTS / "k8s-old-oom-new-cause" / name).read_text()
        now, before = fields(data, "exitCode: 1\n"[:-1]), fields(data, "exitCode: 137")
        assert [f["container"] for f in (*now[:1], *before)] == [f"{POD}/vllm"] * 2
        assert before[0]["time"] < now[-1]["time"] - 3600
        assert "container-state" not in before[0]["layers"]
        assert "container-state" in now[-1]["layers"]


@pytest.mark.parametrize("name", ["describe.txt", "pod.json"])
def test_all_forms_of_a_pod_say_the_same(name: str) -> None:
    case = "k8s-node-oom" if name == "describe.txt" else "k8s-137-no-oom"
    data = (INCIDENTS / case / name).read_text()
    word = "Exit Code:" if name == "describe.txt" else '"exitCode"'
    (found,) = fields(data, word)
    assert (found["container"], found["node"], found["time"], found["clock"]) == (f"{POD}/vllm", "gpu-03", 1796093999.0, "utc")


def test_a_container_that_runs_again_has_no_end() -> None:
    inspect = (INCIDENTS / "docker-restart-loop-silent/inspect.json").read_text()
    assert '"Running": true' in inspect
    assert all("time" not in f for f in fields(inspect, '"ExitCode"'))
    (ended,) = fields((INCIDENTS / "docker-kill-at-start/inspect.json").read_text(), '"ExitCode"')
    assert ended["time"] == pytest.approx(1796093999.2, abs=1)


def test_helpers_and_other_pods_stand_beside() -> None:
    pods = (INCIDENTS / "k8s-sidecar-oom/pods.json").read_text()
    beside = {f["container"] for f in fields(pods, "") if f.get("component") == BESIDE}
    assert beside == {f"{POD}/log-shipper"}
    both = (INCIDENTS / "docker-neighbour-oom/inspect.json").read_text()
    assert {f["container"] for f in fields(both, "") if f.get("component") == BESIDE} == {"notebook"}
    nobody_serves = re.sub("vllm|Llama|llama", "tool", both)
    assert not [f for f in fields(nobody_serves, "") if f.get("component") == BESIDE], "where nobody serves, all count"


def test_init_containers_do_not_stand_beside() -> None:
    pod = json.loads((INCIDENTS / "k8s-137-no-oom/pod.json").read_text())
    pod["spec"]["initContainers"] = [{"name": "fetch", "image": "busybox"}]
    pod["status"]["initContainerStatuses"] = [
        {"name": "fetch", "state": {"terminated": {"exitCode": 1, "reason": "OOMKilled"}}}
    ]
    assert [f.get("component") for f in fields(json.dumps(pod, indent=4), "OOMKilled")] == [None]


@pytest.mark.parametrize("form", ["compact", "crlf", "bom", "utf-16", "cut", "state"])
def test_other_forms_of_an_inspect_record(tmp_path: Path, form: str) -> None:
    text = (INCIDENTS / "docker-kill-at-start/inspect.json").read_text()
    data = {
        "compact": json.dumps(json.loads(text)).encode(),
        "crlf": text.replace("\n", "\r\n").encode(),
        "bom": b"\xef\xbb\xbf" + text.encode(),
        "utf-16": text.encode("utf-16"),
        "cut": text[: text.index('"Mounts"')].encode(),
        "state": json.dumps(json.loads(text)[0]["State"]).encode(),
    }[form]
    found = classify(put(tmp_path, "x", data))
    assert told(found) == "sigkill-unexplained.not-oom"
    assert found.cause
    assert {e.line for e in found.cause.evidence} == ({1} if form in ("compact", "state") else {24, 27})
    assert found.cause.evidence[0].time == pytest.approx(1796093999.2, abs=1)


def test_exit_codes_of_health_checks_are_none_of_the_container(tmp_path: Path) -> None:
    record = json.loads((HEALTHY / "docker-inspect-running.json").read_text())
    probe = {"Start": "2026-12-01T03:00:00Z", "End": "2026-12-01T03:00:01Z", "ExitCode": 1, "Output": "curl: (7) Failed"}
    record[0]["State"]["Health"] = {"Status": "unhealthy", "FailingStreak": 3, "Log": [probe]}
    found = classify(put(tmp_path, "x", json.dumps(record, indent=4)))
    assert found.verdict == "healthy"
    record[0]["State"].update(Running=False, ExitCode=1)
    assert classify(put(tmp_path, "y", json.dumps(record, indent=4))).verdict == "unclassified"


# --- Cases ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in cases()])
def test_names_and_order_of_files_tell_nothing(tmp_path: Path, case: Case) -> None:
    paths = list(case.paths)
    random.Random(case.name).shuffle(paths)
    renamed = [put(tmp_path, f"{i}", p.read_bytes()) for i, p in enumerate(paths)]
    assert told(classify(*renamed)) == told(report(*case.paths))


def test_one_file_settles_what_another_leaves_open() -> None:
    """A worker is gone; the runtime says OOMKilled of something in the container; the kernel says which process."""
    files = {p.name: p for p in incident("docker-worker-oom-exit-0").paths}
    assert told(classify(files["vllm.log"])) == "sigkill-unexplained"
    assert told(classify(files["vllm.log"], files["inspect.json"])) == "cgroup-oom-kill"
    found = classify(*files.values())
    assert found.cause
    assert (found.cause.facts["process"], found.cause.facts["pid"]) == ("VLLM::Worker", 18789), "the pid is the host's"
    assert any("docker update --memory" in (s.command or "") for s in found.cause.remediation.immediate)
    assert any("2.44 GiB" in s.text for s in found.cause.remediation.immediate), "the limit that was found is named"


def test_kills_of_others_count_for_nothing() -> None:
    for name, cause in (
        ("docker-neighbour-oom", "sigkill-unexplained.not-oom"),
        ("docker-sigill-neighbour-oom", "sigkill-unexplained.silent"),
        ("k8s-liveness-neighbour-oom", "liveness-kill"),
    ):
        found = report(*incident(name).paths)
        assert found.cause
        assert found.cause.id == cause
        assert all(c.confidence < 0.3 for c in found.classifications if c.id.startswith("cgroup-oom-kill")), name


def test_the_kernel_decides_against_the_flag(tmp_path: Path) -> None:
    """Podman says OOMKilled false, and so would Docker of a kill for the whole machine: the kernel names the container."""
    files = {p.name: p for p in incident("podman-oom-flag-false").paths}
    assert told(classify(files["ctr.log"], files["inspect.json"])) == "sigkill-unexplained.not-oom"
    found = classify(*files.values())
    assert told(found) == "cgroup-oom-kill"
    other = put(tmp_path, "dmesg", files["dmesg-T.txt"].read_text().replace("4dbe5060b296", "00005060b296"))
    assert told(classify(files["ctr.log"], files["inspect.json"], other)) == "sigkill-unexplained.not-oom"


def test_a_former_instance_of_the_pod_is_known_by_the_pod(tmp_path: Path) -> None:
    files = {p.name: p for p in incident("k8s-oom-former-instance").paths}
    killed = "9f2c4a7e1b3d5f60819a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f70"
    kernel = files["node-dmesg.txt"].read_text()
    assert killed in kernel
    older = put(tmp_path, "older", kernel.replace(killed, "12" * 32))  # an instance that the Pod tells nothing of any more
    assert told(classify(files["previous.log"], older, files["pod.yaml"])) == "cgroup-oom-kill"
    foreign = kernel.replace(killed, "12" * 32).replace(UID.replace("-", "_"), "00000000_1111_4222_8333_444444444444")
    silent = put(tmp_path, "pod.yaml", files["pod.yaml"].read_text().replace("reason: OOMKilled", "reason: Error"))
    found = classify(files["previous.log"], put(tmp_path, "foreign", foreign), silent)
    assert told(found) == "sigkill-unexplained.pod-not-oom"


# --- Time ----------------------------------------------------------------------------------------------------------------


def test_each_life_has_its_own_kill() -> None:
    """The server's log has UTC, the kernel's counts from the boot; what the runtime says of the same kills ties them."""
    found = report(*incident("docker-restart-loop-silent").paths)
    assert [(i.repeats, i.ended) for i in found.incidents] == [(3, "failure")]
    assert found.cause
    kills = {e.source.rpartition("/")[2]: e.time for e in found.cause.evidence if e.time is not None}
    assert kills["dmesg.txt"] == pytest.approx(kills["docker-events.txt"], abs=2)
    assert {e.clock for e in found.cause.evidence if e.source.endswith("dmesg.txt")} == {"utc"}


def test_an_old_kill_is_another_instances() -> None:
    found = report(*incident("k8s-old-oom-new-cause").paths)
    assert [i.classifications[0].id for i in found.incidents] == ["cgroup-oom-kill", "kv-cache-no-memory.cpu-backend"]
    assert found.incidents[0].index == -1, "before the log begins"


KERNEL = """\
[    1.104000] rtc_cmos 00:04: setting system clock to 2026-11-30T08:00:00 UTC (1796025600)
[ {at}] Out of memory: Killed process 4711 (python3) total-vm:91233412kB, anon-rss:60123452kB, file-rss:0kB, shmem-rss:12kB
"""


def docker_json(path: Path) -> str:
    """A log of the samples as Docker's json-file has it, in UTC from noon on."""
    lines = path.read_text().splitlines()
    return "".join(
        json.dumps({"log": line + "\n", "stream": "stdout", "time": f"2026-11-30T12:{i // 60:02d}:{i % 60:02d}.5Z"}) + "\n"
        for i, line in enumerate(lines[:900])
    )


@pytest.mark.parametrize(
    ("at", "expected"),
    [("14460.000000", "host-oom-kill"), ("9000.000000", "healthy"), ("60.000000", "healthy")],
    ids=["during", "long before", "at the boot"],
)
def test_a_boot_clock_with_a_date_tells_old_kills(tmp_path: Path, at: str, expected: str) -> None:
    start = "\n".join((HEALTHY / "vllm-healthy-sigterm.log").read_text().splitlines()[:30]) + "\n"
    log = put(tmp_path, "log", docker_json(put(tmp_path, "raw", start)))
    kernel = put(tmp_path, "kernel", KERNEL.format(at=at))
    found = classify(log, kernel)
    assert told(found) == expected
    if expected == "healthy":
        assert any("long before the log begins" in note.detail for note in found.trail)
    undated = put(tmp_path, "undated", KERNEL.format(at=at).partition("\n")[2])
    assert told(classify(log, undated)) == "host-oom-kill", "never left out for want of a clock"


def test_a_device_that_failed_before_the_log_begins_stays_broken(tmp_path: Path) -> None:
    start = "\n".join((HEALTHY / "vllm-healthy-sigterm.log").read_text().splitlines()[:30])
    broken = start + "\nRuntimeError: No CUDA GPUs are available\n"
    log = put(tmp_path, "log", docker_json(put(tmp_path, "raw", broken)))
    lost = "[ 9000.000000] NVRM: Xid (PCI:0000:81:00): 79, pid=4711, name=VLLM::Worker, GPU has fallen off the bus.\n"
    kernel = put(tmp_path, "kernel", KERNEL.partition("\n")[0] + "\n" + lost)
    assert told(classify(log, kernel)) == "gpu-fallen-off-bus"


def test_the_same_message_in_two_logs_ties_their_clocks(tmp_path: Path) -> None:
    tied = tiny_classifier(
        tmp_path / "catalogue",
        fingerprint("kill", "root", "Killed process", indicators={"other": indicator("segfault at", weight="supporting")}),
    )
    boot = "[ 5000.100000] Out of memory: Killed process 4711 (python3)\n[ 5030.000000] python3[99]: segfault at 0 ip 0000\n"
    utc = "2026-11-30T12:00:00,100000+00:00 Out of memory: Killed process 4711 (python3)\n"
    found = classify_paths([put(tmp_path, "a", boot), put(tmp_path, "b", utc)], tied)
    assert found.cause
    assert {(round(e.time or 0, 1), e.clock) for e in found.cause.evidence} == {(1796040000.1, "utc"), (1796040030.0, "utc")}
    twice = boot.splitlines(keepends=True)[0].replace("5000.1", "6000.1")
    found = classify_paths([put(tmp_path, "c", boot + twice), put(tmp_path, "d", utc)], tied)
    assert found.cause
    assert {e.clock for e in found.cause.evidence} == {"utc", "boot"}, "which of the two is it?"


# --- Silence -------------------------------------------------------------------------------------------------------------


START = incident("docker-kill-at-start")


def log_of(case: Case) -> Path:
    return next(p for p in case.paths if p.name == "vllm.log")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (137, "sigkill-unexplained"), (-9, "sigkill-unexplained"), (139, "segfault"), (-11, "segfault"), (134, "native-abort"),
        (132, "illegal-instruction"), (143, "healthy"), (130, "healthy"), (0, "healthy"), (1, "unclassified"),
        (255, "unclassified"), (127, "image-or-exec-error.exit-status"),
    ],
)  # fmt: skip
def test_an_exit_status_of_a_log_that_just_stops(status: int, expected: str) -> None:
    found = classify(log_of(START), exit_status=status)
    assert told(found) == expected
    if expected == "unclassified":
        (silent,) = found.silences
        assert (silent.line, silent.phase) == (len(log_of(START).read_text().splitlines()), "init")
        assert silent.signs == [f"it ended with exit status {status}"]
        commands = " ".join(s.command or "" for s in found.settle)
        assert "dmesg" in commands
        assert "docker inspect" in commands
    if expected == "healthy":
        assert found.silences == []


@pytest.mark.parametrize("option", ["--exit-code", "--exit-status"])
def test_the_exit_status_as_an_option(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["classify", str(log_of(START)), option, "1"]) == 3
    assert "stops at line 20 while starting, and it ended with exit status 1." in " ".join(capsys.readouterr().out.split())


def test_a_log_that_was_copied_while_the_server_ran_is_healthy() -> None:
    found = classify(log_of(START))
    assert (found.verdict, found.silences, found.settle) == ("healthy", [], [])
    assert [i.ended for i in found.incidents] == ["open"]


def test_a_start_after_a_start_shows_that_the_first_one_ended(capsys: pytest.CaptureFixture[str]) -> None:
    log = log_of(incident("docker-restart-loop-silent"))
    found = classify(log)
    assert found.verdict == "unclassified", "no line shows a failure, but nobody restarts a server twice like that"
    assert found.classifications == []
    assert [u.headline.partition(":")[0] for u in found.unclassified] == ["started again and again"]
    assert [i.ended for i in found.incidents] == ["silent", "silent", "open"]
    assert [s.phase for s in found.silences] == ["init", "init"]
    lines = log.read_text().splitlines()
    for silent in found.silences:
        assert "version 0.32.0" in lines[silent.line] or "api_utils" in lines[silent.line], "the next line is the next start's"
    assert run(["classify", str(log)]) == 3
    text = " ".join(capsys.readouterr().out.split())
    assert f"stops at line {found.silences[0].line} while starting, and another start follows" in text
    assert "What would settle it" in text


def test_two_servers_in_one_log_are_no_restart(tmp_path: Path) -> None:
    """Their banners come from two processes."""
    start = log_of(START).read_text()
    other = start.replace("pid=1)", "pid=77)")
    mixed = "".join(a + b for a, b in zip(start.splitlines(True), other.splitlines(True), strict=True))
    assert classify(put(tmp_path, "x", mixed)).silences == []


OLD_START = """\
INFO 11-30 19:{m}:01 [__init__.py:239] Automatically detected platform cuda.
INFO 11-30 19:{m}:04 [api_server.py:1043] vLLM API server version 0.8.5
INFO 11-30 19:{m}:19 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: model='m', tensor_parallel_size=1
INFO 11-30 19:{m}:27 [gpu_model_runner.py:1329] Starting to load model m...
"""


def test_a_banner_without_a_pid_that_comes_again(tmp_path: Path) -> None:
    """Up to vLLM 0.9 no line of the server tells its pid."""
    loop = "".join(OLD_START.format(m=m) for m in (10, 12, 14))
    found = classify(put(tmp_path, "loop", loop))
    assert [(s.line, s.phase) for s in found.silences] == [(5, "weights-load"), (9, "weights-load")]
    both = "".join(line * 2 for line in OLD_START.format(m=10).splitlines(keepends=True))
    assert classify(put(tmp_path, "both", both)).silences == [], "two servers that start together"


OLD_LIFE = (
    OLD_START
    + """\
INFO:     Application startup complete.
INFO 11-30 19:{m}:40 [loggers.py:87] Engine 000: Avg prompt throughput: 5.1 tokens/s, Avg generation throughput: 9.4 tokens/s
INFO 11-30 19:{m}:50 [loggers.py:87] Engine 000: Avg prompt throughput: 5.1 tokens/s, Avg generation throughput: 9.4 tokens/s
"""
)
OLD_STOP = "INFO:     Shutting down\nINFO:     Application shutdown complete.\n"


def lives(*minutes: int, end: str = "", form: str = OLD_LIFE) -> list[str]:
    return [form.format(m=m) + end for m in minutes]


def test_lives_that_end_without_a_word_again_and_again_are_a_failure(tmp_path: Path) -> None:
    loop = classify(put(tmp_path, "loop", "".join(lives(10, 12, 14))))
    assert (loop.verdict, [i.ended for i in loop.incidents]) == ("unclassified", ["silent", "silent", "open"])
    assert loop.unclassified[0].count == 2
    assert loop.settle
    longer = classify(put(tmp_path, "longer", "".join(lives(10, 12, 14, 16))))
    assert [u.crash_id for u in longer.unclassified] == [u.crash_id for u in loop.unclassified], "however often"
    once = classify(put(tmp_path, "once", "".join(lives(10, 12))))
    assert (once.verdict, len(once.silences)) == ("healthy", 1), "one may be somebody's hand"


def test_a_failure_that_is_told_goes_before_lives_that_end_without_a_word(tmp_path: Path) -> None:
    first, second, third = lives(10, 12, 14)
    oom = "ERROR 11-30 19:14:55 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    assert told(classify(put(tmp_path, "x", first + second + third + oom))).startswith("cuda-oom")


@pytest.mark.parametrize(
    "log",
    [
        pytest.param("".join(lives(10, 12, 14, end=OLD_STOP)), id="stopped each time"),
        pytest.param("".join([*lives(10), *lives(12, end=OLD_STOP), *lives(14, 16)]), id="stopped in between"),
        pytest.param("".join(reversed(lives(10, 12, 14))), id="logs put together, the latest first"),
        pytest.param(
            "".join(day.replace("11-30", f"11-{n}") for n, day in enumerate(lives(10, 12, 14), 27)), id="a log of each day"
        ),
        pytest.param(
            "".join(
                line.replace("model m", f"model m{n}").replace("'m'", f"'m{n}'") for n, line in enumerate(lives(10, 12, 14))
            ),
            id="another model each time",
        ),
        pytest.param(
            OLD_START.format(m=10)
            + OLD_START.format(m=11)
            + OLD_LIFE.format(m=12)
            + "INFO:     Application startup complete.\n" * 2,
            id="three that start together",
        ),
        pytest.param(
            "".join(lives(10, 12, 14)).replace(
                "INFO:     Application", OLD_LIFE.splitlines()[-1].format(m=20) + "\nINFO:     Application"
            ),
            id="others work on",
        ),
        pytest.param(
            "".join(line for life in lives(10, 12, 14) for line in life.splitlines(True)[2:]), id="offline, one after the other"
        ),
        pytest.param("".join([*lives(10), *(OLD_LIFE.splitlines(True)[-1].format(m=m) for m in range(20, 50))]), id="rotated"),
    ],
)
def test_lives_that_are_no_restart_loop(tmp_path: Path, log: str) -> None:
    found = classify(put(tmp_path, "x", log))
    assert (found.verdict, found.unclassified) == ("healthy", [])


def test_logs_of_two_servers_behind_each_other_are_no_restart(tmp_path: Path) -> None:
    day = OLD_START.format(m=10) + "INFO:     Application startup complete.\nINFO 11-30 19:11:30 [loggers.py:87] x\n"
    later = OLD_START.format(m=12) + "INFO:     Application startup complete.\n"
    assert [s.line for s in classify(put(tmp_path, "restart", day + later)).silences] == [6]
    assert classify(put(tmp_path, "cat", later + day)).silences == []


def test_a_crash_loop_whose_log_shows_nothing(tmp_path: Path) -> None:
    pod = (INCIDENTS / "k8s-137-no-oom/pod.json").read_text()
    loop = pod.replace('"exitCode": 137', '"exitCode": 1').replace(
        '"running": {', '"waiting": {\n                        "reason": "CrashLoopBackOff",'
    )
    found = classify(log_of(START), put(tmp_path, "pod", loop))
    assert found.verdict == "unclassified"
    assert found.silences[0].signs == ["it ended with exit status 1", "its container is in a crash loop"]


def test_others_that_go_on_show_that_a_start_ended(tmp_path: Path) -> None:
    head = (HEALTHY / "vllm-healthy-sigterm.log").read_text().splitlines(keepends=True)
    up = "".join(head[: next(i for i, line in enumerate(head) if "Application startup complete" in line) + 1])
    later = [
        f"INFO 11-30 19:{50 + i}:00 [loggers.py:1] Engine 000: Avg generation throughput: 6.6 tokens/s\n" for i in range(9)
    ]
    worker = "".join(line for line in head[:30]).replace("APIServer pid=", "APIServer pid=9")
    found = classify(put(tmp_path, "head.log", up + "".join(later)), put(tmp_path, "worker.log", worker))
    assert [(Path(s.source).name, s.line) for s in found.silences] == [("worker.log", 30)]
    assert found.verdict == "healthy"
    assert classify(put(tmp_path, "h2", up + later[0].replace("19:50", "19:38")), tmp_path / "worker.log").silences == []


DONE = "Processed prompts: 100%|##########| 4/4 [00:01<00:00,  3.1it/s, est. speed input: 20.1 toks/s, output: 49.5 toks/s]\n"
DEAD = "ERROR 01-16 17:16:49 [core_client.py:605] Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.\n"
NEXT = "Processed prompts:  25%|##5       | 1/4 [00:00<00:00,  3.1it/s, est. speed input: 20.1 toks/s, output: 49.5 toks/s]\n"
GONE = "sigkill-unexplained.silent"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (DONE + "Prompt: 'Hello', Generated text: ' x'\n" + DEAD, None),
        (DONE + DONE + DEAD + DEAD.replace("DP0", "DP1"), None),
        ((NEXT + DONE) * 40 + DEAD, None),
        ((NEXT + DONE) * 40 + NEXT + DEAD, GONE),
        (DONE.replace("100", " 25").rstrip() + "\r" + DONE + DEAD, None),
        (DEAD, GONE),
        (DEAD + DONE, None),  # the work went on
        (DONE + NEXT + DEAD, GONE),
        (DONE + "Adding requests: 100%|##########| 4/4 [00:00<00:00, 191.28it/s]\n" + DEAD, GONE),
        (DONE + DEAD + "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n", GONE),
        (DONE + DEAD + 'Traceback (most recent call last):\n  File "a.py", line 3, in f\nFooError: x\n', GONE),
        (DONE + "Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 6.6 tokens/s\n" + DEAD,
         GONE),
        (DONE + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n" + DEAD, "cuda-oom"),
    ],
)  # fmt: skip
def test_an_engine_that_goes_after_the_last_batch_is_the_end_of_a_script(
    log: str, expected: str | None, tmp_path: Path
) -> None:
    found = classify(put(tmp_path, "x", log))
    assert (found.cause.id if found.cause else None) == expected
    assert found.verdict == ("crash" if expected else "healthy")


def test_a_kill_in_another_file_is_not_overlooked_for_its_place(tmp_path: Path) -> None:
    """The same number of line tells nothing in another source."""
    kill = "[ 1200.000000] Out of memory: Killed process 388 (VLLM::EngineCor) total-vm:9kB, anon-rss:9kB, file-rss:0kB\n"
    found = classify(put(tmp_path, "a.log", DONE + DEAD), put(tmp_path, "dmesg", "[ 1199.000000] x\n" + kill))
    assert found.verdict == "crash"
    assert found.cause is not None
    assert found.cause.id == "host-oom-kill"


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
GONE_POD = "&ContainerStateTerminated{ExitCode:137,Signal:0,Reason:OOMKilled,Message:,StartedAt:2026-11-30 19:40:02 +0000 UTC,}"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"msg": "Fail to update Serve", "error": OOM}, "cuda-oom"),
        ({"msg": "x", "err": {"type": "OutOfMemoryError", "message": OOM}}, "cuda-oom"),
        ({"msg": "x", "reason": f"the application failed: {OOM}"}, "cuda-oom"),
        ({"msg": "x", "stack": f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n{OOM}'}, "cuda-oom"),
        ({"msg": "reconcilePods", "level": "info", "Ray container terminated status": GONE_POD}, "cgroup-oom-kill"),
        ({"msg": "reconcilePods", "level": "info", "Ray container terminated status": "nil"}, "healthy"),
        ({"msg": f"Deleted head Pod llm-head; Ray container terminated status: {GONE_POD}"}, "cgroup-oom-kill"),
        ({"msg": "x", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}, "cgroup-oom-kill"),
        ({"msg": "x", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}, "healthy"),
        ({"msg": "request", "level": "info", "prompt": OOM, "content": OOM, "input": {"error": OOM}}, "healthy"),
        ({"msg": "an answer is late", "level": "info", "error": OOM}, "healthy"),
        ({"msg": "x", "error": f"422: [{{'type': 'string_type', 'input': {OOM!r}}}]"}, "healthy"),
    ],
)
@pytest.mark.parametrize("times", [1, 40])
def test_what_a_controller_says_in_fields_beside_its_message(
    fields: dict[str, Any], expected: str, times: int, tmp_path: Path
) -> None:
    """``times``: a long log is read another way, that decodes only what looks like something."""
    calm = [
        json.dumps({"level": "info", "ts": "2026-11-30T19:41:58.127Z", "msg": "reconcilePods", "n": n}) for n in range(times)
    ]
    line = json.dumps({"level": "error", "ts": "2026-11-30T19:41:59.127Z", "logger": "controllers.RayService", **fields})
    assert told(classify(put(tmp_path, "operator.log", "\n".join([*calm, line, ""])))) == expected


@pytest.mark.parametrize(
    ("xids", "expected"),
    [
        # what NVIDIA's catalog gives no action for, or says to follow from another one
        ((43, 45, 63, 92, 93, 121, 122, 123, 124, 125, 154, 160), "healthy"),
        ((65, 80, 137), "xid-application"),
        ((54, 143), "xid-hardware"),
        ((64, 94, 95, 140, 156), "xid-hardware.ecc"),
        ((119, 120), "xid-hardware.gsp"),
    ],
)
def test_an_xid_alone(xids: tuple[int, ...], expected: str, tmp_path: Path) -> None:
    for xid in xids:
        for who in ("pid=2412371, name=VLLM::Worker_TP, ", "pid='<unknown>', name=<unknown>, ", ""):
            line = f"[12345.678901] NVRM: Xid (PCI:0000:3b:00): {xid}, {who}Ch 00000010\n"
            assert told(classify(put(tmp_path, "dmesg", line))) == expected, line


@pytest.mark.parametrize("xid", range(144, 151))
def test_an_xid_of_nvlink_5_is_a_failure_where_the_driver_calls_it_fatal(xid: int, tmp_path: Path) -> None:
    line = f"[12345.678901] NVRM: Xid (PCI:0000:dc:00): {xid}, pid=189, name=python3, RLW_REMAP %s XC0 i0 Link 03 (0x04 0x00)\n"
    assert told(classify(put(tmp_path, "fatal", line % "Fatal"))) == "xid-hardware.nvlink"
    assert told(classify(put(tmp_path, "other", line % "Nonfatal"))) == "healthy"


# --- Several containers in one log ---------------------------------------------------------------------------------------


def beside(crash: str, date: str = "11-30") -> str:
    """A compose log of a server that works on, with the lines of another container between its own."""
    up = (HEALTHY / "vllm-healthy-sigterm.log").read_text().splitlines()
    up = up[: next(i for i, line in enumerate(up) if "Application startup complete" in line) + 1]
    work = [
        f"INFO {date} 19:5{i}:00 [loggers.py:1] Engine 000: Avg generation throughput: 6.6 tokens/s, Running: 1 reqs"
        for i in range(8)
    ]
    lines = ["web-1   | " + line for line in [*up, *work[:4]]]
    lines += ["vllm-1  | " + line for line in crash.splitlines()]
    return "\n".join([*lines, *("web-1   | " + line for line in work[4:])]) + "\n"


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.50 GiB"


@pytest.mark.parametrize(
    ("crash", "verdict"),
    [
        (f"ERROR 11-30 19:53:10 [core.py:708] worker 3: {OOM}", "crash"),  # the layout of vLLM
        (f"Traceback (most recent call last):\n{OOM}", "crash"),
        (f"step 3: the tool said: {OOM}", "healthy"),  # an agent
    ],
)
def test_a_container_beside_one_that_works_on(crash: str, verdict: str, tmp_path: Path) -> None:
    assert classify(put(tmp_path, "compose", beside(crash))).verdict == verdict


def test_a_container_that_failed_days_before_in_the_same_log(tmp_path: Path) -> None:
    """`docker compose logs` prints all that it has, of each container."""
    found = classify(put(tmp_path, "compose", beside(f"ERROR 11-21 08:11:10 [core.py:708] {OOM}")))
    assert found.cause is not None and found.cause.id == "cuda-oom"


# --- Folders and bundles -------------------------------------------------------------------------------------------------


def bundle(files: dict[str, Path]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, path in files.items():
            archive.add(path, name)
    return bytes(zstd.compress(out.getvalue()))


@pytest.fixture
def nodes() -> dict[str, Path]:
    """The logs of a head node that is well, and of a worker whose server the kernel killed."""
    files = {p.name: p for p in incident("docker-worker-oom-exit-0").paths}
    return {
        "head/vllm.log": HEALTHY / "vllm-healthy-tp2-sigterm.log",
        "worker1/vllm.log": files["vllm.log"],
        "worker1/dmesg.txt": files["dmesg-iso.txt"],
        "worker1/inspect.json": files["inspect.json"],
    }


def test_a_bundle_is_one_case(tmp_path: Path, nodes: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, "bundle.tar.zst", bundle(nodes))
    assert run(["classify", str(tmp_path / "bundle.tar.zst"), "--format", "json"]) == 0
    found = Report.model_validate_json(capsys.readouterr().out)
    assert told(found) == "cgroup-oom-kill"
    assert found.cause
    cited = {e.source.rpartition("/bundle")[2] for e in found.cause.evidence}
    assert ".tar.zst!worker1/dmesg.txt" in cited
    kill = next(e for e in found.cause.evidence if e.source.endswith("dmesg.txt"))
    text = nodes["worker1/dmesg.txt"].read_text().splitlines()[kill.line - 1]
    assert kill.text in text
    assert run(["classify", str(tmp_path / "bundle.tar.zst"), "--width", "200"]) == 0
    assert re.search(r"bundle\.tar\.zst!worker1/\S+:\d+", capsys.readouterr().out)


def test_a_folder_for_each_node(tmp_path: Path, nodes: dict[str, Path]) -> None:
    for name, path in nodes.items():
        put(tmp_path, name, path.read_bytes())
    assert told(classify(tmp_path)) == "cgroup-oom-kill"


def test_a_ray_session_folder(tmp_path: Path) -> None:
    """/tmp/ray/session_latest is a link, logs/old holds rotated files, and links lead from one file to another."""
    case = incident("ray-memory-monitor-2.60")
    logs = tmp_path / "ray/session_2026-11-30_12-00-00_1_2/logs"
    for path in case.paths:
        put(logs / ("old" if path.name.startswith("gcs") else "."), path.name, path.read_bytes())
    put(logs, "dashboard.log", "")
    (logs / "worker-latest.out").symlink_to(logs / "raylet.out")
    (tmp_path / "ray/session_latest").symlink_to(logs.parent)
    found = classify(tmp_path / "ray/session_latest/logs")
    assert told(found) == told(report(*case.paths))
    assert len(found.coverage.sources) == len(case.paths), "nothing is read twice, and an empty file is none"
    assert told(classify(tmp_path / "ray")) == told(found)


# --- Facts ---------------------------------------------------------------------------------------------------------------


FACTS: dict[str, dict[str, object]] = {
    "nvidia-smi.txt": {
        "driver_version": "570.133.20", "gpu_name": "NVIDIA H100 80GB HBM3", "gpu_memory_total": 81559 << 20,
        "gpu_link": "NV18",
    },
    "nvidia-smi-q.txt": {"gpu_name": "NVIDIA H100 80GB HBM3", "driver_version": None, "gpu_repair_pending": None},
    "host-limits.txt": {
        "nofile_limit": 20000, "memlock_limit": 8192 << 10, "host_memory_total": 24684084 << 10,
        "nvcc_version": "13.0",
    },
    "vllm-collect-env.txt": {"vllm_version": "0.32.0", "torch_version": "2.13.0+cpu"},
    "pip-list.txt": {"torch_version": "2.13.0+cpu"},
    "docker-stats.txt": {"container_memory": 2453500068},
    "docker-inspect-running.json": {"restart_count": 0, "shm_total_bytes": 1 << 30, "runtime": "docker", "oom_killed": False},
    "kubectl-describe-pod.txt": {"restart_count": 0, "shm_mounted": True, "emptydir_limit": 8 << 30, "runtime": "k8s"},
    "kubectl-pod.yaml": {"pod_uid": UID, "memory_request_or_limit": "48Gi", "emptydir_limit": 8 << 30},
}  # fmt: skip


@pytest.mark.parametrize("name", FACTS)
def test_what_tools_print_is_read_as_facts(name: str) -> None:
    found = report(HEALTHY / name)
    assert found.verdict == "healthy"
    assert {key: found.context.get(key) for key in FACTS[name]} == FACTS[name]


@pytest.mark.parametrize(
    ("before", "after", "fact", "value"),
    [
        (" : No\n        Remapping Failure", " : Yes\n        Remapping Failure", "gpu_repair_pending", True),
        ("Occurred        : No", "Occurred        : Yes", "gpu_remap_failed", True),
        ("Action                   : None", "Action                   : Reset", "recovery_action", "Reset"),
        (
            "HW Thermal Slowdown           : Not Active",
            "HW Thermal Slowdown           : Active",
            "gpu_slowdown",
            "HW Thermal Slowdown",
        ),
    ],
)
def test_what_nvidia_smi_complains_of(tmp_path: Path, before: str, after: str, fact: str, value: object) -> None:
    text = (HEALTHY / "nvidia-smi-q.txt").read_text()
    assert before in text
    found = classify(put(tmp_path, "smi", text.replace(before, after)))
    assert found.context.get(fact) == value
    assert found.verdict == "healthy", "a counter is no crash"


def test_a_record_of_everything_beside_a_healthy_log_is_healthy() -> None:
    facts = [
        HEALTHY / name for name in (*FACTS, "docker-events-other-killed.txt", "docker-ps-other-killed.txt", "kubectl-pods.txt")
    ]
    found = classify(HEALTHY / "vllm-healthy-sigterm.log", *facts)
    assert (found.verdict, found.silences) == ("healthy", [])
