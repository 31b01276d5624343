"""Numbers of predicates are given again when their last use is released."""

from __future__ import annotations

import numpy as np

from tamis.engines.forest import forest_of
from tamis.lab.dynamic.kernels.predicates import release_predicate
from tamis.lab.dynamic.predicate_index import PredicateIndex
from tamis.language.condition import compile_condition


def test_numbers_are_reused() -> None:
    index = PredicateIndex()
    for turn in range(50):
        forest = forest_of([compile_condition(f"a = {turn} and b like '%{turn}x%'").formula])
        numbers = index.intern(forest)
        assert np.max(numbers) < 4
        for number in numbers.tolist():
            release_predicate(index.predicates, number)
        index.drop_unused_tests()
    assert index.number_limit <= 4
