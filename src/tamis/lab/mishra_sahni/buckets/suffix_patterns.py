"""Patterns `'%x'` and `'%x%'` in suffix structures, one for each attribute; others as `PatternGroups` has them.

The paper gives every attribute structure a D of its own. The patterns that hold do not depend on the structure,
so here a value walks once an event, and each structure of the axis of tests finds its buckets by the numbers of
these patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import I32, U8
from tamis.formulas.expression import Typed
from tamis.formulas.predicates.base import Frame, Predicate
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.functions.like import Wildcard, parse_like
from tamis.lab.dynamic.pattern_groups import PatternGroups
from tamis.lab.mishra_sahni.buckets.kernels.suffix_tree import (
    SuffixTree,
    add_pattern,
    empty_suffix_tree,
    patterns_in,
    remove_pattern,
    suffix_tree_size,
)


class SoughtText(NamedTuple):
    """What a pattern asks for: bytes that a string ends with (1), or contains (0)."""

    text: U8
    is_ending: int


def sought_text(test: Predicate) -> SoughtText | None:
    """What a pattern asks for, if it is one literal after a `%`, with or without another `%` behind."""
    if not isinstance(test, MatchesPattern) or test.test != "like" or test.negated:
        return None
    match parse_like(test.pattern):
        case (Wildcard.MANY, str(text)):
            return SoughtText(np.frombuffer(text.encode(), np.uint8), 1)
        case (Wildcard.MANY, str(text), Wildcard.MANY):
            return SoughtText(np.frombuffer(text.encode(), np.uint8), 0)
    return None


class SuffixPatterns(PatternGroups):
    """Tests by number, as in `PatternGroups`.

    Attributes:
        steps: How many bytes were walked so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self._trees: dict[Typed, SuffixTree] = {}
        self.steps = 0

    def _enter(self, number: int, test: Predicate) -> None:
        sought = sought_text(test)
        if sought is None:
            super()._enter(number, test)
            return
        if test.attribute not in self._trees:
            self._trees[test.attribute] = empty_suffix_tree()
        add_pattern(self._trees[test.attribute], sought.text, sought.is_ending, number)

    def _leave(self, test: Predicate) -> None:
        sought = sought_text(test)
        if sought is not None:
            tree = self._trees[test.attribute]
            remove_pattern(tree, sought.text, sought.is_ending)
            if suffix_tree_size(tree)[0] == 1:
                del self._trees[test.attribute]

    def _rebuild(self) -> None:
        self._trees = {}
        super()._rebuild()

    def _hits(self, frame: Frame) -> Iterator[tuple[I32, I32]]:
        yield from super()._hits(frame)
        for attribute, tree in self._trees.items():
            column = frame.column(attribute)
            strings = pa.array(column.values, pa.large_string()).fill_null("")
            count = len(strings) + 1
            offsets = np.frombuffer(strings.buffers()[1], np.int64)[strings.offset : strings.offset + count]
            data = strings.buffers()[2]
            text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
            rows, found, steps = patterns_in(tree, offsets, text, len(self))
            self.steps += steps
            yield rows, found

    def size(self) -> tuple[int, int]:
        """Nodes and bytes of all trees."""
        sizes = [suffix_tree_size(tree) for tree in self._trees.values()]
        return sum(nodes for nodes, _ in sizes), sum(each for _, each in sizes)
