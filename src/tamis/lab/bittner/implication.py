"""Which formulas cover which: a general formula covers a special one if it holds wherever that one does.

Covering is decided on formulas as ORs of ANDs, where predicates imply each other. It is exact for ranges only.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from tamis.formulas.expression import Typed
from tamis.formulas.formula import FALSE, TRUE, Formula, conjunction
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.within import Within

TERMS = 32
"""Terms that a formula may have as an OR of ANDs."""


def implies(special: Predicate, general: Predicate) -> bool:
    """Is it certain that the general predicate holds wherever the special one does? Exact for ranges only."""
    if isinstance(special, Within) and isinstance(general, Within):
        if special.attribute != general.attribute or (special.null and not general.null):
            return False
        return (special.ranges & general.ranges) == special.ranges
    return special == general


def terms(formula: Formula, most: int = TERMS) -> list[Formula] | None:
    """The formula as an OR of ANDs of predicates; None if there would be more than `most`."""
    known: dict[int, list[Formula]] = {}
    for node in formula.nodes():
        made = [node] if node.predicate is not None else _terms_of(node, known, most)
        if made is None:
            return None
        known[id(node)] = made
    return known[id(formula)]


def _terms_of(node: Formula, known: dict[int, list[Formula]], most: int) -> list[Formula] | None:
    """The terms of an inner node. `ways[k]` are the terms in which k of the operands so far hold."""
    ways: list[list[Formula]] = [[TRUE]] + [[] for _ in range(node.least)]
    for left, operand in zip(range(len(node.operands) - 1, -1, -1), node.operands, strict=True):
        # With fewer than these, the operands that are left would not be enough.
        for count in range(node.least, max(0, node.least - left - 1), -1):
            longer = [conjunction(pair) for pair in product(ways[count - 1], known[id(operand)])]
            ways[count] = list(dict.fromkeys(each for each in ways[count] + longer if each is not FALSE))
            if len(ways[count]) > most:
                return None
    return ways[node.least]


def covers(general: Formula, special: Formula, most: int = TERMS) -> bool:
    """Is it certain that the general formula holds wherever the special one does?

    Each AND of the special one must be covered by one of the general one, whose predicates its own imply. Formulas
    with too many terms are compared for equality only, so False does not mean that there is no cover.

    >>> from tamis.language.condition import normalise
    >>> covers(normalise("a < 5"), normalise("a < 3 AND b = 1 OR a = 4"))
    True
    """
    if general == special:
        return True
    generals, specials = terms(general, most), terms(special, most)
    if generals is None or specials is None:
        return False
    sides = [Conjuncts.of(each) for each in generals]
    return all(any(each.covers(other) for each in sides) for other in map(Conjuncts.of, specials))


class Conjuncts(NamedTuple):
    """An AND of predicates in a form for comparison: one range an attribute, and all other predicates."""

    ranges: dict[Typed, Within]
    others: frozenset[Predicate]

    @classmethod
    def of(cls, term: Formula) -> Conjuncts:
        ranges: dict[Typed, Within] = {}
        others = set()
        for part in term.operands if term.predicate is None else (term,):
            if isinstance(part.predicate, Within):
                ranges[part.predicate.attribute] = part.predicate
            elif part.predicate is not None:
                others.add(part.predicate)
        return cls(ranges, frozenset(others))

    def covers(self, special: Conjuncts) -> bool:
        """Is each predicate of this AND implied by one of the special AND?"""
        if len(self.ranges) > len(special.ranges) or not self.others <= special.others:
            return False
        for attribute, wide in self.ranges.items():
            narrow = special.ranges.get(attribute)
            if narrow is None or not (narrow == wide or implies(narrow, wide)):
                return False
        return True
