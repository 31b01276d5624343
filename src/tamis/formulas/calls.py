"""The operator calls of a predicate: those of its attribute and, for a quantifier, those inside of it."""

from __future__ import annotations

from functools import lru_cache

from tamis.formulas.expression import OperatorCall, calls_in
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.quantified import Quantified


def calls_of(predicate: Predicate) -> tuple[OperatorCall, ...]:
    """The distinct calls that a predicate makes."""
    return _inner_calls(predicate) if isinstance(predicate, Quantified) else calls_in(predicate.attribute)


@lru_cache(maxsize=1 << 12)
def _inner_calls(predicate: Quantified) -> tuple[OperatorCall, ...]:
    found = dict.fromkeys(calls_in(predicate.attribute))
    for inner in predicate.formula.predicates():
        found.update(dict.fromkeys(calls_of(inner)))
    return tuple(found)
