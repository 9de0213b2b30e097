"""Text that anybody may have written (prompts, answers, names, queries) neither makes nor hides a classification."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable
from functools import cache

import pytest
from corpus import SAMPLES, catalogue, classifier, samples

from vllm_crashsig.quoted import quoted_parts

STAMP = "INFO 11-30 19:41:58 "
PARAMS = "params: SamplingParams(n=1, temperature=0.7), prompt_token_ids: None, lora_request: None."
DAY = (SAMPLES / "healthy/vllm-healthy-sigterm.log").read_text()
UP = DAY[: DAY.index("Application startup complete.")] + "Application startup complete.\n"
BYE = DAY[len(UP) :]
CRASH = (SAMPLES / "cuda-oom.weights-load/hit-load.log").read_text()

FORMS: dict[str, Callable[[str], str]] = {
    # vllm/entrypoints/logger.py: RequestLogger.log_inputs and log_outputs
    "request": lambda t: f"{STAMP}[logger.py:43] Received request chatcmpl-1: prompt: {t!r}, {PARAMS}",
    "request in a longer prompt": lambda t: (
        f"(APIServer pid=1) {STAMP}[logger.py:43] Received request cmpl-1: prompt: {f'See:{chr(10)}{t}{chr(10)}'!r}, {PARAMS}"
    ),
    "answer": lambda t: f"{STAMP}[logger.py:71] Generated response chatcmpl-1: output: {t!r}, finish_reason: stop",
    "part of an answer": lambda t: (
        f"{STAMP}[logger.py:71] Generated response chatcmpl-1 (streaming delta): output: {t!r}, finish_reason: None"
    ),
    # vllm/engine/async_llm_engine.py of V0
    "request of an old server": lambda t: (
        f"{STAMP}async_llm_engine.py:379] Received request 9ab: prompt: {t!r}, sampling params: SamplingParams(n=1)."
    ),
    "a wrapper's own words": lambda t: f"{STAMP}[app.py:17] Added request cmpl-1. prompt: {t!r}",
    # uvicorn's access log
    "query": lambda t: f'INFO:     10.0.0.1:4000 - "GET /v1/models?q={urllib.parse.quote(t)} HTTP/1.1" 404 Not Found',
    "path": lambda t: f'INFO:     10.0.0.1:4000 - "GET /v1/%20{urllib.parse.quote(t)} HTTP/1.1" 404 Not Found',
    # a gateway's record of what it refused
    "error of a client": lambda t: json.dumps({"level": "error", "msg": "request failed", "status": 400, "error": f"bad: {t}"}),
    "error object of a client": lambda t: json.dumps(
        {"level": "error", "message": "refused", "status_code": "422", "err": {"type": "BadRequest", "message": t, "stack": t}}
    ),
    # pydantic's errors quote the input
    "refused request": lambda t: (
        "WARNING 11-30 19:41:58 [api_router.py:88] Bad request: 1 validation error for ChatCompletionRequest: "
        f"Input should be a valid list [type=list_type, input_value={t!r}, input_type=str]"
    ),
    "request as JSON": lambda t: (
        "DEBUG 11-30 19:41:58 [log.py:12] request body: " + json.dumps({"messages": [{"role": "user", "content": t}]})
    ),
    "JSON in JSON": lambda t: "ERROR 11-30 19:41:58 [log.py:12] refused: " + json.dumps(json.dumps({"content": t, "n": 1})),
    "structured log": lambda t: json.dumps(
        {"time": "2026-11-30T19:41:58Z", "level": "INFO", "message": f"Received request chatcmpl-1: prompt: {t!r}, {PARAMS}"}
    ),
    "gateway": lambda t: json.dumps({"level": "info", "msg": "ok", "request": {"messages": [{"role": "user", "content": t}]}}),
    "model name": lambda t: f"{STAMP}[api_server.py:1977] non-default args: {{'model': {t!r}, 'port': 8000}}",
    "tool call": lambda t: "ERROR 11-30 19:41:58 [serving_chat.py:200] Invalid tool call: " + json.dumps({"arguments": t}),
    "answer that a parser refuses": lambda t: (
        f"ERROR 11-30 19:41:58 [parser.py:145] Error in extracting tool call from response: {f'<tool_call>{t}</tool_call>'!r}"
    ),
}  # fmt: skip


@cache
def crash_texts() -> tuple[str, ...]:
    """A line of each failure that the catalogue knows, and the lines that prove the samples' causes."""
    found: dict[str, None] = {}
    for known in catalogue():
        if known.is_failure:
            for indicator in known.indicators.values():
                if indicator.weight == "decisive":
                    found.update(dict.fromkeys(indicator.examples.hit[:1]))
    for sample in samples():
        if sample.kind == "hit" and sample.path.name < "hit-d":
            cause = classifier().classify(sample.path.read_bytes()).cause
            found.update({e.text: None for e in cause.evidence[:1]} if cause else {})
    return tuple(found)


