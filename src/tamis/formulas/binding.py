"""Binding of variables: conditions on the results of operators become quantifiers over these results.

`plates(image, ?p, ?n) AND stolen(?p) AND ?n > 2` holds when one choice of ?p and ?n makes all of it true. A call
that binds variables returns an array of structs, so the condition is equivalent to
`exists(plates(image), row -> stolen(row.plate) AND row.count > 2)`. This module makes that rewrite, so that
nothing downstream knows variables. Each side of an OR has a choice of its own; parts of an AND that share no
variable are independent. Every variable must be bound by a call that is not negated, in each alternative that uses
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import TypeAlias

from tamis.errors import TamisError
from tamis.formulas.expression import Apply, Constant, HigherOrder, OperatorCall, Quantifier, Typed, Variable, walk
from tamis.formulas.formula import Formula, at_least, conjunction, disjunction, leaf
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.formulas.predicates.quantified import Quantified
from tamis.formulas.predicates.within import Within
from tamis.functions.registry import Signature
from tamis.values.ranges import ALL, comparison_ranges
from tamis.values.types import BOOLEAN, STRING

Values: TypeAlias = dict[Variable, Typed]
Truth: TypeAlias = Callable[[Typed], Formula]

BINDS = "binds"
"""The function that stands for a binding call: does some row have these values?"""
_TRUE = comparison_ranges(BOOLEAN, "=", 1)
_MOST_ALTERNATIVES = 1_000


class UnboundError(TamisError):
    """A variable that no call binds.

    Attributes:
        variable: Its name, without the question mark.
    """

    def __init__(self, variable: str, message: str) -> None:
        super().__init__(message)
        self.variable = variable


def is_free(expression: Typed) -> bool:
    """Is it a variable `?x` of the condition, not the element of a quantifier?"""
    return isinstance(expression, Variable) and expression.name.startswith("?")


def free_variables(expression: Typed) -> set[Variable]:
    """The variables `?x` in an expression."""
    return {part for part in walk(expression) if isinstance(part, Variable) and is_free(part)}


def bind_variables(formula: Formula, truth: Truth, depth: int = 0) -> Formula:
    """The formula that holds when some choice of the variables satisfies the given one.

    Args:
        formula: Holds when the condition is true for one choice.
        truth: The formula of a Boolean expression.
        depth: The number of quantifiers around it.

    Raises:
        UnboundError: A variable is used where nothing binds it.
    """
    if not _free_variables(formula):
        return formula
    if formula.predicate is None and not formula.is_and:
        return disjunction([bind_variables(each, truth, depth) for each in _alternatives(formula)])
    conjuncts = formula.operands if formula.is_and else (formula,)
    independent = [each for each in conjuncts if not _free_variables(each)]
    bound = [
        _bind_group(group, truth, depth)
        for group in _groups([each for each in conjuncts if _free_variables(each)])
    ]
    return conjunction([*independent, *bound])


def _bind_group(conjuncts: list[Formula], truth: Truth, depth: int) -> Formula:
    """Bind conjuncts that share variables: one of them must be a call that binds one of these."""
    for place, each in enumerate(conjuncts):
        binder = _binding_call(each)
        if binder is not None:
            return _quantify_rows(binder, conjuncts[:place] + conjuncts[place + 1 :], truth, depth)
    for place, each in enumerate(conjuncts):
        if each.predicate is None:
            others = conjuncts[:place] + conjuncts[place + 1 :]
            return disjunction(
                [bind_variables(conjunction([one, *others]), truth, depth) for one in _alternatives(each)]
            )
    used = [each for each in conjuncts if not _is_binding(each)] or conjuncts
    names = sorted(variable.name for each in used for variable in _free_variables(each))
    msg = f"{names[0]} is used where no call binds it: one that is not negated must, in each alternative"
    raise UnboundError(names[0].removeprefix("?"), msg)


def _quantify_rows(binder: Apply, others: list[Formula], truth: Truth, depth: int) -> Formula:
    call = binder.arguments[0]
    zone = binder.signature.zone
    row = Variable(f"row_{depth + 1}", call.type.item)
    values: Values = {}
    tests: list[Formula] = []
    for (name, type_), given in zip(row.type.fields, binder.arguments[1:], strict=True):
        field = Apply("field", (row, Constant(STRING, name)), Signature((row.type, STRING), type_, zone))
        if isinstance(given, Variable) and is_free(given) and given not in values:
            values[given] = field
            tests.append(leaf(Within(field, ALL)))
        else:
            tests.append(truth(Apply("=", (field, given), Signature((type_, type_), BOOLEAN, zone))))
    body = _substitute(conjunction([*tests, *others]), values)
    return leaf(Quantified(call, row, bind_variables(body, truth, depth + 1), every=False))


def _binding_call(formula: Formula) -> Apply | None:
    """The binding call, if this is one that is not negated and whose arguments have no variables."""
    predicate = formula.predicate
    if (
        not _is_binding(formula)
        or not isinstance(predicate, Within)
        or predicate.ranges != _TRUE
        or predicate.null
    ):
        return None
    expression = predicate.attribute
    return expression if isinstance(expression, Apply) and not free_variables(expression.arguments[0]) else None


def _is_binding(formula: Formula) -> bool:
    expression = None if formula.predicate is None else formula.predicate.attribute
    return isinstance(expression, Apply) and expression.function == BINDS


def _alternatives(formula: Formula) -> list[Formula]:
    """The disjuncts of an OR, or of "at least k of" written as an OR of ANDs."""
    count = comb(len(formula.operands), formula.least)
    if count > _MOST_ALTERNATIVES:
        name = sorted(variable.name for variable in _free_variables(formula))[0]
        msg = f"{name} stands in a part with {count} alternatives, {_MOST_ALTERNATIVES} are allowed"
        raise UnboundError(name.removeprefix("?"), msg)
    return [conjunction(each) for each in combinations(formula.operands, formula.least)]


def _groups(conjuncts: Sequence[Formula]) -> list[list[Formula]]:
    """Groups of conjuncts that share variables, directly or through others, in the order of the condition."""
    groups: list[tuple[set[Variable], list[Formula]]] = []
    for each in conjuncts:
        variables, members = _free_variables(each), [each]
        rest = []
        for names, group in groups:
            if names & variables:
                variables, members = names | variables, group + members
            else:
                rest.append((names, group))
        groups = [*rest, (variables, members)]
    return [members for _, members in groups]


def _free_variables(formula: Formula) -> set[Variable]:
    return {variable for predicate in formula.predicates() for variable in _free_in_predicate(predicate)}


def _free_in_predicate(predicate: Predicate) -> set[Variable]:
    found = free_variables(predicate.attribute)
    return found | _free_variables(predicate.formula) if isinstance(predicate, Quantified) else found


def _substitute(formula: Formula, values: Values) -> Formula:
    known: dict[int, Formula] = {}
    for node in formula.nodes():
        if node.predicate is not None:
            known[id(node)] = leaf(_substitute_in_predicate(node.predicate, values))
        else:
            known[id(node)] = at_least(node.least, [known[id(operand)] for operand in node.operands])
    return known[id(formula)]


def _substitute_in_predicate(predicate: Predicate, values: Values) -> Predicate:
    match predicate:
        case Within() | MatchesPattern():
            return replace(predicate, attribute=_substitute_in_expression(predicate.attribute, values))
        case Quantified():
            return replace(
                predicate,
                attribute=_substitute_in_expression(predicate.attribute, values),
                formula=_substitute(predicate.formula, values),
            )
        case _:
            msg = f"there is no way to put values into a predicate of the kind {type(predicate).__name__}"
            raise TypeError(msg)


def _substitute_in_expression(expression: Typed, values: Values) -> Typed:
    match expression:
        case Variable():
            return values.get(expression, expression)
        case Apply(arguments=arguments) | OperatorCall(arguments=arguments):
            return replace(
                expression, arguments=tuple(_substitute_in_expression(each, values) for each in arguments)
            )
        case Quantifier(array=array, body=body):
            return replace(
                expression,
                array=_substitute_in_expression(array, values),
                body=_substitute_in_expression(body, values),
            )
        case HigherOrder(arguments=arguments, bodies=bodies):
            return replace(
                expression,
                arguments=tuple(_substitute_in_expression(each, values) for each in arguments),
                bodies=tuple(_substitute_in_expression(each, values) for each in bodies),
            )
        case _:
            return expression
