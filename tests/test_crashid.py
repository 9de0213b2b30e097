"""Crash ids: the same for the same crash however and wherever it is printed, another one for another crash.

The texts are real: programs of tests/crashes/ are run with the Python at hand; what other Pythons, other languages and two
kernels printed is recorded beside them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny import ROOT, SAMPLES, classifier, fingerprint

from vllm_crashsig import Classifier, Report
from vllm_crashsig.crashid import MAX_ENTRIES, FailureCollector, make_crash_id, mask, message_class
from vllm_crashsig.crashid.frames import module_of, python_frames
from vllm_crashsig.crashid.lists import LISTS, matcher, sections
from vllm_crashsig.crashid.masks import function_of, telling_words
from vllm_crashsig.model import LogLine, Scope
from vllm_crashsig.patterns import compile_pattern

CRASHES = ROOT / "tests" / "crashes"
sys.path.insert(0, str(CRASHES))
import programs  # noqa: E402

sys.path.remove(str(CRASHES))
HERE = (*programs.FAILING, *(programs.SINCE_3_11 if sys.version_info >= (3, 11) else ()))
TOGETHER = [{"guarded:let_through", "guarded:from", "guarded:in_handler", "guarded:twice"}, {"thread", "pool", "futures"}]
"""Programs that fail alike: the same exception on the same way, handed on differently."""

properties = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@lru_cache(maxsize=1)
def unknowing() -> Classifier:
    """Knows no failure, so that every one is unknown."""
    return classifier(Path(tempfile.mkdtemp()), fingerprint("nothing-of-this", "root", "nothing of this is ever printed"))


def report(log: str) -> Report:
    return unknowing().classify(log)


def ids(log: str) -> list[str]:
    """The ids of the unknown failures of a log."""
    return [failure.crash_id for failure in report(log).unclassified]


def the_id(log: str) -> str:
    """The id of the only failure of a log."""
    found = report(log).unclassified
    assert len(found) == 1, f"{[f.headline for f in found]} in\n{log}"
    return found[0].crash_id


@lru_cache(maxsize=1)
def recorded() -> dict[tuple[str, str], str]:
    """(file, program) -> what it printed."""
    found = {}
    for path in sorted(CRASHES.glob("*.txt")):
        for part in path.read_text(encoding="utf-8").split("##### ")[1:]:
            name, _, text = part.partition("\n")
            found[path.stem, name] = text.strip("\n") + "\n"
    return found


@lru_cache(maxsize=64)
def run(name: str) -> str:
    """What a program prints under the Python at hand."""
    command = [sys.executable, "-X", "faulthandler=0", str(CRASHES / "programs.py"), name]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False).stdout.decode()


@pytest.mark.parametrize("name", HERE)
def test_an_id_is_the_same_under_every_python(name: str) -> None:
    found = the_id(run(name))
    others = {file: the_id(text) for (file, program), text in recorded().items() if program == name}
    assert name == "mutual_recursion" or len(others) >= 3
    assert others == dict.fromkeys(others, found)


@pytest.mark.parametrize("name", programs.HARMLESS)
def test_what_python_survives_is_no_failure(name: str) -> None:
    texts = [run(name), *(text for (_, program), text in recorded().items() if program == name)]
    assert len(texts) == 5
    assert all("Traceback" in text for text in texts)
    assert {report(text).verdict for text in texts} == {"healthy"}


def test_different_programs_have_different_ids() -> None:
    by_id: dict[str, set[str]] = {}
    for name in HERE:
        by_id.setdefault(the_id(run(name)), set()).add(name)
    assert sorted(map(sorted, (names for names in by_id.values() if len(names) > 1))) == sorted(map(sorted, TOGETHER))


def test_other_languages() -> None:
    by_id: dict[str, set[str]] = {}
    for (file, name), text in recorded().items():
        if file == "others":
            by_id.setdefault(the_id(text), set()).add(name)
    assert sorted(map(sorted, (names for names in by_id.values() if len(names) > 1))) == [
        ["crash.cpp what", "gdb what"],
        ["crash.go goroutine", "crash.go index"],
        ["crash.rs index", "crash.rs with backtrace index"],
        ["crash.rs panic", "crash.rs with backtrace panic"],
        ["crash.rs unwrap", "crash.rs with backtrace unwrap"],
    ]
    assert len(by_id) == 24


def test_kernels() -> None:
    by_id: dict[str, list[tuple[str, str]]] = {}
    for (file, name), text in recorded().items():
        if file.startswith("kernel"):
            by_id.setdefault(the_id(text), []).append((name, file))
    assert sorted(by_id.values()) == [
        [(f"kvdrv {way}", "kernel-6.1.0-47"), (f"kvdrv {way}", "kernel-6.1.0-57")]
        for way in ("bug", "gpf", "null", "page", "soft")
    ]


def test_what_is_told() -> None:
    (failure,) = report("INFO: all is well\n" + recorded()["python-3.12", "guarded:twice"]).unclassified
    assert failure.headline == "ValueError: no width for layer 'v' of 7B model at 0x7f3a2c001230"
    assert failure.frames == ["app/programs.py:guarded", "app/programs.py:load_weights", "app/programs.py:pick"]
    assert failure.count == 1
    said, raised = failure.evidence
    assert (said.line, said.text) == (10, failure.headline)
    assert raised.line == 8
    assert re.fullmatch(r'File "/srv/app/programs\.py", line \d+, in pick', raised.text)


def test_a_chain_is_told_from_its_root() -> None:
    collector = FailureCollector()
    feed(collector, recorded()["python-3.12", "guarded:twice"])
    (failure,) = collector.failures.values()
    assert [text.partition(":")[0] for text in failure.chain] == ["ValueError", "RuntimeError", "OSError"]


def test_the_line_below_an_empty_message_is_the_message() -> None:
    (failure,) = report(recorded()["python-3.10", "bare"]).unclassified
    assert failure.headline == "RuntimeError: The start method is wrong."


def test_a_program_is_told_from_its_libraries() -> None:
    (failure,) = report(recorded()["others", "Crash.java other"]).unclassified
    assert failure.frames == ["Crash.main", "Crash.other"]
    (failure,) = report(recorded()["others", "Crash.java wrapped"]).unclassified
    assert failure.headline.startswith("java.lang.IllegalStateException: no width for wq")
    assert failure.frames == ["Crash.wrapped", "Crash.load", "Crash.width"]
    (failure,) = report(recorded()["kernel-6.1.0-57", "kvdrv null"]).unclassified
    assert failure.frames[-2:] == ["kvdrv_write", "kvdrv_read_slot"]


# What may change from run to run.


def sub(pattern: str, make: Callable[[st.DrawFn], str]) -> Callable[[st.DrawFn, str], str]:
    """Changes what matches, but for what stands in the pattern's group before it."""
    return lambda draw, text: re.sub(pattern, lambda m: (m.group(1) if m.lastindex else "") + make(draw), text)


