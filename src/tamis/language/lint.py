"""Lint: errors of a condition, and warnings about what is valid but surely not meant.

Errors are the problems for which a condition is refused. Warnings are about conditions that can never be true,
are always true, repeat an operand, equal another subscription, or read text as a number without a cast. They are
found by reasoning over sets of values, one attribute at a time, with the domains that the event type declares; so
every warning is right, but some such conditions get none. Where an event type declares no attributes, recent
events can be given: an attribute that none of them has is probably misspelt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import repeat
from typing import Any

import pyarrow as pa

from tamis.errors import ConditionError, DialectError, Problem
from tamis.events.batch import EventBatch
from tamis.events.event_type import Attribute, EventType
from tamis.formulas.expression import Path, Typed
from tamis.formulas.formula import FALSE, TRUE, Formula, at_least, conjunction, disjunction, leaf
from tamis.formulas.predicates.within import Within
from tamis.language.analysis import texts_read_as_numbers
from tamis.language.condition import Condition, compile_record
from tamis.language.dialects import SQL, has_state
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.tree import Expression, FunctionCall, Lambda, Name, walk
from tamis.values.order import order_key
from tamis.values.ranges import ALL, Ranges, comparison_ranges, points_of
from tamis.values.types import is_ordered


@dataclass(frozen=True, slots=True)
class Finding:
    """One error or warning.

    Attributes:
        severity: "error" or "warning".
        code: A word to search for: syntax, dialect, never-true, always-true, repeated, equal, implicit-cast,
            unseen.
        message: One sentence.
        line: Counted from 1.
        column: Counted from 1.
        hint: What to write instead, if there is a guess.
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
        names = ("subscription_id", "severity", "code", "message", "line", "column", "hint")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True, slots=True)
class SeenAttributes:
    """The attributes that some events have.

    Attributes:
        events: How many events there were.
        names: The names; of an attribute in an object, the path, with dots.
    """

    events: int
    names: frozenset[str]

    @classmethod
    def of(cls, batches: Iterable[EventBatch]) -> SeenAttributes:
        """The attributes of schemaless events.

        >>> seen = SeenAttributes.of([EventBatch.of([{"a": 1}, {"b": {"c": 2}}])])
        >>> seen.events, sorted(seen.names)
        (2, ['a', 'b', 'b.c'])
        """
        events = 0
        names: set[str] = set()
        for batch in batches:
            events += batch.rows
            for name in {name for _, name in batch.names()}:
                names.add(name)
                values = batch.raw((name,))
                for value in [] if isinstance(values, pa.Array | pa.ChunkedArray) else values:
                    _add_names(name, value, names)
        return cls(events, frozenset(names))


def _add_names(path: str, value: Any, names: set[str], depth: int = 0) -> None:
    if isinstance(value, Mapping) and depth < _DEPTH:
        for name, inner in value.items():
            names.add(f"{path}.{name}")
            _add_names(f"{path}.{name}", inner, names, depth + 1)


def lint(
    text: str,
    event_type: Any = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    seen: SeenAttributes | None = None,
    dialect: str = SQL,
) -> list[Finding]:
    """The errors and warnings of a condition.

    Examples:
        >>> [finding.code for finding in lint("a < 3 and a > 5")]
        ['never-true']
    """
    return lint_many([(None, text)], event_type, limits=limits, seen=seen, dialect=[dialect])


def lint_many(
    subscriptions: Iterable[tuple[str | None, str]],
    event_type: Any = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    seen: SeenAttributes | None = None,
    dialect: str | Sequence[str] = SQL,
) -> list[Finding]:
    """The errors and warnings of many conditions, which are also compared with each other.

    Args:
        subscriptions: Their ids and conditions.
        event_type: What they are about; None for schemaless events.
        limits: Of conditions.
        seen: The attributes of recent events, if the event type is schemaless.
        dialect: Of all conditions, or that of each.
    """
    schema = EventType.of(event_type)
    found: list[Finding] = []
    first_with: dict[bytes, str | None] = {}
    names = repeat(dialect) if isinstance(dialect, str) else dialect
    for (id, text), name in zip(subscriptions, names, strict=False):
        try:
            condition = compile_record(text, schema, limits, name)
        except ConditionError as error:
            found.extend(_finding("error", "syntax", problem, text, id) for problem in error.problems)
            continue
        except DialectError as error:
            found.append(_finding("error", "dialect", Problem(str(error), 0, len(text)), text, id))
            continue
        if has_state(name):  # which no event alone satisfies
            continue
        found.extend(
            _finding("warning", code, problem, text, id) for code, problem in _warnings(condition, schema)
        )
        if seen is not None and seen.events and schema.attributes is None:
            found.extend(_finding("warning", "unseen", each, text, id) for each in _unseen(condition.tree, seen))
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
    restricted = _restrict(condition.formula, _domains(condition.formula, schema), [_VISITS])
    if restricted is FALSE:
        yield "never-true", Problem("no event can satisfy this condition", *whole)
    elif restricted is TRUE:
        yield "always-true", Problem("every event satisfies this condition", *whole)
    for problem in texts_read_as_numbers(condition.tree, schema):
        yield "implicit-cast", problem
    for repeated in _repeated_operands(condition.tree):
        yield "repeated", Problem("this operand stands here twice", *repeated.span)


