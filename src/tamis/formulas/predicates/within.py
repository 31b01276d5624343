"""`Within`: is the attribute's value in a set of ranges, or NULL where that counts?

Comparisons with constants, IN, BETWEEN, prefixes, bare Boolean attributes and NULL tests are all this one kind,
so that any combination of them on one attribute is again one `Within`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import F64, I64, Mask
from tamis.formulas.expression import Constant, Path, Typed, calls_in, to_syntax
from tamis.formulas.predicates.base import CALL_COST, Frame
from tamis.syntax.printing import to_text
from tamis.values.column import Column, NumberValues
from tamis.values.order import value_of_key, vector_keys
from tamis.values.ranges import ALL, NONE, Key, Ranges, after
from tamis.values.types import BOOLEAN, NUMBER, Type

_FEW_CUTS = 4


@dataclass(frozen=True, slots=True)
class Within:
    """Holds when the attribute's key is in `ranges`, or when it is NULL and `null` is set."""

    attribute: Typed
    ranges: Ranges
    null: bool = False
    _hash: int | None = field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Agrees with equality; computed once, because predicates are looked up wherever they are shared."""
        if self._hash is None:
            object.__setattr__(self, "_hash", hash((self.attribute, self.ranges, self.null)))
        return self._hash  # type: ignore[return-value]  # set above, past the frozen dataclass

    def __reduce__(self) -> tuple[type[Within], tuple[Typed, Ranges, bool]]:
        """Without the hash, which is another one in another process."""
        return Within, (self.attribute, self.ranges, self.null)

    @property
    def cost(self) -> float:
        """A tenth of a comparison for each cut; more if the attribute must be computed first."""
        called = CALL_COST * len(calls_in(self.attribute))
        return called + (1.0 if isinstance(self.attribute, Path) else 5.0) + 0.1 * len(self.ranges.cuts)

    def mask(self, frame: Frame) -> Mask:
        column = frame.column(self.attribute)
        found = ranges_mask(column, self.ranges)
        return (found & column.valid) | ~column.valid if self.null else found & column.valid

    def describe(self) -> str:
        """`price < 300`, `brand IN ('Nikon', 'Sony')`, `x IS NULL OR x > 3`."""
        name = to_text(to_syntax(self.attribute))
        tests = []
        if self.null:
            tests.append(f"{name} IS NULL")
        if self.ranges == ALL:
            tests.append(f"{name} IS NOT NULL")
        elif self.ranges != NONE:
            tests.append(_describe_ranges(self.attribute.type, name, self.ranges))
        return " OR ".join(tests) or f"{name} IS NEVER"

    @property
    def identity(self) -> str:
        """All of it, with every type and every reading of a schemaless attribute."""
        return repr(self)


def ranges_mask(column: Column, ranges: Ranges) -> Mask:
    """Which rows' keys are in the ranges; unspecified where the column is NULL."""
    if not ranges.cuts:
        return np.full(len(column), ranges.inside)
    if isinstance(column.values, NumberValues):
        return _number_mask(column.values, ranges)
    if isinstance(column.values, pa.Array):
        return _bytes_mask(column.values, ranges)
    keys = vector_keys(column)
    if keys.dtype == np.object_ or len(ranges.cuts) <= _FEW_CUTS:
        found = np.full(len(column), ranges.inside)
        for cut in ranges.cuts:
            found ^= np.asarray(keys >= cut, np.bool_)
        return found
    place = np.searchsorted(np.array(ranges.cuts, np.int64), keys, side="right")
    return np.asarray((place & 1).astype(np.bool_) ^ ranges.inside)


def _bytes_mask(values: pa.Array, ranges: Ranges) -> Mask:
    """Arrow compares strings and binaries byte by byte, which is Spark's order."""
    points = (~ranges if ranges.inside else ranges).points()
    if points is not None:
        found = _to_mask(pc.is_in(values, pa.array(points, values.type)))
        return ~found if ranges.inside else found
    found = np.full(len(values), ranges.inside)
    for cut in ranges.cuts:
        found ^= _to_mask(pc.greater_equal(values, pa.scalar(cut, values.type)))
    return found