def digits(draw: st.DrawFn) -> str:
    return str(draw(st.integers(1, 99_999)))


def address(draw: st.DrawFn) -> str:
    return f"0x{draw(st.integers(0x1000, (1 << 47) - 1)):x}"


FOLDERS = (
    "/home/someone/work",
    "/workspace/vllm-fork/examples",
    "/app",
    "/mnt/data/7b-runs/2026-11-30",
    "D:\\jobs\\nightly",
    "/tmp/ray/x",
)
LIBRARIES = (
    "/usr/lib/python3.11/", "/opt/conda/envs/vllm/lib/python3.12/", "/root/.pyenv/versions/3.10.2/lib/python3.10/",
    "C:\\Python312\\Lib\\", "/usr/local/lib/python3.13/",
)  # fmt: skip
PYTHON_CHANGES: tuple[Callable[[st.DrawFn, str], str], ...] = (
    sub(r"(?<=, line )\d+", digits),
    sub(r"0x[0-9a-f]+", address),
    lambda draw, text: text.replace("/srv/app", draw(st.sampled_from(FOLDERS))),
    lambda draw, text: re.sub(r"/usr/lib/python3\.\d+/", lambda _: draw(st.just(draw(st.sampled_from(LIBRARIES)))), text),
    lambda draw, text: text.replace("7B model", f"{draw(st.integers(1, 405))}B model"),
    lambda draw, text: text.replace("'v'", repr(draw(st.sampled_from(["k", "layers.0", "meta/llama-3"])))),
    lambda _, text: re.sub(r"(?m)^[ |]*[~^]+\n", "", text),  # no marks: before 3.11, or the line is cut
    lambda _, text: re.sub(r"(?m)^(?: {4}(?! *[|+])| *\|  {4}).*\n", "", text),  # no sources
    lambda _, text: re.sub(r"(?m)^  \[Previous line .*\n", "", text),
    lambda _, text: text + "note: the shards were written by another version\n",
    lambda _, text: "(APIServer pid=1) INFO 11-30 12:00:00 [api_server.py:1] Started\n" + text,
)
OTHER_CHANGES: dict[str, Callable[[st.DrawFn, str], str]] = {
    "addresses": sub(r"0x[0-9a-f]{6,}", address),
    "folders": lambda draw, text: text.replace("/srv/app", draw(st.sampled_from([f for f in FOLDERS if f[0] == "/"]))),
    "places": sub(r"(\.(?:cpp|rs|java|go|js):)\d+", digits),
    "processes": sub(r"(==|' \(|goroutine )\d+(?===|\) panicked| \[)", digits),
    "numbers": sub(r"(room for |index is |range \[|of size |len is )\d+", digits),
    "threads": lambda draw, text: text.replace("pool-1-thread-7", f"pool-{digits(draw)}-thread-1"),
    "source": lambda _, text: re.sub(r"(?m)^\d+\t.*\n", "", text),
}
KERNEL_CHANGES: dict[str, Callable[[st.DrawFn, str], str]] = {
    "clock": sub(
        r"(?m)^\[ *\d+\.\d+\]", lambda draw: f"[{draw(st.integers(1, 10**7)):5d}.{draw(st.integers(0, 999_999)):06d}]"
    ),
    "addresses": sub(r"\b(?:ffff|dead)[0-9a-f]{12}\b", lambda draw: f"ffff{draw(st.integers(0, (1 << 48) - 1)):012x}"),
    "offsets": sub(r"\+0x[0-9a-f]+/0x[0-9a-f]+", lambda draw: f"+{address(draw)}/{address(draw)}"),
    "process": sub(r"PID: \d+ Comm: \w+", lambda draw: f"PID: {digits(draw)} Comm: VLLM::Worker"),
    "processor": sub(r"CPU#?:? ?\d+", lambda draw: f"CPU#{draw(st.integers(0, 191))}"),
    "left over": lambda _, text: re.sub(r"(?m)^.*\]  \? .*\n", "", text),
    "marks": lambda _, text: re.sub(r"\.(?:constprop|isra)\.\d+", "", text),
    "no clock": lambda _, text: re.sub(r"(?m)^\[ *\d+\.\d+\] ", "", text),
}


