"""Failure text that no fingerprint claims -> unknown failures with a stable id.

The id is made of the exception's type and the program's own frames (framework frames skipped, numbers, addresses and
paths left out), so that the same crash has the same id with other pids, ranks, paths and minor versions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .model import LogLine, Scope
from .patterns import Match

MARKERS: Mapping[str, str] = {
    "traceback": r"Traceback \(most recent call last\)",
    "frame": r'^\s*(?:\|\s*)?File "(?P<file>[^"]+)", line \d+, in (?P<function>\S+)',
    "exception": (
        r"^\s*(?:\|\s*)?(?P<type>(?:[A-Za-z_][\w$]*\.)*[A-Z]\w*"
        r"(?:Error|Exception|Interrupt|Exit|Failure|Fault|Timeout|Died|Dead|Lost|Unavailable|Violation|Closed))(?::\s|:?$)"
    ),
    "closing": r"^(?:\|\s*)?(?P<type>[A-Za-z_]\w*(?:\.\w+)*)(?:: |:?\s*$)",
    "terminate": r"terminate called (?:after throwing an instance of '(?P<type>[^']+)'|without an active exception)",
    "fatal_python": r"Fatal Python error: (?P<type>.{1,120})",
    "check_failed": r"Check failed: (?P<type>.{1,80})",
    "assertion": r"Assertion [`'](?P<type>[^'`]{1,200})' failed",
    "core_dumped": (
        r"(?P<type>Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)\s*\(core dumped\)"
    ),
    "panic": r"thread '[^']*' panicked at",
}
"""Text that failures print whatever their cause. ``closing`` is the line that ends a traceback, whatever its class is called;
it is asked about the lines after a frame only. Python's shapes are those of Lib/traceback.py and Python/pylifecycle.c,
``terminate called`` is libstdc++'s verbose terminate handler, ``Check failed`` is glog's."""

_FRAMEWORK = re.compile(
    r"(?:^|/)(?:bin/[\w.-]+$|asyncio|concurrent|multiprocessing|threading|importlib|runpy|contextlib|uvloop|uvicorn|starlette|fastapi|"
    r"click|typer|torch/(?:nn/modules/module|utils/_contextlib|_dynamo|multiprocessing|distributed/(?:run|launcher|elastic))|"
    r"vllm/(?:v1/executor|executor|v1/engine/(?:core|core_client|utils|async_llm|llm_engine|coordinator)|engine|entrypoints|"
    r"utils|distributed/parallel_state|worker/worker_base|v1/worker/worker_base|scripts|usage)|ray/(?:_private|_raylet|util/tracing))"
    r"(?:[/.:]|$)"
)
FOLLOWED = 60
"""Lines after a frame of a traceback among which its closing line is looked for (processes write between each other)."""
_NOT_FAILURES = re.compile(r"(?:KeyboardInterrupt|SystemExit|GeneratorExit|CancelledError|StopAsyncIteration|Warning)$")
_MASKS = (
    (re.compile(r"0x[0-9a-fA-F]+"), "<addr>"),
    (re.compile(r"(?:/[\w.@+-]+){2,}"), "<path>"),
    (re.compile(r"\b[0-9a-fA-F]{12,}\b"), "<hex>"),
    (re.compile(r"\d+(?:\.\d+)*"), "<n>"),
    (re.compile(r"\s+"), " "),
)
MAX_FRAMES = 80
MAX_ENTRIES = 200


@dataclass(slots=True)
class Failure:
    """An unknown failure, folded over its repeats."""

    crash_id: str
    headline: str
    kind: str
    frames: tuple[str, ...]
    lines: list[LogLine] = field(default_factory=list)
    count: int = 0
    claimants: set[str] = field(default_factory=set)
    """Fingerprints with a hit on one of these lines."""

    @property
    def first(self) -> LogLine:
        return self.lines[0]

    @property
    def last(self) -> LogLine:
        return self.lines[-1]


@dataclass(slots=True)
class _Episode:
    """A traceback that is being read in one scope."""

    line: LogLine
    frames: list[tuple[str, str]] = field(default_factory=list)


class FailureCollector:
    """Gathers tracebacks and other failure text of one stream, for each process apart."""

    def __init__(self) -> None:
        self._open: dict[Scope, _Episode] = {}
        self.failures: dict[str, Failure] = {}
        self.dropped = 0

    def add(self, line: LogLine, markers: list[tuple[str, Match[str]]], claimants: set[str]) -> bool:
        """One line with the markers that it shows, and the fingerprints that matched it. True for a new failure."""
        known = len(self.failures)
        for name, match in markers:
            if name == "traceback":
                if len(self._open) < MAX_ENTRIES:
                    self._open[line.scope] = _Episode(line)
            elif name == "frame":
                episode = self._open.get(line.scope)
                if episode is None and len(self._open) < MAX_ENTRIES:
                    episode = self._open[line.scope] = _Episode(line)
                if episode is not None and len(episode.frames) < MAX_FRAMES:
                    episode.frames.append((match.group("file"), match.group("function")))
            elif name != "closing" or (line.scope in self._open and self._open[line.scope].frames and len(markers) == 1):
                self._close(name, match, line, claimants)
        return len(self.failures) > known

    def _close(self, name: str, match: Match[str], line: LogLine, claimants: set[str]) -> None:
        episode = self._open.pop(line.scope, None)
        kind = (match.groupdict().get("type") or name).strip()
        if _NOT_FAILURES.search(kind):
            return
        if name == "exception" and not (episode and episode.frames) and line.level not in ("error", "critical"):
            return  # an exception's name at the beginning of an ordinary line is no failure
        frames = own_frames(episode.frames if episode else [])
        headline = line.text.strip()[:400]
        crash_id = make_crash_id(kind, frames, headline)
        failure = self.failures.get(crash_id)
        if failure is None:
            if len(self.failures) >= MAX_ENTRIES:
                self.dropped += 1
                return
            failure = self.failures[crash_id] = Failure(crash_id, headline, kind, frames)
        failure.count += line.count
        failure.claimants |= claimants
        if len(failure.lines) < 4:
            failure.lines.append(line)
        else:
            failure.lines[-1] = line


def own_frames(frames: list[tuple[str, str]]) -> tuple[str, ...]:
    """The frames that tell what was going on, outermost first: framework frames are skipped, but not the innermost."""
    named = [(_module(file), function) for file, function in frames]
    own = [(m, f) for m, f in named[:-1] if not _FRAMEWORK.search(m)] + named[-1:]
    return tuple(f"{module}:{function}" for module, function in own[-8:])


def _module(file: str) -> str:
    """A file's path from its package on, so that install locations do not count."""
    for root in ("/site-packages/", "/dist-packages/"):
        if root in file:
            return file.rsplit(root, 1)[1]
    match = re.search(r"/lib/python3[^/]*/(.+)$", file)
    if match:
        return match.group(1)
    return "/".join(file.rsplit("/", 2)[-2:]) if "/" in file else file


def make_crash_id(kind: str, frames: tuple[str, ...], headline: str) -> str:
    """16 hex digits that stand for this kind of crash."""
    return hashlib.sha256("\n".join([kind.rpartition(".")[2], *(frames or (mask(headline),))]).encode()).hexdigest()[:16]


def mask(text: str) -> str:
    """The text with numbers, addresses and paths replaced by placeholders."""
    for pattern, placeholder in _MASKS:
        text = pattern.sub(placeholder, text)
    return text.strip()
