"""Rows -> the weights of the confidence, and how well they hold on fingerprints that they were not fitted on. Plain Python."""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reading import Answer
from run import Row

from vllm_crashsig.confidence import CIRCUMSTANCES, Ambiguity, Curve, estimate, is_ambiguous

PRIOR = {
    "either": -1.0, "degraded": 0.0, "last_resort": -0.5, "ambiguous": -1.5, "weak_level": -0.5, "unresolved": -0.7,
    "far": -1.0, "later": -0.7, "unlinked": -1.0, "elsewhere": -0.2, "rival": -1.0, "rivals": -0.5, "headless": -0.2,
    "explains": 0.3, "supported": 0.3, "told_twice": 0.2,
}  # fmt: skip
"""What each sign is worth (in logits) as long as the labelled logs do not say otherwise: most of them know few bad endings."""
SIGNS = tuple(PRIOR)
BASE = 4.0
"""The same for an answer without any sign."""
FOLDS = 5
STRENGTH = 10.0
"""How strongly weights are held to those: as much as this many examples with even chances (4 to a unit of information)."""
LEAST_SHARE = 0.2
OPTIMISM = 0.005
"""The share of right answers that is counted as wrong: these logs are our own, and those of others will be harder."""
SHARES = {"wrapped": 0.25, "begin missing": 1 / 3, "end missing": 1 / 3, "mixed": 0.5}
"""What a row counts whose group has several rows for one case; 1 for the others."""
LESS = frozenset({"begin missing", "end missing", "cause missing", "cause alone", "log missing"})
"""Groups in which evidence is missing: what is claimed wrongly there is known to be ambiguous."""
BINS = 10
Pairs = Sequence[tuple[float, bool, float]]
"""Confidence, whether it was right, and what it counts."""


@dataclass(frozen=True)
class Example:
    """A claimed cause, and what its confidence is made of."""

    label: str
    answer: Answer
    right: bool
    group: str
    name: str
    solved: bool = True
    """Whether the whole case is answered rightly: if not, it is the catalogue that is at fault, and not what is missing."""

    @property
    def weight(self) -> float:
        return SHARES.get(self.group, 1.0)

    @property
    def fold(self) -> int:
        """By the label without its refinement, so that no log of a held-back fingerprint is fitted on."""
        return zlib.crc32(self.label.partition(".")[0].encode()) % FOLDS


def examples(rows: Iterable[Row]) -> list[Example]:
    """The rows in which a cause is claimed and a label tells whether rightly."""
    listed = list(rows)
    solved = {row.case for row in listed if row.group == "plain" and row.worth == "right"}
    return [
        Example(min(row.right, default=row.case), row.answer, row.judged[1], row.group, row.name, row.case in solved)
        for row in listed
        if row.answer is not None and row.judged is not None
    ]


def fit(found: Sequence[Example]) -> Curve:
    """The curve for these examples.

    What has misled is known of labels that are in them; how much that is worth is fitted on labels that are not.
    """
    others = [Curve({}, _ambiguous(e for e in found if e.fold != fold)) for fold in range(FOLDS)]
    data: dict[tuple[tuple[int, ...], bool], float] = defaultdict(float)
    for e in found:
        vector = _vector(e, others[e.fold])
        data[vector, True] += e.weight * (1 - OPTIMISM) * e.right
        data[vector, False] += e.weight * (OPTIMISM if e.right else 1)
    return Curve(dict(zip(("base", *SIGNS), _logistic(data), strict=True)), _ambiguous(found))


def _ambiguous(found: Iterable[Example]) -> dict[str, tuple[Ambiguity, ...]]:
    """The evidence that stood behind wrong answers, without what is part of other such evidence."""
    seen: dict[str, set[Ambiguity]] = defaultdict(set)
    for e in found:
        if not e.right and e.solved and e.group in LESS:
            seen[e.answer.id].add(Ambiguity(e.answer.seen, CIRCUMSTANCES.intersection(e.answer.signs)))
    return {
        fingerprint: tuple(sorted(
            (a for a in known if not any(_covers(b, a) for b in known)), key=lambda a: (sorted(a.where), sorted(a.seen))
        ))
        for fingerprint, known in sorted(seen.items())
    }  # fmt: skip


