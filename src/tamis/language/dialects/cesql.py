"""CloudEvents SQL 1.0: expressions over the attributes of CloudEvents.

An expression of CESQL yields a value and perhaps errors, and an event with an error does not pass a filter. Here
an error is NULL, and evaluation stops at the first one, which the specification calls fail fast: AND and OR are
`and_then` and `or_else`, every other operator gives NULL for NULL. So a condition is NULL exactly where CESQL has
an error; which error it was, nothing says.

Every operator and function has one type of result; only an attribute has that of its value. Casts stand in the
tree as calls, so they mean the same with and without an event type. Only attributes stand in a tree twice,
so a tree is never much larger than its text.

From loose to tight, each from left to right: [AND, OR, XOR], comparisons, [`+` `-`], [`*` `/` `%`], [LIKE, IN],
[NOT, unary `-`]. The specification says so; its public implementations read some mixtures differently. NOT before
a looser operator, which nobody writes to mean what the specification reads, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from tamis.errors import Problem
from tamis.functions.cesql import to_boolean, to_int
from tamis.language.dialects.tokens import TokenCursor, fail, read_tokens
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.cursor import SyntaxFailure
from tamis.syntax.tree import Cast, Expression, FunctionCall, Literal, Missing, Name
from tamis.values.casts import caster
from tamis.values.column import Value
from tamis.values.types import ANY, BOOLEAN, INT, STRING, Type, integer_bounds

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
      | (?P<word>[A-Za-z0-9_]+)
      | (?P<sign><=|>=|<>|!=|[-=<>+*/%(),.])
      | (?P<bad>.)
      | (?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = ("AND", "OR", "XOR", "NOT", "LIKE", "EXISTS", "IN", "TRUE", "FALSE")
_LOGIC = {"AND": "and_then", "OR": "or_else", "XOR": "xor"}
_COMPARISONS = {"=": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_BEHIND_NOT = (*_LOGIC, ")", ",", "end")
_KINDS = {STRING: "text_of", INT: "number_of", BOOLEAN: "boolean_of"}
_REQUIRED = ("id", "source", "specversion", "type")
_ATTRIBUTE = re.compile(r"[a-z0-9]+")
_LEAST, _GREATEST = integer_bounds(INT)
_WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters with Unicode's property White_Space."""


@dataclass(frozen=True, slots=True)
class _Part:
    """An expression and the type of its value; `any` if it is an attribute."""

    tree: Expression
    type: Type

    @property
    def constant(self) -> Value | None:
        return self.tree.value if isinstance(self.tree, Literal) else None

    @property
    def is_data(self) -> bool:
        return isinstance(self.tree, Name) and len(self.tree.parts) > 1


def parse_leniently(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Expression, list[Problem]]:
    """The tree as far as it could be read, and the problems of its syntax.

    >>> from tamis.syntax.printing import to_text
    >>> to_text(parse_leniently("type = 'sold' AND sequence > 10")[0])
    "and_then(CAST(type AS STRING) = 'sold', cesql_int(sequence) > 10)"
    """
    parser = _Parser(text, limits)
    try:
        tree = parser.whole().tree
    except SyntaxFailure as failure:
        return Missing((0, len(text))), [*parser.problems, failure.problem]
    return tree, parser.problems