@pytest.mark.parametrize(
    "name", [n for n in (*programs.FAILING, *programs.SINCE_3_11) if n not in ("ranks", "mutual_recursion")]
)
@given(data=st.data())
@settings(parent=properties, max_examples=12)
def test_what_changes_from_run_to_run_does_not_change_the_id(name: str, data: st.DataObject) -> None:
    texts = [text for (file, program), text in recorded().items() if program == name and file.startswith("python")]
    text = data.draw(st.sampled_from(texts))
    changed = text
    for change in data.draw(st.lists(st.sampled_from(PYTHON_CHANGES), min_size=1, max_size=4, unique=True)):
        changed = data.draw(st.composite(lambda draw, c=change, t=changed: c(draw, t))())
    assert the_id(changed) == the_id(texts[0])


@pytest.mark.parametrize("name", [name for file, name in recorded() if file == "others" or file.endswith("57")])
@given(data=st.data())
@settings(parent=properties, max_examples=12)
def test_the_same_of_other_languages_and_the_kernel(name: str, data: st.DataObject) -> None:
    text = next(text for (_, program), text in recorded().items() if program == name)
    changes = KERNEL_CHANGES if name.startswith("kvdrv") else OTHER_CHANGES
    changed = text
    for change in data.draw(st.lists(st.sampled_from(sorted(changes)), min_size=1, max_size=4, unique=True)):
        changed = data.draw(st.composite(lambda draw, c=changes[change], t=changed: c(draw, t))())
    assert the_id(changed) == the_id(text)


ENVELOPES: dict[str, Callable[[int, str], str]] = {
    "rank label": lambda rank, line: f"[rank{rank}]: {line}",
    "vLLM process": lambda rank, line: f"(Worker_TP{rank} pid={400 + rank}) {line}",
    "vLLM log": lambda rank, line: (
        f"(Worker_TP{rank} pid={400 + rank}) ERROR 11-30 12:00:0{rank} [multiproc_executor.py:{rank}] {line}"
    ),
    "Ray": lambda rank, line: f"\x1b[36m(RayWorkerWrapper pid={400 + rank}, ip=10.0.0.{rank})\x1b[0m {line}",
    "compose": lambda rank, line: f"vllm-{rank}  | {line}",
    "CRI": lambda rank, line: f"2026-11-30T19:41:5{rank}.512345678Z stderr F {line}",
    "docker logs -t": lambda rank, line: f"2026-11-30T19:41:5{rank}.512345678Z {line}",
    "mpirun": lambda rank, line: f"[1,{rank}]<stderr>:{line}",
}
OF_RANKS = ("rank label", "vLLM process", "vLLM log", "Ray", "compose", "mpirun")
"""Those that tell whose line it is."""


@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize("file", ["python-3.10", "python-3.13", "others"])
def test_envelopes_do_not_change_the_id(envelope: str, file: str) -> None:
    wrong = {}
    for (where, name), text in recorded().items():
        if where != file or name in programs.HARMLESS or name == "ranks":
            continue
        wrapped = "".join(ENVELOPES[envelope](1, line) + "\n" for line in text.splitlines())
        if (found := ids(wrapped)) != [the_id(text)]:
            wrong[name] = found
    assert wrong == {}


@st.composite
def merged(draw: st.DrawFn, parts: Sequence[Sequence[str]]) -> str:
    """The lines of several texts in any order that keeps that of each."""
    order = draw(st.permutations([index for index, part in enumerate(parts) for _ in part]))
    left = [iter(part) for part in parts]
    return "".join(next(left[index]) + "\n" for index in order)


@pytest.mark.parametrize("envelope", OF_RANKS)
@given(data=st.data())
@settings(parent=properties, max_examples=20)
def test_ranks_in_any_order(envelope: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["plain", "guarded:twice", "failed_in_handler", "group", "closed"]))
    text = recorded()["python-3.11", name]
    wrap = ENVELOPES[envelope]
    ranks = data.draw(st.lists(st.integers(0, 7), min_size=2, max_size=4, unique=True))
    (failure,) = report(data.draw(merged([[wrap(r, line) for line in text.splitlines()] for r in ranks]))).unclassified
    assert failure.crash_id == the_id(text)
    assert failure.count == len(ranks)


@given(st.data())
@properties
def test_ranks_that_share_a_stream_without_a_label(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["plain", "closed", "comprehension", "bare", "task", "generated"]))
    text = recorded()[data.draw(st.sampled_from(["python-3.10", "python-3.12", "python-3.13"])), name]
    (failure,) = report(data.draw(merged([text.splitlines()] * data.draw(st.integers(2, 4))))).unclassified
    assert failure.crash_id == the_id(text)


def test_different_tracebacks_that_are_printed_into_each_other_are_told_by_their_messages() -> None:
    one, other = (recorded()["python-3.10", name].splitlines() for name in ("plain", "closed"))
    found = report("\n".join(line for pair in zip_longest(one, other, fillvalue="") for line in pair)).unclassified
    assert sorted(f.headline.partition(":")[0] for f in found) == ["ValueError", "_queue.Empty"]
    assert [f.frames for f in found] == [[], []]


# What makes another crash of it.


