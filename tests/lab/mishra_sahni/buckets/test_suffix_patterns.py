"""Patterns of suffixes and parts go to the suffix structure, all others to the groups; the pairs stay the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.events import EventBatch, EventType
from tamis.formulas.predicates.base import Predicate
from tamis.lab.mishra_sahni.buckets import Buckets
from tamis.lab.mishra_sahni.buckets.suffix_patterns import SuffixPatterns, sought_text
from tamis.language.condition import compile_condition
from tests.engines.changes import change_at_random
from tests.engines.test_engines import check
from tests.lab.dynamic.test_pattern_groups import satisfied
from tests.worlds import WORLDS

TYPE = EventType.of({"attributes": {"s": "string", "t": "string", "n": "int"}})


def pattern_of(text: str) -> Predicate:
    (found,) = compile_condition(text, TYPE).formula.predicates()
    return found


@pytest.mark.parametrize(
    ("text", "sought"),
    [
        ("s LIKE '%ab'", ("ab", 1)),
        ("s LIKE '%a\\\\%b%'", ("a%b", 0)),
        ("endswith(s, 'é_')", ("é_", 1)),
        ("contains(s, 'x%')", ("x%", 0)),
        ("s LIKE '%a_b%'", None),
        ("s LIKE 'a%b'", None),
        ("s NOT LIKE '%a'", None),
        ("s ILIKE '%a'", None),
        ("s RLIKE 'a'", None),
    ],
)
def test_what_the_structure_holds(text: str, sought: tuple[str, int] | None) -> None:
    found = sought_text(pattern_of(text))
    assert (None if found is None else (found.text.tobytes().decode(), found.is_ending)) == sought


def test_both_kinds_are_found_and_forgotten() -> None:
    patterns = SuffixPatterns()
    tests = [pattern_of(text) for text in ("s LIKE '%ab'", "s LIKE '%b%'", "t LIKE '%b%'", "s LIKE 'a%b'")]
    assert [patterns.number(test) for test in tests] == [0, 1, 2, 3]
    batch = EventBatch.of([{"s": "ab"}, {"s": "ba", "t": "b"}, {"t": ""}, {}], TYPE)
    assert satisfied(patterns, batch) == [[0, 1, 3], [1, 2], [], []]
    assert patterns.size()[0] == 6
    assert patterns.steps > 0
    for number in (0, 1, 2):
        patterns.remove(number)
    assert patterns.size() == (0, 0)
    assert satisfied(patterns, batch) == [[3], [], [], []]
    many = [patterns.number(pattern_of(f"s LIKE '%x{place}%'")) for place in range(200)]
    for number in many[:150]:
        patterns.remove(number)  # everything is built again meanwhile
    assert satisfied(patterns, EventBatch.of([{"s": "x160 x9"}], TYPE)) == [[many[160]]]


@pytest.mark.slow
@pytest.mark.parametrize("capacity", [1, 50])
def test_conditions_with_patterns(capacity: int) -> None:
    random_ = random.Random(capacity)
    forms = ("s LIKE '%{}'", "s LIKE '%{}%'", "t LIKE '%{}%' AND n > 2", "s LIKE '%{}' OR t LIKE 'a%'", "n = 1")
    texts = [
        random_.choice(forms).format("".join(random_.choices("ab", k=random_.randint(1, 4)))) for _ in range(150)
    ]
    conditions = [compile_condition(text, TYPE) for text in texts]
    index = Buckets(capacity, strings="suffix").build([each.formula for each in conditions])
    words = [None, "", *("".join(random_.choices("ab", k=5)) for _ in range(10))]
    events = [
        {"s": random_.choice(words), "t": random_.choice(words), "n": random_.randrange(5)} for _ in range(40)
    ]
    check(index, dict(enumerate(conditions)), EventBatch.of(events, TYPE))
    index.delete_many(np.arange(0, 150, 2, dtype=np.int32))
    check(index, dict(list(enumerate(conditions))[1::2]), EventBatch.of(events, TYPE))


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_changes(name: str) -> None:
    change_at_random(Buckets(3, strings="suffix").build([]), name)
