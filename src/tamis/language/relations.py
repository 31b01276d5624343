"""Calls of relations as people write them: without the attribute that holds the facts, and as functions.

An operator that names an `attribute` is a relation over the facts in it. `is_a(?x, 'dog') AND weight(?x) > 20` is
`is_a(facts, ?x, 'dog') AND weight(facts, ?x, ?weight_1) AND ?weight_1 > 20`: a call that leaves out the last field
stands for its value. Each is replaced in the syntax tree, before variables are looked for; nothing behind the
analyser knows the short forms. What is put in has the place of the call that it stands for.
"""

from __future__ import annotations

from tamis.operators.registry import OPERATORS, Operator
from tamis.syntax.printing import to_text
from tamis.syntax.tree import Cast, Expression, FieldAccess, Free, FunctionCall, Lambda, Name, walk

_OF_CONDITIONS = ("and", "or", "at_least")


def spell_out(tree: Expression) -> Expression:
    """The condition with the calls of its relations written in full."""
    if not any(each.attribute for each in OPERATORS.values()):
        return tree
    meant = _Speller(tree).condition(tree)
    return tree if meant == tree else meant  # what has none of them stays the object that it is


class _Speller:
    """Replaces calls; one that occurs twice, with the same arguments, stands for one value."""

    def __init__(self, tree: Expression) -> None:
        self.taken = {node.name.lower() for node in walk(tree) if isinstance(node, Free)}
        self.values: dict[str, str] = {}

    def condition(self, node: Expression) -> Expression:
        """Each side of an OR binds the values that it uses; what is below a NOT is bound beside it."""
        if isinstance(node, FunctionCall) and node.function in _OF_CONDITIONS:
            return FunctionCall(node.function, tuple(map(self.condition, node.arguments)), node.span)
        bound: dict[str, FunctionCall] = {}
        meant = self.value(node, bound)
        return FunctionCall("and", (*bound.values(), meant), node.span) if bound else meant

    def value(self, node: Expression, bound: dict[str, FunctionCall]) -> Expression:
        match node:
            case Free(name, span):
                return Free(name.lower(), span)
            case FunctionCall(function, arguments, span):
                given = tuple(self.value(each, bound) for each in arguments)
                call = FunctionCall(function, given, span)
                relation = OPERATORS.get(function)
                return self.call(relation, call, bound) if relation is not None and relation.attribute else call
            case Cast(operand, type_, span):
                return Cast(self.value(operand, bound), type_, span)
            case FieldAccess(operand, name, span):
                return FieldAccess(self.value(operand, bound), name, span)
            case Lambda(variable, body, span, others):
                return Lambda(variable, self.value(body, bound), span, others)
            case _:
                return node

    def call(self, relation: Operator, call: FunctionCall, bound: dict[str, FunctionCall]) -> Expression:
        match call.arguments:
            case (Name((name,)), *_) if name.lower() == relation.attribute.lower():
                return call  # written in full
        missing = len(relation.returns.item.fields) - len(call.arguments)
        facts = Name((relation.attribute,), call.span)
        if missing == 1 and any(isinstance(node, Free) for node in walk(call)):
            variable = Free(self.variable(call), call.span)
            bound[variable.name] = FunctionCall(call.function, (facts, *call.arguments, variable), call.span)
            return variable
        if missing == 0 or not call.arguments:
            return FunctionCall(call.function, (facts, *call.arguments), call.span)
        return call

    def variable(self, call: FunctionCall) -> str:
        text = to_text(call)
        number = len(self.values) + 1
        while text not in self.values:
            name = f"{call.function}_{number}"
            if name not in self.taken:
                self.values[text] = name
            number += 1
        return self.values[text]