@pytest.mark.parametrize("name", ["plain", "comprehension", "guarded:from", "thread", "task", "generated"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ValueError:", "KeyError:"),
        ("in pick", "in choose"),
        ("in load_weights", "in load_biases"),
        ("programs.py", "other.py"),
    ],
)
def test_near_misses_of_python(name: str, old: str, new: str) -> None:
    text = recorded()["python-3.12", name]
    changed = text.replace(old, new)
    assert (the_id(changed) == the_id(text)) is (changed == text)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("crash.cpp what", "std::runtime_error", "std::logic_error"),
        ("crash.cpp what", "no room for", "no name for"),
        ("crash.cpp assert", "rank < 2", "rank < size"),
        ("crash.cpp assert", "int cache::check(int)", "int cache::verify(int)"),
        ("crash.cpp double_free", "double free detected", "invalid pointer"),
        ("crash_asan overflow", "heap-buffer-overflow", "stack-buffer-overflow"),
        ("crash_asan overflow", "cache::read", "cache::peek"),
        ("gdb segfault", "SIGSEGV", "SIGBUS"),
        ("gdb segfault", "cache::read", "cache::peek"),
        ("crash.rs unwrap", "InvalidDigit", "PosOverflow"),
        ("crash.rs unwrap", "main.rs", "shape.rs"),
        ("Crash.java plain", "IllegalStateException", "IllegalArgumentException"),
        ("Crash.java plain", "Crash.width", "Crash.height"),
        ("crash.js plain", "RangeError", "TypeError"),
        ("crash.js plain", "at width", "at height"),
        ("crash.go error", "no room", "no name"),
        ("crash.go error", ".refuse", ".deny"),
        ("kvdrv null", "kvdrv_read_slot", "kvdrv_write_slot"),
        ("kvdrv null", "kernel NULL pointer dereference", "unable to handle page fault for"),
        ("kvdrv bug", "kvdrv.c", "kvmem.c"),
    ],
)
def test_near_misses_of_other_languages(name: str, old: str, new: str) -> None:
    text = next(text for (_, program), text in recorded().items() if program == name)
    assert old in text
    assert the_id(text.replace(old, new)) != the_id(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no room in /dev/shm/a: 12 of 64 MiB", "no room in /mnt/b: 1.5 of 2 GiB"),
        ("shapes [2, 4096] and (8, 1) differ", "shapes [1, 2, 3] and (4,) differ"),
        ("model 'meta/llama-3' has no tensor \"a.b\"", "model 'x' has no tensor \"c\""),
        ("cannot reach gpu-node-1.cluster.local:29500 since 12:00:01", "cannot reach 10.0.0.7:6379 since 23:59:59"),
        ("request cmpl-12ab-7 at 2026-11-30T12:00:00Z", "request cmpl-ff00ff-9 at 2025-01-01T00:00:01Z"),
        (
            "id 123e4567-e89b-12d3-a456-426614174000 in <a.B object at 0x7f>",
            "id 00000000-0000-0000-0000-000000000000 in <c object at 0x1>",
        ),
        ("in /a/b/sampler.cu:12", "in C:\\x\\sampler.cu:99"),
        ("took 12.5 s, 3 ms left", "took 1e-3 s, 700 ms left"),
    ],
)
def test_messages_of_one_class(one: str, other: str) -> None:
    assert message_class(one) == message_class(other)
    assert ids(f"2026-11-30 12:00:00,123 ERROR a.py:1 -- OddError: {one}\n") == ids(
        f"2026-12-01 01:00:00,456 ERROR a.py:2 -- OddError: {other}\n"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("OddError: no room", "OddError: no name"),
        ("OddError: no room", "EvenError: no room"),
        ("KeyError: 'response'", "KeyError: 'request'"),
        ("ModuleNotFoundError: No module named 'numba'", "ModuleNotFoundError: No module named 'xgrammar'"),
        (
            "AttributeError: 'Config' object has no attribute 'heads'",
            "AttributeError: 'Config' object has no attribute 'layers'",
        ),
        ("OSError: [Errno 13] cannot open it", "OSError: [Errno 28] cannot open it"),
        ("OddError: at sampler.cu:12", "OddError: at reader.cu:12"),
    ],
)
def test_messages_of_different_classes(one: str, other: str) -> None:
    logged, logged_other = (f"2026-11-30 12:00:00,123 ERROR a.py:1 -- {text}\n" for text in (one, other))
    assert ids(logged) != ids(logged_other) or telling_words(one) != telling_words(other)
    traceback = 'Traceback (most recent call last):\n  File "/srv/{}.py", line 1, in f\n{}\n'
    assert the_id(traceback.format("a", one)) != the_id(traceback.format("b", other))


@pytest.mark.parametrize(
    ("one", "other"), [("[Errno 13] x", "[Errno 28] x"), ("CUDA error: out of memory", "CUDA error: unknown error")]
)
def test_codes_count_beside_frames(one: str, other: str) -> None:
    text = recorded()["python-3.12", "plain"]
    found = {the_id(re.sub("ValueError: .*", f"ValueError: {message}", text)) for message in (one, other)}
    assert len(found) == 2
    assert the_id(re.sub("ValueError: .*", "ValueError: something else", text)) == the_id(text)


def test_exceptions_of_one_place_are_told_apart_by_their_messages() -> None:
    raised = 'Traceback (most recent call last):\n  File "/x/site-packages/pydantic/main.py", line 2, in __init__\n'
    one, same, other = (
        f"{raised}pydantic_core.ValidationError: 1 validation error for A\n  Value error, {text} [type=error, input={i}]\n"
        for i, text in enumerate(["no heads in 'x/y'", "no heads in 'z'", "no layers in 'z'"])
    )
    assert the_id(one) == the_id(same)
    assert the_id(one) != the_id(other)


# vLLM, Ray and others.

