"""Atoms of a known shape over one attribute: which constants they take, and their formulas.

The bulk compiler represents an atom as (attribute, shape, constants). Every attribute has one `AttributeOperand`:
its class decides, column-wise, which constants can be compared with it without the analyser, and `formula` makes
the same formula as the analyser and `Truth`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, U8, Bools
from tamis.formulas.expression import Apply, Typed
from tamis.formulas.formula import Formula, conjunction, disjunction, leaf
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.formulas.predicates.within import Within
from tamis.functions.like import parse_like
from tamis.functions.registry import Signature
from tamis.language.like_patterns import canonical_like, like_ranges
from tamis.language.skeleton import (
    CONSTANT_DECIMAL,
    CONSTANT_INTEGER,
    CONSTANT_STRING,
    SHAPE_BARE,
    SHAPE_BETWEEN,
    SHAPE_IN,
    SHAPE_LIKE,
    SHAPE_NULL,
    SHAPE_OTHER,
    AtomShapes,
)
from tamis.syntax.tokens import Kind
from tamis.values.column import SHORT_DECIMAL, Column, Value
from tamis.values.order import order_key, vector_keys
from tamis.values.ranges import ALL, NONE, Key, Ranges, comparison_ranges, points_of
from tamis.values.types import ANY, BOOLEAN, DOUBLE, NUMBER, STRING, Type, is_decimal, is_integral

_OPERATORS = {
    int(kind): operator
    for kind, operator in (
        *((Kind.EQ, "="), (Kind.NE, "<>"), (Kind.LT, "<")),
        *((Kind.LE, "<="), (Kind.GT, ">"), (Kind.GE, ">=")),
    )
}
EXACT_MANTISSA = 1 << 53
_EXACT_POWER = 22
"""Integers and powers of ten up to these are exact doubles, so that one operation rounds once."""


class OperandClass(IntEnum):
    """Attributes that take the same constants."""

    UNKNOWN = 0
    INTEGRAL = 1
    DOUBLE = 2
    DECIMAL = 3
    STRING = 4
    ANY = 5
    BOOLEAN = 6
    OTHER = 7


def operand_class(type_: Type) -> OperandClass:
    if is_integral(type_):
        return OperandClass.INTEGRAL
    if is_decimal(type_) and type_.precision <= SHORT_DECIMAL:
        return OperandClass.DECIMAL
    return {
        DOUBLE: OperandClass.DOUBLE,
        STRING: OperandClass.STRING,
        ANY: OperandClass.ANY,
        BOOLEAN: OperandClass.BOOLEAN,
    }.get(type_, OperandClass.OTHER)


class ConditionAtoms(NamedTuple):
    """Atoms of a column of conditions, their constants as keys of what they are compared with."""

    shapes: AtomShapes
    text: U8
    keys: I64  # per constant: its key; of a schemaless integer, its value
    doubles: F64  # per constant: its value as a double

    def value(self, constant: int) -> Value:
        """The constant itself, where its type is not known from the attribute: a str, an int or a float."""
        kind = self.shapes.constant_kinds.item(constant)
        if kind == CONSTANT_STRING:
            return (
                self.text[self.shapes.starts.item(constant) : self.shapes.ends.item(constant)].tobytes().decode()
            )
        return self.keys.item(constant) if kind == CONSTANT_INTEGER else self.doubles.item(constant)


class AttributeOperand:
    """An attribute, and the formulas of atoms of known shapes that read it."""

    __slots__ = ("_readings", "attribute", "zone")

    def __init__(self, attribute: Typed, zone: str) -> None:
        self.attribute = attribute
        self.zone = zone
        self._readings: dict[Type, Typed] = {}

    def formula(self, atoms: ConditionAtoms, atom: int, *, holds: bool) -> Formula:
        """The formula that an atom is true, or with `holds=False` that it is false."""
        shapes = atoms.shapes
        shape = shapes.shapes.item(atom)
        holds ^= bool(shapes.negated.item(atom))
        if shape == SHAPE_NULL:
            return self.is_null(holds=holds)
        if shape == SHAPE_BARE:
            return self.is_true(holds=holds)
        first, last = shapes.constants.item(atom), shapes.constants.item(atom + 1)
        if shape == SHAPE_LIKE:
            return self.like(atoms.value(first), holds=holds)
        type_, keys = self._keys(atoms, range(first, last))
        attribute = self.reading(type_)
        if shape == SHAPE_IN:
            return _within(attribute, points_of(type_, keys), holds=holds)
        if shape == SHAPE_BETWEEN:
            low = _within(attribute, comparison_ranges(type_, ">=", keys[0]), holds=holds)
            high = _within(attribute, comparison_ranges(type_, "<=", keys[1]), holds=holds)
            return (conjunction if holds else disjunction)((low, high))
        return _within(attribute, comparison_ranges(type_, _OPERATORS[shape], keys[0]), holds=holds)

    def _keys(self, atoms: ConditionAtoms, constants: Sequence[int]) -> tuple[Type, list[Key]]:
        """The type in which the attribute is compared with these constants, and their keys in it."""
        type_ = self.attribute.type
        if type_ not in (ANY, STRING):
            return type_, [atoms.keys.item(constant) for constant in constants]
        values = [atoms.value(constant) for constant in constants]
        if isinstance(values[0], str):
            return STRING, values
        return NUMBER, [order_key(NUMBER)(value) for value in values]

    def reading(self, type_: Type) -> Typed:
        """The attribute, read as values of a type if it is schemaless."""
        if self.attribute.type != ANY:
            return self.attribute
        reading = self._readings.get(type_)
        if reading is None:
            reading = Apply("read", (self.attribute,), Signature((ANY,), type_, self.zone))
            self._readings[type_] = reading
        return reading

    def is_null(self, *, holds: bool) -> Formula:
        """`attribute IS NULL`, or with `holds=False` IS NOT NULL."""
        return leaf(Within(self.attribute, NONE if holds else ALL, null=holds))

    def is_true(self, *, holds: bool) -> Formula:
        """The attribute alone is true, or false."""
        return leaf(Within(self.reading(BOOLEAN), comparison_ranges(BOOLEAN, "=", int(holds))))

    def like(self, pattern: str, *, holds: bool) -> Formula:
        """`attribute LIKE pattern` is true, or false."""
        attribute = self.reading(STRING)
        parts = parse_like(pattern)
        ranges = like_ranges(parts)
        if ranges is not None:
            return _within(attribute, ranges, holds=holds)
        return leaf(MatchesPattern(attribute, "like", canonical_like(parts), negated=not holds))


def _within(attribute: Typed, ranges: Ranges, *, holds: bool) -> Formula:
    return leaf(Within(attribute, ranges if holds else ~ranges))


def atoms_of(shapes: AtomShapes, text: U8, operands: Sequence[AttributeOperand | None]) -> ConditionAtoms:
    """The atoms with the keys of their constants; they are undefined for atoms that are not compilable."""
    classes, scales = _of_constants(shapes, operands)
    power = np.minimum(np.abs(shapes.scales), _EXACT_POWER)
    tens = np.array([float(10**place) for place in range(_EXACT_POWER + 1)])[power]
    doubles = np.where(shapes.scales >= 0, shapes.mantissas / tens, shapes.mantissas * tens)
    shift = np.clip(
        scales - np.where(shapes.constant_kinds == CONSTANT_DECIMAL, shapes.scales, 0), 0, SHORT_DECIMAL
    )
    unscaled = shapes.mantissas * (10 ** np.arange(SHORT_DECIMAL + 1, dtype=np.int64))[shift]
    keys = np.where(classes == OperandClass.DECIMAL, unscaled, shapes.mantissas)
    as_double = vector_keys(Column(DOUBLE, doubles, np.ones(len(doubles), np.bool_)))
    return ConditionAtoms(shapes, text, np.where(classes == OperandClass.DOUBLE, as_double, keys), doubles)


def _of_constants(shapes: AtomShapes, operands: Sequence[AttributeOperand | None]) -> tuple[U8, I32]:
    """For every constant, the class and the scale of the attribute that it is compared with."""
    classes = np.array([operand_class(each.attribute.type) if each else 0 for each in operands] + [0], np.uint8)
    scales = np.array([each.attribute.type.scale if each else 0 for each in operands] + [0], np.int32)
    names = np.repeat(shapes.names, np.diff(shapes.constants))
    return classes[names], scales[names]


def compilable_atoms(
    shapes: AtomShapes, operands: Sequence[AttributeOperand | None], *, most_constants: int, longest_pattern: int
) -> Bools:
    """Which atoms need no analyser: a known shape, a known attribute, constants that fit it."""
    classes = np.array([operand_class(each.attribute.type) if each else 0 for each in operands] + [0], np.uint8)
    counts = np.diff(shapes.constants)
    of_atom = np.repeat(np.arange(len(counts)), counts)
    bad = ~_fitting_constants(shapes, *_of_constants(shapes, operands))
    kinds_differ = _is_string(shapes) != _is_string(shapes)[shapes.constants[:-1][of_atom]]
    wrong = np.concatenate([[0], np.cumsum(bad | kinds_differ)])
    compilable = wrong[shapes.constants[1:]] == wrong[shapes.constants[:-1]]
    compilable &= (counts <= most_constants) & _allowed_shapes(shapes, classes[shapes.names])
    lengths = np.zeros(len(counts), np.int64)
    lengths[of_atom] = shapes.ends - shapes.starts
    return np.asarray(compilable & ((shapes.shapes != SHAPE_LIKE) | (lengths <= longest_pattern)))


def _is_string(shapes: AtomShapes) -> Bools:
    return np.asarray(shapes.constant_kinds == CONSTANT_STRING)


def _allowed_shapes(shapes: AtomShapes, classes: U8) -> Bools:
    """Which shapes go with which classes of attributes."""
    shape = shapes.shapes
    comparing = (classes >= OperandClass.INTEGRAL) & (classes <= OperandClass.ANY)
    allowed = np.where(shape == SHAPE_NULL, classes != OperandClass.UNKNOWN, comparing)
    allowed = np.where(
        shape == SHAPE_BARE, (classes == OperandClass.ANY) | (classes == OperandClass.BOOLEAN), allowed
    )
    allowed = np.where(
        shape == SHAPE_LIKE, (classes == OperandClass.ANY) | (classes == OperandClass.STRING), allowed
    )
    return np.asarray(allowed & (shape != SHAPE_OTHER))


def _fitting_constants(shapes: AtomShapes, classes: U8, scales: I32) -> Bools:
    """Which constants can be compared exactly with an attribute of their class."""
    kind, mantissa, scale = shapes.constant_kinds, shapes.mantissas, shapes.scales
    integer, string = kind == CONSTANT_INTEGER, kind == CONSTANT_STRING
    exact = (np.abs(mantissa) <= EXACT_MANTISSA) & (np.abs(scale) <= _EXACT_POWER)
    shift = np.where(integer, scales, scales - scale)
    room = 10 ** np.clip(SHORT_DECIMAL - shift, 0, SHORT_DECIMAL).astype(np.int64)
    as_decimal = (integer | (kind == CONSTANT_DECIMAL)) & (shift >= 0) & (np.abs(mantissa) < room)
    choices = [integer, exact & ~string, as_decimal, string, integer | string | exact]
    return np.asarray(
        np.select([classes == each for each in range(OperandClass.INTEGRAL, OperandClass.BOOLEAN)], choices, False)
    )
