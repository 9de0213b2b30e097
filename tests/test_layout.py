"""Logs cut by a terminal or turned upside down; lines that only look like it; overwritten states; exit statuses."""

from __future__ import annotations

from pathlib import Path

from vllm_crashsig import Classifier, Report, classify, classify_paths
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
