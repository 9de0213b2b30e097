"""Failures of programs in other languages, line by line: exceptions of Java and Node, panics of Rust and Go."""

from __future__ import annotations

from ..lazy import lazy
from ..model import LogLine
from ..nouns import dataclass, field
from ..patterns import Match
from .frames import Own, native_frames
from .told import HEADLINE, Told, bounded, crash_id_of

MAX_SYMBOLS = 60
MAX_CAUSES = 16
"""What is kept of one exception."""

_MANAGED = lazy(r"\$\$.*|(?<=\$)\d+|\$(?=\d)|(?<=Accessor)\d+|^[\w.@]+/(?=[a-z])")
"""What changes in functions of Java: numbers of lambdas and proxies; and the module before them."""
_GO = lazy(r"(?:\.func\d+)(?:\.\d+)*$|\[\.\.\.\]|[()*]")
"""Closures, type parameters and receivers in functions of Go."""


@dataclass(slots=True)
class _Cause:
    kind: str
    message: str
    line: LogLine
    symbols: list[str] = field(default_factory=list)
    """Its stack from the innermost outwards."""


@dataclass(slots=True)
class NamedException:
    """An exception that is named at the beginning of a line, outside of a Python traceback; in Java and Node its frames follow.

    It is a failure where its line says so (by its level, or ``Exception in thread``), or where frames follow.
    """

    causes: list[_Cause]
    """The exception, and what it was caused by: the root is the last."""
    claimants: frozenset[str]
    sure: bool
    last: int

    @classmethod
    def begin(cls, kind: str, message: str, line: LogLine, claimants: frozenset[str], *, sure: bool) -> NamedException:
        return cls([_Cause(kind, message, bounded(line))], claimants, sure, line.order)

    @property
    def first(self) -> _Cause:
        return self.causes[0]

    def cause(self, kind: str, message: str, line: LogLine, claimants: frozenset[str]) -> None:
        """``Caused by:`` and what its line says."""
        if len(self.causes) < MAX_CAUSES:
            self.causes.append(_Cause(kind, message, bounded(line)))
            self.claimants |= claimants
        self.last = line.order

    def at(self, match: Match[str], line: LogLine) -> None:
        """A frame."""
        self.sure = True
        self.last = line.order
        symbol, place, symbols = match.group("symbol"), match.group("place") or "", self.causes[-1].symbols
        if symbol and "<anonymous>" not in symbol and not place.startswith("node:") and len(symbols) < MAX_SYMBOLS:
            symbol = _MANAGED.sub("", symbol.partition(" [as ")[0])
            symbols.append(symbol.replace("<init>", "new").replace("<clinit>", "static").rstrip("$"))

    def told(self) -> list[Told]:
        """The root, as far as it was told."""
        if not self.sure:
            return []
        root = self.causes[-1]
        own = native_frames(root.symbols, "jvm")
        said = None if own.tokens else root.message or root.line.text
        return [
            Told(
                crash_id=crash_id_of(root.kind.replace("$", "."), own.tokens, said),
                kind=root.kind,
                headline=root.line.text.strip().removeprefix("Caused by: ")[:HEADLINE],
                frames=own.frames,
                line=root.line,
                first=self.first.line,
                last=root.line,
                chain=tuple(c.line.text.strip()[:HEADLINE] for c in reversed(self.causes)) if len(self.causes) > 1 else (),
                claimants=self.claimants,
            )
        ]


@dataclass(slots=True)
class Panic:
    """A panic of Rust or Go. Rust's is a failure at once, Go's when a stack of goroutines follows."""

    language: str
    message: str
    place: str
    """The source file that Rust names. Its stack is printed only if somebody asked for it, so it does not count."""
    line: LogLine
    claimants: frozenset[str]
    sure: bool
    last: int
    running: bool = False
    symbols: list[str] = field(default_factory=list)
    """The stack from the innermost outwards."""

    @classmethod
    def of_rust(cls, match: Match[str], line: LogLine, claimants: frozenset[str]) -> Panic:
        file = match.group("file").replace("\\", "/").rpartition("/")[2]
        return cls("rust", match.group("message") or "", file, bounded(line), claimants, True, line.order)

    @classmethod
    def of_go(cls, match: Match[str], line: LogLine, claimants: frozenset[str]) -> Panic:
        return cls("go", match.group("message"), "", bounded(line), claimants, False, line.order)

    def goroutine(self, line: LogLine) -> None:
        """A stack begins; only the first one is that of the panic."""
        self.running = not self.sure
        self.sure = True
        self.last = line.order

    def frame(self, match: Match[str], line: LogLine) -> None:
        """A function of the stack."""
        if self.running and len(self.symbols) < MAX_SYMBOLS:
            self.last = line.order
            if not match.group("created"):
                self.symbols.append(_GO.sub("", match.group("symbol")))

    def told(self) -> list[Told]:
        """The panic, as far as it was told."""
        if not self.sure:
            return []
        own = Own((self.place,), (self.place,)) if self.language == "rust" else native_frames(self.symbols, "go")
        text = self.line.text.strip()
        return [
            Told(
                crash_id=crash_id_of(f"{self.language} panic", own.tokens, self.message),
                kind="panic",
                headline=(text if self.message in text else f"{text} {self.message}")[:HEADLINE],
                frames=own.frames,
                line=self.line,
                first=self.line,
                last=self.line,
                claimants=self.claimants,
            )
        ]
