"""Kinds of values, for dialects that convert nothing: text, number, boolean, or whatever an attribute holds.

An attribute is read as the kind that stands on the other side of a comparison. Values of different kinds are not
equal, which is FALSE and not unknown; unknown is a comparison of what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tamis.syntax.tree import Expression, FunctionCall, Literal, Span, children
from tamis.values.types import BOOLEAN, NULL

TEXT, NUMBER, TRUTH, ANY_KIND = "text", "number", "boolean", "any"
_READ = {TEXT: "text_of", NUMBER: "number_of", TRUTH: "boolean_of"}
_KINDS = (TEXT, NUMBER, TRUTH)


@dataclass(frozen=True, slots=True)
class Operand:
    """A part of a condition, and what kind of value it has; that of an attribute is not known.

    `readings` are the trees of a part that means something else for each kind, such as a sum.
    """

    tree: Expression
    kind: str
    readings: dict[str, Expression] = field(default_factory=dict)

    def as_kind(self, kind: str) -> Expression:
        if kind in self.readings:
            return self.readings[kind]
        return FunctionCall(_READ[kind], (self.tree,), self.tree.span) if self.kind == ANY_KIND else self.tree

    def kinds(self) -> tuple[str, ...]:
        """The kinds that it may have."""
        return tuple(self.readings) or (_KINDS if self.kind == ANY_KIND else (self.kind,))


def by_kinds(sign: str, left: Operand, right: Operand, kinds: tuple[str, ...], span: Span) -> Expression:
    """A comparison as any of these kinds that both sides are of; unknown where they are of none."""
    tests = [FunctionCall(sign, (left.as_kind(kind), right.as_kind(kind)), span) for kind in kinds]
    return tests[0] if len(tests) == 1 else FunctionCall("coalesce", (*tests,), span)


def otherwise(test: Expression, operands: tuple[Operand, ...], value: bool, span: Span) -> Expression:
    """The test; where it is unknown and no operand is missing, `value`."""
    names = [each.tree for each in operands if not isinstance(each.tree, Literal)]
    if not names:
        return test
    missing = [FunctionCall("is_null", (name,), span) for name in names]
    any_missing = missing[0] if len(missing) == 1 else FunctionCall("or", tuple(missing), span)
    unlike = FunctionCall("if", (any_missing, Literal(NULL, None, span), Literal(BOOLEAN, value, span)), span)
    return FunctionCall("coalesce", (test, unlike), span)


def is_plain(operand: Operand) -> bool:
    """Is it an attribute or a literal, so that it may stand in a tree twice?"""
    return isinstance(operand.tree, Literal) or (operand.kind == ANY_KIND and not operand.readings)


def connect(name: str, operands: Sequence[Expression], span: Span) -> Expression:
    """Conditions joined by `and` or `or`; runs of them are flat in every tree, whatever the parentheses."""
    flat: list[Expression] = []
    for each in operands:
        flat.extend(children(each) if isinstance(each, FunctionCall) and each.function == name else (each,))
    return FunctionCall(name, tuple(flat), span)
