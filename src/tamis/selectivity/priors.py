"""Priors: the selectivity of predicates on attributes that no statistics describe.

These are the only assumptions of that kind in tamis. They matter for new matchers: as soon as events have been
matched, statistics replace all of them but `TEST`.
"""

from __future__ import annotations

from tamis.arrays import F64, I64

MIN_SAMPLE = 16
"""Values from which a sample says more than a prior. Its standard error is an eighth
at most."""

RANGE = 0.35
"""Of a comparison or a range. One bound keeps half of the values if it is anywhere, two bounds keep a third."""

TEST = 0.01
"""Of a pattern, an array or a computed Boolean. Patterns are written to find few texts; the
placement of `bitslice` was measured with this value."""

MIN_DISTINCT = 20
"""Distinct values that an attribute has at least, so that an equality holds in one event of twenty at most."""

MANY_DISTINCT = 1_000
"""Distinct values of an attribute that has too many to enumerate: an index that keeps quantiles does not count
them."""

_USES_TO_EVENTS = 2.0
"""How much more frequent an attribute is in events than in conditions. Subscriptions ask for
attributes that events have, and few conditions use every attribute of an event."""


def point(distinct: int) -> float:
    """The selectivity of an equality, on an attribute for which conditions name so many distinct constants.

    >>> point(3), point(100)
    (0.05, 0.01)
    """
    return 1.0 / max(MIN_DISTINCT, distinct)


def non_null_fractions(uses: I64, formulas: int) -> F64:
    """Per attribute the fraction of events that have it, by how many of the formulas use it."""
    fractions: F64 = (_USES_TO_EVENTS * uses / max(1, formulas)).clip(max=1.0)
    return fractions