VLLM = """Traceback (most recent call last):
  File "{site}/vllm/v1/engine/core.py", line 700, in run_engine_core
    engine_core = EngineCoreProc(*args, **kwargs)
  File "{site}/vllm/v1/executor/uniproc_executor.py", line 50, in _init_executor
    self.driver_worker.load_model()
  File "{site}/vllm/v1/worker/gpu_worker.py", line 220, in load_model
    self.model_runner.load_model()
  File "{site}/vllm/model_executor/models/llama.py", line 640, in load_weights
    return loader.load_weights(weights)
  File "{site}/torch/utils/_contextlib.py", line 116, in decorate_context
    return func(*args, **kwargs)
  File "{site}/torch/nn/modules/module.py", line 1750, in _call_impl
    return forward_call(*args, **kwargs)
  File "{site}/{loader}", line 33, in shard_of
    raise OddError("shard 3 of 8")
OddError: shard 3 of 8
"""
PLUGIN = "acme_plugin/loader.py"


@pytest.mark.parametrize(
    "site",
    [
        "/usr/local/lib/python3.12/dist-packages",
        "/opt/venv/lib64/python3.10/site-packages",
        "/workspace/vllm",
        "C:\\env\\Lib\\site-packages",
    ],
)
def test_installations_do_not_change_the_id(site: str) -> None:
    text = VLLM.format(site="/opt/conda/lib/python3.11/site-packages", loader=PLUGIN)
    assert the_id(VLLM.format(site=site, loader=PLUGIN)) == the_id(text)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("vllm/v1/executor/uniproc_executor.py", "vllm/executor/ray_distributed_executor.py", True),
        ("vllm/v1/worker/gpu_worker.py", "vllm/worker/gpu_worker.py", True),
        ("run_engine_core", "run_busy_loop", True),
        ("_call_impl", "_wrapped_call_impl", True),
        ("OddError", "acme.errors.OddError", True),
        ("in shard_of", "in loader.Shards.shard_of", True),
        ("models/llama.py", "models/qwen2.py", False),
        ("in shard_of", "in part_of", False),
    ],
)
def test_frames_that_count(old: str, new: str, same: bool) -> None:
    text = VLLM.format(site="/opt/conda/lib/python3.11/site-packages", loader=PLUGIN)
    assert old in text
    assert (the_id(text.replace(old, new)) == the_id(text)) is same


def test_a_ray_task_fails_where_it_ran() -> None:
    remote = '  File "/srv/app/actor.py", line 10, in refuse\n    raise OddError("no")\nOddError: no\n'
    alone = "Traceback (most recent call last):\n" + remote
    driver = (
        "Traceback (most recent call last):\n"
        '  File "/srv/app/driver.py", line 4, in main\n    ray.get(actor.refuse.remote())\n'
        '  File "/opt/lib/python3.12/site-packages/ray/_private/worker.py", line 2000, in get\n    raise value\n'
        "ray.exceptions.RayTaskError(OddError): \x1b[36mray::Actor.refuse()\x1b[39m (pid=12, ip=10.0.0.2, actor_id=ab01)\n"
        + remote
    )
    assert the_id(driver) == the_id(alone)
    (failure,) = report(alone + driver).unclassified
    assert failure.count == 2


def test_a_chain_may_begin_without_a_traceback() -> None:
    text = recorded()["python-3.12", "plain"]
    joined = "\nThe above exception was the direct cause of the following exception:\n\n"
    (failure,) = report(f"httpcore.ConnectError: [Errno 111] Connection refused\n{joined}{text}").unclassified
    assert failure.headline.startswith("httpcore.ConnectError")
    assert failure.frames[-1] == "app/programs.py:pick"
    assert failure.crash_id != the_id(f"httpcore.ConnectError: [Errno -3] Name resolution\n{joined}{text}")


def test_a_worker_hands_its_exception_on_with_the_traceback_as_text() -> None:
    inner = recorded()["python-3.12", "plain"].replace("Traceback", "Original Traceback")
    text = (
        'Traceback (most recent call last):\n  File "/srv/app/train.py", line 9, in main\n    for batch in loader:\n'
        "RuntimeError: Caught ValueError in DataLoader worker process 0.\n" + inner
    )
    assert the_id(text) == the_id(recorded()["python-3.12", "plain"])


def test_one_exception_is_told_once_whoever_prints_it() -> None:
    text = recorded()["python-3.12", "guarded:from"]
    other = (
        'Traceback (most recent call last):\n  File "/srv/app/server.py", line 1, in main\nRuntimeError: the worker failed\n'
    )
    (failure,) = report(f"{text}(APIServer pid=1) and then\n{other}").unclassified
    assert (failure.crash_id, failure.count) == (the_id(text), 2)


def test_what_only_says_that_another_process_failed_gives_way() -> None:
    text = recorded()["python-3.12", "plain"]
    carrier = (
        'Traceback (most recent call last):\n  File "/srv/run.py", line 1, in main\ntorch.spawn.ProcessRaisedException: \n'
    )
    assert len(ids(carrier)) == 1
    assert ids(text + "done\n" * 20 + carrier) == [the_id(text)]


def test_a_crash_that_is_told_by_several_is_one() -> None:
    what = recorded()["others", "crash.cpp what"]
    assert ids(what + recorded()["python-3.12", "abort"] + "Aborted (core dumped)\n") == [the_id(what)]
    path = SAMPLES / "native-abort" / "hit-ray-sigabrt.log"
    (failure,) = (f for f in report(path.read_text(encoding="utf-8")).unclassified if "SIGABRT" in f.headline)
    assert failure.frames == ["app/actor_sigabrt.py:execute_model"]


# What is no failure.

QUIET = recorded()["python-3.12", "plain"]


