"""Compilation of one condition, from text to formula, with all of its problems."""

from __future__ import annotations

from typing import NamedTuple

from tamis.errors import ConditionError, Problem
from tamis.formulas.binding import UnboundError
from tamis.formulas.expression import Typed
from tamis.formulas.formula import Formula
from tamis.language.analysis import Schema, Schemaless, analyse
from tamis.language.dialects import SQL, has_state, parse_dialect
from tamis.language.plain_conditions import plain_formula
from tamis.language.relations import spell_out
from tamis.language.truth import Truth
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax import tree as syntax
from tamis.syntax.printing import to_text

NEEDS_STATE = (
    "several events satisfy a composite subscription together, never one: use SequenceMatcher or a stream"
)
_SCHEMALESS = Schemaless()


class Condition:
    """A condition that was accepted for an event type; equal if text, dialect and formula are.

    Attributes:
        text: As it was written.
        formula: Holds when the expression is TRUE; two-valued. Engines match this.
        schema: The event type.
        dialect: The language of the text.
    """

    __slots__ = ("_analysed", "_limits", "dialect", "formula", "schema", "text")

    def __init__(
        self,
        text: str,
        formula: Formula,
        schema: Schema,
        dialect: str = SQL,
        limits: Limits = DEFAULT_LIMITS,
        analysed: Analysed | None = None,
    ) -> None:
        """Made by `compile_condition`; what is not analysed yet is analysed when somebody asks."""
        self.text = text
        self.formula = formula
        self.schema = schema
        self.dialect = dialect
        self._limits = limits
        self._analysed = analysed

    @property
    def tree(self) -> syntax.Expression:
        """Its syntax tree."""
        return self._analysis().tree

    @property
    def expression(self) -> Typed:
        """The typed expression for the event type; three-valued."""
        return self._analysis().expression

    @property
    def sources(self) -> dict[int, syntax.Expression]:
        """The syntax that each part of the expression came from, by identity."""
        return self._analysis().sources

    def _analysis(self) -> Analysed:
        if self._analysed is None:
            tree, problems = parse_dialect(self.text, self.dialect, self._limits)
            self._analysed = _analyse(self.text, tree, problems, self.schema, self._limits)
        return self._analysed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[str, str, Formula]:
        return self.text, self.dialect, self.formula

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"


class Analysed(NamedTuple):
    """A condition's syntax tree, its typed expression, and the syntax that each part of that came from."""

    tree: syntax.Expression
    expression: Typed
    sources: dict[int, syntax.Expression]


def compile_condition(
    text: str, event_type: Schema | None = None, limits: Limits = DEFAULT_LIMITS, dialect: str = SQL
) -> Condition:
    """Parse, check and normalise a condition.

    Examples:
        >>> compile_condition("price < 300 AND price >= 100").formula
        Formula(price >= 100 AND price < 300)

    Raises:
        ConditionError: It is refused; the error has everything that is wrong with it. A composite subscription is
            none: several events satisfy it together.
        DialectError: There is no such dialect.
    """
    found = compile_record(text, event_type, limits, dialect)
    if has_state(dialect):
        raise ConditionError(text, [Problem(NEEDS_STATE, 0, len(text))])
    return found


def compile_record(
    text: str, event_type: Schema | None = None, limits: Limits = DEFAULT_LIMITS, dialect: str = SQL
) -> Condition:
    """As `compile_condition`, for whoever keeps records of all dialects: a composite one is never true alone."""
    schema = event_type if event_type is not None else _SCHEMALESS
    if dialect == SQL:
        plain = plain_formula(text, schema, limits)
        if plain is not None:
            return Condition(text, plain, schema, dialect, limits)
    try:
        return _compile(text, *parse_dialect(text, dialect, limits), schema, limits, dialect)
    except RecursionError:
        # The limit on depth leaves room for hundreds of callers; a deeper stack gets an error, too.
        message = "nested too deep for the stack that its caller has left"
        raise ConditionError(text, [Problem(message, 0, len(text))]) from None


def normalise(
    condition: str | syntax.Expression, event_type: Schema | None = None, limits: Limits = DEFAULT_LIMITS
) -> Formula:
    """The formula of a condition, given as text or as `parse` returned it.

    Examples:
        >>> from tamis.syntax.parser import parse
        >>> normalise(parse("NOT (a < 3 OR b = 'x')"))
        Formula(a >= 3 AND b <> 'x')
    """
    if isinstance(condition, str):
        return compile_condition(condition, event_type, limits).formula
    schema = event_type if event_type is not None else _SCHEMALESS
    return _compile(to_text(condition), condition, [], schema, limits).formula


def _compile(
    text: str,
    tree: syntax.Expression,
    problems: list[Problem],
    schema: Schema,
    limits: Limits,
    dialect: str = SQL,
) -> Condition:
    analysed = _analyse(text, tree, problems, schema, limits)
    try:
        formula = Truth().formula(analysed.expression)
    except UnboundError as error:
        raise ConditionError(text, [_unbound(tree, error)]) from None
    size = sum(1 for _ in formula.nodes())
    if size > limits.nodes:
        message = f"its formula has {size} nodes, {limits.nodes} are allowed"
        raise ConditionError(text, [Problem(message, 0, len(text))])
    return Condition(text, formula, schema, dialect, limits, analysed)


def _analyse(
    text: str, tree: syntax.Expression, problems: list[Problem], schema: Schema, limits: Limits
) -> Analysed:
    sources: dict[int, syntax.Expression] = {}
    expression, more = analyse(tree, schema, limits, sources, is_whole=not problems)
    if problems or more or expression is None:
        raise ConditionError(text, [*problems, *more])
    return Analysed(tree, expression, sources)


def _unbound(tree: syntax.Expression, error: UnboundError) -> Problem:
    """The problem, at the last place of the variable."""
    places = [
        node.span
        for node in syntax.walk(spell_out(tree))
        if isinstance(node, syntax.Free) and node.name.lower() == error.variable
    ]
    start, end = max(places)
    return Problem(str(error), start, end)
