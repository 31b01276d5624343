"""Message selectors of JMS, which AMQP brokers read as well: conditions on the headers and properties of messages.

The syntax is a subset of SQL-92's and the logic three-valued, but nothing is converted: a comparison of values of
different kinds is FALSE, and unknown only if one of them is missing. So an identifier is read as a text, a number
or a boolean, by what stands on the other side. Identifiers are exact; one with dots is a path. Backslashes mean
nothing. A quotient of whole numbers is a whole number, as in Java.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from tamis.errors import Problem
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.cursor import SyntaxFailure
from tamis.syntax.tree import Expression, FunctionCall, Literal, Missing, Name, Span, children
from tamis.values.types import BIGINT, BOOLEAN, DOUBLE, NULL, STRING, integer_bounds

TEXT, NUMBER, TRUTH, ANY_KIND = "text", "number", "boolean", "any"
_READ = {TEXT: "text_of", NUMBER: "number_of", TRUTH: "boolean_of"}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>'(?:[^']|'')*')
      | (?P<name>"(?:[^"]|"")+" | [^\W\d][\w$]*(?:\.[^\W\d][\w$]*)* | [$][\w$]*)
      | (?P<number>0[xX][0-9a-fA-F]+[lL]? | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?[lLfFdD]?)
      | (?P<sign><>|<=|>=|[-=<>+*/(),])
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_WHOLE = re.compile(r"(?:0[xX][0-9a-fA-F]+|[0-9]+)[lL]?")
_WORDS = ("NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE", "NULL", "TRUE", "FALSE")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_LEAST, _GREATEST = integer_bounds(BIGINT)


@dataclass(frozen=True, slots=True)
class _Token:
    """`kind` is string, name, number or end; of a sign or a word, itself."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Operand:
    """A part of a selector, and what kind of value it has; that of an identifier is not known."""

    tree: Expression
    kind: str

    def as_kind(self, kind: str) -> Expression:
        if self.kind == ANY_KIND:
            return FunctionCall(_READ[kind], (self.tree,), self.tree.span)
        return self.tree


def parse_leniently(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Expression, list[Problem]]:
    """The tree of a selector, or the problem that it has."""
    try:
        return _SelectorParser(text, limits).whole(), []
    except SyntaxFailure as failure:
        return Missing((0, len(text))), [failure.problem]


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while not found or found[-1].kind != "end":
        match = _TOKEN.match(text, at)
        if match is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            message = "this string does not end" if text[start] == "'" else f"{text[start]!r} is not expected here"
            _fail(message, (start, start + 1))
        kind, value = str(match.lastgroup), match[match.lastgroup or 0]
        if kind == "sign" or (kind == "name" and value.upper() in _WORDS):
            kind = value.upper()
        found.append(_Token(kind, value, match.start(match.lastgroup or 0), match.end()))
        at = match.end()
    return found


def _fail(message: str, span: Span, hint: str | None = None) -> NoReturn:
    raise SyntaxFailure(Problem(message, span[0], max(span[1], span[0] + 1), hint))


