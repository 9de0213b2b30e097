"""Chunks -> frames -> lines laid bare: the same lines at the same places however the bytes were cut."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vllm_crashsig import framing
from vllm_crashsig.framing import MAX_LINE, OVERLAP, Frame, Framer
from vllm_crashsig.unwrap import Unwrapper

Line = tuple[int, int, bytes]
"""Line number, byte offset, content."""

BYTES = st.lists(
    st.sampled_from(
        [b"\n", b"\r\n", b"\r", b"a", b"bc", b"\xc3\xa9", b"\xc3", b"\xff", b"\x1b[31m", b"\x1b", b"\0", b" ", b"{"]
    ),
    max_size=60,
).map(b"".join)


def frames_of(chunks: Iterable[bytes]) -> tuple[list[Frame], Framer]:
    framer = Framer()
    frames = [frame for chunk in chunks for frame in framer.feed(chunk)]
    return [*frames, *framer.close()], framer


def lines_of(frames: Iterable[Frame]) -> list[Line]:
    return [(f.line_number(i), f.line_offset(i), f.line(i)) for f in frames for i in range(f.count)]


def unwrapped(*chunks: bytes) -> list[Line]:
    unwrapper = Unwrapper()
    frames = [unwrapper.unwrap(f) for f in frames_of(chunks)[0]]
    rest = unwrapper.finish()
    return lines_of([*frames, *([rest] if rest else [])])


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(p % (len(data) + 1) for p in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


CUTS = st.lists(st.integers(min_value=0), max_size=8)


@given(BYTES, CUTS)
@settings(max_examples=150, deadline=None)
def test_any_split_gives_the_same_lines(data: bytes, places: Sequence[int]) -> None:
    frames, framer = frames_of(cut(data, places))
    whole, _ = frames_of([data])
    assert b"".join(f.raw for f in frames) == data
    assert lines_of(frames) == lines_of(whole)
    assert sum(f.undecodable for f in frames) == sum(f.undecodable for f in whole)
    assert framer.bytes_seen == len(data)
    assert framer.lines_seen == len(data.split(b"\n")) - (data.endswith(b"\n") or not data)


@given(st.lists(st.integers(0, 70), max_size=12), CUTS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_long_lines_are_cut_at_the_same_places(lengths: Sequence[int], places: Sequence[int], ended: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "MAX_LINE", 16)
        patch.setattr(framing, "OVERLAP", 4)
        lines = [bytes(97 + (i + j) % 26 for j in range(n)) for i, n in enumerate(lengths)]
        data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
        frames, framer = frames_of(cut(data, places))
        whole, reference = frames_of([data])
        assert lines_of(frames) == lines_of(whole)
        assert [f.raw for f in frames if f.cut] == [f.raw for f in whole if f.cut]
        assert framer.long_lines == reference.long_lines == sum(len(line) > 16 for line in lines)
        assert all(len(piece) <= 17 for _, _, piece in lines_of(frames))
        for number, offset, piece in lines_of(frames):  # every piece stands where it says
            assert data[offset : offset + len(piece)] == piece
            assert data.count(b"\n", 0, offset) + 1 == number


NEWLINES = st.one_of(BYTES, st.integers(0, 200_000).map(lambda n: b"\n" * n), st.binary(min_size=5000, max_size=9000))


@given(st.lists(NEWLINES, max_size=4).map(b"".join), st.integers(0, 300_000), st.integers(0, 300_000))
@example(b"\n" * 65_521, 0, 65_521)
@settings(max_examples=100, deadline=None)
def test_newlines_are_counted(data: bytes, start: int, length: int) -> None:
    start = min(start, len(data))
    end = min(start + length, len(data))
    assert framing.count_newlines(data, start, end) == data.count(b"\n", start, end)
    assert framing.count_newlines(data, start) == data.count(b"\n", start)


def test_places_of_lines() -> None:
    frames, framer = frames_of([b"one\r\ntwo\n\nthr", b"ee"])
    assert lines_of(frames) == [(1, 0, b"one\r"), (2, 5, b"two"), (3, 9, b""), (4, 10, b"three")]
    assert framer.lines_seen == 4
    assert framer.bytes_seen == 15


def test_nothing_gives_nothing() -> None:
    frames, framer = frames_of([b"", b""])
    assert frames == []
    assert framer.lines_seen == framer.bytes_seen == 0


def test_a_line_counts_when_its_newline_has_come() -> None:
    framer = Framer()
    assert list(framer.feed(b"half a li")) == []
    assert [f.raw for f in framer.feed(b"ne\nand ")] == [b"half a line\n"]
    assert [f.raw for f in framer.close()] == [b"and "]


def test_invalid_utf8_is_replaced_and_counted() -> None:
    frames, _ = frames_of([b"ok \xff\xfe ok\n\xef\xbf\xbd is no fault\n"])
    assert [raw.decode() for _, _, raw in lines_of(frames)] == ["ok \ufffd\ufffd ok", "\ufffd is no fault"]
    assert sum(f.undecodable for f in frames) == 2


def test_terminal_sequences_go_and_lines_stay() -> None:
    frame = Frame(b"\x1b[1;31mred\x1b[0m\n\x1b]0;title\x07x\n\x1b[2K\n", 1, 0)
    assert frame.lines == [b"red", b"x", b""]
    assert [frame.line_offset(i) for i in range(3)] == [0, 15, 27]


@given(st.text(st.sampled_from("\x1b[]()031;mP_\\\x07Aa ?m7c"), max_size=40))
@settings(max_examples=300, deadline=None)
@example("u\x1b\x1b[31m[31mn")
@example("\x1b" * 9 + "[31m" * 9 + "x")
def test_no_terminal_sequence_is_left(text: str) -> None:
    """Neither in a frame nor when its lines are peeled, or the gate would see other text than the judge."""
    seen = Frame(text.encode(), 1, 0).text.decode()
    assert re.search(framing.ESCAPES, seen) is None


def test_an_endless_line_takes_bounded_memory() -> None:
    framer = Framer()
    chunk = b"x" * (1 << 20)
    tracemalloc.start()
    try:
        for _ in range(64):
            for frame in framer.feed(chunk):
                assert len(frame.raw) <= MAX_LINE
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(chunk)
    assert framer.long_lines == 1
    assert framer.lines_seen == 1
    assert framer.bytes_seen == 64 * len(chunk)


@pytest.mark.parametrize("shift", [0, 1, OVERLAP // 2, OVERLAP - 40])
def test_a_message_across_the_cut_is_seen_whole(shift: int) -> None:
    message = b"torch.OutOfMemoryError: CUDA out"
    data = b"x" * (MAX_LINE - shift - 10) + message + b"y" * MAX_LINE + b"\n"
    frames, framer = frames_of([data])
    assert any(message in f.raw for f in frames)
    assert framer.long_lines == 1


def docker(text: str, stream: str = "stderr") -> bytes:
    return json.dumps({"log": text, "stream": stream, "time": "2026-11-30T19:41:58.5Z"}).encode() + b"\n"


def test_docker_parts_are_joined() -> None:
    first, other, last, after = docker("one "), docker("out\n", "stdout"), docker("line\n"), docker("next\n")
    assert unwrapped(first + other + last + after) == [
        (2, len(first), b"out"), (1, 0, b"one line"), (4, len(first + other + last), b"next"),
    ]  # fmt: skip


def test_docker_part_without_end_comes_at_the_end() -> None:
    assert unwrapped(docker("x\n") + docker("cut off")) == [(1, 0, b"x"), (2, len(docker("x\n")), b"cut off")]


def test_docker_json_escapes_are_undone() -> None:
    raw = b'{"log":"a \\u003cb\\u003e \\u0026 \\"c\\"\\n","stream":"stdout","time":"2026-11-30T19:41:58.5Z"}\n'
    assert unwrapped(raw) == [(1, 0, b'a <b> & "c"')]


def cri(tag: str, text: str, stream: str = "stderr") -> bytes:
    return f"2026-11-30T19:41:58.500000000Z {stream} {tag} {text}\n".encode()


def test_cri_parts_are_joined() -> None:
    first, other, middle, last = cri("P", "one "), cri("F", "out", "stdout"), cri("P", "long "), cri("F", "line")
    lines = unwrapped(first + other + middle + last + cri("F", "next"))
    assert [(n, o) for n, o, _ in lines] == [(2, len(first)), (1, 0), (5, len(first + other + middle + last))]
    assert lines[1][2].endswith(b"stderr F one long line")


def test_ordinary_lines_pass_untouched() -> None:
    frame = Frame(b"plain\nlines {with} braces\n", 7, 100)
    assert Unwrapper().unwrap(frame) is frame


@pytest.mark.parametrize("line", [b"{not json}", b"{", b'{"log": 1}', b"{}", b'{"log":"x"', b"\xff{"])
def test_what_is_no_container_stays(line: bytes) -> None:
    (number, offset, raw), after = unwrapped(line + b"\nafter\n")
    assert (number, offset) == (1, 0)
    assert raw == line.replace(b"\xff", "\ufffd".encode())
    assert after == (2, len(line) + 1, b"after")


PARTS = st.lists(
    st.tuples(st.sampled_from(["P", "F"]), st.sampled_from(["stdout", "stderr"]), st.sampled_from(["a", "bc "])), max_size=12
)


@given(PARTS, CUTS, st.booleans())
@settings(max_examples=100, deadline=None)
def test_unwrapping_does_not_depend_on_the_split(
    parts: Sequence[tuple[str, str, str]], places: Sequence[int], in_docker: bool
) -> None:
    data = b"".join(
        docker(text + ("\n" if tag == "F" else ""), s) if in_docker else cri(tag, text, s) for tag, s, text in parts
    )
    whole = unwrapped(data)
    assert unwrapped(*cut(data, places)) == whole
    assert sum(line.count(b"a") for _, _, line in whole if in_docker) == sum(t == "a" for _, _, t in parts if in_docker)


def test_endless_parts_take_bounded_memory() -> None:
    unwrapper, framer = Unwrapper(), Framer()
    part = docker("x" * 16_384)
    lengths = [len(raw) for _ in range(100) for frame in framer.feed(part) for _, _, raw in lines_of([unwrapper.unwrap(frame)])]
    assert lengths, "given out in pieces before the end comes"
    assert max(lengths) <= MAX_LINE + 16_384


def test_a_json_line_is_undone_whatever_stands_beside_it() -> None:
    line = b'  {"message": "inner", "level": "error"}'
    assert [raw for _, _, raw in unwrapped(b"plain\n" + line + b"\n")] == [b"plain", b"inner"]
    assert [raw for _, _, raw in unwrapped(line + b"\nplain\n")] == [b"inner", b"plain"]


def test_newlines_inside_a_part_keep_their_place() -> None:
    first = docker("one\ntwo")
    assert unwrapped(first + docker(" more\n")) == [(1, 0, b"one"), (1, 0, b"two more")]
    assert unwrapped(first) == [(1, 0, b"one"), (1, 0, b"two")]


@pytest.mark.parametrize("padding", range(4))
@pytest.mark.parametrize("size", [1000, 70_000, 10**9])
def test_pieces_of_a_long_line_hold_whole_characters(padding: int, size: int) -> None:
    line = b"a" * padding + "漢é🦓".encode() * 40_000 + b"\n"
    frames, framer = frames_of([line[i : i + size] for i in range(0, len(line), size)])
    assert len(frames) > 1
    for frame in frames:
        frame.raw.decode()
        assert frame.text == frame.raw
        assert frame.undecodable == 0
    assert framer.bytes_seen == len(line)
    assert frames[-1].first_offset + len(frames[-1].raw) == len(line)
