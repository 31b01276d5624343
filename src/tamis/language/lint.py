"""Lint: what is wrong with a condition, and what is right but surely not meant.

Errors are the problems for which a condition is refused. Warnings are about conditions that can never be true,
are always true, repeat an operand, or equal another subscription. They are found by reasoning over sets of
values, one attribute at a time, with the domains that the event type declares; so a warning is always right, and
no warning is no promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tamis.errors import ConditionError, Problem
from tamis.events.event_type import Attribute, EventType
from tamis.language.condition import Condition, compile_condition
from tamis.language.expression import Path, Typed
from tamis.language.formula import FALSE, TRUE, Formula, at_least, conjunction, disjunction, leaf
from tamis.language.syntax import Call, Expression, walk
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.predicates.within import Within
from tamis.values.order import order_key
from tamis.values.ranges import ALL, Ranges, compared, points_of
from tamis.values.types import is_ordered


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that lint has to say.

    Attributes:
        severity: "error" or "warning".
        code: A word to search for: syntax, never-true, always-true, repeated, equal.
        message: One sentence.
        line: Counted from 1.
        column: Counted from 1.
        hint: What to write instead, when we have a guess.
        text: The message with the line of the condition and carets below it.
        subscription_id: Whose condition it is.
    """

    severity: str
    code: str
    message: str
    line: int
    column: int
    hint: str | None
    text: str
    subscription_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = ("subscription_id", "severity", "code", "message", "line", "column", "hint")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def lint(text: str, event_type: Any = None, *, limits: Limits = DEFAULT_LIMITS) -> list[Finding]:
    """Everything there is to say about a condition; nothing if it is fine.

    >>> [finding.code for finding in lint("a < 3 and a > 5")]
    ['never-true']
    """
    return lint_many([(None, text)], event_type, limits=limits)


def lint_many(
    subscriptions: Iterable[tuple[str | None, str]],
    event_type: Any = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Finding]:
    """Everything there is to say about many conditions, also compared with each other."""
    schema = EventType.of(event_type)
    found: list[Finding] = []
    first_with: dict[bytes, str | None] = {}
    for id, text in subscriptions:
        try:
            condition = compile_condition(text, schema, limits)
        except ConditionError as error:
            found.extend(_finding("error", "syntax", problem, text, id) for problem in error.problems)
            continue
        found.extend(
            _finding("warning", code, problem, text, id) for code, problem in _warnings(condition, schema)
        )
        digest = condition.formula.digest
        if digest in first_with:
            problem = Problem(f"this is the same condition as that of {first_with[digest]!r}", 0, len(text))
            found.append(_finding("warning", "equal", problem, text, id))
        else:
            first_with[digest] = id
    return found


def _finding(severity: str, code: str, problem: Problem, text: str, id: str | None) -> Finding:
    line, column = problem.line_and_column(text)
    return Finding(severity, code, problem.message, line, column, problem.hint, problem.render(text), id)


def _warnings(condition: Condition, schema: EventType) -> Iterator[tuple[str, Problem]]:
    whole = condition.tree.span
    restricted = _restricted(condition.formula, _domains(condition.formula, schema), [_VISITS])
    if restricted is FALSE:
        yield "never-true", Problem("no event can satisfy this condition", *whole)
    elif restricted is TRUE:
        yield "always-true", Problem("every event satisfies this condition", *whole)
    for repeated in _repeated(condition.tree):
        yield "repeated", Problem("this operand stands here twice", *repeated.span)


def _repeated(tree: Expression) -> Iterator[Expression]:
    """Operands of AND, OR and IN that an earlier operand makes useless."""
    for node in walk(tree):
        if isinstance(node, Call) and node.function in ("and", "or", "in"):
            seen: set[Expression] = set()
            for operand in node.arguments[node.function == "in" :]:
                if operand in seen:
                    yield operand
                seen.add(operand)


def _domains(formula: Formula, schema: EventType) -> dict[Typed, Within]:
    """What the event type says about the attributes that the formula reads."""
    if schema.attributes is None:
        return {}
    declared: dict[tuple[str, ...], Attribute] = {(each.name,): each for each in schema.attributes}
    domains: dict[Typed, Within] = {}
    for predicate in formula.predicates():
        attribute = predicate.attribute
        known = declared.get(attribute.steps) if isinstance(attribute, Path) else None
        if known is not None:
            domains[attribute] = Within(attribute, _domain(known), null=not known.required)
    return domains


def _domain(attribute: Attribute) -> Ranges:
    if not is_ordered(attribute.type):
        return ALL
    key = order_key(attribute.type)
    domain = ALL
    if attribute.values is not None:
        domain &= points_of(attribute.type, map(key, attribute.values))
    if attribute.min is not None:
        domain &= compared(attribute.type, ">=", key(attribute.min))
    if attribute.max is not None:
        domain &= compared(attribute.type, "<=", key(attribute.max))
    return domain


_VISITS = 10_000


def _restricted(formula: Formula, known: dict[Typed, Within], left: list[int]) -> Formula:
    """The formula, simplified by what is known of its attributes where it stands.

    What is known differs from place to place, so a shared node is looked at wherever it is used; `left` holds how
    many more looks there may be, and what is not looked at stays as it is.
    """
    left[0] -= 1
    predicate = formula.predicate
    if isinstance(predicate, Within) and predicate.attribute in known:
        return _against(predicate, known[predicate.attribute])
    if predicate is not None or not formula.operands or left[0] < 0:
        return formula
    if not formula.is_and:
        inner = [_restricted(operand, known, left) for operand in formula.operands]
        return disjunction(inner) if formula.is_or else at_least(formula.least, inner)
    # In a conjunction, every operand may assume what the plain predicates beside it say.
    narrowed = dict(known)
    for operand in formula.operands:
        if isinstance(operand.predicate, Within):
            attribute = operand.predicate.attribute
            narrowed[attribute] = _both(operand.predicate, narrowed.get(attribute))
    return conjunction(
        [
            _restricted(operand, known if isinstance(operand.predicate, Within) else narrowed, left)
            for operand in formula.operands
        ]
    )


def _both(one: Within, other: Within | None) -> Within:
    if other is None:
        return one
    return Within(one.attribute, one.ranges & other.ranges, one.null and other.null)


def _against(predicate: Within, known: Within) -> Formula:
    """FALSE if the predicate rules out all that is known to be possible, TRUE if it admits all of it."""
    possible = _both(predicate, known)
    if leaf(possible) is FALSE:
        return FALSE
    return TRUE if possible == known else leaf(possible)
