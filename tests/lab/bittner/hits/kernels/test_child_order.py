"""The order in which children are evaluated."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np

from tamis.engines.forest import Nodes
from tamis.engines.selectivity import leaf_selectivities, node_selectivities
from tamis.lab.bittner.hits.kernels.child_order import ordered_children
from tests.engines.naive import random_forest


def test_ands_begin_with_the_rare_and_ors_with_the_likely() -> None:
    nodes = Nodes(
        np.array([3, 1, 2], np.int32), np.array([0, 3, 6, 9], np.int64), np.array([~0, ~1, ~2] * 3, np.int32)
    )
    selectivities = np.array([0.5, 0.1, 0.9])
    found = ordered_children(nodes, selectivities, node_selectivities(nodes, selectivities))
    assert found.tolist() == [~1, ~0, ~2, ~2, ~0, ~1, ~2, ~0, ~1]
    assert nodes.children.tolist() == [~0, ~1, ~2] * 3, "these are left as they are"


def test_children_of_equal_selectivity_keep_their_order() -> None:
    nodes = Nodes(
        np.array([4, 1], np.int32), np.array([0, 4, 8], np.int64), np.array([~3, ~1, ~0, ~2] * 2, np.int32)
    )
    selectivities = np.full(4, 0.3)
    assert (
        ordered_children(nodes, selectivities, node_selectivities(nodes, selectivities)).tolist()
        == nodes.children.tolist()
    )


def test_random_forests_keep_their_children() -> None:
    forest = random_forest(random.Random(83), 200, depth=3)
    leaves = leaf_selectivities(forest, None)
    inner = node_selectivities(forest.nodes, leaves)
    children = ordered_children(forest.nodes, leaves, inner)
    firsts = forest.nodes.firsts.tolist()
    costs: list[float] = []
    for node, (first, last) in enumerate(pairwise(firsts)):
        assert sorted(children[first:last].tolist()) == sorted(forest.nodes.children[first:last].tolist())
        mine = children[first:last].tolist()
        prices = [costs[child] if child >= 0 else 1.0 for child in mine]
        costs.append(sum(prices))
        found = [inner[child] if child >= 0 else leaves[~child] for child in mine]
        decides = [
            1.0 - selectivity if int(forest.nodes.least[node]) == last - first else selectivity
            for selectivity in found
        ]
        ranks = [price / max(selectivity, 1e-12) for price, selectivity in zip(prices, decides, strict=True)]
        assert ranks == sorted(ranks)
