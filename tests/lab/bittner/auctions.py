"""The three classes of subscriptions of book auctions, and what the golden example says of the third."""

from __future__ import annotations

from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Predicate
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.lab.workloads.auction import CLASSES
from tamis.language.condition import normalise
from tests.routing.drawing import counted_table

_FILLINGS = {
    "title": 1,
    "category": "Fantasy",
    "author": 1,
    "p4": 7,
    "p5": 3,
    "p6": 15,
    "p7": 9,
    "p10": 12,
    "p11": 6,
}


def class_formulas() -> list[Formula]:
    """One subscription of each class."""
    return [normalise(form.format(**_FILLINGS)) for form in CLASSES]


def third_class() -> Formula:
    return class_formulas()[2]


_SHARES = {
    "category": 0.015,
    "author": 0.002,
    "ending_within": 0.16,
    "buy_it_now": 0.15,
    "special": 0.011,
    "bids": 0.87,
}
_OCCURRENCES = {"category": 100, "author": 30, "ending_within": 500, "buy_it_now": 70, "special": 60, "bids": 400}


def _about(predicate: Predicate) -> str:
    return predicate.describe().split()[0]


def golden_table() -> SelectivityTable:
    """The selectivities of the predicates of the third class."""
    held = {predicate: 1_000 * _SHARES[_about(predicate)] for predicate in third_class().predicates()}
    return counted_table(held, 1_000)


def golden_occurrences() -> dict[Predicate, int]:
    """How often they stand in a table."""
    return {predicate: _OCCURRENCES[_about(predicate)] for predicate in third_class().predicates()}


ORDER = ("category OR", "ending OR", "bids OR", "ending", "buy", "signed")
"""What the six options of the example take away, in its order."""


def option_name(taken: Formula) -> str:
    """The name of an option of the third class in `ORDER`."""
    text = taken.describe()
    for start, name in (("category", 0), ("(ending", 1), ("bids", 2), ("ending", 3), ("buy", 4), ("special", 5)):
        if text.startswith(start):
            return ORDER[name]
    raise AssertionError(text)
