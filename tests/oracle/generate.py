"""Random conditions: a deterministic function of a `random.Random`.

Of six random groups of rules the one used least so far is taken, so that rare functions come up as often as
common ones.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from tests.oracle.grammar import Node, Rule, kinds
from tests.oracle.literals import LEAVES, attribute
from tests.oracle.quirks import reorders_constants
from tests.oracle.rows import ATTRIBUTES
from tests.oracle.rules import RULES

_TYPES = {found.name: f"type {found.ddl}" for found in ATTRIBUTES}
_ELEMENTS = {
    "array_int": (("int", ""),),
    "array_double": (("double", ""),),
    "array_string": (("string", ""),),
    "array_item": (("decimal", ".price"), ("string", ".name"), ("item", "")),
}


@dataclass(frozen=True, slots=True)
class _Group:
    """Rules that show the same; `bounds` are running sums of their weights."""

    shown: tuple[str, ...]
    weight: float
    rules: tuple[Rule, ...]
    bounds: tuple[float, ...]


@cache
def _groups(goal: str) -> tuple[tuple[_Group, ...], tuple[float, ...]]:
    """Groups of rules of a goal, and running sums of weights, larger for large groups but not by much."""
    groups: dict[tuple[str, ...], list[Rule]] = {}
    for rule in RULES:
        if rule.slots and kinds(rule.goal) <= kinds(goal):
            groups.setdefault(rule.features, []).append(rule)
    weighed = tuple(
        _Group(shown, math.sqrt(len(rules)), tuple(rules), tuple(accumulate(map(_weight, rules))))
        for shown, rules in groups.items()
    )
    return weighed, tuple(accumulate(group.weight for group in weighed))


@cache
def _weight(rule: Rule) -> float:
    """Rules whose operands can be many things weigh more."""
    slots = [slot for slot in rule.slots if slot != "boolean"]
    return 20 + sum(sum(kinds(other.goal) <= kinds(slot) for other in RULES) for slot in slots)


@cache
def _constant_rules(goal: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in RULES if not rule.slots and kinds(rule.goal) <= kinds(goal))


@cache
def _attributes(goal: str) -> tuple[str, ...]:
    return tuple(found.name for found in ATTRIBUTES if found.kind in kinds(goal))


class Generator:
    """Draws conditions; `used` is how often each group of rules was taken."""

    def __init__(self, random_: random.Random) -> None:
        self.random = random_
        self.used: Counter[tuple[str, ...]] = Counter()
        self._variables = 0

    def condition(self) -> Node:
        """A condition of random size."""
        return self.expression("boolean", self.random.choice((2, 2, 2, 3, 3, 4)))

    def expression(self, goal: str, depth: int) -> Node:
        """An expression of a goal, nested `depth` deep at most."""
        while True:
            found = self._expression(goal, depth, ())
            if not reorders_constants(found):
                return found

    def _expression(self, goal: str, depth: int, scope: tuple[Node, ...]) -> Node:
        groups, bounds = _groups(goal)
        stop = depth <= 0 or (depth < 3 and self.random.random() < 0.2 and goal != "boolean")
        if not groups or (stop and goal != "predicate"):
            return self._leaf(goal, scope)
        drawn = self.random.choices(groups, cum_weights=bounds, k=6)
        group = min(drawn, key=lambda group: self.used[group.shown] / group.weight)
        rule = self.random.choices(group.rules, cum_weights=group.bounds)[0]
        return self._apply(rule, depth, scope)

    def _apply(self, rule: Rule, depth: int, scope: tuple[Node, ...]) -> Node:
        self.used[rule.features] += 1
        tamis, spark, variable = rule.pattern, rule.spark, None
        if self.random.random() < 0.08:
            tamis = tamis.lower()
        scopes = [scope] * len(rule.slots)
        if rule.element is not None:
            self._variables += 1
            variable = f"v{self._variables}"
            tamis, spark = tamis.replace("$x", variable), spark.replace("$x", variable)
            scopes[-1] = (*scope, *_elements(rule.element, variable))
        children = tuple(
            self._expression(slot, depth - 1, inner) for slot, inner in zip(rule.slots, scopes, strict=True)
        )
        return Node(rule.goal, tamis, spark, rule.features, children, rule.slots, rule.bare, rule.atomic, variable)

    def _leaf(self, goal: str, scope: tuple[Node, ...]) -> Node:
        variables = [node for node in scope if kinds(node.goal) <= kinds(goal)]
        if variables and self.random.random() < 0.7:
            return self.random.choice(variables)
        names, literals, constants = _attributes(goal), LEAVES.get(goal), _constant_rules(goal)
        if constants and (self.random.random() < 0.15 or not (names or literals)):
            rule = self.random.choice(constants)
            return Node(rule.goal, rule.pattern, rule.spark, (_TYPES[re.split(r"\W", rule.pattern)[0]],))
        if names and (literals is None or self.random.random() < 0.7):
            return attribute(self.random, self.random.choice(names))
        if literals is None:
            msg = f"nothing can stand for {goal}"
            raise LookupError(msg)
        return literals(self.random)


def _elements(array: str, variable: str) -> tuple[Node, ...]:
    return tuple(
        Node(kind, variable + path, variable + path, (), variable=variable) for kind, path in _ELEMENTS[array]
    )
