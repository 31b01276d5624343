"""The parser: tokens to a syntax tree, by operator precedence, as Spark's grammar reads a WHERE clause.

The parser reports all problems: after an error it skips to the next AND, OR or closing parenthesis, leaves a
`Missing` node and continues. It never recurses deeper than `Limits.depth`, whatever the text.

From loose to tight: OR, XOR (not in Spark), AND, NOT, one of [IN, LIKE, BETWEEN, IS ...], comparisons, `|`, `^`,
`&`, [`+` `-` `||`], [`*` `/` `%` `div`], unary signs, [`.name` `[index]` `::type`].
"""

from __future__ import annotations

import re

from tamis.errors import ConditionError, EventTypeError, Problem
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.cursor import MOST_PROBLEMS, Cursor, SyntaxFailure
from tamis.syntax.intervals import begins_interval, interval_literal
from tamis.syntax.literals import read_number, read_string
from tamis.syntax.special_forms import COMPARISON, FUNCTION_KEYWORDS, SPECIAL_FORMS, ordinary_call
from tamis.syntax.tokens import Kind, tokenise
from tamis.syntax.tree import (
    Cast,
    Expression,
    FieldAccess,
    Free,
    FunctionCall,
    Lambda,
    Literal,
    Missing,
    Name,
    TimeLiteral,
    children,
)
from tamis.values.types import (
    BINARY,
    BOOLEAN,
    DATE,
    INTERVAL_FIELDS,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    parse_type,
)

_OR, _XOR, _AND = 1, 2, 3

_LOGICAL = {Kind.OR: (_OR, "or"), Kind.XOR: (_XOR, "xor"), Kind.AND: (_AND, "and")}
_VALUE_OPERATORS = {
    Kind.EQ: (COMPARISON, "="),
    Kind.NE: (COMPARISON, "<>"),
    Kind.LT: (COMPARISON, "<"),
    Kind.LE: (COMPARISON, "<="),
    Kind.GT: (COMPARISON, ">"),
    Kind.GE: (COMPARISON, ">="),
    Kind.NULL_SAFE_EQ: (COMPARISON, "<=>"),
    Kind.PIPE: (7, "|"),
    Kind.HAT: (8, "^"),
    Kind.AMPERSAND: (9, "&"),
    Kind.PLUS: (11, "+"),
    Kind.MINUS: (11, "-"),
    Kind.CONCAT: (11, "||"),
    Kind.STAR: (12, "*"),
    Kind.SLASH: (12, "/"),
    Kind.PERCENT: (12, "%"),
    Kind.DIV: (12, "div"),
}
_PREDICATES = (Kind.IN, Kind.LIKE, Kind.ILIKE, Kind.RLIKE, Kind.REGEXP, Kind.BETWEEN, Kind.IS, Kind.NOT)
_SHIFTS = {"shiftleft": 2, "shiftright": 2, "shiftrightunsigned": 3}
_SIGNS = {Kind.MINUS: "negative", Kind.PLUS: "positive", Kind.TILDE: "~"}
_NAMEABLE = {kind for kind in Kind if kind >= Kind.XOR} - {Kind.NOT, Kind.NULL, Kind.TRUE, Kind.FALSE, Kind.CASE}
"""Keywords that are names where an operand stands and an operator or the end follows, as in `end > 5`."""
_AFTER_NAME = frozenset(
    {Kind.END, Kind.RIGHT_PAREN, Kind.RIGHT_BRACKET, Kind.LEFT_BRACKET, Kind.COMMA, Kind.DOT, Kind.CAST_COLONS}
    | {Kind(kind) for kind in (*range(Kind.PLUS, Kind.ARROW), *range(Kind.CONCAT, Kind.TILDE))}
    | _NAMEABLE
    | {Kind.AND, Kind.OR, Kind.NOT}
)
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.EXPONENT, Kind.SUFFIXED)
_SYNC = (Kind.AND, Kind.OR, Kind.XOR, Kind.RIGHT_PAREN, Kind.END)
_TIME_TYPES = {
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
}


