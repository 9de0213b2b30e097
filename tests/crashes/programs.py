"""Programs that fail, each in its own way: ``python programs.py NAME`` prints what the interpreter prints of it.

tests/test_crashid.py runs them with the Python at hand; python-*.txt beside this file is what others printed (see record.py).
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

ExceptionGroup: Any = getattr(builtins, "ExceptionGroup", None)  # since 3.11
WIDTHS = {"q": 4096, "k": 1024}


def load_weights(name: str) -> int:
    return pick(name)


def pick(name: str) -> int:
    if name not in WIDTHS:
        raise ValueError(f"no width for layer {name!r} of 7B model at 0x7f3a2c001230")
    return WIDTHS[name]


def plain() -> None:
    load_weights("v")


def other_function() -> None:
    pick("v")


def other_type() -> None:
    def pick(name: str) -> int:
        raise LookupError(f"no width for layer {name!r}")

    pick("v")


def guarded(way: str) -> None:
    """One failure that goes on in different ways."""
    try:
        load_weights("v")
    except ValueError as error:
        if way == "let_through":
            raise
        if way == "from":
            raise RuntimeError("the worker failed") from error
        if way == "in_handler":
            raise RuntimeError("see above")  # noqa: B904
        try:
            raise RuntimeError("the worker failed") from error
        except RuntimeError as second:
            raise OSError("the engine failed") from second


def cached(cache: dict[str, int], make: Callable[[], int]) -> int:
    try:
        return cache["v"]
    except KeyError:
        return make()


def failed_in_handler() -> None:
    cached({}, lambda: load_weights("v"))


def failed_otherwise_in_handler() -> None:
    cached({}, lambda: int("x" * 3))


def closed() -> None:
    import queue

    queue.Queue[int]().get(timeout=0.01)


def bare() -> None:
    raise RuntimeError("\n        The start method is wrong.\n        Use another one.")


def long_message() -> None:
    raise RuntimeError("shape [2, 4096] is invalid\nKeyError: 'this is a line of the message'\n  at layer 3")


def comprehension() -> None:
    print([load_weights(name) for name in ("q", "k", "v")])


def recursion() -> None:
    def down(depth: int) -> int:
        return down(depth + 1)

    down(0)


def mutual_recursion() -> None:
    def ping(depth: int) -> int:
        return pong(depth + 1)

    def pong(depth: int) -> int:
        return ping(depth + 1)

    ping(0)


def generated() -> None:
    exec(compile("def made(n):\n    return pick(n)\nmade('v')", "<eval_with_key>.12", "exec"), {"pick": pick})


def syntax() -> None:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "plugin.py").write_text("x = = 1\n", encoding="utf-8")
        sys.path.insert(0, folder)
        __import__("plugin")


def thread() -> None:
    import threading

    worker = threading.Thread(target=load_weights, args=("v",))
    worker.start()
    worker.join()


def pool() -> None:
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(1) as workers:
        workers.map(load_weights, ["v"])


def futures() -> None:
    import concurrent.futures
    import multiprocessing

    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as workers:
        workers.submit(load_weights, "v").result()


def task() -> None:
    import asyncio

    async def serve() -> None:
        load_weights("v")

    async def main() -> None:
        await asyncio.gather(serve())

    asyncio.run(main())


def note() -> None:
    try:
        load_weights("v")
    except ValueError as error:
        error.add_note("while loading shard 3 of 8")  # type: ignore[attr-defined,unused-ignore]
        raise


def raised(function: Callable[[], Any]) -> Exception:
    try:
        function()
    except (LookupError, ValueError) as error:
        return error
    raise AssertionError


def group_of_one_kind() -> None:
    raise ExceptionGroup("2 workers failed", [raised(plain), raised(plain)])


def group() -> None:
    inner = ExceptionGroup("inner", [raised(other_type), ValueError("never raised")])
    raise ExceptionGroup("outer", [raised(plain), inner])


def ranks() -> None:
    """Four processes that fail at the same moment and share stderr."""
    import multiprocessing

    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(4)
    processes = [context.Process(target=at_once, args=(barrier,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


def at_once(barrier: Any) -> None:
    barrier.wait()
    load_weights("v")


def segfault() -> None:
    import ctypes
    import faulthandler

    faulthandler.enable()
    ctypes.string_at(0)


def abort() -> None:
    import faulthandler
    import os

    faulthandler.enable()
    os.abort()


def fatal() -> None:
    import ctypes

    ctypes.pythonapi.Py_FatalError(b"deletion of interned string failed")


class Closing:
    def __del__(self) -> None:
        load_weights("v")


def ignored() -> None:
    Closing()


def at_exit() -> None:
    import atexit

    atexit.register(load_weights, "v")


def logging_error() -> None:
    import logging

    logging.warning("%d workers", "many")


def interrupted() -> None:
    raise KeyboardInterrupt


FAILING = (
    "plain", "other_function", "other_type", "guarded:let_through", "guarded:from", "guarded:in_handler", "guarded:twice",
    "failed_in_handler", "failed_otherwise_in_handler", "closed", "bare", "long_message", "comprehension", "recursion",
    "mutual_recursion", "generated", "syntax", "thread", "pool", "futures", "task", "ranks", "segfault", "abort", "fatal",
)  # fmt: skip
SINCE_3_11 = ("note", "group_of_one_kind", "group")
HARMLESS = ("ignored", "at_exit", "logging_error", "interrupted")
"""A traceback is printed, but nothing failed."""

if __name__ == "__main__":
    name, colon, way = sys.argv[1].partition(":")
    globals()[name](*([way] if colon else []))
