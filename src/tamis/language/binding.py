"""Variables: conditions on what operators find, as quantifiers over what they return.

`plates(image, ?p, ?n) AND stolen(?p) AND ?n > 2` holds when one choice of ?p and ?n makes all of it true. A call
that binds is an array of structs, and so the condition says the same as
`exists(plates(image), row -> stolen(row.plate) AND row.count > 2)`: that is what variables become here, so that
nothing downstream knows them. An OR has a choice of its own on each side; parts of an AND that share no variable
are independent. Every variable must be bound by a call that is not negated, in each alternative that uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import TypeAlias

from tamis.errors import TamisError
from tamis.functions.registry import Signature
from tamis.language.expression import Apply, Call, Constant, Quantifier, Typed, Variable, walk
from tamis.language.formula import Formula, at_least, conjunction, disjunction, leaf
from tamis.predicates.base import Predicate
from tamis.predicates.matches import Matches
from tamis.predicates.quantified import Quantified
from tamis.predicates.within import Within
from tamis.values.ranges import ALL, compared
from tamis.values.types import BOOLEAN, STRING

Values: TypeAlias = dict[Variable, Typed]
Truth: TypeAlias = Callable[[Typed], Formula]

BINDS = "binds"
"""The function that a binding call becomes: is there a row with these values?"""
_TRUE = compared(BOOLEAN, "=", 1)
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
    """Is it a variable of the condition, not the element of a quantifier?"""
    return isinstance(expression, Variable) and expression.name.startswith("?")


def free_in(expression: Typed) -> set[Variable]:
    """The condition's variables in an expression."""
    return {part for part in walk(expression) if isinstance(part, Variable) and is_free(part)}


def bound(formula: Formula, truth: Truth, depth: int = 0) -> Formula:
    """When some choice of the variables satisfies the formula.

    Args:
        formula: When the condition is true for one choice.
        truth: The formula of a Boolean expression.
        depth: How many quantifiers are around.

    Raises:
        UnboundError: A variable is used where nothing binds it.
    """
    if not _free(formula):
        return formula
    if formula.predicate is None and not formula.is_and:
        return disjunction([bound(each, truth, depth) for each in _alternatives(formula)])
    conjuncts = formula.operands if formula.is_and else (formula,)
    apart = [each for each in conjuncts if not _free(each)]
    solved = [_solved(group, truth, depth) for group in _groups([each for each in conjuncts if _free(each)])]
    return conjunction([*apart, *solved])


def _solved(conjuncts: list[Formula], truth: Truth, depth: int) -> Formula:
    """Conjuncts that hang together by their variables: one of them must say what a variable can be."""
    for place, each in enumerate(conjuncts):
        binder = _binder(each)
        if binder is not None:
            return _over_rows(binder, conjuncts[:place] + conjuncts[place + 1 :], truth, depth)
    for place, each in enumerate(conjuncts):
        if each.predicate is None:
            others = conjuncts[:place] + conjuncts[place + 1 :]
            return disjunction([bound(conjunction([one, *others]), truth, depth) for one in _alternatives(each)])
    used = [each for each in conjuncts if not _is_binding(each)] or conjuncts
    names = sorted(variable.name for each in used for variable in _free(each))
    msg = f"{names[0]} is used where no call binds it: one that is not negated must, in each alternative"
    raise UnboundError(names[0].removeprefix("?"), msg)


def _over_rows(binder: Apply, others: list[Formula], truth: Truth, depth: int) -> Formula:
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
    body = _with(conjunction([*tests, *others]), values)
    return leaf(Quantified(call, row, bound(body, truth, depth + 1), every=False))


def _binder(formula: Formula) -> Apply | None:
    """The call that binds, if this is one, not negated, and what it is called with is known."""
    predicate = formula.predicate
    if (
        not _is_binding(formula)
        or not isinstance(predicate, Within)
        or predicate.ranges != _TRUE
        or predicate.null
    ):
        return None
    expression = predicate.attribute
    return expression if isinstance(expression, Apply) and not free_in(expression.arguments[0]) else None


def _is_binding(formula: Formula) -> bool:
    expression = None if formula.predicate is None else formula.predicate.attribute
    return isinstance(expression, Apply) and expression.function == BINDS


def _alternatives(formula: Formula) -> list[Formula]:
    """What an OR, or "at least k of", is an OR of."""
    count = comb(len(formula.operands), formula.least)
    if count > _MOST_ALTERNATIVES:
        name = sorted(variable.name for variable in _free(formula))[0]
        msg = f"{name} stands in a part with {count} alternatives, {_MOST_ALTERNATIVES} are allowed"
        raise UnboundError(name.removeprefix("?"), msg)
    return [conjunction(each) for each in combinations(formula.operands, formula.least)]


def _groups(conjuncts: Sequence[Formula]) -> list[list[Formula]]:
    """Conjuncts that share variables, directly or through others, in the order of the condition."""
    groups: list[tuple[set[Variable], list[Formula]]] = []
    for each in conjuncts:
        variables, members = _free(each), [each]
        rest = []
        for names, group in groups:
            if names & variables:
                variables, members = names | variables, group + members
            else:
                rest.append((names, group))
        groups = [*rest, (variables, members)]
    return [members for _, members in groups]


def _free(formula: Formula) -> set[Variable]:
    return {variable for predicate in formula.predicates() for variable in _free_of(predicate)}


def _free_of(predicate: Predicate) -> set[Variable]:
    found = free_in(predicate.attribute)
    return found | _free(predicate.formula) if isinstance(predicate, Quantified) else found


def _with(formula: Formula, values: Values) -> Formula:
    """The formula with variables replaced."""
    known: dict[int, Formula] = {}
    for node in formula.nodes():
        if node.predicate is not None:
            known[id(node)] = leaf(_predicate_with(node.predicate, values))
        else:
            known[id(node)] = at_least(node.least, [known[id(operand)] for operand in node.operands])
    return known[id(formula)]


def _predicate_with(predicate: Predicate, values: Values) -> Predicate:
    match predicate:
        case Within() | Matches():
            return replace(predicate, attribute=_expression_with(predicate.attribute, values))
        case Quantified():
            return replace(
                predicate,
                attribute=_expression_with(predicate.attribute, values),
                formula=_with(predicate.formula, values),
            )
        case _:
            msg = f"there is no way to put values into a predicate of the kind {type(predicate).__name__}"
            raise TypeError(msg)


def _expression_with(expression: Typed, values: Values) -> Typed:
    match expression:
        case Variable():
            return values.get(expression, expression)
        case Apply(arguments=arguments) | Call(arguments=arguments):
            return replace(expression, arguments=tuple(_expression_with(each, values) for each in arguments))
        case Quantifier(array=array, body=body):
            return replace(expression, array=_expression_with(array, values), body=_expression_with(body, values))
        case _:
            return expression
