"""The library's contract: functions, sessions, the report's shape, catalogues added to and put right."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tiny import ROOT, SAMPLES, fingerprint, write

import vllm_crashsig
from vllm_crashsig import (
    Catalogue,
    Classifier,
    InputError,
    OptionError,
    Report,
    Update,
    classify,
    classify_paths,
    load_catalogue,
)  # fmt: skip
from vllm_crashsig.schemas import MODELS, schema_text

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB"
WARN = (
    "gpu01:96:96 [1] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-Yb3kQz to 33030532 bytes, "
    "error: No space left on device (28)"
)
EXPECTED_KEYS = {
    "schema_version", "tool", "verdict", "classifications", "incidents", "unclassified", "context", "coverage",
}  # fmt: skip
CLASSIFICATION_KEYS = {
    "rank", "id", "title", "role", "severity", "confidence", "band", "outcome", "summary", "facts", "evidence", "explains",
    "culprit", "remediation", "references", "reasons",
}  # fmt: skip
EVIDENCE_KEYS = {"source", "line", "offset", "indicator", "text", "scope", "count"}


def as_generator() -> Iterator[str]:
    yield "INFO fine"
    yield OOM


@pytest.mark.parametrize(
    "log",
    [
        OOM,
        OOM.encode(),
        bytearray(OOM.encode()),
        [OOM],
        [OOM + "\n"],
        (b"INFO fine", OOM.encode()),
        as_generator(),
        f"\ufeff{OOM}\r\n",
    ],
    ids=["text", "bytes", "bytearray", "lines", "lines with newlines", "bytes lines", "generator", "BOM and CRLF"],
)
def test_classify_takes(log: Any) -> None:
    report = classify(log)
    assert report.verdict == "crash"
    assert report.cause is not None
    assert report.cause.id == "cuda-oom"
    assert report.cause.evidence[0].source == "<input>"


@pytest.mark.parametrize("log", ["", b"", [], "\n \n\t\n"])
def test_nothing_to_read(log: Any) -> None:
    report = classify(log)
    assert report.verdict == "empty"
    assert report.classifications == []
    assert report.unclassified == []
    assert report.cause is None


def test_lone_surrogates_are_data() -> None:
    assert classify("\udc80 " + OOM).verdict == "crash"


def test_places_of_evidence() -> None:
    log = "INFO first\r\né second\n" + OOM + "\n"
    evidence = classify(log).classifications[0].evidence[0]
    assert evidence.line == 3
    assert log.encode()[evidence.offset :].startswith(OOM.encode())


def test_several_paths_are_one_case(tmp_path: Path) -> None:
    folder = SAMPLES / "incidents" / "vllm-worker-oom-in-cgroup"
    report = classify_paths([folder / "vllm.log", str(folder / "dmesg.log")])
    assert report.cause is not None
    assert report.cause.id.partition(".")[0] == "cgroup-oom-kill"
    assert report.coverage.sources == [str(folder / "vllm.log"), str(folder / "dmesg.log")]
    alone = classify_paths([folder / "vllm.log"])
    assert alone.cause is not None
    assert alone.cause.id.partition(".")[0] != "cgroup-oom-kill"


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none.log", "no such file"), (tmp_path, "holds no text"), (Path("a\0b"), "file name")):
        with pytest.raises(InputError, match=words) as caught:
            classify_paths([path])
        assert str(path).replace("\0", "?") in str(caught.value)
        assert "\n" not in str(caught.value)


def test_session_tells_as_the_log_flows(builtin: Classifier) -> None:
    session = builtin.session()
    assert session.feed("INFO 11-30 12:00:00 [a.py:1] loading\n", source="vllm-0") == []
    assert session.feed(WARN[:40], source="vllm-0") == []
    assert session.feed(WARN[40:], source="vllm-0") == [], "a line counts when its newline has come"
    (first,) = session.feed("\n", source="vllm-0")
    assert isinstance(first, Update)
    assert first.verdict == "crash"
    assert first.classification is not None
    assert first.classification.id == "shm-exhausted-nccl"
    assert session.feed(WARN + "\n", source="vllm-0") == [], "nothing new"
    assert session.report().verdict == "crash"
    report = session.close()
    assert session.close() is report is session.report()
    with pytest.raises(OptionError, match="closed"):
        session.feed("more")


def test_session_refines_its_answer(builtin: Classifier) -> None:
    session = builtin.session()
    lines = (SAMPLES / "shm-exhausted-nccl/hit-vllm085-nccl221.log").read_text(encoding="utf-8").splitlines(keepends=True)
    effects = [line for line in lines if "unhandled system error" in line][:1]
    (cascade,) = session.feed("".join(effects))
    assert cascade.classification is not None
    assert cascade.classification.role == "cascade"
    (root,) = session.feed(WARN + "\n")
    assert root.classification is not None
    assert (root.classification.id, root.classification.role) == ("shm-exhausted-nccl", "root")
    assert "nccl-unhandled" in root.classification.explains


def test_feeding_equals_classifying(builtin: Classifier) -> None:
    data = (SAMPLES / "shm-exhausted-nccl/hit-vllm085-nccl221.log").read_bytes()
    session = builtin.session()
    updates = [u for line in data.splitlines(keepends=True) for u in session.feed(line)]
    assert session.close() == builtin.classify(data)
    assert updates[-1].classification is not None
    assert updates[-1].classification.id == "shm-exhausted-nccl"


def test_one_classifier_serves_many_threads() -> None:
    classifier = Classifier()
    logs = [(SAMPLES / n).read_bytes() for n in ("cuda-oom/hit-torch20.log", "shm-exhausted-nccl/hit-guide-three-lines.log")]
    wanted = [Classifier().classify(log).model_dump() for log in logs]
    failures: list[object] = []
    gate = threading.Barrier(8)

    def work(number: int) -> None:
        try:
            gate.wait()
            for turn in range(4):
                which = (number + turn) % 2
                if classifier.classify(logs[which]).model_dump() != wanted[which]:
                    failures.append((number, turn))
        except Exception as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


REPORTS: dict[str, Callable[[], Report]] = {
    "crash": lambda: classify_paths([SAMPLES / "shm-exhausted-nccl/hit-vllm085-nccl221.log"]),
    "healthy": lambda: classify_paths([SAMPLES / "healthy/vllm-healthy-sigterm.log"]),
    "unclassified": lambda: classify('Traceback (most recent call last):\n  File "/a/b.py", line 1, in f\nzoo.OddError: x\n'),
    "empty": lambda: classify(""),
}


@pytest.mark.parametrize("verdict", REPORTS)
def test_report_contract(verdict: str) -> None:
    report = REPORTS[verdict]()
    assert report.verdict == verdict
    data = report.model_dump(mode="json")
    jsonschema.validate(data, json.loads(schema_text("report")), cls=jsonschema.Draft202012Validator)
    assert data["schema_version"] == "1"
    assert data.keys() >= EXPECTED_KEYS
    assert data["tool"]["catalogue"].keys() >= {"version", "hash"}
    assert data["tool"]["version"] == vllm_crashsig.__version__
    assert data["coverage"].keys() >= {"bytes", "lines", "undecodable", "envelopes", "first_time", "last_time", "caps"}
    for incident in data["incidents"]:
        assert incident.keys() >= {"index", "first_line", "last_line", "classifications", "unclassified"}
    for position, found in enumerate(data["classifications"], 1):
        assert found.keys() >= CLASSIFICATION_KEYS
        assert found["rank"] == position
        assert found["culprit"].keys() >= {"node", "rank", "gpu", "pid"}
        assert found["remediation"].keys() >= {"immediate", "investigate", "prevent", "verify"}
        assert found["evidence"], "every claim cites a line"
        assert all(e.keys() >= EVIDENCE_KEYS for e in found["evidence"])
    for failure in data["unclassified"]:
        assert failure.keys() >= {"crash_id", "headline", "count", "evidence"}
    assert bool(data["unclassified"]) == (verdict == "unclassified")
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_report_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        classify(OOM).verdict = "healthy"


def test_example_of_the_design() -> None:
    report = REPORTS["crash"]()
    assert report.cause is not None
    assert report.cause.id == "shm-exhausted-nccl"
    assert report.cause.severity == "critical"
    assert {"nccl-unhandled", "engine-init-failed"} <= set(report.cause.explains)
    assert report.context["vllm_version"] == "0.8.5"
    assert report.context["tensor_parallel_size"] == 4


def test_example_of_the_docstring() -> None:
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has ..."
    cause = classify(text).cause
    assert cause is not None
    assert cause.id == "cuda-oom"


@pytest.mark.parametrize("what", MODELS)
def test_shipped_schemas_are_fresh(what: str) -> None:
    path = Path(vllm_crashsig.__file__).parent / "schema_files" / f"{what}.schema.json"
    told = f"run: python -m vllm_crashsig catalogue schema {what} > {path.relative_to(ROOT)}"
    assert path.is_file(), told
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(schema_text(what)), told


def test_fingerprint_schema_accepts_the_catalogue() -> None:
    yaml = pytest.importorskip("yaml")
    validator = jsonschema.Draft202012Validator(json.loads(schema_text("fingerprint")))
    for path in sorted((ROOT / "fingerprints/shm").glob("*.yaml")):
        validator.validate(yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def test_catalogue_is_added_to_and_overridden(tmp_path: Path) -> None:
    write(
        tmp_path, fingerprint("my-own", "root", "zebra fell over"), fingerprint("cuda-oom", "root", "no more room"), area="mine"
    )
    catalogue = load_catalogue(tmp_path)
    assert isinstance(catalogue, Catalogue)
    assert "my-own" in catalogue
    assert "host-oom-kill" in catalogue
    assert catalogue.areas["my-own"] == "mine"
    assert catalogue["cuda-oom"].title == "Title of cuda-oom"
    assert catalogue.hash != load_catalogue().hash
    assert len(catalogue) == len(load_catalogue()) + 1
    classifier = Classifier(catalogue)
    cause = classifier.classify("ERROR zebra fell over").cause
    assert cause is not None
    assert cause.id == "my-own"
    later = write(tmp_path / "later", fingerprint("my-own", "root", "giraffe fell over"))
    assert Classifier(load_catalogue(tmp_path / "mine", later)).classify("zebra fell over").verdict == "healthy"


def test_catalogue_alone(tmp_path: Path) -> None:
    write(tmp_path, fingerprint("only-one", "root", "x"))
    assert list(load_catalogue(tmp_path, builtin=False).fingerprints) == ["only-one"]


def test_a_classifier_can_be_sent_to_other_processes(tmp_path: Path) -> None:
    own = load_catalogue(write(tmp_path / "mine", fingerprint("my-own", "root", "zebra fell over")))
    for before in (Classifier(), Classifier(own, redacted=False, runtime="slurm"), Classifier(load_catalogue(), gated=False)):
        before.classify("x")
        after = pickle.loads(pickle.dumps(before))
        assert after.catalogue.hash == before.catalogue.hash
        for log in ("ERROR zebra fell over", (SAMPLES / "demo" / "vllm.log").read_bytes()):
            assert after.classify(log) == before.classify(log)


@pytest.mark.parametrize("log", [[5], [None], ["a line", None], [b"a line", 10**12], {"line": 1}.items()])
def test_what_is_no_text_is_no_log(log: Any) -> None:
    with pytest.raises(OptionError, match="a log is text or bytes"):
        Classifier().classify(log)
    with pytest.raises(OptionError, match="a log is text or bytes"):
        Classifier().session().feed(log)


@pytest.mark.parametrize(
    ("log", "words"),
    [(5, "not int"), (None, "not NoneType"), ({"a": "b"}, "not dict"), (Path("x.log"), "give it to classify_paths")],
)
def test_what_is_no_log_is_refused_by_name(log: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        classify(log)


@pytest.mark.parametrize("paths", [[None], [5], ["x", None]])
def test_what_is_no_path_is_refused_by_name(paths: Any) -> None:
    with pytest.raises(OptionError, match="a path is text or a path object"):
        classify_paths(paths)


def test_paths_of_bytes() -> None:
    path = SAMPLES / "demo" / "vllm.log"
    assert classify_paths(str(path).encode()) == classify_paths(path)


class _Own(Classifier):
    pass


def test_a_subclass_stays_one_when_it_is_sent() -> None:
    assert type(pickle.loads(pickle.dumps(_Own()))) is _Own
