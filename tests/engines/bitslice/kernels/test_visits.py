"""Rows of events, the groups that they visit, and which of these masks search."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tamis.engines.bitslice.kernels.cells import cell_of
from tamis.engines.bitslice.kernels.visits import batch_of, packed_groups, row_tests, visits_of
from tamis.engines.encoding import EncodedBatch
from tamis.engines.formula_program import row_tests_of
from tests.engines.bitslice.build_steps import AXES, Steps, build_steps

STEPS = build_steps(6, 80, 40)
NO_TESTS = np.empty(0, np.int32)


def test_every_event_has_a_row_on_every_axis() -> None:
    cells = STEPS.index.index.cells
    batch = batch_of(cells, STEPS.encoded, NO_TESTS, False)
    for event, values in enumerate(STEPS.events):
        for axis in range(AXES):
            value, base = values[axis], int(cells.bases[axis])
            row = base if value is None else base + cell_of(cells, axis, value)
            assert batch.rows[event, batch.columns[axis]] == row


def test_tests_by_event_as_numpy_finds_them() -> None:
    rows, tests = 9, np.array([2, 5, 6], np.int32)
    hits = np.array([0, 3, 8, 3, 0, 1, 3], np.int32)
    nothing = np.empty((0, rows), np.int64)
    encoded = EncodedBatch(rows, NO_TESTS, nothing, nothing.astype(np.uint8), tests, np.array([0, 3, 4, 7]), hits)
    found, wanted = row_tests(encoded), row_tests_of(encoded)
    assert found.firsts.tolist() == wanted.firsts.tolist()
    assert found.tests.tolist() == wanted.tests.tolist()
    assert found.tests[found.firsts[3] : found.firsts[4]].tolist() == [2, 5, 6]
    test_lines = np.full(8, -1, np.int32)
    batch = batch_of(STEPS.index.index.cells, encoded, test_lines, False)
    assert test_lines.tolist() == [-1, -1, 0, -1, -1, 1, 2, -1]
    assert [int(line[0]) for line in batch.test_bits] == [0b100001001, 0b1000, 0b1011]


def visited(steps: Steps) -> list[set[int]]:
    arrays = steps.index.index
    batch = batch_of(arrays.cells, steps.encoded, NO_TESTS, False)
    visits = visits_of(arrays.groups, arrays.attribute_pairs, batch, row_tests(steps.encoded))
    found = [
        visits.groups[first:last].tolist() for first, last in zip(visits.firsts, visits.firsts[1:], strict=False)
    ]
    assert all(len(set(each)) == len(each) for each in found), "no group twice"
    return [set(each) for each in found]


def test_an_event_visits_a_group_of_every_formula_that_holds() -> None:
    groups, entries = STEPS.index.index.groups, STEPS.index.index.entries
    bounds = groups.run_entries[groups.runs]
    slots = [set(entries.slots[first:last].tolist()) for first, last in pairwise(bounds)]
    for event, some in enumerate(visited(STEPS)):
        reached = set().union(*(slots[group] for group in some))
        assert {
            slot for slot, root in enumerate(STEPS.forest.roots.tolist()) if STEPS.holds(root, event)
        } <= reached


def test_packed_groups_have_the_events_that_visit_them() -> None:
    arrays = STEPS.index.index
    batch = batch_of(arrays.cells, STEPS.encoded, NO_TESTS, False)
    visits = visits_of(arrays.groups, arrays.attribute_pairs, batch, row_tests(STEPS.encoded))
    counts = np.zeros(len(arrays.groups.runs) - 1, np.int32)
    first_pair_group = int(arrays.attribute_pairs.first_group[0])
    packed = packed_groups(arrays.groups, arrays.bitmaps, first_pair_group, visits, 1, counts)
    by_event = visited(STEPS)
    assert set(packed.groups.tolist()) == set().union(*by_event), "with 1, all of them"
    for place, group in enumerate(packed.groups.tolist()):
        events = packed.events[packed.firsts[place] : packed.firsts[place + 1]].tolist()
        assert events == [event for event, some in enumerate(by_event) if group in some]
        assert counts[group] == place + 1
    counts[:] = 0
    none = packed_groups(arrays.groups, arrays.bitmaps, first_pair_group, visits, 1 << 30, counts)
    assert not len(none.groups) and not counts.any()