_NESTED_TYPES = ("array", "struct", "map")
_QUERY = re.compile(r"\s*(select|where)\b", re.IGNORECASE)
_WHERE = re.compile(r"\bwhere\b", re.IGNORECASE)
_AFTER_WHERE = re.compile(
    r";|\b(?:group|order|sort|cluster|distribute)\s+by\b|\b(?:having|limit|union)\b", re.IGNORECASE
)
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> Expression:
    """Read a condition; raises ConditionError with all problems of its syntax.

    Examples:
        >>> parse("price < 300 AND NOT sold").function
        'and'
    """
    expression, problems = parse_leniently(text, limits)
    if problems:
        raise ConditionError(text, problems)
    return expression


def parse_leniently(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Expression, list[Problem]]:
    """The tree as far as it could be read, and the problems of its syntax."""
    refused = text_problem(text, limits)
    if refused is not None:
        return Missing(), [refused]
    parser = ConditionParser(tokenise(text), limits)
    expression = parser.whole()
    query = _query_problem(text) if parser.problems else None
    if query is not None:
        return Missing(expression.span), [query]
    too_large = size_problems(expression, limits)
    if too_large:
        # Recursion over such a tree could exhaust the stack.
        return Missing(expression.span), [*parser.problems, *too_large]
    return expression, parser.problems


def text_problem(text: str, limits: Limits) -> Problem | None:
    """Why a text is not parsed, whatever its dialect; None if it is."""
    if not isinstance(text, str):
        msg = f"a condition is text, not {type(text).__name__}"
        raise TypeError(msg)
    if len(text) > limits.text_characters:
        message = f"a condition has {limits.text_characters} characters at most, this one has {len(text)}"
        return Problem(message, limits.text_characters, limits.text_characters + 1)
    half = _HALF_PAIR.search(text)
    if half is not None:
        return Problem("half of a surrogate pair is not a character", half.start(), half.end())
    return None


def _query_problem(text: str) -> Problem | None:
    """The problem of a text that is a whole query, or its WHERE clause with the word."""
    begin = _QUERY.match(text)
    if begin is None:
        return None
    where = _WHERE.search(text, begin.start(1))
    hint = "write what the events must satisfy, such as price < 300"
    if where is not None:
        end = _AFTER_WHERE.search(text, where.end())
        condition = text[where.end() : None if end is None else end.start()].strip()
        hint = f"write {condition}" if condition else hint
    message = "a condition is what stands after WHERE, not a whole query"
    return Problem(message, begin.start(1), begin.end(1) if where is None else where.end(), hint)


def size_problems(expression: Expression, limits: Limits) -> list[Problem]:
    """Problems of a tree that is too deep or too large. Chains such as a + b + c are deep without parentheses."""
    stack = [(expression, 1)]
    nodes = 0
    while stack:
        node, depth = stack.pop()
        nodes += 1
        parts = children(node)
        if depth > limits.depth:
            return [Problem(f"nested more than {limits.depth} deep", *node.span)]
        if len(parts) > limits.operands:
            return [Problem(f"{len(parts)} operands, {limits.operands} are allowed", *node.span)]
        stack.extend((part, depth + 1) for part in parts)
    if nodes > limits.nodes:
        return [Problem(f"{nodes} parts, {limits.nodes} are allowed", *expression.span)]
    return []