def _covers(wide: Ambiguity, narrow: Ambiguity) -> bool:
    return wide != narrow and wide.seen >= narrow.seen and wide.where <= narrow.where


def _vector(e: Example, learned: Curve) -> tuple[int, ...]:
    doubtful = is_ambiguous(e.answer.id, e.answer.seen, e.answer.signs, learned)
    return (1, *(int(doubtful) if name == "ambiguous" else int(e.answer.signs.get(name, 0)) for name in SIGNS))


def _logistic(data: Mapping[tuple[tuple[int, ...], bool], float]) -> list[float]:
    """Logistic regression with a normal prior.

    A sign of doubt always lowers the chance and a good sign always raises it, by at least LEAST_SHARE of what the prior says:
    these logs are too few, and too many of them are answered rightly, to show that a sign means nothing.
    """
    prior = [BASE, *PRIOR.values()]
    fixed: dict[int, float] = {}
    while True:
        weights = _newton(data, prior, fixed)
        least = {i: LEAST_SHARE * m for i, m in enumerate(prior) if i and m}
        weak = {i: m for i, m in least.items() if weights[i] / m < 1 - 1e-9}
        if weak.keys() <= fixed.keys():
            return weights
        fixed |= weak


def _newton(
    data: Mapping[tuple[tuple[int, ...], bool], float], prior: Sequence[float], fixed: Mapping[int, float]
) -> list[float]:
    """The most likely weights by Newton's method, some of them fixed."""
    size = len(prior)
    weights = [fixed.get(i, m) for i, m in enumerate(prior)]
    hold = [1.0, *[STRENGTH / 4] * (size - 1)]
    for _ in range(100):
        gradient = [-h * (w - m) for h, w, m in zip(hold, weights, prior, strict=True)]
        hessian = [[hold[i] if i == j else 0.0 for j in range(size)] for i in range(size)]
        for (vector, right), count in data.items():
            p = 1 / (1 + math.exp(-sum(w for w, v in zip(weights, vector, strict=True) if v)))
            on = [i for i, v in enumerate(vector) if v and i not in fixed]
            for i in on:
                gradient[i] += count * (right - p)
                for j in on:
                    hessian[i][j] += count * p * (1 - p)
        for i in fixed:
            gradient[i] = 0.0
        step = [min(max(s, -1.0), 1.0) for s in _solve(hessian, gradient)]  # far from the answer Newton's steps are too long
        weights = [w + s for w, s in zip(weights, step, strict=True)]
        if max(map(abs, step)) < 1e-9:
            break
    return weights


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination for a positive definite matrix."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, size):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    out = [0.0] * size
    for i in reversed(range(size)):
        out[i] = (rows[i][size] - sum(rows[i][j] * out[j] for j in range(i + 1, size))) / rows[i][i]
    return out


def judged(found: Iterable[Example], learned: Curve) -> list[tuple[float, bool, float]]:
    """What a curve says of examples."""
    return [(estimate(e.answer.id, e.answer.seen, e.answer.signs, learned), e.right, e.weight) for e in found]


def held_back(found: Sequence[Example]) -> list[tuple[float, bool, float]]:
    """What curves say of examples of labels that they were not fitted on."""
    said = []
    for fold in range(FOLDS):
        learned = fit([e for e in found if e.fold != fold])
        said += judged((e for e in found if e.fold == fold), learned)
    return said


def calibration_error(pairs: Pairs) -> float:
    """The expected calibration error: how far confidence and share of right answers are apart, over BINS equal bins."""
    return sum(n * abs(said - share) for _, said, share, n in reliability(pairs)) / max(sum(w for _, _, w in pairs), 1e-9)


def reliability(pairs: Pairs) -> list[tuple[float, float, float, float]]:
    """For each bin in use: where it begins, mean confidence, share of right answers, and weight."""
    bins: dict[int, list[tuple[float, bool, float]]] = defaultdict(list)
    for pair in pairs:
        bins[min(int(pair[0] * BINS), BINS - 1)].append(pair)
    out = []
    for index, content in sorted(bins.items()):
        total = sum(w for _, _, w in content)
        said = sum(w * confidence for confidence, _, w in content) / total
        out.append((index / BINS, said, sum(w for _, ok, w in content if ok) / total, total))
    return out
