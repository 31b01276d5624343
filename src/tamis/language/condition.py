"""Compilation of one condition, from text to formula, with all of its problems."""

from __future__ import annotations

from dataclasses import dataclass, field

from tamis.errors import ConditionError, Problem
from tamis.formulas.binding import UnboundError
from tamis.formulas.expression import Typed
from tamis.formulas.formula import Formula
from tamis.language.analysis import Schema, Schemaless, analyse
from tamis.language.dialects import SQL, parse_dialect
from tamis.language.truth import Truth
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax import tree as syntax
from tamis.syntax.printing import to_text


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that was accepted for an event type.

    Attributes:
        text: As it was written.
        dialect: The dialect of the text; all that follows is the same for every dialect.
        tree: Its syntax tree.
        expression: The typed expression for the event type; three-valued.
        formula: Holds when the expression is TRUE; two-valued. Engines match this.
        schema: The event type.
        sources: The syntax that each part of the expression came from, by identity.
    """

    text: str
    tree: syntax.Expression
    expression: Typed
    formula: Formula
    schema: Schema = field(compare=False)
    sources: dict[int, syntax.Expression] = field(compare=False, repr=False)
    dialect: str = SQL


def compile_condition(
    text: str, event_type: Schema | None = None, limits: Limits = DEFAULT_LIMITS, dialect: str = SQL
) -> Condition:
    """Parse, check and normalise a condition.

    >>> compile_condition("price < 300 AND price >= 100").formula
    Formula(price >= 100 AND price < 300)

    Raises:
        ConditionError: It is refused; the error has everything that is wrong with it.
        DialectError: There is no such dialect.
    """
    try:
        tree, problems = parse_dialect(text, dialect, limits)
        return _compile(text, tree, problems, event_type, limits, dialect)
    except RecursionError:
        # The limit on depth leaves room for hundreds of callers; a deeper stack gets an error, too.
        message = "nested too deep for the stack that its caller has left"
        raise ConditionError(text, [Problem(message, 0, len(text))]) from None


def normalise(
    condition: str | syntax.Expression, event_type: Schema | None = None, limits: Limits = DEFAULT_LIMITS
) -> Formula:
    """The formula of a condition, given as text or as `parse` returned it.

    >>> from tamis.syntax.parser import parse
    >>> normalise(parse("NOT (a < 3 OR b = 'x')"))
    Formula(a >= 3 AND b <> 'x')
    """
    if isinstance(condition, str):
        return compile_condition(condition, event_type, limits).formula
    return _compile(to_text(condition), condition, [], event_type, limits).formula


def _compile(
    text: str,
    tree: syntax.Expression,
    problems: list[Problem],
    event_type: Schema | None,
    limits: Limits,
    dialect: str = SQL,
) -> Condition:
    schema = event_type if event_type is not None else Schemaless()
    sources: dict[int, syntax.Expression] = {}
    expression, more = analyse(tree, schema, limits, sources, is_whole=not problems)
    if problems or more or expression is None:
        raise ConditionError(text, [*problems, *more])
    try:
        formula = Truth().formula(expression)
    except UnboundError as error:
        raise ConditionError(text, [_unbound(tree, error)]) from None
    size = sum(1 for _ in formula.nodes())
    if size > limits.nodes:
        message = f"its formula has {size} nodes, {limits.nodes} are allowed"
        raise ConditionError(text, [Problem(message, 0, len(text))])
    return Condition(text, tree, expression, formula, schema, sources, dialect)


def _unbound(tree: syntax.Expression, error: UnboundError) -> Problem:
    """The problem, at the last place of the variable."""
    places = [
        node.span
        for node in syntax.walk(tree)
        if isinstance(node, syntax.Free) and node.name.lower() == error.variable
    ]
    start, end = max(places)
    return Problem(str(error), start, end)
