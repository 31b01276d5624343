"""Plain conditions: attributes compared with constants, joined by AND, OR and NOT, without a syntax tree.

Most conditions that are added one by one are plain. `PlainCompiler` reads an atom by one regular expression and
makes the formula that the parser, the analyser and `Truth` would make; whatever it does not know for certain, an
error included, is none of its business, and goes their way. It is the bulk compiler (`bulk.py`) for one text: NOT
is pushed down to the atoms, where it asks for what makes them false.
"""

from __future__ import annotations

import re

from tamis.formulas.expression import Typed
from tamis.formulas.formula import Formula, conjunction, disjunction, leaf
from tamis.formulas.predicates.within import Within
from tamis.language.analysis import Schema, resolve_name
from tamis.language.operands import EXACT_MANTISSA, AttributeOperand, OperandClass, operand_class
from tamis.limits import Limits
from tamis.syntax.tokens import KEYWORDS
from tamis.values.column import SHORT_DECIMAL
from tamis.values.order import order_key
from tamis.values.ranges import Key, Ranges, between_ranges, comparison_ranges, points_of
from tamis.values.types import DOUBLE, NUMBER, STRING, Type

_NAME = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*){0,7}(?!\.)"
_TEXT = r"'[^'\\\ud800-\udfff]*'"
_CONSTANT = rf"-?[0-9]{{1,18}}(?:\.[0-9]{{1,15}})?(?![\w.])|{_TEXT}"
_SPACE = r"[ \t\r\n]"
_ATOM = re.compile(
    rf"{_SPACE}*({_NAME}){_SPACE}*"
    rf"(?:(<=|>=|<>|!=|==|<|>|=){_SPACE}*({_CONSTANT})"
    rf"|(?<={_SPACE})((?i:not){_SPACE}+)?"
    rf"(?:(?i:between){_SPACE}+({_CONSTANT}){_SPACE}+(?i:and){_SPACE}+({_CONSTANT})"
    rf"|(?i:in){_SPACE}*\({_SPACE}*((?:{_CONSTANT})(?:{_SPACE}*,{_SPACE}*(?:{_CONSTANT}))*){_SPACE}*\)"
    rf"|(?i:like){_SPACE}*({_TEXT}))"
    rf"|(?<={_SPACE})(?i:is{_SPACE}+(not{_SPACE}+)?(null)))?"
    rf"{_SPACE}*(?:(?<![A-Za-z0-9_.])(?i:(and|or))(?![A-Za-z0-9_])|(\))|$)",
    re.ASCII,
)
"""Name; operator and constant, or perhaps NOT with two constants of BETWEEN, the list of IN or the pattern of
LIKE, or IS NULL, perhaps with NOT, or nothing; and the connective or closing bracket that follows."""
_OPENING = re.compile(rf"{_SPACE}*(?:(?i:(not))(?![A-Za-z0-9_.])|\()", re.ASCII)
"""NOT, or an opening bracket, before an operand."""
_CLOSING = re.compile(rf"{_SPACE}*(?:(?i:(and|or))(?![A-Za-z0-9_])|(\))|$)", re.ASCII)
"""The connective or closing bracket that follows a closing bracket."""
_CONSTANTS = re.compile(_CONSTANT, re.ASCII)
_OPERATORS = {"==": "=", "!=": "<>"}
_OR = frozenset(("or", "OR", "Or", "oR"))
_NOT = frozenset(("not", "NOT", "Not", "nOt", "noT", "NOt", "NoT", "nOT"))
_MOST_NAMES = 10_000
"""Attributes that are remembered: schemaless conditions may have any number."""
_MOST_COMPILERS = 64
_MOST_DEPTH = 16
"""How deep a plain condition may be without brackets: OR, AND, a comparison, and a path of eight names."""
_DEPTH_OF_BRACKET = 3
"""How much deeper an operand is in brackets or behind NOT, at most: the bracket, OR and AND."""


def plain_formula(text: str, schema: Schema, limits: Limits) -> Formula | None:
    """The formula of a condition on an event type; None if it is not plain, or may have a problem."""
    key = id(schema), id(limits)
    compiler = _compilers.get(key)
    if compiler is None:
        if len(_compilers) >= _MOST_COMPILERS:
            _compilers.clear()
        compiler = _compilers[key] = PlainCompiler(schema, limits)
    return compiler.compile(text)


