"""XOR, found again in formulas, where it has become AND and OR.

A condition `p XOR q` reaches an engine as (Tp AND Fq) OR (Fp AND Tq), over what makes its operands true and false:

    7 nodes: Tp Fp Tq Fq, two ANDs and an OR        3 nodes: Tp, Tq and their XOR

The *dual* of a formula is true where the formula is known to be false: leaves are complemented, AND and OR change
places. An OR of two ANDs is a XOR of p and q if one AND is p and a formula r, the other is the dual of p and q,
the dual of r; and if the dual of q is r again, since the XOR will read q. AND is flat and has one set of values
for each
attribute, so p and r are not there as they were written: every operand of the AND is tried as p, all others as r.

There are two kinds of dual, with a function for each. Mostly a leaf is unknown where its attribute is NULL, and
neither it nor its dual holds there (XOR_OF_KNOWN). IS TRUE, `<=>` and the like are never unknown: one of the two
holds everywhere (XOR). What has no dual stays AND and OR: quantifiers, "at least k of n", calls of operators.
"""

from __future__ import annotations

from typing import NamedTuple

from tamis.formulas.calls import calls_of
from tamis.formulas.formula import Formula, conjunction, disjunction, leaf
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.formulas.predicates.within import Within
from tamis.lab.jewel.dag.kernels.functions import XOR, XOR_OF_KNOWN

MAX_CONJUNCTIONS = 64
"""Longer ORs are not searched."""


class ExclusiveOr(NamedTuple):
    """Two formulas, and the function that joins them."""

    left: Formula
    right: Formula
    function: int


class XorFinder:
    """Finds XORs; what it found for one formula serves the next."""

    def __init__(self) -> None:
        self._operands: dict[Formula, list[Formula | ExclusiveOr]] = {}
        self._duals: dict[tuple[Formula, int], Formula | None] = {}

    def operands(self, formula: Formula) -> list[Formula | ExclusiveOr]:
        """The operands of an inner node, those that make a XOR as one; in another order only where they do."""
        if not formula.is_or or len(formula.operands) > MAX_CONJUNCTIONS:
            return list(formula.operands)
        if formula not in self._operands:
            self._operands[formula] = self._find(formula)
        return self._operands[formula]

    def has_xor(self, formula: Formula) -> bool:
        """Is there a XOR anywhere in it? Nodes are met from below, so that nothing here recurses deeply."""
        leaves = {node for node in formula.nodes() if node.predicate is not None}
        if not any(_complement(each.predicate, kind) in leaves for each in leaves for kind in _KINDS):
            return False
        found = [isinstance(each, ExclusiveOr) for node in formula.nodes() for each in self.operands(node)]
        return any(found)

    def _find(self, formula: Formula) -> list[Formula | ExclusiveOr]:
        single = {each for each in formula.operands if each.operands and each.is_and}
        pairs: dict[Formula, ExclusiveOr] = {}
        gone: set[Formula] = set()
        for one in formula.operands:
            if one in single and len(single) > 1:
                found = self._partner(one, single - {one})
                if found is not None:
                    pairs[one] = found[1]
                    gone.add(found[0])
                    single -= {one, found[0]}
        return [pairs.get(each, each) for each in formula.operands if each not in gone]

    def _partner(self, one: Formula, others: set[Formula]) -> tuple[Formula, ExclusiveOr] | None:
        """Of the others the AND that makes a XOR with this one, and the XOR."""
        for kind in _KINDS:
            for place, first in enumerate(one.operands):
                rest = conjunction([*one.operands[:place], *one.operands[place + 1 :]])
                dual, second = self._dual(first, kind), self._dual(rest, kind)
                if dual is None or second is None or self._dual(second, kind) != rest:
                    continue
                partner = conjunction([dual, second])
                if partner in others:
                    return partner, ExclusiveOr(first, second, kind)
        return None

    def _dual(self, formula: Formula, kind: int) -> Formula | None:
        key = formula, kind
        if key not in self._duals:
            self._duals[key] = self._make_dual(formula, kind)
        return self._duals[key]

    def _make_dual(self, formula: Formula, kind: int) -> Formula | None:
        if formula.predicate is not None:
            return _complement(formula.predicate, kind)
        if not formula.operands or not (formula.is_and or formula.is_or):
            return None
        duals: list[Formula] = []
        for each in self.operands(formula):
            if isinstance(each, ExclusiveOr):
                one, other = self._dual(each.left, kind), self._dual(each.right, kind)
                if one is None or other is None or each.function != kind:
                    return None
                duals.append(disjunction([conjunction([each.left, each.right]), conjunction([one, other])]))
            else:
                dual = self._dual(each, kind)
                if dual is None:
                    return None
                duals.append(dual)
        return disjunction(duals) if formula.is_and else conjunction(duals)


_KINDS = (XOR_OF_KNOWN, XOR)


def _complement(predicate: Predicate | None, kind: int) -> Formula | None:
    """What holds where a predicate is false."""
    if predicate is None or calls_of(predicate):
        return None
    match predicate:
        case MatchesPattern(attribute, test, pattern, negated) if kind == XOR_OF_KNOWN:
            return leaf(MatchesPattern(attribute, test, pattern, not negated))
        case Within(attribute, ranges, null):
            return leaf(Within(attribute, ~ranges, kind == XOR and not null))
    return None
