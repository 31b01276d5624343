"""Shapes: the prunings that formulas have in common if they differ in predicates only, computed once.

Subscriptions come from few forms or programs, so a routing table of millions has few shapes. A shape has every
valid pruning of its formulas, with the nodes of each result by number: leaves first, then inner nodes, each
after its operands. An estimate of a formula, such as its selectivity, is then one pass over that list.

Where a pruning brings two leaves on one attribute together, they become one leaf that depends on their ranges. The
shape has such a pruning without a result, which must be computed for each formula.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tamis.formulas.expression import Path, Typed
from tamis.formulas.formula import Formula, at_least, leaf
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.formulas.predicates.within import Within
from tamis.lab.bittner.prunings import Pruning, ancestors, apply_pruning, pruning_options
from tamis.routing.trees import TreeSize, is_opaque, leaf_counts, tree_size
from tamis.values.ranges import Ranges
from tamis.values.types import INT, STRING

MOST_REMEMBERED = 1 << 22
"""A bound of the cache: the sum over shapes of leaves times prunings."""


class ShapeLeaf(NamedTuple):
    """A leaf: its number in the formula, its attribute (-1 if it is no `Within`), and whether it is opaque."""

    number: int
    axis: int
    opaque: bool


class ShapeNode(NamedTuple):
    """An inner node: at least so many of other nodes."""

    least: int
    operands: tuple[int, ...]


ShapePart: TypeAlias = ShapeLeaf | ShapeNode
ShapeKey: TypeAlias = tuple[ShapePart, ...]


class FormulaSkeleton(NamedTuple):
    """The nodes of a formula, its distinct predicates, and the key of its shape."""

    nodes: list[Formula]
    predicates: list[Predicate]
    key: ShapeKey


def skeleton(formula: Formula) -> FormulaSkeleton:
    """The skeleton of a formula."""
    nodes = list(formula.nodes())
    places: dict[int, int] = {}
    leaves: dict[Formula, int] = {}
    attributes: dict[Typed, int] = {}
    key: list[ShapePart] = []
    predicates: list[Predicate] = []
    for place, node in enumerate(nodes):
        places[id(node)] = place
        predicate = node.predicate
        if predicate is None:
            key.append(ShapeNode(node.least, tuple([places[id(operand)] for operand in node.operands])))
            continue
        axis = -1
        if isinstance(predicate, Within):
            axis = attributes.setdefault(predicate.attribute, len(attributes))
        number = leaves.setdefault(node, len(leaves))
        if number == len(predicates):
            predicates.append(predicate)
        key.append(ShapeLeaf(number, axis, is_opaque(predicate)))
    return FormulaSkeleton(nodes, predicates, tuple(key))


class SizedFormula(NamedTuple):
    """A formula of a shape.

    Attributes:
        node: Its number.
        size: Of its tree.
        counts: How often each leaf of the shape occurs in its tree.
    """

    node: int
    size: TreeSize
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShapePruning:
    """A valid pruning of all formulas of a shape.

    Attributes:
        change: The pruning.
        above: Places of the nodes that depend on the one that is pruned.
        is_opaque: Does it remove opaque predicates only?
        result: None if the result depends on the ranges.
    """

    change: Pruning
    above: list[int]
    is_opaque: bool
    result: SizedFormula | None

    def apply(self, nodes: list[Formula]) -> Formula:
        """The result for the formula with these nodes; TRUE if the pruning is not valid for it."""
        return apply_pruning(nodes, self.above, self.change)


@dataclass(frozen=True, slots=True)
class FormulaShape:
    """The nodes and prunings of all formulas with one key.

    Attributes:
        nodes: Inner nodes of the formula and of all results, operands first; they are numbered behind the leaves.
        own: Those of the formula, which come first.
        whole: The formula itself.
        prunings: All valid ones.
    """

    nodes: list[ShapeNode]
    own: list[ShapeNode]
    whole: SizedFormula
    prunings: list[ShapePruning]


class ShapeCache:
    """The shapes of the formulas seen so far, up to a bound."""

    def __init__(self, *, bottom_up: bool = False) -> None:
        """Start empty; for `bottom_up` see `pruning_options`."""
        self._bottom_up = bottom_up
        self._known: dict[ShapeKey, FormulaShape] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._known)

    def of(self, taken_apart: FormulaSkeleton) -> FormulaShape:
        """The shape of a formula."""
        found = self._known.get(taken_apart.key)
        if found is None:
            found = _shape(taken_apart, bottom_up=self._bottom_up)
            self._size += len(taken_apart.key) * (1 + len(found.prunings))
            if self._size > MOST_REMEMBERED:
                self._known.clear()
                self._size = 0
            else:
                self._known[taken_apart.key] = found
        return found


def _shape(taken_apart: FormulaSkeleton, *, bottom_up: bool) -> FormulaShape:
    nodes = _model_nodes(taken_apart.key)
    numbers = _NodeNumbering(nodes)
    opaque = {node.predicate for node, part in zip(nodes, taken_apart.key, strict=True) if _is_opaque_leaf(part)}
    whole = numbers.number(nodes[-1])
    assert whole is not None, "its leaves are its own"
    own = list(numbers.nodes)
    prunings = [
        ShapePruning(
            each.change,
            ancestors(nodes, each.change.node),
            all(predicate in opaque for predicate in each.taken.predicates()),
            numbers.number(each.result),
        )
        for each in pruning_options(nodes[-1], bottom_up=bottom_up)
    ]
    return FormulaShape(numbers.nodes, own, whole, prunings)


def _is_opaque_leaf(part: ShapePart) -> bool:
    return isinstance(part, ShapeLeaf) and part.opaque


def _model_nodes(key: ShapeKey) -> list[Formula]:
    """The nodes of an example formula, whose leaves are chosen so that no two of them simplify to a constant."""
    nodes: list[Formula] = []
    count = len(key)
    for part in key:
        if isinstance(part, ShapeNode):
            operands = tuple(nodes[operand] for operand in part.operands)
            # Not by `at_least`, which might simplify: the nodes must be those of the key.
            nodes.append(Formula(None, part.least, operands) if operands else at_least(part.least, ()))
        elif part.axis < 0:
            nodes.append(leaf(MatchesPattern(Path(("",), STRING), "like", str(part.number))))
        else:
            ranges = Ranges(False, (part.number, count + part.number))
            nodes.append(leaf(Within(Path((str(part.axis),), INT), ranges)))
    return nodes


class _NodeNumbering:
    """Numbers nodes; equal nodes have the same number."""

    def __init__(self, nodes: list[Formula]) -> None:
        self.nodes: list[ShapeNode] = []
        self._leaves: dict[Predicate, int] = {}
        self._own: dict[int, int] = {}
        for node in nodes:
            if node.predicate is not None:
                self._own[id(node)] = self._leaves.setdefault(node.predicate, len(self._leaves))
        self._inner: dict[ShapeNode, int] = {}

    def number(self, formula: Formula) -> SizedFormula | None:
        """Number the nodes of a formula; None if leaves were combined into new ones in it."""
        places: dict[int, int] = {}
        for node in formula.nodes():
            if node.predicate is None:
                inner = ShapeNode(node.least, tuple(places[id(operand)] for operand in node.operands))
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
        return SizedFormula(places[id(formula)], tree_size(formula), times)
