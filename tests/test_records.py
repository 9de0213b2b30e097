"""Records over many lines, and lines that hold many records: what is read, and what must stay as it stands."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from corpus import classifier
from wrapping import BEGIN, DOCUMENTS, TRANSPORTS, Envelope, Spoken

from vllm_crashsig import Report
from vllm_crashsig.framing import Frame
from vllm_crashsig.nested import lay_bare
from vllm_crashsig.records import reader_for
from vllm_crashsig.records.rows import _COLUMNS
from vllm_crashsig.unwrap import Unwrapper

LOG = (
    "(APIServer pid=7) INFO 11-30 19:41:50 [api_server.py:1977] vLLM API server version 0.11.0",
    "(EngineCore_DP0 pid=94) ERROR 11-30 19:41:58 [core.py:1510] Traceback (most recent call last):",
    '(EngineCore_DP0 pid=94) ERROR 11-30 19:41:58 [core.py:1510]   File "/opt/vllm/a.py", line 3, in <module>',
    (
        "(EngineCore_DP0 pid=94) ERROR 11-30 19:41:58 [core.py:1510] torch.OutOfMemoryError: CUDA out of memory. Tried to "
        "allocate 2.00 GiB. GPU 0 has a total capacity of 23.50 GiB of which 1.00 GiB is free."
    ),
    "(APIServer pid=7) ERROR 11-30 19:41:59 [a.py:1] EngineDeadError: EngineCore encountered an issue.",
)
SPOKEN = [Spoken(text, BEGIN) for text in LOG]


def lines(data: str | bytes) -> list[str]:
    return [text for text, _ in told(data)]


def told(data: str | bytes) -> list[tuple[str, dict[str, Any] | None]]:
    """The lines of a source, laid bare, with what was told of them."""
    unwrapper = Unwrapper()
    raw = data.encode() if isinstance(data, str) else data
    frames = [unwrapper.unwrap(Frame(raw, 1, 0)), unwrapper.finish()]
    return [(f.line(i).decode(), f.told(i)) for f in frames if f is not None for i in range(f.count)]


def in_parts(data: bytes, size: int, gated: bool) -> Report:
    session = (classifier() if gated else plain()).session()
    for start, end in pairwise([*range(0, len(data), size), len(data)]):
        session.feed(data[start:end])
    return session.close()


def plain() -> Any:
    from vllm_crashsig import Classifier

    return Classifier(classifier().catalogue, gated=False, redacted=False)


JOINED = [e for e in TRANSPORTS if e.line is None]


@pytest.mark.parametrize("envelope", [pytest.param(e, id=e.name) for e in (*DOCUMENTS, *JOINED) if not e.unordered])
def test_cuts_and_the_gate_change_nothing(envelope: Envelope) -> None:
    data = envelope.wrap(SPOKEN).encode(errors="surrogateescape")
    whole = classifier().classify(data)
    assert whole.cause is not None and whole.cause.id == "cuda-oom"
    assert in_parts(data, 97, gated=True) == whole
    assert in_parts(data, 1009, gated=False) == whole


def test_numbers_of_lines_are_those_of_the_source() -> None:
    data = json.dumps([{"message": text, "timestamp": 1796067718250 + n} for n, text in enumerate(LOG)], indent=2)
    report = classifier().classify(data)
    assert report.cause is not None
    place = report.cause.evidence[0]
    assert "out of memory" in "".join(data.split("\n")[place.line - 1 : place.line + 3])
    assert data.encode()[place.offset :].lstrip().startswith(b"{")


@pytest.mark.parametrize(
    "document",
    [
        [{"Id": "4be1", "State": {"Status": "exited", "OOMKilled": True, "Error": "x"}, "Message": 3}],
        {"kind": "Event", "apiVersion": "v1", "message": "Back-off restarting", "reason": "BackOff", "lastTimestamp": "x"},
        [
            {
                "lastTransitionTime": "2026-11-30T19:41:58Z",
                "message": "0/3 nodes",
                "reason": "Unschedulable",
                "type": "PodScheduled",
            }
        ],
        {"model": "acme/chat", "message": "a value without a time"},
        {"a": {"b": [{"message": 3}]}},
        [],
        {},
    ],
)
def test_documents_that_are_no_logs_stay_as_they_are(document: Any) -> None:
    text = json.dumps(document, indent=4)
    assert lines(text + "\n") == text.split("\n")


def test_an_object_that_never_ends_is_let_through() -> None:
    text = ["{", *(f'  "key{i}": "value",' for i in range(1000)), LOG[3]]
    assert lines("\n".join(text) + "\n") == text
    assert lines("{\n{\n{\n" + LOG[3] + "\n}\n") == ["{", "{", "{", LOG[3], "}"]


def test_records_in_records() -> None:
    inner = json.dumps({"levelname": "ERROR", "message": "boom", "exc_info": "Traceback\nValueError: x", "process": 7})
    docker = json.dumps({"log": inner + "\n", "stream": "stderr", "time": "2026-11-30T19:41:58Z"})
    (one, two, three) = told(f"vllm-1  | {docker}\n")
    assert [text for text, _ in (one, two, three)] == ["boom", "Traceback", "ValueError: x"]
    fields = one[1] or {}
    assert fields["layers"] == ["compose", "docker-json", "json"]
    assert (fields["container"], fields["pid"], fields["stream"], fields["clock"]) == ("vllm-1", 7, "stderr", "utc")


@pytest.mark.parametrize(
    "line",
    [
        'INFO 11-30 19:41:58 [logger.py:4] {"message": "CUDA out of memory"}',  # a logged request
        'config: {"message": "x"}',
        "(APIServer pid=7) INFO 11-30 19:41:58 [a.py:1] non-default args: {'model': 'x'}",
        'x = {"a": 1}',
        "}",
        "{",
        "[rank0]: {",
    ],
)
def test_what_is_no_record_stays_whole(line: str) -> None:
    assert lay_bare(line.encode()) is None


def test_a_table_is_known_by_its_header() -> None:
    rows = '@timestamp,@message,@logStream\n2026-11-30 19:41:58.250,"a, ""b""\n  File ""x""",s\n2026-11-30 19:41:59.000,c,s\n'
    assert lines(rows) == ["@timestamp,@message,@logStream", 'a, "b"', '  File "x"', "c"]
    (first, *_) = [fields for _, fields in told(rows) if fields]
    assert first["clock"] == "local" and first["layer"] == "csv"


