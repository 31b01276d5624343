"""An index finds what its formulas say, with any statistics, and its parts refer to each other."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.arrays import AnyArray
from tamis.engines.bitslice import BitsliceIndex
from tamis.engines.bitslice.build import build_index
from tamis.engines.bitslice.layout import NO_NODE, IndexArrays
from tamis.engines.forest import Forest, forest_of
from tamis.events import EventBatch, EventType
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tamis.statistics import Statistics
from tests.engines.naive import check, random_events, random_forest

E = EventType.from_dict({"name": "e", "attributes": {"a": "int", "b": "int", "c": "int", "s": "string"}})
AXES, DOMAIN = 4, 50


def forest_from(*texts: str) -> Forest:
    return forest_of([compile_condition(text, E).formula for text in texts])


@pytest.mark.parametrize("depth", [1, 3])
def test_statistics_never_change_what_is_found(depth: int) -> None:
    random_ = random.Random(depth)
    forest = random_forest(random_, 60, axes=AXES, domain=DOMAIN, depth=depth)
    batch = random_events(random_, AXES, DOMAIN, 40)
    usual, misleading = Statistics(), Statistics()
    attributes = [axis.attribute for axis in forest.axes]
    usual.observe(BatchFrame(batch), attributes)
    # All values are far above those of the batch, and most attributes are missing.
    far = [{f"a{row % AXES}": 10_000 + row} for row in range(100)]
    misleading.observe(BatchFrame(EventBatch.of(far, batch.event_type)), attributes)
    indexes = [build_index(forest, statistics) for statistics in (None, usual, misleading)]
    assert len({index.groups.runs.tobytes() for index in indexes}) > 1, "but they change the index"
    for index in indexes:
        assert check(BitsliceIndex(forest, index), list(forest), batch) > 20


def test_an_index_of_nothing_finds_nothing() -> None:
    forest = forest_from()
    index = build_index(forest)
    assert not len(index.entries.slots)
    assert check(BitsliceIndex(forest, index), [], EventBatch.of([{"a": 1}, {}], E)) == 0


def test_what_never_holds_has_no_entry() -> None:
    assert build_index(forest_from("a = 1", "a > 3 AND a < 2", "false")).entries.slots.tolist() == [0]


def test_entries_of_disjuncts_name_their_subscription() -> None:
    entries = build_index(forest_from("a = 1", "(a = 1 AND b = 2) OR (b = 3 AND c = 4)", "c = 5")).entries
    assert sorted(entries.slots.tolist()) == [0, 1, 1, 2]
    guarded = entries.slots[entries.guards != NO_NODE].tolist()
    assert guarded == [1], "the later disjunct is silent where the earlier one reports"


@pytest.mark.parametrize(
    ("text", "has_residuals", "has_guards"),
    [
        ("a = 1 AND b > 2", False, False),
        ("a IN (1, 5, 9)", False, False),
        ("a = 1 AND b NOT IN (2, 4)", True, False),
        ("a = 1 OR b = 2", False, True),
        ("(a = 1 AND b NOT IN (2, 4)) OR c = 3", True, True),
    ],
)
def test_residuals_and_guards_take_room_only_where_there_are_some(
    text: str, has_residuals: bool, has_guards: bool
) -> None:
    cuts = [f"a = {number} AND b = {number} AND c = {number}" for number in range(20)]
    index = build_index(forest_from(text, *cuts))
    count = len(index.entries.slots)
    assert len(index.entries.residuals) == (count if has_residuals else 0)
    assert len(index.entries.guards) == (count if has_guards else 0)
    assert bool(len(index.program.kinds)) == (has_residuals or has_guards)


def offsets_of(index: IndexArrays) -> list[tuple[AnyArray, int, int]]:
    """Offsets, how many owners they have, and of how many elements."""
    entries, groups = index.entries, index.groups
    count, axes = len(entries.slots), len(index.cells.counts)
    return [
        (index.cells.cut_firsts, axes, len(index.cells.cuts)),
        (entries.firsts, count, len(entries.ranges)),
        (groups.runs, len(index.bitmaps.costs), len(groups.run_lows)),
        (groups.run_entries, len(groups.run_lows), count),
        (groups.cell_firsts, len(index.cells.axis_of), len(groups.cell_groups)),
        (groups.point_firsts, axes, len(groups.points)),
        (groups.range_firsts, len(groups.runs) - 1, len(groups.ranges)),
        (index.bitmaps.firsts, len(groups.runs) - 1, len(index.bitmaps.axes)),
    ]


def test_parts_refer_to_each_other() -> None:
    index = build_index(random_forest(random.Random(7), 80, axes=AXES, domain=DOMAIN, depth=3))
    for firsts, owners, elements in offsets_of(index):
        assert len(firsts) == owners + 1
        assert (int(firsts[0]), int(firsts[-1])) == (0, elements)
        assert (np.diff(firsts) >= 0).all()
    assert index.entries.ranges.max() < len(index.ranges.lows)
    assert index.groups.ranges.max() < len(index.ranges.lows)
    assert len(index.entries.bound_firsts) in (1, len(index.entries.slots))
    for roots in (index.entries.residuals, index.entries.guards):
        some = roots[roots != NO_NODE]
        assert len(some)
        assert -len(index.program.kinds) <= some.min() and some.max() < len(index.program.records)
