"""What is left of a log may show no cause, or another one: never is a wrong cause claimed with confidence.

Each sample is cut at one place from either end, another for each, and loses the lines that show its cause. On demand all are
cut at many places (a minute or two):

    VLLM_CRASHSIG_TRUST=all python -m pytest tests/test_trust.py
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator

import pytest
from labelled import Labelled, labelled, misleads
from reading import read
from variants import Subject, Variant, without_beginning, without_cause, without_end

SHARDS = 8
EVERYWHERE = range(3, 98, 5)


def left_of(case: Labelled) -> Iterator[Variant]:
    """What is left of a case after some accident."""
    whole = Subject(case, read(case.logs))
    number = zlib.crc32(case.name.encode())
    for percent in EVERYWHERE if os.environ.get("VLLM_CRASHSIG_TRUST") == "all" else (3 + number % 95,):
        yield from without_end(whole, percent)
        yield from without_beginning(whole, percent)
    yield from without_cause(whole)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_confident_mistake_about_what_is_left_of_a_log(shard: int) -> None:
    crashes = [c for c in labelled() if c.kind == "crash"][shard::SHARDS]
    assert len(crashes) > 50
    wrong, asked = [], 0
    for case in crashes:
        for variant in left_of(case):
            asked += 1
            found = read(variant.logs).report
            if misleads(case, found):
                top = found.classifications[0]
                wrong.append(f"{case.name} {variant.name}: {top.id} at {top.confidence}, not {' or '.join(sorted(case.right))}")
    assert wrong == []
    assert asked > 2 * len(crashes)
