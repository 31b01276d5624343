"""Numbers and booleans as text: what Spark's casts from string accept, and what its casts to string write.

Reading follows Java's and Spark's grammars, never Python's (which accepts `1_000` and other blanks). A text
outside the grammar, or a value outside the type, gives None; no reader raises. Writing gives the shortest digits
that read back as the same number, as Java does since JDK 19; on an older JDK, Spark prints more digits than
needed for some numbers (JDK-4511638: 2.0E23 as 1.9999999999999998E23).
"""

from __future__ import annotations

import ctypes
import math
import re
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np

JAVA_BLANKS = "".join(map(chr, range(33)))
"""What Java's `String.trim` strips; Spark calls it before it reads fractions, decimals and names of zones."""
_SPARK_BLANKS = JAVA_BLANKS + "\x7f"
"""What Spark's own `trimAll` strips before it reads integers, booleans and dates."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEX_DOUBLE = re.compile(
    r"([+-]?)0[xX](?:([0-9a-fA-F]+)\.?|([0-9a-fA-F]*)\.([0-9a-fA-F]+))[pP]([+-]?[0-9]+)[fFdD]?"
)
_DECIMAL = re.compile(r"([+-]?)(?:(\d+)\.?(\d*)|\.(\d+))(?:[eE]([+-]?)(\d+))?")
_WORDS = {
    "inf": math.inf,
    "+inf": math.inf,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-inf": -math.inf,
    "-infinity": -math.inf,
    "nan": math.nan,
}
_SIGNED_NAN = ("+NaN", "-NaN")  # Java takes these, in this case only
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})

_LONGEST_INTEGER = 19
_LARGEST_DECIMAL = 38
_INT32 = 1 << 31
_FLOAT_BEYOND = 2.0**128
"""Where the next float after the greatest would be, if the exponent had one value more."""
_FLOAT_BITS, _INT_BITS = struct.Struct("<f"), struct.Struct("<I")
_DOUBLE_BITS, _LONG_BITS = struct.Struct("<d"), struct.Struct("<Q")
_BELOW_MIDWAY = (1 << 28) - 1
"""The bits of a double that are zero if it lies midway between two floats."""


def trim(text: str) -> str:
    """The text without the characters that Spark ignores around integers, booleans and dates."""
    return text.strip(_SPARK_BLANKS)


def read_boolean(text: str) -> bool | None:
    """The result of `try_cast(text AS BOOLEAN)`."""
    word = trim(text).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def read_integer(text: str, least: int, greatest: int) -> int | None:
    """The result of `try_cast` to an integral type with these bounds."""
    text = trim(text)
    if _INTEGER.fullmatch(text) is None:
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _LONGEST_INTEGER:  # also keeps Python from refusing to convert long texts
        return None
    value = -int(digits) if text[0] == "-" else int(digits)
    return value if least <= value <= greatest else None


def read_double(text: str) -> float | None:
    """The result of `try_cast(text AS DOUBLE)`."""
    text = text.strip(JAVA_BLANKS)
    found = _DOUBLE.fullmatch(text)
    if found is not None:
        return float(found.group(1))
    if _HEX_DOUBLE.fullmatch(text) is not None:
        return _read_hex(text)
    return math.nan if text in _SIGNED_NAN else _WORDS.get(text.lower())


def read_float(text: str) -> float | None:
    """The result of `try_cast(text AS FLOAT)`, rounded once, from the text to 32 bits."""
    value = read_double(text)
    if value is None or not _is_between_floats(value):
        return None if value is None else as_float(value)
    exact = _exact(text.strip(JAVA_BLANKS))
    return nearest_float(value, exact.numerator, exact.denominator)


def read_decimal(text: str, precision: int, scale: int) -> int | None:
    """The unscaled result of `try_cast(text AS DECIMAL(precision, scale))`."""
    found = _DECIMAL.fullmatch(text.strip(JAVA_BLANKS))
    if found is None or any(ord(character) > 0xFFFF for character in found.group(0)):
        return None  # Java sees digits of all scripts, but one UTF-16 unit at a time
    sign, whole, fraction, only_fraction, exponent_sign, exponent_text = found.groups()
    whole, fraction = whole or "", fraction or only_fraction or ""
    exponent = 0
    if exponent_text:
        digits = _ascii(exponent_text).lstrip("0") or "0"
        if len(digits) > 10:
            return None
        exponent = -int(digits) if exponent_sign == "-" else int(digits)
    if not (-_INT32 <= exponent < _INT32 and -_INT32 <= len(fraction) - exponent < _INT32):
        return None
    digits = _ascii(whole + fraction)
    significant = digits.lstrip("0")
    if not significant:
        return 0
    point = len(whole) + exponent - (len(digits) - len(significant))
    if point > _LARGEST_DECIMAL:
        return None
    # Rounding half up depends on the first dropped digit only.
    kept = point + scale + 1
    if kept <= 0:
        return 0
    value, last = divmod(int(significant[:kept].ljust(kept, "0")), 10)
    value += last >= 5
    if value >= 10**precision:
        return None
    return -value if sign == "-" else value


def decimal_of_double(value: float, precision: int, scale: int) -> int | None:
    """The shortest digits of `value` as decimal(precision, scale), unscaled; None if they do not fit."""
    return read_decimal(repr(value), precision, scale) if math.isfinite(value) else None


def as_float(value: float) -> float:
    """A double rounded to 32 bits, infinite if it is too large."""
    return ctypes.c_float(value).value


def nearest_float(value: float, numerator: int, denominator: int = 1) -> float:
    """The 32-bit float nearest to a quotient, of which `value` is the nearest double.

    Rounding twice differs from rounding once only if the double lies midway between two floats and the quotient
    does not.
    """
    if not _is_between_floats(value):
        return as_float(value)
    over, under = value.as_integer_ratio()
    difference = numerator * under - over * denominator
    if difference == 0:
        return as_float(value)
    low, high = _neighbours(value)
    return high if difference > 0 else low


def _neighbours(value: float) -> tuple[float, float]:
    """The floats below and above a double that is not a float; infinity beyond the greatest."""
    rounded = as_float(value)
    # Floats of one sign are in the order of their bits.
    away = abs(value) > abs(rounded)
    (bits,) = _INT_BITS.unpack(_FLOAT_BITS.pack(rounded))
    (other,) = _FLOAT_BITS.unpack(_INT_BITS.pack(bits + (1 if away else -1)))
    return (rounded, other) if rounded < other else (other, rounded)


def _is_between_floats(value: float) -> bool:
    """Does a double lie exactly midway between two neighbouring floats?"""
    if not math.isfinite(value) or _LONG_BITS.unpack(_DOUBLE_BITS.pack(value))[0] & _BELOW_MIDWAY:
        return False
    if as_float(value) == value:
        return False
    low, high = _neighbours(value)
    low = max(low, -_FLOAT_BEYOND)
    high = min(high, _FLOAT_BEYOND)
    return (low + high) / 2 == value


def _read_hex(text: str) -> float:
    if text[-1] in "fFdD":  # after the exponent, which is decimal
        text = text[:-1]
    try:
        return float.fromhex(text)
    except OverflowError:
        return -math.inf if text[0] == "-" else math.inf


def _exact(text: str) -> Fraction:
    """The exact value of a text that `read_double` reads as a finite number."""
    found = _DOUBLE.fullmatch(text)
    if found is not None:
        # Through Decimal, because Python refuses to read very long texts as integers.
        return Fraction(*Decimal(found.group(1)).as_integer_ratio())
    parts = _HEX_DOUBLE.fullmatch(text)
    if parts is None:
        msg = f"{text!r} is not a finite number"
        raise ValueError(msg)
    sign, alone, whole, fraction, exponent = parts.groups()
    digits, places = (alone, 0) if alone else (whole + fraction, len(fraction))
    value = int(digits, 16) * Fraction(2) ** (int(exponent) - 4 * places)
    return -value if sign == "-" else value


def _ascii(digits: str) -> str:
    return digits if digits.isascii() else "".join(str(int(digit)) for digit in digits)


def write_double(value: float) -> str:
    """`CAST(value AS STRING)` of a double."""
    return _write(value, repr(value), f"{value:.1e}") if math.isfinite(value) else _write_word(value)


def write_float(value: float) -> str:
    """`CAST(value AS STRING)` of a float."""
    if not math.isfinite(value):
        return _write_word(value)
    shortest = np.format_float_scientific(np.float32(value), unique=True, trim="-")
    return _write(value, shortest, f"{value:.1e}", is_float=True)


def _write_word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _write(value: float, shortest: str, two_digits: str, *, is_float: bool = False) -> str:
    """Java's layout: plain from 0.001 to 10 million, else with an exponent; digits on both sides of the point."""
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return sign + "0.0"
    digits, point = _digits(shortest)
    if len(digits) == 1:
        # Java writes at least two digits, and prefers the nearest number of two digits if it reads back the same.
        again = float(two_digits)
        if (as_float(again) if is_float else again) == value:
            digits, point = _digits(two_digits)
    if -2 <= point <= 7:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def _digits(text: str) -> tuple[str, int]:
    """Significant digits of a number written by Python, and the place of the decimal point among them."""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return digits.rstrip("0"), point


def write_decimal(unscaled: int, scale: int) -> str:
    """`CAST(value AS STRING)` of a decimal: plain, with all digits of its scale."""
    if scale == 0:
        return str(unscaled)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"
