"""JSON records are laid bare as if one after the other was decoded, and the gate sees in them whatever they say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from vllm_crashsig import Classifier, unwrap
from vllm_crashsig.candidates import candidates_by_line
from vllm_crashsig.framing import Frame, Framer, clean_text
from vllm_crashsig.gate import Gate
from vllm_crashsig.record_frame import RecordFrame
from vllm_crashsig.unwrap import Unwrapper

Line = tuple[int, int, bytes, "dict[str, Any] | None"]
"""Number, offset, text, and what was told of a line."""

TIME = "2026-11-30T19:41:58.5Z"
WORDS = st.lists(
    st.sampled_from(
        [
            "CUDA out of memory. ", "torch.OutOfMemoryError: ", "NCCL WARN ", "Xid ", "vllm", " ", "\t", '"', '\\"', "\\",
            "\\n", "/", "<", ">&'", "\x1b[31m", "\x1b[0m", "\\x1b[m", "\\u001b[31m", "[0m", "\x00", "\x07", "\r",
            "\x1b]0;t\x07", "é", "漢\u2028", "\u2019", "\u201cx\u201d", "\u00a0", "&quot;", "{", "}", "{x}", '{"a": 1}',
            '{"msg": "in it"}', "[", "]", "[{}]", "u003c", "\\u003c", ": ", ", ", "}}", "partial", "\U0001f600",
        ]
    ),
    max_size=8,
).map("".join)  # fmt: skip
TEXTS = st.one_of(WORDS, WORDS.map(lambda t: t + "\n"), st.tuples(WORDS, WORDS).map("\n".join), st.text(max_size=20))


def go(record: Any) -> str:
    """As encoding/json of Go writes it, which is what Docker and Kubernetes use."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return re.sub(r"[<>&\u2028]", lambda match: f"\\u{ord(match.group()):04x}", text)


ENCODERS: tuple[Callable[[Any], str], ...] = (
    go,
    json.dumps,
    lambda record: json.dumps(record, separators=(",", ":")),
    lambda record: json.dumps(record, separators=(" , ", " : ")).replace("/", "\\/"),
    lambda record: go(record).replace("\\u003", "\\u003").replace("\\u003c", "\\u003C"),
)


FAILED = st.sampled_from(["", "nil", "Trace\nback", "boom", None, {"type": "E", "message": "boom"}, {"stack": "a\nb"}, ["x"]])
ENDED = st.sampled_from(
    [{"exitCode": 137}, {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}, {"running": {}}, {"terminated": None}, "x"]
)


@st.composite
def records(draw: st.DrawFn) -> str:
    """A line of JSON, or with JSON in it, of the kinds that logs have."""
    text = draw(TEXTS)
    stream = draw(st.sampled_from(["stdout", "stderr"]))
    made: Any = draw(
        st.sampled_from(
            [
                {"log": text, "stream": stream, "time": TIME},
                {"log": text + "\n", "stream": stream, "time": TIME},
                {"log": text + "\n", "stream": stream, "attrs": {"tag": "vllm"}, "time": TIME},
                {"stream": stream, "log": text, "time": TIME, "kubernetes": {"pod_name": "vllm-0", "container_name": "v"}},
                {"log": text, "logtag": draw(st.sampled_from("PF")), "time": TIME},
                {"__CURSOR": "s=1", "__REALTIME_TIMESTAMP": "1796067718000000", "MESSAGE": text, "_COMM": "vllm", "_PID": "7"},
                {"__CURSOR": "s=1", "MESSAGE": list(text.encode()), "_TRANSPORT": "stdout"},
                {"__CURSOR": "s=1", "MESSAGE": text, "CONTAINER_PARTIAL_MESSAGE": draw(st.sampled_from(["true", "false"]))},
                {"message": text, "level": "ERROR", "asctime": TIME},
                {"msg": text, "exc_info": draw(st.sampled_from(["", "Trace\nback", "boom", None]))},
                {"msg": text, draw(st.sampled_from(["error", "err", "reason", "stack"])): draw(FAILED)},
                {"msg": text, draw(st.sampled_from(["terminated", "state", "lastState"])): draw(ENDED)},
                {"timestamp": TIME, "jsonPayload": {"message": text, "levelname": "INFO"}, "labels": {"rank": "3"}},
                {"body": {"stringValue": text}, "severityText": "WARN", "timeUnixNano": "1796067718000000000"},
                {"events": [{"message": text, "timestamp": 1796067718000}, {"message": "two", "timestamp": 1796067719000}]},
                [{"message": text, "time": TIME}, {"message": "two", "time": TIME}],
                {"log": json.dumps({"message": text, "time": TIME}) + "\n", "stream": stream, "time": TIME},
                {"name": "nothing to read", "x": [text]},
                text,
            ]
        )
    )
    line = draw(st.sampled_from(ENCODERS))(made) if not isinstance(made, str) else made.replace("\n", " ")
    prefix = draw(
        st.sampled_from(["", "", "", "", "2026-11-30T19:41:58.5Z stderr F ", "vllm-1  | ", "[pod/vllm-0/vllm] ", "  "])
    )
    line = prefix + line
    if draw(st.integers(0, 9)) == 0:
        line = line[: draw(st.integers(0, len(line)))]
    return line + draw(st.sampled_from(["", "", "", "", ",", "\r", " "]))


