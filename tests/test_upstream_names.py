"""Every option, variable, sysctl, key, program and API that a remedy names exists in the versions that it is offered for.

The lists of tests/upstream were extracted from released packages by tools/upstream/extract.py (see there); names that are
mentioned only to warn of them stand with their reason in tests/upstream/mentions.yaml.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from functools import lru_cache

import pytest
from corpus import catalogue, read_yaml
from packaging.version import Version
from upstream_names import LISTS, Mention, Place, mentions, name_lists, places, problem

IDS = sorted(catalogue().fingerprints)


@lru_cache(maxsize=1)
def allowed() -> dict[tuple[str, str], int]:
    """(name, fingerprint or "") that may be mentioned all the same, with the number of the entry that says so."""
    entries = read_yaml(LISTS / "mentions.yaml")
    assert isinstance(entries, list)
    return {(name, where): at for at, one in enumerate(entries) for name in one["names"] for where in one.get("in", [""])}


@lru_cache(maxsize=1)
def problems() -> list[tuple[Place, Mention, str]]:
    """Everything that the lists do not bear out."""
    return [
        (place, mention, what)
        for one in catalogue().fingerprints.values()
        for place in places(one)
        for mention in sorted(set(mentions(place)), key=lambda m: (m.kind, m.name))
        if (what := problem(mention, place))
    ]


@pytest.mark.parametrize("one", IDS)
def test_every_name_exists_in_the_versions_it_is_offered_for(one: str) -> None:
    wrong = [
        f"{place}: {what}"
        for place, mention, what in problems()
        if place.fingerprint == one and not {(mention.name, one), (mention.name, "")} & set(allowed())
    ]
    assert wrong == [], (
        "correct the remedy or its `if: {versions: ...}`; a name to warn of goes into tests/upstream/mentions.yaml"
    )


def test_no_allowed_mention_is_stale() -> None:
    needed = {key for place, mention, _ in problems() for key in ((mention.name, place.fingerprint), (mention.name, ""))}
    assert [key for key in allowed() if key not in needed] == [], "take them out of tests/upstream/mentions.yaml"


def test_every_allowed_mention_has_a_reason() -> None:
    assert [one for one in read_yaml(LISTS / "mentions.yaml") if len(one["reason"]) < 20] == []


@pytest.mark.parametrize("product", sorted(name_lists()))
def test_the_lists_are_in_order(product: str) -> None:
    data = json.loads((LISTS / f"{product}.json").read_text())
    assert dt.date.fromisoformat(data["extracted"]) >= dt.date(2026, 11, 1)
    assert data.get("versions", []) == sorted(data.get("versions", []), key=Version)
    assert all(list(group) == sorted(group) for group in data["names"].values())


def test_the_lists_are_small() -> None:
    assert sum(path.stat().st_size for path in LISTS.iterdir()) < 400_000


@pytest.mark.parametrize(
    ("product", "group", "name", "inside", "outside"),
    [
        ("vllm", "vllm serve", "--tensor-parallel-size", "0.4.3", ""),
        ("vllm", "vllm serve", "--attention-backend", "0.13.0", "0.12.0"),
        ("vllm", "vllm serve", "--swap-space", "0.17.1", "0.18.1"),
        ("vllm", "vllm serve", "--no-enable-prefix-caching", "0.33.0", ""),
        ("vllm", "environment", "VLLM_ATTENTION_BACKEND", "0.14.1", "0.15.1"),
        ("vllm", "vllm", "collect-env", "0.33.0", "0.4.3"),
        ("ray", "ray start", "--gcs-server-port", "2.40.0", "2.50.1"),
        ("ray", "environment", "RAY_memory_usage_threshold", "2.60.0", ""),
        ("ray", "environment", "RAY_CGRAPH_get_timeout", "2.60.0", "2.40.0"),
        ("ray", "ray.init", "object_store_memory", "2.60.0", ""),
        ("nccl", "environment", "NCCL_CUMEM_HOST_ENABLE", "2.24.3", "2.18.3"),
        ("torch", "environment", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "2.14.1", ""),
        ("torch", "allocator", "expandable_segments", "2.14.1", ""),
        ("docker", "docker run", "--shm-size", "", ""),
        ("kubernetes", "kubectl logs", "--previous", "", ""),
    ],
)
def test_the_lists_know_what_is_known(product: str, group: str, name: str, inside: str, outside: str) -> None:
    one = name_lists()[product]
    assert name in one.groups[group]
    assert not inside or inside in one.having(group, name)
    assert not outside or outside not in one.having(group, name)


def found(text: str = "", command: str = "") -> set[tuple[str, str, str]]:
    return {(m.kind, m.program, m.name) for m in mentions(Place("x", "immediate[0]", text, command))}


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("vllm serve MODEL --port=8001", {("program", "vllm serve", ""), ("option", "vllm serve", "--port")}),
        ("A_B=1 sudo systemctl show {unit|x} -p MemoryMax", {("option", "systemctl", "-p"), ("key", "", "MemoryMax")}),
        ("ss -ltnp | grep -iE 'a|b' > out; df -h", {("option", "ss", "-ltnp"), ("option", "grep", "-iE")}),
        ("docker run --gpus all ubuntu nvidia-smi -L", {("option", "docker run", "--gpus"), ("option", "nvidia-smi", "-L")}),
        ("kubectl exec POD -- env | grep ^VLLM_", {("program", "kubectl exec", ""), ("program", "env", "")}),
        ("docker service update --mount-add type=tmpfs SERVICE", {("option", "docker service update", "--mount-add")}),
        ("kubectl -n kube-system get pods -o wide", {("option", "kubectl", "-n"), ("option", "kubectl get", "-o")}),
        ("spec: {enableServiceLinks: false}", {("key", "", "spec"), ("key", "", "enableServiceLinks")}),
        ("python3 -m pip install vllm", {("program", "pip install", "")}),
        ("export NCCL_DEBUG=INFO TMPDIR=/big", {("environment", "", "NCCL_DEBUG"), ("environment", "", "TMPDIR")}),
        ("for p in $(pgrep -f x); do py-spy dump --pid $p; done", {("option", "pgrep", "-f"), ("program", "py-spy dump", "")}),
    ],
)  # fmt: skip
def test_names_are_read_from_commands(command: str, names: set[tuple[str, str, str]]) -> None:
    seen = {(kind, name, "") if kind == "program" else (kind, program, name) for kind, program, name in found(command=command)}
    assert names <= seen


def test_names_are_read_from_words() -> None:
    text = "Set `RAY_memory_usage_threshold`, lower --max-num-seqs; vm.max_map_count and imagePullSecrets, {fact|--port} too."
    assert {name for _, _, name in found(text)} == {
        "RAY_memory_usage_threshold", "--max-num-seqs", "vm.max_map_count", "imagePullSecrets", "--port",
    }  # fmt: skip


CLAIM = "vLLM 0.8.5 to 0.33; Ray 2.9 to 2.60"


@pytest.mark.parametrize(
    ("text", "command", "versions", "wrong"),
    [
        ("x", "vllm serve M --no-such-flag", {}, "--no-such-flag"),
        ("x", "vllm serve M --gpus all", {}, "--gpus"),
        ("x", "docker run --tensor-parallel-size 2", {}, "--tensor-parallel-size"),
        ("x", "nosuchprogram -v", {}, "nosuchprogram"),
        ("x", "vllm nosuchcommand --port 1", {}, "vllm nosuchcommand"),
        ("Set VLLM_NO_SUCH_THING=1.", "", {}, "VLLM_NO_SUCH_THING"),
        ("Set RAY_no_such_thing=1.", "", {}, "RAY_no_such_thing"),
        ("Use --attention-backend.", "", {}, "0.8.5"),
        ("Use --attention-backend (from 0.13).", "", {}, ""),
        ("Use --attention-backend.", "", {"vllm": ">=0.13"}, ""),
        ("Use --attention-backend.", "", {"vllm": ">=0.12"}, "0.12.0"),
        ("Use --swap-space.", "", {"vllm": "<0.18"}, ""),
        ("Lower --swap-space.", "", {}, "0.33.0"),
        ("Use --swap-space (up to 0.17).", "", {}, "0.33.0"),
        ("x", "unset VLLM_ATTENTION_BACKEND", {}, ""),
        ("x", "export VLLM_ATTENTION_BACKEND=X", {}, "0.33.0"),
        ("x", "ray start --gcs-server-port=1", {}, "2.60.0"),
        ("x", "spec: {noSuchField: 1}", {}, "noSuchField"),
        ("x", "sysctl net.ipv4.no_such", {}, "net.ipv4.no_such"),
        ("x", "vllm serve M --compilation-config '{\"no_such_key\": 1}'", {}, "no_such_key"),
    ],
)
def test_the_check_catches_what_it_should(text: str, command: str, versions: dict[str, str], wrong: str) -> None:
    place = Place("x", "immediate[0]", text, command, versions, CLAIM)
    said = "; ".join(what for mention in set(mentions(place)) if (what := problem(mention, place)))
    assert (wrong in said) if wrong else said == ""


def test_the_fingerprints_are_really_read() -> None:
    kinds = Counter(m.kind for one in catalogue().fingerprints.values() for place in places(one) for m in mentions(place))
    assert kinds["option"] > 700
    assert kinds["environment"] > 250
    assert kinds["program"] > 500
    assert kinds["key"] > 60
    assert kinds["sysctl"] > 8
    assert kinds["api"] > 20
