"""Replacement of predicates by wider ones, where nothing is left to prune.

The thesis describes it and does not build it. A result never misses an event of the formula it was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tamis.formulas.formula import TRUE, Formula, disjunction, leaf
from tamis.formulas.predicates.within import Within
from tamis.lab.bittner.implication import implies
from tamis.values.ranges import Ranges

Replacing: TypeAlias = Callable[[Within], Iterable[Within]]
"""Gives wider predicates that may take the place of one."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replace an operand of an OR, or a formula that is one predicate, by a wider predicate."""

    operand: int
    predicate: Within


class ReplacementOption(NamedTuple):
    """A replacement, and the resulting formula."""

    change: Replacement
    result: Formula


def hulls(predicate: Within) -> Iterator[Within]:
    """The predicate without the gaps between its ranges, if it has any."""
    wide = hull(predicate.ranges)
    if wide != predicate.ranges:
        yield Within(predicate.attribute, wide, predicate.null)


def hull(ranges: Ranges) -> Ranges:
    """Everything from the least to the greatest of a set.

    >>> hull(Ranges(False, (1, 2, 5, 6)))
    Ranges(inside=False, cuts=(1, 6))
    """
    pieces = list(ranges.pieces())
    if len(pieces) < 2:
        return ranges
    ends = (pieces[0][0], pieces[-1][1])
    return Ranges(ranges.inside, tuple(end for end in ends if end is not None))


def replacement_options(formula: Formula, wider: Replacing = hulls) -> list[ReplacementOption]:
    """Every replacement in a formula that is one predicate or an OR of predicates, with its result.

    Args:
        formula: Any; one of another form has no replacement.
        wider: Returns candidates for the replacement of a predicate; those that do not cover it are left out.
    """
    found = []
    if formula.predicate is None and not formula.is_or:
        return []
    for place, operand in enumerate(formula.operands or (formula,)):
        if operand.operands:
            return []
        if isinstance(operand.predicate, Within):
            for predicate in wider(operand.predicate):
                if predicate != operand.predicate and implies(operand.predicate, predicate):
                    change = Replacement(place, predicate)
                    found.append(ReplacementOption(change, _apply_replacement(formula, change)))
    return [each for each in found if each.result is not TRUE]


def _apply_replacement(formula: Formula, change: Replacement) -> Formula:
    operands = list(formula.operands or (formula,))
    operands[change.operand] = leaf(change.predicate)
    return disjunction(operands)
