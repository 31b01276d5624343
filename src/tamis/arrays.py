"""The types of arrays, named once: by their elements, and by what the numbers mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Bools: TypeAlias = npt.NDArray[np.bool_]
U8: TypeAlias = npt.NDArray[np.uint8]
U16: TypeAlias = npt.NDArray[np.uint16]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]
I8: TypeAlias = npt.NDArray[np.int8]
I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
F64: TypeAlias = npt.NDArray[np.float64]
Objects: TypeAlias = npt.NDArray[np.object_]
Integers: TypeAlias = npt.NDArray[np.integer]
Structs: TypeAlias = npt.NDArray[np.void]
AnyArray: TypeAlias = npt.NDArray[Any]

Mask: TypeAlias = Bools
"""Which rows: bool[rows]."""
RowIndices: TypeAlias = I64
"""Rows of a batch or a table, by number."""
Arrays: TypeAlias = Mapping[str, AnyArray]
"""Arrays by name, as they are saved and mapped."""
