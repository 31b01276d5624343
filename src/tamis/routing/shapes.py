"""What formulas have in common that differ in predicates only: the ways to generalise them, worked out once.

Subscriptions are written by few hands or by programs, so that a routing table of millions has few shapes. A shape
knows every valid pruning of its formulas and the nodes of what each gives, by number: leaves first, then inner
nodes, each after its operands. Numbers of a formula, such as a selectivity, are then a walk over that list.

Two leaves on one attribute become one where a pruning brings them together, and what that is depends on their
ranges; such a pruning is in the shape without its nodes, and must be made to know more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tamis.language.expression import Path, Typed
from tamis.language.formula import Formula, at_least, leaf
from tamis.predicates.base import Predicate
from tamis.predicates.matches import Matches
from tamis.predicates.within import Within
from tamis.routing.trees import Outline, Pruning, ancestors, is_opaque, leaf_counts, options, outline, pruned
from tamis.values.ranges import Ranges
from tamis.values.types import INT, STRING

MOST_REMEMBERED = 1 << 22
"""Leaves of all ways of all shapes that are remembered, about, since a way counts each leaf of its shape."""


class Leaf(NamedTuple):
    """A leaf: which one of the formula, on which of its attributes (-1 if it is no `Within`), and is it opaque?"""

    number: int
    axis: int
    opaque: bool


class Node(NamedTuple):
    """An inner node: at least so many of other nodes."""

    least: int
    operands: tuple[int, ...]


Part: TypeAlias = Leaf | Node
Key: TypeAlias = tuple[Part, ...]


class Skeleton(NamedTuple):
    """A formula taken apart: all its nodes, its distinct predicates, and what tells its shape from others."""

    nodes: list[Formula]
    predicates: list[Predicate]
    key: Key


def skeleton(formula: Formula) -> Skeleton:
    """Take a formula apart."""
    nodes = list(formula.nodes())
    places: dict[int, int] = {}
    leaves: dict[Formula, int] = {}
    attributes: dict[Typed, int] = {}
    key: list[Part] = []
    predicates: list[Predicate] = []
    for place, node in enumerate(nodes):
        places[id(node)] = place
        predicate = node.predicate
        if predicate is None:
            key.append(Node(node.least, tuple([places[id(operand)] for operand in node.operands])))
            continue
        axis = -1
        if isinstance(predicate, Within):
            axis = attributes.setdefault(predicate.attribute, len(attributes))
        number = leaves.setdefault(node, len(leaves))
        if number == len(predicates):
            predicates.append(predicate)
        key.append(Leaf(number, axis, is_opaque(predicate)))
    return Skeleton(nodes, predicates, tuple(key))


class Sized(NamedTuple):
    """A formula of a shape.

    Attributes:
        node: Its number.
        outline: Its sizes.
        counts: How often each leaf of the shape stands in its tree.
    """

    node: int
    outline: Outline
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """A valid pruning of all formulas of a shape.

    Attributes:
        change: The pruning.
        above: Places of the nodes that depend on the one that is pruned.
        is_opaque: Is nothing taken away but what calls operators or is computed?
        result: What it gives; None if that depends on the ranges.
    """

    change: Pruning
    above: list[int]
    is_opaque: bool
    result: Sized | None

    def made(self, nodes: list[Formula]) -> Formula:
        """What it gives for the formula of these nodes; TRUE if it is no valid pruning of this one."""
        return pruned(nodes, self.above, self.change)


@dataclass(frozen=True, slots=True)
class Shape:
    """What formulas of one key have in common.

    Attributes:
        nodes: Inner nodes of the formula and of all results, operands first; they are numbered behind the leaves.
        own: Those of the formula, which come first.
        whole: The formula itself.
        ways: To generalise it.
    """

    nodes: list[Node]
    own: list[Node]
    whole: Sized
    ways: list[Way]


class Shapes:
    """The shapes of formulas that were seen."""

    def __init__(self, *, bottom_up: bool = False) -> None:
        """Remember nothing yet; `bottom_up` is that of `options`."""
        self._bottom_up = bottom_up
        self._known: dict[Key, Shape] = {}
        self._size = 0

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._known)

    def of(self, taken_apart: Skeleton) -> Shape:
        """The shape of a formula."""
        found = self._known.get(taken_apart.key)
        if found is None:
            found = _shape(taken_apart, bottom_up=self._bottom_up)
            self._size += len(taken_apart.key) * (1 + len(found.ways))
            if self._size > MOST_REMEMBERED:
                self._known.clear()
                self._size = 0
            else:
                self._known[taken_apart.key] = found
        return found


def _shape(taken_apart: Skeleton, *, bottom_up: bool) -> Shape:
    nodes = _modelled(taken_apart.key)
    numbers = _Numbers(nodes)
    opaque = {node.predicate for node, part in zip(nodes, taken_apart.key, strict=True) if _is_opaque_leaf(part)}
    whole = numbers.sized(nodes[-1])
    assert whole is not None, "its leaves are its own"
    own = list(numbers.nodes)
    ways = [
        Way(
            each.change,
            ancestors(nodes, each.change.node),
            all(predicate in opaque for predicate in each.taken.predicates()),
            numbers.sized(each.result),
        )
        for each in options(nodes[-1], bottom_up=bottom_up)
        if isinstance(each.change, Pruning)
    ]
    return Shape(numbers.nodes, own, whole, ways)


def _is_opaque_leaf(part: Part) -> bool:
    return isinstance(part, Leaf) and part.opaque


def _modelled(key: Key) -> list[Formula]:
    """The nodes of a formula of a shape, with leaves of which no two together hold always or never."""
    nodes: list[Formula] = []
    count = len(key)
    for part in key:
        if isinstance(part, Node):
            operands = tuple(nodes[operand] for operand in part.operands)
            # As it is: `at_least` would simplify what was not, and there would be other nodes than in the key.
            nodes.append(Formula(None, part.least, operands) if operands else at_least(part.least, ()))
        elif part.axis < 0:
            nodes.append(leaf(Matches(Path(("",), STRING), "like", str(part.number))))
        else:
            ranges = Ranges(False, (part.number, count + part.number))
            nodes.append(leaf(Within(Path((str(part.axis),), INT), ranges)))
    return nodes


class _Numbers:
    """Numbers of nodes, equal ones alike."""

    def __init__(self, nodes: list[Formula]) -> None:
        self.nodes: list[Node] = []
        self._leaves: dict[Predicate, int] = {}
        self._own: dict[int, int] = {}
        for node in nodes:
            if node.predicate is not None:
                self._own[id(node)] = self._leaves.setdefault(node.predicate, len(self._leaves))
        self._inner: dict[Node, int] = {}

    def sized(self, formula: Formula) -> Sized | None:
        """Number a formula; None if leaves have met in it and become others."""
        places: dict[int, int] = {}
        for node in formula.nodes():
            if node.predicate is None:
                inner = Node(node.least, tuple(places[id(operand)] for operand in node.operands))
                if inner not in self._inner:
                    self._inner[inner] = len(self._leaves) + len(self.nodes)
                    self.nodes.append(inner)
                places[id(node)] = self._inner[inner]
            elif id(node) in self._own:
                places[id(node)] = self._own[id(node)]
            else:
                return None
        counts = leaf_counts(formula)
        times = tuple(counts.get(predicate, 0) for predicate in self._leaves)
        return Sized(places[id(formula)], outline(formula), times)
