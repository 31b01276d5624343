"""Advertisements that are pruned, alone and after subscriptions, as in section 8.6 of the thesis of S. Bittner.

Overlap is counted in pairs of a subscription and an advertisement. Before pruning, its share follows from the
classes: a third of the subscriptions asks for no price and overlaps with all advertisements, the others with
hardly any that has a title. The most that pruning makes of it is about .75, since titles are kept: three of eight
classes of advertisements have one, and two of three classes of subscriptions.

In the end more is removed than in the thesis, which stops at .72 where its overlap is .63: here prices above one
or above another are one predicate, and ties go by bytes saved. Shares are to be compared where as much is removed.
Prunings are ranked by the events that predicates were counted in; without counts overlap rises much sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.formulas.formula import Formula
from tamis.lab.bittner.advertisements import Advertisement, Advertisements
from tamis.lab.bittner.measures import ACCURACY
from tamis.lab.bittner.pruning import Pruner
from tamis.lab.claims.overlaps import Answers, Auctions, Effort, answers, filed, is_part

MOST_RISE, LEAST_REMOVED = 0.2, 0.65
"""How much the share of pairs that overlap may rise, and the share of associations that must have gone by then."""
_PRUNINGS = 4
"""Of an advertisement, about."""
_PART = 50
"""What is pruned at once before it is looked how far it went: a so-manieth of all."""


class Step(NamedTuple):
    """A table at some point of pruning: the share of its associations that is removed, and what it answers."""

    removed: float
    answers: Answers


def pruned(given: Auctions, subscriptions: Sequence[Formula], effort: Effort, steps: int) -> list[Step]:
    """Prune all advertisements of an auction, with these subscriptions in the place of its own.

    Raises:
        SystemExit: An overlap is lost.
    """
    name, asked = given.name, subscriptions[: effort.asked]
    subscribed = filed(subscriptions, given.event_type)
    advertised = Advertisements(subscribed, given.matches, event_types=[given.event_type])
    for place, formula in enumerate(given.advertisements):
        advertised.add(Advertisement(str(place), name, formula))
    count = max(1, len(given.advertisements) * _PRUNINGS // steps)
    found: list[Step] = []
    while not found or advertised.prune(name, count=count):
        # An index of its own, which has no gaps where others were.
        index = filed([advertised[each.id].formula for each in advertised], given.event_type)
        found.append(Step(advertised.totals(name).removed_share, answers(index, name, asked, effort)))
        if not is_part(found[0].answers.found, found[-1].answers.found):
            msg = f"pruning to {found[-1].removed:.3f} of associations removed loses an overlap"
            raise SystemExit(msg)
    return found


def at(steps: Sequence[Step], removed: float, what: str) -> float:
    """An attribute of answers at a share of associations removed, straight between steps."""
    values = [getattr(step.answers, what) for step in steps]
    return float(np.interp(removed, [step.removed for step in steps], values))


def largest(points: Sequence[tuple[float, float]], most: float) -> float:
    """The greatest x whose y, and all before it, is at most so much; 0 if there is none."""
    found = 0.0
    for x, y in points:
        if y > most:
            break
        found = max(found, x)
    return found


def shares(steps: Sequence[Step]) -> list[tuple[float, float]]:
    """Shares removed and shares of pairs that overlap."""
    return [(step.removed, step.answers.share) for step in steps]


class Level(NamedTuple):
    """Subscriptions, pruned: the share of their associations that is removed, and what became of them."""

    removed: float
    subscriptions: list[Formula]


def levels(given: Auctions, wanted: Sequence[float]) -> list[Level]:
    """Prune subscriptions by accuracy until these shares of associations are removed, or nothing is left."""
    pruner = Pruner(ACCURACY, given.table)
    for place, formula in enumerate(given.subscriptions):
        pruner.register(place, formula)
    found = []
    for removed in wanted:
        while pruner.totals.removed_share < removed and pruner.prune(count=max(1, len(pruner) // _PART)):
            pass
        found.append(Level(pruner.totals.removed_share, [entry.current for entry in pruner]))
    return found
