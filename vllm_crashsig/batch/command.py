"""What the command `batch` does with its options."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any, TextIO

from ..errors import OptionError
from .run import Plan, run_batch
from .tables import render_text
from .work import Settings

TOLD = 20
"""Unreadable cases of which each gets a line."""


def batch_command(
    paths: Sequence[str],
    format_name: str,
    *,
    terminal: TextIO | None,
    width: int,
    tell: Callable[[str], None],
    directories: Sequence[str],
    runtime: str | None,
    redact: bool,
    ray_address: str | None,
    ray_runtime_env: str | None,
    engine: Any,
    **asked: Any,
) -> tuple[str, int]:
    """Runs a batch: what to print, and the exit status. Raises CrashsigError when it could not be done."""
    if engine != "ray" and (ray_address is not None or ray_runtime_env is not None):
        raise OptionError("--ray-address and --ray-runtime-env go with --engine ray; give it too")
    plan = Plan(
        paths, **asked, engine=engine, ray_address=ray_address, ray_runtime_env=_environment(ray_runtime_env),
        settings=Settings(tuple(directories), redact, runtime),
    )  # fmt: skip
    # Ray prints the errors of its cluster, such as the death of a node, to the driver's stdout from threads of its own.
    with redirect_stdout(sys.stderr if engine == "ray" else sys.stdout):
        summary = run_batch(plan, tell, terminal)
    for case, error in summary.unreadable[:TOLD]:
        tell(f"{case}: {error}")
    count = summary.verdicts["unreadable"]
    if count > TOLD:
        tell(f"{count - TOLD:,} more could not be read; the results tell each error")
    text = json.dumps(summary.as_dict(), indent=2) + "\n" if format_name == "json" else render_text(summary, width=width)
    return text, 2 if count == summary.cases else 0


def _environment(text: str | None) -> Mapping[str, Any] | None:
    if text is None:
        return None
    try:
        told = json.loads(text)
    except ValueError as error:
        raise OptionError(f"--ray-runtime-env is not JSON: {error}") from None
    if not isinstance(told, dict):
        raise OptionError('--ray-runtime-env must be a JSON object, such as {"pip": ["vllm-crashsig"]}')
    return told
