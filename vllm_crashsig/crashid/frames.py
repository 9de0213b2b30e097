"""Frames of a stack -> the few that tell what was going on, and what of them counts for the crash id.

Which frames are left out is data (`lists`); the order of this module's steps is that of Sentry's: normalize the name, tell the
program's own frames from libraries and plumbing, and cut recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from ..lazy import lazy
from ..nouns import dataclass
from .lists import below, matcher, names
from .masks import function_of

MAX_TOKENS = 4
"""Own frames that count, from the innermost outwards: further out it is only how one got there, which versions change."""
MAX_SHOWN = 8
"""Own frames that are told."""

Part = Literal["engine", "own", "way", "library", "standard", "wrapper"]


@dataclass(frozen=True, slots=True)
class Module:
    """A file of a Python stack."""

    path: str
    """From its package on where that is known, else with its folder."""
    part: Part
    stem: str
    """What counts of it: its name, so that installation paths and moved folders do not."""


_GENERATED = lazy(
    r"/torchinductor_|/inductor_cache/|/torch_compile_cache/|/\.triton/|/triton_cache/|/torch_extensions/|/ipykernel_"
    r"|^(?:tmp[a-z0-9_]{8}|\d+|[0-9a-f]{16,})$"
)
_STANDARD = lazy(r"/lib(?:64)?/(?:python|pypy)\d[^/]*/(.+)$|^[A-Za-z]:.*/[Ll]ib/(.+)$|/python\d+\.zip/(.+)$")
_PACKAGED = lazy(
    r"^.*/(?:site|dist)-packages/(?:[^/]+\.egg/)?|^.*/_ray_pkg_\w+/|^.*/working_dir_files/[^/]+/|^.*/py_modules_files/[^/]+/"
)
_SUFFIX = lazy(r"\.(?:pyc?|pyx|pxi|pyd|so)$|\.cpython-[\w-]+\.so$")


@lru_cache(maxsize=4096)
def module_of(file: str) -> Module:
    """What a file of a Python stack is."""
    file = file.replace("\\", "/")
    if file.startswith("<"):
        return _unreal(file)
    if _GENERATED.search(file) or _GENERATED.search(_SUFFIX.sub("", file.rpartition("/")[2])):
        return Module("<generated>", "own", "<generated>")
    packaged = _PACKAGED.sub("", file)
    if packaged != file:
        return _module(packaged, "own")
    if (match := _STANDARD.search(file)) is not None:
        return _module(next(g for g in match.groups() if g), "standard")
    in_checkout = _in_checkout(file)
    return _own_file(file) if in_checkout is None else _module(in_checkout, "own")


def _in_checkout(file: str) -> str | None:
    """The path from a known package on, where a file looks like part of its source tree (``/src/vllm/vllm/...``,
    ``python/ray/...``). A folder that only has such a name is somebody's: ``/home/ray``."""
    parts = file.split("/")
    for at, name in enumerate(parts[:-1]):
        if name not in names("engines") and name not in names("libraries"):
            continue
        before, rest = parts[at - 1] if at else "", "/".join(parts[at:])
        if (at == 0 or name in before or before in ("python", "src")) and parts[at + 1] != name:
            return rest
        if below("ways").match(rest) or below("wrappers").match(rest):
            return rest
    return None


def _own_file(file: str) -> Module:
    *folders, name = file.split("/")[-2:]
    return _module("/".join([*(f for f in folders if not _GENERATED.search(f)), name]), "own", known=False)


def _module(path: str, part: Part, *, known: bool = True) -> Module:
    folder, _, name = _SUFFIX.sub("", path).rpartition("/")
    stem = f"{folder.rpartition('/')[2]}/{name}" if name in ("__init__", "__main__") and folder else name
    bare = f"{folder}/{name}" if folder else name
    if re.search(r"(?:^|/)bin/[\w.-]+$", path):
        part = "way"
    elif part == "own" and known:
        package = path.partition("/")[0].removesuffix(".py")
        if below("wrappers").match(bare):
            part = "wrapper"
        elif below("ways").match(bare):
            part = "way"
        elif package in names("engines"):
            part = "engine"
        elif package in names("libraries"):
            part = "library"
    return Module(path, part, stem)