class _Parser(TokenCursor):
    """Reads one text; each method that reads a construct starts at `self.at` and moves it past the construct."""

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(read_tokens(_TOKEN, text, _KEYWORDS), limits)
        self.problems: list[Problem] = []

    # --- operators -------------------------------------------------------------------------------------------

    def whole(self) -> _Part:
        part = self.logic()
        if self.next.kind != "end":
            self.refuse("an operator or the end")
        return part

    def logic(self) -> _Part:
        """AND, OR and XOR bind alike, from left to right; a run of one of them is one call."""
        start = self.next.start
        left = self.comparison()
        while self.next.kind in _LOGIC:
            sign = self.next.kind
            operands = [self.boolean(left)]
            while self.accept(sign):
                operands.append(self.boolean(self.comparison()))
                if sign == "XOR":
                    break
            left = self.call(_LOGIC[sign], operands, BOOLEAN, start)
        return left

    def comparison(self) -> _Part:
        start = self.next.start
        left = self.additive()
        while self.next.kind in _COMPARISONS:
            function = _COMPARISONS[self.next.kind]
            self.at += 1
            right = self.additive()
            if function == "=":
                left = self.equality(left, right, start)
            elif function == "<>":
                left = self.call("not", [self.equality(left, right, start).tree], BOOLEAN, start)
            else:
                left = self.call(function, [self.comparable(left), self.comparable(right)], BOOLEAN, start)
        return left

    def additive(self) -> _Part:
        start = self.next.start
        left = self.multiplicative()
        while self.next.kind in ("+", "-"):
            function = self.next.kind
            self.at += 1
            right = self.multiplicative()
            left = self.call(function, [self.integer(left), self.integer(right)], INT, start)
        return left

    def multiplicative(self) -> _Part:
        start = self.next.start
        left = self.test()
        while self.next.kind in ("*", "/", "%"):
            function = self.next.kind
            self.at += 1
            operands = [self.integer(left), self.integer(self.test())]
            if function == "/":
                quotient = self.call("div", operands, INT, start).tree
                left = _Part(Cast(quotient, INT, quotient.span), INT)
            else:
                left = self.call(function, operands, INT, start)
        return left

    def test(self) -> _Part:
        """A value, perhaps with LIKE or IN behind it."""
        start = self.next.start
        left = self.unary()
        while self.next.kind in ("LIKE", "IN") or (
            self.next.kind == "NOT" and self.tokens[self.at + 1].kind in ("LIKE", "IN")
        ):
            negated = self.accept("NOT") is not None
            left = self.like(left, start) if self.accept("LIKE") else self.membership(left, start)
            if negated:
                left = self.call("not", [left.tree], BOOLEAN, start)
        return left

    def like(self, left: _Part, start: int) -> _Part:
        if self.next.kind != "string":
            self.refuse("a string behind LIKE", "the pattern is written out, between quotes")
        literal = self.string()
        # A backslash escapes % and _ only; everywhere else it is itself, which our own LIKE writes twice.
        pattern = re.sub(r"\\(?![%_])", r"\\\\", str(literal.constant))
        tree = Literal(STRING, pattern, literal.tree.span)
        return self.call("like", [self.text(left), tree], BOOLEAN, start)

    def membership(self, left: _Part, start: int) -> _Part:
        self.expect("LIKE or IN", "IN")
        self.expect("( behind IN", "(")
        items = self.arguments()
        if not items:
            self.refuse("a value between the parentheses of IN")
        if left.type == ANY:
            if all(isinstance(item.tree, Literal) for item in items):
                return self.same_kind(left, items, start)
            tests = [self.equality(item, left, start).tree for item in items]
        elif all(isinstance(item.tree, Literal) and item.type == left.type for item in items):
            return self.call("in", [left.tree, *(item.tree for item in items)], BOOLEAN, start)
        else:
            cast = {INT: self.integer, BOOLEAN: self.boolean}.get(left.type, self.text)
            return self.call("cesql_in", [left.tree, *map(cast, items)], BOOLEAN, start)
        return _Part(tests[0], BOOLEAN) if len(tests) == 1 else self.call("or_else", tests, BOOLEAN, start)

    def unary(self) -> _Part:
        start = self.next.start
        if self.accept("NOT"):
            self.deeper()
            operand = self.boolean(self.unary())
            self.depth -= 1
            if self.next.kind not in _BEHIND_NOT:
                message = "NOT binds more tightly than what follows here, and implementations of CESQL differ"
                hint = "write parentheses: NOT (a = b) or (NOT a) = b"
                fail(message, self.next.span, hint)
            return self.call("not", [operand], BOOLEAN, start)
        if self.next.kind in ("+", "-") and self.tokens[self.at + 1].text.isdecimal():
            self.at += 1
            return self.whole_number(start, negative=self.tokens[self.at - 1].text == "-")
        if self.accept("-"):
            self.deeper()
            operand = self.integer(self.unary())
            self.depth -= 1
            return self.call("negative", [operand], INT, start)
        return self.primary()

    # --- values ----------------------------------------------------------------------------------------------

    def primary(self) -> _Part:
        token = self.next
        sign = token.kind
        if sign == "string":
            return self.string()
        if self.accept("TRUE", "FALSE"):
            return _Part(Literal(BOOLEAN, sign == "TRUE", (token.start, token.end)), BOOLEAN)
        if self.accept("EXISTS"):
            return self.existence(token.start)
        if self.accept("("):
            self.deeper()
            inner = self.logic()
            self.depth -= 1
            self.expect("an operator or )", ")")
            return inner
        if sign != "word":
            self.refuse("a value")
        if token.text.isdecimal():
            return self.whole_number(token.start, negative=False)
        return self.invocation() if self.tokens[self.at + 1].text == "(" else self.attribute()

    def whole_number(self, start: int, *, negative: bool) -> _Part:
        self.at += 1
        digits = self.tokens[self.at - 1].text.lstrip("0")
        value = int(digits or 0) * (-1 if negative else 1) if len(digits) < 12 else _GREATEST + 1
        if not _LEAST <= value <= _GREATEST:
            fail("an integer of CESQL has 32 bits", self.span(start))
        return _Part(Literal(INT, value, self.span(start)), INT)

    def string(self) -> _Part:
        token = self.next
        self.at += 1
        quote = token.text[0]
        value = token.text[1:-1].replace("\\" + quote, quote)
        return _Part(Literal(STRING, value, (token.start, token.end)), STRING)

    def attribute(self) -> _Part:
        """An attribute; behind `data`, which CESQL itself does not read, the path of a field in its own case."""
        start = self.next.start
        if self.next.kind != "word":
            self.refuse("the name of an attribute")
        first = self.next.text.lower()
        if not _ATTRIBUTE.fullmatch(first):
            message = f"{self.next.text!r} is no name of an attribute: those are letters and digits"
            fail(message, self.next.span)
        self.at += 1
        parts = [first]
        while first == "data" and self.accept("."):
            if self.next.kind != "word":
                self.refuse("the name of a field of data")
            parts.append(self.next.text)
            self.at += 1
        if self.next.kind == ".":
            self.refuse("an operator or the end", "only data has fields: data.price")
        return _Part(Name(tuple(parts), self.span(start)), ANY)

    def existence(self, start: int) -> _Part:
        name = self.attribute().tree
        assert isinstance(name, Name)
        if name.parts[0] in _REQUIRED:
            return _Part(Literal(BOOLEAN, True, self.span(start)), BOOLEAN)
        return self.call("is_not_null", [name], BOOLEAN, start)

    def invocation(self) -> _Part:
        token = self.next
        name = token.text.upper()
        self.at += 2
        self.deeper()
        arguments = self.arguments()
        self.depth -= 1
        function = _FUNCTIONS.get(name)
        span = self.span(token.start)
        if function is None:
            close = get_close_matches(name, _FUNCTIONS, 1)
            hint = f"did you mean {close[0]}?" if close else None
            self.problems.append(Problem(f"CESQL has no function {token.text!r}", *span, hint))
            return _Part(Missing(span), ANY)
        least, most, build = function
        if not least <= len(arguments) <= (most or len(arguments)):
            wanted = f"{least}" if least == most else f"at least {least}" if most is None else f"{least} or {most}"
            message = f"{name} takes {wanted} argument{'' if wanted == '1' else 's'}, found {len(arguments)}"
            self.problems.append(Problem(message, *span))
            return _Part(Missing(span), ANY)
        return build(self, arguments, token.start)

    def arguments(self) -> list[_Part]:
        """Expressions up to and including the closing parenthesis."""
        found: list[_Part] = []
        if self.accept(")"):
            return found
        found.append(self.logic())
        while not self.accept(")"):
            self.expect(", or )", ",")
            found.append(self.logic())
        return found

    # --- trees -----------------------------------------------------------------------------------------------

    def call(self, function: str, arguments: Sequence[Expression], returns: Type, start: int) -> _Part:
        return _Part(FunctionCall(function, tuple(arguments), self.span(start)), returns)

    def integer(self, part: _Part) -> Expression:
        return part.tree if part.type == INT else FunctionCall("cesql_int", (part.tree,), part.tree.span)

    def boolean(self, part: _Part) -> Expression:
        return part.tree if part.type == BOOLEAN else FunctionCall("cesql_bool", (part.tree,), part.tree.span)

    def text(self, part: _Part) -> Expression:
        return part.tree if part.type == STRING else Cast(part.tree, STRING, part.tree.span)

    def comparable(self, part: _Part) -> Expression:
        """An integer; a field of data may also be a number with a fraction."""
        if part.is_data:
            return FunctionCall("cesql_number", (part.tree,), part.tree.span)
        return self.integer(part)

    def equality(self, left: _Part, right: _Part, start: int) -> _Part:
        """The left value is cast to the type of the right one."""
        if right.type == ANY:
            if isinstance(left.tree, Literal):
                return self.same_kind(right, [left], start)
            return self.call("cesql_equal", [left.tree, right.tree], BOOLEAN, start)
        cast = {INT: self.comparable, BOOLEAN: self.boolean}.get(right.type, self.text)
        return self.call("=", [cast(left), right.tree], BOOLEAN, start)

    def same_kind(self, attribute: _Part, literals: Sequence[_Part], start: int) -> _Part:
        """Is the attribute equal to one of the constants, cast to whatever kind its value has?

        A cast that fails is an error unless a constant before it is equal.
        """
        tests: list[Expression] = []
        for type_, kind in _KINDS.items():
            values = [_cast(literal, type_) for literal in literals]
            fails = values.index(None) if None in values else len(values)
            if fails:
                known = [
                    Literal(type_, value, each.tree.span) for value, each in zip(values, literals, strict=True)
                ]
                only = FunctionCall(kind, (attribute.tree,), attribute.tree.span)
                test = self.call("in", [only, *known[:fails]], BOOLEAN, start).tree
                true = Literal(BOOLEAN, True, self.span(start))
                tests.append(
                    test if fails == len(values) else self.call("case", [test, true], BOOLEAN, start).tree
                )
        return _Part(tests[0], BOOLEAN) if len(tests) == 1 else self.call("coalesce", tests, BOOLEAN, start)


