"""A tree that breaks an invariant is found out, and the message says which."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tamis.lab.wang.rtree.kernels.updates import delete_box
from tests.lab.wang.rtree.boxes import packed, random_boxes
from tests.lab.wang.rtree.invariants import RtreeArrays, RtreeError, check_tree, tree_arrays


def loose_box(view: RtreeArrays) -> None:
    view.boxes[view.root, 0, 0, 1] += 1


def tight_box(view: RtreeArrays) -> None:
    view.boxes[view.root, 0, 0, 0] += 1


def too_few(view: RtreeArrays) -> None:
    view.sizes[view.root] = 1


def height(view: RtreeArrays) -> None:
    view.heights[view.links[view.root, 0]] += 1


def parent(view: RtreeArrays) -> None:
    view.parents[view.links[view.root, 0]] = view.links[view.root, 1]


def weight(view: RtreeArrays) -> None:
    view.weights[view.root] += 1


def home(view: RtreeArrays) -> None:
    view.homes[3] = view.root


def twice(view: RtreeArrays) -> None:
    leaf = int(np.flatnonzero(view.heights == 1)[0])
    view.links[leaf, 0] = view.links[leaf, 1]


def root(view: RtreeArrays) -> None:
    view.parents[view.root] = 1


def free(view: RtreeArrays) -> None:
    view.links[view.free, 0] = view.root


MISTAKES: list[tuple[Callable[[RtreeArrays], None], str]] = [
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
def test_broken_invariants_are_found(mistake: Callable[[RtreeArrays], None], message: str) -> None:
    lows, highs = random_boxes(np.random.default_rng(5), 120, 2)
    lows, highs = np.maximum(lows, -5), np.minimum(highs, 60)
    tree = packed(lows, highs, 4, 5)
    for payload in range(20, 60):
        delete_box(tree, payload)
    check_tree(tree)
    mistake(tree_arrays(tree))
    with pytest.raises(RtreeError, match=message):
        check_tree(tree)
