"""The parts of a composite subscription, compiled for an event type.

A part is split: its *local* condition speaks of one event alone and is an ordinary subscription of the inner
matcher; its *joint* condition holds the conjuncts that refer to events of earlier parts. A joint condition is one
of the language, too, over an event type with one more attribute, a struct, for each named part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tamis.arrays import I64
from tamis.composite.syntax import Composite, PartSyntax, parse_composite
from tamis.errors import ConditionError, Problem
from tamis.events.batch import EventBatch
from tamis.events.event_type import Attribute, EventType
from tamis.formulas.expression import Path
from tamis.language.analysis import analyse
from tamis.language.condition import Condition, compile_condition
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.printing import to_text
from tamis.syntax.tree import Cast, Expression, FieldAccess, Free, FunctionCall, Lambda, Literal, Name, walk
from tamis.values.types import BOOLEAN, struct


@dataclass(frozen=True, slots=True)
class CompiledPart:
    """What an event must satisfy alone, and together with the events of earlier parts.

    Attributes:
        text: As it was written.
        local: Of the event alone.
        joint: With earlier events, each in an attribute of its part's name; None if it refers to none.
        name: Its own.
        gap_us: How long after the event of the part before at least.
    """

    text: str
    local: Condition
    joint: Condition | None
    name: str | None
    gap_us: int


@dataclass(frozen=True, slots=True)
class CompiledComposite:
    """A composite subscription that was accepted.

    Attributes:
        source: What its text says.
        parts: One event satisfies each.
        absent: What must not follow them.
        keys: The paths of BY.
        is_greedy: Is the earliest event that fits always the best? Without joint conditions, what fits after a
            later event fits after it, too.
    """

    source: Composite
    parts: tuple[CompiledPart, ...]
    absent: CompiledPart | None
    keys: tuple[tuple[str, ...], ...]
    is_greedy: bool

    @property
    def all_parts(self) -> tuple[CompiledPart, ...]:
        """The parts, and after them what must not come."""
        return self.parts if self.absent is None else (*self.parts, self.absent)


def compile_composite(
    text: str, event_type: EventType | None = None, limits: Limits = DEFAULT_LIMITS
) -> CompiledComposite:
    """Parse and check a composite subscription.

    Raises:
        ConditionError: It is refused; the error has all problems of its parts, with places in the whole text.
    """
    composite = parse_composite(text, limits)
    compiler = _Compiler(composite, EventType.of(event_type), limits)
    compiled = [compiler.part(part) for part in composite.parts]
    absent = None if composite.absent is None else compiler.part(composite.absent)
    keys = compiler.keys()
    if compiler.problems:
        raise ConditionError(text, compiler.problems)
    parts = tuple(part for part in compiled if part)
    is_greedy = composite.form != "all" and all(part.joint is None for part in parts)
    return CompiledComposite(composite, parts, absent, keys, is_greedy)


class _Compiler:
    """Compiles part after part; `earlier` are the names that the next one may refer to."""

    def __init__(self, composite: Composite, event_type: EventType, limits: Limits) -> None:
        self.composite = composite
        self.event_type = event_type
        self.limits = limits
        self.problems: list[Problem] = []
        self.earlier: dict[str, str] = {}
        parts = (*composite.parts, *([composite.absent] if composite.absent else ()))
        self.names = {part.name.lower() for part in parts if part.name}

    def part(self, part: PartSyntax) -> CompiledPart | None:
        """None if it has problems."""
        before = len(self.problems)
        own = part.name.lower() if part.name else None
        self.check_name(part)
        tree = self.resolve(part.tree, own)
        schema = self.with_parts()
        if len(self.problems) == before:
            self.problems += analyse(tree, schema, self.limits)[1]
        if part.name and own:
            self.earlier[own] = part.name
        if len(self.problems) > before:
            return None
        conjuncts = tree.arguments if isinstance(tree, FunctionCall) and tree.function == "and" else (tree,)
        if any(isinstance(node, Free) for node in walk(tree)):
            conjuncts = (tree,)  # a variable that one conjunct binds may stand in another
        joint = [each for each in conjuncts if self.refers(each)]
        local = [each for each in conjuncts if not self.refers(each)]
        return CompiledPart(
            self.composite.text[slice(*part.span)],
            compile_condition(to_text(_conjunction(local)), self.event_type, self.limits),
            compile_condition(to_text(_conjunction(joint)), schema, self.limits) if joint else None,
            part.name,
            part.gap_us,
        )

    def keys(self) -> tuple[tuple[str, ...], ...]:
        paths = []
        for name in self.composite.by:
            expression, problems = analyse(name, self.event_type, self.limits, is_whole=False)
            self.problems += problems
            if isinstance(expression, Path):
                paths.append(expression.steps)
            elif not problems:
                self.report("BY takes attributes of the event", name.span)
        return tuple(paths)

    def check_name(self, part: PartSyntax) -> None:
        if part.name is None:
            return
        if part.name.lower() in self.earlier:
            self.report(f"two parts are named {part.name!r}", part.name_span)
        elif self.event_type.find(part.name):
            self.report(f"events have an attribute {part.name!r}", part.name_span, "choose another name")

    def resolve(self, node: Expression, own: str | None) -> Expression:
        """The tree with the part's own name left out and the others as they were declared."""
        match node:
            case Name(parts=(first, *rest)) if first.lower() in self.names:
                return self.reference(node, first, rest, own)
            case FunctionCall(function, arguments, span):
                return FunctionCall(function, tuple(self.resolve(each, own) for each in arguments), span)
            case Cast(operand, type_, span):
                return Cast(self.resolve(operand, own), type_, span)
            case FieldAccess(operand, name, span):
                return FieldAccess(self.resolve(operand, own), name, span)
            case Lambda(variable, body, span, others):
                for name in node.variables:
                    if name.lower() in self.names:
                        self.report(f"{name!r} names a part, and cannot be a variable", span)
                return Lambda(variable, self.resolve(body, own), span, others)
            case _:
                return node

    def reference(self, node: Name, first: str, rest: Sequence[str], own: str | None) -> Expression:
        name = first.lower()
        if not rest:
            self.report(f"{first!r} names a part, not a value", node.span, f"write {first}.attribute")
        elif name == own:
            return Name(tuple(rest), node.span)
        elif self.composite.form == "all":
            self.report(f"parts of ALL come in any order: none refers to {first!r}", node.span, "use SEQUENCE")
        elif name not in self.earlier:
            self.report(f"{first!r} is a later part", node.span, "a part refers to those before it")
        else:
            return Name((self.earlier[name], *rest), node.span)
        return node

    def refers(self, tree: Expression) -> bool:
        return any(isinstance(node, Name) and node.parts[0].lower() in self.earlier for node in walk(tree))

    def with_parts(self) -> EventType:
        """The event type with the events of the earlier parts."""
        known = self.event_type.attributes
        if known is None or not self.earlier:
            return self.event_type
        whole = struct(*((attribute.name, attribute.type) for attribute in known))
        more = tuple(Attribute(name, whole) for name in self.earlier.values())
        return EventType(self.event_type.name, self.event_type.time_zone, (*known, *more))

    def report(self, message: str, span: tuple[int, int], hint: str | None = None) -> None:
        self.problems.append(Problem(message, *span, hint))


