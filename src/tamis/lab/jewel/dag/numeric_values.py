"""Attribute values as arithmetic reads them: floating-point numbers, NaN where there is none."""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64
from tamis.values.column import Column, NumberValues
from tamis.values.types import ANY

_MOST = 1e308
"""Whole numbers beyond this have no floating-point form."""


def numeric_values(column: Column) -> F64:
    """float64[rows]: the values of a column; NaN for NULL and for types that are not numeric."""
    found = np.full(len(column), np.nan)
    values, valid = column.values, column.valid
    if isinstance(values, NumberValues):
        found[valid] = np.where(values.integral, values.ints, values.doubles)[valid]
    elif column.type == ANY:
        for row in np.flatnonzero(valid).tolist():
            value = values[row]
            if isinstance(value, float) or (type(value) is int and abs(value) <= _MOST):
                found[row] = value
    elif isinstance(values, np.ndarray):
        found[valid] = values[valid].astype(np.float64)
        if column.type.name == "decimal":
            found /= 10.0**column.type.scale
    return found
