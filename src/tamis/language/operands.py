"""Atoms of a known shape over one attribute: which constants they take, and their formulas.

The bulk compiler knows an atom as (attribute, shape, constants). For every attribute there is one `Operand`: its
class says, column-wise, which constants can be compared with it without asking the analyser, and `formula` makes
the same formula that the analyser and `Truth` would make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

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
from tamis.values.column import SHORT_DECIMAL, Value
from tamis.values.order import order_key
from tamis.values.ranges import ALL, NONE, Ranges, compared, points_of
from tamis.values.types import ANY, BOOLEAN, DOUBLE, NUMBER, STRING, Type, is_decimal, is_integral

_OPERATORS = {Kind.EQ: "=", Kind.NE: "<>", Kind.LT: "<", Kind.LE: "<=", Kind.GT: ">", Kind.GE: ">="}
_EXACT_MANTISSA = 1 << 53
_EXACT_POWER = 22
"""Integers and powers of ten up to these are exact doubles, so that one division rounds once."""


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


@dataclass(frozen=True, slots=True)
class Operand:
    """An attribute that atoms of known shapes read."""

    attribute: Typed
    zone: str

    def formula(
        self, shapes: Shapes, text: npt.NDArray[np.uint8], atom: int, constants: Sequence[int], *, holds: bool
    ) -> Formula:
        """The formula that atom `atom` is true, or with `holds=False` that it is false."""
        shape = int(shapes.shapes[atom])
        holds ^= bool(shapes.negated[atom])
        if shape == SHAPE_NULL:
            return leaf(Within(self.attribute, NONE if holds else ALL, null=holds))
        if shape == SHAPE_BARE:
            return leaf(Within(self._read(BOOLEAN), compared(BOOLEAN, "=", int(holds))))
        values = [_value(shapes, text, place) for place in constants]
        if shape == SHAPE_LIKE:
            return self._like(values[0], holds=holds)
        type_ = self._type(values[0])
        attribute = self._read(type_)
        keys = [_key(type_, value) for value in values]
        if shape == SHAPE_IN:
            return _within(attribute, points_of(type_, keys), holds=holds)
        if shape == SHAPE_BETWEEN:
            low = _within(attribute, compared(type_, ">=", keys[0]), holds=holds)
            high = _within(attribute, compared(type_, "<=", keys[1]), holds=holds)
            return (conjunction if holds else disjunction)((low, high))
        return _within(attribute, compared(type_, _OPERATORS[Kind(shape)], keys[0]), holds=holds)

    def _type(self, value: Value) -> Type:
        """The type in which the attribute is compared with a constant."""
        if self.attribute.type != ANY:
            return self.attribute.type
        return STRING if isinstance(value, str) else NUMBER

    def _read(self, type_: Type) -> Typed:
        if self.attribute.type != ANY:
            return self.attribute
        return Apply("read", (self.attribute,), Signature((ANY,), type_, self.zone))

    def _like(self, pattern: str, *, holds: bool) -> Formula:
        attribute = self._read(STRING)
        parts = parse_like(pattern)
        ranges = like_ranges(parts)
        if ranges is not None:
            return _within(attribute, ranges, holds=holds)
        return leaf(Matches(attribute, "like", canonical_like(parts), negated=not holds))


def _within(attribute: Typed, ranges: Ranges, *, holds: bool) -> Formula:
    return leaf(Within(attribute, ranges if holds else ~ranges))


def _value(shapes: Shapes, text: npt.NDArray[np.uint8], place: int) -> Value:
    """A constant: an int, a str, a float, or a pair (unscaled, scale)."""
    kind = shapes.constant_kinds[place]
    if kind == CONSTANT_STRING:
        return text[shapes.starts[place] : shapes.ends[place]].tobytes().decode()
    mantissa = int(shapes.mantissas[place])
    return mantissa if kind == CONSTANT_INTEGER else (mantissa, int(shapes.scales[place]))


def _key(type_: Type, value: Value) -> Value:
    if is_decimal(type_):
        mantissa, scale = value if isinstance(value, tuple) else (value, 0)
        return mantissa * 10 ** (type_.scale - scale)
    if isinstance(value, tuple):
        mantissa, scale = value
        value = mantissa / 10**scale if scale >= 0 else float(mantissa * 10**-scale)
    elif type_ == DOUBLE:
        value = float(value)
    return order_key(type_)(value)


def settled(
    shapes: Shapes, operands: Sequence[Operand | None], *, most_constants: int, longest_pattern: int
) -> npt.NDArray[np.bool_]:
    """Which atoms can be left as they are: a known shape, a known attribute, constants that go with it."""
    classes = np.array([class_of(each.attribute.type) if each else 0 for each in operands] + [0], np.uint8)
    scales = np.array([each.attribute.type.scale if each else 0 for each in operands] + [0], np.int32)
    atom_classes = classes[shapes.names]
    counts = np.diff(shapes.constants)
    of_atom = np.repeat(np.arange(len(counts)), counts)
    bad = ~_fits(shapes, atom_classes[of_atom], scales[shapes.names][of_atom])
    kinds_differ = _is_string(shapes) != _is_string(shapes)[shapes.constants[:-1][of_atom]]
    wrong = np.concatenate([[0], np.cumsum(bad | kinds_differ)])
    fine = wrong[shapes.constants[1:]] == wrong[shapes.constants[:-1]]
    fine &= (counts <= most_constants) & _allowed(shapes, atom_classes)
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
    as_decimal = integer | ((kind == CONSTANT_DECIMAL) & (scale <= scales))
    choices = [integer, exact & ~string, as_decimal, string, integer | string | exact]
    return np.asarray(
        np.select([classes == each for each in range(Class.INTEGRAL, Class.BOOLEAN)], choices, False)
    )