def _to_mask(values: pa.Array) -> Mask:
    return np.asarray(pc.fill_null(values, False).to_numpy(zero_copy_only=False), np.bool_)


def _number_mask(values: NumberValues, ranges: Ranges) -> Mask:
    found = np.full(len(values.integral), ranges.inside)
    for cut in ranges.cuts:
        found ^= np.where(values.integral, _ints_from(values.ints, cut), _doubles_from(values.doubles, cut))
    return found


def _ints_from(ints: I64, cut: Key) -> Mask:
    """Which integers are at or above the cut, compared exactly."""
    is_nan, value, side = cut
    if is_nan or value == math.inf:
        return np.zeros(len(ints), np.bool_)
    if value == -math.inf:
        return np.ones(len(ints), np.bool_)
    least = math.ceil(value) if side == 0 else math.floor(value) + 1
    if least > np.iinfo(np.int64).max:
        return np.zeros(len(ints), np.bool_)
    return np.asarray(ints >= max(least, np.iinfo(np.int64).min))


def _doubles_from(doubles: F64, cut: Key) -> Mask:
    """Which doubles are at or above the cut, compared exactly; NaN is above everything."""
    is_nan, value, side = cut
    if is_nan:
        return np.isnan(doubles) if side == 0 else np.zeros(len(doubles), np.bool_)
    bound = float(value)
    if side == 0:
        bound = math.nextafter(bound, math.inf) if bound < value else bound
        return np.asarray((doubles >= bound) | np.isnan(doubles))
    bound = math.nextafter(bound, -math.inf) if bound > value else bound
    return np.asarray((doubles > bound) | np.isnan(doubles))


def _describe_ranges(type_: Type, name: str, ranges: Ranges) -> str:
    if type_ == BOOLEAN:
        return name if 1 in ranges else f"NOT {name}"
    outside = (~ranges).points() if ranges.inside else None
    points = outside if outside is not None else ranges.points()
    if points is not None:
        shown = [_describe_key(type_, key) for key in points]
        negated = outside is not None
        if len(shown) == 1:
            return f"{name} {'<>' if negated else '='} {shown[0]}"
        return f"{name} {'NOT ' if negated else ''}IN ({', '.join(shown)})"
    pieces = list(ranges.pieces())
    return " OR ".join(_describe_piece(type_, name, *piece) for piece in pieces)


def _describe_piece(type_: Type, name: str, low: Key | None, high: Key | None) -> str:
    if low is not None and high is not None and after(low) == high:
        return f"{name} = {_describe_key(type_, low)}"
    tests = []
    if low is not None:
        tests.append(f"{name} {_describe_bound(type_, low, '>=', '>')}")
    if high is not None:
        tests.append(f"{name} {_describe_bound(type_, high, '<', '<=')}")
    return " AND ".join(tests)


def _describe_bound(type_: Type, cut: Key, at: str, before: str) -> str:
    """A bound, named by the value at the cut or by the one below it, whichever reads better."""
    below = _before(cut)
    if below is None:
        return f"{at} {_describe_key(type_, cut)}"
    if isinstance(cut, (tuple, str, bytes)):
        return f"{before} {_describe_key(type_, below)}"
    here, there = _describe_key(type_, cut), _describe_key(type_, below)
    return (
        f"{before} {there}" if len(_significant_digits(there)) < len(_significant_digits(here)) else f"{at} {here}"
    )


def _significant_digits(number: str) -> str:
    """The digits that matter: 20.00 reads better than 20.01, and 10000 than 9999."""
    return number.rstrip("DF").rstrip("0").rstrip(".").rstrip("0")


def _before(cut: Key) -> Key | None:
    """The key just below this cut, where there is one."""
    if isinstance(cut, tuple):
        return (*cut[:-1], 0) if cut[-1] == 1 else None
    if isinstance(cut, (str, bytes)):
        return cut[:-1] if cut[-1:] in ("\0", b"\0") else None
    return cut - 1


def _describe_key(type_: Type, key: Key) -> str:
    if type_ == NUMBER:
        return "NaN" if key[0] else f"{key[1]}"
    value: Any = value_of_key(type_)(key)
    return to_text(to_syntax(Constant(type_, value)))