class PlainCompiler:
    """Compiles plain conditions on one event type."""

    def __init__(self, schema: Schema, limits: Limits) -> None:
        self._schema = schema
        self._limits = limits  # held, as the schema is, so that nothing else gets its identity
        # A text shorter than every limit cannot have too many characters, nodes or operands; and what is plain is
        # less deep than any sensible limit.
        is_deep = limits.depth < _MOST_DEPTH
        self._most_characters = 0 if is_deep else min(limits.text_characters, limits.nodes, limits.operands)
        self._most_nested = (limits.depth - _MOST_DEPTH) // _DEPTH_OF_BRACKET
        self._attributes: dict[str, _Attribute | None] = {}

    def compile(self, text: str) -> Formula | None:
        """The formula of a condition; None if it is not plain, or may have a problem."""
        if len(text) > self._most_characters:
            return None
        open_brackets: list[_Bracket] = []
        inner = _Bracket(negated=False)
        negated, nested = False, 0
        place, end = 0, len(text)
        while True:
            atom = _ATOM.match(text, place)
            if atom is None or atom[1] in _NOT:
                opening = _OPENING.match(text, place)
                nested += 1
                if opening is None or nested > self._most_nested:
                    return None
                if opening[1]:
                    negated = not negated
                else:
                    open_brackets.append(inner)
                    inner = _Bracket(negated)
                place = opening.end()
                continue
            formula = self._formula(atom, holds=not negated)
            if formula is None:
                return None
            inner.operands.append(formula)
            place = atom.end()
            connective, closes = atom[11], atom[12]
            while closes:
                if not open_brackets:
                    return None
                formula, inner = inner.formula(), open_brackets.pop()
                inner.operands.append(formula)
                after = _CLOSING.match(text, place)
                if after is None:
                    return None
                place = after.end()
                connective, closes = after.groups()
            if connective is None:
                return inner.formula() if not open_brackets else None
            if place == end:
                return None
            if connective in _OR:
                inner.end_run()
            negated, nested = inner.negated, len(open_brackets)

    def _formula(self, atom: re.Match[str], *, holds: bool) -> Formula | None:
        """The formula that an atom is true, or that it is false; None if it is not plain."""
        name, operator, constant, no, low, high, several, pattern, is_not, null, _, _ = atom.groups()
        attribute = self._attribute(name)
        if attribute is None:
            return None
        if operator is not None:
            return attribute.compare(operator, constant, holds=holds)
        holds = holds == (no is None and is_not is None)
        if low is not None:
            return attribute.between(low, high, holds=holds)
        if several is not None:
            return attribute.among(several, holds=holds)
        if pattern is not None:
            return attribute.like(pattern[1:-1], self._limits.pattern_characters, holds=holds)
        return attribute.is_null(holds=holds) if null is not None else attribute.is_true(holds=holds)

    def _attribute(self, name: str) -> _Attribute | None:
        try:
            return self._attributes[name]
        except KeyError:
            pass
        if len(self._attributes) >= _MOST_NAMES:
            self._attributes.clear()
        parts = tuple(name.split("."))
        typed = None if any(part.lower() in KEYWORDS for part in parts) else resolve_name(parts, self._schema)
        found = None if typed is None else _Attribute(typed, self._schema.time_zone)
        self._attributes[name] = found
        return found


class _Bracket:
    """What stands between brackets, or in the whole condition, as far as it has been read.

    Attributes:
        negated: Does an odd number of NOTs apply to it? Its AND is an OR then, and its OR an AND.
        operands: Of the AND under way.
    """

    __slots__ = ("_alternatives", "negated", "operands")

    def __init__(self, negated: bool) -> None:
        self.negated = negated
        self.operands: list[Formula] = []
        self._alternatives: list[Formula] = []

    def end_run(self) -> None:
        """An OR: what follows is another alternative."""
        self._alternatives.append(self._run())
        self.operands = []

    def formula(self) -> Formula:
        """Of all that was read."""
        last = self._run()
        if not self._alternatives:
            return last
        return (conjunction if self.negated else disjunction)([*self._alternatives, last])

    def _run(self) -> Formula:
        if len(self.operands) == 1:
            return self.operands[0]
        return (disjunction if self.negated else conjunction)(self.operands)


