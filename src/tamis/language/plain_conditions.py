"""Plain conditions: attributes compared with constants, joined by AND and OR, compiled without a syntax tree.

Most conditions that are added one by one are plain. `PlainCompiler` reads an atom by one regular expression and
makes the formula that the parser, the analyser and `Truth` would make; whatever it does not know for certain, an
error included, is none of its business, and goes their way. It is the bulk compiler (`bulk.py`) for one text.
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
from tamis.values.ranges import Key, between_ranges, comparison_ranges, points_of
from tamis.values.types import DOUBLE, NUMBER, STRING, Type

_NAME = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*){0,7}(?!\.)"
_CONSTANT = r"-?[0-9]{1,18}(?:\.[0-9]{1,15})?(?![\w.])|'[^'\\\ud800-\udfff]*'"
_SPACE = r"[ \t\r\n]"
_ATOM = re.compile(
    rf"{_SPACE}*({_NAME}){_SPACE}*"
    rf"(?:(<=|>=|<>|!=|==|<|>|=){_SPACE}*({_CONSTANT})"
    rf"|(?<={_SPACE})(?:(?i:between){_SPACE}+({_CONSTANT}){_SPACE}+(?i:and){_SPACE}+({_CONSTANT})"
    rf"|(?i:in){_SPACE}*\({_SPACE}*((?:{_CONSTANT})(?:{_SPACE}*,{_SPACE}*(?:{_CONSTANT}))*){_SPACE}*\)))"
    rf"{_SPACE}*(?:(?<![A-Za-z0-9_.])(?i:(and|or))(?![A-Za-z0-9_])|$)",
    re.ASCII,
)
"""Name; operator and constant, or two constants of BETWEEN, or the list of IN; and the connective that follows."""
_CONSTANTS = re.compile(_CONSTANT, re.ASCII)
_OPERATORS = {"==": "=", "!=": "<>"}
_MOST_NAMES = 10_000
"""Attributes that are remembered: schemaless conditions may have any number."""
_MOST_COMPILERS = 64
_MOST_DEPTH = 16
"""How deep a plain condition may be: OR, AND, a comparison, and a path of eight names."""


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
        self._attributes: dict[str, _Attribute | None] = {}

    def compile(self, text: str) -> Formula | None:
        """The formula of a condition; None if it is not plain, or may have a problem."""
        if len(text) > self._most_characters:
            return None
        alternatives: list[Formula] = []
        operands: list[Formula] = []
        place, end = 0, len(text)
        while True:
            atom = _ATOM.match(text, place)
            if atom is None:
                return None
            name, operator, constant, low, high, several, connective = atom.groups()
            attribute = self._attribute(name)
            if attribute is None:
                return None
            if operator is not None:
                formula = attribute.compare(operator, constant)
            elif low is not None:
                formula = attribute.between(low, high)
            else:
                formula = attribute.among(several)
            if formula is None:
                return None
            operands.append(formula)
            place = atom.end()
            if connective is None:
                break
            if place == end:
                return None
            if connective in ("or", "OR", "Or", "oR"):
                alternatives.append(conjunction(operands))
                operands = []
        last = operands[0] if len(operands) == 1 else conjunction(operands)
        return disjunction([*alternatives, last]) if alternatives else last

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


class _Attribute:
    """An attribute, and what is true of its comparisons with constants."""

    __slots__ = ("_class", "_operand", "_scale", "_type")

    def __init__(self, attribute: Typed, zone: str) -> None:
        self._operand = AttributeOperand(attribute, zone)
        self._type = attribute.type
        self._class = operand_class(attribute.type)
        self._scale = attribute.type.scale

    def compare(self, operator: str, constant: str) -> Formula | None:
        """`attribute operator constant`."""
        found = self._key(constant)
        if found is None:
            return None
        type_, key = found
        ranges = comparison_ranges(type_, _OPERATORS.get(operator, operator), key)
        return leaf(Within(self._operand.reading(type_), ranges))

    def between(self, low: str, high: str) -> Formula | None:
        """`attribute BETWEEN low AND high`."""
        lowest, highest = self._key(low), self._key(high)
        if lowest is None or highest is None or lowest[0] != highest[0]:
            return None
        type_ = lowest[0]
        return leaf(Within(self._operand.reading(type_), between_ranges(type_, lowest[1], highest[1])))

    def among(self, constants: str) -> Formula | None:
        """`attribute IN (constants)`."""
        found = [self._key(constant) for constant in _CONSTANTS.findall(constants)]
        keys = [each for each in found if each is not None]
        if len(keys) < len(found) or len({type_ for type_, _ in keys}) > 1:
            return None
        type_ = keys[0][0]
        return leaf(Within(self._operand.reading(type_), points_of(type_, [key for _, key in keys])))

    def _key(self, constant: str) -> tuple[Type, Key] | None:
        """The type in which the attribute is compared with a constant, and its key; None if it may not fit."""
        class_ = self._class
        if constant[0] == "'":
            if class_ in (OperandClass.STRING, OperandClass.ANY):
                return STRING, constant[1:-1]
            return None
        whole, point, fraction = constant.partition(".")
        if not point:
            if class_ == OperandClass.INTEGRAL:
                return self._type, int(constant)
            if class_ == OperandClass.ANY:
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
