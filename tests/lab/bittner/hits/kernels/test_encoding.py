"""Trees as bytes say what they were made of, and need no more hits than what makes them true has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.arrays import I32, U8
from tamis.engines.forest import Nodes
from tamis.lab.bittner.hits.kernels.encoding import (
    AND,
    LEAF,
    MAX_BYTES,
    MAX_DEPTH,
    OR,
    PURE,
    SOME,
    WIDE,
    encode,
    gate_size,
    least_hits,
    tree_holds,
    tree_length,
    write_leaves,
)

PREDICATES = 6
_PATH = np.empty((MAX_DEPTH, 3), np.int64)


@dataclass(frozen=True, slots=True)
class Tree:
    """A predicate, or at least so many of some trees."""

    predicate: int | None
    least: int = 0
    children: tuple[Tree, ...] = ()

    def leaves(self) -> Iterator[int]:
        if self.predicate is not None:
            yield self.predicate
        for child in self.children:
            yield from child.leaves()

    def nodes(self) -> int:
        return 1 + sum(child.nodes() for child in self.children)

    def holds(self, held: Sequence[bool]) -> bool:
        if self.predicate is not None:
            return held[self.predicate]
        return sum(child.holds(held) for child in self.children) >= self.least

    def least_hits(self) -> float:
        """The thesis's recursion: one of a leaf, the least child of an OR, all children of an AND together."""
        if self.predicate is not None:
            return 1
        if self.least > len(self.children):
            return math.inf
        return sum(sorted(child.least_hits() for child in self.children)[: self.least])


def leaf(predicate: int) -> Tree:
    return Tree(predicate)


def all_of(*children: Tree) -> Tree:
    return Tree(None, len(children), children)


def any_of(*children: Tree) -> Tree:
    return Tree(None, 1, children)


def bytes_of(tree: Tree, *, widths: bool = False) -> U8:
    """The encoded tree, behind some bytes of something else."""
    least, firsts, children, numbers = list[int](), [0], list[int](), list[int]()

    def number(each: Tree) -> int:
        if each.predicate is not None:
            numbers.append(each.predicate)
            return ~(len(numbers) - 1)
        below = []
        for child in each.children:  # a list in brackets would be a call more a level
            below.append(number(child))
        children.extend(below)
        firsts.append(len(children))
        least.append(each.least)
        return len(least) - 1

    root = number(tree)
    nodes = Nodes(np.array(least, np.int32), np.array(firsts, np.int64), np.array(children, np.int32))
    data = np.full(MAX_BYTES, 77, np.uint8)
    length = encode(nodes, nodes.children, np.array(numbers, np.int32), root, widths, data)
    return data[:length]