RAY_STACK = """*** StackTrace Information ***
/opt/venv/lib/python3.12/site-packages/ray/core/src/ray/raylet/raylet(+0xb8391a) [0x55ec638a091a] ray::operator<<()
/opt/venv/lib/python3.12/site-packages/ray/core/src/ray/raylet/raylet(+0xb85577) [0x55ec638a2577] ray::RayLog::~RayLog()
/opt/venv/lib/python3.12/site-packages/ray/core/src/ray/raylet/raylet(+0x41384b) [0x55ec6313084b] plasma::{}()
"""


def test_a_fatal_line_of_ray_is_a_failure_whatever_it_says() -> None:
    """Only level C and the stack below it tell that the process ended itself; a message may be any words."""
    lead = "[2026-03-18 17:15:24,404 C 3394729 3394729] (raylet) shared_memory.cc:32: "
    mapped, copied = (lead + "mmap failed\n" + RAY_STACK.format(f) for f in ("ClientMmapTableEntry", "PlasmaStore"))
    assert report(mapped).unclassified[0].headline == "Ray fatal error in plasma::ClientMmapTableEntry"
    assert the_id(mapped) != the_id(copied)
    checked = lead + " Check failed: fd >= 0 \n" + RAY_STACK.format("ClientMmapTableEntry")
    assert len(ids(checked)) == 1
    assert report(checked).unclassified[0].headline.startswith("Check failed: ")


def test_a_fatal_line_of_ray_that_a_fingerprint_knows_is_no_second_failure() -> None:
    """The stack belongs to whoever knows the line above it."""
    known = Classifier().classify((SAMPLES / "ray-node-dead.self-exit" / "hit-frozen-2.60.log").read_text(encoding="utf-8"))
    assert known.classifications
    assert not known.unclassified


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING"])
def test_a_traceback_at_a_low_level_is_no_failure(level: str) -> None:
    lines = [f"(EngineCore_DP0 pid=7) {level} 11-30 12:00:00 [a.py:1] {line}" for line in QUIET.splitlines()]
    assert report("\n".join(lines)).verdict == "healthy"
    assert report("\n".join(line.replace(level, "ERROR") for line in lines)).verdict == "unclassified"


@pytest.mark.parametrize(
    "log",
    [
        "INFO 11-30 12:00:00 [logger.py:1] Received request cmpl-1: prompt: " + repr(QUIET),
        '{"message": "x", "prompt": ' + repr(QUIET).replace("'", '"') + "}",
        "ValueError: a word at the beginning of a line is not an error\n",
        "A request with Traceback (most recent call last): in it\n",
        "  at the end of the day (a.b:12)\n  at noon\n",
        "Traceback (most recent call last):\nValueError: cut out\n",
        "panic: only a word\nfatal error: stdio.h: No such file or directory\n",
        "2026-11-30 12:00:00,123 ERROR a.py:1 -- ConnectionError: refused, retrying 1 of 3\n",
        "DeprecationWarning: the option is going away\n  warnings.warn('x')\n",
        'Stack (most recent call last):\n  File "/srv/a.py", line 1, in f\n    logging.error("x")\nOddError: x\n',
        "Timeout (0:00:05)!\nThread 0x00007f (most recent call first):\n  File \"/srv/a.py\", line 1 in f\n",
        "*** SIGTERM received at time=1796068916 on cpu 1 ***\nPC: @     0x7f298625a267  (unknown)  kill\n",
        "[  1.0] Call Trace:\n[  1.0]  foo+0x1/0x2\n[  1.0] general protection fault in the manual\n",
    ],
)  # fmt: skip
def test_words_of_failures_are_no_failure(log: str) -> None:
    assert report(log).verdict == "healthy"


@pytest.mark.parametrize(
    "gone", ["starlette.requests.ClientDisconnect", "starlette.websockets.WebSocketDisconnect: (1006, '')"]
)
def test_a_client_that_goes_away_is_no_failure_of_the_server(gone: str) -> None:
    trace = 'Traceback (most recent call last):\n  File "/srv/app/main.py", line 9, in handle\n    await read()\n'
    assert ids(f"ERROR:    Exception in ASGI application\n{trace}{gone}\n") == []
    handler = f"{trace}{gone}\n\nDuring handling of the above exception, another exception occurred:\n\n{trace}"
    assert len(ids(f"{handler}ValueError: the queue is full\n")) == 1


UP = (
    "INFO 03-02 14:20:11 [api_server.py:1839] vLLM API server version 0.12.0\n"
    "INFO:     Started server process [1]\nINFO:     Application startup complete.\n"
)
IN_A_REQUEST = (
    "ERROR:    Exception in ASGI application\nTraceback (most recent call last):\n"
    '  File "/srv/PIL/ImageFile.py", line 297, in load\n    raise OSError(msg)\nOSError: image file is truncated\n'
)


def test_what_ended_one_request_is_no_failure_while_the_server_works() -> None:
    knowing = Classifier()
    assert knowing.classify(UP + IN_A_REQUEST).verdict == "healthy"
    unsaid = IN_A_REQUEST.partition("\n")[2]  # nobody says that a request ended
    assert knowing.classify(UP + unsaid).verdict == "unclassified"
    assert knowing.classify(IN_A_REQUEST).verdict == "unclassified"  # nor is it to be seen whether the server was up
    dead = (
        "ERROR 03-02 14:22:11 [async_llm.py:480] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n"
    )
    assert len(knowing.classify(UP + IN_A_REQUEST + dead).unclassified) == 1


