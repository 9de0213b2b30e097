"""Rows -> a file of results, in the format that its suffix names. The file is there whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import stat
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, Any

from ..errors import InputError, Location, OptionError
from .row import COLUMNS, LISTS, CaseResult

Rows = Iterable[bytes]
"""Rows as JSON, each on one line without its end."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings that a spreadsheet takes for a formula. Logs can hold any text, also ``=HYPERLINK(...)``."""
GROUP = 10_000
"""Rows of a Parquet row group."""


def check_output(path: str) -> None:
    """Raises OptionError when results cannot be written in this format, InputError when not to this place."""
    writer_of(path)
    if path.lower().endswith(".parquet"):
        _pyarrow()
    check_place(path)


def check_place(path: str) -> None:
    """Raises InputError when a file cannot be written there."""
    place = Path(path)
    folder = place.parent
    why = None
    if place.is_dir():
        why = "it is a folder"
    elif not folder.is_dir():
        why = f"there is no folder {folder}; make it first"
    elif not os.access(place if _is_special(place) else folder, os.W_OK):
        why = "no permission"
    if why is not None:
        raise InputError(f"cannot be written: {why}", Location(path))


def write_rows(path: str, rows: Rows) -> None:
    """Writes results. Raises InputError when the place does not take them, OptionError for an unknown format."""
    writer = writer_of(path)
    with replacing(path) as file:
        writer(file, rows)


def writer_of(path: str) -> Callable[[IO[bytes], Rows], None]:
    """What writes the format that a suffix names. Raises OptionError for an unknown one."""
    for suffixes, writer in _WRITERS.items():
        if path.lower().endswith(suffixes):
            return writer
    raise OptionError(f"{path}: the suffix must say the format: .jsonl, .csv or .parquet")


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A file that takes the place of the one at ``path`` when all is written. Raises InputError when it cannot be."""
    place = Path(path)
    direct = _is_special(place)
    target = place if direct else place.with_name(f".{place.name}.part")
    try:
        with target.open("wb") as file:
            yield file
            file.flush()
            if not direct:
                os.fsync(file.fileno())
        if not direct:
            os.replace(target, path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", Location(path)) from error
    finally:
        if not direct:
            target.unlink(missing_ok=True)


def _is_special(path: Path) -> bool:
    """Whether there is something that must be written to as it is: a device, a pipe."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def _write_jsonl(file: IO[bytes], rows: Rows) -> None:
    for row in rows:
        file.write(row + b"\n")


def _write_csv(file: IO[bytes], rows: Rows) -> None:
    class Utf8:
        def write(self, text: str) -> None:
            file.write(text.encode("utf-8", "replace"))

    writer = csv.writer(Utf8())
    writer.writerow(COLUMNS)
    for row in rows:
        told = json.loads(row)
        writer.writerow([_cell(name, told[name]) for name in COLUMNS])


def _cell(name: str, value: Any) -> Any:
    """A list as its items between ``; ``, a text so that no spreadsheet takes it for a formula."""
    if name in LISTS:
        value = "; ".join(map(str, value))
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return value


def _write_parquet(file: IO[bytes], rows: Rows) -> None:
    arrow, parquet = _pyarrow()
    kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
    schema = arrow.schema([(name, _arrow_type(arrow, kinds, hint)) for name, hint in typing.get_type_hints(CaseResult).items()])
    left = iter(rows)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(left, GROUP)):
            table = [{n: _storable(v) for n, v in json.loads(row).items()} for row in group]
            writer.write_table(arrow.Table.from_pylist(table, schema=schema))


def _arrow_type(arrow: Any, kinds: dict[type, Any], hint: Any) -> Any:
    """The column type of a field of `CaseResult`: ``str | None``, ``tuple[int, ...]``, ..."""
    if typing.get_origin(hint) is tuple:
        return arrow.list_(kinds[typing.get_args(hint)[0]])
    if isinstance(hint, types.UnionType):
        hint = next(kind for kind in typing.get_args(hint) if kind is not type(None))
    return kinds[hint]


def _storable(value: Any) -> Any:
    """Text without what UTF-8 cannot say."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise OptionError(
            f"writing .parquet needs the extra 'parquet' ({error}); run: pip install 'vllm-crashsig[parquet]'"
        ) from error


_WRITERS: dict[tuple[str, ...], Callable[[IO[bytes], Rows], None]] = {
    (".jsonl", ".ndjson"): _write_jsonl,
    (".csv",): _write_csv,
    (".parquet",): _write_parquet,
}
