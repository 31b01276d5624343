"""Trees of conditions, for the tests of BE-Trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.events import EventType
from tamis.formulas.formula import Formula
from tamis.lab.baselines.betree import BETree, BETreeStore
from tamis.lab.dynamic.term_index import TermIndex
from tamis.language.condition import compile_condition
from tests.lab.baselines.betree.invariants import Node, check_tree

NUMBERS = EventType.from_dict({"name": "t", "attributes": dict.fromkeys("abcdef", "bigint") | {"s": "string"}})


def formulas_of(texts: Sequence[str]) -> list[Formula]:
    return [compile_condition(text, NUMBERS).formula for text in texts]


def built(texts: Sequence[str], max_cap: int, *, loss: bool = True) -> TermIndex:
    return BETree(max_cap, loss=loss).build(formulas_of(texts))


def nodes_of(index: TermIndex) -> list[Node]:
    store = index._store
    assert isinstance(store, BETreeStore)
    return check_tree(store)


def delete(index: TermIndex, *slots: int) -> None:
    index.delete_many(np.array(slots, np.int32))
