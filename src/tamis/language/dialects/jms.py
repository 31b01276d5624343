"""Message selectors of JMS, which AMQP brokers read as well: conditions on the headers and properties of messages.

The syntax is a subset of SQL-92's and the logic three-valued, but nothing is converted: a comparison of values of
different kinds is FALSE, and unknown only if one of them is missing. So an identifier is read as a text, a number
or a boolean, by what stands on the other side. Identifiers are exact; one with dots is a path. Backslashes mean
nothing. A quotient of whole numbers is a whole number, as in Java.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tamis.errors import Problem
from tamis.language.dialects.kinds import ANY_KIND, NUMBER, TEXT, TRUTH, Operand, by_kinds, connect, otherwise
from tamis.language.dialects.tokens import Token, TokenCursor, fail, read_tokens
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.cursor import SyntaxFailure
from tamis.syntax.tree import Expression, FunctionCall, Literal, Missing, Name
from tamis.values.types import BIGINT, BOOLEAN, DOUBLE, STRING, integer_bounds

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>'(?:[^']|'')*')
      | (?P<word>"(?:[^"]|"")+" | [^\W\d][\w$]*(?:\.[^\W\d][\w$]*)* | [$][\w$]*)
      | (?P<number>0[xX][0-9a-fA-F]+[lL]? | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?[lLfFdD]?)
      | (?P<sign><>|<=|>=|[-=<>+*/(),])
      | (?P<end>\Z)
      | (?P<bad>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_WHOLE = re.compile(r"(?:0[xX][0-9a-fA-F]+|[0-9]+)[lL]?")
_WORDS = ("NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE", "NULL", "TRUE", "FALSE")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_LEAST, _GREATEST = integer_bounds(BIGINT)


def parse_leniently(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Expression, list[Problem]]:
    """The tree of a selector, or the problem that it has."""
    try:
        return _SelectorParser(text, limits).whole(), []
    except SyntaxFailure as failure:
        return Missing((0, len(text))), [failure.problem]


class _SelectorParser(TokenCursor):
    """Each method that parses a construct starts at `self.at` and moves it past the construct."""

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(read_tokens(_TOKEN, text, _WORDS), limits)

    # --- conditions ---------------------------------------------------------------------------------------

    def whole(self) -> Expression:
        if self.next.kind == "end":
            fail("a selector may not be empty", (0, 1), "write TRUE for every message")
        found = self.condition(self.disjunction())
        self.expect("AND, OR or the end", "end")
        return found

    def condition(self, operand: Operand) -> Expression:
        if operand.kind not in (TRUTH, ANY_KIND):
            fail(f"expected a condition, found a {operand.kind}", operand.tree.span)
        return operand.as_kind(TRUTH)

    def disjunction(self) -> Operand:
        return self.chain("OR", self.conjunction)

    def conjunction(self) -> Operand:
        return self.chain("AND", self.negation)

    def chain(self, word: str, operand: Callable[[], Operand]) -> Operand:
        start = self.next.start
        first = operand()
        if self.next.kind != word:
            return first
        operands = [self.condition(first)]
        while self.accept(word):
            operands.append(self.condition(operand()))
        return Operand(connect(word.lower(), operands, self.span(start)), TRUTH)

    def negation(self) -> Operand:
        start = self.next.start
        if not self.accept("NOT"):
            return self.predicate()
        self.deeper()
        inner = self.condition(self.negation())
        self.depth -= 1
        return Operand(FunctionCall("not", (inner,), self.span(start)), TRUTH)

    def predicate(self) -> Operand:
        start = self.next.start
        left = self.sum()
        if self.next.kind in _COMPARISONS:
            sign = self.expect("a comparison", *_COMPARISONS).kind
            return self.compare(sign, left, self.sum(), start)
        if self.accept("IS"):
            negated = self.accept("NOT") is not None
            self.expect("NULL", "NULL")
            self.identifier(left)
            function = "is_not_null" if negated else "is_null"
            return Operand(FunctionCall(function, (left.tree,), self.span(start)), TRUTH)
        negated = self.accept("NOT") is not None
        if self.accept("BETWEEN"):
            low = self.sum()
            self.expect("AND between the two bounds", "AND")
            bounds = self.compare(">=", left, low, start), self.compare("<=", left, self.sum(), start)
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
        return Operand(FunctionCall("not", (found,), self.span(start)) if negated else found, TRUTH)

    def identifier(self, operand: Operand) -> None:
        if operand.kind != ANY_KIND:
            fail("expected an identifier", operand.tree.span)

    def string(self) -> Literal:
        token = self.expect("a string", "string")
        return Literal(STRING, token.text[1:-1].replace("''", "'"), (token.start, token.end))

    def like_pattern(self) -> Literal:
        """The pattern in the form of the language, whose escape character is always the backslash."""
        pattern = self.string()
        escape = self.string() if self.accept("ESCAPE") else None
        if escape is not None and len(escape.value) != 1:
            fail("expected one character", escape.span)
        found: list[str] = []
        characters = iter(pattern.value)
        for character in characters:
            if escape is not None and character == escape.value:
                literal = next(characters, None)
                if literal is None:
                    fail("the escape character may not be the last one", pattern.span)
                found.append(f"\\{literal}" if literal in "%_\\" else literal)
            else:
                found.append("\\\\" if character == "\\" else character)
        return Literal(STRING, "".join(found), pattern.span)

    def compare(self, sign: str, left: Operand, right: Operand, start: int) -> Operand:
        """A comparison by the kinds of its operands; of two identifiers, by any kind that both are of."""
        kinds = [kind for kind in (left.kind, right.kind) if kind != ANY_KIND]
        if len(set(kinds)) > 1:
            fail(f"a {left.kind} is not compared with a {right.kind}", self.span(start))
        is_order = sign not in ("=", "<>")
        if is_order and kinds and kinds[0] != NUMBER:
            fail(f"only = and <> compare with a {kinds[0]}", self.span(start))
        tried = kinds[:1] or ([NUMBER] if is_order else [TEXT, NUMBER, TRUTH])
        first = by_kinds(sign, left, right, tuple(tried), self.span(start))
        return Operand(self.false_if_unlike(first, (left, right), start), TRUTH)

    def false_if_unlike(self, test: Expression, operands: tuple[Operand, ...], start: int) -> Expression:
        """The test; FALSE instead of unknown where no operand is missing.

        Only an attribute may be of another kind: arithmetic is a number or unknown.
        """
        if not any(isinstance(each.tree, Name) for each in operands):
            return test
        return otherwise(test, operands, False, self.span(start))

    # --- values -------------------------------------------------------------------------------------------

    def sum(self) -> Operand:
        start = self.next.start
        found = self.product()
        while sign := self.accept("+", "-"):
            operands = self.number(found), self.number(self.product())
            found = Operand(FunctionCall(sign.kind, operands, self.span(start)), NUMBER)
        return found

    def product(self) -> Operand:
        start = self.next.start
        found = self.sign()
        while sign := self.accept("*", "/"):
            operands = self.number(found), self.number(self.sign())
            function = "quotient" if sign.kind == "/" else "*"
            found = Operand(FunctionCall(function, operands, self.span(start)), NUMBER)
        return found

    def number(self, operand: Operand) -> Expression:
        if operand.kind not in (NUMBER, ANY_KIND):
            fail(f"expected a number, found a {operand.kind}", operand.tree.span)
        return operand.as_kind(NUMBER)

    def sign(self) -> Operand:
        start = self.next.start
        sign = self.accept("+", "-")
        if sign is None:
            return self.atom()
        self.deeper()
        literal = self.accept("number")
        if literal is not None:
            found = self.numeral(literal, negated=sign.kind == "-")
        else:
            inner = self.number(self.sign())
            function = "negative" if sign.kind == "-" else "positive"
            found = Operand(FunctionCall(function, (inner,), self.span(start)), NUMBER)
        self.depth -= 1
        return found

    def atom(self) -> Operand:
        token = self.expect("an identifier or a literal", "word", "string", "number", "TRUE", "FALSE", "(")
        span = token.start, token.end
        if token.kind == "string":
            self.at -= 1
            return Operand(self.string(), TEXT)
        if token.kind == "number":
            return self.numeral(token)
        if token.kind == "word":
            if token.text.startswith('"'):
                return Operand(Name((token.text[1:-1].replace('""', '"'),), span), ANY_KIND)
            return Operand(Name(tuple(token.text.split(".")), span), ANY_KIND)
        if token.kind == "(":
            self.deeper()
            found = self.disjunction()
            self.expect(")", ")")
            self.depth -= 1
            return found
        return Operand(Literal(BOOLEAN, token.kind == "TRUE", span), TRUTH)

    def numeral(self, token: Token, *, negated: bool = False) -> Operand:
        """A number as Java writes it: whole, 0x1F, 017 (octal), 7L; or 7., .5, 7E3, 1.5f."""
        span = token.start - negated, token.end
        digits = token.text.rstrip("lL") if _WHOLE.fullmatch(token.text) else token.text.rstrip("fFdDlL")
        if not _WHOLE.fullmatch(token.text):
            if token.text[-1] in "lL":
                fail("L stands behind whole numbers only", span)
            value = float(digits)
            return Operand(Literal(DOUBLE, -value if negated else value, span), NUMBER)
        is_octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX"
        if is_octal and not set(digits) <= set("01234567"):
            fail("a number that begins with 0 is octal: its digits are 0 to 7", span)
        whole = int(digits, 8 if is_octal else 0)
        whole = -whole if negated else whole
        if not _LEAST <= whole <= _GREATEST:
            fail("this whole number is beyond 64 bits", span, "write it with a decimal point")
        return Operand(Literal(BIGINT, whole, span), NUMBER)