def _unreal(file: str) -> Module:
    """``<frozen importlib._bootstrap>``, ``<string>``, ``<eval_with_key>.12``, ``<ipython-input-3-ab12>`` and the like."""
    name = re.sub(r"(?:[-.: ]*\b(?=[0-9a-f]*\d)[0-9a-f]+\b|0x[0-9a-f]+|\d+)", "", file)
    if name.startswith("<frozen "):
        return Module(name[8:].rstrip(">").replace(".", "/"), "standard", name)
    part: Part = "wrapper" if below("wrappers").match(name) else "way" if below("ways").match(name) else "own"
    return Module(name, part, name)


_RESUMED = lazy(r"^torch_dynamo_resume_in_(\w+?)_at_\d+$")
_NUMBER = lazy(r"\d+")


def _function(name: str, module: Module) -> str:
    """A function's name without its class, module and the numbers of generated code."""
    if (match := _RESUMED.match(name.lstrip("_"))) is not None:
        name = match.group(1)
    if module.stem.startswith("<"):
        name = _NUMBER.sub("", name)
    return name.rpartition(".")[2] or name


@dataclass(frozen=True, slots=True)
class Own:
    """What a stack comes down to."""

    frames: tuple[str, ...] = ()
    """``module/path.py:function`` for people, outermost first."""
    tokens: tuple[str, ...] = ()
    """What of them counts for the id, sorted out and shortened likewise."""
    at: int | None = None
    """Index of the innermost of them in the stack."""
    weak: bool = False
    """Whether they say little: none is the program's own or a library's."""


def python_frames(stack: Sequence[tuple[str, str]]) -> Own:
    """The telling frames of a Python stack of (file, function), outermost first.

    The program's own frames, without plumbing; and below the last of them the innermost one of a library. Frames before those
    of the engine are left out (how it was called), and so is the top level of a script where a function follows.
    """
    read = [(index, module_of(file), function) for index, (file, function) in enumerate(stack)]
    kept = [f for f in read if f[1].part != "wrapper" and not matcher("wrapper-functions").fullmatch(f[2])] or read[-1:]
    program = [f for f in kept if f[1].part in ("engine", "own", "way")]
    own = [f for f in program[:-1] if f[1].part != "way"] + program[-1:]
    first_engine = next((i for i, f in enumerate(own) if f[1].part == "engine"), 0)
    own = own[first_engine:]
    while len(own) > 1 and own[0][2] == "<module>" and own[1][2] != "<module>":
        own = own[1:]
    weak = not own or (len(own) == 1 and own[0][1].part == "way")
    if kept and kept[-1][1].part == "library":
        own = [*own, kept[-1]]
        weak = False
    if not own:
        own = [f for f in kept if f[1].part != "standard"] or kept[-1:]
    shown: dict[str, str] = {}
    for _, module, function in reversed(own):  # a recursion counts once
        shown.setdefault(f"{module.stem}:{_function(function, module)}", f"{module.path}:{function}")
    frames = tuple(list(shown.values())[:MAX_SHOWN][::-1])
    return Own(frames, tuple(list(shown)[:MAX_TOKENS][::-1]), own[-1][0] if own else None, weak)


def recursive_frames(stack: Sequence[tuple[str, str]]) -> Own:
    """The frames of a stack that ran too deep: those that came again and again. Which one was the last is chance."""
    again = [f for f in stack if stack.count(f) > 2] or list(stack)
    told = python_frames(again)
    return Own(tuple(sorted(told.frames)), tuple(sorted(told.tokens)), told.at, told.weak)


_DRIVER = lazy(r"^_nv\d+rm$")
"""Functions of NVIDIA's closed driver, numbered anew in each version."""


def native_frames(symbols: Iterable[str], section: str = "native") -> Own:
    """The telling functions of a native stack, whose symbols are given from the innermost outwards; told outermost first."""
    found = [_DRIVER.sub("_nv..rm", function_of(symbol)) for symbol in symbols]
    own = [name for name in found if name and not matcher(section).fullmatch(name)]
    chosen = list(dict.fromkeys(own))[:MAX_SHOWN][::-1]
    return Own(tuple(chosen), tuple(chosen[-MAX_TOKENS:]), None, not chosen)