LOGS = st.tuples(st.lists(records(), min_size=1, max_size=8), st.sampled_from([b"", b"\n"])).map(
    lambda made: "\n".join(made[0]).encode(errors="surrogatepass") + made[1]
)
STEADY = {"log": "ordinary\n", "stream": "stdout", "time": TIME}


def frames(data: bytes) -> list[Frame]:
    framer, unwrapper = Framer(), Unwrapper()
    out = [unwrapper.unwrap(frame) for frame in [*framer.feed(data), *framer.close()]]
    return [*out, *([rest] if (rest := unwrapper.finish()) is not None else [])]


def lines_of(found: Sequence[Frame]) -> list[Line]:
    return [(f.line_number(i), f.line_offset(i), f.line(i), f.told(i)) for f in found for i in range(f.count)]


def one_by_one(data: bytes) -> list[Frame]:
    """The same without looking at more than one record at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unwrap, "record_frame", lambda *_: None)
        return frames(data)


@lru_cache(maxsize=1)
def gate() -> Gate:
    found = Classifier()._prepared[1]
    if found is None:
        pytest.skip("Hyperscan is not installed")
    return found


def announced(text: bytes) -> list[set[int]]:
    """What the gate announces for each line of a text."""
    out: list[set[int]] = [set() for _ in text.split(b"\n")]
    for start, _, probes in candidates_by_line(gate(), text):
        out[text.count(b"\n", 0, start)] |= set(probes)
    return out


SLOW_OK = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@given(LOGS, st.integers(0, 30))
@example(b'{"log":"\\\\n","stream":"stdout","time":"2026-11-30T19:41:58.5Z"}\n', 0)
@example(b'{"log":"a\\\\temp \\u003cb\\u003e\\n","stream":"stdout","time":"2026-11-30T19:41:58.5Z"}\n', 0)
@example(
    b'{"log":"CUDA\\u001b[31m out of memory. Tried to allocate\\n","stream":"stdout","time":"2026-11-30T19:41:58.5Z"}\n', 20
)
@SLOW_OK
def test_a_frame_of_records_says_what_its_records_say(data: bytes, steady: int) -> None:
    data += (json.dumps(STEADY).encode() + b"\n") * steady if data.endswith(b"\n") else b""
    found, plain = frames(data), one_by_one(data)
    assert lines_of(found) == lines_of(plain)
    for frame in found:
        if isinstance(frame, RecordFrame):
            for index, seen in enumerate(announced(frame.text)[: frame.count]):
                assert announced(frame.line(index))[0] <= seen | {-1}, (index, frame.line(index))


@pytest.mark.parametrize("encode", ENCODERS)
def test_uniform_records_are_not_decoded(encode: Callable[[Any], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker's, the journal's, a logger's: whatever is escaped in them."""
    text = 'GET "/v1" <a> & \x1b[32mgreen\x1b[0m \\ \t it\'s 3 %'
    kinds: tuple[dict[str, Any], ...] = (
        {"log": text + "\n", "stream": "stderr", "time": TIME},
        {"__CURSOR": "s=1", "__REALTIME_TIMESTAMP": "1796067718000000", "MESSAGE": text, "_COMM": "vllm", "_PID": "7"},
        {"levelname": "INFO", "message": text, "asctime": TIME},
        {"message": text, "kubernetes": {"pod_name": "vllm-0"}, "@timestamp": TIME},
    )
    for kind in kinds:
        data = (encode(kind) + "\n").encode() * 50
        (frame,) = frames(data)
        assert isinstance(frame, RecordFrame)
        monkeypatch.setattr("vllm_crashsig.record_frame.lay_bare", None)
        assert frame.text.count(b" <a> & green ") == 50
        monkeypatch.undo()
        assert frame.line(49) == clean_text(text.encode()).text


def test_lines_of_cri_pass_untouched() -> None:
    data = b"2026-11-30T19:41:58.5Z stderr F one\n2026-11-30T19:41:58.5Z stderr F two {x}\n"
    frame = Frame(data, 1, 0)
    assert Unwrapper().unwrap(frame) is frame
