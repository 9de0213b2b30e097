"""The nouns of unknown failures: what one place of a log tells, and the failure that it tells of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from ..model import LogLine
from ..nouns import dataclass, field, replace
from .masks import message_class

TEXT_LIMIT = 2000
"""Characters that are kept of a line."""
HEADLINE = 400
"""Characters of a headline."""


def bounded(line: LogLine) -> LogLine:
    """The line with its text cut to TEXT_LIMIT."""
    return line if len(line.text) <= TEXT_LIMIT else replace(line, text=line.text[:TEXT_LIMIT] + " …")


@dataclass(frozen=True, slots=True)
class Told:
    """One failure as one place of the log tells it."""

    crash_id: str
    kind: str
    """The exception's type, or what else ended the process."""
    headline: str
    """What happened, in the log's words."""
    frames: tuple[str, ...]
    """The telling frames, outermost first."""
    line: LogLine
    """The line that says what happened."""
    first: LogLine
    last: LogLine
    at: LogLine | None = None
    """The line of the innermost own frame."""
    chain: tuple[str, ...] = ()
    """All that hangs together, the first cause first; empty where there is only one."""
    claimants: frozenset[str] = frozenset()
    """Fingerprints with a hit on ``line``."""
    chained: frozenset[str] = frozenset()
    """Fingerprints with a hit on what else hangs together with it."""
    of_request: bool = False
    """Whether the server that caught it says that it ended one request."""


@dataclass(slots=True)
class Failure:
    """An unknown failure, folded over its repeats."""

    crash_id: str
    headline: str
    kind: str
    frames: tuple[str, ...]
    lines: list[LogLine] = field(default_factory=list)
    """What to quote: the line that says what happened, where it happened, then later times."""
    count: int = 0
    claimants: set[str] = field(default_factory=set)
    """Fingerprints with a hit on the lines that say what happened."""
    chained: set[str] = field(default_factory=set)
    """Fingerprints with a hit on what else hangs together with it."""
    chain: tuple[str, ...] = ()
    """All that hangs together, the first cause first; empty where there is only one."""
    first_line: LogLine | None = None
    last_line: LogLine | None = None
    of_requests: bool = True
    """Whether it was told only of requests, each time."""

    @property
    def first(self) -> LogLine:
        return self.first_line or self.lines[0]

    @property
    def last(self) -> LogLine:
        return self.last_line or self.lines[-1]

    def add(self, told: Told) -> None:
        """Takes one more place that tells of it."""
        if self.first_line is None:
            self.first_line, self.chain = told.first, told.chain
            self.lines = [told.line, *([told.at] if told.at is not None else [])]
        elif len(self.lines) < 4:
            self.lines.append(told.line)
        self.last_line = told.last
        self.count += told.line.count
        self.claimants |= told.claimants
        self.chained |= told.chained
        self.of_requests = self.of_requests and told.of_request


def name_of(kind: str) -> str:
    """A type without its module."""
    return kind.rpartition(".")[2]


def make_crash_id(kind: str, tokens: Sequence[str], message: str) -> str:
    """16 hex digits that stand for this kind of crash: of the exception's type without its module, and of the frames' tokens.

    Where there are none the message counts, without what changes from run to run.
    """
    return crash_id_of(kind, tuple(tokens), None if tokens else message)


@lru_cache(maxsize=1)
def _sha256() -> Any:
    """CPython's own, as its module ``random`` takes it; hashlib's loads OpenSSL, which takes as long as the work on a log."""
    for name in ("_sha2", "_sha256", "hashlib"):
        try:
            return import_module(name).sha256
        except ImportError:
            continue
    raise AssertionError("the standard library is not whole")


@lru_cache(maxsize=2048)
def crash_id_of(kind: str, tokens: tuple[str, ...], message: str | None) -> str:
    """The same, of both the tokens and the message where one is given."""
    module, _, name = kind.strip().rpartition(".")
    if name == "error":  # too common alone: zmq.error, struct.error
        name = f"{name_of(module)}.{name}"
    parts = [name, *tokens, *([message_class(message, kind)] if message is not None else [])]
    digest: str = _sha256()("\n".join(parts).encode()).hexdigest()
    return digest[:16]
