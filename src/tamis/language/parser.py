"""The parser: tokens to a syntax tree, by operator precedence, as Spark's grammar reads a WHERE clause.

It reports every problem that it finds: after a mistake it skips to the next AND, OR or closing parenthesis and
goes on, leaving a `Missing` node. It never recurses deeper than `Limits.depth` allows, whatever the text.

From loose to tight: OR, XOR (ours), AND, NOT, one of [IN, LIKE, BETWEEN, IS ...], comparisons, `|`, `^`, `&`,
[`+` `-` `||`], [`*` `/` `%` `div`], unary signs, [`.name` `[index]` `::type`].
"""

from __future__ import annotations

from collections.abc import Callable

from tamis.errors import ConditionError, EventTypeError, Problem
from tamis.language.literals import read_number, read_string
from tamis.language.syntax import (
    Call,
    Cast,
    Expression,
    Field,
    Lambda,
    Literal,
    Missing,
    Name,
    Span,
    TimeLiteral,
    children,
)
from tamis.language.tokens import KEYWORDS, Kind, Tokens, tokenise
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.values.types import (
    BINARY,
    BOOLEAN,
    DATE,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    parse_type,
)

_OR, _XOR, _AND, _PREDICATE, _COMPARISON, _UNARY = 1, 2, 3, 5, 6, 13

_LOGICAL = {Kind.OR: (_OR, "or"), Kind.XOR: (_XOR, "xor"), Kind.AND: (_AND, "and")}
_VALUE_OPERATORS = {
    Kind.EQ: (_COMPARISON, "="),
    Kind.NE: (_COMPARISON, "<>"),
    Kind.LT: (_COMPARISON, "<"),
    Kind.LE: (_COMPARISON, "<="),
    Kind.GT: (_COMPARISON, ">"),
    Kind.GE: (_COMPARISON, ">="),
    Kind.NULL_SAFE_EQ: (_COMPARISON, "<=>"),
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
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.EXPONENT, Kind.SUFFIXED)
_SYNC = (Kind.AND, Kind.OR, Kind.XOR, Kind.RIGHT_PAREN, Kind.END)
_TIME_TYPES = {
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
}
_BAD = {
    Kind.BAD_CHARACTER: "is not part of the language",
    Kind.BAD_STRING: "begins a string that does not end",
    Kind.BAD_COMMENT: "begins a comment that does not end",
    Kind.BAD_NAME: "is not a name; a back quote needs its twin",
}
_MOST_PROBLEMS = 20


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> Expression:
    """Read a condition; raises ConditionError with all problems of its syntax.

    >>> parse("price < 300 AND NOT sold").function
    'and'
    """
    expression, problems = parse_leniently(text, limits)
    if problems:
        raise ConditionError(text, problems)
    return expression


def parse_leniently(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Expression, list[Problem]]:
    """The tree as far as it could be read, and the problems of its syntax."""
    if not isinstance(text, str):
        msg = f"a condition is text, not {type(text).__name__}"
        raise TypeError(msg)
    if len(text) > limits.text_characters:
        message = f"a condition has {limits.text_characters} characters at most, this one has {len(text)}"
        return Missing(), [Problem(message, limits.text_characters, limits.text_characters + 1)]
    parser = _Parser(tokenise(text), limits)
    expression = parser.whole()
    if not parser.problems:
        parser.problems.extend(_size_problems(expression, limits))
    return expression, parser.problems


def _size_problems(expression: Expression, limits: Limits) -> list[Problem]:
    """What is too deep or too large. Chains such as a + b + c are deep without any parenthesis."""
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


