"""BatchSearch finds what a scan finds at any level, finishes cheap events first, and counts what it says."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.arrays import I64
from tamis.lab.wang.rtree.batch_search import BatchResult, batch_search, estimate
from tamis.lab.wang.rtree.kernels.point_query import search
from tamis.lab.wang.rtree.kernels.tree import RtreeNodes, empty_tree, height_of, root_of
from tamis.lab.wang.rtree.kernels.updates import delete_box, insert_box
from tests.lab.wang.rtree.boxes import packed, random_boxes, random_points, scan
from tests.lab.wang.rtree.invariants import tree_arrays

DIMENSIONS, HEIGHT = 4, 6


@pytest.fixture(scope="module")
def boxes() -> tuple[I64, I64]:
    return random_boxes(np.random.default_rng(11), 1_500, DIMENSIONS)


@pytest.fixture(scope="module")
def tree(boxes: tuple[I64, I64]) -> RtreeNodes:
    """Packed, and then a third of it deleted and inserted again."""
    lows, highs = boxes
    made = packed(lows, highs, 5, 8)
    for payload in range(0, 1_500, 3):
        delete_box(made, payload)
    for payload in range(0, 1_500, 3):
        insert_box(made, lows[payload], highs[payload], payload)
    assert height_of(made) == HEIGHT
    return made


@pytest.fixture(scope="module")
def events() -> I64:
    return random_points(np.random.default_rng(12), 40, DIMENSIONS)


def found(answers: BatchResult, event: int) -> list[int]:
    return sorted(answers.payloads[answers.rows == event].tolist())


@pytest.mark.parametrize("level", range(-1, HEIGHT + 3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pruned", [False, True])
def test_equals_the_scan(
    tree: RtreeNodes, boxes: tuple[I64, I64], events: I64, level: int, weighted: bool, pruned: bool
) -> None:
    answers = batch_search(tree, events, level, weighted=weighted, pruned=pruned)
    for event, point in enumerate(events):
        assert found(answers, event) == scan(*boxes, range(1_500), point)
    order = answers.table.order.tolist()
    assert sorted(order) == [*range(len(events))]
    # Pairs come in the order in which events are done.
    assert answers.rows.tolist() == [row for row in order for _ in found(answers, row)]


def test_workloads_are_the_nodes_reached_on_the_level(tree: RtreeNodes, events: I64) -> None:
    view = tree_arrays(tree)
    for level in range(1, HEIGHT + 1):
        table = estimate(tree, events, level)
        weighted = estimate(tree, events, level, weighted=True)
        for event, point in enumerate(events):
            reached = [view.root]
            for _ in range(1, level):
                reached = [
                    int(view.links[node, place])
                    for node in reached
                    for place in range(view.sizes[node])
                    if np.all((view.boxes[node, place, :, 0] <= point) & (point <= view.boxes[node, place, :, 1]))
                ]
            for each in (table, weighted):
                assert each.nodes[each.firsts[event] : each.firsts[event + 1]].tolist() == reached
            assert table.workloads[event] == len(reached)
            assert weighted.workloads[event] == view.weights[reached].sum()


def test_cheap_events_first_and_equals_as_they_came(tree: RtreeNodes, events: I64) -> None:
    for level in range(1, HEIGHT + 1):
        table = estimate(tree, events, level)
        assert table.order.tolist() == sorted(range(len(events)), key=lambda event: table.workloads[event])


def test_level_1_is_the_order_of_arrival(tree: RtreeNodes, events: I64) -> None:
    answers = batch_search(tree, events, 1)
    alone = [search(tree, np.array([root_of(tree)], np.int32), point) for point in events]
    assert answers.table.order.tolist() == [*range(len(events))]
    assert answers.responses.tolist() == np.cumsum([tests for _, tests, _ in alone]).tolist()
    assert answers.visits.tolist() == [visits for _, _, visits in alone]
    assert answers.payloads.tolist() == [payload for payloads, _, _ in alone for payload in payloads.tolist()]


@pytest.mark.parametrize("level", range(1, HEIGHT + 1))
def test_average_response(tree: RtreeNodes, events: I64, level: int) -> None:
    """All of the estimate, and what is searched for an event delays it and those after it."""
    answers = batch_search(tree, events, level)
    count = len(events)
    by_hand = (
        answers.table.tests.sum()
        + sum((count - place) * int(answers.tests[event]) for place, event in enumerate(answers.table.order))
        / count
    )
    assert answers.responses.mean() == pytest.approx(by_hand)
    # Nothing is tested twice, at no level.
    arrival = batch_search(tree, events, 1)
    assert (answers.table.tests + answers.tests).tolist() == arrival.tests.tolist()
    assert answers.responses.max() == arrival.responses.max()


def test_levels_beyond_the_leaves_are_theirs(tree: RtreeNodes, events: I64) -> None:
    at_leaves, beyond = batch_search(tree, events, HEIGHT), batch_search(tree, events, 99)
    assert at_leaves.responses.tolist() == beyond.responses.tolist()
    view = tree_arrays(tree)
    assert set(view.heights[at_leaves.table.nodes].tolist()) == {1}


def test_pruning_saves_visits_and_changes_nothing_else(tree: RtreeNodes, events: I64) -> None:
    few = events[:3]
    view = tree_arrays(tree)
    for level in range(1, HEIGHT + 1):
        pruned, whole = estimate(tree, few, level), estimate(tree, few, level, pruned=False)
        assert pruned.tests.tolist() == whole.tests.tolist()
        assert pruned.nodes.tolist() == whole.nodes.tolist()
        assert pruned.visits <= whole.visits == np.count_nonzero(view.heights > HEIGHT + 1 - level)
    assert pruned.visits < whole.visits


@pytest.mark.slow
def test_no_events_and_no_boxes(tree: RtreeNodes) -> None:
    answers = batch_search(tree, np.empty((0, DIMENSIONS), np.int64), 3)
    assert len(answers.rows) == len(answers.responses) == len(answers.table.order) == 0
    empty = empty_tree(DIMENSIONS, 10, 20)
    answers = batch_search(empty, np.zeros((2, DIMENSIONS), np.int64), 3, weighted=True)
    assert answers.responses.tolist() == answers.table.workloads.tolist() == [0, 0]


def test_by_hand() -> None:
    """Nine boxes on a line, in three leaves below the root."""
    lows = np.array([[0], [1], [2], [3], [20], [21], [40], [41], [42]])
    highs = np.array([[10], [11], [12], [12], [30], [31], [50], [51], [52]])
    tree = packed(lows, highs, 4, 4)
    view = tree_arrays(tree)
    leaves = {
        tuple(sorted(view.links[child, : view.sizes[child]].tolist())) for child in view.links[view.root, :3]
    }
    assert leaves == {(0, 1, 2), (3, 4, 5), (6, 7, 8)}
    # In three leaves' boxes 0..12, 3..31 and 40..52: 5 is in two, 25 in one, 35 in none.
    events = np.array([[5], [25], [35], [41]])
    answers = batch_search(tree, events, 2)
    assert answers.table.workloads.tolist() == [2, 1, 0, 1]
    assert answers.table.order.tolist() == [2, 1, 3, 0]
    assert answers.table.tests.tolist() == [3, 3, 3, 3]
    assert answers.table.visits == 1
    assert answers.tests.tolist() == [6, 3, 0, 3]
    assert answers.responses.tolist() == [24, 15, 12, 18]
    assert answers.visits.tolist() == [2, 1, 0, 1]
    assert [found(answers, event) for event in range(4)] == [[0, 1, 2, 3], [4, 5], [], [6, 7]]
    weighted = batch_search(tree, events, 2, weighted=True)
    assert weighted.table.workloads.tolist() == [6, 3, 0, 3]
    assert batch_search(tree, events, 1).responses.tolist() == [9, 15, 18, 24]
