"""Disjuncts of a slot become formulas, each guarded by those before it."""

from __future__ import annotations

from tamis.engines.bitslice.disjuncts import split_disjunctions
from tamis.engines.bitslice.layout import NO_NODE
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