def _cast(literal: _Part, type_: Type) -> Value:
    value = literal.constant
    if type_ == INT:
        return to_int(value)
    return to_boolean(value) if type_ == BOOLEAN else caster(literal.type, STRING, "UTC")(value)


# --- functions ---------------------------------------------------------------------------------------------------

_Build = Callable[[_Parser, list[_Part], int], _Part]


def _of_text(function: str, returns: Type) -> _Build:
    """A function whose first argument is a text; those behind it are integers."""

    def build(parser: _Parser, arguments: list[_Part], start: int) -> _Part:
        rest = [parser.integer(argument) for argument in arguments[1:]]
        return parser.call(function, [parser.text(arguments[0]), *rest], returns, start)

    return build


def _of_value(function: str, returns: Type) -> _Build:
    return lambda parser, arguments, start: parser.call(function, [arguments[0].tree], returns, start)


def _concat(parser: _Parser, arguments: list[_Part], start: int) -> _Part:
    return parser.call("concat", [parser.text(argument) for argument in arguments], STRING, start)


def _concat_ws(parser: _Parser, arguments: list[_Part], start: int) -> _Part:
    return parser.call("cesql_concat_ws", [parser.text(argument) for argument in arguments], STRING, start)


def _trim(parser: _Parser, arguments: list[_Part], start: int) -> _Part:
    characters = Literal(STRING, _WHITE_SPACE, parser.span(start))
    return parser.call("trim", [characters, parser.text(arguments[0])], STRING, start)


