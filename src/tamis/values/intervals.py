"""Intervals as text: those of years and months, whose values are months, and those of days and less, microseconds.

A text is that of Spark: `INTERVAL '1 02:03:04.5' DAY TO SECOND`, where only the first field may be beyond the next
wider one. Reading never raises: what is no interval of the type, or beyond 32 bits of months or 64 of
microseconds, is None.
"""

from __future__ import annotations

import re

from tamis.values.types import INTERVAL_FIELDS, Type, is_year_month

_UNITS = (12, 1, 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000)
_MOST = (None, 11, None, 23, 59, 59)
_SIGNED = re.compile(r"\s*([+-]?)\s*(.*?)\s*", re.DOTALL)
_WRAPPED = re.compile(
    r"\s*interval\s*([+-]?)\s*'([^']*)'\s*(year|month|day|hour|minute|second)(?:\s+to\s+(month|hour|minute|second))?\s*",
    re.IGNORECASE,
)
UNITS = {
    **{field: (place, _UNITS[place]) for place, field in enumerate(INTERVAL_FIELDS)},
    "week": (2, 7 * _UNITS[2]),
    "millisecond": (5, 1_000),
    "microsecond": (5, 1),
}
"""Units of intervals, without their plural: the field to which they belong, and their months or microseconds."""


def interval_unit(field: int) -> int:
    """Months or microseconds of a field."""
    return _UNITS[field]


def unit_of(word: str) -> tuple[int, int] | None:
    """The field and the length of a unit, in the singular or plural; None if it is none."""
    word = word.lower()
    return UNITS.get(word) or UNITS.get(word.removesuffix("s"))


def truncate(value: int, unit: int) -> int:
    """The value without what is less than a unit."""
    return value // unit * unit if value >= 0 else -(-value // unit * unit)


def write_interval(value: int, type_: Type) -> str:
    """The text of an interval, which is also a literal."""
    rest, parts = abs(value), []
    for field in range(type_.precision, type_.scale + 1):
        whole, rest = divmod(rest, _UNITS[field])
        first = field == type_.precision
        if field == 5:
            fraction = f".{rest:06d}".rstrip("0").rstrip(".")
            parts.append(f"{whole:02d}{fraction}")
        else:
            parts.append(str(whole) if field < 3 else f"{whole:02d}")
        if not first:
            parts[-2] += "-" if field == 1 else " " if field == 3 else ":"
    fields = str(type_).removeprefix("interval ").upper()
    return f"INTERVAL '{'-' if value < 0 else ''}{''.join(parts)}' {fields}"


def read_interval(text: str, type_: Type) -> int | None:
    """An interval of a type from its literal, or from what stands in the quotes of one."""
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped is None:
        return read_fields(text, type_)
    sign, inner, first, last = wrapped.groups()
    if first.lower() != INTERVAL_FIELDS[type_.precision]:
        return None
    if (last or first).lower() != INTERVAL_FIELDS[type_.scale]:
        return None
    value = read_fields(inner, type_)
    return -value if value is not None and sign == "-" else value


def read_fields(text: str, type_: Type) -> int | None:
    """What stands in the quotes of a literal, as `1 02:03:04.5`."""
    found = _SIGNED.fullmatch(text)
    pattern = ""
    for field in range(type_.precision, type_.scale + 1):
        if pattern:
            pattern += "-" if field == 1 else " " if field == 3 else ":"
        pattern += r"(\d{1,19}(?:\.\d{0,9})?)" if field == 5 else r"(\d{1,19})"
    parts = found and re.fullmatch(pattern, found[2], re.ASCII)
    if not found or not parts:
        return None
    total = 0
    for field, part in zip(range(type_.precision, type_.scale + 1), parts.groups(), strict=True):
        whole, _, fraction = part.partition(".")
        most = _MOST[field]
        if field != type_.precision and most is not None and int(whole) > most:
            return None
        total += int(whole) * _UNITS[field] + int(fraction[:6].ljust(6, "0") or 0)
    return in_range(-total if found[1] == "-" else total, type_)


def in_range(value: int, type_: Type) -> int | None:
    """The value, or None if it is beyond the bits of its type."""
    bits = 31 if is_year_month(type_) else 63
    return value if -(1 << bits) <= value < 1 << bits else None
