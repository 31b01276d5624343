"""The example of Bittner's thesis (2008): an advertisement and a subscription of one book."""

from __future__ import annotations

from tamis.formulas.predicates.base import Predicate
from tamis.language.condition import normalise

SUBSCRIPTION = normalise(
    "title = 'Harry Potter and the Goblet of Fire' AND ending_within < 1440 AND"
    " ((condition = 'new' AND price < 15) OR (price < 12 AND condition = 'used'))"
)
ADVERTISEMENT = normalise(
    "title = 'Harry Potter and the Goblet of Fire' AND"
    " ((condition = 'used' AND price > 11) OR (price > 14 AND condition = 'new'))"
)
MATCHES = {"condition = 'new'": 500, "price < 12": 1500, "condition = 'used'": 2000}


def matches(predicate: Predicate) -> float:
    """In how many events a predicate of the subscription held."""
    return MATCHES.get(predicate.describe(), 0)