class _Attribute:
    """An attribute, and what is true of its comparisons with constants."""

    __slots__ = ("_class", "_operand", "_scale", "_type")

    def __init__(self, attribute: Typed, zone: str) -> None:
        self._operand = AttributeOperand(attribute, zone)
        self._type = attribute.type
        self._class = operand_class(attribute.type)
        self._scale = attribute.type.scale

    def compare(self, operator: str, constant: str, *, holds: bool) -> Formula | None:
        """`attribute operator constant`, or what makes it false."""
        found = self._key(constant)
        if found is None:
            return None
        type_, key = found
        return self._within(type_, comparison_ranges(type_, _OPERATORS.get(operator, operator), key), holds=holds)

    def between(self, low: str, high: str, *, holds: bool) -> Formula | None:
        """`attribute BETWEEN low AND high`, or what makes it false."""
        lowest, highest = self._key(low), self._key(high)
        if lowest is None or highest is None or lowest[0] is not highest[0]:
            return None
        type_ = lowest[0]
        if holds:
            return self._within(type_, between_ranges(type_, lowest[1], highest[1]), holds=True)
        below = self._within(type_, comparison_ranges(type_, ">=", lowest[1]), holds=False)
        above = self._within(type_, comparison_ranges(type_, "<=", highest[1]), holds=False)
        return disjunction((below, above))

    def among(self, constants: str, *, holds: bool) -> Formula | None:
        """`attribute IN (constants)`, or what makes it false."""
        found = [self._key(constant) for constant in _CONSTANTS.findall(constants)]
        keys = [each for each in found if each is not None]
        if len(keys) < len(found) or len({type_ for type_, _ in keys}) > 1:
            return None
        type_ = keys[0][0]
        return self._within(type_, points_of(type_, [key for _, key in keys]), holds=holds)

    def like(self, pattern: str, longest: int, *, holds: bool) -> Formula | None:
        """`attribute LIKE 'pattern'`, or what makes it false."""
        if self._class not in (OperandClass.STRING, OperandClass.ANY) or len(pattern) > longest:
            return None
        return self._operand.like(pattern, holds=holds)

    def is_null(self, *, holds: bool) -> Formula:
        """`attribute IS NULL`, or what makes it false."""
        return self._operand.is_null(holds=holds)

    def is_true(self, *, holds: bool) -> Formula | None:
        """The attribute alone, or what makes it false."""
        if self._class not in (OperandClass.BOOLEAN, OperandClass.ANY):
            return None
        return self._operand.is_true(holds=holds)

    def _within(self, type_: Type, ranges: Ranges, *, holds: bool) -> Formula:
        return leaf(Within(self._operand.reading(type_), ranges if holds else ~ranges))

    def _key(self, constant: str) -> tuple[Type, Key] | None:
        """The type in which the attribute is compared with a constant, and its key; None if it may not fit."""
        class_ = self._class
        if class_ == OperandClass.INTEGRAL:
            return (self._type, int(constant)) if constant[0] != "'" and "." not in constant else None
        if constant[0] == "'":
            if class_ in (OperandClass.STRING, OperandClass.ANY):
                return STRING, constant[1:-1]
            return None
        whole, point, fraction = constant.partition(".")
        if not point and class_ == OperandClass.ANY:
            return NUMBER, order_key(NUMBER)(int(constant))
        mantissa = int(whole + fraction)
        if class_ == OperandClass.DECIMAL:
            shift = self._scale - len(fraction)
            if shift >= 0 and abs(mantissa) < 10 ** max(0, SHORT_DECIMAL - shift):
                return self._type, mantissa * 10**shift
        elif abs(mantissa) <= EXACT_MANTISSA:
            # A quotient of two exact doubles is rounded once, as the constant itself would be.
            if class_ == OperandClass.DOUBLE:
                return DOUBLE, order_key(DOUBLE)(mantissa / 10 ** len(fraction))
            if class_ == OperandClass.ANY:
                return NUMBER, order_key(NUMBER)(mantissa / 10 ** len(fraction))
        return None


_compilers: dict[tuple[int, int], PlainCompiler] = {}
"""By the identity of event type and limits, since comparing event types takes longer than compiling."""
