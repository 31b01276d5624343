"""Explanations: why an event satisfies a condition, or why not, with the verdict and the values of every part.

The verdicts come from the reference evaluator, so an explanation is right even if an engine were wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tamis.events.batch import EventBatch
from tamis.formulas.expression import (
    Apply,
    Constant,
    Joint,
    OperatorCall,
    Path,
    Typed,
    Variable,
    calls_in,
    parts,
    to_syntax,
    walk,
)
from tamis.language.condition import Condition
from tamis.language.dialects import SQL
from tamis.numerals import duration_text
from tamis.reference import EventRow, evaluator
from tamis.syntax.printing import to_text
from tamis.syntax.tree import TESTS
from tamis.values.casts import to_text as value_text
from tamis.values.column import Value
from tamis.values.types import BOOLEAN, STRING, Type

_CONNECTIVES = (
    *("and", "or", "not", "xor", "at_least", "coalesce", "case", "if", "and_then", "or_else"),
    *TESTS,
)
_SHORT = ("and", "or", "not", "xor", "and_then", "or_else", "is_true", "is_not_true", "is_false", "is_not_false")
_SIGNS = ("&&", "||")
_WORDS = {True: "true", False: "false", None: "unknown"}


@dataclass(frozen=True, slots=True)
class ExplainedPart:
    """One part of a condition.

    Attributes:
        text: As a condition would write it; of another dialect than SQL, as it was written.
        verdict: TRUE, FALSE or NULL (None) for this event.
        operator: What joins its parts (`and`, `or`, ...), or None for a predicate.
        values: The attributes that a predicate reads, and their values in the event.
        parts: Its operands.
        word: What the text of another dialect than SQL has between them, if that is a word or a sign.
    """

    text: str
    verdict: bool | None
    operator: str | None = None
    values: dict[str, str] = field(default_factory=dict)
    parts: tuple[ExplainedPart, ...] = ()
    word: str | None = None

    @property
    def label(self) -> str:
        """The label in a tree: the name of a connective, whose parts are shown below it; else the whole text."""
        if not self.parts or self.operator is None:
            return self.text
        if self.word is not None:
            return self.word
        if self.operator == "at_least":
            return f"AT LEAST {self.text.removeprefix('at_least(').partition(',')[0]} OF"
        return self.operator.upper().replace("_", " ") if self.operator in _SHORT else self.text

    def to_dict(self) -> dict[str, Any]:
        inner = [part.to_dict() for part in self.parts]
        return {
            "text": self.text,
            "verdict": self.verdict,
            **({"operator": self.operator} if self.operator else {}),
            **({"values": self.values} if self.values else {}),
            **({"parts": inner} if inner else {}),
        }


@dataclass(frozen=True, slots=True)
class ExplainedCall:
    """A call of an operator in a condition.

    Attributes:
        text: As a condition would write it.
        value: The result of the operator.
        seconds: Expected seconds of a call.
        made: Would matching make it? Not if the other predicates decide.
        shared: How many subscriptions of the matcher share it; None if that is not known.
    """

    text: str
    value: str
    seconds: float
    made: bool
    shared: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "value": self.value,
            "seconds": self.seconds,
            "made": self.made,
            **({} if self.shared is None else {"shared": self.shared}),
        }

    def __str__(self) -> str:
        shared = (
            f", one call for {self.shared} subscriptions" if self.shared is not None and self.shared > 1 else ""
        )
        made = shared if self.made else ", not made in matching: the rest decides"
        return f"call {self.text} = {self.value}, {duration_text(self.seconds)}{made}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """An explanation; print it, or walk its `tree`.

    Attributes:
        subscription_id: Whose condition it is, if it has an owner.
        condition: The text.
        matched: Does the event satisfy it?
        reason: One sentence that says why.
        tree: Every part with its verdict.
        calls: The operator calls in it, without those on variables that other calls bind.
    """

    subscription_id: str | None
    condition: str
    matched: bool
    reason: str
    tree: ExplainedPart
    calls: tuple[ExplainedCall, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "subscription_id": self.subscription_id,
            "condition": self.condition,
            "matched": self.matched,
            "reason": self.reason,
            "tree": self.tree.to_dict(),
            **({"calls": [call.to_dict() for call in self.calls]} if self.calls else {}),
        }

    def __str__(self) -> str:
        """The reason and the tree as plain text."""
        return "\n".join([self.reason, *_lines(self.tree, ""), *map(str, self.calls)])


def explain(
    condition: Condition,
    batch: EventBatch,
    *,
    row: int = 0,
    subscription_id: str | None = None,
    sharing: Callable[[OperatorCall], int] | None = None,
) -> Explanation:
    """Explain a condition for one event of a batch; `sharing` counts the subscriptions that make a call."""
    explainer = _Explainer(condition, batch, row)
    tree = explainer.part(condition.expression)
    calls = explainer.calls(condition, sharing)
    subject = "the condition" if subscription_id is None else f"subscription {subscription_id!r}"
    matched = tree.verdict is True
    verb = "matches" if matched else "does not match"
    reason = f"The event {verb} {subject} because {_because(tree)}."
    return Explanation(subscription_id, condition.text, matched, reason, tree, calls)


class _Explainer:
    def __init__(self, condition: Condition, batch: EventBatch, row: int) -> None:
        self.condition = condition
        self.sources = condition.sources
        self.zone = condition.schema.time_zone
        self.batch = batch
        self.row = row
        self.results: dict[tuple[str, str], Value] = {}

    def value(self, expression: Typed) -> Value:
        columns: dict[tuple[str, ...], list[Value]] = {}
        return evaluator(expression, self.batch, columns)(EventRow(columns, self.row, results=self.results))

    def calls(
        self, condition: Condition, sharing: Callable[[OperatorCall], int] | None
    ) -> tuple[ExplainedCall, ...]:
        """The calls on attributes of the event, and whether matching makes them."""
        # `calls_in` may give an equal call of another condition, of whose text nothing is known here.
        own = {part: part for part in walk(condition.expression) if isinstance(part, OperatorCall)}
        calls = [own[call] for call in calls_in(condition.expression) if not _has_variables(call)]
        if not calls:
            return ()
        from tamis.verification.plan import call_cost
        from tamis.verification.verifier import made_calls

        made = made_calls(condition.formula, self.batch, self.row, calls)
        return tuple(
            ExplainedCall(
                self.text(call),
                _value_text(self.value(call), call.type, self.zone),
                call_cost(call.operator, None),
                call in made,
                None if sharing is None else sharing(call),
            )
            for call in calls
        )

    def text(self, expression: Typed) -> str:
        """The text as it was written, where that is known; in another dialect than SQL, the text itself."""
        source = self.sources.get(id(expression))
        if source is None or self.condition.dialect == SQL:
            return self.name(expression)
        start, end = source.span
        return " ".join(self.condition.text[start:end].split()) or self.name(expression)

    def name(self, expression: Typed) -> str:
        """The text in SQL, whatever the dialect."""
        return to_text(self.sources.get(id(expression)) or to_syntax(expression))

    def part(self, expression: Typed) -> ExplainedPart:
        verdict = self.value(expression)
        if isinstance(expression, Joint):
            return ExplainedPart(self.text(expression.body), verdict, None, dict(self.values(expression.body)))
        if (
            isinstance(expression, Apply)
            and expression.function in _CONNECTIVES
            and not self.is_one_test(expression)
        ):
            inner = tuple(self.part(one) for one in _conditions(expression))
            # Its label is made of SQL.
            text = self.name(expression) if expression.function == "at_least" else self.text(expression)
            return ExplainedPart(text, verdict, expression.function, {}, inner, self.word(expression))
        return ExplainedPart(self.text(expression), verdict, None, dict(self.values(expression)))

    def word(self, expression: Apply) -> str | None:
        """What stands between the first two operands in the text of another dialect: `AND`, `&&`."""
        if self.condition.dialect == SQL:
            return None
        spans = [source.span for one in _conditions(expression) if (source := self.sources.get(id(one)))]
        between = self.condition.text[spans[0][1] : spans[1][0]].strip("() \t\r\n") if len(spans) > 1 else ""
        return between if between.isalpha() or between in _SIGNS else None

    def is_one_test(self, expression: Typed) -> bool:
        """Is it one test of another dialect, such as `{"exists": false}`, that SQL says with several parts?

        Such parts have the place of the whole: their verdicts would stand beside one and the same text.
        """
        own = self.sources.get(id(expression))
        if own is None or self.condition.dialect == SQL or not isinstance(expression, Apply):
            return False
        inner = [self.sources.get(id(one)) for one in _conditions(expression)]
        return any(one is None or one.span == own.span for one in inner)

    def values(self, expression: Typed) -> Iterator[tuple[str, str]]:
        """What the predicate reads: its operands that are not constants, and the attributes inside of them."""
        if isinstance(expression, Apply) and expression.function in _CONNECTIVES and self.is_one_test(expression):
            for condition in _conditions(expression):
                yield from self.values(condition)
            return
        operands = [self.without_added_casts(one) for one in parts(expression)]
        for one in [*operands, *(part for part in walk(expression) if isinstance(part, (Path, OperatorCall)))]:
            if not isinstance(one, Constant) and not _has_variables(one):
                yield self.name(one), _value_text(self.value(one), one.type, self.zone)

    def without_added_casts(self, expression: Typed) -> Typed:
        """The expression without the casts that the analyser put around it."""
        while id(expression) not in self.sources and isinstance(expression, Apply):
            expression = expression.arguments[0]
        return expression


def _conditions(expression: Apply) -> list[Typed]:
    """What a connective joins."""
    return [one for one in expression.arguments if one.type == BOOLEAN]


def _has_variables(expression: Typed) -> bool:
    return any(isinstance(part, Variable) for part in walk(expression))


def _value_text(value: Value, type_: Type, zone: str) -> str:
    if value is None:
        return "NULL"
    if type_ == STRING or isinstance(value, str):
        return repr(value)
    if type_.name in ("any", "number", "binary"):
        return repr(value)
    if type_.name == "array" and isinstance(value, list | tuple):
        return f"[{', '.join(_element_text(each, type_.item, zone) for each in value)}]"
    return value_text(value, type_, zone)


def _element_text(value: Value, type_: Type, zone: str) -> str:
    """As a cast to string writes it, but for objects, of which that makes nothing."""
    if value is None:
        return "null"
    return repr(value) if isinstance(value, dict) else value_text(value, type_, zone)


def _because(part: ExplainedPart) -> str:
    """In words, the shortest part of the tree that decides the verdict."""
    if part.operator is None or not part.parts:
        return _statement(part)
    if part.operator == "not":
        return _because(part.parts[0])
    if part.operator in ("and", "or"):
        decisive = part.operator == "or"
        deciding = [one for one in part.parts if one.verdict is decisive]
        if part.verdict is decisive:
            return _because(deciding[0])
        if part.operator == "and" and part.verdict is True:
            return f"{_all_of(len(part.parts))} operands of its AND hold"
        open_ = [one for one in part.parts if one.verdict is None]
        if part.verdict is None:
            return _because(open_[0])
        return f"none of the {len(part.parts)} operands of its OR holds: {_because(part.parts[0])}"
    if part.operator in ("and_then", "or_else"):
        passing = part.operator == "and_then"
        decisive_part = next((one for one in part.parts if one.verdict is not passing), None)
        if decisive_part is not None:
            return _because(decisive_part)
        return f"{'all' if passing else 'none'} of the {len(part.parts)} conditions of its {part.label} hold"
    if part.operator == "at_least":
        held = sum(one.verdict is True for one in part.parts)
        return f"{held} of the {len(part.parts)} conditions of {part.text.split(',')[0]}, ...) hold"
    return _statement(part)


def _all_of(count: int) -> str:
    return "both" if count == 2 else f"all {count}"


def _statement(part: ExplainedPart) -> str:
    values = ", ".join(f"{name} is {value}" for name, value in part.values.items())
    return f"{part.text} is {_WORDS[part.verdict]}" + (f" ({values})" if values else "")


def _lines(part: ExplainedPart, indent: str) -> Iterator[str]:
    mark = {True: "✓", False: "✗", None: "?"}[part.verdict]
    label = part.operator.upper().replace("_", " ") if part.operator and part.parts else part.text
    label = part.word or label
    values = ", ".join(f"{name} = {value}" for name, value in part.values.items() if name != value)
    yield f"{indent}{mark} {label}" + (f"   [{values}]" if values else "")
    for inner in part.parts:
        yield from _lines(inner, indent + "  ")


__all__ = ["ExplainedCall", "ExplainedPart", "Explanation", "explain"]
