"""Entries that two rare attributes lead to are found as any others are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tamis.engines.base import Index
from tamis.engines.bitslice import Bitslice, BitsliceIndex
from tamis.engines.bitslice.kernels.attribute_pairs import HEAD
from tamis.engines.bitslice.kernels.masks import SURVIVORS
from tamis.engines.forest import forest_of
from tamis.events.batch import EventBatch
from tamis.events.event_type import Attribute, EventType
from tamis.formulas.formula import Formula
from tamis.frames import BatchFrame
from tamis.lab.baselines.postings import Postings
from tamis.lab.workloads import generate
from tamis.language.bulk import compile_conditions
from tamis.statistics import Statistics
from tamis.values.types import INT

pytestmark = pytest.mark.slow

NEVER_MASKS = 1 << 30


def _formulas(conditions: Sequence[str], event_type: EventType) -> list[Formula]:
    return [each for each in compile_conditions(conditions, event_type) if isinstance(each, Formula)]


def _pairs(index: Index, events: EventBatch) -> set[tuple[int, int]]:
    found = index.match(events)
    pairs = list(zip(found.rows.tolist(), found.slots.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    return set(pairs)


@pytest.mark.slow
@pytest.mark.parametrize(("subscriptions", "attributes"), [(3_000, 80), (6_000, 120)])
def test_couples_find_what_counting_finds(subscriptions: int, attributes: int) -> None:
    workload = generate("sparse", subscriptions=subscriptions, events=300, seed=7, attributes=attributes)
    formulas = _formulas(workload.conditions, workload.event_type)
    statistics = Statistics()
    events = EventBatch.of(workload.events, workload.event_type)
    statistics.observe(BatchFrame(events), [axis.attribute for axis in forest_of(formulas).axes])
    index = Bitslice().build(formulas, statistics)
    assert index.stats().counts["attribute_pairs"] > 100
    wanted = _pairs(Postings().build(formulas), events)
    assert wanted
    opened = BitsliceIndex.from_arrays(index.forest, index.arrays())
    for each in (index, opened):
        for fewest in (1, 2, NEVER_MASKS):
            each.fewest = fewest
            assert _pairs(each, events) == wanted
    alone = {
        (row, slot)
        for row in range(50)
        for _, slot in _pairs(index, EventBatch.of(workload.events.slice(row, 1), workload.event_type))
    }
    assert alone == {(row, slot) for row, slot in wanted if row < 50}


@pytest.mark.slow
def test_a_couple_with_more_entries_than_are_settled_together() -> None:
    conditions = [f"a >= {number % 7} AND b <= {90 + number % 9}" for number in range(5_000)]
    rare = [f"c{number % 30} = {number} AND d{number % 31} = 1" for number in range(20_000)]
    names = ["a", "b", *(f"c{number}" for number in range(30)), *(f"d{number}" for number in range(31))]
    event_type = EventType("rare", attributes=tuple(Attribute(name, INT) for name in names))
    formulas = _formulas(conditions + rare, event_type)
    statistics = Statistics()
    past = EventBatch.of([{"a": 50, "b": 50}, *({"c0": 1} for _ in range(9))], event_type)
    statistics.observe(BatchFrame(past), [axis.attribute for axis in forest_of(formulas).axes])
    index = Bitslice().build(formulas, statistics)
    index.fewest = NEVER_MASKS
    assert np.diff(index.index.attribute_pairs.heads[1::HEAD]).max() > SURVIVORS
    events = EventBatch.of([{"a": 50, "b": 50}, {"a": 50}, {"a": 3, "b": 95, "c3": 3, "d3": 1}], event_type)
    assert _pairs(index, events) == _pairs(Postings().build(formulas), events)
