"""A tree that is not as it must be is found out, and the message says what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tamis.engines.rtree.changing import delete
from tamis.engines.rtree.checking import TreeError, View, check_tree, view_of
from tamis.engines.rtree.tree import tree_stats
from tests.engines.rtree.boxes import packed, random_boxes


def loose_box(view: View) -> None:
    view.boxes[view.root, 0, 0, 1] += 1


def tight_box(view: View) -> None:
    view.boxes[view.root, 0, 0, 0] += 1


def too_few(view: View) -> None:
    view.sizes[view.root] = 1


def height(view: View) -> None:
    view.heights[view.links[view.root, 0]] += 1


def parent(view: View) -> None:
    view.parents[view.links[view.root, 0]] = view.links[view.root, 1]


def weight(view: View) -> None:
    view.weights[view.root] += 1


def home(view: View) -> None:
    view.homes[3] = view.root


def twice(view: View) -> None:
    leaf = int(np.flatnonzero(view.heights == 1)[0])
    view.links[leaf, 0] = view.links[leaf, 1]


def root(view: View) -> None:
    view.parents[view.root] = 1


def free(view: View) -> None:
    view.links[view.free, 0] = view.root


MISTAKES: list[tuple[Callable[[View], None], str]] = [
    (loose_box, "the least one is"),
    (tight_box, "the least one is"),
    (too_few, "1 entries, from 2 to"),
    (height, "below one of height"),
    (parent, "has parent"),
    (weight, "has weight"),
    (home, "said to have payload 3"),
    (twice, "has payload"),
    (root, "the root has a parent"),
    (free, "list of free numbers"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[each.__name__ for each, _ in MISTAKES])
def test_mistakes_are_found(mistake: Callable[[View], None], message: str) -> None:
    lows, highs = random_boxes(np.random.default_rng(5), 120, 2)
    lows, highs = np.maximum(lows, -5), np.minimum(highs, 60)
    tree = packed(lows, highs, 4, 5)
    for payload in range(20, 60):
        delete(tree, payload)
    check_tree(tree)
    mistake(view_of(tree))
    with pytest.raises(TreeError, match=message):
        check_tree(tree)


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
