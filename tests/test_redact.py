"""Secrets are masked wherever a quote from a log comes out, and ordinary words are not."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from tiny import catalogue, fingerprint, indicator

from vllm_crashsig import Classifier
from vllm_crashsig import redact as redact_module
from vllm_crashsig.literals import NoLiteralError, required_literals
from vllm_crashsig.outputs import render
from vllm_crashsig.redact import redact

HF = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345"
SK = "sk-proj-abc123def456ghi789jkl"
# (text before the secret, the secret, text after it)
SECRETS = [
    ("401 for token ", HF, ""),
    ("key=", SK, ", next"),
    ("Authorization: Bearer ", "abcdEFGH12345678.xyz", ""),
    ("'authorization': 'Bearer ", "abcdEFGH12345678", "'"),
    ("Authorization: ", "opaque-credential", ""),
    ("Authorization: Basic ", "dXNlcjpwYXNzd29yZA==", ""),
    ("postgres://user:", "p4ss-word", "@db:5432/x"),
    ("redis://:", "hunter", "@10.0.0.1:6379"),
    ("http://proxy:", "secret%21", "@proxy:3128 refused"),
    ("vllm serve m --api-key ", "mysecretword", " --port 8000"),
    ("vllm serve m --api-key=", "mysecretword", ""),
    ("['serve', '--api-key', '", "mysecretword", "', '--port']"),
    ("Namespace(api_key='", "topsecret", "', port=8000)"),
    ("{'api_key': '", "topsecret", "'}"),
    ('{"api_key": "', "topsecret", '"}'),
    ("api_key=['", "onesecret', 'twosecret", "'], port=1"),
    ("env HF_TOKEN=", "whatever-it-is", " PATH=/usr/bin"),
    ("HUGGING_FACE_HUB_TOKEN=", "abcdef", ""),
    ("export VLLM_API_KEY=", "abcdef", ""),
    ("AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""),
    ("id ", "AKIAIOSFODNN7EXAMPLE", ""),
    ("  password: ", "hunter2", ""),
    ("ssl-keyfile-password='", "hunter", "'"),
    ("https://x/y?X-Amz-Signature=", "0123abcd", "&z=1"),
    ("https://x/y?token=", "0123abcd", ""),
    ("jwt ", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln", ""),
    ("x-api-key: ", "abcdef", ""),
    ("git clone https://x:", "ghp_0123456789abcdefghij0123", "@github.com/x"),
    ('"token": "', "abcdefghij0123456789abcd", '"'),
]
ORDINARY = [
    "max_num_batched_tokens=8192, max_tokens=16, MAX_TOKENS=512",
    "Avg prompt throughput: 10.5 tokens/s, Avg generation throughput: 3.0 tokens/s",
    "token id 5 is out of vocabulary, token_ids=[1, 2, 3]",
    "unexpected key: layers.0.weight, Missing key(s) in state_dict: lm_head.weight",
    "api_key=None, hf_token=None, api_key: Optional[str] = None",
    "password authentication failed for user vllm",
    "token classification is not supported, token embeddings/initialization",
    "Basic configuration loaded; bearer authentication required",
    "error: argument --api-key: expected at least one argument",
    "the option --api-key is required, set --hf-token to a value",
    "KeyError: 'model.layers.0.self_attn.qkv_proj.weight'",
    "http://10.0.0.1:8000/v1/chat/completions and tcp://10.0.0.1:29500",
    '{"token": "Paris", "logprob": -0.1}',
    "ray start --address=10.0.0.1:6379 --redis-password=<password>",
    "secret is not set; keys: 12",
]


@pytest.mark.parametrize(("before", "secret", "after"), SECRETS)
def test_secret_is_masked(before: str, secret: str, after: str) -> None:
    masked = redact(before + secret + after)
    assert secret not in masked
    assert masked.startswith(before.rstrip("['"))
    assert masked.endswith(after.lstrip("]'"))
    assert redact(masked) == masked


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


@pytest.fixture
def watched(tmp_path: Path) -> tuple[Classifier, Classifier]:
    """Classifiers, masking and not, whose fingerprint quotes the log in every place that an answer has."""
    data = fingerprint(
        "quoting", "root", "boom (?P<what>.*)",
        summary="It was {what}.",
        facts={"what": {"label": "what blew up"}},
        remediation={"immediate": [{"text": "Repair {what}.", "command": "fix {what}", "risk": "config"}]},
    )  # fmt: skip
    context = fingerprint("telling", "context", indicators={"told": indicator("told (?P<what>.*)")}, facts=data["facts"])
    made = catalogue(tmp_path, data, context)
    return Classifier(made), Classifier(made, redacted=False)


@pytest.mark.parametrize("format_name", ["text", "json", "markdown"])
def test_no_output_tells_a_secret(watched: tuple[Classifier, Classifier], format_name: str) -> None:
    traceback = f'Traceback (most recent call last):\n  File "/a.py", line 1, in f\nzoo.OddError: {SK}\n'
    log = f"told HF_TOKEN={HF}\nERROR boom {HF}\n{traceback}"
    masking, open_ = watched
    text = render(masking.classify(log), format_name, explain=True)
    assert HF not in text
    assert SK not in text
    assert "[masked]" in text.replace("\\", "")
    assert HF in render(open_.classify(log), format_name, explain=True)


def test_masking_takes_no_time() -> None:
    for text in (
        "a-" * 20_000,
        "A_" * 20_000,
        "api_key" * 5_000,
        "--" * 20_000,
        "a://" * 9_000,
        "Bearer " * 5_000,
        "x" * 50_000,
        "'" * 50_000,
    ):
        start = time.perf_counter()
        redact(text)
        assert time.perf_counter() - start < 5


NAMES = [
    "api_key",
    "apikey",
    "secret",
    "secretkey",
    "secret-access-key",
    "password",
    "passwd",
    "passphrase",
    "hf_token",
    "private_key",
]
"""Of each kind that the rules know."""


def test_every_rule_is_asked_where_it_may_find_something() -> None:
    """What a rule matches holds one of its words: each literal that the pattern requires does."""
    unknown = []
    for words, pattern, _ in redact_module._RULES:
        try:
            needed = required_literals(pattern.pattern, ignore_case=bool(pattern.flags & re.IGNORECASE))
        except NoLiteralError:
            unknown.append(words)
            continue
        if redact_module._NAME in pattern.pattern:  # then these are beginnings of names
            needed = tuple(NAMES)
            assert [name for name in NAMES if re.fullmatch(redact_module._NAME, name) is None] == []
        assert [literal for literal in needed if not any(word in literal.lower() for word in words)] == [], pattern.pattern
    assert unknown == [("bearer", "basic", "token")], "the words themselves, in any case"
