"""Exceptions that hang together -> what they tell.

The id of a chain is that of its root: the same exception has the same id however it was wrapped on its way out. Implicit
chaining ("During handling ...") is told apart by its frames: an exception that was raised by the handler itself passes the
first one on; one that came up deeper, in what the handler called, is a failure of its own, and both count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from ..model import LogLine
from ..nouns import dataclass, field, replace
from .frames import Own, python_frames, recursive_frames
from .lists import matcher
from .masks import telling_words
from .told import HEADLINE, Told, crash_id_of, name_of

MAX_FRAMES = 80
"""Innermost frames that are kept of one traceback."""

Link = Literal["", "cause", "context"]
"""How an exception hangs together with the one printed before it."""
Stack = tuple[tuple[str, str], ...]
"""(file, function) of each frame, outermost first."""


@dataclass(slots=True, eq=False)
class Traceback:
    """The frames of one traceback, and where it began."""

    first: LogLine
    link: Link = ""
    group: bool = False
    lead: int = 0
    """Characters of indentation and margin before its frames."""
    frames: deque[tuple[str, str, LogLine]] = field(default_factory=lambda: deque(maxlen=MAX_FRAMES))
    outermost: tuple[str, str] | None = None

    @property
    def stack(self) -> Stack:
        return tuple((file, function) for file, function, _ in self.frames)

    @property
    def last(self) -> int:
        """Order of its last frame."""
        return self.frames[-1][2].order if self.frames else self.first.order


@dataclass(slots=True)
class Raised:
    """One exception with its traceback."""

    kind: str
    message: str
    line: LogLine
    traceback: Traceback
    claimants: frozenset[str]
    """Fingerprints with a hit on its line."""

    @property
    def name(self) -> str:
        """Its type without the module."""
        return name_of(self.kind)

    @property
    def headline(self) -> str:
        text = self.line.text.strip(" |")
        return (text if self.message in text else f"{self.kind}: {self.message}")[:HEADLINE]

    @property
    def is_failure(self) -> bool:
        """Whether it does not end a program on purpose."""
        return matcher("no-failures").fullmatch(self.name) is None

    @property
    def is_group(self) -> bool:
        return self.traceback.group or self.line.text.rstrip().endswith((" sub-exception)", " sub-exceptions)"))


def tell_chain(chain: Sequence[Raised], *, tangled: bool = False) -> Told | None:
    """What a chain of exceptions tells; they are given as printed, the first cause first. None where it is no failure.

    tangled: whether their frames are mixed up with those of another process: then only the message tells.
    """
    root = next((i for i, r in enumerate(chain) if r.is_failure), None)
    if root is None or not chain[-1].is_failure:
        return None
    stacks = _full_stacks(chain)
    telling: dict[tuple[str, tuple[str, ...]], tuple[Raised, Own, Stack]] = {}
    for index in range(root, len(chain)):
        if index == root or (_is_own_failure(chain[index - 1], chain[index])):
            own = Own() if tangled else _own(chain[index].name, stacks[index])
            telling[chain[index].name, own.tokens] = chain[index], own, stacks[index]
    raised, own, stack = list(telling.values())[-1]
    kind = raised.kind if len(telling) == 1 else "+".join(name for name, _ in telling)
    tokens = *(token for _, some in telling for token in some), *telling_words(raised.message)
    says_little = tangled or all(o.weak for _, o, _ in telling.values())
    by_message = says_little or matcher("told-by-message").fullmatch(raised.name) is not None
    return Told(
        crash_id=crash_id_of(kind, tokens, (raised.message or raised.headline) if by_message else None),
        kind=kind,
        headline=raised.headline,
        frames=own.frames,
        line=raised.line,
        at=_line_at(raised, own, stack),
        first=chain[0].traceback.first,
        last=chain[-1].line,
        chain=tuple(r.headline for r in chain) if len(chain) > 1 else (),
        claimants=raised.claimants,
        chained=frozenset().union(*(r.claimants for r in chain)) - raised.claimants,
    )


def tell_group(chains: Sequence[Sequence[Raised]], around: Sequence[Raised]) -> Told | None:
    """What a group tells: alone its exception is told as such, several together, in whatever order they came.

    around: what the group was wrapped in afterwards.
    """
    leaves = [told for chain in chains if not chain[0].is_group and (told := tell_chain(chain)) is not None]
    if not leaves:
        return None
    first, wrapped = leaves[0], tuple(r.headline for r in around)
    distinct = sorted({t.crash_id: t for t in leaves}.values(), key=lambda t: t.crash_id)
    told = replace(
        first,
        last=leaves[-1].last,
        chain=(*(first.chain or (first.headline,)), *wrapped) if first.chain or wrapped else (),
        chained=frozenset().union(*(t.claimants | t.chained for t in leaves)) - first.claimants,
    )
    if len(distinct) == 1:
        return told
    return replace(
        told,
        crash_id=crash_id_of("group", tuple(t.crash_id for t in distinct), None),
        kind="+".join(name_of(t.kind) for t in distinct),
        chain=(*(t.headline for t in leaves), *wrapped),
    )


@lru_cache(maxsize=512)
def _own(name: str, stack: Stack) -> Own:
    """What a stack comes down to. A flood of tracebacks repeats few."""
    return recursive_frames(stack) if name == "RecursionError" else python_frames(stack)


def _full_stacks(chain: Sequence[Raised]) -> list[Stack]:
    """The stack of each exception from the program's beginning: a caught one shows only the frames below its handler."""
    stacks: list[Stack] = [()] * len(chain)
    after: Stack = ()
    for index in range(len(chain) - 1, -1, -1):
        traceback = chain[index].traceback
        stack = traceback.stack or after  # one that was printed without a traceback came up where it was handed on
        if after and traceback.outermost in after and len(traceback.frames) < MAX_FRAMES:
            handler = len(after) - 1 - after[::-1].index(traceback.outermost)
            stack = after[:handler] + stack
        stacks[index] = after = stack
    return stacks


def _is_own_failure(before: Raised, after: Raised) -> bool:
    """Whether an exception came up in something that the handler of the one before it called."""
    if after.traceback.link != "context" or not after.is_failure:
        return False
    handler, frames = before.traceback.outermost, after.traceback.stack
    return handler in frames[:-1] and handler != frames[-1]


def _line_at(raised: Raised, own: Own, stack: Stack) -> LogLine | None:
    """The line of the innermost own frame."""
    if own.at is None:
        return None
    frames = raised.traceback.frames
    index = own.at - (len(stack) - len(frames))
    return frames[index][2] if 0 <= index < len(frames) else None
