from __future__ import annotations

import random

from tamis.formulas.formula import conjunction, disjunction
from tamis.lab.bittner.overlap import ConjunctiveIndex
from tamis.language.condition import normalise
from tests.lab.bittner.small_worlds import SMALL
from tests.routing.test_overlap import drawn, filed, pairs, true_pairs


def test_the_baseline_misses_nothing_and_makes_up_less() -> None:
    left, right = drawn(1, 60), drawn(2, 60)
    baseline = ConjunctiveIndex([SMALL], most_terms=1_000)
    for number, each in enumerate(right):
        baseline.add(str(number), "small", each)
    expected, found = true_pairs(left, right), pairs(baseline, left)
    assert len(baseline) > len(right)
    assert expected <= found <= pairs(filed(right), left)
    share = len(found - expected) / (len(left) * len(right) - len(expected))
    assert share < 0.05, f"{share:.1%}"
    assert all(baseline.overlaps("small", each) == bool(baseline.overlapping("small", each)) for each in left)


def test_the_baseline_is_exact_for_ranges() -> None:
    """With one range an attribute on either side, pairs that can hold in pairs can hold all together."""
    random_ = random.Random(5)
    texts = ["a < 3", "a > 1", "a IN (1, 4)", "a = 5", "b = 'ab'", "b > 'ab'", "c", "NOT c", "d < 1", "d >= 1.5"]
    formulas = [
        disjunction(
            conjunction(normalise(text, SMALL) for text in random_.sample(texts, 3))
            for _ in range(random_.randint(1, 2))
        )
        for _ in range(60)
    ]
    baseline = ConjunctiveIndex([SMALL])
    for number, each in enumerate(formulas):
        baseline.add(str(number), "small", each)
    assert pairs(baseline, formulas) == true_pairs(formulas, formulas)
