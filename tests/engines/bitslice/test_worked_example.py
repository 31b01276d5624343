"""The example of `docs/bitslice.md`, built with the real code: every number is as the page draws it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tamis.engines.bitslice import Bitslice, BitsliceIndex
from tamis.engines.bitslice.kernels.masks import axes_and_tests, fill_masks
from tamis.engines.bitslice.kernels.simd import survivors_1
from tamis.engines.bitslice.kernels.visits import Visits, batch_of, packed_groups, row_tests, visits_of
from tamis.engines.bitslice.layout import NO_NODE, CellBatch
from tamis.engines.encoding import EncodedBatch, Encoder
from tamis.engines.forest import forest_of
from tamis.events import EventBatch, EventType
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition

PAGE = (Path(__file__).parents[3] / "docs" / "bitslice.md").read_text("utf-8").splitlines()
OFFER = EventType.from_dict({"name": "offer", "attributes": {"price": "int", "stars": "int"}})
CONDITIONS = ("price < 10 AND stars >= 4", "price BETWEEN 5 AND 20 AND stars >= 4", "price >= 20 OR stars < 2")
EVENTS = [{"price": 7, "stars": 5}, {"price": 20, "stars": 1}, {"price": 30}, {"stars": 4}]
PREDICATES = ("price < 10", "price BETWEEN 5 AND 20", "price >= 20", "stars < 2", "stars >= 4")


@pytest.fixture(scope="module")
def index() -> BitsliceIndex:
    return Bitslice().build(forest_of([compile_condition(text, OFFER).formula for text in CONDITIONS]))


@pytest.fixture(scope="module")
def encoded(index: BitsliceIndex) -> EncodedBatch:
    return Encoder(index.forest.axes, index.forest.tests).encode(BatchFrame(EventBatch.of(EVENTS, OFFER)))


@pytest.fixture(scope="module")
def batch(index: BitsliceIndex, encoded: EncodedBatch) -> CellBatch:
    found: CellBatch = batch_of(index.index.cells, encoded, np.empty(0, np.int32), False)
    return found


@pytest.fixture(scope="module")
def visits(index: BitsliceIndex, encoded: EncodedBatch, batch: CellBatch) -> Visits:
    found: Visits = visits_of(index.index.groups, index.index.attribute_pairs, batch, row_tests(encoded))
    return found


def assert_drawn(*lines: str) -> None:
    """Each of these lines begins a line of the page; the right half of a drawing may follow."""
    drawn = [" ".join(line.split()) for line in PAGE]
    missing = [line for line in lines if not any(each.startswith(" ".join(line.split())) for each in drawn)]
    assert not missing


def bits(mask: int, events: int) -> str:
    return f"{mask:0{events}b}"


def test_cells_and_rows(index: BitsliceIndex) -> None:
    cells = index.index.cells
    assert cells.cuts.tolist() == [5, 10, 20, 21, 2, 4]
    assert cells.bases.tolist() == [2, 8, 12]
    assert cells.counts.tolist() == [5, 3]
    assert not cells.widths.any(), "cells are exact"
    for axis, name in enumerate(("price", "stars")):
        cuts = cells.cuts[cells.cut_firsts[axis] : cells.cut_firsts[axis + 1]].tolist()
        lows, highs = [None, *cuts], [*(cut - 1 for cut in cuts), None]
        base = int(cells.bases[axis])
        assert_drawn(f"{base} {name} NULL")
        for cell, (low, high) in enumerate(zip(lows, highs, strict=True), 1):
            values = (
                str(low) if low == high else f"{'' if low is None else low} ... {'' if high is None else high}"
            )
            assert_drawn(f"{base + cell} {name} {values}")


def test_cell_ranges(index: BitsliceIndex) -> None:
    ranges = index.index.ranges
    assert len(ranges.lows) == len(PREDICATES)
    for number, predicate in enumerate(PREDICATES):
        assert_drawn(f"{number} ({ranges.lows[number]:2}, {ranges.highs[number]:2}] {predicate}")


def test_groups_and_entries(index: BitsliceIndex) -> None:
    groups, entries = index.index.groups, index.index.entries
    assert groups.run_entries[groups.runs].tolist() == [0, 2, 3, 4]
    rows: list[list[int]] = [[] for _ in range(3)]
    for row in range(len(groups.cell_firsts) - 1):
        for group in groups.cell_groups[groups.cell_firsts[row] : groups.cell_firsts[row + 1]].tolist():
            rows[group].append(row)
    asked = [entries.ranges[entries.firsts[entry] : entries.firsts[entry + 1]].tolist() for entry in range(4)]
    assert entries.slots.tolist() == [2, 0, 2, 1]
    assert asked == [[2], [4, 0], [], [1]]
    assert [guard != NO_NODE for guard in entries.guards.tolist()] == [False, False, True, False]
    assert not len(entries.residuals) and not len(entries.bounds)
    for group, entry in ((0, 0), (1, 2), (2, 3)):
        listed = " ".join(map(str, rows[group]))
        assert_drawn(f"{group} {listed} {entry} s{entries.slots[entry]} {' '.join(map(str, asked[entry]))}")
    assert_drawn(f"1 s{entries.slots[1]} {' '.join(map(str, asked[1]))}")
    program = index.index.program
    # The guard of entry 2 is one leaf: price >= 20.
    assert (int(program.axes[~entries.guards[2]]), int(program.lows[~entries.guards[2]])) == (0, 20)


def test_rows_of_events_and_visits(batch: CellBatch, visits: Visits) -> None:
    for event, name in enumerate("abcd"):
        visited = visits.groups[visits.firsts[event] : visits.firsts[event + 1]].tolist()
        price, stars = batch.rows[event].tolist()
        assert_drawn(f"{name} {price} {stars} {' '.join(map(str, visited))}")


def test_masks_and_survivors(index: BitsliceIndex, batch: CellBatch, visits: Visits) -> None:
    state = index._new_state()
    arrays = index.index
    packed = packed_groups(arrays.groups, arrays.bitmaps, 3, visits, 1, state.counts)
    found: dict[int, Any] = {}
    for place, group in enumerate(packed.groups.tolist()):
        events = packed.events[packed.firsts[place] : packed.firsts[place + 1]]
        first, last = arrays.groups.range_firsts[group : group + 2]
        named = arrays.groups.ranges[first:last]
        asked = axes_and_tests(named, arrays.ranges.axes, batch.columns)
        assert fill_masks(asked, named, arrays.ranges, batch, events, state.tables) == 1
        if group == 0:
            assert "".join("abcd"[event] for event in events.tolist()) == "abc"
            up_to = [bits(int(mask), 3) for mask in state.tables.rows[:12]]
            for row in range(2, 12):
                alone = [event for event, rows in enumerate(batch.rows[events].tolist()) if row in rows]
                assert_drawn(f"{row} {bits(sum(1 << event for event in alone), 3)} {up_to[row]}")
            for number in named.tolist():
                low, high = int(arrays.ranges.lows[number]), int(arrays.ranges.highs[number])
                mask = bits(int(state.tables.ranges[number]), 3)
                line = " ".join(f"{number} up to row {high} without up to row {low} {mask}".split())
                assert any(" ".join(each.split()).endswith(line) for each in PAGE)
        runs, run_entries = arrays.groups.runs[group : group + 2].tolist(), arrays.groups.run_entries
        left, run, entry = survivors_1(
            arrays.entries.firsts,
            arrays.entries.ranges,
            run_entries,
            (arrays.groups.run_lows, arrays.groups.run_highs),
            (runs[0], int(run_entries[runs[0]]), runs[1]),
            state.tables.rows,
            state.tables.ranges,
            state.tables.survivors,
            state.tables.masks,
        )
        assert (run, entry) == (runs[1], run_entries[runs[1]])
        for number in range(left):
            entry, survived = int(state.tables.survivors[number]), int(state.tables.masks[number])
            found[entry] = {"abcd"[event] for bit, event in enumerate(events.tolist()) if survived >> bit & 1}
            asked_masks = arrays.entries.ranges[arrays.entries.firsts[entry] : arrays.entries.firsts[entry + 1]]
            masks = [(1 << len(events)) - 1, *(int(state.tables.ranges[each]) for each in asked_masks)]
            drawn = " & ".join(bits(each, len(events)) for each in masks)
            line = f"entry {entry} {drawn} = {bits(survived, len(events))} {' '.join(sorted(found[entry]))}"
            assert any(" ".join(each.split()).endswith(line) for each in PAGE), line
    assert found == {0: {"b", "c"}, 1: {"a"}, 2: {"b"}, 3: {"a"}}


@pytest.mark.parametrize("fewest", [1, 2])
def test_pairs(index: BitsliceIndex, fewest: int) -> None:
    """With masks and event by event; entry 2 survives with event b, and its guard keeps it silent."""
    index.fewest = fewest
    rows, slots = index.match(EventBatch.of(EVENTS, OFFER))
    pairs = sorted(zip(rows.tolist(), slots.tolist(), strict=True))
    assert pairs == [(0, 0), (0, 1), (1, 2), (2, 2)]
    assert_drawn(*(f"{'abcd'[row]} s{slot}" for row, slot in pairs))
