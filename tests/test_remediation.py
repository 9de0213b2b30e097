"""Advice: which steps are offered, and how numbers from the log get into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import classifier, fingerprint, indicator

from vllm_crashsig.facts import fill, format_fact, format_size, parse_fact
from vllm_crashsig.model import FactValue
from vllm_crashsig.remediation import advise, applies, compares, version_in
from vllm_crashsig.report import RemediationInfo
from vllm_crashsig.schema import Fact, FactType, Fingerprint, StepIf

MIB = 1024**2


def condition(**keys: Any) -> StepIf:
    return StepIf.model_validate(keys)


@pytest.mark.parametrize(
    ("keys", "runtimes", "known", "offered"),
    [
        ({}, [], {}, True),
        ({"runtime": ["docker"]}, [], {}, True),
        ({"runtime": ["docker"]}, ["docker"], {}, True),
        ({"runtime": ["docker", "compose"]}, ["compose", "slurm"], {}, True),
        ({"runtime": ["docker"]}, ["k8s"], {}, False),
        ({"versions": {"vllm": ">=0.9"}}, [], {}, True),
        ({"versions": {"vllm": ">=0.9"}}, [], {"vllm_version": "0.11.0"}, True),
        ({"versions": {"vllm": ">=0.9"}}, [], {"vllm_version": "0.8.5.post1"}, False),
        ({"versions": {"vllm": "<0.9"}}, [], {"vllm_version": "0.9.0rc1"}, False),
        ({"versions": {"vllm": ">=0.9"}}, [], {"vllm_version": "0.9.0rc1"}, True),
        ({"versions": {"torch": ">=2.6", "vllm": "<1"}}, [], {"torch_version": "2.5.1+cu124", "vllm_version": "0.8"}, False),
        ({"facts": ["size"]}, [], {}, False),
        ({"facts": ["size"]}, [], {"size": 0}, True),
        ({"without_facts": ["size"]}, [], {}, True),
        ({"without_facts": ["size"]}, [], {"size": 1}, False),
        ({"context": {"tensor_parallel_size": ">1"}}, [], {"tensor_parallel_size": 2}, True),
        ({"context": {"tensor_parallel_size": ">1"}}, [], {"tensor_parallel_size": 1}, False),
        ({"context": {"tensor_parallel_size": ">1"}}, [], {}, False),
        ({"context": {"executor": "ray"}}, [], {"executor": "Ray"}, True),
        ({"context": {"executor": "!=ray"}}, [], {"executor": "mp"}, True),
        ({"context": {"a": "1", "b": "2"}}, [], {"a": 1, "b": 3}, False),
    ],
)
def test_conditions(keys: dict[str, Any], runtimes: list[str], known: dict[str, FactValue], offered: bool) -> None:
    assert applies(condition(**keys), known, frozenset(runtimes)) is offered


def test_no_condition() -> None:
    assert applies(None, {}, frozenset({"k8s"}))


@pytest.mark.parametrize(
    ("version", "specifier", "inside"),
    [
        ("2.21.5+cuda12.4", ">=2.20", True),
        ("0.11.0rc2.dev5", "<0.11", False),
        ("0.11.1.dev3+g1a2b3c", ">=0.11", True),
        ("garbage", ">=1", True),
        ("5.15.0-119-generic", ">=5.10", True),
        ("4.18.0-553.el8", ">=5.10", False),
        ("1.0", "not a specifier", True),
        ("5.15.0-1-x", "bad", True),
        ("v0.9.1", ">=0.9", True),
        ("570.86.10", "<570.90", True),
        ("", ">1", True),
    ],
)
def test_versions(version: str, specifier: str, inside: bool) -> None:
    assert version_in(version, specifier) is inside


@pytest.mark.parametrize(
    ("value", "wanted", "holds"),
    [
        (2, ">1", True),
        (2, ">=2", True),
        (2, "<= 2", True),
        (2, "<2", False),
        (2, "2", True),
        (2, "==2.0", True),
        (2, "!=2", False),
        (0.9, ">0.85", True),
        ("fp8", "fp8", True),
        ("FP8", "fp8", True),
        ("fp8", "!=auto", True),
        (True, "true", True),
        (False, "true", False),
        ("auto", ">1", False),
        (True, "!=true", False),
    ],
)
def test_comparisons(value: FactValue, wanted: str, holds: bool) -> None:
    assert compares(value, wanted) is holds


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", " 12 ", 12),
        ("int", "1,234", 1234),
        ("int", "0x10", None),
        ("rank", "3", 3),
        ("bytes", "33030532", 33030532),
        ("kib", "64", 65536),
        ("mib", "1.5", 1572864),
        ("gib", "2", 2 * 1024**3),
        ("size", "64.00 MiB", 64 * MIB),
        ("size", "64m", 64 * MIB),
        ("size", "16Gi", 16 * 1024**3),
        ("size", "512", 512),
        ("size", "1,024 KB", MIB),
        ("size", "lots", None),
        ("size", "5 parsecs", None),
        ("seconds", "600.5", 600.5),
        ("ms", "1800000", 1800.0),
        ("float", "0.9", 0.9),
        ("float", "x", None),
        ("bool", "True", True),
        ("bool", "no", False),
        ("gpu", "3", 3),
        ("gpu", "0000:41:00.0", "0000:41:00.0"),
        ("str", "  words ", "words"),
        ("str", "  ", None),
        ("str", "x" * 999, "x" * 300),
        ("port", "8000", 8000),
        ("version", "0.11.0", "0.11.0"),
        ("exit_code", "-9", -9),
    ],
)
def test_facts_are_typed(kind: FactType, text: str, value: FactValue | None) -> None:
    assert parse_fact(kind, text) == value


@given(
    st.sampled_from(["int", "bytes", "size", "float", "ms", "gpu", "bool", "str", "gib", "seconds", "rank"]),
    st.text(max_size=30),
)
def test_any_text_is_a_fact_or_none(kind: FactType, text: str) -> None:
    value = parse_fact(kind, text)
    if value is not None:
        format_fact(Fact(type=kind, label="x"), value)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (64 * MIB, "64 MiB"),
        (9637892, "9.19 MiB"),
        (1023, "1023 bytes"),
        (80 * 1024**3, "80 GiB"),
        (1536 * 1024**3, "1.50 TiB"),
        (0, "0 bytes"),
    ],
)
def test_sizes_read_well(size: int, text: str) -> None:
    assert format_size(size) == text


DECLARED = {
    "size": Fact(type="size", label="requested size"),
    "path": Fact(type="path", label="file"),
    "wait": Fact(type="seconds", label="wait"),
}


@pytest.mark.parametrize(
    ("template", "facts", "plain", "command"),
    [
        ("need {size}", {"size": 64 * MIB}, "need 64 MiB", f"need {64 * MIB}"),
        ("need {size}", {}, "need the requested size", "need <requested size>"),
        ("need {size|more room}", {}, "need more room", "need more room"),
        ("need {size|}", {}, "need ", "need "),
        ("cat {path}", {"path": "/a/b-c_d.txt"}, "cat /a/b-c_d.txt", "cat /a/b-c_d.txt"),
        ("wait {wait}", {"wait": 600.0}, "wait 600", "wait 600"),
        (
            "{other} {{size}} ${size} {'a': 1} {}",
            {"size": 1},
            "{other} {1 bytes} $1 bytes {'a': 1} {}",
            "{other} {1} $1 {'a': 1} {}",
        ),
    ],
)
def test_placeholders(template: str, facts: dict[str, FactValue], plain: str, command: str) -> None:
    assert fill(template, facts, DECLARED) == plain
    assert fill(template, facts, DECLARED, command=True) == command


@pytest.mark.parametrize(
    "hostile",
    ["x; rm -rf ~", "$(reboot)", "`id`", "a b", "-rf", "a'b", 'a"b', "a\nb", "a|b", "a&b", "a>b", "*", "~root", "!x", "#x"],
)
def test_text_from_a_log_is_never_shell(hostile: str) -> None:
    assert fill("cat {path|FILE}", {"path": hostile}, DECLARED, command=True) == "cat FILE"
    assert fill("cat {path}", {"path": hostile}, DECLARED, command=True) == "cat <file>"
    assert fill("Look at {path}.", {"path": hostile}, DECLARED) == f"Look at {hostile}."


def advice(steps: dict[str, list[dict[str, Any]]], *runtimes: str, **known: FactValue) -> RemediationInfo:
    data = fingerprint("x-one", "root", "x", remediation=steps, facts={"size": {"type": "size", "label": "size"}})
    return advise(Fingerprint.model_validate(data), known, {}, frozenset(runtimes))


def step(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "risk": "config", **more}


def test_steps_are_chosen() -> None:
    steps = {
        "immediate": [
            step("docker", **{"if": {"runtime": ["docker"]}}),
            step("k8s", **{"if": {"runtime": ["k8s"]}}),
            step("all"),
        ],
        "verify": [step("big {size}", command="big {size}", **{"if": {"facts": ["size"]}})],
    }
    assert [s.text for s in advice(steps, "k8s").immediate] == ["k8s", "all"]
    assert [s.text for s in advice(steps).immediate] == ["docker", "k8s", "all"]
    assert advice(steps).verify == []
    (found,) = advice(steps, size=MIB).verify
    assert (found.text, found.command, found.risk) == ("big 1 MiB", f"big {MIB}", "config")


def test_something_is_always_left_to_do() -> None:
    steps = {"immediate": [step("only docker", **{"if": {"runtime": ["docker"]}})]}
    assert [s.text for s in advice(steps, "k8s").immediate] == ["only docker"]


def test_the_runtime_seen_decides(tmp_path: Path) -> None:
    steps = [step("compose it", **{"if": {"runtime": ["compose"]}}), step("pod it", **{"if": {"runtime": ["k8s"]}})]
    made = classifier(
        tmp_path,
        fingerprint(
            "no-room",
            "root",
            r"no room for (?P<size>\d+)",
            facts={"size": {"type": "bytes", "label": "size"}},
            remediation={"immediate": [*steps, step("make {size} of room")]},
        ),
        fingerprint(
            "told",
            "context",
            indicators={"a": indicator(r"runtime is (?P<runtime>\w+)")},
            facts={"runtime": {"label": "runtime"}},
        ),
    )

    def told(log: str) -> list[str]:
        cause = made.classify(log).cause
        assert cause is not None
        return [s.text for s in cause.remediation.immediate]

    assert told("vllm-1  | no room for 1048576") == ["compose it", "make 1 MiB of room"]
    assert told("[pod/vllm-0/vllm] no room for 1048576") == ["pod it", "make 1 MiB of room"]
    assert told("runtime is k8s\nno room for 1048576") == ["pod it", "make 1 MiB of room"]
    assert told("no room for 1048576") == ["compose it", "pod it", "make 1 MiB of room"]