class _SelectorParser:
    """Each method that parses a construct starts at `self.at` and moves it past the construct."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.tokens = _tokens(text)
        self.limits = limits
        self.at = 0
        self.depth = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def accept(self, *kinds: str) -> _Token | None:
        token = self.next
        if token.kind not in kinds:
            return None
        self.at += token.kind != "end"
        return token

    def expect(self, what: str, *kinds: str) -> _Token:
        return self.accept(*kinds) or self.refuse(what)

    def refuse(self, expected: str) -> NoReturn:
        found = repr(self.next.text) if self.next.text else "the end"
        _fail(f"expected {expected}, found {found}", (self.next.start, self.next.end))

    def span(self, start: int) -> Span:
        """From a token to the last one that was read."""
        return self.tokens[start].start, self.tokens[max(self.at - 1, start)].end

    # --- conditions ---------------------------------------------------------------------------------------

    def whole(self) -> Expression:
        if self.next.kind == "end":
            _fail("a selector may not be empty", (0, 1), "write TRUE for every message")
        found = self.condition(self.disjunction())
        self.expect("AND, OR or the end", "end")
        return found

    def condition(self, operand: _Operand) -> Expression:
        if operand.kind not in (TRUTH, ANY_KIND):
            _fail(f"expected a condition, found a {operand.kind}", operand.tree.span)
        return operand.as_kind(TRUTH)

    def disjunction(self) -> _Operand:
        return self.chain("OR", self.conjunction)

    def conjunction(self) -> _Operand:
        return self.chain("AND", self.negation)

    def chain(self, word: str, operand: Callable[[], _Operand]) -> _Operand:
        start = self.at
        first = operand()
        if self.next.kind != word:
            return first
        operands = [self.condition(first)]
        while self.accept(word):
            operands.append(self.condition(operand()))
        # Runs of AND and OR are flat in every tree, whatever the parentheses.
        name, flat = word.lower(), list[Expression]()
        for each in operands:
            is_run = isinstance(each, FunctionCall) and each.function == name
            flat.extend(children(each) if is_run else (each,))
        return _Operand(FunctionCall(name, tuple(flat), self.span(start)), TRUTH)

    def negation(self) -> _Operand:
        start = self.at
        if not self.accept("NOT"):
            return self.predicate()
        self.deeper()
        inner = self.condition(self.negation())
        self.depth -= 1
        return _Operand(FunctionCall("not", (inner,), self.span(start)), TRUTH)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > self.limits.depth:
            _fail(f"nested more than {self.limits.depth} deep", (self.next.start, self.next.end))

    def predicate(self) -> _Operand:
        start = self.at
        left = self.sum()
        if self.next.kind in _COMPARISONS:
            sign = self.expect("a comparison", *_COMPARISONS).kind
            return self.compared(sign, left, self.sum(), start)
        if self.accept("IS"):
            negated = self.accept("NOT") is not None
            self.expect("NULL", "NULL")
            self.identifier(left)
            function = "is_not_null" if negated else "is_null"
            return _Operand(FunctionCall(function, (left.tree,), self.span(start)), TRUTH)
        negated = self.accept("NOT") is not None
        if self.accept("BETWEEN"):
            low = self.sum()
            self.expect("AND between the two bounds", "AND")
            bounds = self.compared(">=", left, low, start), self.compared("<=", left, self.sum(), start)
            found: Expression = FunctionCall("and", tuple(each.tree for each in bounds), self.span(start))
        elif self.accept("IN"):
            self.identifier(left)
            self.expect("( after IN", "(")
            items = [self.string()]
            while self.accept(","):
                items.append(self.string())
            self.expect(", or )", ")")
            found = self.false_if_unlike(
                FunctionCall("in", (left.as_kind(TEXT), *items), self.span(start)), (left,), start
            )
        elif self.accept("LIKE"):
            self.identifier(left)
            pattern = self.like_pattern()
            found = self.false_if_unlike(
                FunctionCall("like", (left.as_kind(TEXT), pattern), self.span(start)), (left,), start
            )
        elif negated:
            self.refuse("BETWEEN, IN or LIKE")
        else:
            return left
        return _Operand(FunctionCall("not", (found,), self.span(start)) if negated else found, TRUTH)

    def identifier(self, operand: _Operand) -> None:
        if operand.kind != ANY_KIND:
            _fail("expected an identifier", operand.tree.span)

    def string(self) -> Literal:
        token = self.expect("a string", "string")
        return Literal(STRING, token.text[1:-1].replace("''", "'"), (token.start, token.end))

    def like_pattern(self) -> Literal:
        """The pattern in the form of the language, whose escape character is always the backslash."""
        pattern = self.string()
        escape = self.string() if self.accept("ESCAPE") else None
        if escape is not None and len(escape.value) != 1:
            _fail("expected one character", escape.span)
        found: list[str] = []
        characters = iter(pattern.value)
        for character in characters:
            if escape is not None and character == escape.value:
                literal = next(characters, None)
                if literal is None:
                    _fail("the escape character may not be the last one", pattern.span)
                found.append(f"\\{literal}" if literal in "%_\\" else literal)
            else:
                found.append("\\\\" if character == "\\" else character)
        return Literal(STRING, "".join(found), pattern.span)

    def compared(self, sign: str, left: _Operand, right: _Operand, start: int) -> _Operand:
        """A comparison by the kinds of its operands; of two identifiers, by any kind that both are of."""
        kinds = [kind for kind in (left.kind, right.kind) if kind != ANY_KIND]
        if len(set(kinds)) > 1:
            _fail(f"a {left.kind} is not compared with a {right.kind}", self.span(start))
        is_order = sign not in ("=", "<>")
        if is_order and kinds and kinds[0] != NUMBER:
            _fail(f"only = and <> compare with a {kinds[0]}", self.span(start))
        tried = kinds[:1] or ([NUMBER] if is_order else [TEXT, NUMBER, TRUTH])
        tests = [FunctionCall(sign, (left.as_kind(kind), right.as_kind(kind)), self.span(start)) for kind in tried]
        first: Expression = tests[0] if len(tests) == 1 else FunctionCall("coalesce", (*tests,), self.span(start))
        return _Operand(self.false_if_unlike(first, (left, right), start), TRUTH)

    def false_if_unlike(self, test: Expression, operands: tuple[_Operand, ...], start: int) -> Expression:
        """The test; FALSE instead of unknown where no operand is missing."""
        span = self.span(start)
        names = [each.tree for each in operands if isinstance(each.tree, Name)]
        if not names or any(not isinstance(each.tree, Name | Literal) for each in operands):
            return test
        missing = [FunctionCall("is_null", (name,), span) for name in names]
        any_missing = missing[0] if len(missing) == 1 else FunctionCall("or", tuple(missing), span)
        unlike = FunctionCall("if", (any_missing, Literal(NULL, None, span), Literal(BOOLEAN, False, span)), span)
        return FunctionCall("coalesce", (test, unlike), span)

    # --- values -------------------------------------------------------------------------------------------

    def sum(self) -> _Operand:
        start = self.at
        found = self.product()
        while sign := self.accept("+", "-"):
            operands = self.number(found), self.number(self.product())
            found = _Operand(FunctionCall(sign.kind, operands, self.span(start)), NUMBER)
        return found

    def product(self) -> _Operand:
        start = self.at
        found = self.signed()
        while sign := self.accept("*", "/"):
            operands = self.number(found), self.number(self.signed())
            tree = FunctionCall(sign.kind, operands, self.span(start))
            if sign.kind == "/":
                whole = FunctionCall("div", operands, tree.span)
                tree = FunctionCall("coalesce", (whole, tree), tree.span)
            found = _Operand(tree, NUMBER)
        return found

    def number(self, operand: _Operand) -> Expression:
        if operand.kind not in (NUMBER, ANY_KIND):
            _fail(f"expected a number, found a {operand.kind}", operand.tree.span)
        return operand.as_kind(NUMBER)

    def signed(self) -> _Operand:
        start = self.at
        sign = self.accept("+", "-")
        if sign is None:
            return self.atom()
        self.deeper()
        literal = self.accept("number")
        if literal is not None:
            found = self.numeral(literal, negated=sign.kind == "-")
        else:
            inner = self.number(self.signed())
            function = "negative" if sign.kind == "-" else "positive"
            found = _Operand(FunctionCall(function, (inner,), self.span(start)), NUMBER)
        self.depth -= 1
        return found

    def atom(self) -> _Operand:
        token = self.expect("an identifier or a literal", "name", "string", "number", "TRUE", "FALSE", "(")
        span = token.start, token.end
        if token.kind == "string":
            self.at -= 1
            return _Operand(self.string(), TEXT)
        if token.kind == "number":
            return self.numeral(token)
        if token.kind == "name":
            if token.text.startswith('"'):
                return _Operand(Name((token.text[1:-1].replace('""', '"'),), span), ANY_KIND)
            return _Operand(Name(tuple(token.text.split(".")), span), ANY_KIND)
        if token.kind == "(":
            self.deeper()
            found = self.disjunction()
            self.expect(")", ")")
            self.depth -= 1
            return found
        return _Operand(Literal(BOOLEAN, token.kind == "TRUE", span), TRUTH)

    def numeral(self, token: _Token, *, negated: bool = False) -> _Operand:
        """A number as Java writes it: whole, 0x1F, 017 (octal), 7L; or 7., .5, 7E3, 1.5f."""
        span = token.start - negated, token.end
        digits = token.text.rstrip("lL") if _WHOLE.fullmatch(token.text) else token.text.rstrip("fFdDlL")
        if not _WHOLE.fullmatch(token.text):
            if token.text[-1] in "lL":
                _fail("L stands behind whole numbers only", span)
            value = float(digits)
            return _Operand(Literal(DOUBLE, -value if negated else value, span), NUMBER)
        is_octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX"
        if is_octal and not set(digits) <= set("01234567"):
            _fail("a number that begins with 0 is octal: its digits are 0 to 7", span)
        whole = int(digits, 8 if is_octal else 0)
        whole = -whole if negated else whole
        if not _LEAST <= whole <= _GREATEST:
            _fail("this whole number is beyond 64 bits", span, "write it with a decimal point")
        return _Operand(Literal(BIGINT, whole, span), NUMBER)