_FUNCTIONS: dict[str, tuple[int, int | None, _Build]] = {
    "ABS": (1, 1, lambda parser, arguments, start: parser.call("abs", [parser.integer(arguments[0])], INT, start)),
    "BOOL": (1, 1, lambda parser, arguments, start: _Part(parser.boolean(arguments[0]), BOOLEAN)),
    "CONCAT": (0, None, _concat),
    "CONCAT_WS": (1, None, _concat_ws),
    "INT": (1, 1, lambda parser, arguments, start: _Part(parser.integer(arguments[0]), INT)),
    "IS_BOOL": (1, 1, _of_value("cesql_is_bool", BOOLEAN)),
    "IS_INT": (1, 1, _of_value("cesql_is_int", BOOLEAN)),
    "LEFT": (2, 2, _of_text("cesql_left", STRING)),
    "LENGTH": (1, 1, _of_text("length", INT)),
    "LOWER": (1, 1, _of_text("lower", STRING)),
    "RIGHT": (2, 2, _of_text("cesql_right", STRING)),
    "STRING": (1, 1, lambda parser, arguments, start: _Part(parser.text(arguments[0]), STRING)),
    "SUBSTRING": (2, 3, _of_text("cesql_substring", STRING)),
    "TRIM": (1, 1, _trim),
    "UPPER": (1, 1, _of_text("upper", STRING)),
}
"""The fewest and the most arguments of each function, and what it is made of."""
