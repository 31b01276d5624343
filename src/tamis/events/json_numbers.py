"""Kernels from the bytes of JSON values, whose kinds a scan has found, to numbers and texts.

A number is converted only where a few operations on integers give the exact result; the others are marked
FALLBACK, for a slower way.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64, I32, I64, U8
from tamis.events.json_scan import byte_at
from tamis.kernels import kernel

# The state of a value: NULL; converted; left to Python; left to Python, and too large or small for doubles.
IS_NULL, DONE, FALLBACK, BEYOND_DOUBLES = range(4)

_MINUS, _POINT, _ZERO, _NINE, _LOWER_E, _UPPER_E, _COMMA, _OPEN, _CLOSE = b"-.09eE,[]"
_EXACT_DIGITS = 18
"""Digits that always fit 64 bits."""
_MAGNITUDE = 290
"""Digits before the point, or zeros behind it, that are within the range of doubles."""
_GREATEST_EXPONENT = 1 << 40
"""An exponent at which reading stops: no number of digits makes up for it."""
_AT_ONCE = 64
_EXACT_DOUBLES = 1 << 53
_TENS = 10 ** np.arange(19, dtype=np.int64)
_EXACT_POWER = 22
_POWERS = np.array([float(10**power) for power in range(_EXACT_POWER + 1)])


@kernel
def prefetch(block: U8, starts: I64, first: int, last: int) -> int:
    """Read a byte of each value, so that it is in the cache: the values of one key are far apart in memory.

    The result has no meaning; without one the compiler would drop the loop.
    """
    seen = np.uint8(0)
    for place in range(first, last):
        seen ^= byte_at(block, max(starts[place], 0))
    return int(seen)


@kernel
def integers(block: U8, starts: I64, lengths: I32) -> I64:
    """The integers, which the scan has found to fit into 64 bits."""
    out = np.empty(len(starts), np.int64)
    for place in range(len(starts)):
        if place % _AT_ONCE == 0:
            out[place] = prefetch(block, starts, place, min(place + _AT_ONCE, len(starts)))
        at, end = starts[place], starts[place] + lengths[place]
        negative = byte_at(block, at) == _MINUS
        if negative:
            at += 1
        number = np.int64(0)
        while at < end:
            number = number * 10 - (
                np.int64(byte_at(block, at)) - _ZERO
            )  # negative numbers have room for the least integer
            at += 1
        out[place] = number if negative else -number
    return out


@kernel
def _significant(block: U8, at: int, end: int) -> int:
    """The number of digits from the first that is not 0."""
    digits = 0
    while at < end:
        byte = byte_at(block, at)
        if _ZERO <= byte <= _NINE and (digits > 0 or byte != _ZERO):
            digits += 1
        at += 1
    return digits


@kernel
def _parts(block: U8, at: int, end: int) -> tuple[bool, np.int64, int, int]:
    """A number's sign, its digits as an integer, how many they are, and the power of ten of the last.

    The integer has a meaning if there are at most `_EXACT_DIGITS`; up to then, zeros before them are counted, too.
    """
    negative = byte_at(block, at) == _MINUS
    if negative:
        at += 1
    first = at
    mantissa = np.int64(0)
    while at < end and byte_at(block, at) >= _ZERO and byte_at(block, at) <= _NINE:
        mantissa = mantissa * 10 + (np.int64(byte_at(block, at)) - _ZERO)
        at += 1
    digits, power = at - first, 0
    if at < end and byte_at(block, at) == _POINT:
        at += 1
        point = at
        while at < end and byte_at(block, at) >= _ZERO and byte_at(block, at) <= _NINE:
            mantissa = mantissa * 10 + (np.int64(byte_at(block, at)) - _ZERO)
            at += 1
        power = point - at
        digits -= power
    if digits > _EXACT_DIGITS:
        digits = _significant(block, first, at)
    if at < end:
        at += 1  # the letter e
        sign = 1
        if byte_at(block, at) < _ZERO:
            sign = -1 if byte_at(block, at) == _MINUS else 1
            at += 1
        exponent = np.int64(0)
        while at < end:
            if exponent < _GREATEST_EXPONENT:
                exponent = exponent * 10 + (np.int64(byte_at(block, at)) - _ZERO)
            at += 1
        power += int(sign * exponent)
    return negative, mantissa, digits, power


@kernel
def doubles(block: U8, starts: I64, lengths: I32) -> tuple[F64, U8]:
    """The doubles nearest to numbers."""
    out, states = np.zeros(len(starts)), np.full(len(starts), DONE, np.uint8)
    for place in range(len(starts)):
        if place % _AT_ONCE == 0:
            out[place] = prefetch(block, starts, place, min(place + _AT_ONCE, len(starts)))
        start = starts[place]
        negative, mantissa, digits, power = _parts(block, start, start + lengths[place])
        number = float(mantissa)
        if digits == 0 or (digits <= _EXACT_DIGITS and mantissa == 0):
            number = 0.0
        elif digits > _EXACT_DIGITS or mantissa > _EXACT_DOUBLES or abs(power) > _EXACT_POWER:
            states[place] = FALLBACK if power > -_MAGNITUDE and power + digits < _MAGNITUDE else BEYOND_DOUBLES
            continue
        elif power < 0:
            number /= _POWERS[-power]
        else:
            number *= _POWERS[power]
        out[place] = -number if negative else number
    return out, states


@kernel
def decimals(block: U8, starts: I64, lengths: I32, precision: int, scale: int) -> tuple[I64, U8]:
    """Unscaled values in decimal(precision, scale), rounded half up."""
    out, states = np.zeros(len(starts), np.int64), np.full(len(starts), FALLBACK, np.uint8)
    for place in range(len(starts)):
        if place % _AT_ONCE == 0:
            out[place] = prefetch(block, starts, place, min(place + _AT_ONCE, len(starts)))
        start = starts[place]
        negative, mantissa, digits, power = _parts(block, start, start + lengths[place])
        if digits > _EXACT_DIGITS:
            continue
        while digits > 0 and mantissa < _TENS[digits - 1]:
            digits -= 1
        shift = power + scale
        if digits == 0 or digits + shift < 0:
            mantissa = np.int64(0)
        elif digits + shift > precision:
            states[place] = IS_NULL
            continue
        elif digits + shift > _EXACT_DIGITS:
            continue
        elif shift >= 0:
            mantissa *= _TENS[shift]
        else:
            unit = _TENS[-shift]
            rest = mantissa % unit
            mantissa = mantissa // unit + (1 if rest >= unit - rest else 0)
            if precision <= _EXACT_DIGITS and mantissa >= _TENS[precision]:
                states[place] = IS_NULL
                continue
        out[place] = -mantissa if negative else mantissa
        states[place] = DONE
    return out, states


@kernel
def take_cells(places: I32, starts: I64, lengths: I32, kinds: U8) -> tuple[I64, I32, U8]:
    """The cells at these places: their starts, lengths and kinds."""
    count = len(places)
    out_starts, out_lengths, out_kinds = (
        np.empty(count, np.int64),
        np.empty(count, np.int32),
        np.empty(count, np.uint8),
    )
    for each in range(count):
        place = places[each]
        out_starts[each], out_lengths[each], out_kinds[each] = starts[place], lengths[place], kinds[place]
    return out_starts, out_lengths, out_kinds


@kernel
def gather_bytes(block: U8, others: U8, starts: I64, lengths: I32, offsets: I32) -> U8:
    """The bytes of all texts, one after the other, from `offsets` on; -1 - i stands for byte i of `others`."""
    out = np.empty(offsets[-1] + 1, np.uint8)
    for place in range(len(starts)):
        if place % _AT_ONCE == 0:
            out[-1] = prefetch(block, starts, place, min(place + _AT_ONCE, len(starts)))
        start, at = starts[place], offsets[place]
        if start >= 0:
            for each in range(lengths[place]):
                out[at + each] = byte_at(block, start + each)
        else:
            for each in range(lengths[place]):
                out[at + each] = byte_at(others, each - 1 - start)
    return out[:-1]


@kernel
def join_as_list(block: U8, starts: I64, lengths: I32) -> U8:
    """The JSON list of the values, for one call of `json`."""
    out = np.empty(lengths.sum() + len(starts) + 2, np.uint8)
    at = 0
    for place in range(len(starts)):
        out[at] = _COMMA
        at += 1
        for each in range(lengths[place]):
            out[at + each] = byte_at(block, starts[place] + each)
        at += lengths[place]
    if len(starts) == 0:
        at += 1
    out[0] = _OPEN
    out[at] = _CLOSE
    return out[: at + 1]
