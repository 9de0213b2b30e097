"""How long a command takes from nothing, beside the imports that nobody could do without."""

from __future__ import annotations

import sys
from pathlib import Path

from logs import crash_log
from measuring import Plan, Times, command, python
from results import Goal, Section

NEEDED = "import pydantic, click, regex, hyperscan"
"""What a classification needs of other people's code."""
SIZE = 20_000


def crashsig(*arguments: str) -> list[str]:
    """The command as a user starts it, where it is installed beside this Python."""
    script = Path(sys.executable).with_name("vllm-crashsig")
    return [*([str(script)] if script.exists() else [sys.executable, "-m", "vllm_crashsig"]), *arguments]


def measure(plan: Plan) -> list[Section]:
    """Cold processes, warm disk."""
    log = plan.path("cold.log")
    log.write_bytes(crash_log(SIZE, plan.seed))
    cache = str(plan.path("cold-cache"))
    needed, click = f'python -c "{NEEDED}"', 'python -c "import click"'
    ways = {
        "classify, a log of 20 KB": (command(crashsig("classify", str(log)), VLLM_CRASHSIG_CACHE=cache), needed),
        "the same, no cache": (command(crashsig("classify", str(log)), VLLM_CRASHSIG_CACHE="off"), needed),
        "--help": (command(crashsig("--help")), click),
        "--version": (command(crashsig("--version")), click),
        "import vllm_crashsig": (command(python("import vllm_crashsig")), "python -c pass"),
        needed: (command(python(NEEDED)), needed),
        click: (command(python("import click")), click),
        "python -c pass": (command(python("pass")), "python -c pass"),
    }
    for run, _ in ways.values():  # the disk's cache and our own are filled
        run()
    slow = "the same, no cache"
    times = plan.side_by_side({name: run for name, (run, _) in ways.items() if name != slow}, plan.starts)
    times |= plan.side_by_side({slow: ways[slow][0]}, max(1, plan.starts // 5))

    def ratio(name: str) -> float:
        return times[name].least / times[ways[name][1]].least

    section = Section(
        "Cold start",
        "Each is a new process; files are in the disk's cache, and but for one row our own cache is filled. Beside it: the "
        "imports that the work needs at the least.",
        ("command", "cpu ms", "wall ms", "beside", "ratio"),
        [_row(name, times[name], beside, ratio(name)) for name, (_, beside) in ways.items()],
        [
            Goal("classify 20 KB, cold / imports of its libraries", ratio("classify, a log of 20 KB"), 1.5, at_least=False),
            Goal("--help / import click", ratio("--help"), 2, at_least=False),
            Goal("--version / import click", ratio("--version"), 2, at_least=False),
        ],
    )
    return [section]


def _row(name: str, times: Times, beside: str, ratio: float) -> list[str]:
    itself = name == beside
    return [
        name,
        f"{times.least * 1000:.0f}",
        f"{times.wall * 1000:.0f}",
        "" if itself else beside,
        "" if itself else f"{ratio:.2f}",
    ]
