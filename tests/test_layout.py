"""Logs cut by a terminal or turned upside down; lines that only look like it; overwritten states; exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from corpus import SAMPLES

from vllm_crashsig import Classifier, Report, classify, classify_paths
from vllm_crashsig.envelopes.clean import SPOILERS, plain_text, strip_escapes
from vllm_crashsig.layout import Layout, sniff_layout

CRASH = (
    "(EngineCore_DP0 pid=94) ERROR 11-30 19:41:58 [core.py:1510] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
    "2.00 GiB. GPU 0 has a total capacity of 23.50 GiB of which 1.00 GiB is free."
)
WORDS = ["loading", "the", "weights", "of", "a", "model", "takes", "its", "time", "and", "fills", "this", "line", "with"] * 2


def story(lines: int) -> list[str]:
    """Lines of many lengths, each with its own time."""
    return [
        f"(APIServer pid=7) INFO 11-30 19:{i // 60:02d}:{i % 60:02d} [api.py:{i}] " + " ".join(WORDS[: 3 + i * 7 % 19])
        for i in range(lines)
    ]


def on_disk(folder: Path, text: str) -> Report:
    path = folder / "log.txt"
    path.write_text(text, encoding="utf-8")
    return classify_paths(path)


def test_a_wrapped_log_is_put_together(tmp_path: Path) -> None:
    lines = [*story(40), CRASH]
    wrapped = "\n".join(line[i : i + 80] for line in lines for i in range(0, len(line), 80)) + "\n"
    report = on_disk(tmp_path, wrapped)
    assert report.cause is not None and report.cause.id == "cuda-oom"
    assert report.cause.facts["free_bytes"] == 1 << 30, "the end of the message is in another line of the file"
    assert any("80 columns" in cap for cap in report.coverage.caps)


def test_lines_of_one_length_are_not_wrapped(tmp_path: Path) -> None:
    same = [
        f"INFO 11-30 12:00:{i % 60:02d} [runner.py:1843] Captured graph for bucket {i:04d} in slot {i * 7919 % (1 << 24):#08x}"
        for i in range(60)
    ]
    plain = [
        f"step {i:05d} loss {i * 7919 % 9973:04d} lr 1.0e-05 took {i * 31 % 977:04d} ms of {i * 17 % 997:04d} and more"
        for i in range(60)
    ]
    for lines in (same, plain, ["web-1  | " + line for line in same]):
        text = "\n".join([*lines, CRASH]) + "\n"
        assert sniff_layout(text.encode()) == Layout()
        report = on_disk(tmp_path, text)
        assert report.cause is not None and report.cause.evidence[0].line == 61


def test_newest_first_is_read_from_the_end(tmp_path: Path) -> None:
    lines = [
        *story(40),
        CRASH.replace("19:41:58", "20:41:58"),
        "(APIServer pid=7) ERROR 11-30 20:41:59 [a.py:1] EngineDeadError: dead",
    ]
    report = on_disk(tmp_path, "\n".join(reversed(lines)) + "\n")
    assert report.cause is not None and report.cause.id == "cuda-oom"
    assert report.cause.evidence[0].line == 2, "lines are told as they stand in the file"
    assert any("newest" in cap for cap in report.coverage.caps)


def test_overwritten_states_are_looked_at() -> None:
    for text in (CRASH + "\rLoading: 20%\n", "Loading: 10%\r" + CRASH + "\rLoading: 20%\n", "one\r" + CRASH + "\rtwo\r"):
        for gated in (True, False):
            report = Classifier(gated=gated).classify(text)
            assert report.cause is not None and report.cause.id == "cuda-oom", text
    assert classify("CUDA out\rof memory\n").verdict == "healthy"


def test_exit_status(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("\n".join(story(20)) + "\n", encoding="utf-8")
    assert classify_paths([path]).verdict == "healthy"
    for orderly in (0, 143, -15, 130):
        assert classify_paths([path], exit_status=orderly).verdict == "healthy"
    silent = classify_paths([path], exit_status=1)
    assert silent.verdict == "unclassified" and "exit status 1" in silent.unclassified[0].headline
    for killed in (137, -9):
        report = classify_paths([path], exit_status=killed)
        assert report.cause is not None and report.cause.id.startswith("sigkill-unexplained")


def test_a_quote_shows_what_matched() -> None:
    report = classify("x" * 3000 + " " + CRASH.partition("] ")[2] + " " + "y" * 3000 + "\n")
    assert report.cause is not None and "CUDA out of memory" in report.cause.evidence[0].text[:300]


def test_restarts_beyond_what_is_kept_are_counted() -> None:
    life = "INFO 11-30 12:00:00 [api.py:1] vLLM API server version 0.11.0\n" + CRASH + "\n"
    (incident,) = classify(life * 150).incidents
    assert incident.repeats == 150


def test_a_gateways_json_body_is_no_evidence() -> None:
    assert (
        classify(
            '{"level":"info","request":{"prompt":"why torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"}}\n'
        ).verdict
        == "healthy"
    )
    assert (
        classify('{"level":"error","error":"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"}\n').verdict
        == "crash"
    )
    both = '{"error":"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB","input":"hello"}\n'
    assert classify(both).verdict == "crash", "an error that quotes its request is still an error"


def test_a_full_dev_shm_is_nccls_where_nccl_says_so() -> None:
    for said, cause in (
        (
            "Error while creating shared memory segment /dev/shm/nccl-vzIpS6 (size 1), error: No space left on device (28)",
            "shm-exhausted-nccl",
        ),
        (
            "NCCL WARN Error: failed to extend /dev/shm/nccl-a to 33030532 bytes, error: No space left on device (28)",
            "shm-exhausted-nccl",
        ),
        ("dd: error writing '/dev/shm/nccl-abc': No space left on device", "shm-exhausted"),
        ("dd: error writing '/data/x': No space left on device", "disk-full"),
    ):
        report = classify(said + "\n")
        assert report.cause is not None and report.cause.id == cause, said


LOG = [
    *story(6),
    CRASH,
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "plain words of some program",
]


@pytest.mark.parametrize(
    ("form", "labels"),
    [
        ("{n}: {line}", ["numbered"]),
        ("{n:>5} | {line}", ["numbered"]),
        ("{n:>6}\t{line}", ["numbered"]),
        ("    {line}", ["indented"]),
        ("\t{line}", ["indented"]),
        ("3: {line}", ["srun"]),
        ("gpu-07: {line}", ["pdsh"]),
        ("vllm-7d8c5c9f7b-2mxvk vllm {line}", ["stern"]),
        ("[llm3]:{line}", ["torch-elastic"]),
        ("[gpu-07]: {line}", ["bracketed"]),
        ("2026-11-30T19:41:58Z 3: {line}", ["srun"]),
        ("com.docker.compose.project=llm,env=prod {line}", ["label com.docker.compose.project=llm,env=prod "]),
        ("2026-11-30T19:41:58.123456789Z env=prod {line}", ["label env=prod "]),
        ("0|vllm  | {line}", []),  # pm2: needs no proof either
        ("19:41:{n:02} vllm.1    | {line}", ["compose"]),  # foreman
        ("{n}!vllm  | {line}", ["label 0!", "compose"]),
        ("[vllm] {line}", ["names [vllm] "]),
        ("llm.blue server {line}", ["names llm.blue server "]),  # stern, of a Pod without a generated name
        ("server.log:{n}:{line}", ["label server.log:0:"]),
        ("+{line}", ["label +"]),
        ("vllm-1  | {line}", []),  # needs no proof
        ("{line}", []),
    ],
)
def test_what_stands_on_every_line_is_known(form: str, labels: list[str], tmp_path: Path) -> None:
    text = "".join(form.format(n=n, line=line) + "\n" for n, line in enumerate(LOG, 1))
    assert sniff_layout(text.encode(), whole=True).labels == labels
    report = on_disk(tmp_path, text)
    assert report.cause is not None and report.cause.id == "cuda-oom"
    assert report.cause.culprit.rank == (3 if labels in (["srun"], ["torch-elastic"]) else None)


@pytest.mark.parametrize("form", ["{} server ", "[{}] ", "[{} main] ", "{}:server ", "{}/server/7d1c2a "])
def test_who_wrote_a_line_is_known_by_what_stands_before_it(form: str, tmp_path: Path) -> None:
    """One of two servers fails, the other one works on. Taken for one, it would have survived."""
    up = (SAMPLES / "healthy/vllm-healthy-sigterm.log").read_text().splitlines()
    up = up[: next(n for n, line in enumerate(up) if "Application startup complete" in line) + 1]
    work = "INFO 11-30 19:4{}:08 [loggers.py:1] Engine 000: Avg prompt throughput: 1.2 tokens/s, Running: 1 reqs"
    blue, green = form.format("blue"), form.format("green")
    lines = [green + line for line in up]
    for n, line in enumerate([*up, *LOG]):
        lines += [blue + line, green + work.format(n % 10)]
    lines += [green + work.format(n) for n in range(9)]
    report = on_disk(tmp_path, "\n".join(lines) + "\n")
    assert report.cause is not None and report.cause.id == "cuda-oom"
    assert {e.scope.container for e in report.cause.evidence} == {"/".join(blue.strip(" []:").split())}


@pytest.mark.parametrize(
    "lines",
    [
        ["3: apples", "pears", "1: plums", "no number"],
        ["2: b", "1: a", "3: c"],
        ["0: a", "0: b", "1: c"][:2],
        ["    return x", "ValueError: y"],
        ["12:00:01 a", "12:00:02 b", "12:00:03 c"],
        ["{", "    a", "}"],
        ["note: a", "note: b", "note: c"],
        ["tool> ls", "tool> cat notes", "tool> INFO 11-30 19:41:58 [a.py:1] x", "tool> exit"],
        [],
    ],
)
def test_what_stands_on_some_lines_is_the_messages(lines: list[str]) -> None:
    labels = sniff_layout("\n".join(lines).encode(), whole=True).labels
    assert not {"numbered", "indented", "pdsh", "stern"} & set(labels)
    assert not any(name.startswith(("label ", "names ")) for name in labels)


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_a_few_wrapped_lines_are_put_together(columns: int, tmp_path: Path) -> None:
    lines = [*story(2), CRASH]
    text = "".join(line[i : i + columns] + "\n" for line in lines for i in range(0, len(line), columns))
    report = on_disk(tmp_path, text)
    assert report.cause is not None and report.cause.facts["free_bytes"] == 1 << 30


@pytest.mark.parametrize(
    "lines",
    [
        ["ValueError: " + "x" * 68, '  File "a.py", line 3'],
        ["Failed to initialize NVML: Driver/library version mismatch, told by the driver a", "NVML library version: 550.54"],
        ["=" * 80, "some words", "=" * 80, "other words"],
        ["{" + " " * 79, "}", "x"],
        ["a" * 83, "b"],
    ],
)
def test_a_few_long_lines_stay_apart(lines: list[str]) -> None:
    assert sniff_layout(("\n".join(lines) + "\n").encode(), whole=True).columns is None


def test_a_short_log_from_its_end(tmp_path: Path) -> None:
    stamped = [f"2026-11-30T19:41:{n:02d}.5Z {line}" for n, line in enumerate(LOG)]
    assert sniff_layout("\n".join(reversed(stamped)).encode(), whole=True).newest_first
    assert not sniff_layout("\n".join(stamped).encode(), whole=True).newest_first
    shuffled = stamped[::2] + stamped[1::2]
    assert not sniff_layout("\n".join(shuffled).encode(), whole=True).newest_first


def test_records_are_turned_round_and_not_their_lines(tmp_path: Path) -> None:
    texts = [*story(20), 'ERROR 11-30 20:41:58 [core.py:1] Traceback (most recent call last):\n  File "a.py", line 3\n' + CRASH]
    records = [
        {"timestamp": 1796067718250 + n, "message": text, "ingestionTime": 1796067719250} for n, text in enumerate(texts)
    ]
    report = on_disk(tmp_path, json.dumps({"events": records[::-1]}, indent=4))
    assert report.cause is not None and report.cause.id == "cuda-oom"
    assert any("newest" in cap for cap in report.coverage.caps)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("[1;36m(EngineCore pid=1)[0;0m x", "(EngineCore pid=1) x"),
        ("a [1;31mCUDA[0m: out [31mof[39m memory", "a CUDA: out of memory"),
        ("[01;31m[KCUDA out[m[K of memory", "CUDA out of memory"),
        ("^[[31mERROR^[[0m x ^[[m", "ERROR x "),
        ("#033[1;36mx#033[0;0m", "x"),
        (r"\x1b[38;5;12mx\x1b[0m \u001b[1my\u001b[22m \033[4mz\033[0m", "x y z"),
        ("&lt;a&gt; &amp;lt; &quot;b&quot; &#39;c&#x27;", "<a> &lt; \"b\" 'c'"),
        ("\u201cx\u201d it\u2019s\u00a0y", '"x" it\'s y'),
        ("rate(x[2m]) > 3 and y[0m]", "rate(x[2m]) > 3 and y[0m]"),
        ("out[31mof", "out[31mof"),  # would put a word together
        ("a[0] b[10m c & d &foo; [m]", "a[0] b[10m c & d &foo; [m]"),
        ("RuntimeError: [address=0.0.0.0:37821, pid=37851] CUDA out of memory", "RuntimeError: CUDA out of memory"),
        ("ValueError: [address=unixsocket:///1, pid=7] x [address=10.0.0.1:5, pid=8] y", "ValueError: x y"),
        ("connect [address=10.0.0.1:5] and [address=, pid=8]", "connect [address=10.0.0.1:5] and [address=, pid=8]"),
        ("\u00e9\u6f22 \u2588", "\u00e9\u6f22 \u2588"),
    ],
)
def test_what_pasting_does_is_undone(text: str, plain: str) -> None:
    assert strip_escapes(text) == plain
    assert plain_text(text.encode()) == plain.encode()
    assert plain == text or any(spoiler in text for spoiler in SPOILERS), "the gate would not see that it must look again"


def test_colours_that_were_made_visible_fill_no_terminal() -> None:
    """A line that is just as wide as a terminal with them is not cut."""
    coloured = "INFO 12-01 10:00:00 [core.py:1] ^[[1;36mworker^[[0m ".ljust(79, "x") + "y"
    head = "\n".join([coloured, "and a line of its own", "INFO 12-01 10:00:01 [core.py:2] done", ""])
    assert sniff_layout(head.encode(), whole=True).columns is None
    plain = "INFO 12-01 10:00:00 [core.py:1] a worker that says very much without any paus".ljust(79, "x") + "e"
    head = "\n".join([plain, "s at all", "INFO 12-01 10:00:01 [core.py:2] done", ""])
    assert sniff_layout(head.encode(), whole=True).columns == 80
