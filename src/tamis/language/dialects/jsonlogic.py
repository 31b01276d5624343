"""A subset of JSONLogic: rules as JSON, with the meaning that json-logic-js gives them.

A rule is true or false for every event, never unknown: what is missing is null. Values are converted as JavaScript
does; `tamis.functions.jsonlogic` has the conversions.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from tamis.errors import Problem
from tamis.functions.jsonlogic import js_number
from tamis.language.dialects.json_spans import Json, parse_json
from tamis.language.dialects.kinds import ANY_KIND, NUMBER, TEXT, TRUTH, Operand, connect
from tamis.language.dialects.tokens import fail
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.cursor import SyntaxFailure
from tamis.syntax.tree import Expression, FunctionCall, Lambda, Literal, Missing, Name, Span
from tamis.values.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, integer_bounds

NOTHING = "null"
_ORDER = ("<", "<=", ">", ">=")
_ARITHMETIC = {"+": "js_float", "*": "js_float", "-": "js_number", "/": "js_number", "%": "js_number"}
_LEAST, _GREATEST = integer_bounds(BIGINT)


def parse_leniently(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Expression, list[Problem]]:
    """The tree of a rule, or the problem that it has.

    >>> from tamis.syntax.printing import to_text
    >>> to_text(parse_leniently('{"===": [{"var": "brand"}, "Nikon"]}')[0])
    "coalesce(text_of(brand) = 'Nikon', FALSE)"
    """
    try:
        return _Reader().condition(parse_json(text, 4 * limits.depth)), []
    except SyntaxFailure as failure:
        return Missing((0, len(text))), [failure.problem]


def _call(function: str, span: Span, *arguments: Expression) -> Expression:
    return FunctionCall(function, arguments, span)


def _false(*tests: Expression) -> Expression:
    """The first test that is known, else FALSE."""
    return _call("coalesce", tests[0].span, *tests, Literal(BOOLEAN, False, tests[0].span))


class _Reader:
    """Reads one rule; `element` is the variable that `var` refers to inside of all, some and none."""

    def __init__(self) -> None:
        self.element: str | None = None
        self.depth = 0

    # --- conditions -------------------------------------------------------------------------------------------

    def condition(self, node: Json) -> Expression:
        """Is it true?"""
        name, arguments = self.operation(node)
        make = _CONDITIONS.get(name)
        return self.truth(self.value(node)) if make is None else make(self, name, arguments, node)

    def truth(self, operand: Operand) -> Expression:
        return operand.tree if operand.kind == TRUTH else _call("js_truth", operand.tree.span, operand.tree)

    def operation(self, node: Json) -> tuple[str, list[Json]]:
        """The name of an operation and its arguments; ("", []) of a literal."""
        if not isinstance(node.value, dict):
            return "", []
        if len(node.value) != 1:
            fail(f"a rule has one operation, this one {len(node.value)}", node.span)
        ((name, body),) = node.value.items()
        if name not in _CONDITIONS and name not in _VALUES:
            known = ", ".join((*_CONDITIONS, *_VALUES))
            fail(f"the operation {name!r} is not supported", node.keys[name], f"supported are {known}")
        return name, body.value if isinstance(body.value, list) else [body]

    def exactly(self, arguments: list[Json], node: Json, least: int, most: int | None = None) -> None:
        if not least <= len(arguments) <= (least if most is None else most):
            wanted = f"{least}" if most is None else f"{least} to {most}"
            fail(f"expected {wanted} arguments, found {len(arguments)}", node.span)

    def join(self, name: str, arguments: list[Json], node: Json) -> Expression:
        tests = [self.condition(each) for each in arguments] or [Literal(BOOLEAN, False, node.span)]
        return tests[0] if len(tests) == 1 else connect(name, tests, node.span)

    def negation(self, name: str, arguments: list[Json], node: Json) -> Expression:
        self.exactly(arguments, node, 1)
        found = self.condition(arguments[0])
        return _call("not", node.span, found) if name == "!" else found

    def choice(self, _: str, arguments: list[Json], node: Json) -> Expression:
        parts = [self.condition(each) for each in arguments]
        if len(parts) % 2 == 0:
            parts.append(Literal(BOOLEAN, False, node.span))
        return parts[0] if len(parts) == 1 else _call("case", node.span, *parts)

    def equality(self, name: str, arguments: list[Json], node: Json) -> Expression:
        self.exactly(arguments, node, 2)
        left, right = map(self.value, arguments)
        make = self.same if len(name) == 3 else self.similar
        found = make(left, right, node.span)
        return _call("not", node.span, found) if name.startswith("!") else found

    def same(self, left: Operand, right: Operand, span: Span) -> Expression:
        """`===`: of one kind and equal, or both null."""
        shared = [kind for kind in left.kinds() if kind in right.kinds() and kind != NOTHING]
        return self.equal(
            left, right, [_call("=", span, left.as_kind(kind), right.as_kind(kind)) for kind in shared], span
        )

    def similar(self, left: Operand, right: Operand, span: Span) -> Expression:
        """`==`: texts as texts, else as numbers; null is only like null."""
        if NOTHING in (left.kind, right.kind) or left.kind == right.kind != ANY_KIND:
            return self.same(left, right, span)
        tests = self.by_text_or_number("=", left, right, span)
        known = [_call("is_not_null", span, each.tree) for each in (left, right) if each.kind == ANY_KIND]
        return self.equal(left, right, [connect("and", [*known, _false(*tests)], span)] if tests else [], span)

    def equal(self, left: Operand, right: Operand, tests: list[Expression], span: Span) -> Expression:
        """Both are null, or the first test that is known holds."""
        if all(each.kind in (ANY_KIND, NOTHING) for each in (left, right)):
            nulls = [_call("is_null", span, each.tree) for each in (left, right) if each.kind == ANY_KIND]
            both = connect("and", nulls, span) if len(nulls) > 1 else (nulls or [Literal(BOOLEAN, True, span)])[0]
            return connect("or", [both, _false(*tests)], span) if tests else both
        return _false(*tests) if tests else Literal(BOOLEAN, False, span)

    def by_text_or_number(self, sign: str, left: Operand, right: Operand, span: Span) -> list[Expression]:
        """A comparison of texts, then one of numbers, as far as the two may be such."""
        tests: list[Expression] = []
        if TEXT in left.kinds() and TEXT in right.kinds():
            tests.append(_call(sign, span, left.as_kind(TEXT), right.as_kind(TEXT)))
        sides = self.number(left), self.number(right)
        is_none = any(isinstance(side, Literal) and side.value is None for side in sides)
        if not is_none and not left.kind == right.kind == TEXT:
            tests.append(_call(sign, span, *sides))
        return tests

    def number(self, operand: Operand, function: str = "js_number") -> Expression:
        if isinstance(operand.tree, Literal) and function == "js_number":
            return Literal(DOUBLE, js_number(operand.tree.value), operand.tree.span)
        is_double = operand.kind == NUMBER and isinstance(operand.tree, FunctionCall)
        return operand.tree if is_double else _call(function, operand.tree.span, operand.tree)

    def comparison(self, name: str, arguments: list[Json], node: Json) -> Expression:
        self.exactly(arguments, node, 2, 3 if name in ("<", "<=") else 2)
        values = list(map(self.value, arguments))
        tests = [self.compare(name, one, other, node.span) for one, other in pairwise(values)]
        return tests[0] if len(tests) == 1 else connect("and", tests, node.span)

    def compare(self, sign: str, left: Operand, right: Operand, span: Span) -> Expression:
        tests = self.by_text_or_number(sign, left, right, span)
        return _false(*tests) if tests else Literal(BOOLEAN, False, span)

    def membership(self, _: str, arguments: list[Json], node: Json) -> Expression:
        self.exactly(arguments, node, 2)
        needle, span = self.value(arguments[0]), node.span
        items = arguments[1].value
        if isinstance(items, list):
            tests = [self.same(needle, self.value(item), span) for item in items]
            return connect("or", tests, span) if len(tests) > 1 else (tests or [Literal(BOOLEAN, False, span)])[0]
        within = self.value(arguments[1])
        there = within.as_kind(TEXT), self.text_of(needle, "null")
        full = _call("<>", span, there[0], Literal(STRING, "", span))  # nothing is in an empty text, not even that
        text = _call("and", span, _false(_call("contains", span, *there)), _false(full))
        if within.kind == TEXT:
            return text
        if within.kind != ANY_KIND:
            fail("expected a text or a list to look in", arguments[1].span)
        variable, element = self.fresh(span)
        test = Lambda(variable, self.same(element, needle, span), span)
        # `field_values` takes any type, but makes a list of a scalar, too.
        is_list = [_call("is_null", span, within.as_kind(kind)) for kind in within.kinds()]
        found = _call("exists", span, _call("field_values", span, within.tree), test)
        return _call("or", span, text, connect("and", [*is_list, found], span))

    def fresh(self, span: Span) -> tuple[str, Operand]:
        name = f"element{self.depth or ''}"
        return name, Operand(Name((name,), span), ANY_KIND)

    def over_elements(self, name: str, arguments: list[Json], node: Json) -> Expression:
        self.exactly(arguments, node, 2)
        values, span = self.value(arguments[0]), node.span
        if values.kind != ANY_KIND:
            fail("expected a var that is a list", arguments[0].span)
        outer, (self.element, _) = self.element, self.fresh(span)
        self.depth += 1
        test = Lambda(self.element, self.condition(arguments[1]), span)
        self.element, self.depth = outer, self.depth - 1
        if name == "all":
            some = _call(">", span, _call("size", span, values.tree), Literal(INT, 0, span))
            return _call("and", span, _false(some), _false(_call("forall", span, values.tree, test)))
        found = _false(_call("exists", span, values.tree, test))
        return found if name == "some" else _call("not", span, found)

    def missing(self, name: str, arguments: list[Json], node: Json) -> Expression:
        """Is a key missing, or ''? Of `missing_some`: are fewer there than are needed?"""
        if name == "missing_some":
            self.exactly(arguments, node, 2)
            least, keys = arguments[0].value, arguments[1].value
            if not isinstance(least, int) or isinstance(least, bool) or not isinstance(keys, list):
                fail("expected a number and a list of keys", node.span)
        else:
            first = arguments[0].value if len(arguments) == 1 else None
            least, keys = None, first if isinstance(first, list) else arguments
        tests = [self.is_absent(self.variable([key], key)) for key in keys]
        if least is None or not tests:
            return (
                connect("or", tests, node.span)
                if len(tests) > 1
                else (tests or [Literal(BOOLEAN, False, node.span)])[0]
            )
        if least > len(tests) or least < 1:
            return Literal(BOOLEAN, least > len(tests), node.span)
        present = [_call("not", test.span, test) for test in tests]
        return _call("not", node.span, _call("at_least", node.span, Literal(INT, least, node.span), *present))

    def is_absent(self, operand: Operand) -> Expression:
        span = operand.tree.span
        empty = _call("=", span, operand.as_kind(TEXT), Literal(STRING, "", span))
        return _call("or", span, _call("is_null", span, operand.tree), _false(empty))

    # --- values -----------------------------------------------------------------------------------------------

    def value(self, node: Json) -> Operand:
        if not isinstance(node.value, dict):
            return self.literal(node)
        name, arguments = self.operation(node)
        if name in _CONDITIONS:
            if name in ("and", "or", "if", "?:", "missing", "missing_some") and not self.is_boolean(node):
                fail(f"{name!r} gives one of its values here, which is not supported", node.span)
            return Operand(self.condition(node), TRUTH)
        return _VALUES[name](self, name, arguments, node)

    def is_boolean(self, node: Json) -> bool:
        """Does it give true or false, not any of its values?"""
        name, arguments = self.operation(node)
        if name in ("and", "or", "if", "?:"):
            results = arguments if name in ("and", "or") else [*arguments[1::2], *arguments[-1:]]
            return all(map(self.is_boolean, results)) and (name in ("and", "or") or len(arguments) % 2 == 1)
        return isinstance(node.value, bool) or (name in _CONDITIONS and not name.startswith("missing"))

    def literal(self, node: Json) -> Operand:
        value = node.value
        if value is None:
            return Operand(Literal(NULL, None, node.span), NOTHING)
        if isinstance(value, bool):
            return Operand(Literal(BOOLEAN, value, node.span), TRUTH)
        if isinstance(value, str):
            return Operand(Literal(STRING, value, node.span), TEXT)
        if isinstance(value, int | float):
            whole = isinstance(value, int) and _LEAST <= value <= _GREATEST
            return Operand(
                Literal(BIGINT if whole else DOUBLE, value if whole else float(value), node.span), NUMBER
            )
        return fail(f"{node.kind} is not supported here", node.span)

    def variable(self, arguments: list[Json], node: Json) -> Operand:
        path = arguments[0].value if arguments else ""
        if len(arguments) > 1:
            fail("a var with another value instead is not supported", arguments[1].span)
        if not isinstance(path, str | int) or isinstance(path, bool):
            fail("expected a path: names with dots between them", arguments[0].span)
        steps = [step for step in str(path).split(".") if step]
        first = [self.element] if self.element is not None else []
        names = [*first, *steps]
        if not names or names[0].isdigit():
            fail("expected the name of an attribute", node.span)
        count = next((place for place, step in enumerate(names) if step.isdigit()), len(names))
        tree: Expression = Name(tuple(names[:count]), node.span)
        for step in names[count:]:
            index = (
                Literal(INT, int(step), node.span)
                if step.isdigit() and len(step) < 10
                else Literal(STRING, step, node.span)
            )
            tree = _call("[]", node.span, tree, index)
        return Operand(tree, ANY_KIND)

    def arithmetic(self, name: str, arguments: list[Json], node: Json) -> Operand:
        self.exactly(arguments, node, 1, len(arguments) if name in "+*" else 2)
        sides = [self.number(self.value(each), _ARITHMETIC[name]) for each in arguments]
        if len(sides) == 1:
            if name not in "+-":
                self.exactly(arguments, node, 2)
            return Operand(_call("negative" if name == "-" else "positive", node.span, sides[0]), NUMBER)
        tree = sides[0]
        for side in sides[1:]:
            tree = _call("quotient" if name == "/" else name, node.span, tree, side)
        return Operand(_call("js_float", node.span, tree), NUMBER)  # NaN is NULL

    def text_of(self, operand: Operand, null: str) -> Expression:
        """The text of a value; `null` is that of null, and what is computed and no number is NaN."""
        span = operand.tree.span
        missing = "NaN" if operand.kind == NUMBER else null
        return (
            operand.tree
            if operand.kind == TEXT
            else _call("js_text", span, operand.tree, Literal(STRING, missing, span))
        )

    def extreme(self, name: str, arguments: list[Json], node: Json) -> Operand:
        self.exactly(arguments, node, 1, len(arguments))
        return Operand(
            _call(f"js_{name}", node.span, *(self.number(self.value(each)) for each in arguments)), NUMBER
        )

    def text(self, name: str, arguments: list[Json], node: Json) -> Operand:
        self.exactly(arguments, node, 1, len(arguments) if name == "cat" else 3)
        kept = arguments if name == "cat" else arguments[:1]
        texts = [self.text_of(self.value(each), "" if name == "cat" else "null") for each in kept]
        if name == "cat":
            return Operand(_call("concat", node.span, *texts), TEXT)
        bounds: list[Expression] = []
        for each in arguments[1:]:
            if not isinstance(each.value, int) or isinstance(each.value, bool) or abs(each.value) >= 1 << 31:
                fail("expected a whole number", each.span)
            bounds.append(Literal(INT, each.value, each.span))
        return Operand(_call("js_substr", node.span, *texts, *(bounds or [Literal(INT, 0, node.span)])), TEXT)


_Condition = Callable[[_Reader, str, list[Json], Json], Expression]
_CONDITIONS: dict[str, _Condition] = {
    **dict.fromkeys(("==", "===", "!=", "!=="), _Reader.equality),
    **dict.fromkeys(_ORDER, _Reader.comparison),
    **dict.fromkeys(("and", "or"), _Reader.join),
    **dict.fromkeys(("!", "!!"), _Reader.negation),
    **dict.fromkeys(("if", "?:"), _Reader.choice),
    **dict.fromkeys(("all", "some", "none"), _Reader.over_elements),
    **dict.fromkeys(("missing", "missing_some"), _Reader.missing),
    "in": _Reader.membership,
}
_VALUES: dict[str, Callable[[_Reader, str, list[Json], Json], Operand]] = {
    "var": lambda reader, _, arguments, node: reader.variable(arguments, node),
    **dict.fromkeys(_ARITHMETIC, _Reader.arithmetic),
    **dict.fromkeys(("min", "max"), _Reader.extreme),
    **dict.fromkeys(("cat", "substr"), _Reader.text),
}
