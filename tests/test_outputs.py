"""Outputs: nothing from a log moves the cursor, hides itself or becomes markup; a real answer fits on a screen."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import SAMPLES

from vllm_crashsig import Classifier, OptionError, Report
from vllm_crashsig.outputs import FORMATS, render
from vllm_crashsig.outputs.card import render_card
from vllm_crashsig.outputs.escape import clip, clip_start, columns, markdown_code, markdown_text, plain

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB"
REAL = SAMPLES / "shm-exhausted-nccl" / "hit-vllm085-nccl221.log"

HOSTILE = st.lists(
    st.sampled_from(
        [
            "\x1b[31m", "\x1b[2J", "\x1b]0;title\x07", "\x1b]8;;http://evil\x1b\\", "\x9b31m",
            "\x07", "\x08", "\0", "\x7f", "\x0b", "\x0c",
            "\u202e", "\u2066", "\u2069", "\u200f", "\u2028", "\u2029", "\u0085", "\ufeff", "\u200b",
            "\u00ad", "\U000e0041", "\udc80",
            "`", "``", "```", "~~~", "<script>alert(1)</script>", "<img src=x>", "<!--", "</details>", "[link](http://evil)",
            "![x](http://evil)", "http://evil", "@everyone", "#1", "**b**", "_i_", "|", "\\", "\t", " ", "é", "漢",
            "e\u0301", "word", "&lt;", "$(rm -rf)",
        ]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@lru_cache(maxsize=1)
def classifier() -> Classifier:
    return Classifier()


@lru_cache(maxsize=1)
def real() -> Report:
    return classifier().classify(REAL.read_bytes(), source="vllm.log")


def hostile_report(tail: str, source: str = "log") -> Report:
    """A report whose evidence, unknown failure, context and trail hold the tail."""
    log = (
        f"INFO 11-30 12:00:00 [api_server.py:1] vLLM API server version 0.11.0{tail}\n{OOM} {tail}\n"
        f'Traceback (most recent call last):\n  File "/srv/{tail}.py", line 1, in f\nzoo.OddError: {tail}\n'
    )
    return classifier().classify(log, source=source)


def is_harmless(text: str) -> bool:
    """No control, format, surrogate or line-separator character but the newline."""
    return not {c for c in text if c != "\n" and (unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"))} - {
        "\u2060",
        "\u00ad",
    }


@given(HOSTILE)
@settings(max_examples=80, deadline=None)
def test_text_is_harmless(tail: str) -> None:
    report = hostile_report(tail, source=f"log{tail}")
    for width in (40, 100):
        assert is_harmless(render(report, "text", width=width, explain=True))
    coloured = render(report, "text", color=True)
    assert is_harmless(re.sub(r"\x1b\[[0-9;]*m", "", coloured))


def outside_of_code(markdown: str) -> str:
    """Markdown without its fenced blocks and code spans, the way CommonMark finds them."""
    kept, fence = [], ""
    for line in markdown.split("\n"):
        stripped = line.lstrip(" ")
        if fence:
            if re.fullmatch(rf"`{{{len(fence)},}} *", stripped):
                fence = ""
        elif opening := re.match(r"`{3,}", stripped):
            fence = opening.group(0)
        else:
            kept.append(line)
    assert not fence, "a block stays open"
    return re.sub(r"(?<![`\\])(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", "\n".join(kept))


@given(HOSTILE)
@settings(max_examples=80, deadline=None)
def test_markdown_is_harmless(tail: str) -> None:
    text = render(hostile_report(tail, source=f"log{tail}"), "markdown", explain=True)
    assert is_harmless(text)
    prose = outside_of_code(text)
    tags = set(re.findall(r"(?<!\\)<[/!a-zA-Z][^>]*>?", prose))
    assert tags <= {"<sub>", "</sub>", "<details>", "</details>", "<summary>", "</summary>"}
    assert prose.count("</details>") == prose.count("<details>") == 1
    links = re.findall(r"(?<!\\)\]\(([^)]*)\)", prose)
    assert all(link.startswith("https://") and "evil" not in link for link in links)
    assert "http://evil" not in prose
    assert "@everyone" not in prose


@given(st.text(max_size=40))
@settings(max_examples=100, deadline=None)
def test_escaping(text: str) -> None:
    shown = plain(text)
    assert "\n" not in shown
    assert is_harmless(shown)
    assert plain(shown) == shown
    assert columns(clip(text, 10)) <= 10
    assert columns(clip_start(text, 10)) <= 10
    span = markdown_code(text)
    fence = re.match("`+", span)
    assert fence is not None
    assert fence.group() not in span[len(fence.group()) : -len(fence.group())]
    assert not re.search(r"(?<!\\)[<\[]", markdown_text(text).replace("\\\\", ""))


def test_json_holds_the_bytes_and_parses() -> None:
    tail = "\x1b[31m \u202e ` <b>"
    data = json.loads(render(hostile_report(tail), "json"))
    assert data["classifications"][0]["id"] == "cuda-oom"


def test_text_fits_on_a_screen() -> None:
    text = render(real(), "text", width=100)
    lines = text.splitlines()
    assert 24 <= len(lines) <= 60
    assert lines[0].startswith("CRASH  shm-exhausted-nccl  (high confidence, ")
    for needed in ("Evidence", "vllm.log:", "Explains: ", "Do now", "--shm-size", "engine-init-failed"):
        assert needed in text
    assert text.index("Evidence") < text.index("Explains") < text.index("Do now")
    prose = [line for line in lines if not line.startswith("     ")]  # commands are never wrapped
    assert max(map(columns, prose)) <= 100


@pytest.mark.parametrize("width", [40, 41, 57, 80, 160])
def test_text_keeps_to_its_width(width: int) -> None:
    for report in (real(), hostile_report("漢字" * 40, source="/a/very/long/path" * 5)):
        lines = render(report, "text", width=width, explain=True).splitlines()
        assert max(columns(line) for line in lines if not line.startswith("     ")) <= width


def test_narrow_text_keeps_line_numbers() -> None:
    report = classifier().classify(REAL.read_bytes(), source="/var/log/containers/" + "x" * 60 + "/vllm.log")
    assert report.cause is not None
    number = report.cause.evidence[0].line
    assert f"/vllm.log:{number}" in render(report, "text", width=40)


def test_colour_changes_nothing_but_colour() -> None:
    coloured = render(real(), "text", color=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(real(), "text")


def test_other_verdicts() -> None:
    assert render(classifier().classify(""), "text").startswith("EMPTY\n")
    assert render(classifier().classify("INFO all is well"), "text") == "HEALTHY\nNo failure was found.\n"
    unknown = classifier().classify('Traceback (most recent call last):\n  File "/srv/b.py", line 1, in f\nzoo.OddError: x\n')
    text = render(unknown, "text")
    assert text.startswith("UNCLASSIFIED\n")
    assert unknown.unclassified[0].crash_id in text
    assert "zoo.OddError: x" in text
    assert unknown.unclassified[0].crash_id in render(unknown, "markdown")
    assert "## Empty" in render(classifier().classify(""), "markdown")


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_format_ends_with_a_newline(format_name: str) -> None:
    text = render(real(), format_name)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_unknown_format() -> None:
    with pytest.raises(OptionError, match="text, json, markdown"):
        render(real(), "yaml")


def test_cards() -> None:
    catalogue = classifier().catalogue
    for fingerprint in catalogue:
        card = render_card(catalogue, fingerprint.id, width=80)
        assert card.startswith(fingerprint.id + "\n")
        assert is_harmless(card)
    assert "Caused by" in render_card(catalogue, "nccl-unhandled")
    with pytest.raises(KeyError):
        render_card(catalogue, "no-such-thing")
