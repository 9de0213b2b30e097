"""What makes the command start fast changes nothing: plain shapes, light records, regexes and catalogues out of the cache."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import json
import marshal
import os
import pickle
import pkgutil
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import regex
from corpus import SAMPLES, cases, samples
from tiny import fingerprint, write

import vllm_crashsig
from vllm_crashsig import Classifier, cache, classify_paths, kept, lazy, load_catalogue, nouns, patterns, prepare, stored
from vllm_crashsig.kept import Kept
from vllm_crashsig.layout import sniff_layout
from vllm_crashsig.stored import cached_catalogue, find

PLAIN = """
import json, sys
from vllm_crashsig import plain
from vllm_crashsig.places import builtin_directory
from vllm_crashsig.stored import cached_catalogue
plain.allow()
catalogue = cached_catalogue([builtin_directory()])
assert plain.chosen()
from vllm_crashsig import Classifier, classify_paths
classifier = Classifier(catalogue)
for line in sys.stdin:
    print(classify_paths(json.loads(line), classifier).model_dump_json(), flush=True)
assert "pydantic.main" not in sys.modules, "or the cache was empty"
"""
"""Reports of cases, as the command makes them with a warm cache."""


# -- shapes that are plain objects ------------------------------------------------------------------------


def test_plain_shapes_say_the_same(builtin: Classifier) -> None:
    builtin.classify("to fill the cache")
    logs = [[str(s.path)] for s in samples()[::9]] + [[str(p) for p in c.paths] for c in cases()]
    asked = "".join(json.dumps(paths) + "\n" for paths in logs)
    done = subprocess.run([sys.executable, "-c", PLAIN], input=asked, capture_output=True, text=True, check=False, timeout=300)
    assert done.stderr == ""
    found = done.stdout.splitlines()
    assert len(found) == len(logs)
    for paths, line in zip(logs, found, strict=True):
        assert json.loads(line) == json.loads(classify_paths(paths, builtin).model_dump_json()), paths


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_the_command_prints_the_same_with_and_without_a_cache(tmp_path: Path, form: str) -> None:
    log = SAMPLES / "demo" / "vllm.log"
    command = [sys.executable, "-m", "vllm_crashsig", "classify", "-f", form, "--explain", str(log)]
    told = [
        subprocess.run(command, capture_output=True, env={**os.environ, cache.ENVIRONMENT: where}, check=False, timeout=120)
        for where in ("off", str(tmp_path / "cache"), str(tmp_path / "cache"))
    ]
    assert [t.returncode for t in told] == [0, 0, 0]
    if form == "json":
        first, *others = (json.loads(t.stdout) for t in told)
    else:
        first, *others = (t.stdout for t in told)
    assert first
    assert others == [first, first]


@pytest.mark.parametrize("log", ["demo/vllm.log", "cuda-oom/hit-aoti-docker-json.log"])
def test_a_second_run_writes_nothing(tmp_path: Path, log: str) -> None:
    where = tmp_path / "cache"
    command = [sys.executable, "-m", "vllm_crashsig", "classify", str(SAMPLES / log)]
    surroundings = {**os.environ, cache.ENVIRONMENT: str(where)}

    def run() -> dict[str, tuple[int, int]]:
        subprocess.run(command, capture_output=True, env=surroundings, check=False, timeout=120)
        return {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in where.iterdir()}

    run()
    first = run()
    assert {name.partition("-")[0] for name in first} >= {"catalogue", "known", "gate", "regexes", "patterns"}
    assert run() == first, "a regex that cannot be kept is compiled, and all of them are written, at every start"


def test_a_warm_start_loads_no_pydantic(builtin: Classifier, tmp_path: Path) -> None:
    builtin.classify("to fill the cache")
    log = tmp_path / "a.log"
    log.write_text("INFO 01-01 10:00:00 [a.py:1] all is well\n", encoding="utf-8")
    code = f"""
import sys
from vllm_crashsig import plain
from vllm_crashsig.cli import run
plain.allow()
run(["classify", {str(log)!r}])
print(" ".join(sys.modules))
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    loaded = set(told.splitlines()[-1].split())
    assert {"vllm_crashsig.engine", "regex"} <= loaded
    assert not loaded & {"pydantic", "pydantic_core", "yaml", "platformdirs", "dataclasses"} - {"platformdirs"}


def test_the_library_never_hands_out_plain_shapes(builtin: Classifier) -> None:
    from pydantic import BaseModel

    assert isinstance(builtin.classify("x"), BaseModel)
    assert isinstance(builtin.catalogue["cuda-oom"], BaseModel)
    assert builtin.catalogue["cuda-oom"].indicators


# -- light records ----------------------------------------------------------------------------------------


def pair(**options: bool) -> tuple[type[Any], type[Any]]:
    """The same class made by the standard decorator and by ours."""

    def body() -> type[Any]:
        class Record:
            __module__ = __name__
            __annotations__ = {"name": "str", "size": "int", "parts": "list[int]"}
            size = 3
            double = property(lambda self: 2 * self.size)

        return Record

    standard, ours = body(), body()
    standard.parts = dataclasses.field(default_factory=list)
    ours.parts = nouns.field(default_factory=list)
    return dataclasses.dataclass(**options)(standard), nouns.dataclass(**options)(ours)


@pytest.mark.parametrize("options", [{}, {"slots": True}, {"frozen": True}, {"frozen": True, "slots": True}, {"eq": False}])
def test_records_behave_like_the_standard_ones(options: dict[str, bool]) -> None:
    seen = []
    for kind, replace in zip(pair(**options), (dataclasses.replace, nouns.replace), strict=True):
        one, same, other = kind("a"), kind(name="a"), kind("a", 4, [1])
        told: list[Any] = [
            repr(one),
            repr(other),
            one == same,
            one == other,
            one != same,
            one == "a",
            other.double,
            kind.__match_args__,
        ]
        told += [one.parts is same.parts, replace(other, name="b").name, replace(other, name="b").parts is other.parts]
        told += [hasattr(one, "__dict__"), copy.copy(other).size, copy.deepcopy(other).parts == other.parts]
        try:
            one.name = "changed"
            told.append(one.name)
        except AttributeError:
            told.append("refused")
        try:
            hash(one)
            told.append("hashable")
        except TypeError as error:
            told.append("unhashable" if "Record" in str(error) else str(error))
        with pytest.raises(TypeError, match="name"):
            kind()
        with pytest.raises(TypeError, match="colour"):
            kind("a", colour=1)
        seen.append(told)
    assert seen[0] == seen[1]


def test_records_can_be_pickled() -> None:
    from vllm_crashsig.model import LogLine, Scope

    line = LogLine("a.log", 1, 0, "text", Scope(node="n"))
    assert pickle.loads(pickle.dumps(line)) == line
    assert hash(line) == hash(copy.copy(line))


# -- regexes out of the cache -----------------------------------------------------------------------------


def lazies() -> Iterator[tuple[str, Any]]:
    """All regexes of the code that wait for their first use."""
    for module in pkgutil.walk_packages(vllm_crashsig.__path__, "vllm_crashsig."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for found in (value, getattr(value, "pattern", None)):
                if isinstance(found, lazy._Lazy):
                    yield f"{module.name}.{name}", found


TEXTS = [
    "",
    "a",
    "ERROR 12-01 10:00:00 [core.py:1] x",
    "{}",
    "0x7f, 12 GiB",
    "2026-01-01T00:00:00.5Z stdout F y",
    "\u00e9\u6f22 \x1b[0m",
]


def test_every_regex_of_the_code_survives_the_cache() -> None:
    found = dict(lazies())
    assert len(found) > 100
    rebuild = lazy._kept()
    assert rebuild is not None, "CPython's own engine"
    for name, one in found.items():
        plain = re.compile(one._pattern, one._flags)
        parts = lazy._parts(one._pattern, one._flags)
        assert parts is not None, name
        again = rebuild._rebuild(*marshal.loads(marshal.dumps(parts)))
        assert (again.pattern, again.flags, again.groups, dict(again.groupindex)) == (
            plain.pattern, plain.flags, plain.groups, dict(plain.groupindex),
        )  # fmt: skip
        for text in TEXTS:
            subject: Any = text.encode() if isinstance(one._pattern, bytes) else text
            assert [m.groups() for m in again.finditer(subject)] == [m.groups() for m in plain.finditer(subject)], name


def test_every_pattern_of_the_catalogue_survives_the_cache(builtin: Classifier) -> None:
    for known in list(builtin.catalogue)[::5]:
        for name, indicator in known.indicators.items():
            flags = regex.ASCII | (regex.IGNORECASE if indicator.ignore_case else 0)
            plain = regex.compile(indicator.pattern, flags)
            rebuild, parts = patterns._taken_apart(plain)
            again = rebuild(*marshal.loads(marshal.dumps(parts)))
            for text in (*indicator.examples.hit, *indicator.examples.miss):
                one, other = plain.search(text), again.search(text)
                assert (one and (one.span(), one.groupdict())) == (other and (other.span(), other.groupdict())), name


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory of its own."""
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "_all", [])
    return tmp_path / "cache"


def tables(rebuild: Callable[..., Any] = lambda *parts: parts) -> Kept[Any]:
    return Kept("tests", "1", rebuild)


def test_what_is_kept_comes_back(empty: Path) -> None:
    table = tables()
    parts = ["a+", 3, b"\x00\xff\n", ("x", None), {"g": 1, 2: "h"}, {}, [1, [2]], True]
    table.add("a+", 3, lambda: parts)
    table.save()
    assert tables().get("a+", 3) == tuple(parts)
    assert tables().get("a+", 4) is None
    assert tables().get(b"a+", 3) is None
    assert Kept("tests", "2", lambda *p: p).get("a+", 3) is None, "of another version"


def test_what_cannot_be_kept_is_left_out(empty: Path) -> None:
    table = tables()
    table.add("a", 0, lambda: [object()])
    table.add("b", 0, lambda: None)
    table.add("c", 0, list)
    table.save()
    assert [tables().get(name, 0) for name in "abc"] == [None, None, ()]


def test_a_rebuild_that_fails_is_no_error(empty: Path) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("invalid SRE code")

    table = tables()
    table.add("a", 0, lambda: ["a"])
    table.save()
    assert tables(refuse).get("a", 0) is None


NONSENSE = [
    b"", b"x", marshal.dumps([]), marshal.dumps((("a", 0), (1, 2)))[:-1],
    marshal.dumps((("a", 0), 1)), marshal.dumps((("b", 0), ())),
]  # fmt: skip


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_under_a_name_is_ignored(empty: Path, nonsense: bytes) -> None:
    cache.write("tests", tables()._key, marshal.dumps({kept._name("a", 0): nonsense}))
    assert tables().get("a", 0) is None


@pytest.mark.parametrize("nonsense", [*NONSENSE, marshal.dumps({kept._name("a", 0): 1}), marshal.dumps({"a": [2]})])
def test_a_table_of_nonsense_is_ignored(empty: Path, nonsense: bytes) -> None:
    cache.write("tests", tables()._key, nonsense)
    table = tables()
    assert table.get("a", 0) is None
    table.add("a", 0, lambda: ["x"])
    table.save()
    assert tables().get("a", 0) == ("x",)


def test_few_new_regexes_are_not_worth_many_writes(empty: Path) -> None:
    table = tables()
    for number in range(100):
        table.add(str(number), 0, list)
    for number in range(100, 100 + 2 * kept.EAGER):
        table.save()
        table.add(str(number), 0, list)
    table.save()
    found = [tables().get(str(number), 0) == () for number in range(100 + 2 * kept.EAGER)]
    assert found == [True] * (99 + kept.EAGER) + [False] * (1 + kept.EAGER)


# -- catalogues out of the cache --------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, empty: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue whose files have been as they are for a while: for several ticks of the clock of any file system here."""
    monkeypatch.setattr(stored, "SETTLED", 50 * 10**6)
    made = write(tmp_path / "mine", fingerprint("my-own", "root", "zebra fell over"))
    aged(made)
    return made


def aged(folder: Path) -> None:
    """Waits until the times of files tell something (nobody can set the time at which an entry was changed)."""
    newest = max(p.stat().st_ctime_ns for p in folder.rglob("*"))
    time.sleep(max(0.0, (newest + stored.SETTLED + 10**7 - time.time_ns()) / 1e9))


def test_files_as_they_were_are_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cached_catalogue([folder])
    assert find([str(folder)]) is not None

    def read(self: Path) -> bytes:
        raise AssertionError(self)

    monkeypatch.setattr(Path, "read_bytes", read)
    again = cached_catalogue([folder])
    assert again.hash == first.hash
    assert again["my-own"] == first["my-own"]
    assert dict(again.roles) == {"my-own": "root"}


def test_fresh_files_are_read_again(tmp_path: Path, empty: Path) -> None:
    made = write(tmp_path / "mine", fingerprint("my-own", "root", "zebra fell over"))
    cached_catalogue([made])
    assert find([str(made)]) is None, "they may change within the same tick of the clock"


def edit(path: Path) -> None:
    """The same size and the same time of change."""
    before = path.stat()
    path.write_text(path.read_text(encoding="utf-8").replace("zebra", "llama"), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "edited": lambda folder: edit(next(folder.rglob("*.yaml"))),
    "added": lambda folder: write(folder, fingerprint("other", "root", "lion left")),
    "hidden": lambda folder: next(folder.rglob("*.yaml")).rename(folder / "my-own.yaml.old"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_files_are_read_again(folder: Path, change: str) -> None:
    cached_catalogue([folder])
    assert find([str(folder)]) is not None
    CHANGES[change](folder)
    assert find([str(folder)]) is None


def test_another_code_is_another_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached_catalogue([folder])
    monkeypatch.setattr(stored, "makers", lambda: "another")
    assert find([str(folder)]) is None


def test_the_index_of_large_own_catalogues_is_kept(folder: Path, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "WORTH_KEEPING", 1)
    own = load_catalogue(folder, builtin=False)
    made = prepare.prepare(own)[0].index

    def build(_: object) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(prepare, "index_of", build)
    again = load_catalogue(folder, builtin=False)
    assert prepare.prepare(again)[0].index.to_data() == made.to_data()
    other = write(empty.parent / "other", fingerprint("my-own", "root", "lion fell over"))
    forged = nouns.replace(load_catalogue(other, builtin=False), hash=own.hash)
    with pytest.raises(AssertionError, match="built again"):
        prepare.prepare(forged)


@pytest.mark.parametrize("form", ["[secretpod{}] ", "secretpod{}-x server ", "secretpod|@@ "])
def test_nothing_of_a_log_is_kept(tmp_path: Path, form: str) -> None:
    """Not even the names before its lines, of which regexes are made."""
    crash = (SAMPLES / "demo" / "vllm.log").read_text(encoding="utf-8").splitlines()
    log = tmp_path / "a.log"
    log.write_text("".join(form.format(n % 2) + line + "\n" for n, line in enumerate(crash)), encoding="utf-8")
    assert sniff_layout(log.read_bytes(), whole=True).labels != []
    home = tmp_path / "cache"
    command = [sys.executable, "-m", "vllm_crashsig", str(log)]
    done = subprocess.run(
        command, capture_output=True, env={**os.environ, cache.ENVIRONMENT: str(home)}, check=False, timeout=60
    )
    assert done.returncode == 0
    kinds = {p.name.partition("-")[0] for p in home.iterdir()}
    assert {"catalogue", "patterns", "regexes"} <= kinds
    assert [p.name for p in home.iterdir() if b"secretpod" in p.read_bytes()] == []


def test_old_files_are_removed(empty: Path) -> None:
    for number in range(cache.KEPT + 5):
        assert cache.write("tests", f"{number:016x}", b"x")
        os.utime(empty / f"tests-{number:016x}", (number, number))
    assert cache.write("others", f"{0:016x}", b"x")
    left = sorted(p.name for p in empty.iterdir())
    assert len(left) == cache.KEPT + 1
    assert f"tests-{cache.KEPT + 4:016x}" in left
    assert f"tests-{0:016x}" not in left


def test_what_is_not_of_the_cache_is_not_removed(empty: Path) -> None:
    empty.mkdir()
    others = [f"tests-of-books-{n}.pdf" for n in range(cache.KEPT + 5)] + [f".tests-mine-{n}" for n in range(3)]
    for name in others:
        (empty / name).write_text("mine", encoding="utf-8")
        os.utime(empty / name, (1, 1))
    assert cache.write("tests", f"{0:016x}", b"x")
    assert sorted(p.name for p in empty.iterdir()) == sorted([*others, f"tests-{0:016x}"])


def test_what_a_killed_process_left_is_removed(empty: Path) -> None:
    assert cache.write("tests", f"{0:016x}", b"x")
    for name, age in ((".tests-torn_123", 2 * cache.TORN), (".tests-now_1234", 1), (".others-torn_123", 2 * cache.TORN)):
        (empty / name).write_bytes(b"x")
        times = (empty / f"tests-{0:016x}").stat().st_mtime - age
        os.utime(empty / name, (times, times))
    assert cache.write("tests", f"{0:016x}", b"y")
    assert sorted(p.name for p in empty.iterdir()) == [".others-torn_123", ".tests-now_1234", f"tests-{0:016x}"]