def _unseen(tree: Expression, seen: SeenAttributes) -> Iterator[Problem]:
    """The attributes that none of the events has, each where it stands first."""
    reported: set[str] = set()
    variables = {name for node in walk(tree) if isinstance(node, Lambda) for name in node.variables}
    for node in walk(tree):
        if not isinstance(node, Name) or node.parts[0] in variables:
            continue
        missing = _missing_part(node.parts, seen.names)
        if missing is not None and missing not in reported:
            reported.add(missing)
            parent = missing.rpartition(".")[0]
            beside = [name for name in seen.names if name.rpartition(".")[0] == parent]
            close = get_close_matches(missing, beside, 1)
            events = (
                "the last event does not have"
                if seen.events == 1
                else f"none of the last {seen.events:,} events has"
            )
            yield Problem(f"{events} {missing}", *node.span, f"did you mean {close[0]}?" if close else None)


def _missing_part(parts: tuple[str, ...], names: frozenset[str]) -> str | None:
    """The first part of a path that no event has, as a path; None if there is none, or it cannot be known."""
    for length in range(1, len(parts) + 1):
        path = ".".join(parts[:length])
        if path not in names:
            is_known = length == 1 or any(name.startswith(".".join(parts[: length - 1]) + ".") for name in names)
            return path if is_known else None
    return None


def _repeated_operands(tree: Expression) -> Iterator[Expression]:
    """Operands of AND, OR and IN that an earlier operand makes useless."""
    for node in walk(tree):
        if isinstance(node, FunctionCall) and node.function in ("and", "or", "in"):
            seen: set[Expression] = set()
            for operand in node.arguments[node.function == "in" :]:
                if operand in seen:
                    yield operand
                seen.add(operand)


def _domains(formula: Formula, schema: EventType) -> dict[Typed, Within]:
    """The domains that the event type declares for the attributes that the formula reads."""
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
        domain &= comparison_ranges(attribute.type, ">=", key(attribute.min))
    if attribute.max is not None:
        domain &= comparison_ranges(attribute.type, "<=", key(attribute.max))
    return domain


_VISITS = 10_000
_DEPTH = 8
"""Objects in objects, at most, whose attributes are remembered."""


def _restrict(formula: Formula, known: dict[Typed, Within], left: list[int]) -> Formula:
    """The formula, simplified by what is known of its attributes at its place.

    What is known differs from place to place, so a shared node is visited wherever it is used. `left` holds the
    number of visits that remain; after them, nodes stay as they are.
    """
    left[0] -= 1
    predicate = formula.predicate
    if isinstance(predicate, Within) and predicate.attribute in known:
        return _simplify(predicate, known[predicate.attribute])
    if predicate is not None or not formula.operands or left[0] < 0:
        return formula
    if not formula.is_and:
        inner = [_restrict(operand, known, left) for operand in formula.operands]
        return disjunction(inner) if formula.is_or else at_least(formula.least, inner)
    # In a conjunction, every operand may assume the plain predicates beside it.
    narrowed = dict(known)
    for operand in formula.operands:
        if isinstance(operand.predicate, Within):
            attribute = operand.predicate.attribute
            narrowed[attribute] = _intersect(operand.predicate, narrowed.get(attribute))
    return conjunction(
        [
            _restrict(operand, known if isinstance(operand.predicate, Within) else narrowed, left)
            for operand in formula.operands
        ]
    )


def _intersect(one: Within, other: Within | None) -> Within:
    if other is None:
        return one
    return Within(one.attribute, one.ranges & other.ranges, one.null and other.null)


def _simplify(predicate: Within, known: Within) -> Formula:
    """FALSE if the predicate excludes all possible values, TRUE if it admits all of them."""
    possible = _intersect(predicate, known)
    if leaf(possible) is FALSE:
        return FALSE
    return TRUE if possible == known else leaf(possible)
