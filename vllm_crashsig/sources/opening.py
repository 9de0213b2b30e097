"""One stream of bytes -> the logs in it: compression undone, archives walked, what is no text left out with a note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import InputError, Location
from .base import Budget, Source, Stream, Tally, clean_name
from .kinds import archive_of, compression_of, looks_binary, unreadable_format

if TYPE_CHECKING:
    from .tar import TarReader
    from .zip import ZipReader

SAMPLE = 4096
"""Bytes by which a file in a folder or archive is judged to be text."""


def open_stream(
    name: str, stream: Stream, notes: list[str], budget: Budget, tally: Tally | None = None, depth: int = 0
) -> Iterator[Source]:
    """The logs in a stream, to be read one after the other.

    tally: takes what is no text, in a folder or an archive. None when the stream was asked for by name: then it is read
    whatever it holds. Raises InputError when it cannot be.
    """
    for _ in range(budget.limits.layers + 1):
        kind = compression_of(stream.start())
        if kind is None:
            break
        from .compression import decompress

        stream = Stream(decompress(stream, kind, notes, budget))
    else:
        _refuse(f"file(s) compressed more than {budget.limits.layers} times over", name, tally)
        return
    head = stream.start()
    if (archive := archive_of(head)) is not None:
        yield from _open_archive(archive, name, stream, notes, budget, tally, depth)
    elif (unreadable := unreadable_format(head)) is not None:
        _refuse(f"{unreadable}(s)", name, tally)
    elif not head:
        if notes and tally is None:
            why = "; ".join(note.removesuffix("; what came before that was read") for note in notes)
            raise InputError(f"nothing could be read: {why}", Location(name))
        if notes or tally is None:
            yield Source(name, None if notes else stream, notes)
    elif tally is None or not looks_binary(stream.peek(SAMPLE)):
        if tally is None and b"\0" in head and looks_binary(head):
            notes.append("looks like binary data; it was searched for text all the same")
        yield Source(name, stream, notes)
    else:
        tally.add("binary file(s) not read", _inner(name))


def _open_archive(
    kind: str, name: str, stream: Stream, notes: list[str], budget: Budget, tally: Tally | None, depth: int
) -> Iterator[Source]:
    if depth >= budget.limits.depth:
        _refuse(f"archive(s) inside of {depth} others", name, tally)
        return
    inner = Tally()
    seen: dict[str, int] = {}
    for member in _reader(kind)(stream, notes, inner, budget):
        if not budget.member():
            break
        member_name = clean_name(member.name.removeprefix("./"))
        seen[member_name] = seen.get(member_name, 0) + 1
        if seen[member_name] > 1:
            member_name += f" ({seen[member_name]})"  # tar -r adds a newer version after the older one
        yield from open_stream(f"{name}!{member_name}", member.stream, member.notes, budget, inner, depth + 1)
    notes += inner.notes()
    if budget.stopped is not None and not any(budget.stopped in note for note in notes):
        notes.append(f"{budget.stopped}; the rest was not read")
    if notes:
        yield Source(name, None, notes)


def _reader(kind: str) -> type[TarReader] | type[ZipReader]:
    if kind == "tar":
        from .tar import TarReader

        return TarReader
    from .zip import ZipReader

    return ZipReader


def _refuse(what: str, name: str, tally: Tally | None) -> None:
    if tally is None:
        raise InputError(f"cannot be read: {what.replace('(s)', '')}; unpack it first", Location(name))
    tally.add(f"{what} not read", _inner(name))


def _inner(name: str) -> str:
    """The name without the archive's, whose note it goes into."""
    return name.rpartition("!")[2]