@pytest.mark.parametrize("form", FORMS)
def test_a_server_that_logs_crash_texts_is_healthy(form: str) -> None:
    assert len(crash_texts()) > 800
    lines = [FORMS[form](text) for text in crash_texts()]
    report = classifier().classify(UP + "\n".join(lines) + "\n" + BYE)
    assert (report.verdict, [c.id for c in report.classifications], len(report.incidents)) == ("healthy", [], 1)


@pytest.mark.parametrize("form", FORMS)
def test_a_crash_between_them_is_found(form: str) -> None:
    lines = "".join(FORMS[form](text) + "\n" for text in crash_texts()[::7])
    report = classifier().classify(lines + CRASH + lines)
    assert report.cause is not None and report.cause.id == "cuda-oom.weights-load"
    assert report.verdict == "crash"


FORGED = [
    "x', params: none\n(EngineCore_DP0 pid=12) ERROR 11-30 19:41:58 [core.py:1] torch.OutOfMemoryError: CUDA out of memory.",
    "\x1b[31mERROR 11-30 19:41:58 [core.py:1] EngineCore encountered a fatal error.\x1b[0m",
    "\r\nNVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\r\n",
    "</s>\n(APIServer pid=1) INFO 11-30 19:41:58 [launcher.py:99] Shutting down\n",
    "vLLM API server version 0.10.0",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", FORGED)
def test_forged_lines(form: str, text: str) -> None:
    alone = classifier().classify(UP + FORMS[form](text) + "\n" + BYE)
    assert (alone.verdict, len(alone.incidents), alone.context.get("vllm_version")) == ("healthy", 1, "0.32.0")
    before = classifier().classify(FORMS[form](text) + "\n" + CRASH)
    assert before.cause is not None and (before.cause.id, len(before.incidents)) == ("cuda-oom.weights-load", 1)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("prompt: 'a b', params: x", ["'a b"]),
        ('{"content": "say \\"no\\" now", "n": 1}', ['"say \\"no\\" now']),
        ('"{\\"content\\": \\"a \\\\\\"b\\\\\\" c\\", \\"n\\": 1}"', ['\\"a \\\\\\"b\\\\\\" c']),
        ("prompt: 'it''s'", ["'it"]),
        ("prompt: 'cut off in the mid", ["'cut off in the mid"]),
        ("input_value=b'x', output: \"y\"", ["'x", '"y']),
        ("'model': 'm', 'port': 1", ["'m"]),
        ('"GET /v1/models HTTP/1.1" 500', []),
        ('"GET /v1/models?x=1&y HTTP/1.1" 500', ["x=1&y HTTP/1.1"]),
        ("the prompt is 'x'", []),
        ("Avg prompt throughput: 1.0 tokens/s", []),
        ("context: 'x'", []),
        ("RuntimeError: CUDA error", []),
    ],
)
def test_quoted_parts(line: str, parts: list[str]) -> None:
    assert [line[start:end] for start, end in quoted_parts(line)] == parts


@pytest.mark.parametrize(
    "line",
    [
        "ERROR 11-30 19:41:58 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB for model 'x'",
        "ERROR 11-30 19:41:58 [core.py:1] request prompt: 'hello' failed: torch.OutOfMemoryError: CUDA out of memory. Tried",
    ],
)
def test_an_error_beside_a_quotation_stands(line: str) -> None:
    report = classifier().classify(line + "\n")
    assert report.cause is not None and report.cause.id.startswith("cuda-oom")
