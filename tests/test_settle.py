"""An answer that is not certain says which evidence would settle it, with a command, and asks for nothing that was given."""

from __future__ import annotations

import pytest
from corpus import cases, catalogue, report, samples

from vllm_crashsig import Classifier, Report
from vllm_crashsig.outputs import render
from vllm_crashsig.schema import PLACEHOLDER

BANNER = "(APIServer pid=1) INFO 11-03 09:12:04 [api_server.py:1812] vLLM API server version 0.24.0"
CONSEQUENCE = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
UNKNOWN = 'Traceback (most recent call last):\n  File "/srv/zoo.py", line 1, in feed\nzoo.OddError: the lion is loose'
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB"
KERNEL = "[ 1234.500000] eth0: link up"
INSPECT = '            "OOMKilled": false,\n            "ExitCode": 1,'


def commands(found: Report) -> str:
    return "\n".join(step.command or "" for step in found.settle)


def asked(builtin: Classifier, *logs: str) -> str:
    session = builtin.session()
    for number, log in enumerate(logs):
        session.take(log + "\n", f"{number}.log")
    return commands(session.close())


def test_a_consequence_alone_asks_for_its_cause(builtin: Classifier) -> None:
    told = asked(builtin, CONSEQUENCE)
    assert "docker logs" in told
    assert "dmesg" in told
    assert "inspect" in told


def test_what_is_known_is_not_asked_for(builtin: Classifier) -> None:
    assert "docker logs" not in asked(builtin, f"{BANNER}\n{CONSEQUENCE}")
    assert "dmesg" not in asked(builtin, CONSEQUENCE, KERNEL)
    told = asked(builtin, CONSEQUENCE, INSPECT)
    assert "inspect" not in told
    assert "describe pod" not in told
    assert "dmesg" in told


def test_several_ranks_are_asked_for_all_their_logs(builtin: Classifier) -> None:
    arguments = BANNER.replace("vLLM API server version 0.24.0", "non-default args: {'tensor_parallel_size': 2}")
    assert "vllm-crashsig classify" in asked(builtin, f"{BANNER}\n{arguments}\n{CONSEQUENCE}")
    assert "vllm-crashsig classify" not in asked(builtin, f"{BANNER}\n{CONSEQUENCE}")


@pytest.mark.parametrize(
    ("runtime", "words"),
    [
        ("docker", ["docker logs CONTAINER > ", "docker inspect"]),
        ("podman", ["podman logs", "podman inspect"]),
        ("k8s", ["kubectl logs POD --previous", "kubectl describe pod"]),
        ("compose", ["docker compose logs"]),
        ("slurm", ["sacct"]),
        ("systemd", ["journalctl -u", "systemctl show"]),
        ("bare", ["classify vllm.log", "coredumpctl list"]),
    ],
)
def test_commands_are_for_what_runs_the_server(runtime: str, words: list[str]) -> None:
    told = commands(Classifier(runtime=runtime).classify(UNKNOWN))
    assert [word for word in words if word not in told] == []
    others = {"docker", "podman", "kubectl", "sacct", "systemctl"} - {words[-1].split()[0]}
    assert [word for word in others if f"{word} " in told] == []


def test_an_unknown_failure_asks_too(builtin: Classifier) -> None:
    found = builtin.classify(UNKNOWN)
    assert found.verdict == "unclassified"
    assert "VLLM_LOGGING_LEVEL=DEBUG" in commands(found)
    session = builtin.session()
    session.take(f"{BANNER}\n")
    session.exited(-11)
    silent = session.close()
    assert silent.verdict in ("unclassified", "crash")
    assert "dmesg" in commands(silent)


def test_a_certain_answer_and_a_healthy_log_ask_for_nothing(builtin: Classifier) -> None:
    for log in (OOM, BANNER, ""):
        assert builtin.classify(log).settle == []


def test_every_answer_that_is_not_certain_can_be_settled() -> None:
    wrong: list[tuple[str, str, str | None, str]] = []
    paths = [(s.path,) for s in samples()] + [c.paths for c in cases()]
    uncertain = 0
    for group in paths:
        found = report(*group)
        top = found.cause
        vague = top is not None and (top.role in ("either", "cascade") or top.band != "high" or catalogue()[top.id].last_resort)
        due = found.verdict == "unclassified" or (found.verdict in ("crash", "degraded") and vague)
        uncertain += due
        steps = found.settle
        if bool(steps) != due or len(steps) > 4 or any(not s.command or PLACEHOLDER.search(s.command) for s in steps):
            wrong.append((str(group[0]), found.verdict, top.id if top else None, commands(found)))
        if len({s.command for s in steps}) < len(steps):
            wrong.append((str(group[0]), "asked twice", None, commands(found)))
    assert wrong == []
    assert uncertain > 100


def test_each_incident_has_its_own(builtin: Classifier) -> None:
    found = builtin.classify(f"{BANNER}\n{CONSEQUENCE}\n{BANNER}\n{OOM}\n{CONSEQUENCE}\n")
    assert [bool(i.settle) for i in found.incidents] == [True, False]
    assert found.settle == []
    assert [r.settle for r in found.of_each_incident()] == [i.settle for i in found.incidents]


@pytest.mark.parametrize("log", [CONSEQUENCE, UNKNOWN])
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_people_are_told(builtin: Classifier, log: str, form: str) -> None:
    found = builtin.classify(log)
    told = render(found, form)
    assert "What would settle it" in told
    assert found.settle[0].command is not None
    assert found.settle[0].command in told
    assert "What would settle it" not in render(builtin.classify(OOM), form)