def test_a_thread_that_reports_usage_matters_to_nobody() -> None:
    trace = 'Traceback (most recent call last):\n  File "/srv/vllm/usage_lib.py", line 240, in _send\n    post()\nOddError: x\n'
    assert report(f"{UP}Exception in thread Thread-5 (_report_usage_worker):\n{trace}").verdict == "healthy"
    assert report(f"{UP}Exception in thread Thread-5 (output_loop):\n{trace}").verdict == "unclassified"


def test_what_the_kernel_and_the_server_got_over_is_no_failure() -> None:
    kernel = recorded()["kernel-6.1.0-57", "kvdrv soft"]
    ends = {
        "healthy/vllm-healthy-tp2-sigterm.log": ("healthy", 0),
        "sigkill-unexplained/hit-tp2-worker.log": ("crash", 1),
    }
    for name, (verdict, unknown) in ends.items():
        session = Classifier().session()
        session.feed((SAMPLES / name).read_bytes(), source="vllm")
        session.feed(kernel, source="dmesg")
        found = session.close()
        assert (found.verdict, len(found.unclassified)) == (verdict, unknown)
    assert report(kernel).verdict == "unclassified"


# The parts.


@pytest.mark.parametrize(
    ("file", "path", "stem"),
    [
        ("/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_worker.py", "vllm/v1/worker/gpu_worker.py", "gpu_worker"),
        ("/workspace/vllm/vllm/v1/worker/gpu_worker.py", "vllm/v1/worker/gpu_worker.py", "gpu_worker"),
        ("C:\\env\\Lib\\site-packages\\vllm\\__init__.py", "vllm/__init__.py", "vllm/__init__"),
        ("/usr/lib/python3.10/json/__init__.py", "json/__init__.py", "json/__init__"),
        ("python/ray/_raylet.pyx", "ray/_raylet.pyx", "_raylet"),
        ("/home/me/train.py", "me/train.py", "train"),
        ("/home/ray/jobs/train.py", "jobs/train.py", "train"),
        ("/opt/pytorch/pytorch/torch/_ops.py", "torch/_ops.py", "_ops"),
        ("/app/vllm/v1/engine/core.py", "vllm/v1/engine/core.py", "core"),
        ("train.py", "train.py", "train"),
        ("/tmp/torchinductor_root/ab/cab3xyz.py", "<generated>", "<generated>"),
        ("/root/.triton/cache/0123/kernel.py", "<generated>", "<generated>"),
        ("/tmp/tmpab12cd34.py", "<generated>", "<generated>"),
        ("<frozen importlib._bootstrap>", "importlib/_bootstrap", "<frozen importlib._bootstrap>"),
        ("<eval_with_key>.12", "<eval_with_key>", "<eval_with_key>"),
        ("<ipython-input-3-ab12cd34>", "<ipython-input>", "<ipython-input>"),
        ("<string>", "<string>", "<string>"),
        ("/tmp/ray/session_1/runtime_resources/working_dir_files/_ray_pkg_0a1b2c/app/x.py", "app/x.py", "x"),
        ("/opt/vllm/bin/vllm", "bin/vllm", "vllm"),
    ],
)
def test_files(file: str, path: str, stem: str) -> None:
    module = module_of(file)
    assert (module.path, module.stem) == (path, stem)


@pytest.mark.parametrize(
    ("symbol", "function"),
    [
        ("c10::Error::Error(c10::SourceLocation, std::string) + 0x98", "c10::Error::Error"),
        ("at::native::add<float>(at::Tensor const&, int) [clone .isra.0]", "at::native::add"),
        ("void vllm::rms_norm_kernel<c10::Half, 8>(c10::Half*, long)", "vllm::rms_norm_kernel"),
        ("std::__cxx11::basic_string<char>::append[abi:cxx11](char const*)", "std::basic_string::append"),
        ("absl::lts_20230802::Mutex::Lock()", "absl::Mutex::Lock"),
        ("core::result::unwrap_failed::h0123456789abcdef", "core::result::unwrap_failed"),
        ("ray::NodeManager::Run()::{lambda()#3}::operator()()", "ray::NodeManager::Run::operator"),
        ("kvdrv_read_slot.constprop.0.isra.0+0x5/0x10", "kvdrv_read_slot"),
        ("_nv012345rm+0x5/0x10", "_nv012345rm"),
        ("(anonymous namespace)::run(int)", "(anonymous namespace)::run"),
    ],
)
def test_symbols(symbol: str, function: str) -> None:
    assert function_of(symbol) == function


def test_recursion_counts_once() -> None:
    deep = [("/a/m.py", "main"), *[("/a/m.py", "f"), ("/a/m.py", "g")] * 40, ("/a/m.py", "leaf")]
    assert python_frames(deep).tokens == ("m:main", "m:f", "m:g", "m:leaf")


def test_every_entry_of_the_lists_is_used() -> None:
    assert sections().keys() == {
        "engines", "libraries", "ways", "wrappers", "wrapper-functions", "carriers", "no-failures",
        "told-names", "told-by-message", "telling-words", "native", "kernel", "jvm", "go",
    }  # fmt: skip
    for name, entries in sections().items():
        assert entries, name
        assert len(set(entries)) == len(entries), name
        assert matcher(name)
    assert Path(LISTS).read_text(encoding="utf-8").isascii()


def test_ids_of_the_library() -> None:
    assert make_crash_id("a.b.OddError", ("f",), "x 1") == make_crash_id("OddError", ("f",), "y 2")
    assert make_crash_id("OddError", (), "x 1") == make_crash_id("OddError", (), "x 2") != make_crash_id("OddError", (), "y 1")
    assert make_crash_id("zmq.error", (), "x") != make_crash_id("struct.error", (), "x")
    assert re.fullmatch("[0-9a-f]{16}", make_crash_id("exit-3", (), ""))
    assert mask("at 0x7f in /a/b/c, 12.5 of 3") == "at <addr> in <path>, <n> of <n>"


