r"""A subset of CEL, the Common Expression Language: conditions over the fields of an event.

Nothing is converted. Values of different kinds are not equal; other operators on them are errors, as are missing
fields, overflows and divisions by zero. An error is NULL here, which is no match; && and || find an answer beside
an error on either side, as `AND` and `OR` do with NULL. A field that is null counts as missing. Numbers are of one
kind: CEL's int, uint and double may be mixed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tamis.errors import Problem
from tamis.language.dialects.kinds import (
    ANY_KIND,
    NUMBER,
    TEXT,
    TRUTH,
    Operand,
    by_kinds,
    connect,
    is_plain,
    otherwise,
)
from tamis.language.dialects.tokens import Token, TokenCursor, fail, read_tokens
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.cursor import SyntaxFailure
from tamis.syntax.tree import Expression, FieldAccess, FunctionCall, Lambda, Literal, Missing, Name, Span, walk
from tamis.values.types import BIGINT, BOOLEAN, DOUBLE, NULL, STRING, integer_bounds

_TOKEN = re.compile(
    r"""(?:\s|//[^\n]*)*(?:
        (?P<string>[rR]?(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
      | (?P<number>0[xX][0-9a-fA-F]+[uU]? | (?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?[uU]?)
      | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
      | (?P<sign>&&|\|\||==|!=|<=|>=|[-<>+*/%!?:().,\[\]])
      | (?P<end>\Z)
      | (?P<bad>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = ("in", "true", "false", "null")
_RESERVED = frozenset(
    "as break const continue else for function if import let loop package namespace return var void while".split()
)
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"`?])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|.)"
)
_SIGNS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_ORDER = ("<", "<=", ">", ">=")
_TEXT_TESTS = {"startsWith": "startswith", "endsWith": "endswith", "contains": "contains"}
_MACROS = {"exists": "exists", "all": "forall", "filter": "filter", "map": "transform"}
_METHODS = (*_TEXT_TESTS, "matches", "size", *_MACROS)
LIST, NOTHING = "list", "null"
_LEAST, _GREATEST = integer_bounds(BIGINT)


@dataclass(frozen=True, slots=True)
class _List(Operand):
    """A list that is written out."""

    items: tuple[Operand, ...] = ()


def parse_leniently(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Expression, list[Problem]]:
    """The tree of an expression, or the problem that it has.

    >>> from tamis.syntax.printing import to_text
    >>> to_text(parse_leniently("request.path.startsWith('/v1') && size(tags) > 2")[0])
    "startswith(text_of(request.path), '/v1') AND size_of(tags) > 2L"
    """
    try:
        return _Parser(text, limits).whole(), []
    except SyntaxFailure as failure:
        return Missing((0, len(text))), [failure.problem]


class _Parser(TokenCursor):
    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(read_tokens(_TOKEN, text, _WORDS), limits)
        # A variable of our own, which no name of the text is.
        self.element = next(name for n in range(len(text) + 1) if (name := f"v{n or ''}") not in text)

    def whole(self) -> Expression:
        found = self.condition(self.expression())
        self.expect("an operator or the end", "end")
        return found

    def condition(self, operand: Operand) -> Expression:
        if TRUTH not in operand.kinds():
            fail(f"expected a condition, found a {operand.kind}", operand.tree.span)
        return operand.as_kind(TRUTH)

    def call(self, function: str, kind: str, start: int, *arguments: Expression) -> Operand:
        return Operand(FunctionCall(function, arguments, self.span(start)), kind)

    # --- operators ------------------------------------------------------------------------------------------

    def expression(self) -> Operand:
        self.deeper()
        start = self.next.start
        found = self.chain("||", "or", lambda: self.chain("&&", "and", self.relation))
        if self.accept("?"):
            found = self.choice(self.condition(found), start)
        self.depth -= 1
        return found

    def choice(self, test: Expression, start: int) -> Operand:
        """Of an unknown test nothing is chosen, so that the test stands there twice."""
        if any(isinstance(each, FunctionCall) and each.function == "case" for each in walk(test)):
            fail("a choice may not stand in the condition of a choice", test.span)
        first = self.expression()
        self.expect(": and another value", ":")
        second = self.expression()
        shared = [kind for kind in (TRUTH, NUMBER, TEXT) if kind in first.kinds() and kind in second.kinds()]
        if not shared:
            fail("both values of a choice must be of one kind", self.span(start))
        negated = FunctionCall("not", (test,), test.span)

        def choose(kind: str) -> Expression:
            parts = (test, first.as_kind(kind), negated, second.as_kind(kind))
            return FunctionCall("case", parts, self.span(start))

        readings = {kind: choose(kind) for kind in shared}
        return Operand(readings[shared[0]], shared[0] if len(shared) == 1 else ANY_KIND, readings)

    def chain(self, sign: str, name: str, operand: Callable[[], Operand]) -> Operand:
        start = self.next.start
        first = operand()
        if self.next.kind != sign:
            return first
        operands = [self.condition(first)]
        while self.accept(sign):
            operands.append(self.condition(operand()))
        return Operand(connect(name, operands, self.span(start)), TRUTH)

    def relation(self) -> Operand:
        start = self.next.start
        left = self.sum()
        while sign := self.accept("==", "!=", *_ORDER, "in"):
            right = self.sum()
            span = self.span(start)
            if sign.kind == "in":
                tree = self.membership(left, right, span)
            elif sign.kind in _ORDER:
                tree = by_kinds(sign.kind, left, right, self.shared_kinds(left, right, span), span)
            else:
                tree = self.equality(left, right, span)
                tree = FunctionCall("not", (tree,), span) if sign.kind == "!=" else tree
            left = Operand(tree, TRUTH)
        return left

    def shared_kinds(self, left: Operand, right: Operand, span: Span) -> tuple[str, ...]:
        found = tuple(kind for kind in left.kinds() if kind in right.kinds() and kind in (NUMBER, TEXT, TRUTH))
        return found or fail(f"a {left.kind} is not compared with a {right.kind}", span)

    def equality(self, left: Operand, right: Operand, span: Span) -> Expression:
        for one, other in ((left, right), (right, left)):
            if other.kind == NOTHING:
                return FunctionCall("is_null", (one.tree,), span)
        kinds = {left.kind, right.kind}
        is_single = max(len(left.readings), len(right.readings)) < 2
        is_literal = isinstance(left.tree, Literal) or isinstance(right.tree, Literal)
        if is_single and not is_literal and (ANY_KIND in kinds or kinds == {LIST}):
            return FunctionCall("same_value", (left.tree, right.tree), span)
        test = by_kinds("=", left, right, self.shared_kinds(left, right, span), span)
        # A value of another kind is not equal; of what is computed we know the kind.
        return otherwise(test, (left, right), False, span) if is_plain(left) and is_plain(right) else test

    def membership(self, left: Operand, right: Operand, span: Span) -> Expression:
        if not isinstance(right, _List):
            if right.kind not in (ANY_KIND, LIST):
                fail(f"expected a list behind in, found a {right.kind}", right.tree.span)
            element = Operand(Name((self.element,), span), ANY_KIND)
            each = Lambda(self.element, self.equality(element, left, span), span)
            listed = FunctionCall("exists", (right.tree, each), span)
            if right.kind == LIST:
                return listed
            return FunctionCall("coalesce", (listed, FunctionCall("has_key", (right.tree, left.tree), span)), span)
        tests: list[Expression] = []
        for kind in left.kinds():
            items = [item.tree for item in right.items if item.kind == kind]
            if items:
                tests.append(FunctionCall("in", (left.as_kind(kind), *items), span))
        if any(not isinstance(item.tree, Literal) for item in right.items):
            fail("the items of a list behind in are literals", right.tree.span)
        if not tests:
            return Literal(BOOLEAN, False, span)
        test = tests[0] if len(tests) == 1 else FunctionCall("coalesce", tuple(tests), span)
        return otherwise(test, (left,), False, span) if is_plain(left) else test

    def number(self, operand: Operand) -> Expression:
        if NUMBER not in operand.kinds():
            fail(f"expected a number, found a {operand.kind}", operand.tree.span)
        return operand.as_kind(NUMBER)

    def sum(self) -> Operand:
        start = self.next.start
        left = self.product()
        while sign := self.accept("+", "-"):
            right = self.product()
            span = self.span(start)
            kinds = self.shared_kinds(left, right, span) if sign.kind == "+" else (NUMBER,)
            readings: dict[str, Expression] = {}
            if NUMBER in kinds:
                readings[NUMBER] = FunctionCall(sign.kind, (self.number(left), self.number(right)), span)
            if TEXT in kinds:
                readings[TEXT] = FunctionCall("concat", (left.as_kind(TEXT), right.as_kind(TEXT)), span)
            if not readings:
                fail("only numbers and texts are added", span)
            kind, tree = next(iter(readings.items()))
            left = Operand(tree, kind if len(readings) == 1 else ANY_KIND, readings)
        return left

    def product(self) -> Operand:
        start = self.next.start
        left = self.unary()
        while sign := self.accept("*", "/", "%"):
            operands = self.number(left), self.number(self.unary())
            left = self.call("quotient" if sign.kind == "/" else sign.kind, NUMBER, start, *operands)
        return left

    def unary(self) -> Operand:
        start = self.next.start
        sign = self.accept("!", "-")
        if sign is None:
            return self.member()
        self.deeper()
        literal = self.accept("number") if sign.kind == "-" else None
        if literal is not None:
            found = self.numeral(literal, negated=True)
        elif sign.kind == "-":
            found = self.call("negative", NUMBER, start, self.number(self.unary()))
        else:
            found = self.call("not", TRUTH, start, self.condition(self.unary()))
        self.depth -= 1
        return found

    # --- values ---------------------------------------------------------------------------------------------

    def member(self) -> Operand:
        start = self.next.start
        found = self.primary()
        while sign := self.accept(".", "["):
            if sign.kind == "[":
                index = self.expression()
                self.expect("]", "]")
                if not isinstance(index.tree, Literal) or index.kind not in (TEXT, NUMBER):
                    fail("an index is a literal: a number or a text", index.tree.span)
                found = self.call("[]", ANY_KIND, start, self.container(found), index.tree)
                continue
            name = self.expect("the name of a field", "word", *_WORDS)
            if self.accept("("):
                found = self.method(found, name, start)
            elif isinstance(self.container(found), Name):
                assert isinstance(found.tree, Name)
                found = Operand(Name((*found.tree.parts, name.text), self.span(start)), ANY_KIND)
            else:
                found = Operand(FieldAccess(found.tree, name.text, self.span(start)), ANY_KIND)
        return found

    def container(self, operand: Operand) -> Expression:
        if operand.kind not in (ANY_KIND, LIST) or operand.readings:
            fail(f"a {operand.kind} has no fields", operand.tree.span)
        return operand.tree

    def method(self, target: Operand, name: Token, start: int) -> Operand:
        if name.text in _MACROS:
            variable = self.expect("a variable", "word")
            self.expect(", and an expression", ",")
            body = self.expression()
            self.expect(")", ")")
            inner = body.tree if name.text == "map" else self.condition(body)
            each = Lambda(variable.text, inner, self.span(start))
            kind = TRUTH if name.text in ("exists", "all") else LIST
            return self.call(_MACROS[name.text], kind, start, self.container(target), each)
        arguments = self.arguments()
        if name.text == "size" and not arguments:
            return self.size(target, start)
        if name.text not in _METHODS:
            fail(f"{name.text} is not supported", name.span, f"supported are {', '.join(_METHODS)}")
        if len(arguments) != 1 or TEXT not in (*target.kinds(), "") or TEXT not in arguments[0].kinds():
            fail(f"{name.text} is asked of a text, and takes a text", self.span(start))
        argument = arguments[0].as_kind(TEXT)
        if name.text != "matches":
            return self.call(_TEXT_TESTS[name.text], TRUTH, start, target.as_kind(TEXT), argument)
        if not isinstance(argument, Literal):
            fail("the pattern of matches is a literal", argument.span)
        pattern = Literal(STRING, re2_to_java(argument.value, argument.span), argument.span)
        return self.call("rlike", TRUTH, start, target.as_kind(TEXT), pattern)

    def size(self, of: Operand, start: int) -> Operand:
        if of.kind == TEXT:
            return self.call("length", NUMBER, start, of.tree)
        return self.call("size" if of.kind == LIST else "size_of", NUMBER, start, self.container(of))

    def arguments(self, end: str = ")") -> list[Operand]:
        found: list[Operand] = []
        while not self.accept(end):
            if found:
                self.expect(f", or {end}", ",")
            found.append(self.expression())
        return found

    def primary(self) -> Operand:
        start = self.next.start
        token = self.expect("a value", "word", "string", "number", "true", "false", "null", "(", "[")
        match token.kind:
            case "string":
                return Operand(Literal(STRING, _unquote(token), token.span), TEXT)
            case "number":
                return self.numeral(token)
            case "true" | "false":
                return Operand(Literal(BOOLEAN, token.kind == "true", token.span), TRUTH)
            case "null":
                return Operand(Literal(NULL, None, token.span), NOTHING)
            case "(":
                inner = self.expression()
                self.expect(")", ")")
                return inner
            case "[":
                items = tuple(self.arguments("]"))
                tree = FunctionCall("array", tuple(item.tree for item in items), self.span(start))
                return _List(tree, LIST, items=items)
        if token.text in _RESERVED:
            fail(f"{token.text} is a reserved word", token.span)
        if not self.accept("("):
            return Operand(Name((token.text,), token.span), ANY_KIND)
        arguments = self.arguments()
        if token.text not in ("has", "size"):
            fail(f"the function {token.text} is not supported", token.span, "supported are has and size")
        if len(arguments) != 1:
            fail(f"{token.text} takes one argument, found {len(arguments)}", self.span(start))
        if token.text == "size":
            return self.size(arguments[0], start)
        field = arguments[0].tree
        if not (isinstance(field, FieldAccess) or (isinstance(field, Name) and len(field.parts) > 1)):
            fail("has asks for a field: has(a.b)", field.span)
        # It is an error to ask for a field of what is missing.
        span = self.span(start)
        owner = field.operand if isinstance(field, FieldAccess) else Name(field.parts[:-1], field.span)
        known = FunctionCall("is_not_null", (owner,), span)
        there = FunctionCall("is_not_null", (field,), span)
        return self.call("if", TRUTH, start, known, there, Literal(NULL, None, span))

    def numeral(self, token: Token, *, negated: bool = False) -> Operand:
        span = token.start - negated, token.end
        digits = token.text.rstrip("uU")
        if not re.fullmatch("0[xX].*|[0-9]+", digits):
            value = float(digits)
            return Operand(Literal(DOUBLE, -value if negated else value, span), NUMBER)
        whole = int(digits, 16 if digits[:2] in ("0x", "0X") else 10) if len(digits) < 30 else _GREATEST + 1
        whole = -whole if negated else whole
        if not _LEAST <= whole <= _GREATEST:
            fail("this whole number is beyond 64 bits", span)
        return Operand(Literal(BIGINT, whole, span), NUMBER)


def _unquote(token: Token) -> str:
    raw = token.text[0] in "rR"
    text = token.text[raw:]
    text = text[3:-3] if text[:3] in ("'''", '"""') and len(text) >= 6 else text[1:-1]
    if raw:
        return text

    def character(found: re.Match[str]) -> str:
        sign, *codes, octal = found.groups()
        code = next((int(each, 16) for each in codes if each), None) if octal is None else int(octal, 8)
        if sign is not None:
            return _SIGNS.get(sign, sign)
        if code is None or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            fail(f"{found[0]} is no escape", token.span)
        return chr(code)

    return _ESCAPE.sub(character, text)


_RE2_PIECE = re.compile(r"\\b\{|\\.|\[\^?\]?|\(\?P<|.", re.DOTALL)
_RE2_REFUSED = (*(f"\\{letter}" for letter in "SCZhHRV"), r"\b{")
_RE2_ESCAPES = {r"\s": r"\t\n\f\r ", r"\v": r"\x0B"}


def re2_to_java(pattern: str, span: Span) -> str:
    """A pattern of RE2, which CEL has, as one of Java with the same matches; what differs in more is refused."""
    found, in_class = ["(?d)"], False
    for piece in _RE2_PIECE.findall(pattern):
        refused = (in_class and piece[0] == "[") or piece in _RE2_REFUSED
        if refused:
            fail(f"{piece} is not supported in this place of a pattern", span)
        if piece in _RE2_ESCAPES:
            text = _RE2_ESCAPES[piece]
            found.append(text if in_class else f"[{text}]")
            continue
        in_class = (in_class or piece[0] == "[") and piece != "]"
        found.append({"$": r"\z", "(?P<": "(?<"}.get(piece, piece) if not in_class else piece)
    return "".join(found)
