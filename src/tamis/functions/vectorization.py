"""Vector forms made from scalar forms: one call per distinct text, or one formula for integers and arrays.

A vector form only saves work: it gives exactly what the scalar form gives row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.functions.registry import Function, Resolve, Signature, Vector, always, register
from tamis.functions.rows import Scalar, all_valid, apply_null_aware, apply_strict, strict
from tamis.values.column import Column, Value, column_of, constant_column
from tamis.values.types import BINARY, STRING, Type

Shortcut: TypeAlias = Callable[..., pa.Array | None]
"""From a text array and the other, constant arguments to a result array; None if that is inexact."""

Ints: TypeAlias = Any
"""An int, or an array of them; formulas run on both."""


def elementwise(name: str, *other_names: str, resolve: Resolve, formula: Callable[..., Ints]) -> None:
    """Register a function that one formula computes for integers and for arrays, and that never gives NULL."""

    def vector(signature: Signature, columns: Sequence[Column]) -> Column:
        values = formula(*(column.values for column in columns))
        return Column(signature.returns, values, all_valid(columns))

    register(Function(name, resolve, always(formula), vector), *other_names)


def is_constant(column: Column) -> bool:
    """Is the same value, not NULL, in every row of a column of numbers or text?"""
    if not len(column) or not column.valid.all():
        return False
    values = column.values
    if isinstance(values, pa.Array):
        first = values[0]
        # Comparing three values detects most columns that vary.
        if values[len(values) - 1] != first or values[len(values) // 2] != first:
            return False
        return bool(pc.all(pc.equal(values, first)).as_py())
    return isinstance(values, np.ndarray) and bool((values == values[0]).all())


def value_of(column: Column) -> Value:
    """The value in the first row."""
    return column.take(np.zeros(1, np.int64)).to_list()[0]


def text_vector(
    scalar: Scalar, *, text: int = 0, shortcut: Shortcut | None = None, sees_null: bool = False
) -> Vector:
    """A vector form that calls `scalar` once per distinct text, if only one argument varies.

    Args:
        scalar: The scalar form, strict unless `sees_null`.
        text: Which argument `shortcut` gets first, counted from 0; -1 is the last one.
        shortcut: Computes all rows at once; the other arguments are constant.
        sees_null: As in `Function`.
    """
    call = scalar if sees_null else strict(scalar)

    def vector(signature: Signature, columns: Sequence[Column]) -> Column:
        varying = [place for place, column in enumerate(columns) if not is_constant(column)]
        if len(columns[0]) and not varying:
            value = call(*(value_of(column) for column in columns))
            return constant_column(signature.returns, value, len(columns[0]))
        if len(varying) != 1 or columns[varying[0]].type not in (STRING, BINARY) or not len(columns[0]):
            apply = apply_null_aware if sees_null else apply_strict
            return apply(scalar, signature.returns, columns)
        at = varying[0]
        before = [value_of(column) for column in columns[:at]]
        after = [value_of(column) for column in columns[at + 1 :]]
        if shortcut is not None and at == text % len(columns):
            found = shortcut(columns[at].values, *before, *after)
            if found is not None:
                return _column(signature.returns, found)
        encoded = columns[at].values.dictionary_encode()
        texts = [*encoded.dictionary.to_pylist(), None]  # NULL rows get the index of the last entry
        results = column_of(signature.returns, [call(*before, each, *after) for each in texts])
        return results.take(encoded.indices.fill_null(len(texts) - 1).to_numpy().astype(np.int64))

    return vector


def is_ascii(text: pa.Array) -> bool:
    """Are all texts of the array ASCII?"""
    return bool(pc.all(pc.string_is_ascii(text)).as_py() in (True, None))


def _column(returns: Type, found: pa.Array) -> Column:
    valid = found.is_valid().to_numpy(zero_copy_only=False)
    if returns in (STRING, BINARY):
        return Column(returns, found, valid)
    if pa.types.is_boolean(found.type):
        return Column(returns, found.fill_null(False).to_numpy(zero_copy_only=False), valid)
    values: Any = found.fill_null(0).to_numpy(zero_copy_only=False)
    return Column(returns, values.astype(np.int64), valid)
