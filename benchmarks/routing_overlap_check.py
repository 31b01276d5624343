"""What indexes of overlap answer, checked against `meet`, which knows nothing of disjoint predicates.

It tries all events that differ to the predicates of two conditions, so that it is right and slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from benchmarks.report import Figures
from tamis.arrays import Bools
from tamis.events.event_type import EventType
from tamis.formulas.expression import Typed
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.within import Within
from tamis.lab.claims.overlaps import Auctions, Contestant, function_problems
from tamis.routing.disjointness import Domain, domains_of
from tamis.values.ranges import ALL, Key


def meet(one: Formula, other: Formula, event_type: EventType) -> bool:
    """Is there an event of the type that satisfies both? Tries one of each kind that the predicates tell apart.

    >>> from tamis.language.condition import normalise
    >>> book = EventType.from_dict({"name": "book", "attributes": {"price": "int", "used": "boolean"}})
    >>> cheap, dear = normalise("price < 3 AND used", book), normalise("price > 5 OR NOT used", book)
    >>> meet(cheap, normalise("price > 1", book), book), meet(cheap, dear, book)
    (True, False)
    """
    cells = _cells([one, other], event_type)
    held = [_held(each, cells) for each in (one, other)]
    return bool((held[0] & held[1]).any())


def _cells(formulas: Sequence[Formula], event_type: EventType) -> dict[Typed, list[Key]]:
    """Of each attribute that is asked for, one key between any two cuts next to each other, inside its domain."""
    domains = domains_of(event_type)
    cuts: dict[Typed, set[Key]] = {}
    for predicate in {each for formula in formulas for each in formula.predicates()}:
        cuts.setdefault(predicate.attribute, set()).update(_within(predicate).ranges.cuts)
    found = {}
    for attribute, keys in cuts.items():
        domain = domains.get(attribute, Domain(ALL, null=False)).ranges
        keys |= set(domain.cuts)
        least = min(keys)
        below = "" if isinstance(least, str) else least - 1
        found[attribute] = [key for key in (below, *sorted(keys)) if key in domain]
    return found


def _held(formula: Formula, cells: dict[Typed, list[Key]]) -> Bools:
    """Where a formula holds among all events made of such keys: an axis an attribute."""
    places = {attribute: place for place, attribute in enumerate(cells)}
    known: dict[int, Bools] = {}
    for node in formula.nodes():
        if node.predicate is not None:
            ranges = _within(node.predicate).ranges
            column = np.array([key in ranges for key in cells[node.predicate.attribute]])
            shape = np.ones(len(cells), int)
            shape[places[node.predicate.attribute]] = len(column)
            known[id(node)] = column.reshape(shape)
        else:
            count = sum((known[id(each)].astype(int) for each in node.operands), np.zeros(1, int))
            known[id(node)] = np.asarray(count >= node.least)
    return known[id(formula)]


def _within(predicate: object) -> Within:
    if not isinstance(predicate, Within) or predicate.null:
        msg = f"expected a set of values without NULL, found {predicate}"
        raise TypeError(msg)
    return predicate


def check(given: Auctions, contestants: dict[str, Contestant], subscriptions: int, advertisements: int) -> Figures:
    """Hold indexes of the first advertisements against `meet`; gives how many pairs were tried, and made up.

    Raises:
        SystemExit: An overlap is missed.
    """
    asked = given.subscriptions[:subscriptions]
    told = given.advertisements[:advertisements]
    pairs = product(enumerate(asked), enumerate(told))
    true = {(i, j) for (i, one), (j, other) in pairs if meet(one, other, given.event_type)}
    figures: Figures = {"pairs that are tried by all events": f"{len(asked) * len(told)}, overlaps {len(true)}"}
    for name, index in contestants.items():
        found = {
            (i, int(each))
            for i, names in enumerate(function_problems(index, given.name, asked))
            for each in names
            if int(each) < len(told)
        }
        missed = sorted(true - found)
        if missed:
            one, other = (of[place].describe() for of, place in zip((asked, told), missed[0], strict=True))
            msg = f"{name} misses {len(missed)} overlaps, the first of {one} with {other}"
            raise SystemExit(msg)
        figures[f"{name}: overlaps that are none"] = len(found - true)
    return figures
