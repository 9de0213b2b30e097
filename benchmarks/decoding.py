"""How fast logs in records are classified, beside the fastest decoder that we know of, which does nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from logs import Kind, write_log
from measuring import Cost, Plan, here, one_core
from results import Section
from scanning import classified

FIELDS = {"docker json-file": "log", "journald JSON": "MESSAGE", "JSON logger": "message"}
"""Where the text stands."""


def optional(name: str) -> Any:
    """A module, or None where it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


def decoders(field: str) -> dict[str, Callable[[bytes], object]]:
    """Those installed: each takes one line and gives its text."""
    found: dict[str, Callable[[bytes], object]] = {"json": lambda line: json.loads(line)[field]}
    if orjson := optional("orjson"):
        found["orjson"] = lambda line: orjson.loads(line)[field]
    if msgspec := optional("msgspec"):  # told the one field that is wanted, it skips the others
        decode = msgspec.json.Decoder(msgspec.defstruct("Record", [(field, str)], gc=False)).decode
        found["msgspec"] = lambda line: getattr(decode(line), field)
    return found


def decoded(path: Path, decode: Callable[[bytes], object]) -> Callable[[], Cost]:
    """A way: the file is read and each line of it decoded."""

    def run() -> None:
        with path.open("rb") as file:
            for line in file:
                decode(line)

    return here(run)


def measure(plan: Plan) -> list[Section]:
    """JSON records and CRI lines."""
    section = Section(
        "Records",
        "A whole classification beside a loop over the lines that decodes each one (for CRI: splits off its prefix) and throws "
        "it away. Above 1, classifying would be faster than that decoder alone.",
        ("log", "MB/s", "us a line", "decoder", "of its rate"),
    )
    missing = [name for name in ("orjson", "msgspec") if optional(name) is None]
    section.notes += [f"Missing: {name} (pip install {name})." for name in missing]
    for name in ("docker json-file", "journald JSON", "JSON logger", "CRI"):
        path = write_log(plan.path(f"{name}.log"), int(plan.size * 1e6 / 2), Kind(envelope=name), plan.seed)
        loops = decoders(FIELDS[name]) if name in FIELDS else {"bytes.split": lambda line: line.split(b" ", 3)[3]}
        with one_core():
            times = plan.side_by_side(
                {"classify": classified(path)} | {n: decoded(path, decode) for n, decode in loops.items()}
            )
        best = min(loops, key=lambda n: times[n].least)
        took, size = times["classify"].least, path.stat().st_size
        lines = path.read_bytes().count(b"\n")
        section.rows.append([
            name, f"{size / took / 1e6:.0f}", f"{took / lines * 1e6:.2f}", best, f"{times[best].least / took:.2f}",
        ])  # fmt: skip
        path.unlink()
    return [section]
