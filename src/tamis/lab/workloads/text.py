"""Many texts at once from codes: a code is a phrase or a number, a text is a row of codes.

A kernel writes all texts of a block into one buffer; no Python string is made. Code 0 is the empty phrase, so that
rows of different lengths fit into one array.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import I64, U8
from tamis.kernels import kernel

NOTHING = 0
FRACTION_UNIT = 10**9

_KINDS = 4
_PHRASE, _INTEGER, _FRACTION, _CENTS = 0, 1, 2, 3


class Phrases:
    """The phrases that codes may mean, each text once."""

    def __init__(self) -> None:
        """Start with the empty phrase, which is `NOTHING`."""
        self._codes: dict[str, int] = {"": NOTHING}

    def code(self, text: str) -> int:
        """The code of a phrase, which is added if new."""
        return self._codes.setdefault(text, len(self._codes) * _KINDS + _PHRASE)

    def codes(self, texts: Iterable[str]) -> I64:
        """The codes of several phrases."""
        return np.array([self.code(text) for text in texts], np.int64)

    def table(self) -> PhraseTable:
        """All phrases, for the kernel."""
        encoded = [text.encode() for text in self._codes]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return PhraseTable(np.frombuffer(b"".join(encoded) or b"\0", np.uint8), offsets)


class PhraseTable(NamedTuple):
    """Phrases as the kernel reads them."""

    text: U8  # of all phrases, one after the other
    offsets: I64  # phrase p is text[offsets[p]:offsets[p + 1]]


def integers(values: I64) -> I64:
    """Codes of whole numbers, as 12 or -3."""
    return values * _KINDS + _INTEGER


def fractions(units: I64) -> I64:
    """Codes of numbers in [0, 1], given in units of 10**-9, written with nine digits, as 0.250000000."""
    return units * _KINDS + _FRACTION


def cents(values: I64) -> I64:
    """Codes of amounts that are not negative, given in cents, as 12.05."""
    return values * _KINDS + _CENTS


def render(codes: I64, table: PhraseTable) -> pa.LargeStringArray:
    """The texts that the rows of `codes` spell."""
    offsets = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(_lengths(codes, table), out=offsets[1:])
    text = np.empty(int(offsets[-1]), np.uint8)
    _write(codes, table, offsets, text)
    return pa.LargeStringArray.from_buffers(len(codes), pa.py_buffer(offsets), pa.py_buffer(text))


@kernel
def _digits(value: int) -> int:
    digits = 1
    while value >= 10:
        value //= 10
        digits += 1
    return digits


@kernel
def _lengths(codes: I64, table: PhraseTable) -> I64:
    """Bytes of each text."""
    rows, columns = codes.shape
    lengths = np.zeros(rows, np.int64)
    for row in range(rows):
        for column in range(columns):
            kind = codes[row, column] % _KINDS
            value = codes[row, column] // _KINDS
            if kind == _PHRASE:
                lengths[row] += table.offsets[value + 1] - table.offsets[value]
            elif kind == _INTEGER:
                lengths[row] += _digits(abs(value)) + (1 if value < 0 else 0)
            else:
                decimals = 9 if kind == _FRACTION else 2
                lengths[row] += _digits(value // 10**decimals) + 1 + decimals
    return lengths


@kernel
def _write_digits(value: int, digits: int, out: U8, at: int) -> int:
    """Write `value` with that many digits at `at`; returns the place behind."""
    for place in range(at + digits - 1, at - 1, -1):
        out[place] = 48 + value % 10
        value //= 10
    return at + digits


@kernel
def _write(codes: I64, table: PhraseTable, offsets: I64, out: U8) -> None:
    """Write text r into out[offsets[r]:offsets[r + 1]]."""
    rows, columns = codes.shape
    for row in range(rows):
        at = offsets[row]
        for column in range(columns):
            kind = codes[row, column] % _KINDS
            value = codes[row, column] // _KINDS
            if kind == _PHRASE:
                for source in range(table.offsets[value], table.offsets[value + 1]):
                    out[at] = table.text[source]
                    at += 1
            elif kind == _INTEGER:
                if value < 0:
                    out[at] = 45
                    at += 1
                at = _write_digits(abs(value), _digits(abs(value)), out, at)
            else:
                decimals = 9 if kind == _FRACTION else 2
                units = value // 10**decimals
                at = _write_digits(units, _digits(units), out, at)
                out[at] = 46
                at = _write_digits(value % 10**decimals, decimals, out, at + 1)