class _Failure(Exception):
    """Unwinds to the nearest place where reading can go on; carries the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Parser:
    """Reads one text. Methods that read something begin at `self.at` and leave it behind what they read."""

    def __init__(self, tokens: Tokens, limits: Limits) -> None:
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.limits = limits
        self.at = 0
        self.depth = 0
        self.problems: list[Problem] = []
        self.too_deep = False

    # --- the frame ---------------------------------------------------------------------------------------

    def whole(self) -> Expression:
        expression = self.condition(0)
        while self.kinds[self.at] != Kind.END and len(self.problems) < _MOST_PROBLEMS:
            self.report(self.unexpected("AND, OR or the end"))
            self.at += 1
            self.skip()
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
            left = _joined(name, operands)

    def operand(self) -> Expression:
        """One operand of AND, OR or NOT; a mistake inside is reported and skipped."""
        start = self.at
        try:
            return self.negation()
        except _Failure as failure:
            self.report(failure.problem)
            self.skip()
            return Missing(self.span_from(start))

    def negation(self) -> Expression:
        start = self.at
        if self.kinds[start] not in (Kind.NOT, Kind.BANG):
            return self.predicate()
        negations = 0
        while self.kinds[self.at] in (Kind.NOT, Kind.BANG):
            negations += 1
            self.at += 1
        if negations > self.limits.depth:
            raise self.failure(f"nested more than {self.limits.depth} deep", start)
        expression = self.predicate()
        for place in range(negations):
            expression = Call("not", (expression,), self.span_from(start + negations - 1 - place))
        return expression

    def skip(self) -> None:
        """Go to where an operand may end: AND, OR or a closing parenthesis that is not ours."""
        open_ = 0
        while self.kinds[self.at] != Kind.END:
            kind = self.kinds[self.at]
            if open_ == 0 and kind in _SYNC:
                return
            open_ += (kind == Kind.LEFT_PAREN) - (kind == Kind.RIGHT_PAREN)
            self.at += 1

    def report(self, problem: Problem) -> None:
        if len(self.problems) < _MOST_PROBLEMS and not self.too_deep:
            self.problems.append(problem)

    # --- predicates --------------------------------------------------------------------------------------

    def predicate(self) -> Expression:
        """A value, and what may be asked of it once: IN, LIKE, BETWEEN, IS."""
        start = self.at
        value = self.value(_COMPARISON)
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
            expression = Call("rlike", (value, self.value(_COMPARISON)))
        elif kind == Kind.BETWEEN:
            expression = self.between(value, start)
        elif kind == Kind.IS and not negated:
            return self.is_something(value, start)
        else:
            raise self.failure_here("IN, LIKE, ILIKE, RLIKE or BETWEEN")
        return self.wrapped(expression, start, negated=negated)

    def wrapped(self, expression: Call, start: int, *, negated: bool) -> Expression:
        span = self.span_from(start)
        positive = Call(expression.function, expression.arguments, span)
        return Call("not", (positive,), span) if negated else positive

    def membership(self, value: Expression) -> Call:
        self.at += 1
        self.expect(Kind.LEFT_PAREN, "( after IN")
        items = self.comma_separated()
        if not items:
            raise self.failure("IN needs at least one item", self.at - 1)
        return Call("in", (value, *items))

    def between(self, value: Expression, start: int) -> Call:
        self.at += 1
        low = self.value(_COMPARISON)
        self.expect(Kind.AND, "AND between the two bounds")
        high = self.value(_COMPARISON)
        span = self.span_from(start)
        return Call("and", (Call(">=", (value, low), span), Call("<=", (value, high), span)), span)

    def like(self, value: Expression, start: int, *, negated: bool) -> Expression:
        function = "like" if self.kinds[self.at] == Kind.LIKE else "ilike"
        self.at += 1
        quantifier = self.tokens.lowered[self.at]
        if quantifier in ("any", "some", "all") and self.kinds[self.at + 1] == Kind.LEFT_PAREN:
            self.at += 2
            patterns = self.comma_separated()
            if not patterns:
                raise self.failure(f"{function.upper()} {quantifier.upper()} needs a pattern", self.at - 1)
            span = self.span_from(start)
            tests: list[Expression] = [Call(function, (value, pattern), span) for pattern in patterns]
            if negated:
                tests = [Call("not", (test,), span) for test in tests]
            return _joined("and" if quantifier == "all" else "or", tests)
        arguments = [value, self.value(_COMPARISON)]
        if self.accept(Kind.ESCAPE):
            if self.kinds[self.at] not in (Kind.STRING, Kind.RAW_STRING):
                raise self.failure_here("a string of one character after ESCAPE")
            escape = self.string()
            if len(escape.value) != 1:
                raise self.failure("ESCAPE takes a string of one character", self.at - 1)
            if escape.value != "\\":
                arguments.append(escape)
        return self.wrapped(Call(function, tuple(arguments)), start, negated=negated)

    def is_something(self, value: Expression, start: int) -> Expression:
        self.at += 1
        negated = self.accept(Kind.NOT)
        word = self.tokens.lowered[self.at]
        self.at += 1
        if word in ("null", "unknown"):
            if word == "unknown":
                value = Cast(value, BOOLEAN, value.span) if isinstance(value, Literal) else value
            return Call("is_not_null" if negated else "is_null", (value,), self.span_from(start))
        if word in ("true", "false"):
            function = f"is_not_{word}" if negated else f"is_{word}"
            return Call(function, (value,), self.span_from(start))
        if word == "distinct" and self.tokens.lowered[self.at] == "from":
            self.at += 1
            test = Call("<=>", (value, self.value(_COMPARISON)))
            return self.wrapped(test, start, negated=not negated)
        self.at -= 1
        raise self.failure_here("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")

    # --- values ------------------------------------------------------------------------------------------

    def value(self, loosest: int) -> Expression:
        """Operators of values, of at least the binding strength `loosest`."""
        start = self.at
        left = self.prefix()
        while True:
            strength, name = _VALUE_OPERATORS.get(self.kinds[self.at], (0, ""))  # type: ignore[call-overload]
            if strength == 0 or strength < loosest:
                return left
            self.at += 1
            right = self.value(strength + 1)
            left = Call(name, (left, right), self.span_from(start))

    def prefix(self) -> Expression:
        start = self.at
        kind = self.kinds[start]
        if kind not in (Kind.MINUS, Kind.PLUS, Kind.TILDE):
            return self.postfix()
        if kind == Kind.MINUS and self.kinds[start + 1] in _NUMBERS:
            return self.postfix()
        self.at += 1
        self.deeper(start)
        operand = self.prefix()
        self.depth -= 1
        function = {Kind.MINUS: "negative", Kind.PLUS: "positive"}.get(Kind(kind), "~")
        return Call(function, (operand,), self.span_from(start))

    def postfix(self) -> Expression:
        start = self.at
        expression = self.primary()
        while True:
            kind = self.kinds[self.at]
            if kind == Kind.DOT:
                self.at += 1
                name = self.part_of_name()
                if isinstance(expression, Name):
                    expression = Name((*expression.parts, name), self.span_from(start))
                else:
                    expression = Field(expression, name, self.span_from(start))
            elif kind == Kind.LEFT_BRACKET:
                self.at += 1
                self.deeper(self.at - 1)
                index = self.value(_COMPARISON)
                self.depth -= 1
                self.expect(Kind.RIGHT_BRACKET, "]")
                expression = Call("[]", (expression, index), self.span_from(start))
            elif kind == Kind.CAST_COLONS:
                self.at += 1
                expression = Cast(expression, self.type_name(), self.span_from(start))
            else:
                return expression

    def primary(self) -> Expression:
        start = self.at
        kind = self.kinds[start]
        if kind == Kind.LEFT_PAREN:
            return self.parenthesised()
        if kind == Kind.MINUS or kind in _NUMBERS:
            return self.number()
        if kind in (Kind.STRING, Kind.RAW_STRING):
            return self.string()
        if kind in (Kind.NAME, Kind.QUOTED_NAME):
            return self.name_or_call()
        if kind in (Kind.TRUE, Kind.FALSE, Kind.NULL):
            self.at += 1
            value = {Kind.TRUE: True, Kind.FALSE: False}.get(Kind(kind))
            return Literal(NULL if value is None else BOOLEAN, value, self.span_from(start))
        if kind == Kind.CASE:
            return self.case()
        if kind in _FUNCTION_KEYWORDS and self.kinds[start + 1] == Kind.LEFT_PAREN:
            return self.name_or_call()
        raise self.failure_here("an attribute, a constant, a function or (")

    def parenthesised(self) -> Expression:
        start = self.at
        self.at += 1
        self.deeper(start)
        inner = self.condition(0)
        self.depth -= 1
        if self.kinds[self.at] == Kind.COMMA:
            raise self.failure_here(")", hint="tuples are not part of the language")
        self.expect(Kind.RIGHT_PAREN, ") to close the one at column " + str(self.column(start)))
        return inner

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
        word = "" if quoted else self.tokens.lowered[start]
        following = self.kinds[start + 1]
        if following == Kind.STRING and (word in _TIME_TYPES or word == "x"):
            return self.typed_string(word)
        if word == "interval" and following in (Kind.STRING, Kind.INTEGER, Kind.MINUS):
            raise self.failure("intervals are not part of the language", start, hint="use date_add or timestamps")
        if following == Kind.ARROW:
            return self.lambda_()
        if following == Kind.LEFT_PAREN and not quoted:
            self.at += 1
            self.deeper(start)
            self.at += 1
            special = _SPECIAL_FORMS.get(word, _ordinary)
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
        variable = self.part_of_name()
        self.expect(Kind.ARROW, "->")
        self.deeper(start)
        body = self.condition(0)
        self.depth -= 1
        return Lambda(variable, body, self.span_from(start))

    def case(self) -> Call:
        start = self.at
        self.at += 1
        self.deeper(start)
        subject = None if self.kinds[self.at] == Kind.WHEN else self.condition(0)
        arguments: list[Expression] = []
        while self.accept(Kind.WHEN):
            test = self.condition(0)
            if subject is not None:
                test = Call("=", (subject, test), test.span)
            self.expect(Kind.THEN, "THEN")
            arguments += (test, self.condition(0))
        if not arguments:
            raise self.failure_here("WHEN")
        if self.accept(Kind.ELSE):
            arguments.append(self.condition(0))
        self.expect(Kind.END_CASE, "WHEN, ELSE or END")
        self.depth -= 1
        return Call("case", tuple(arguments), self.span_from(start))

    def comma_separated(self, first: Expression | None = None) -> list[Expression]:
        """Expressions up to the closing parenthesis, which is read too; the first may have been read."""
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
        """A type, up to its closing parenthesis or angle bracket."""
        start = self.at
        open_ = 0
        while True:
            kind = self.kinds[self.at]
            if kind == Kind.END:
                break
            open_ += (kind in (Kind.LEFT_PAREN, Kind.LT)) - (kind in (Kind.RIGHT_PAREN, Kind.GT))
            self.at += 1
            if open_ <= 0 and self.kinds[self.at] not in (Kind.LEFT_PAREN, Kind.LT):
                break
        first, last = self.tokens.starts[start], self.tokens.ends[self.at - 1]
        try:
            return parse_type(self.tokens.text[first:last])
        except EventTypeError as error:
            raise self.failure(str(error), start) from None

    # --- small tools -------------------------------------------------------------------------------------

    def accept(self, kind: Kind) -> bool:
        if self.kinds[self.at] != kind:
            return False
        self.at += 1
        return True

    def accept_word(self, word: str) -> bool:
        if self.tokens.lowered[self.at] != word:
            return False
        self.at += 1
        return True

    def expect(self, kind: Kind, wanted: str) -> None:
        if not self.accept(kind):
            raise self.failure_here(wanted)

    def deeper(self, start: int) -> None:
        self.depth += 1
        if self.depth > self.limits.depth:
            failure = self.failure(f"nested more than {self.limits.depth} deep", start)
            self.report(failure.problem)
            # Everything that is still open would be reported again on the way out.
            self.too_deep = True
            self.at = len(self.kinds) - 1
            raise failure

    def span_from(self, start: int) -> Span:
        return self.tokens.starts[start], max(self.tokens.ends[max(self.at - 1, start)], self.tokens.starts[start])

    def column(self, at: int) -> int:
        return self.tokens.starts[at] - (self.tokens.text.rfind("\n", 0, self.tokens.starts[at]) + 1) + 1

    def unexpected(self, wanted: str, hint: str | None = None) -> Problem:
        kind = self.kinds[self.at]
        start, end = self.tokens.starts[self.at], self.tokens.ends[self.at]
        word = self.tokens.word(self.at)
        shown = word if len(word) <= 30 else word[:27] + "..."
        if kind in _BAD:
            return Problem(f"{shown!r} {_BAD[Kind(kind)]}", start, end)
        if kind == Kind.END:
            return Problem(f"expected {wanted}, found the end of the condition", start, start + 1, hint)
        if kind == Kind.VARIABLE:
            hint = "a ?variable stands for a result of an operator call"
        if word.lower() in KEYWORDS and hint is None and wanted.startswith("an attribute"):
            hint = f"an attribute of that name is written `{word}`"
        if shown == ";":
            hint = "a condition is one expression, without a semicolon"
        return Problem(f"expected {wanted}, found {shown!r}", start, end, hint)

    def failure_here(self, wanted: str, hint: str | None = None) -> _Failure:
        return _Failure(self.unexpected(wanted, hint))

    def failure(self, message: str, at: int, hint: str | None = None) -> _Failure:
        start, end = self.tokens.starts[at], self.tokens.ends[max(at, self.at - 1)]
        return _Failure(Problem(message, start, max(end, start + 1), hint))


def _joined(name: str, operands: list[Expression]) -> Expression:
    """Flat AND and OR: (a AND b) AND c has three operands."""
    if len(operands) == 1:
        return operands[0]
    flat: list[Expression] = []
    for operand in operands:
        if name != "xor" and isinstance(operand, Call) and operand.function == name:
            flat.extend(operand.arguments)
        else:
            flat.append(operand)
    return Call(name, tuple(flat), (operands[0].span[0], operands[-1].span[1]))


# --- calls with a grammar of their own: each reads on behind "(" and to the matching ")" ----------------------


def _ordinary(parser: _Parser, start: int, word: str, first: Expression | None = None) -> Expression:
    if word.startswith("is_") and word[3:] in ("null", "not_null", "true", "not_true", "false", "not_false"):
        raise parser.failure(f"there is no function {word!r}", start, f"write x {word.replace('_', ' ').upper()}")
    return Call(word, tuple(parser.comma_separated(first)), parser.span_from(start))


def _cast(parser: _Parser, start: int, _word: str) -> Expression:
    operand = parser.condition(0)
    if not parser.accept_word("as"):
        raise parser.failure_here("AS and a type")
    type_ = parser.type_name()
    parser.expect(Kind.RIGHT_PAREN, ")")
    return Cast(operand, type_, parser.span_from(start))


def _extract(parser: _Parser, start: int, _word: str) -> Expression:
    field_start = parser.at
    field = parser.part_of_name().lower()
    literal = Literal(STRING, field, parser.span_from(field_start))
    if not parser.accept_word("from"):
        raise parser.failure_here("FROM")
    source = parser.condition(0)
    parser.expect(Kind.RIGHT_PAREN, ")")
    return Call("date_part", (literal, source), parser.span_from(start))


def _substring(parser: _Parser, start: int, word: str) -> Expression:
    arguments = [parser.condition(0)]
    if not parser.accept_word("from"):
        return _ordinary(parser, start, word, arguments[0])
    arguments.append(parser.condition(0))
    if parser.accept_word("for"):
        arguments.append(parser.condition(0))
    parser.expect(Kind.RIGHT_PAREN, ")")
    return Call(word, tuple(arguments), parser.span_from(start))


def _trim(parser: _Parser, start: int, word: str) -> Expression:
    side = parser.tokens.lowered[parser.at]
    following = parser.kinds[parser.at + 1]
    if side in ("both", "leading", "trailing") and following not in (Kind.RIGHT_PAREN, Kind.COMMA, Kind.DOT):
        parser.at += 1
    else:
        side = "both"
    characters = None if parser.tokens.lowered[parser.at] == "from" else parser.condition(0)
    if not parser.accept_word("from"):
        return _ordinary(parser, start, word, characters)
    source = parser.condition(0)
    parser.expect(Kind.RIGHT_PAREN, ")")
    function = {"both": "btrim", "leading": "ltrim", "trailing": "rtrim"}[side]
    if characters is None:
        return Call(function, (source,), parser.span_from(start))
    # Called as functions, the one-sided ones take the characters first and btrim takes them last.
    arguments = (source, characters) if side == "both" else (characters, source)
    return Call(function, arguments, parser.span_from(start))


def _position(parser: _Parser, start: int, word: str) -> Expression:
    sought = parser.value(_COMPARISON)
    if not parser.accept(Kind.IN):
        return _ordinary(parser, start, word, sought)
    source = parser.value(_COMPARISON)
    parser.expect(Kind.RIGHT_PAREN, ")")
    return Call(word, (sought, source), parser.span_from(start))


_SPECIAL_FORMS: dict[str, Callable[[_Parser, int, str], Expression]] = {
    "cast": _cast,
    "try_cast": _cast,
    "extract": _extract,
    "substring": _substring,
    "substr": _substring,
    "trim": _trim,
    "position": _position,
}
_FUNCTION_KEYWORDS = (Kind.LIKE, Kind.ILIKE, Kind.RLIKE, Kind.REGEXP, Kind.DIV)
