"""Patterns of an attribute as one index, in memory and stored."""

from __future__ import annotations

import numpy as np

from tamis.engines.encoding.pattern_groups import build_pattern_groups, read_pattern_groups, write_pattern_groups
from tamis.engines.forest import forest_of
from tamis.engines.forest import tests as forest_tests
from tamis.events import EventBatch, EventType
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition

TYPE = EventType.from_dict({"name": "t", "attributes": {"s": "string", "u": "string"}})
TEXTS = ("s LIKE '%a%'", "NOT s LIKE '%a%'", "s RLIKE '^b+$'", "NOT s LIKE '%c'", "u LIKE '_b%'")
FRAME = BatchFrame(EventBatch.of([{"s": "abc", "u": "abc"}, {"s": "bb"}, {"u": "ab"}, {}, {"s": ""}], TYPE))


def some_tests() -> forest_tests.Tests:
    return forest_of([compile_condition(text, TYPE).formula for text in TEXTS]).tests


def test_keys_are_those_of_the_masks_before_and_after_they_are_stored() -> None:
    given = some_tests()
    wanted = sorted(
        (number << 32) | row for number in range(len(given)) for row in np.flatnonzero(given[number].mask(FRAME))
    )
    built = build_pattern_groups(given)
    assert [group.attribute for group in built] == list(given.attributes)
    saved = write_pattern_groups(built)
    for groups in (built, read_pattern_groups(given.attributes, saved)):
        keys = [array for group in groups for array in group.keys(FRAME)]
        assert all((np.diff(array) > 0).all() for array in keys)
        assert sorted(np.concatenate(keys).tolist()) == wanted


def test_a_negated_test_shares_the_entry_of_the_pattern() -> None:
    group = build_pattern_groups(some_tests())[0]
    _, complements = group.index()
    assert (len(group.positives), len(group.negated)) == (2, 2)
    assert complements.tolist() == [0, 2], "the second pattern has no positive test"


def test_without_patterns_nothing_is_stored() -> None:
    assert write_pattern_groups([]) == {}
