"""Which evidence would settle an answer that is not certain, as commands to run.

The beginning of the log where it is missing; what the fingerprint itself says to look at; and as far as they are not given yet,
the places where causes show that the server's own log cannot know: the kernel, the runtime that saw the container end, the
other ranks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .confidence import HIGH, begins
from .incidents import Incident
from .model import FactValue
from .nouns import dataclass
from .report import Classification, StepInfo, Verdict
from .schema import Risk

OWN_STEPS = 2
"""Steps that are taken over from the fingerprint."""
MOST_STEPS = 4
CONTAINER_RECORDS = frozenset({"state_exit_code", "oom_killed"})
"""Facts of a record that tells how a container ended."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where evidence may be found. ``commands``: by runtime; the one of ``""`` where none is known or none fits."""

    text: str
    commands: Mapping[str, str]
    shown_by: tuple[str, ...]
    """Words of commands that fetch the same."""
    risk: Risk = "read-only"

    def step(self, runtimes: Collection[str]) -> StepInfo:
        """As a step for what is known to run the server."""
        command = next((self.commands[r] for r in sorted(runtimes) if r in self.commands), self.commands[""])
        return StepInfo(text=self.text, command=command, risk=self.risk)


_DOCKER_LOGS = "docker logs CONTAINER > vllm.log 2>&1"
_DOCKER_STATE = "docker inspect -f '{{.State.ExitCode}} {{.State.OOMKilled}} {{.State.Error}} {{.State.FinishedAt}}' CONTAINER"
_POD_STATE = "kubectl describe pod POD | grep -A 8 'Last State'"
BEGINNING = Place(
    "Classify the log from the server's start: this one begins later, and an error in the missing part would be the cause.",
    {
        "": f"{_DOCKER_LOGS}   # or kubectl logs POD --previous",
        "docker": _DOCKER_LOGS,
        "podman": "podman logs CONTAINER > vllm.log 2>&1",
        "compose": "docker compose logs --no-color SERVICE > vllm.log",
        "swarm": "docker service logs --no-trunc SERVICE > vllm.log 2>&1",
        "k8s": "kubectl logs POD --previous --timestamps > vllm.log",
        "systemd": "journalctl -u vllm.service -o short-iso-precise > vllm.log",
        "slurm": "vllm-crashsig classify slurm-JOB.out   # the whole file",
        "bare": "vllm-crashsig classify vllm.log   # the whole file",
    },
    (" logs ", "journalctl -u"),
)
KERNEL = Place(
    "Ask the kernel: an OOM kill, an Xid, a segfault or an I/O error at that time would be the cause.",
    {"": "dmesg -T | grep -iE 'out of memory|oom-kill|killed process|Xid|NVRM|segfault|I/O error'"},
    ("dmesg", "journalctl -k"),
)
END = Place(
    "Ask the runtime how the process ended: 137 is a kill (with OOMKilled, by the memory limit), 139 a crash in native code, "
    "143 a stop that somebody asked for.",
    {
        "": f"{_DOCKER_STATE}   # or {_POD_STATE}",
        "docker": _DOCKER_STATE,
        "podman": _DOCKER_STATE.replace("docker", "podman"),
        "compose": _DOCKER_STATE,
        "swarm": "docker service ps --no-trunc SERVICE",
        "k8s": _POD_STATE,
        "slurm": "sacct -j JOB -o JobID,State,ExitCode,MaxRSS,ReqMem",
        "systemd": "systemctl show vllm.service -p Result -p ExecMainCode -p ExecMainStatus",
        "bare": "coredumpctl list --since today",
    },
    ("docker inspect", "podman inspect", "describe pod", "sacct", "systemctl show", "coredumpctl list"),
)
OTHERS = Place(
    "Classify the logs of all ranks and nodes together: the one that failed first says why.",
    {"": "vllm-crashsig classify node0.log node1.log dmesg.txt"},
    ("vllm-crashsig classify",),
)
AGAIN = Place(
    "If it happens again, have vLLM say more before it does.",
    {"": "VLLM_LOGGING_LEVEL=DEBUG vllm serve MODEL"},
    ("VLLM_LOGGING_LEVEL", "NCCL_DEBUG=INFO", "TORCH_NCCL_", "PYTHONFAULTHANDLER", "CUDA_LAUNCH_BLOCKING"),
    "restart",
)
PLACES = (AGAIN, KERNEL, END, OTHERS, BEGINNING)


def settling(
    verdict: Verdict,
    top: Classification | None,
    incident: Incident,
    context: Mapping[str, FactValue],
    layers: Collection[str],
    runtimes: Collection[str],
) -> list[StepInfo]:
    """Steps, each with a command, whose result would change the answer or make it certain; none where it is.

    verdict, top: the answer and its first classification. layers: envelopes that were seen. runtimes: what ran the server.
    """
    if verdict in ("healthy", "empty") or (verdict != "unclassified" and top is not None and _is_certain(top)):
        return []
    given = {place for place, known in ((KERNEL, "dmesg" in layers), (END, bool(CONTAINER_RECORDS & context.keys()))) if known}
    if begins(incident) or layers == {"dmesg"}:
        given.add(BEGINNING)
    if not _is_spread(context):
        given.add(OTHERS)
    own = [step for step in (top.remediation.investigate if top is not None else ()) if step.command]
    steps: list[StepInfo] = []
    for step in own:
        fetched = _place_of(step)
        passed = {*given, BEGINNING, AGAIN} if runtimes else {*given, BEGINNING, AGAIN, END}
        if step.risk == "read-only" and fetched not in passed and len(steps) < OWN_STEPS:
            steps.append(step if fetched is None else step.model_copy(update={"text": fetched.text}))
    known = {*given, *(_place_of(step) for step in steps)}
    steps = [*(p.step(runtimes) for p in (BEGINNING,) if p not in known), *steps]
    steps += [place.step(runtimes) for place in (KERNEL, END, OTHERS) if place not in known]
    again = [step for step in own if _place_of(step) is AGAIN]
    if not again and (verdict == "unclassified" or not steps):
        again = [AGAIN.step(runtimes)]
    return [*steps[: MOST_STEPS - len(again[:1])], *again[:1]]


def _is_certain(top: Classification) -> bool:
    return top.confidence >= HIGH and top.role in ("root", "degraded")


def _is_spread(context: Mapping[str, FactValue]) -> bool:
    """Whether the server ran as several processes that may have failed one after the other."""
    sizes = (context.get(f"{kind}_parallel_size") for kind in ("tensor", "pipeline", "data"))
    return any(isinstance(size, int) and size > 1 for size in sizes)


def _place_of(step: StepInfo) -> Place | None:
    """The place whose contents a step's command gets."""
    return next((place for place in PLACES if any(word in (step.command or "") for word in place.shown_by)), None)
