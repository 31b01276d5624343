"""The syntax of composite subscriptions: several conditions of the language, joined by time.

    SEQUENCE [NON STRICT] (part, part, ...)   \
    part THEN part ... [THEN NOT part]         |  WITHIN interval [BY attribute, ...] [FOR OLDEST | FOR ALL]
    ALL (part, part, ...)                      |
    AT_LEAST (k, condition)                   /

    part := condition [AS name] [AFTER interval]

The parser is that of conditions, which ends where a condition ends: nobody looks for the borders of parts, and
every place is one in the whole text. `tamis.composite.parts` checks what the names of a text mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tamis.errors import ConditionError, Problem
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.cursor import SyntaxFailure
from tamis.syntax.intervals import begins_interval, interval_literal
from tamis.syntax.parser import ConditionParser, size_problems, text_problem
from tamis.syntax.tokens import Kind, tokenise
from tamis.syntax.tree import Expression, Missing, Name, Span
from tamis.syntax.tree import Literal as LiteralValue
from tamis.values.types import BOOLEAN, is_year_month

Form: TypeAlias = Literal["sequence", "all", "at_least"]
MOST_PARTS = 16
_JOINTS = (Kind.AND, Kind.OR, Kind.XOR, Kind.THEN)
_BOUND = "write WITHIN INTERVAL '10' MINUTE, or how long an event may wait for the others"
_EXAMPLE = "write a THEN b WITHIN INTERVAL '10' MINUTE; a condition alone is an ordinary subscription"


@dataclass(frozen=True, slots=True)
class PartSyntax:
    """One condition of a composite subscription.

    Attributes:
        tree: Its condition; spans are places in the whole text.
        span: Of the condition.
        name: By which later parts refer to its event.
        name_span: Where the name is written.
        gap_us: How long after the event of the part before at least.
    """

    tree: Expression
    span: Span
    name: str | None = None
    name_span: Span = (0, 0)
    gap_us: int = 0


@dataclass(frozen=True, slots=True)
class Composite:
    """What the text of a composite subscription says.

    Attributes:
        text: As it was written.
        form: In the order written, in any order, or `count` events of one part.
        parts: One event satisfies each.
        within_us: The longest time from the first event to the last.
        by: The attributes in which all events of a match agree.
        absent: What must not follow the last part in time.
        count: How many events a match has.
        count_span: Where the number of AT_LEAST is written.
        strict: Is an event of the same time not yet after another?
        shared: FOR ALL: may an event take part in the matches of several first events?
    """

    text: str
    form: Form
    parts: tuple[PartSyntax, ...]
    within_us: int
    by: tuple[Name, ...]
    absent: PartSyntax | None
    count: int
    count_span: Span
    strict: bool
    shared: bool


def parse_composite(text: str, limits: Limits = DEFAULT_LIMITS) -> Composite:
    """Read a composite subscription.

    >>> parse_composite("a > 1 THEN b > 2 WITHIN INTERVAL '10' SECOND").within_us
    10000000

    Raises:
        ConditionError: It is refused; places are those of the whole text.
    """
    refused = text_problem(text, limits)
    if refused is not None:
        raise ConditionError(text, [refused])
    parser = _CompositeParser(tokenise(text), limits)
    try:
        return parser.composite()
    except SyntaxFailure as failure:
        # A condition with a mistake is skipped to its end: what seems missing after it would mislead.
        raise ConditionError(text, parser.problems or [failure.problem]) from None


def parse_leniently(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Expression, list[Problem]]:
    """As of every dialect: what one event alone satisfies, which is nothing; and the problems of the text."""
    try:
        parse_composite(text, limits)
    except ConditionError as error:
        return Missing((0, len(text))), [*error.problems]
    return LiteralValue(BOOLEAN, False, (0, len(text))), []


class _CompositeParser(ConditionParser):
    """Parses one composite subscription; the first mistake outside of a condition ends it."""

    def composite(self) -> Composite:
        form: Form = "sequence"
        strict, absent, number, count_span = True, None, None, (0, 0)
        word = self.tokens.lower_words[self.at]
        if word == "sequence" and (self._words(1, "non", "strict") or self.kinds[self.at + 1] == Kind.LEFT_PAREN):
            strict = self.kinds[self.at + 1] == Kind.LEFT_PAREN
            self.at += 1 if strict else 3
            parts = self.listed_parts("SEQUENCE", follows=True)
        elif word == "all" and self.kinds[self.at + 1] == Kind.LEFT_PAREN:
            form = "all"
            self.at += 1
            parts = self.listed_parts("ALL", follows=False)
        elif word == "at_least" and self._counts():
            form = "at_least"
            number, count_span, part = self.count_and_part()
            parts = [part]
        else:
            parts, absent = self.chain()
        clause = self.at
        within = self.within()
        gaps = sum(part.gap_us for part in (*parts, *([absent] if absent else ())))
        if gaps > within:
            raise self.failure("it can never complete: AFTER asks for more time than WITHIN gives", clause)
        by = self.by()
        shared = self.consumption()
        if self.kinds[self.at] != Kind.END:
            is_gap = self.tokens.lower_words[self.at] == "after"
            hint = "AFTER belongs to a part: a THEN b AFTER INTERVAL '5' MINUTE WITHIN ..." if is_gap else None
            raise self.failure_here("BY, FOR OLDEST, FOR ALL or the end", hint)
        count = len(parts) if number is None else number
        text = self.tokens.text
        return Composite(text, form, tuple(parts), within, by, absent, count, count_span, strict, shared)

    # --- parts -------------------------------------------------------------------------------------------

    def chain(self) -> tuple[list[PartSyntax], PartSyntax | None]:
        """`a THEN b THEN c`, the last perhaps with NOT."""
        parts = [self.part(follows=False)]
        while self.accept(Kind.THEN):
            if self.accept(Kind.NOT):
                absent = self.part(follows=True)
                if self.kinds[self.at] == Kind.THEN:
                    hint = "what must not come stands last; a negated condition is written THEN (NOT a)"
                    raise self.failure_here("WITHIN after THEN NOT", hint)
                return parts, absent
            parts.append(self.part(follows=True))
            self.check_count(len(parts))
        if len(parts) < 2:
            raise self.failure_here("THEN", _EXAMPLE)
        return parts, None

    def listed_parts(self, form: str, *, follows: bool) -> list[PartSyntax]:
        self.expect(Kind.LEFT_PAREN, f"( after {form}")
        parts = [self.part(follows=False)]
        while self.accept(Kind.COMMA):
            parts.append(self.part(follows=follows))
            self.check_count(len(parts))
        if len(parts) < 2 and self.kinds[self.at] == Kind.RIGHT_PAREN:
            raise self.failure_here(f"another part of {form}", _EXAMPLE)
        self.expect(Kind.RIGHT_PAREN, ", or )")
        return parts

    def count_and_part(self) -> tuple[int, Span, PartSyntax]:
        self.at += 2
        place = self.at
        if self.kinds[place] != Kind.INTEGER or not 2 <= int(self.tokens.word(place)) < 1 << 31:
            raise self.failure_here("a number of events, 2 or more, after AT_LEAST(")
        self.at += 1
        span = self.span_from(place)
        self.expect(Kind.COMMA, ", after the number of events")
        part = self.part(follows=False)
        self.expect(Kind.RIGHT_PAREN, ")")
        return int(self.tokens.word(place)), span, part

    def part(self, *, follows: bool) -> PartSyntax:
        start = self.at
        tree = self.condition(0)
        span = self.span_from(start)
        too_large = size_problems(tree, self.limits)
        if self.problems or too_large:
            raise SyntaxFailure((self.problems or too_large)[0])
        name, name_span = None, (0, 0)
        if self.accept_word("as"):
            if self.kinds[self.at] not in (Kind.NAME, Kind.QUOTED_NAME):
                raise self.failure_here("a name after AS")
            name, name_span = self.part_of_name(), self.span_from(self.at - 1)
        gap = 0
        if self.tokens.lower_words[self.at] == "after":
            if not follows:
                raise self.failure_here(
                    "a part without AFTER", "AFTER counts from the part before it in a sequence"
                )
            self.at += 1
            gap = self.interval("AFTER")
        return PartSyntax(tree, span, name, name_span, gap)

    def check_count(self, count: int) -> None:
        if count > MOST_PARTS:
            raise self.failure(f"a composite subscription has {MOST_PARTS} parts at most", self.at - 1)

    # --- clauses -----------------------------------------------------------------------------------------

    def within(self) -> int:
        if not self.accept_word("within"):
            raise self.failure_here("WITHIN", _BOUND)
        return self.interval("WITHIN")

    def interval(self, clause: str) -> int:
        """An interval in microseconds, more than none."""
        start = self.at
        if self.tokens.lower_words[start] != "interval" or not begins_interval(self):
            raise self.failure_here(f"an interval after {clause}", _BOUND)
        literal = interval_literal(self)
        if is_year_month(literal.type):
            raise self.failure("months differ in length", start, "write days: INTERVAL '30' DAY")
        if literal.value <= 0:
            raise self.failure(f"{clause} takes more than no time", start)
        return int(literal.value)

    def by(self) -> tuple[Name, ...]:
        if not self.accept_word("by"):
            return ()
        names = [self.attribute()]
        while self.accept(Kind.COMMA):
            names.append(self.attribute())
        return tuple(names)

    def attribute(self) -> Name:
        start = self.at
        parts = [self.part_of_name()]
        while self.accept(Kind.DOT):
            parts.append(self.part_of_name())
        return Name(tuple(parts), self.span_from(start))

    def consumption(self) -> bool:
        if not self.accept_word("for"):
            return False
        if self.accept_word("all"):
            return True
        if not self.accept_word("oldest"):
            raise self.failure_here("OLDEST or ALL after FOR")
        return False

    # --- looking ahead -----------------------------------------------------------------------------------

    def _words(self, ahead: int, *words: str) -> bool:
        return self.tokens.lower_words[self.at + ahead : self.at + ahead + len(words)] == list(words)

    def _counts(self) -> bool:
        """Is AT_LEAST the whole, and not a condition of the language that goes on or has parts after it?"""
        at, depth = self.at + 1, 0
        while self.kinds[at] != Kind.END:
            depth += (self.kinds[at] == Kind.LEFT_PAREN) - (self.kinds[at] == Kind.RIGHT_PAREN)
            at += 1
            if depth == 0:
                break
        return self.kinds[at] not in _JOINTS and self.tokens.lower_words[at] != "as"
