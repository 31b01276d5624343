"""Atoms of a known shape over one attribute: which constants they take, and their formulas.

The bulk compiler knows an atom as (attribute, shape, constants). For every attribute there is one `Operand`: its
class says, column-wise, which constants can be compared with it without asking the analyser, and `formula` makes
the same formula that the analyser and `Truth` would make.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.functions.patterns import parse_like
from tamis.functions.registry import Signature
from tamis.language.expression import Apply, Typed
from tamis.language.formula import Formula, conjunction, disjunction, leaf
from tamis.language.patterns import canonical_like, like_ranges
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
    Shapes,
)
from tamis.language.tokens import Kind
from tamis.predicates.matches import Matches
from tamis.predicates.within import Within
from tamis.values.column import SHORT_DECIMAL, Column, Value
from tamis.values.order import order_key, vector_keys
from tamis.values.ranges import ALL, NONE, Key, Ranges, compared, points_of
from tamis.values.types import ANY, BOOLEAN, DOUBLE, NUMBER, STRING, Type, is_decimal, is_integral

_OPERATORS = {
    int(kind): operator
    for kind, operator in (
        *((Kind.EQ, "="), (Kind.NE, "<>"), (Kind.LT, "<")),
        *((Kind.LE, "<="), (Kind.GT, ">"), (Kind.GE, ">=")),
    )
}
_EXACT_MANTISSA = 1 << 53
_EXACT_POWER = 22
"""Integers and powers of ten up to these are exact doubles, so that one operation rounds once."""


class Class(IntEnum):
    """Attributes that take the same constants."""

    UNKNOWN = 0
    INTEGRAL = 1
    DOUBLE = 2
    DECIMAL = 3
    STRING = 4
    ANY = 5
    BOOLEAN = 6
    OTHER = 7


def class_of(type_: Type) -> Class:
    """The class of a type."""
    if is_integral(type_):
        return Class.INTEGRAL
    if is_decimal(type_) and type_.precision <= SHORT_DECIMAL:
        return Class.DECIMAL
    return {DOUBLE: Class.DOUBLE, STRING: Class.STRING, ANY: Class.ANY, BOOLEAN: Class.BOOLEAN}.get(
        type_, Class.OTHER
    )


class Atoms(NamedTuple):
    """Atoms of a column of conditions, their constants as keys of what they are compared with."""

    shapes: Shapes
    text: npt.NDArray[np.uint8]
    keys: npt.NDArray[np.int64]  # per constant: its key; of a schemaless integer, its value
    doubles: npt.NDArray[np.float64]  # per constant: its value as a double

    def value(self, constant: int) -> Value:
        """The constant itself, where its type is not known from the attribute: a str, an int or a float."""
        kind = self.shapes.constant_kinds.item(constant)
        if kind == CONSTANT_STRING:
            return (
                self.text[self.shapes.starts.item(constant) : self.shapes.ends.item(constant)].tobytes().decode()
            )
        return self.keys.item(constant) if kind == CONSTANT_INTEGER else self.doubles.item(constant)


class Operand:
    """An attribute that atoms of known shapes read."""

    __slots__ = ("_readings", "attribute", "zone")

    def __init__(self, attribute: Typed, zone: str) -> None:
        self.attribute = attribute
        self.zone = zone
        self._readings: dict[Type, Typed] = {}

    def formula(self, atoms: Atoms, atom: int, *, holds: bool) -> Formula:
        """The formula that an atom is true, or with `holds=False` that it is false."""
        shapes = atoms.shapes
        shape = shapes.shapes.item(atom)
        holds ^= bool(shapes.negated.item(atom))
        if shape == SHAPE_NULL:
            return leaf(Within(self.attribute, NONE if holds else ALL, null=holds))
        if shape == SHAPE_BARE:
            return leaf(Within(self.reading(BOOLEAN), compared(BOOLEAN, "=", int(holds))))
        first, last = shapes.constants.item(atom), shapes.constants.item(atom + 1)
        if shape == SHAPE_LIKE:
            return self._like(atoms.value(first), holds=holds)
        type_, keys = self._keys(atoms, range(first, last))
        attribute = self.reading(type_)
        if shape == SHAPE_IN:
            return _within(attribute, points_of(type_, keys), holds=holds)
        if shape == SHAPE_BETWEEN:
            low = _within(attribute, compared(type_, ">=", keys[0]), holds=holds)
            high = _within(attribute, compared(type_, "<=", keys[1]), holds=holds)
            return (conjunction if holds else disjunction)((low, high))
        return _within(attribute, compared(type_, _OPERATORS[shape], keys[0]), holds=holds)

    def _keys(self, atoms: Atoms, constants: Sequence[int]) -> tuple[Type, list[Key]]:
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

    def _like(self, pattern: str, *, holds: bool) -> Formula:
        attribute = self.reading(STRING)
        parts = parse_like(pattern)
        ranges = like_ranges(parts)
        if ranges is not None:
            return _within(attribute, ranges, holds=holds)
        return leaf(Matches(attribute, "like", canonical_like(parts), negated=not holds))


def _within(attribute: Typed, ranges: Ranges, *, holds: bool) -> Formula:
    return leaf(Within(attribute, ranges if holds else ~ranges))


def atoms_of(shapes: Shapes, text: npt.NDArray[np.uint8], operands: Sequence[Operand | None]) -> Atoms:
    """The atoms with the keys of their constants; what is not `settled` has none that mean anything."""
    classes, scales = _of_constants(shapes, operands)
    power = np.minimum(np.abs(shapes.scales), _EXACT_POWER)
    tens = np.array([float(10**place) for place in range(_EXACT_POWER + 1)])[power]
    doubles = np.where(shapes.scales >= 0, shapes.mantissas / tens, shapes.mantissas * tens)
    shift = np.clip(
        scales - np.where(shapes.constant_kinds == CONSTANT_DECIMAL, shapes.scales, 0), 0, SHORT_DECIMAL
    )
    unscaled = shapes.mantissas * (10 ** np.arange(SHORT_DECIMAL + 1, dtype=np.int64))[shift]
    keys = np.where(classes == Class.DECIMAL, unscaled, shapes.mantissas)
    as_double = vector_keys(Column(DOUBLE, doubles, np.ones(len(doubles), np.bool_)))
    return Atoms(shapes, text, np.where(classes == Class.DOUBLE, as_double, keys), doubles)


def _of_constants(
    shapes: Shapes, operands: Sequence[Operand | None]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """For every constant, the class and the scale of the attribute that it is compared with."""
    classes = np.array([class_of(each.attribute.type) if each else 0 for each in operands] + [0], np.uint8)
    scales = np.array([each.attribute.type.scale if each else 0 for each in operands] + [0], np.int32)
    names = np.repeat(shapes.names, np.diff(shapes.constants))
    return classes[names], scales[names]


def settled(
    shapes: Shapes, operands: Sequence[Operand | None], *, most_constants: int, longest_pattern: int
) -> npt.NDArray[np.bool_]:
    """Which atoms can be left as they are: a known shape, a known attribute, constants that go with it."""
    classes = np.array([class_of(each.attribute.type) if each else 0 for each in operands] + [0], np.uint8)
    counts = np.diff(shapes.constants)
    of_atom = np.repeat(np.arange(len(counts)), counts)
    bad = ~_fits(shapes, *_of_constants(shapes, operands))
    kinds_differ = _is_string(shapes) != _is_string(shapes)[shapes.constants[:-1][of_atom]]
    wrong = np.concatenate([[0], np.cumsum(bad | kinds_differ)])
    fine = wrong[shapes.constants[1:]] == wrong[shapes.constants[:-1]]
    fine &= (counts <= most_constants) & _allowed(shapes, classes[shapes.names])
    lengths = np.zeros(len(counts), np.int64)
    lengths[of_atom] = shapes.ends - shapes.starts
    return np.asarray(fine & ((shapes.shapes != SHAPE_LIKE) | (lengths <= longest_pattern)))


def _is_string(shapes: Shapes) -> npt.NDArray[np.bool_]:
    return np.asarray(shapes.constant_kinds == CONSTANT_STRING)


def _allowed(shapes: Shapes, classes: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Which shapes go with which classes of attributes."""
    shape = shapes.shapes
    comparing = (classes >= Class.INTEGRAL) & (classes <= Class.ANY)
    allowed = np.where(shape == SHAPE_NULL, classes != Class.UNKNOWN, comparing)
    allowed = np.where(shape == SHAPE_BARE, (classes == Class.ANY) | (classes == Class.BOOLEAN), allowed)
    allowed = np.where(shape == SHAPE_LIKE, (classes == Class.ANY) | (classes == Class.STRING), allowed)
    return np.asarray(allowed & (shape != SHAPE_OTHER))


def _fits(shapes: Shapes, classes: npt.NDArray[np.uint8], scales: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Which constants can be compared with an attribute of their class, exactly, as they were read."""
    kind, mantissa, scale = shapes.constant_kinds, shapes.mantissas, shapes.scales
    integer, string = kind == CONSTANT_INTEGER, kind == CONSTANT_STRING
    exact = (np.abs(mantissa) <= _EXACT_MANTISSA) & (np.abs(scale) <= _EXACT_POWER)
    shift = np.where(integer, scales, scales - scale)
    room = 10 ** np.clip(SHORT_DECIMAL - shift, 0, SHORT_DECIMAL).astype(np.int64)
    as_decimal = (integer | (kind == CONSTANT_DECIMAL)) & (shift >= 0) & (np.abs(mantissa) < room)
    choices = [integer, exact & ~string, as_decimal, string, integer | string | exact]
    return np.asarray(
        np.select([classes == each for each in range(Class.INTEGRAL, Class.BOOLEAN)], choices, False)
    )
