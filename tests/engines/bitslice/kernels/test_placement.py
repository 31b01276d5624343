"""A cover holds whenever its formula does, and costs what the best choice costs."""

from __future__ import annotations

import numpy as np

from tamis.engines.bitslice.kernels.placement import (
    ALWAYS,
    ATTRIBUTE_PAIR,
    CELLS,
    MOST_PLACEMENTS,
    POINT,
    PlacementCosts,
    node_costs,
)
from tamis.engines.forest import Nodes
from tests.engines.bitslice.build_steps import build_steps

STEPS = build_steps(9, 120, 30, depth=3)


def test_one_leaf_of_the_cover_holds_whenever_the_formula_does() -> None:
    placements, covers, firsts, _ = STEPS.placed
    kinds = dict(zip(placements.slots.tolist(), placements.kinds.tolist(), strict=True))
    covered = 0
    for event in range(len(STEPS.events)):
        truth = STEPS.truths[event]
        for slot, root in enumerate(STEPS.forest.roots.tolist()):
            if not STEPS.holds(root, event):
                continue
            if kinds[slot] in (ALWAYS, ATTRIBUTE_PAIR):
                continue
            covered += 1
            assert any(truth[leaf] for leaf in covers[firsts[slot] : firsts[slot + 1]].tolist())
    assert covered > 20


def test_placements_say_where_in_the_cover_they_stand() -> None:
    placements, covers, firsts, _ = STEPS.placed
    for number, slot in enumerate(placements.slots.tolist()):
        if placements.kinds[number] in (CELLS, POINT):
            assert covers[firsts[slot] + placements.earlier[number]] == placements.leaves[number]
    counts = np.bincount(placements.slots, minlength=len(STEPS.forest))
    assert counts.max() <= MOST_PLACEMENTS


def test_an_and_costs_its_cheapest_child_an_or_all_and_others_as_many_as_must_hold() -> None:
    children = np.array([~0, ~1, ~2] * 3 + [~0], np.int32)
    nodes = Nodes(np.array([3, 1, 2, 0, 1], np.int32), np.array([0, 3, 6, 9, 10, 10]), children)
    leaf = np.array([0.25, 0.0625, 0.5])
    costs = PlacementCosts(leaf, np.array([1, 2, 3], np.int32), np.zeros(5), np.zeros(5, np.int32))
    node_costs(nodes, costs)
    # AND, OR, two of three, TRUE, FALSE.
    assert costs.node.tolist() == [0.0625, 0.8125, 0.3125, 2.0, 0.0]
    assert costs.node_placements.tolist() == [2, 6, 3, 1, 0]
