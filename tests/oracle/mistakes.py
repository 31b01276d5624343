"""Conditions with a mistake: one operand of a correct condition is replaced by something of another type.

Both dialects read the same text, since nothing is run: whether it is accepted is all that is asked.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace

from tamis.errors import ConditionError
from tests.oracle.generate import Generator
from tests.oracle.grammar import GOALS, Node

OURS = frozenset({"XOR", "at_least", "average", "and_then", "or_else"})
"""What Spark does not read."""
_OWN_REFUSALS = re.compile(
    r"is not an? (tinyint|smallint|int|bigint|float|double|decimal.*|boolean|date|timestamp|timestamp_ntz)$"
    r"|expected (int|bigint|date|timestamp|a number|an index \(bigint\)), found"
    r"|expected array<.*>, found an array<string>"
    r"|concat_ws: expected text, found array"
    r"|expected a constant whole number of digits"
)
"""Where tamis is stricter than Spark on purpose: a literal that no cast could read, an argument that would be
narrowed."""
_OPERANDS = tuple(sorted(set(GOALS) - {"predicate", "item"}))


def mistaken(random_: random.Random) -> Node:
    """A condition, most likely wrong."""
    generator = Generator(random_)
    while True:
        condition = _spoil(generator, generator.condition())
        if not any(_shows_ours(node) for node in condition.nodes()):
            return condition


def _shows_ours(node: Node) -> bool:
    return not OURS.isdisjoint(node.features)


def _spoil(generator: Generator, node: Node) -> Node:
    random_ = generator.random
    places = [place for place, slot in enumerate(node.slots) if slot in GOALS]
    if not places:
        return node
    place = random_.choice(places)
    child = node.children[place]
    if child.children and random_.random() < 0.5:
        changed = _spoil(generator, child)
    else:
        changed = generator.expression(random_.choice(_OPERANDS), random_.choice((0, 0, 1)))
    return replace(node, children=(*node.children[:place], changed, *node.children[place + 1 :]))


def is_own_refusal(error: ConditionError) -> bool:
    """Is tamis stricter than Spark here on purpose?"""
    return any(_OWN_REFUSALS.search(problem.message) for problem in error.problems)
