"""From a three-valued Boolean expression to three formulas: T (is true), F (is false), U (is NULL).

The three are exclusive and exhaustive; a subscription is its T. This is the only place that knows Kleene's logic:
everything downstream is two-valued. Each formula is made once, when it is needed, and shared.

A Boolean expression that is none of the cases below is a computed Boolean attribute, read by `Within`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal as Exactly
from typing import TypeAlias

from tamis.formulas.binding import bind_variables
from tamis.formulas.expression import Apply, Constant, Joint, Quantifier, Typed, Variable
from tamis.formulas.formula import FALSE, TRUE, Formula, at_least, conjunction, disjunction, leaf
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.formulas.predicates.quantified import Quantified
from tamis.formulas.predicates.within import Within
from tamis.functions.like import parse_like
from tamis.functions.registry import Signature
from tamis.language.cast_elimination import eliminate_casts
from tamis.language.like_patterns import canonical_like, like_ranges
from tamis.values.order import order_key
from tamis.values.ranges import ALL, NONE, Ranges, comparison_ranges, points_of, starting_with
from tamis.values.types import BOOLEAN, STRING, is_ordered

Verdict: TypeAlias = Exactly["T", "F", "U"]
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>", "<=>": "<=>"}
_NEGATED: dict[Verdict, Verdict] = {"T": "F", "F": "T", "U": "U"}


class Truth:
    """The formulas of one condition's Boolean expressions."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Verdict], Formula] = {}
        self._kept: list[Typed] = []

    def formula(self, expression: Typed, verdict: Verdict = "T") -> Formula:
        """The formula that holds exactly when the expression's value is `verdict`."""
        known = self._known.get((id(expression), verdict))
        if known is None:
            known = self._known[id(expression), verdict] = self._make(expression, verdict)
            # The keys are identities, so the expressions must stay alive.
            self._kept.append(expression)
        return known

    def _make(self, expression: Typed, verdict: Verdict) -> Formula:
        match expression:
            case Constant(value=value):
                return TRUE if verdict == ("U" if value is None else "T" if value else "F") else FALSE
            case Quantifier():
                return self._quantifier(expression, verdict)
            case Joint(body=body):
                assert verdict == "T", "it is a whole condition"
                return bind_variables(self.formula(body), self.formula)
            case Apply(function=function, arguments=arguments):
                make = _CASES.get(function)
                made = make(self, expression, arguments, verdict) if make else None
                return _computed_leaf(expression, verdict) if made is None else made
            case _:
                return _computed_leaf(expression, verdict)

    def _not_unknown(self, expression: Typed) -> Formula:
        return disjunction([self.formula(expression, "T"), self.formula(expression, "F")])

    # --- connectives -------------------------------------------------------------------------------------

    def _not(self, _: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula:
        return self.formula(arguments[0], _NEGATED[verdict])

    def _and(self, _: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula:
        return self._junction(arguments, verdict, "T", "F")

    def _or(self, _: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula:
        return self._junction(arguments, verdict, "F", "T")

    def _junction(
        self, arguments: Sequence[Typed], verdict: Verdict, unanimous: Verdict, decisive: Verdict
    ) -> Formula:
        """AND is T if all are T and F if one is F; OR the other way round; else U."""
        if verdict == unanimous:
            return conjunction([self.formula(each, unanimous) for each in arguments])
        if verdict == decisive:
            return disjunction([self.formula(each, decisive) for each in arguments])
        undecided = [disjunction([self.formula(each, unanimous), self.formula(each, "U")]) for each in arguments]
        return conjunction([*undecided, disjunction([self.formula(each, "U") for each in arguments])])

    def _and_then(self, _: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula:
        return self._sequence(arguments, verdict, "T")

    def _or_else(self, _: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula:
        return self._sequence(arguments, verdict, "F")

    def _sequence(self, arguments: Sequence[Typed], verdict: Verdict, passing: Verdict) -> Formula:
        """The verdict is that of the first operand whose verdict is not `passing`."""
        if verdict == passing:
            return conjunction([self.formula(each, passing) for each in arguments])
        found = self.formula(arguments[-1], verdict)
        for each in reversed(arguments[:-1]):
            found = disjunction([self.formula(each, verdict), conjunction([self.formula(each, passing), found])])
        return found

    def _xor(self, _: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula:
        return self._equality(arguments, _NEGATED[verdict])

    def _at_least(self, _: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula:
        count, conditions = arguments[0], arguments[1:]
        assert isinstance(count, Constant)
        least, most_false = count.value, len(conditions) - count.value + 1
        if verdict == "T":
            return at_least(least, [self.formula(each, "T") for each in conditions])
        if verdict == "F":
            return at_least(most_false, [self.formula(each, "F") for each in conditions])
        not_true = [disjunction([self.formula(each, "F"), self.formula(each, "U")]) for each in conditions]
        not_false = [disjunction([self.formula(each, "T"), self.formula(each, "U")]) for each in conditions]
        return conjunction([at_least(most_false, not_true), at_least(least, not_false)])

    def _is(self, expression: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula:
        """IS [NOT] TRUE and IS [NOT] FALSE: never NULL."""
        if verdict == "U":
            return FALSE
        wanted: Verdict = "T" if expression.function.endswith("true") else "F"
        if (verdict == "T") != ("not" in expression.function):
            return self.formula(arguments[0], wanted)
        return disjunction([self.formula(arguments[0], _NEGATED[wanted]), self.formula(arguments[0], "U")])

    def _null_test(self, expression: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula:
        if verdict == "U":
            return FALSE
        operand = arguments[0]
        wants_null = (verdict == "T") == ("not" not in expression.function)
        if operand.type == BOOLEAN:
            return self.formula(operand, "U") if wants_null else self._not_unknown(operand)
        if isinstance(operand, Constant):
            return TRUE if (operand.value is None) == wants_null else FALSE
        return leaf(Within(operand, NONE if wants_null else ALL, null=wants_null))

    def _coalesce(self, expression: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula | None:
        if expression.type != BOOLEAN:
            return None
        if verdict == "U":
            return conjunction([self.formula(each, "U") for each in arguments])
        found = self.formula(arguments[-1], verdict)
        for each in reversed(arguments[:-1]):
            found = disjunction([self.formula(each, verdict), conjunction([self.formula(each, "U"), found])])
        return found

    def _case(self, expression: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula | None:
        """CASE and IF: the first test that is true decides; an unknown one does not."""
        if expression.type != BOOLEAN:
            return None
        otherwise = arguments[-1] if len(arguments) % 2 else Constant(BOOLEAN, None)
        found = self.formula(otherwise, verdict)
        pairs = list(zip(arguments[0::2], arguments[1::2], strict=False))
        for test, value in reversed(pairs):
            held = self.formula(test, "T")
            not_held = disjunction([self.formula(test, "F"), self.formula(test, "U")])
            taken = conjunction([held, self.formula(value, verdict)])
            found = disjunction([taken, conjunction([not_held, found])])
        return found

    # --- comparisons -------------------------------------------------------------------------------------

    def _comparison(self, expression: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula | None:
        operator = expression.function
        left, right = arguments
        if left.type == BOOLEAN:
            return self._between_conditions(operator, arguments, verdict)
        if isinstance(left, Constant):
            left, right, operator = right, left, _FLIPPED[operator]
        if not isinstance(right, Constant):
            return None
        if right.value is None:
            if operator == "<=>":
                null = leaf(Within(left, NONE, null=True))
                return {"T": null, "F": leaf(Within(left, ALL)), "U": FALSE}[verdict]
            return TRUE if verdict == "U" else FALSE
        if not is_ordered(right.type):
            return None
        ranges = comparison_ranges(right.type, operator, order_key(right.type)(right.value))
        if operator == "<=>":
            attribute, ranges = eliminate_casts(left, ranges)
            return {
                "T": leaf(Within(attribute, ranges)),
                "F": leaf(Within(attribute, ~ranges, null=True)),
                "U": FALSE,
            }[verdict]
        return _within(left, ranges, verdict)

    def _between_conditions(self, operator: str, arguments: Sequence[Typed], verdict: Verdict) -> Formula:
        if operator in ("=", "<>"):
            return self._equality(arguments, verdict if operator == "=" else _NEGATED[verdict])
        left, right = arguments
        if operator == "<=>":
            if verdict == "U":
                return FALSE
            pairs: list[tuple[Verdict, Verdict]] = (
                [("T", "T"), ("F", "F"), ("U", "U")]
                if verdict == "T"
                else [("T", "F"), ("T", "U"), ("F", "T"), ("F", "U"), ("U", "T"), ("U", "F")]
            )
            return self._either(left, right, pairs)
        if verdict == "U":
            return disjunction([self.formula(left, "U"), self.formula(right, "U")])
        compare: dict[str, Callable[[bool, bool], bool]] = {
            "<": lambda a, b: a < b,
            "<=": lambda a, b: a <= b,
            ">": lambda a, b: a > b,
            ">=": lambda a, b: a >= b,
        }
        values: list[tuple[Verdict, bool]] = [("F", False), ("T", True)]
        wanted = verdict == "T"
        pairs = [(a, b) for a, x in values for b, y in values if compare[operator](x, y) == wanted]
        return self._either(left, right, pairs)

    def _either(self, left: Typed, right: Typed, pairs: Sequence[tuple[Verdict, Verdict]]) -> Formula:
        return disjunction(
            [conjunction([self.formula(left, one), self.formula(right, other)]) for one, other in pairs]
        )

    def _equality(self, arguments: Sequence[Typed], verdict: Verdict) -> Formula:
        left, right = arguments
        if verdict == "U":
            return disjunction([self.formula(left, "U"), self.formula(right, "U")])
        if verdict == "T":
            return self._either(left, right, [("T", "T"), ("F", "F")])
        return self._either(left, right, [("T", "F"), ("F", "T")])

    def _in(self, expression: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula | None:
        value, items = arguments[0], arguments[1:]
        constants = [item for item in items if isinstance(item, Constant)]
        if isinstance(value, Constant) or len(constants) < len(items) or value.type == BOOLEAN:
            tests = [_equals(value, item, expression.signature.zone) for item in items]
            return self._junction(tests, verdict, "F", "T")
        if not is_ordered(value.type):
            return None
        key = order_key(value.type)
        has_null = any(item.value is None for item in constants)
        ranges = points_of(value.type, (key(item.value) for item in constants if item.value is not None))
        if not has_null:
            return _within(value, ranges, verdict)
        attribute, ranges = eliminate_casts(value, ranges)
        if verdict == "T":
            return leaf(Within(attribute, ranges))
        return FALSE if verdict == "F" else leaf(Within(attribute, ~ranges, null=True))

    # --- strings and arrays ------------------------------------------------------------------------------

    def _like(self, expression: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula | None:
        subject, pattern = arguments[0], arguments[1]
        if not isinstance(pattern, Constant) or isinstance(subject, Constant):
            return None
        if pattern.value is None:
            return TRUE if verdict == "U" else FALSE
        if expression.function == "rlike":
            return _matches(subject, "rlike", pattern.value, verdict)
        escape = arguments[2].value if len(arguments) > 2 and isinstance(arguments[2], Constant) else "\\"
        parts = parse_like(pattern.value, escape)
        ranges = like_ranges(parts) if expression.function == "like" else None
        if ranges is not None:
            return _within(subject, ranges, verdict)
        return _matches(subject, expression.function, canonical_like(parts), verdict)

    def _substring_test(self, expression: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula | None:
        """startswith, endswith and contains with a constant are LIKE."""
        subject, sought = arguments
        if not isinstance(sought, Constant) or isinstance(subject, Constant) or subject.type != STRING:
            return None
        if sought.value is None:
            return TRUE if verdict == "U" else FALSE
        if expression.function == "startswith" or not sought.value:
            return _within(subject, starting_with(sought.value), verdict)
        text = sought.value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return _matches(subject, "like", f"%{text}" + ("%" if expression.function == "contains" else ""), verdict)

    def _quantifier(self, expression: Quantifier, verdict: Verdict) -> Formula:
        """An OR over the elements for exists, an AND for forall; both are U for a NULL array."""
        decisive: Verdict = "T" if expression.function == "exists" else "F"
        body, array, variable = expression.body, expression.array, expression.variable
        if isinstance(array, Constant) and array.value is None:
            return TRUE if verdict == "U" else FALSE
        if verdict == decisive:
            return _over_elements(array, variable, self.formula(body, decisive), every=False)
        if verdict != "U":
            return _over_elements(array, variable, self.formula(body, _NEGATED[decisive]), every=True)
        undecided = disjunction([self.formula(body, _NEGATED[decisive]), self.formula(body, "U")])
        null = leaf(Within(array, NONE, null=True))
        some = _over_elements(array, variable, self.formula(body, "U"), every=False)
        return disjunction([null, conjunction([some, _over_elements(array, variable, undecided, every=True)])])

    def _contains(self, expression: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula | None:
        """array_contains(array, constant) is exists(array, x -> x = constant)."""
        array, sought = arguments
        if not isinstance(sought, Constant):
            return None
        variable = Variable("element", array.type.item)
        body = _equals(variable, sought, expression.signature.zone)
        return self.formula(Quantifier("exists", array, variable, body), verdict)

    def _overlap(self, expression: Apply, arguments: Sequence[Typed], verdict: Verdict) -> Formula | None:
        """arrays_overlap with a constant array is exists(array, x -> x IN (...))."""
        array, other = arguments
        if isinstance(array, Constant):
            array, other = other, array
        if not isinstance(other, Constant) or other.value is None or not other.value:
            return None
        variable = Variable("element", array.type.item)
        items = tuple(Constant(array.type.item, item) for item in other.value)
        signature = Signature((array.type.item,) * (len(items) + 1), BOOLEAN, expression.signature.zone)
        return self.formula(
            Quantifier("exists", array, variable, Apply("in", (variable, *items), signature)), verdict
        )


_CASES: dict[str, Callable[[Truth, Apply, Sequence[Typed], Verdict], Formula | None]] = {
    "not": Truth._not,
    "and": Truth._and,
    "or": Truth._or,
    "xor": Truth._xor,
    "and_then": Truth._and_then,
    "or_else": Truth._or_else,
    "at_least": Truth._at_least,
    **dict.fromkeys(("is_true", "is_not_true", "is_false", "is_not_false"), Truth._is),
    **dict.fromkeys(("is_null", "is_not_null", "is_unknown", "is_not_unknown"), Truth._null_test),
    **dict.fromkeys(_FLIPPED, Truth._comparison),
    "coalesce": Truth._coalesce,
    "nvl": Truth._coalesce,
    "case": Truth._case,
    "if": Truth._case,
    "in": Truth._in,
    **dict.fromkeys(("like", "ilike", "rlike"), Truth._like),
    **dict.fromkeys(("startswith", "endswith", "contains"), Truth._substring_test),
    "array_contains": Truth._contains,
    "arrays_overlap": Truth._overlap,
}
"""The functions whose truth is a formula over smaller things; all others are computed."""


def _equals(left: Typed, right: Typed, zone: str) -> Apply:
    return Apply("=", (left, right), Signature((left.type, right.type), BOOLEAN, zone))


def _computed_leaf(attribute: Typed, verdict: Verdict) -> Formula:
    if verdict == "U":
        return leaf(Within(attribute, NONE, null=True))
    return leaf(Within(attribute, comparison_ranges(BOOLEAN, "=", int(verdict == "T"))))


def _within(attribute: Typed, ranges: Ranges, verdict: Verdict) -> Formula:
    if verdict == "U":
        attribute, _ = eliminate_casts(attribute, NONE)
        return leaf(Within(attribute, NONE, null=True))
    attribute, ranges = eliminate_casts(attribute, ranges)
    return leaf(Within(attribute, ranges if verdict == "T" else ~ranges))


def _matches(attribute: Typed, test: str, pattern: str, verdict: Verdict) -> Formula:
    if verdict == "U":
        return leaf(Within(attribute, NONE, null=True))
    return leaf(MatchesPattern(attribute, test, pattern, negated=verdict == "F"))


def _over_elements(array: Typed, variable: Variable, formula: Formula, *, every: bool) -> Formula:
    """Some or every element; what does not depend on the elements is decided here."""
    if formula is (TRUE if every else FALSE):
        return leaf(Within(array, ALL)) if every else FALSE
    return leaf(Quantified(array, variable, formula, every))