def read_leaves(data: U8, at: int, *, widths: bool) -> I32:
    found = np.empty(MAX_BYTES // 5 + 1, np.int32)
    return found[: write_leaves(data, at, widths, found)]


def evaluate(data: U8, held: Sequence[bool], *, widths: bool, circuit: bool = True) -> bool:
    bits = np.packbits(np.array(held, np.bool_), bitorder="little")
    return bool(tree_holds(data, 0, widths, bits, circuit, _PATH))


@st.composite
def trees(draw: st.DrawFn, leaves: int = 40, depth: int = 5) -> Tree:
    """Up to so many leaves of a few predicates."""
    budget = draw(st.integers(1, leaves))

    def made(size: int, level: int) -> Tree:
        if size == 1 or level == 0:
            return leaf(draw(st.integers(0, PREDICATES - 1)))
        count = draw(st.integers(1, min(size, 6)))
        below = tuple(made(max(1, size // count), level - 1) for _ in range(count))
        kind = draw(st.sampled_from(("and", "or", "some", "and", "or", "some", "true", "false")))
        least = {"and": count, "or": 1, "true": 0, "false": count + 1}.get(kind)
        return Tree(None, draw(st.integers(1, count)) if least is None else least, below)

    return made(budget, depth)


@settings(max_examples=60)
@given(trees(), st.booleans())
def test_a_tree_decodes_to_what_was_encoded(tree: Tree, widths: bool) -> None:
    data = bytes_of(tree, widths=widths)
    assert tree_length(data, 0, widths) == len(data)
    assert read_leaves(data, 0, widths=widths).tolist() == list(tree.leaves())
    apart = np.concatenate([np.full(13, LEAF, np.uint8), data, np.full(9, LEAF, np.uint8)])
    assert tree_length(apart, 13, widths) == len(data)
    assert read_leaves(apart, 13, widths=widths).tolist() == list(tree.leaves())
    plain = len(bytes_of(tree))
    assert len(bytes_of(tree, widths=True)) == plain + 4 * (tree.nodes() - 1)


@settings(max_examples=60)
@given(trees(), st.booleans())
def test_a_tree_holds_when_its_formula_does(tree: Tree, widths: bool) -> None:
    """For every assignment; trees are asked only when they had enough hits."""
    data = bytes_of(tree, widths=widths)
    leaves = read_leaves(data, 0, widths=widths)
    needed = {semantic: least_hits(data, 0, widths, leaves, semantic) for semantic in (False, True)}
    gates = leaves[: gate_size(data, 0, widths)].tolist()
    for held in product((False, True), repeat=PREDICATES):
        hits = sum(held[predicate] for predicate in leaves.tolist())
        wanted = tree.holds(held)
        if wanted:
            assert needed[False] <= needed[True] <= hits
            assert not gates or any(held[predicate] for predicate in gates)
        if hits >= needed[False]:
            assert evaluate(data, held, widths=widths) is wanted
            assert evaluate(data, held, widths=widths, circuit=False) is wanted


@pytest.mark.slow
@settings(max_examples=60)
@given(trees(), st.booleans())
def test_the_least_hits_are_the_recursive_ones(tree: Tree, widths: bool) -> None:
    data = bytes_of(tree, widths=widths)
    found = least_hits(data, 0, widths, read_leaves(data, 0, widths=widths), False)
    wanted = tree.least_hits()
    assert found == wanted if wanted < math.inf else found >= 255


def test_codes() -> None:
    one, two, three = ([LEAF, number, 0, 0, 0] for number in (1, 2, 3))
    leaves = leaf(1), leaf(2), leaf(3)
    assert bytes_of(leaf(1)).tolist() == one
    assert bytes_of(all_of(*leaves)).tolist() == [PURE, 3, *one, *two, *three]
    assert bytes_of(any_of(*leaves)).tolist() == [OR, 3, *one, *two, *three]
    assert bytes_of(Tree(None, 2, leaves)).tolist() == [SOME, 3, 2, *one, *two, *three]
    assert bytes_of(all_of(any_of(leaf(1), leaf(2)), leaf(3))).tolist() == [AND, 2, OR, 2, *one, *two, *three]
    assert bytes_of(leaf(0x01020304)).tolist() == [LEAF, 4, 3, 2, 1]


def test_widths_stand_before_children() -> None:
    tree = any_of(leaf(1), all_of(leaf(2), leaf(3)))
    five, whole = [5, 0, 0, 0], [20, 0, 0, 0]
    one, two, three = ([LEAF, number, 0, 0, 0] for number in (1, 2, 3))
    wanted = [OR, 2, *five, *one, *whole, AND, 2, *five, *two, *five, *three]
    assert bytes_of(tree, widths=True).tolist() == wanted
    assert bytes_of(leaf(1), widths=True).tolist() == one


@pytest.mark.parametrize("widths", [False, True])
def test_constants(widths: bool) -> None:
    no_leaves = np.empty(0, np.int32)
    true, false = (bytes_of(Tree(None, least), widths=widths) for least in (0, 1))
    assert evaluate(true, [False], widths=widths)
    assert not evaluate(false, [False], widths=widths)
    assert least_hits(true, 0, widths, no_leaves, True) == 0
    assert least_hits(false, 0, widths, no_leaves, True) == 255


def test_a_pure_conjunction_is_not_evaluated() -> None:
    data = bytes_of(all_of(leaf(0), leaf(1)))
    assert evaluate(data, [False, False], widths=False)
    data[2:] = 99
    assert evaluate(data, [False, False], widths=False)


@pytest.mark.parametrize("widths", [False, True])
@pytest.mark.parametrize("children", [255, 256, 700])
@pytest.mark.parametrize("kind", ["and", "or", "some"])
def test_nodes_with_many_children(children: int, kind: str, widths: bool) -> None:
    below = tuple(leaf(number) for number in range(children))
    least = {"and": children, "or": 1, "some": children - 2}[kind]
    tree = all_of(Tree(None, least, below), any_of(leaf(0), leaf(1)))
    data = bytes_of(tree, widths=widths)
    first = 6 if widths else 2
    assert (data[first] == WIDE) == (children > 255)
    assert tree_length(data, 0, widths) == len(data)
    assert read_leaves(data, 0, widths=widths).tolist() == list(tree.leaves())
    for false in ((), (0,), (1,), (0, 1), (5,), (0, 5, 7), range(1, children), range(children)):
        held = [number not in set(false) for number in range(children)]
        for circuit in (False, True):
            assert evaluate(data, held, widths=widths, circuit=circuit) is tree.holds(held)
    assert least_hits(data, 0, widths, read_leaves(data, 0, widths=widths), False) == least + 1


def test_what_is_too_long_or_too_deep_is_refused() -> None:
    most = (MAX_BYTES - 9) // 5
    assert len(bytes_of(any_of(*map(leaf, range(most - 2))))) == 9 + 5 * (most - 2)
    assert len(bytes_of(any_of(*map(leaf, range(most + 1))))) == 0
    assert len(bytes_of(any_of(*map(leaf, range(most - 2))), widths=True)) == 0
    tree = leaf(0)
    for level in range(MAX_DEPTH):
        tree = any_of(leaf(1), tree) if level % 2 else all_of(leaf(1), tree)
    assert len(bytes_of(tree)) == 7 * MAX_DEPTH + 5
    assert len(bytes_of(any_of(tree, leaf(2)))) == 0
    assert evaluate(bytes_of(tree), [True, True], widths=False)
    assert not evaluate(bytes_of(tree), [True, False], widths=False, circuit=False)


def test_hits_that_come_together() -> None:
    """All leaves of a predicate hold at once: those that cannot all be needed count for those that are."""
    new, used = 0, 1
    tree = any_of(all_of(leaf(2), any_of(leaf(new), leaf(used))), all_of(leaf(3), any_of(leaf(new), leaf(used))))
    data = bytes_of(tree)
    leaves = read_leaves(data, 0, widths=False)
    assert least_hits(data, 0, False, leaves, False) == 2
    assert least_hits(data, 0, False, leaves, True) == 3
    both = bytes_of(all_of(any_of(leaf(0), leaf(1)), any_of(leaf(0), leaf(2))))
    assert least_hits(both, 0, False, read_leaves(both, 0, widths=False), True) == 2


@pytest.mark.parametrize("widths", [False, True])
def test_gates(widths: bool) -> None:
    """The leaves of which one must hold stand first in the tree."""

    def gates(tree: Tree) -> int:
        return int(gate_size(bytes_of(tree, widths=widths), 0, widths))

    some = any_of(leaf(1), leaf(2), leaf(3))
    assert gates(all_of(leaf(0), some)) == 1
    assert gates(all_of(some, leaf(0))) == 3
    assert gates(all_of(leaf(0), leaf(1))) == 0, "a pure conjunction needs all of them anyway"
    assert gates(all_of(any_of(leaf(0), all_of(leaf(1), leaf(2))), leaf(0))) == 0
    assert gates(all_of(Tree(None, 2, some.children), leaf(0))) == 0
    assert gates(any_of(leaf(0), leaf(1))) == gates(leaf(0)) == gates(Tree(None, 0)) == 0
