"""Texts as kernels read them: the bytes of a string column, as they are or in lower case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.values.column import Column, Mask
from tamis.values.letters import lower

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]


class Texts(NamedTuple):
    """Text i is `data[offsets[i]:offsets[i + 1]]`, if it is there."""

    data: Bytes
    offsets: Ints
    valid: Mask


def texts_of(column: Column) -> Texts:
    """The bytes of a string column."""
    values = column.values
    data = values.buffers()[2]
    offsets = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, values.offset * 4)
    text = np.frombuffer(data if data is not None and data.size else b"\0", np.uint8)
    return Texts(read_only(text), offsets.astype(np.int64), column.valid.copy())


def read_only(array: np.ndarray) -> np.ndarray:
    """The array without leave to write: to a kernel, it is of another type than one that can be written."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def packed(texts: Sequence[str | bytes]) -> tuple[Bytes, Ints]:
    """Texts as bytes and offsets."""
    array = pa.array(texts, pa.large_binary())
    data = array.buffers()[2]
    offsets = np.frombuffer(array.buffers()[1], np.int64, len(texts) + 1) if texts else np.zeros(1, np.int64)
    return read_only(np.frombuffer(data if offsets[-1] else b"", np.uint8, offsets[-1])), offsets.copy()


def in_lower_case(texts: Texts) -> Texts:
    """The texts in lower case, as ILIKE sees them."""
    small, is_ascii = _ascii_lower(texts.data, texts.offsets, texts.valid)
    others = np.flatnonzero(~is_ascii)
    offsets = texts.offsets - texts.offsets[0]
    if len(others):
        pieces = []
        for row in others.tolist():
            start, end = texts.offsets[row : row + 2]
            pieces.append(lower(texts.data[start:end].tobytes().decode()))
        data, bounds = packed(pieces)
        small, offsets = _replaced(small, offsets, others, data, bounds)
    return Texts(read_only(small), offsets, texts.valid)


@numba.njit(cache=True, nogil=True)
def _ascii_lower(data: Bytes, offsets: Ints, valid: Mask) -> tuple[Bytes, Mask]:
    """A copy with small letters for the capitals of ASCII; and which texts have only ASCII or are not there."""
    first = offsets[0]
    small = np.empty(offsets[-1] - first, np.uint8)
    is_ascii = np.ones(len(valid), np.bool_)
    for row in range(len(valid)):
        above = np.uint8(0)
        for at in range(offsets[row], offsets[row + 1]):
            byte = data[at]
            above |= byte
            small[at - first] = byte + np.uint8(32) if 65 <= byte <= 90 else byte
        is_ascii[row] = above < 128 or not valid[row]
    return small, is_ascii


@numba.njit(cache=True, nogil=True)
def _replaced(data: Bytes, offsets: Ints, rows: Ints, pieces: Bytes, bounds: Ints) -> tuple[Bytes, Ints]:
    """The texts with others in the given rows, which are in order."""
    ends = np.zeros(len(offsets), np.int64)
    out = np.empty(len(data) + len(pieces), np.uint8)
    place, count = 0, 0
    for row in range(len(offsets) - 1):
        if place < len(rows) and rows[place] == row:
            for at in range(bounds[place], bounds[place + 1]):
                out[count] = pieces[at]
                count += 1
            place += 1
        else:
            for at in range(offsets[row], offsets[row + 1]):
                out[count] = data[at]
                count += 1
        ends[row + 1] = count
    return out, ends
