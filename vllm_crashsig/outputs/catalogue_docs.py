"""The whole catalogue as one Markdown page: for `vllm-crashsig catalogue docs`, which writes fingerprints/README.md."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalogue import Catalogue
from ..facts import fill
from ..lazy import lazy
from ..schema import Fingerprint
from .escape import clip, markdown_code, plain

AREAS = {
    "host": "Host: memory, processes, disks, permissions",
    "shm": "Shared memory",
    "gpu": "GPU memory, devices and kernels",
    "driver": "NVIDIA driver",
    "hardware": "GPU and switch hardware",
    "nccl": "NCCL and the network",
    "torch": "PyTorch distributed",
    "ray": "Ray",
    "vllm": "vLLM: engine, options, ports",
    "model": "Model, weights, tokenizer, hub",
    "build": "Packages, compilers, the user's own code",
    "k8s": "Kubernetes",
    "container": "Containers",
}
"""Headings of the areas, in the order of the page. Other folders follow under their own names."""

MESSAGE_WIDTH = 140
REMEDY_WIDTH = 220

_HEAD = """\
# What is known

This page is generated from the files in this folder by `vllm-crashsig catalogue docs`; do not edit it.
`vllm-crashsig explain ID` tells all that is known of one of them.

A `root` is an answer to "why did it die"; `either` is one when nothing more specific is shown; a `cascade` only follows from
something else; `degraded` hurts without killing. `advice`, `noise`, `context` and `healthy` are read and never a cause. The
message is one of those that are looked for, shortened; the remedy is the first step.
"""

_SPAN = lazy(r"(`[^`]*`)")
_MARKUP = lazy(r"([\\*_\[\]<>~|])")


def render_catalogue_docs(catalogue: Catalogue) -> str:
    """The page, ending with a newline. It depends on nothing but the catalogue."""
    return "\n".join(_page(catalogue)) + "\n"


def _page(catalogue: Catalogue) -> Iterator[str]:
    yield _HEAD
    failures = [f for f in catalogue if f.is_failure]
    messages = sum(len(f.indicators) for f in catalogue)
    yield (
        f"{len(catalogue)} fingerprints with {messages} messages: {len(failures)} failures, "
        f"and {len(catalogue) - len(failures)} that keep harmless lines apart."
    )
    found = set(catalogue.areas.values())
    for area in [*(a for a in AREAS if a in found), *sorted(found - set(AREAS))]:
        yield ""
        yield f"## {AREAS.get(area, area)}"
        yield from _area([f for f in catalogue if catalogue.areas[f.id] == area], area)


def _area(fingerprints: list[Fingerprint], area: str) -> Iterator[str]:
    failures = [f for f in fingerprints if f.is_failure]
    if failures:
        yield ""
        yield "| Cause | Role | Severity | What is printed | Versions | First remedy |"
        yield "|---|---|---|---|---|---|"
        for f in failures:
            yield _row(_name(f, area), f.role, f.severity, _message(f), _text(f.versions), _remedy(f))
    others = [f for f in fingerprints if not f.is_failure]
    if others:
        yield ""
        yield "| Never a cause | Role | What is printed | Versions |"
        yield "|---|---|---|---|"
        yield from (_row(_name(f, area), f.role, _message(f), _text(f.versions)) for f in others)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _name(fingerprint: Fingerprint, area: str) -> str:
    return f"[`{fingerprint.id}`]({area}/{fingerprint.id}.yaml)<br>{_text(fingerprint.title)}"


def _message(fingerprint: Fingerprint) -> str:
    """The first example of the first decisive indicator (of the first one, where none is decisive)."""
    indicators = list(fingerprint.indicators.values())
    first = next((i for i in indicators if i.weight == "decisive"), indicators[0])
    return markdown_code(clip(" ".join(plain(first.examples.hit[0]).split()), MESSAGE_WIDTH)).replace("|", "\\|")


def _remedy(fingerprint: Fingerprint) -> str:
    """The first step, with the runtimes that it is for."""
    step = next(iter(fingerprint.remediation.steps()), None)
    if step is None:
        return ""
    runtimes = f"({', '.join(step.if_.runtime)}) " if step.if_ and step.if_.runtime else ""
    return _text(clip(runtimes + " ".join(fill(step.text, {}, fingerprint.facts).split()), REMEDY_WIDTH))


def _text(text: str) -> str:
    """Text for a table's cell: code spans stay, nothing else is markup."""
    parts = _SPAN.split(plain(" ".join(text.split())))
    return "".join(
        part.replace("|", "\\|") if index % 2 else _MARKUP.sub(r"\\\1", part).replace("`", "\\`")
        for index, part in enumerate(parts)
    )