class ConditionParser(Cursor):
    """Parses one text. Each method that parses a construct starts at `self.at` and moves it past the construct."""

    # --- conditions ---------------------------------------------------------------------------------------

    def whole(self) -> Expression:
        expression = self.condition(0)
        while self.kinds[self.at] != Kind.END and len(self.problems) < MOST_PROBLEMS:
            self.report(self.unexpected_token("AND, OR or the end"))
            self.at += 1
            self.skip(self.at)
            if self.kinds[self.at] in _LOGICAL:
                self.at += 1
                self.condition(0)
        return expression

    def condition(self, loosest: int) -> Expression:
        """Operands joined by AND, XOR and OR, of at least the binding strength `loosest`."""
        left = self.operand()
        while True:
            strength, name = _LOGICAL.get(self.kinds[self.at], (0, ""))  # type: ignore[call-overload]
            if strength == 0 or strength < loosest:
                return left
            operands = [left]
            joint = self.kinds[self.at]
            while self.kinds[self.at] == joint:
                self.at += 1
                operands.append(self.condition(strength + 1) if strength < _AND else self.operand())
                if name == "xor":
                    break
            left = _flat_call(name, operands)

    def operand(self) -> Expression:
        """One operand of AND or OR, with its NOTs; a mistake inside is reported and skipped."""
        start = self.at
        while self.kinds[self.at] in (Kind.NOT, Kind.BANG):
            self.at += 1
        negations = self.at - start
        try:
            if negations > self.limits.depth:
                raise self.failure(f"nested more than {self.limits.depth} deep", start)
            expression = self.predicate()
        except SyntaxFailure as failure:
            self.report(failure.problem)
            self.skip(start)
            return Missing(self.span_from(start))
        for place in range(start + negations - 1, start - 1, -1):
            expression = FunctionCall("not", (expression,), self.span_from(place))
        return expression

    def skip(self, start: int) -> None:
        """Advance to where the operand that began at `start` may end: AND, OR, or an unmatched parenthesis."""
        read = self.kinds[start : self.at]
        open_ = read.count(Kind.LEFT_PAREN) - read.count(Kind.RIGHT_PAREN)
        while self.kinds[self.at] != Kind.END:
            kind = self.kinds[self.at]
            if open_ <= 0 and kind in _SYNC:
                return
            open_ += (kind == Kind.LEFT_PAREN) - (kind == Kind.RIGHT_PAREN)
            self.at += 1

    # --- predicates --------------------------------------------------------------------------------------

    def predicate(self) -> Expression:
        """A value, with at most one of IN, LIKE, BETWEEN and IS."""
        start = self.at
        value = self.value(COMPARISON)
        if self.kinds[self.at] not in _PREDICATES:
            return value
        negated = self.accept(Kind.NOT)
        kind = self.kinds[self.at]
        if kind == Kind.IN:
            expression = self.membership(value)
        elif kind in (Kind.LIKE, Kind.ILIKE):
            return self.like(value, start, negated=negated)
        elif kind in (Kind.RLIKE, Kind.REGEXP):
            self.at += 1
            expression = FunctionCall("rlike", (value, self.value(COMPARISON)))
        elif kind == Kind.BETWEEN:
            expression = self.between(value, start)
        elif kind == Kind.IS and not negated:
            return self.is_something(value, start)
        else:
            raise self.failure_here("IN, LIKE, ILIKE, RLIKE or BETWEEN")
        return self.finish_predicate(expression, start, negated=negated)

    def finish_predicate(self, expression: FunctionCall, start: int, *, negated: bool) -> Expression:
        span = self.span_from(start)
        positive = FunctionCall(expression.function, expression.arguments, span)
        return FunctionCall("not", (positive,), span) if negated else positive

    def membership(self, value: Expression) -> FunctionCall:
        self.at += 1
        self.deeper(self.at)
        self.expect(Kind.LEFT_PAREN, "( after IN")
        items = self.comma_separated()
        self.depth -= 1
        if not items:
            raise self.failure("IN needs at least one item", self.at - 1)
        return FunctionCall("in", (value, *items))

    def between(self, value: Expression, start: int) -> FunctionCall:
        self.at += 1
        low = self.value(COMPARISON)
        self.expect(Kind.AND, "AND between the two bounds")
        high = self.value(COMPARISON)
        span = self.span_from(start)
        return FunctionCall(
            "and", (FunctionCall(">=", (value, low), span), FunctionCall("<=", (value, high), span)), span
        )

    def like(self, value: Expression, start: int, *, negated: bool) -> Expression:
        function = "like" if self.kinds[self.at] == Kind.LIKE else "ilike"
        self.at += 1
        quantifier = self.tokens.lower_words[self.at]
        if quantifier in ("any", "some", "all") and self.kinds[self.at + 1] == Kind.LEFT_PAREN:
            self.deeper(self.at)
            self.at += 2
            patterns = self.comma_separated()
            self.depth -= 1
            if not patterns:
                raise self.failure(f"{function.upper()} {quantifier.upper()} needs a pattern", self.at - 1)
            span = self.span_from(start)
            tests: list[Expression] = [FunctionCall(function, (value, pattern), span) for pattern in patterns]
            if negated:
                tests = [FunctionCall("not", (test,), span) for test in tests]
            return _flat_call("and" if quantifier == "all" else "or", tests)
        arguments = [value, self.value(COMPARISON)]
        if self.accept(Kind.ESCAPE):
            if self.kinds[self.at] not in (Kind.STRING, Kind.RAW_STRING):
                raise self.failure_here("a string of one character after ESCAPE")
            escape = self.string()
            if len(escape.value) != 1:
                raise self.failure("ESCAPE takes a string of one character", self.at - 1)
            if escape.value != "\\":
                arguments.append(escape)
        return self.finish_predicate(FunctionCall(function, tuple(arguments)), start, negated=negated)

    def is_something(self, value: Expression, start: int) -> Expression:
        self.at += 1
        negated = self.accept(Kind.NOT)
        word = self.tokens.lower_words[self.at]
        self.at += 1
        if word in ("null", "unknown", "true", "false"):
            function = f"is_not_{word}" if negated else f"is_{word}"
            return FunctionCall(function, (value,), self.span_from(start))
        if word == "distinct" and self.tokens.lower_words[self.at] == "from":
            self.at += 1
            test = FunctionCall("<=>", (value, self.value(COMPARISON)))
            return self.finish_predicate(test, start, negated=not negated)
        self.at -= 1
        raise self.failure_here("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")

    # --- values ------------------------------------------------------------------------------------------

    def value(self, loosest: int) -> Expression:
        """Operators of values, of at least the binding strength `loosest`."""
        start = self.at
        left = self.unary() if self.kinds[start] in _SIGNS else self.postfix()
        while True:
            strength, name = self.shift() or _VALUE_OPERATORS.get(self.kinds[self.at], (0, ""))  # type: ignore[call-overload]
            if strength == 0 or strength < loosest:
                return left
            self.at += _SHIFTS[name] if name in _SHIFTS else 1
            right = self.value(strength + 1)
            left = FunctionCall(name, (left, right), self.span_from(start))

    def shift(self) -> tuple[int, str] | None:
        """`<<`, `>>` or `>>>`, which are signs of comparison without space between them."""
        kind = self.kinds[self.at]
        if kind not in (Kind.LT, Kind.GT):
            return None
        starts = self.tokens.starts[self.at : self.at + 3]
        length = 1
        while length < 3 and self.kinds[self.at + length] == kind and starts[length] == starts[0] + length:
            length += 1
        name = {(Kind.LT, 2): "shiftleft", (Kind.GT, 2): "shiftright", (Kind.GT, 3): "shiftrightunsigned"}
        found = name.get((Kind(kind), length))
        return None if found is None else (10, found)

    def unary(self) -> Expression:
        """A value with unary operators; the minus before a number is part of the number."""
        start = self.at
        while self.kinds[self.at] in _SIGNS:
            if self.kinds[self.at] == Kind.MINUS and self.kinds[self.at + 1] in _NUMBERS:
                break
            self.at += 1
        if self.at - start > self.limits.depth:
            raise self.failure(f"nested more than {self.limits.depth} deep", start)
        signs = range(start, self.at)
        expression = self.postfix()
        for place in reversed(signs):
            expression = FunctionCall(_SIGNS[Kind(self.kinds[place])], (expression,), self.span_from(place))
        return expression

    def postfix(self) -> Expression:
        start = self.at
        expression = self.primary()
        for _ in range(self.limits.depth + 1):
            kind = self.kinds[self.at]
            if kind == Kind.DOT:
                self.at += 1
                name = self.part_of_name()
                if isinstance(expression, Name):
                    expression = Name((*expression.parts, name), self.span_from(start))
                else:
                    expression = FieldAccess(expression, name, self.span_from(start))
            elif kind == Kind.LEFT_BRACKET:
                self.at += 1
                self.deeper(self.at - 1)
                index = self.value(COMPARISON)
                self.depth -= 1
                self.expect(Kind.RIGHT_BRACKET, "]")
                expression = FunctionCall("[]", (expression, index), self.span_from(start))
            elif kind == Kind.CAST_COLONS:
                self.at += 1
                expression = Cast(expression, self.type_name(), self.span_from(start))
            elif kind == Kind.NAME and self.accept_word("collate"):
                name = self.part_of_name()
                while self.accept(Kind.DOT):  # SYSTEM.BUILTIN.UTF8_LCASE
                    name = self.part_of_name()
                collation = Literal(STRING, name, self.span_from(self.at - 1))
                expression = FunctionCall("collate", (expression, collation), self.span_from(start))
            else:
                return expression
        raise self.failure(f"nested more than {self.limits.depth} deep", start)

    def primary(self) -> Expression:
        start = self.at
        kind = self.kinds[start]
        if kind == Kind.LEFT_PAREN:
            return self.parentheses()
        if kind == Kind.MINUS or kind in _NUMBERS:
            return self.number()
        if kind in (Kind.STRING, Kind.RAW_STRING):
            return self.string()
        if kind in (Kind.NAME, Kind.QUOTED_NAME):
            return self.name_or_call()
        if kind == Kind.VARIABLE:
            self.at += 1
            return Free(self.tokens.word(start)[1:], self.span_from(start))
        if kind in (Kind.TRUE, Kind.FALSE, Kind.NULL):
            self.at += 1
            value = {Kind.TRUE: True, Kind.FALSE: False}.get(Kind(kind))
            return Literal(NULL if value is None else BOOLEAN, value, self.span_from(start))
        if kind == Kind.CASE:
            return self.case()
        if kind in FUNCTION_KEYWORDS and self.kinds[start + 1] == Kind.LEFT_PAREN:
            return self.name_or_call()
        if kind in _NAMEABLE and self.kinds[start + 1] in _AFTER_NAME:
            return Name((self.part_of_name(),), self.span_from(start))
        raise self.operand_failure()

    def parentheses(self) -> Expression:
        start = self.at
        if self._begins_lambda():
            return self.lambda_()
        self.at += 1
        self.deeper(start)
        inner = self.condition(0)
        self.depth -= 1
        if self.kinds[self.at] == Kind.COMMA:
            return self.row(start, inner)
        self.expect(Kind.RIGHT_PAREN, ") to close the one at column " + str(self.column(start)))
        return inner

    def row(self, start: int, first: Expression) -> FunctionCall:
        """`(a, b)` is struct(a, b)."""
        items = [first]
        self.deeper(start)
        while self.accept(Kind.COMMA):
            items.append(self.condition(0))
        self.depth -= 1
        self.expect(Kind.RIGHT_PAREN, ") to close the one at column " + str(self.column(start)))
        return FunctionCall("struct", tuple(items), self.span_from(start))

    def number(self) -> Literal:
        start = self.at
        negative = self.accept(Kind.MINUS)
        self.at += 1
        read = read_number(self.tokens.word(self.at - 1), negative=negative)
        if isinstance(read, str):
            raise self.failure(read, start)
        return Literal(*read, self.span_from(start))

    def string(self) -> Literal:
        start = self.at
        parts = []
        while self.kinds[self.at] in (Kind.STRING, Kind.RAW_STRING):
            token = self.tokens.word(self.at)
            value = token[2:-1] if self.kinds[self.at] == Kind.RAW_STRING else read_string(token)
            self.at += 1
            if value is None:
                raise self.failure("the string holds half of a surrogate pair", self.at - 1)
            parts.append(value)
        return Literal(STRING, "".join(parts), self.span_from(start))

    def name_or_call(self) -> Expression:
        start = self.at
        quoted = self.kinds[start] == Kind.QUOTED_NAME
        word = "" if quoted else self.tokens.lower_words[start]
        following = self.kinds[start + 1]
        if following == Kind.STRING and (word in _TIME_TYPES or word == "x"):
            return self.typed_string(word)
        if word == "interval" and begins_interval(self):
            return interval_literal(self)
        if following == Kind.ARROW:
            return self.lambda_()
        if following == Kind.LEFT_PAREN and not quoted:
            self.at += 1
            self.deeper(start)
            self.at += 1
            special = SPECIAL_FORMS.get(word, ordinary_call)
            call = special(self, start, word)
            self.depth -= 1
            return call
        return Name((self.part_of_name(),), self.span_from(start))

    def part_of_name(self) -> str:
        kind = self.kinds[self.at]
        if kind not in (Kind.NAME, Kind.QUOTED_NAME) and kind < Kind.AND:
            raise self.failure_here("a name")
        word = self.tokens.word(self.at)
        self.at += 1
        return word[1:-1].replace("``", "`") if kind == Kind.QUOTED_NAME else word

    def typed_string(self, word: str) -> Expression:
        start = self.at
        self.at += 1
        text = self.string().value
        span = self.span_from(start)
        if word in _TIME_TYPES:
            return TimeLiteral(_TIME_TYPES[word], text, span)
        digits = text if len(text) % 2 == 0 else "0" + text
        if any(digit not in "0123456789abcdefABCDEF" for digit in digits):
            raise self.failure("X'...' takes hexadecimal digits", start)
        return Literal(BINARY, bytes.fromhex(digits), span)

    def lambda_(self) -> Lambda:
        start = self.at
        names = []
        if self.accept(Kind.LEFT_PAREN):
            names.append(self.part_of_name())
            while self.accept(Kind.COMMA):
                names.append(self.part_of_name())
            self.expect(Kind.RIGHT_PAREN, ") after the variables")
        else:
            names.append(self.part_of_name())
        self.expect(Kind.ARROW, "->")
        self.deeper(start)
        body = self.condition(0)
        self.depth -= 1
        return Lambda(names[0], body, self.span_from(start), tuple(names[1:]))

    def _begins_lambda(self) -> bool:
        """Does `(x, y) ->` stand here? One variable has no parentheses."""
        at = self.at + 1
        while self.kinds[at] in (Kind.NAME, Kind.QUOTED_NAME) and self.kinds[at + 1] == Kind.COMMA:
            at += 2
        ends = (
            at > self.at + 1
            and self.kinds[at] in (Kind.NAME, Kind.QUOTED_NAME)
            and self.kinds[at + 1] == Kind.RIGHT_PAREN
        )
        return ends and self.kinds[at + 2] == Kind.ARROW

    def case(self) -> FunctionCall:
        start = self.at
        self.at += 1
        self.deeper(start)
        subject = None if self.kinds[self.at] == Kind.WHEN else self.condition(0)
        arguments: list[Expression] = []
        while self.accept(Kind.WHEN):
            test = self.condition(0)
            if subject is not None:
                test = FunctionCall("=", (subject, test), test.span)
            self.expect(Kind.THEN, "THEN")
            arguments += (test, self.condition(0))
        if not arguments:
            raise self.failure_here("WHEN")
        if self.accept(Kind.ELSE):
            arguments.append(self.condition(0))
        self.expect(Kind.END_CASE, "WHEN, ELSE or END")
        self.depth -= 1
        return FunctionCall("case", tuple(arguments), self.span_from(start))

    def comma_separated(self, first: Expression | None = None) -> list[Expression]:
        """Expressions up to and including the closing parenthesis; the caller may have read the first."""
        items: list[Expression] = []
        if first is None:
            if self.accept(Kind.RIGHT_PAREN):
                return items
            first = self.condition(0)
        items.append(first)
        while not self.accept(Kind.RIGHT_PAREN):
            self.expect(Kind.COMMA, ", or )")
            items.append(self.condition(0))
        return items

    def type_name(self) -> Type:
        """A type, up to its closing parenthesis or angle bracket; elsewhere `<` is a comparison."""
        start = self.at
        open_ = 0
        while self.kinds[self.at] != Kind.END:
            kind = self.kinds[self.at]
            open_ += (kind in (Kind.LEFT_PAREN, Kind.LT)) - (kind in (Kind.RIGHT_PAREN, Kind.GT))
            self.at += 1
            following = self.kinds[self.at]
            word = self.tokens.lower_words[self.at - 1]
            nested = (following == Kind.LT and word in _NESTED_TYPES) or self._continues_interval(start, word)
            if open_ <= 0 and not nested and following != Kind.LEFT_PAREN:
                break
        try:
            return parse_type(" ".join(map(self.tokens.word, range(start, self.at))))
        except EventTypeError as error:
            raise self.failure(str(error), start) from None

    def _continues_interval(self, start: int, word: str) -> bool:
        """Do the fields of INTERVAL DAY TO SECOND go on?"""
        if self.tokens.lower_words[start] != "interval":
            return False
        following = self.tokens.lower_words[self.at]
        return following in INTERVAL_FIELDS if word in ("interval", "to") else following == "to"


def _flat_call(name: str, operands: list[Expression]) -> Expression:
    """A call in which nested ANDs or ORs are flattened: (a AND b) AND c has three operands."""
    if len(operands) == 1:
        return operands[0]
    flat: list[Expression] = []
    for operand in operands:
        if name != "xor" and isinstance(operand, FunctionCall) and operand.function == name:
            flat.extend(operand.arguments)
        else:
            flat.append(operand)
    return FunctionCall(name, tuple(flat), (operands[0].span[0], operands[-1].span[1]))
