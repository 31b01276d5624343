"""Packed texts, the form that kernels read: the UTF-8 bytes of a string column, as they are or in lower case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import I64, U8, Mask
from tamis.kernels import kernel
from tamis.values.column import Column
from tamis.values.letter_case import lower


class PackedTexts(NamedTuple):
    """Text i is `data[offsets[i]:offsets[i + 1]]` if `valid[i]`, else NULL."""

    data: U8
    offsets: I64
    valid: Mask


def texts_of(column: Column) -> PackedTexts:
    """The bytes of a string column."""
    values = column.values
    data = values.buffers()[2]
    offsets = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, values.offset * 4)
    text = np.frombuffer(data if data is not None and data.size else b"\0", np.uint8)
    return PackedTexts(read_only(text), offsets.astype(np.int64), column.valid.copy())


def read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view. Numba compiles a kernel again for writable arrays, so all arrays here are read-only."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def pack_texts(texts: Sequence[str | bytes]) -> tuple[U8, I64]:
    """Texts as bytes and offsets."""
    array = pa.array(texts, pa.large_binary())
    data = array.buffers()[2]
    offsets = np.frombuffer(array.buffers()[1], np.int64, len(texts) + 1) if texts else np.zeros(1, np.int64)
    return read_only(np.frombuffer(data if offsets[-1] else b"", np.uint8, offsets[-1])), offsets.copy()


def in_lower_case(texts: PackedTexts) -> PackedTexts:
    """The texts in lower case, as ILIKE compares them."""
    small, is_ascii = _ascii_lower(texts.data, texts.offsets, texts.valid)
    others = np.flatnonzero(~is_ascii)
    offsets = texts.offsets - texts.offsets[0]
    if len(others):
        pieces = []
        for row in others.tolist():
            start, end = texts.offsets[row : row + 2]
            pieces.append(lower(texts.data[start:end].tobytes().decode()))
        data, bounds = pack_texts(pieces)
        small, offsets = _replace_rows(small, offsets, others, data, bounds)
    return PackedTexts(read_only(small), offsets, texts.valid)


@kernel
def _ascii_lower(data: U8, offsets: I64, valid: Mask) -> tuple[U8, Mask]:
    """The bytes with ASCII capitals in lower case; and which texts are ASCII or NULL."""
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


@kernel
def _replace_rows(data: U8, offsets: I64, rows: I64, pieces: U8, bounds: I64) -> tuple[U8, I64]:
    """The texts with replacements in the given rows, which are ascending."""
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