@pytest.mark.parametrize(
    "head",
    [
        "INFO 11-30, the message, and a time",
        "time,value",
        "message;x",
        "timestamp,message and more words that no column has,x",
        "step\tloss\ttime",
    ],
)
def test_what_is_no_table(head: str) -> None:
    text = f'{head}\n"a",b\n"c,d\n'
    assert lines(text) == text.removesuffix("\n").split("\n")


def test_lengths_cut_messages_that_run_together() -> None:
    messages = [b"<11>1 - n vllm 4 - - " + text for text in (b"one", b"two\nlines", "drei \u00e4".encode())]
    data = b"".join(b"%d %s" % (len(m), m) for m in messages)
    assert lines(data) == [text for m in messages for text in m.decode().split("\n")]
    assert lines(data[:-2])[-1].startswith("<11>1 - n vllm 4 - - drei"), "the last message was cut off"


def test_export_with_a_length() -> None:
    text = b"one\ntwo\n"
    data = b"__CURSOR=s\n_HOSTNAME=n1\nMESSAGE\n" + len(text).to_bytes(8, "little") + text + b"\n_PID=7\n\n"
    data += b"__CURSOR=t\nMESSAGE=three\n\n"
    found = told(data)
    assert [text.strip() for text, _ in found] == ["one", "two", "three"]
    assert (found[0][1] or {})["pid"] == 7 and (found[0][1] or {})["node"] == "n1"


def test_verbose_with_values_of_many_lines() -> None:
    head = "Mon 2026-11-30 19:41:58.250000 UTC [s=3c;i=7f2;b=9c;m=1;t=6;x=e7]"
    data = f"{head}\n    _PID=7\n    MESSAGE=one\n              two\n    _HOSTNAME=n1\n{head}\n    MESSAGE=three\n"
    found = told(data)
    assert [text.strip() for text, _ in found] == ["one", "two", "three"]
    assert (found[1][1] or {})["pid"] == 7 and (found[1][1] or {})["clock"] == "utc"


@pytest.mark.parametrize("name", [*_COLUMNS["time"], "@timestamp", "tsNs", "TimeGenerated [UTC]"])
def test_every_name_of_a_time_makes_a_header_looked_at(name: str) -> None:
    """The readers are loaded only where the first line names a time; what they know of names is told in `records.rows`."""
    assert reader_for(f"{name},message".encode()) is not None
