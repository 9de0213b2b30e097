"""What the verbs share: options, standard output, exit statuses."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import OptionError

if TYPE_CHECKING:
    from ..catalogue import Catalogue

EXIT_OF_VERDICT = {"crash": 0, "healthy": 1, "degraded": 1, "empty": 1, "unclassified": 3}
"""Contract: 0 a crash was classified; 1 nothing failed; 3 a failure that no fingerprint knows."""
EXIT_ERROR = 2

T = TypeVar("T")


def fingerprints_option(function: Callable[..., T]) -> Callable[..., T]:
    return click.option(
        "--fingerprints", "directories", metavar="DIR", multiple=True,
        help="Folder of more fingerprints (<area>/<id>.yaml): they add to the built-in ones, or replace those of the same id."
        " Repeatable.",
    )(function)  # fmt: skip


def open_catalogue(directories: Sequence[str]) -> Catalogue:
    """The built-in catalogue with these folders added. Raises CatalogueErrors."""
    from ..places import builtin_directory
    from ..stored import cached_catalogue

    return cached_catalogue([builtin_directory(), *directories])


def print_text(text: str) -> bool:
    """Writes to standard output, at once. A reader that went away is no error: False then.

    Raises OptionError when it cannot be written for another reason.
    """
    if sys.stdout is None:  # closed by the caller: the exit status is all that was wanted
        return True
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode(errors="replace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        hush()
        return False
    except OSError as error:
        hush()
        raise OptionError(f"the answer cannot be written to standard output: {error.strerror or error}") from error
    return True


def hush(stream: Any = None) -> None:
    """Keeps the interpreter from complaining when it flushes at exit what nobody takes: of standard output, by default."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def at_terminal() -> bool:
    """Whether nothing is piped in."""
    return sys.stdin is None or sys.stdin.isatty()


def is_terminal(stream: Any) -> bool:
    """Whether a stream is open and leads to a terminal."""
    return stream is not None and stream.isatty()


def terminal_width() -> int:
    """Columns for text."""
    if "COLUMNS" not in os.environ and not is_terminal(sys.stdout):
        return 100
    import shutil

    return min(shutil.get_terminal_size((100, 24)).columns, 120)


def use_color(when: str) -> bool:
    """Whether text is coloured, for ``auto``, ``always`` or ``never``."""
    if when != "auto":
        return when == "always"
    return (
        sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )
