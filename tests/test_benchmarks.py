"""The benchmarks run, on tiny logs, and their logs and catalogues are the same for the same seed. No time is asserted."""

from __future__ import annotations

import json
import math
import sys
from argparse import Namespace
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import bare
import bench
import install
import instructions
import live
import logs
import pytest
import regex
import rivals
from bare import wanted
from catalogues import reworded, synthetic, write_catalogue
from dialects import posix, rust, yara
from logs import ENVELOPES, Kind, crash_log, small_logs, write_log
from measuring import ChangedError, Cost, MissingError, Plan, Times, command, here
from results import Goal, Section, page, render

from vllm_crashsig import Classifier, classify

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """As small as can be."""
    return Plan(
        tmp_path, size=0.04, share=0.0005, kinds=1, rounds=1, starts=1, fingerprints=(3, 5), streams=(1,), sessions=2,
        latencies=1, idle=0.05, batches=(3,),
    )  # fmt: skip


@pytest.mark.parametrize("subject", [s for s in bench.SUBJECTS if s not in ("instructions", "live")])
def test_a_subject_measures(subject: str, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    few = tuple(part[:30] for part in wanted())  # GNU grep and Hyperscan take seconds to compile them all
    monkeypatch.setattr(rivals, "wanted", lambda: few)
    monkeypatch.setattr(bare, "wanted", lambda *_: few)
    sections = bench.SUBJECTS[subject](plan)
    assert sections
    for section in sections:
        assert section.rows
        assert all(len(row) == len(section.header) for row in section.rows)
        assert all(math.isfinite(goal.figure) and goal.figure > 0 for goal in section.goals)
        assert section.title in render(section)


@LINUX
def test_sessions_are_measured(plan: Plan) -> None:
    assert [s.title for s in live.measure(plan)] == ["Latency of a session", "Memory of a session", "When nothing comes"]


@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize("errors", [0.0, 0.2, 1.0])
def test_a_log_is_the_same_for_the_same_seed(tmp_path: Path, envelope: str, errors: float) -> None:
    kind = Kind(errors=errors, envelope=envelope)
    one, two, other = (
        write_log(tmp_path / f"{number}.log", 150_000, kind, seed).read_bytes() for number, seed in enumerate((7, 7, 8))
    )
    assert one == two != other
    assert len(one) >= 150_000


def test_errors_come_as_often_as_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when ordinary lines come again. And none comes where none was asked for, or the calm logs would not be calm."""
    monkeypatch.setattr(logs, "BODY", 50_000)
    found = []
    for errors in (0.0, 0.2):
        lines = write_log(tmp_path / "e.log", 400_000, Kind(errors=errors)).read_bytes().splitlines()
        found.append(sum(b"ERROR" in line for line in lines) / len(lines))
    assert found[0] == 0
    assert 0.17 < found[1] < 0.23
    assert classify((tmp_path / "e.log").read_bytes()).verdict != "healthy"
    assert classify(write_log(tmp_path / "calm.log", 100_000).read_bytes()).verdict == "healthy"


def test_a_crash_log_has_its_size_and_its_crash() -> None:
    log = crash_log(20_000)
    assert 19_800 < len(log) <= 20_000
    assert log == crash_log(20_000) != crash_log(20_000, seed=8)
    cause = classify(log).cause
    assert cause is not None and cause.id == "shm-exhausted"


def test_small_logs_are_the_same_for_the_same_seed() -> None:
    assert list(small_logs(5)) == list(small_logs(5)) != list(small_logs(5, seed=8))
    assert all(classify(log).verdict == "healthy" for log in islice(small_logs(3, healthy=True), 3))


def test_a_synthetic_catalogue_is_real_first_then_varied(tmp_path: Path) -> None:
    number = len(Classifier().catalogue) + 4
    one, two = (synthetic(write_catalogue(tmp_path / name, number)) for name in "ab")
    assert len(one) == number and one.hash == two.hash
    assert synthetic(write_catalogue(tmp_path / "c", number, seed=8)).hash != one.hash
    patterns = [{i.pattern for i in fingerprint.indicators.values()} for fingerprint in one]
    first = patterns[0]
    variant = patterns[number - 4]  # of the same fingerprint
    assert first and variant and first.isdisjoint(variant)


def test_rewording_leaves_syntax_alone() -> None:
    import random

    pattern = r"^(?P<device>[Dddevice]+) failed\Wopening \bdevice(?i:timeout){1,3}$"
    told = reworded(pattern, random.Random(1))
    assert told.startswith("^(?P<device>[Dddevice]+) ") and r"\W" in told and told.endswith("{1,3}$")
    assert "failed" not in told and "timeout" not in told and len(told) == len(pattern)
    regex.compile(told)


def test_dialects() -> None:
    pattern = (r"(?<!x)a(?P<n>\d+?)[\]\w-](?:/b|c)(?=z)", False)
    assert rust(pattern) == r"a(?:\d+?)[\]\w-](?:/b|c)"
    assert posix(pattern) == r"a([0-9]+)[]0-9A-Za-z_-](/b|c)"
    assert yara(pattern) == r"/a(\d+)[\]\w-](\/b|c)/"
    assert rust(("a", True)) == "(?i)a"


def test_rivals_still_find_what_they_should() -> None:
    """A pattern that lost its sense on the way to a rival's dialect would find nothing, and that fast."""
    lost = []
    for fingerprint in Classifier().catalogue:
        for name, indicator in fingerprint.indicators.items():
            pattern = indicator.pattern, indicator.ignore_case
            for line in indicator.examples.hit:
                if not regex.search(rust(pattern), line):
                    lost.append((fingerprint.id, name, "rust"))
                if not indicator.ignore_case and "(?i" not in indicator.pattern and not regex.search(posix(pattern), line):
                    lost.append((fingerprint.id, name, "posix"))
                text, _, flag = yara(pattern)[1:].rpartition("/")
                if not regex.search(text, line, regex.I if flag else 0):
                    lost.append((fingerprint.id, name, "yara"))
    assert lost == []
    assert len(wanted()[1]) > len(wanted()[0])


def test_what_a_command_takes() -> None:
    busy = "import time\nend = time.process_time() + 0.05\nwhile time.process_time() < end: pass"
    assert command([sys.executable, "-c", busy])().cpu >= 0.05
    assert command([sys.executable, "-c", "raise SystemExit(1)"], fine=(0, 1))().cpu > 0
    with pytest.raises(RuntimeError, match=r"failed \(3\): why"):
        command([sys.executable, "-c", "import sys; sys.stderr.write('why'); sys.exit(3)"])()


def test_ways_take_turns(plan: Plan) -> None:
    order: list[str] = []
    way: Callable[[str], Callable[[], Cost]] = lambda name: here(lambda: order.append(name))  # noqa: E731
    plan.side_by_side({"a": way("a"), "b": way("b")}, 3)
    assert order == ["a", "b"] * 3
    assert len(plan.spreads) == 2
    assert Times([Cost(3), Cost(2), Cost(4)]).least == 2
    assert Times([Cost(3), Cost(2), Cost(4)]).spread == 0.5


def test_a_subject_that_fails_is_told_and_ends_nothing(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(error: Exception) -> Callable[[Plan], list[Section]]:
        def run(_: Plan) -> list[Section]:
            raise error

        return run

    wrong = {"missing": MissingError("pip install x"), "changed": ChangedError("follow"), "broken": KeyError("y")}
    monkeypatch.setattr(bench, "SUBJECTS", {name: fails(error) for name, error in wrong.items()})
    told = {name: next(bench.take(name, plan)) for name in wrong}
    assert {name: section.failed for name, section in told.items()} == {"missing": False, "changed": True, "broken": True}
    assert "pip install x" in told["missing"].told and "KeyError" in told["broken"].told
    assert bench.main(["--only", "missing"]) == 0
    assert bench.main(["--only", "missing", "--only", "broken"]) == 1
    assert "KeyError" in capsys.readouterr().err


def test_the_page_tells_targets_and_no_machine() -> None:
    section = Section(
        "T", "told", ("a", "b"), [["x", "1"]], [Goal("w", 2.0, 1.5, at_least=False), Goal("v", 0.9, 0.8, at_least=True)]
    )
    text = page([section], "quick")
    assert "| w      |   2.00 x | <= 1.50 x |  no |" in text and "| v      |   0.90 x | >= 0.80 x | yes |" in text
    assert str(Path.home()) not in text and str(Path.cwd()) not in text


def test_the_rivals_of_the_extra_are_installed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [
        "click>=8",
        "ray; extra == 'ray'",
        "drain3>=0.9; extra == 'bench'",
        "orjson>=3; python_version < '3' and extra == 'bench'",
    ]
    monkeypatch.setattr(install, "requires", lambda _: told)
    assert install.wanted() == ["drain3>=0.9"]
    monkeypatch.setattr(install, "requires", lambda _: None)
    assert install.wanted() == []


def test_plans(tmp_path: Path) -> None:
    told = Namespace(seed=9, ray=0, quick=True, huge=True)
    plan = bench.plan_of(tmp_path, told)
    assert plan.seed == 9 and plan.streams[-1] == 20_000 and plan.size < Plan(tmp_path).size


def test_instructions_are_read_and_compared(tmp_path: Path) -> None:
    part = tmp_path / "callgrind.out.1"
    part.write_text(
        "version: 1\npart: 1\ndesc: Trigger: --dump-before=getloadavg\nsummary: 6108377\n\nfn=(1) f\n1 2\ntotals: 6108377\n"
    )
    assert instructions.counted(part) == 6108377
    part.write_text("version: 1\n")
    with pytest.raises(RuntimeError, match="no summary"):
        instructions.counted(part)
    stored = {"a": {"line": 100.0}, "b": {"line": 100.0}}
    assert instructions.worse({"a": {"line": 104.0}, "b": {"line": 106.0}, "new": {"line": 9e9}}, stored) == [
        "b: 106 instructions a line, stored are 100"
    ]


def test_the_stored_instructions_are_of_these_kinds() -> None:
    stored = json.loads(instructions.STORED.read_text(encoding="utf-8"))
    assert set(stored["counts"]) == set(instructions.KINDS)
    assert set(stored["made_with"]) == set(instructions.made_with())
