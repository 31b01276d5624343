"""Formulas that are evaluated one by one: all their pairs, or those of some candidates."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.base import Matches
from tamis.events import EventBatch
from tamis.frames import BatchFrame
from tamis.lab.dynamic.fallback import FallbackFormulas
from tamis.language.condition import compile_condition
from tests.engines.test_engines import expected
from tests.worlds import WORLDS, world

FRAME = BatchFrame(EventBatch.of([{"a": 1}, {"a": 2}, {"b": 1}]))


def pairs(found: Matches) -> list[tuple[int, int]]:
    assert found.rows.dtype == found.slots.dtype == np.int32
    return sorted(zip(found.rows.tolist(), found.slots.tolist(), strict=True))


def matches(*given: tuple[int, int]) -> Matches:
    table = np.array(given, np.int32).reshape(-1, 2)
    return Matches(table[:, 0].copy(), table[:, 1].copy())


def fallback_of(slots: dict[int, str]) -> FallbackFormulas:
    fallback = FallbackFormulas()
    for slot, text in slots.items():
        fallback.insert(slot, compile_condition(text).formula)
    return fallback


@pytest.mark.parametrize("name", WORLDS)
def test_all_pairs(name: str) -> None:
    here, random_ = world(name), random.Random(95)
    slots = {3 * place: condition for place, condition in enumerate(here.accepted(random_, 30))}
    fallback = FallbackFormulas()
    for slot, condition in slots.items():
        fallback.insert(slot, condition.formula)
    batch = here.batch(random_, 20)
    assert pairs(fallback.match(BatchFrame(batch))) == expected(slots, batch)


def test_slots_are_emptied() -> None:
    fallback = fallback_of({4: "a = 1", 7: "a = 2", 9: "TRUE"})
    assert len(fallback) == 3
    rest = fallback.delete_many(np.array([5, 7, 8, 4], np.int32))
    assert rest.tolist() == [5, 8]
    assert rest.dtype == np.int32
    assert pairs(fallback.match(FRAME)) == [(0, 9), (1, 9), (2, 9)]
    fallback.insert(4, compile_condition("b = 1").formula)
    assert pairs(fallback.match(FRAME)) == [(0, 9), (1, 9), (2, 4), (2, 9)]


def test_nothing_to_ask() -> None:
    slots = np.array([1, 2], np.int32)
    assert FallbackFormulas().delete_many(slots).tolist() == [1, 2]
    assert pairs(FallbackFormulas().match(FRAME)) == []
    found = matches((0, 5))
    assert FallbackFormulas().append_matches(FRAME, found) is found
    assert pairs(FallbackFormulas().verify(FRAME, matches())) == []


def test_pairs_are_added_to_those_from_elsewhere() -> None:
    fallback = fallback_of({4: "a = 1"})
    assert pairs(fallback.append_matches(FRAME, matches((2, 1), (0, 0)))) == [(0, 0), (0, 4), (2, 1)]


def test_candidates_are_verified() -> None:
    """Only rows that were asked for, though others hold as well."""
    fallback = fallback_of({4: "a >= 1", 7: "a = 2", 9: "TRUE"})
    asked = matches((0, 4), (2, 4), (0, 7), (1, 7), (2, 9))
    assert pairs(fallback.verify(FRAME, asked)) == [(0, 4), (1, 7), (2, 9)]
