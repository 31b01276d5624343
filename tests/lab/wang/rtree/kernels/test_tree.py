"""The statistics of a tree count its nodes and bytes."""

from __future__ import annotations

import numpy as np

from tamis.lab.wang.rtree.kernels.tree import (
    add_entry,
    empty_tree,
    enclose,
    remove_entry,
    reserve_payload,
    root_of,
    tree_stats,
)
from tests.lab.wang.rtree.boxes import packed, random_boxes
from tests.lab.wang.rtree.invariants import tree_arrays


def test_stats_count_everything() -> None:
    lows, highs = random_boxes(np.random.default_rng(6), 1_000, 3)
    stats = tree_stats(packed(lows, highs))
    assert stats.counts == {"boxes": 1_000, "height": 3, "leaves": 50, "inner nodes": 6}
    # Room for 21 entries in each of 56 nodes; a box has three sides of 16 bytes, a link has 4, a node 16.
    assert {name: stats.bytes[name] for name in ("boxes", "links", "nodes")} == {
        "boxes": 56 * 21 * 48,
        "links": 56 * 21 * 4,
        "nodes": 56 * 16,
    }
    assert stats.bytes["homes"] >= 4_000


def test_a_removed_entry_is_replaced_by_the_last_one() -> None:
    tree = empty_tree(1, 4, 4)
    reserve_payload(tree, 2)
    for payload in range(3):
        add_entry(tree, root_of(tree), np.array([payload, payload]), payload)
    remove_entry(tree, root_of(tree), 0)
    view = tree_arrays(tree)
    assert view.links[0, : view.sizes[0]].tolist() == [2, 1]
    box = np.empty(2, np.int64)
    enclose(tree, root_of(tree), box)
    assert box.tolist() == [1, 2]
