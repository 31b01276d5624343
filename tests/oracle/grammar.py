"""What a condition is made of: goals, rules, and nodes that render themselves for tamis and for Spark.

A *goal* is a set of kinds ("narrow" is tinyint, smallint or int); a *rule* says how to write an expression of
a goal from expressions of other goals, in both dialects; a *node* is one use of a rule. Rules know types only
as far as Spark must accept what is written: which type `{number} + {number}` has is for the two to agree on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

_INTEGRAL = ("tinyint", "smallint", "int", "bigint")
_DECIMAL = ("short_decimal", "decimal")
_NUMERIC = (*_INTEGRAL, *_DECIMAL, "float", "double")
_OTHERS = (
    *("string", "date", "timestamp", "timestamp_ntz", "binary", "array_int", "array_double", "array_string"),
    *("array_item", "struct", "item"),
)
GOALS: dict[str, frozenset[str]] = {
    **{kind: frozenset({kind}) for kind in (*_NUMERIC, *_OTHERS, "predicate")},
    "decimal": frozenset(_DECIMAL),
    "narrow": frozenset(_INTEGRAL[:3]),
    "integral": frozenset(_INTEGRAL),
    "exact": frozenset((*_INTEGRAL, *_DECIMAL)),
    "fraction": frozenset({"float", "double"}),
    "number": frozenset(_NUMERIC),
    "moment": frozenset({"date", "timestamp", "timestamp_ntz"}),
    "boolean": frozenset({"predicate", "boolean"}),
}
"""Kinds that may stand for a goal. A goal that is not here has leaves only (patterns, units, texts)."""

_SLOT = re.compile(r"\{(\w+)(~?)\}")
_CALL = re.compile(r"\w+\([^()]*\)|CASE .* END")
_FEATURE = re.compile(r"(?P<function>\w+)(?=\()|(?P<words>[A-Z]+(?: [A-Z]+)*)|(?P<symbol>[-+*/%|<>=!:&^~]+)|\[")


def kinds(goal: str) -> frozenset[str]:
    """The kinds of a goal; a leaf goal is its own only kind."""
    return GOALS.get(goal, frozenset({goal}))


@dataclass(frozen=True, slots=True)
class Rule:
    """How an expression of `goal` is written.

    `pattern` is what tamis reads, with `{goal}` for an operand, `{goal~}` for one that needs no parentheses
    even when it is a predicate, and `$x` for the variable of a lambda. `spark` has the operands by number and
    never raises. `element` is the kind of array that a lambda walks over.
    """

    goal: str
    pattern: str
    spark: str
    slots: tuple[str, ...]
    bare: tuple[bool, ...]
    features: tuple[str, ...]
    element: str | None = None

    @property
    def atomic(self) -> bool:
        """Can it be an operand without parentheses?"""
        return _CALL.fullmatch(self.pattern) is not None or not self.slots


RULES: list[Rule] = []


def rule(goal: str, pattern: str, spark: str | None = None, *, element: str | None = None) -> None:
    """Add a rule; without `spark` both dialects write it alike."""
    slots: list[str] = []
    bare: list[bool] = []

    def number(slot: re.Match[str]) -> str:
        before, after = pattern[: slot.start()].rstrip()[-1:], pattern[slot.end() :].lstrip()[:1]
        slots.append(slot[1])
        bare.append(bool(slot[2]) or (before in ("(", ",") and after in (")", ",")))
        return "{" + str(len(slots) - 1) + "}"

    numbered = _SLOT.sub(number, pattern)
    RULES.append(Rule(goal, numbered, spark or numbered, tuple(slots), tuple(bare), features_of(pattern), element))


def features_of(pattern: str) -> tuple[str, ...]:
    """Names of the functions and operators in a pattern: functions in lower case, operators as written."""
    found: list[str] = []
    for match in _FEATURE.finditer(_SLOT.sub("", pattern)):
        text = match["function"].lower() if match["function"] else match["words"] or match["symbol"] or "[]"
        if text not in found and text != "->":
            found.append(text)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Node:
    """One use of a rule. A leaf has no children, and its texts are taken as they are."""

    goal: str
    tamis: str
    spark: str
    features: tuple[str, ...]
    children: tuple[Node, ...] = ()
    slots: tuple[str, ...] = ()
    bare: tuple[bool, ...] = ()
    atomic: bool = True
    binds: str | None = None
    variable: str | None = None

    def text(self) -> str:
        """The condition as tamis reads it."""
        if not self.children:
            return self.tamis
        inner = [
            child.text() if child.atomic or bare else f"({child.text()})"
            for child, bare in zip(self.children, self.bare, strict=True)
        ]
        return self.tamis.format(*inner)

    def spark_text(self) -> str:
        """The same condition for Spark, where nothing raises."""
        if not self.children:
            return self.spark
        predicate = [child.goal == "predicate" for child in self.children]
        inner = [
            child.spark_text() if not child.children or (plain and bare) else f"({child.spark_text()})"
            for child, plain, bare in zip(self.children, predicate, self.bare, strict=True)
        ]
        return self.spark.format(*inner)

    def count(self, into: Counter[str]) -> None:
        """Add the features of the whole tree to a counter."""
        for node in self.nodes():
            into.update(node.features)

    def free_variables(self) -> set[str]:
        """Variables of lambdas that are not bound inside."""
        found = {self.variable} if self.variable else set()
        for child in self.children:
            found |= child.free_variables()
        return found - {self.binds}

    def size(self) -> int:
        """How many nodes."""
        return sum(1 for _ in self.nodes())

    def nodes(self) -> Iterator[Node]:
        """The node itself and all below it."""
        yield self
        for child in self.children:
            yield from child.nodes()

    def smaller(self) -> Iterator[Node]:
        """Trees with one node replaced by one of its descendants; smallest part left first."""
        for found in self._smaller(self.goal if self.goal != "predicate" else "boolean"):
            if not found.free_variables():
                yield found

    def _smaller(self, goal: str) -> Iterator[Node]:
        below = sorted(self.nodes(), key=Node.size)[:-1]
        yield from (node for node in below if kinds(node.goal) <= kinds(goal))
        for place, child in enumerate(self.children):
            for found in child._smaller(self.slots[place]):
                yield replace(self, children=(*self.children[:place], found, *self.children[place + 1 :]))


def leaf(goal: str, tamis: str, spark: str | None = None, *features: str) -> Node:
    """A node without operands."""
    return Node(goal, tamis, tamis if spark is None else spark, features)
