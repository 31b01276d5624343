"""Values of attributes as arithmetic wants them: floating-point numbers, NaN where there is none."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.values.column import Column, Numbers
from tamis.values.types import ANY

_MOST = 1e308
"""Whole numbers beyond this have no such form."""


def reals_of(column: Column) -> npt.NDArray[np.float64]:
    """The values of a column; of types that are no numbers, all undefined."""
    found = np.full(len(column), np.nan)
    values, valid = column.values, column.valid
    if isinstance(values, Numbers):
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
