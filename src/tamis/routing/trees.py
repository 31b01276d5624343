"""Trees: what formulas take as encoded trees, and which predicates are expensive.

A formula is a graph. Sizes are those of the tree, in which shared nodes are written out.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from tamis.formulas.calls import calls_of
from tamis.formulas.expression import Apply, Path, Typed
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.quantified import Quantified

LEAF_BYTES, INNER_BYTES = 5, 2
"""Bytes of a node in an encoded tree: a tag with a predicate number, or an operator and a count."""


class TreeSize(NamedTuple):
    """The least number of predicates that must hold, bytes and leaves of a formula; all 0 for a constant."""

    p_min: int
    bytes: int
    leaves: int


_CONSTANT = TreeSize(0, 0, 0)
_LEAF = TreeSize(1, LEAF_BYTES, 1)


def tree_size(formula: Formula, memory: dict[int, TreeSize] | None = None) -> TreeSize:
    """The sizes of a formula; `memory` shares those of nodes, by identity, while they are alive."""
    if formula.predicate is not None:
        return _LEAF
    memory = {} if memory is None else memory
    known = memory.get(id(formula))
    if known is None:
        known = memory[id(formula)] = _inner_size(formula, memory)
    return known


def _inner_size(formula: Formula, memory: dict[int, TreeSize]) -> TreeSize:
    if not formula.operands:
        return _CONSTANT
    counts, bytes_, leaves = zip(*[tree_size(operand, memory) for operand in formula.operands], strict=True)
    if formula.is_and:
        needed = sum(counts)
    else:
        needed = sum(sorted(counts)[: formula.least])
    return TreeSize(needed, INNER_BYTES + sum(bytes_), sum(leaves))


def size(formula: Formula) -> int:
    """Bytes of the encoded tree."""
    return tree_size(formula).bytes


def leaf_counts(formula: Formula) -> Counter[Predicate]:
    """How often each predicate occurs in the tree."""
    times: Counter[int] = Counter({id(formula): 1})
    found: Counter[Predicate] = Counter()
    for node in reversed(list(formula.nodes())):
        if node.predicate is not None:
            found[node.predicate] += times[id(node)]
        for operand in node.operands:
            times[id(operand)] += times[id(node)]
    return found


def is_opaque(predicate: Predicate) -> bool:
    """Does it call an operator or read a computed attribute? Such predicates are expensive."""
    if not is_plain(predicate.attribute):
        return True
    return isinstance(predicate, Quantified) and bool(calls_of(predicate))


def is_plain(attribute: Typed) -> bool:
    """Is it an attribute of the event itself, typed or schemaless, not a computed one?"""
    if isinstance(attribute, Apply) and attribute.function == "read":
        return isinstance(attribute.arguments[0], Path)
    return isinstance(attribute, Path)
