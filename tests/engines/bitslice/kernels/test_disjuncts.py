"""Disjuncts of a slot become formulas, each guarded by those before it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.bitslice.disjuncts import split_disjunctions
from tamis.engines.bitslice.kernels.disjuncts import SplitArrays, fill_split
from tamis.engines.bitslice.layout import NO_NODE
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.forest import forest_of
from tamis.events import EventType
from tamis.language.condition import compile_condition

TYPE = EventType.from_dict({"name": "e", "attributes": {name: "int" for name in "abc"}})


def test_guards_are_the_disjuncts_before() -> None:
    texts = ["a = 1", "(a = 1 AND b = 2) OR (b = 3 AND c = 1) OR c = 5"]
    forest, owners, guards = split_disjunctions(
        forest_of([compile_condition(text, TYPE).formula for text in texts])
    )
    assert owners.tolist() == [0, 1, 1, 1]
    assert guards[:2].tolist() == [NO_NODE, NO_NODE]
    assert guards[2] == forest.roots[1], "the second disjunct has the first one itself"
    first, last = forest.nodes.firsts[guards[3] : guards[3] + 2].tolist()
    assert forest.nodes.least[guards[3]] == 1
    assert forest.nodes.children[first:last].tolist() == forest.roots[1:3].tolist()
    assert guards[3] > max(forest.roots[1:3].tolist()), "children have lower numbers"


def split_naively(
    slots: list[list[list[int]]], whole: list[bool], roots: list[int], offset: int
) -> tuple[list[tuple[int, int, int]], list[tuple[int, list[int]]]]:
    """Root, slot and earlier disjuncts of each formula; least and children of each new node."""
    formulas: list[tuple[int, int, int]] = []
    nodes: list[tuple[int, list[int]]] = []

    def add(least: int, children: list[int]) -> int:
        nodes.append((least, children))
        return offset + len(nodes) - 1

    for slot, conjunctions in enumerate(slots):
        if whole[slot]:
            formulas.append((roots[slot], slot, NO_NODE))
            continue
        own = [
            ~leaves[0] if len(leaves) == 1 else add(len(leaves), [~leaf for leaf in leaves])
            for leaves in conjunctions
        ]
        for place, root in enumerate(own):
            before = own[:place]
            earlier = NO_NODE if not before else before[0] if len(before) == 1 else add(1, before)
            formulas.append((root, slot, earlier))
    return formulas, nodes


@pytest.mark.parametrize("seed", range(20))
def test_formulas_and_guards_are_those_of_a_plain_loop(seed: int) -> None:
    random_ = random.Random(seed)
    slots = [
        [[random_.randrange(50) for _ in range(random_.randint(1, 4))] for _ in range(random_.randint(1, 6))]
        for _ in range(random_.randint(1, 30))
    ]
    whole = [random_.random() < 0.3 for _ in slots]
    roots, offset = [random_.randrange(-50, 100) for _ in slots], 100
    formulas, nodes = split_naively(slots, whole, roots, offset)
    flat = [leaves for conjunctions in slots for leaves in conjunctions]
    counts = np.array([len(each) for each in slots], np.int32)
    given = Conjunctions(
        np.cumsum([0, *map(len, flat)]),
        np.array([leaf for leaves in flat for leaf in leaves], np.int32),
        np.repeat(np.arange(len(slots), dtype=np.int32), counts),
        np.zeros(len(flat), np.uint8),
    )
    edges = sum(len(children) for _, children in nodes)
    room, more = len(formulas), len(nodes)
    out = SplitArrays(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(more, np.int32),
        np.empty(more, np.int64),
        np.empty(edges, np.int32),
    )
    sizes = fill_split(given, counts, np.array(whole, np.uint8), np.array(roots, np.int32), offset, out)
    assert sizes == (room, more, edges)
    found = zip(out.roots.tolist(), out.owners.tolist(), out.earlier_disjuncts.tolist(), strict=True)
    assert [*found] == formulas
    parts = np.split(out.children, out.ends[:-1]) if more else []
    assert [(int(least), part.tolist()) for least, part in zip(out.least, parts, strict=True)] == nodes
    assert all(child < offset + number for number, (_, children) in enumerate(nodes) for child in children)