def _conjunction(conjuncts: Sequence[Expression]) -> Expression:
    if not conjuncts:
        return Literal(BOOLEAN, True)
    return conjuncts[0] if len(conjuncts) == 1 else FunctionCall("and", tuple(conjuncts))


def with_earlier(
    event: Mapping[str, Any], earlier: Iterable[Mapping[str, Any]], parts: Sequence[CompiledPart]
) -> dict[str, Any]:
    """An event as a joint condition reads it: beside its attributes, the events of the named parts before it."""
    named = {part.name: each for part, each in zip(parts, earlier, strict=False) if part.name}
    return {**event, **named}


def keys_of(batch: EventBatch, paths: Sequence[tuple[str, ...]], rows: I64 | None = None) -> list[str | None]:
    """For each event, or those in some rows, the values of BY as one text; None if one is NULL."""
    found = [batch.column(path) for path in paths]
    columns = [(column if rows is None else column.take(rows)).to_list() for column in found]
    count = batch.rows if rows is None else len(rows)
    values = zip(*columns, strict=True) if columns else [()] * count
    return [None if None in row else key_text(row) for row in values]


def key_text(values: Iterable[Any]) -> str:
    """A key as JSON: equal values have equal texts."""
    return json.dumps([plain_value(value) for value in values], sort_keys=True)


def plain_value(value: Any) -> Any:
    """A value of JSON; numbers that are equal are written the same."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case bytes():
            return value.hex()
        case list() | tuple():
            return [plain_value(item) for item in value]
        case dict():
            return {name: plain_value(item) for name, item in value.items()}
        case bool() | int() | float() | str() | None:
            return value
        case _:
            return str(value)
