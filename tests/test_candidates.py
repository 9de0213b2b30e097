"""The lines to judge, and the gate behind them: nothing is missed, however little is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import SAMPLES

from vllm_crashsig import Classifier, candidates
from vllm_crashsig.candidates import Candidate, Lookout, Places, candidates_by_line
from vllm_crashsig.gate import Gate, HyperscanGate, Part, Patterns, literals_of, make_gate
from vllm_crashsig.match import Matcher

ERROR, PROGRESS, BOTH = 0, 1, 2
PATTERNS: Patterns = (
    (ERROR, "error seen", False),
    (PROGRESS, "tokens made", False),
    (BOTH, "(?:error seen|tokens lost)", False),
)
LITERALS = literals_of(PATTERNS)
CALM = 3
LINES = st.lists(
    st.sampled_from([b"plain", b"", b"an error seen", b"7 tokens made", b"tokens made, error seen", b"tokens lost", b"x" * 30]),
    max_size=60,
)


@pytest.fixture(autouse=True)
def hyperscan_is_there() -> None:
    if make_gate(LITERALS) is None:
        pytest.skip("Hyperscan is not installed")


class Fake(Matcher):
    """A matcher of which the lookout sees only what it needs."""

    def __init__(self, ungated: Sequence[int] = ()) -> None:
        self.frequent = (PROGRESS,)
        self.ungated = list(ungated)
        self.gated = [i for i, _, _ in PATTERNS]


@lru_cache(maxsize=1)
def gate() -> Gate:
    return HyperscanGate.compile(LITERALS, frozenset({PROGRESS}))


def walk(lookout: Lookout, text: bytes, calm: int) -> tuple[list[Candidate], int]:
    """What is judged when each candidate is asked for after the one before: all but progress while it is calm."""
    judged: list[Candidate] = []
    at = 0
    lookout.begin(text, calm=calm >= CALM)
    while (candidate := lookout.after(at, calm=calm >= CALM)) is not None:
        start, end, probes = candidate
        at = end + 1
        if calm >= CALM and set(probes) <= {PROGRESS}:
            continue
        line = text[start:end]
        if b"error" in line or b"lost" in line:
            judged.append(candidate)
            calm = 0
            lookout.disturb()
        elif b"made" in line:
            calm += 1
            if calm <= CALM:
                judged.append(candidate)
    return judged, calm


@given(st.lists(LINES, min_size=1, max_size=4), st.integers(1, 200), st.booleans())
@settings(max_examples=300, deadline=None)
def test_nothing_is_missed_however_little_is_looked_at(texts: list[list[bytes]], window: int, ended: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "WINDOW", window)
        near, every = Lookout(Fake(), gate()), Lookout(Fake(), None)
        calm = calm_too = 0
        for lines in texts:
            text = b"\n".join(lines) + b"\n" * ended
            judged, calm = walk(near, text, calm)
            expected, calm_too = walk(every, text, calm_too)
            assert [(start, end) for start, end, _ in judged] == [(start, end) for start, end, _ in expected]
            assert min(calm, CALM) == min(calm_too, CALM)
            for start, end, probes in judged:
                for index, pattern, _ in PATTERNS[:2]:
                    assert index in probes or pattern.encode() not in text[start:end]


def test_progress_is_not_looked_for_while_it_is_calm(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned: list[tuple[Part, int]] = []

    class Counting:
        def scan(self, text: bytes, part: Part = "all") -> list[tuple[int, Sequence[int]]]:
            scanned.append((part, len(text)))
            return gate().scan(text, part)

    text = b"7 tokens made\n" * 10_000
    lookout = Lookout(Fake(), Counting())
    lookout.begin(text, calm=True)
    assert lookout.after(0, calm=True) is None
    assert scanned == [("rare", len(text))]
    lookout.disturb()
    assert lookout.after(0, calm=False) == (0, 13, (PROGRESS,))
    assert scanned[1:] == [("frequent", scanned[-1][1])]
    assert scanned[-1][1] < len(text) / 10


@given(LINES)
@settings(max_examples=100, deadline=None)
def test_the_parts_of_a_gate_make_the_whole(lines: list[bytes]) -> None:
    text = b"\n".join(lines)
    whole = set(gate().scan(text))
    rare, frequent = set(gate().scan(text, "rare")), set(gate().scan(text, "frequent"))
    assert rare | frequent == whole
    assert {probes for _, probes in frequent} <= {(PROGRESS,)}
    assert not {probes for _, probes in rare} & {(PROGRESS,)}


def test_a_gate_comes_back_from_its_dump() -> None:
    text = b"an error seen, 7 tokens made"
    for whole in (HyperscanGate.compile(LITERALS, frozenset({PROGRESS})), HyperscanGate.compile(LITERALS)):
        again = HyperscanGate.load(whole.dump(), LITERALS)
        parts: tuple[Part, ...] = ("all", "rare", "frequent")
        assert [again.scan(text, part) for part in parts] == [whole.scan(text, part) for part in parts]
    for damaged in (b"", b"\0" * 8, whole.dump()[:-9], whole.dump() * 2):
        with pytest.raises(ValueError, match="gate"):
            HyperscanGate.load(damaged, LITERALS)


def test_literals_with_quotes_come_also_as_they_stand_in_json() -> None:
    assert [literal for literal, _ in literals_of([(0, 'say "no"', False)])] == ['say "no"', 'say \\"no\\"']


def test_no_literal_is_changed_by_json_in_a_way_that_nobody_undoes() -> None:
    """See `record_frame`: control characters and backslashes before quotes or slashes."""
    found = {literal for literal, _ in Classifier()._prepared[0].index.gate}
    own = {literal for literal in found if literal.replace('\\"', '"') == literal or literal.replace('\\"', '"') not in found}
    assert [p for p in own if any(c < " " for c in p) or '\\"' in p or "\\/" in p] == []


@pytest.mark.parametrize("name", ["cuda-oom/near-prompt.log", "healthy/vllm-healthy-sigterm.log", "nccl-timeout"])
def test_the_gate_of_the_lazy_probes_changes_nothing(name: str) -> None:
    path = SAMPLES / name
    files = [path] if path.is_file() else sorted(path.glob("*.log"))
    lines = {line for file in files for line in file.read_text(encoding="utf-8", errors="replace").splitlines()}
    matcher, plain = Classifier()._prepared[0], Matcher(Classifier().catalogue)
    assert matcher.lazy_gate is not None
    assert plain.lazy_gate is None
    for line in lines:
        for probe in set(plain._likely(line)) - set(matcher._likely(line)):  # its literals are looked for in any case
            assert matcher.search(probe, line) is None


@given(st.binary(max_size=300).map(lambda data: data.replace(b"\r", b"\n")))
def test_places_count_lines_on_the_way(text: bytes) -> None:
    places = Places(text)
    for index, start in enumerate([0, *(i + 1 for i, byte in enumerate(text) if byte == 10)]):
        assert places.index(start) == index
    assert places.newlines() == text.count(b"\n")


def test_candidates_by_line_unites_what_meets_in_a_line() -> None:
    text = b"x\nan error seen, 7 tokens made\n\ntokens lost"
    assert candidates_by_line(gate(), text) == [(2, 30, (ERROR, PROGRESS, BOTH)), (32, 43, (BOTH,))]