# Bounds.


def feed(collector: FailureCollector, log: str, scope: Scope | None = None) -> None:
    """Gives the collector the lines of a log, each with all markers that it shows."""
    from vllm_crashsig.crashid import FOLLOWERS, MARKERS

    patterns = [(name, compile_pattern(pattern)) for name, pattern in (*MARKERS.items(), *FOLLOWERS.items())]
    for number, text in enumerate(log.splitlines(), 1):
        found = [(name, match) for name, pattern in patterns if (match := pattern.search(text))]
        if found:
            collector.add(LogLine("log", number, 0, text, scope or Scope(), order=number), found, set())


def test_memory_is_bounded_for_many_processes() -> None:
    collector = FailureCollector()
    text = recorded()["python-3.12", "plain"]
    for pid in range(3 * MAX_ENTRIES):
        feed(collector, text.replace("ValueError", f"Odd{chr(65 + pid % 26)}{chr(65 + pid // 26 % 26)}Error"), Scope(pid=pid))
    assert len(collector.failures) == MAX_ENTRIES
    assert collector.dropped > 0
    assert len(collector._processes) <= MAX_ENTRIES


def test_memory_is_bounded_for_endless_tracebacks() -> None:
    collector = FailureCollector()
    frame = '  File "/srv/a.py", line 1, in f\n    f()\n'
    feed(collector, "Traceback (most recent call last):\n" * 500 + frame * 3000 + "OddError: x\n" + "    | OddError: y\n" * 500)
    assert len(collector.failures) <= 3
    assert len(repr(collector._processes)) < 300_000


MARKED = (
    *(line for text in recorded().values() for line in text.splitlines()[:40]),
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
    "  + Exception Group Traceback (most recent call last):", "    +---------------- 2 ----------------",
    "ray.exceptions.RayTaskError(ValueError): ray::f() (pid=1)", "Exception ignored in: <x>",
    "Current thread 0x7f (most recent call first):", "frame #0: c10::f() + 0x1 (0x7f in /a/b.so)",
    "Exception raised from run at ../a.cpp:3 (most recent call first):", "Caused by: a.B: c", "RuntimeError:", "", "x",
)  # fmt: skip


@given(st.lists(st.sampled_from(MARKED), max_size=60), st.integers(0, 3))
@settings(parent=properties, max_examples=150)
def test_any_order_of_lines_is_read(lines: list[str], every: int) -> None:
    log = "\n".join(f"(W pid={i % 2}) {line}" if every and i % every == 0 else line for i, line in enumerate(lines))
    found = report(log).unclassified
    assert [f.crash_id for f in found] == ids(log)
    assert all(f.count >= 1 and f.evidence and f.headline for f in found)


# -- drawn by notebooks and consoles ----------------------------------------------------------------------

NOTEBOOK = """\
INFO 05-12 10:00:01 [__init__.py:239] Automatically detected platform cuda.
---------------------------------------------------------------------------
ZooError                                  Traceback (most recent call last)
Cell In[{cell}], line 5
      2 from vllm import LLM
----> 5 llm = LLM(model="acme/zoo-7b")

File {home}/vllm/entrypoints/llm.py:{line}, in LLM.__init__(self, model, tokenizer, **kwargs)
    239 engine_args = EngineArgs(model=model)
--> 241 self.llm_engine = LLMEngine.from_engine_args(engine_args=engine_args)

File {home}/zoo/keeper.py:{line}, in Keeper.open(self)
     75 def open(self):
---> 77     raise ZooError("the gate is stuck")

ZooError: the gate is stuck
"""
CONSOLE = """\
╭──────────────────── Traceback (most recent call last) ────────────────────╮
│ {home}/zoo/main.py:{line} in serve                                        │
│                                                                           │
│    8 def serve():                                                         │
│ ❱  9     Keeper().open()                                                  │
│                                                                           │
│ {home}/zoo/keeper.py:{line} in open                                       │
│                                                                           │
│   76 def open(self):                                                      │
│ ❱ 77     raise ZooError("the gate is stuck")                              │
╰───────────────────────────────────────────────────────────────────────────╯
ZooError: the gate is stuck
"""


@pytest.mark.parametrize("drawn", [NOTEBOOK, CONSOLE], ids=["IPython", "rich"])
def test_tracebacks_that_are_drawn(builtin: Classifier, drawn: str) -> None:
    ids = set()
    for cell, home, line in (
        ("3", "/usr/lib/python3.12/site-packages", "77"),
        ("14", "/opt/venv/lib/python3.11/site-packages", "80"),
    ):
        report = builtin.classify(drawn.format(cell=cell, home=home, line=line))
        assert report.verdict == "unclassified"
        (failure,) = report.unclassified
        assert failure.headline == "ZooError: the gate is stuck"
        assert any("zoo/keeper.py" in frame for frame in failure.frames)
        ids.add(failure.crash_id)
    assert len(ids) == 1, "cells, lines and folders differ from time to time"


def test_a_mention_of_a_place_in_a_file_is_no_traceback(builtin: Classifier) -> None:
    log = "".join(
        f"INFO 05-12 10:00:0{n} [core.py:7] {text}\n"
        for n, text in enumerate(["File /srv/zoo/keeper.py:77, in open(self)", "Cell In[3], line 5", "│ /srv/zoo/a.py:7 in f"])
    )
    assert builtin.classify(log).verdict == "healthy"
