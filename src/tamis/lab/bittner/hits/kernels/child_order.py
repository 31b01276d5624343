"""The order in which the children of a node are evaluated, so that the node is decided soonest."""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64, I32
from tamis.engines.forest import Nodes
from tamis.kernels import kernel


@kernel
def ordered_children(nodes: Nodes, leaf_selectivities: F64, node_selectivities: F64) -> I32:
    """The children of every node, those first that decide it at the least cost; ties keep their order.

    A child decides an AND if it fails, anything else if it holds. Its cost is the number of leaves below it.
    """
    children = nodes.children.copy()
    leaves = np.zeros(len(nodes.least), np.float64)
    for node in range(len(nodes.least)):
        first, last = nodes.firsts[node], nodes.firsts[node + 1]
        is_and = nodes.least[node] == last - first
        ranks = np.empty(last - first, np.float64)
        for place in range(first, last):
            child = children[place]
            selectivity = node_selectivities[child] if child >= 0 else leaf_selectivities[~child]
            cost = leaves[child] if child >= 0 else 1.0
            leaves[node] += cost
            rank = cost / max(1.0 - selectivity if is_and else selectivity, 1e-12)
            at = place
            while at > first and ranks[at - 1 - first] > rank:
                children[at], ranks[at - first] = children[at - 1], ranks[at - 1 - first]
                at -= 1
            children[at], ranks[at - first] = child, rank
    return children
