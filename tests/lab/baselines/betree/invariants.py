"""The invariants of a BE-Tree, checked from scratch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numba

from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.lab.baselines.betree import BETreeStore
from tamis.lab.baselines.betree.kernels.tree import (
    ALWAYS,
    BUCKET,
    COUNT,
    DIRECTORY,
    ENTRY,
    KEY,
    LEFT,
    LOW_BITS,
    MIDDLE,
    NODE,
    PARTITIONS,
    RIGHT,
    ROOT,
)
from tamis.lab.boxes.kernels.boxes import all_terms
from tests.lab.boxes.sides import sides_of

Interval = tuple[int, int]
Sides = dict[int, Interval]


class Fields(NamedTuple):
    """Of a tree, as compiled code has them."""

    max_cap: int
    nodes: Any
    parents: Any
    caps: Any
    weights: Any
    cells: Any
    homes: Any
    places: Any
    made: int
    free: int
    left_over: int


@numba.njit
def fields_of(tree: Any) -> Any:
    left_over = tree.counts.sum() + tree.marks.sum() + (tree.scores != 0).sum()
    return (
        tree.max_cap,
        tree.nodes.copy().reshape(-1, NODE),
        tree.parents,
        tree.caps,
        tree.weights,
        tree.cells,
        tree.homes,
        tree.places,
        tree.made,
        tree.free,
        left_over,
    )


class Node(NamedTuple):
    """One, with the keys of its path and the interval in which the sides on the last of them lie."""

    number: int
    path: tuple[int, ...]
    within: Interval


def check_tree(file: BETreeStore) -> list[Node]:
    """Look at every node and term; gives the nodes."""
    fields = Fields(*fields_of(file._tree))
    boxes = file._boxes
    sides = {
        int(term): {
            axis + 1 if axis >= 0 else ~low: (low, high) for axis, low, high in sides_of(boxes, term).tolist()
        }
        for term in all_terms(boxes)
    }
    reached = [*_below(fields, Node(ROOT, (), (LOWEST, HIGHEST))), Node(ALWAYS, (), (LOWEST, HIGHEST))]
    filed: list[int] = []
    for node in reached:
        filed += _check_node(fields, node, sides)
    assert sorted(filed) == sorted(sides)
    free = 0
    number = fields.free
    while number >= 0:
        free, number = free + 1, int(fields.parents[number])
    assert len(reached) + free == fields.made
    assert fields.left_over == 0
    return reached


def _parts(fields: Fields, number: int) -> list[tuple[int, int]]:
    """Keys and nodes."""
    first, count = fields.nodes[number][[DIRECTORY, PARTITIONS]].tolist()
    return [(int(cell) >> 32, int(cell) & LOW_BITS) for cell in fields.cells[first : first + count]]


def _halves(fields: Fields, node: Node) -> list[Node]:
    low, high = node.within
    left, right, middle = fields.nodes[node.number][[LEFT, RIGHT, MIDDLE]].tolist()
    found = [Node(left, node.path, (low, middle)), Node(right, node.path, (middle + 1, high))]
    return [half for half in found if half.number >= 0]


def _below(fields: Fields, node: Node) -> Iterator[Node]:
    yield node
    parts = [Node(part, (*node.path, key), (LOWEST, HIGHEST)) for key, part in _parts(fields, node.number)]
    assert [part.path[-1] for part in parts] == sorted({part.path[-1] for part in parts})
    assert not {part.path[-1] for part in parts} & set(node.path)
    for each in parts + _halves(fields, node):
        assert fields.parents[each.number] == node.number
        assert fields.nodes[each.number][KEY] == each.path[-1]
        yield from _below(fields, each)


def _check_node(fields: Fields, node: Node, sides: dict[int, Sides]) -> list[int]:
    """The terms in a node's bucket."""
    first, count = fields.nodes[node.number][[BUCKET, COUNT]].tolist()
    parts, halves = _parts(fields, node.number), _halves(fields, node)
    below = [part for _, part in parts] + [half.number for half in halves]
    weight = int(fields.weights[node.number])
    assert weight == count + sum(int(fields.weights[each]) for each in below)
    assert weight or node.number in (ROOT, ALWAYS)
    assert 2 * weight > fields.max_cap or not below
    assert count <= fields.caps[node.number] >= fields.max_cap or node.number == ALWAYS
    terms = []
    for place in range(count):
        head, low, high = fields.cells[first + ENTRY * place : first + ENTRY * (place + 1)].tolist()
        term = head & LOW_BITS
        mine = sides[term]
        assert (fields.homes[term], fields.places[term]) == (node.number, place)
        assert set(node.path) <= set(mine)
        assert not {key for key, _ in parts} & set(mine), "it should be in a part"
        if node.path:
            lowest, highest = mine[node.path[-1]]
            assert node.within[0] <= lowest
            assert highest <= node.within[1]
            assert not any(half.within[0] <= lowest and highest <= half.within[1] for half in halves)
        left = [key for key in mine if key not in node.path]
        wanted = (left[0], *mine[left[0]]) if left else (0, LOWEST, HIGHEST)
        assert (head >> 32, low, high) == wanted
        assert (node.number == ALWAYS) == (not mine)
        terms.append(term)
    return terms
