"""The predicates of a forest that are no intervals."""

from __future__ import annotations

import numpy as np

from tamis.engines.forest import tests as forest_tests
from tamis.events import EventType
from tamis.formulas.predicates.base import Predicate
from tamis.language.condition import compile_condition

TYPE = EventType.from_dict(
    {"name": "t", "attributes": {"s": "string", "u": "string", "tags": "array<string>", "n": "int"}}
)


def predicate(text: str) -> Predicate:
    (found,) = compile_condition(text, TYPE).formula.predicates()
    return found


SOME = [predicate(text) for text in ("exists(tags, x -> x = 'a')", "s LIKE '%x'", "u LIKE '%x'", "s RLIKE 'a+'")]
OTHERS = [predicate(text) for text in ("u LIKE '%x'", "NOT s LIKE '%x'", "exists(tags, x -> x = 'a')")]


def test_patterns_come_first_and_each_predicate_is_there_once() -> None:
    tests, numbers = forest_tests.tests_of([*SOME, *SOME[:2]])
    assert [tests[number] for number in numbers.tolist()] == [*SOME, *SOME[:2]]
    assert numbers.tolist() == [3, 0, 1, 2, 3, 0]
    assert tests[-1] == SOME[0]
    assert tests[1:3] == SOME[2:]


def test_joined_tests_keep_their_meaning() -> None:
    tests_of = forest_tests.tests_of
    parts = [
        (tests_of(SOME)[0], np.array([0, 1, 3])),
        (tests_of(OTHERS)[0], np.array([0, 1, 2])),
    ]
    joined, numbers = forest_tests.join_tests(parts)
    assert len(joined) == len(set(joined)) == 4
    for (tests, wanted), new in zip(parts, numbers, strict=True):
        assert [joined[number] for number in new[wanted].tolist()] == [tests[old] for old in wanted.tolist()]
    assert numbers[0][2] == -1, "it was left out"


def test_no_tests() -> None:
    tests, numbers = forest_tests.tests_of([])
    assert len(tests) == len(numbers) == 0
    assert len(forest_tests.join_tests([])[0]) == 0
