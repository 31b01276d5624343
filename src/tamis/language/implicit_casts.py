"""Implicit casts of arguments, as in Spark's ANSI mode."""

from __future__ import annotations

from tamis.values.types import (
    BINARY,
    BOOLEAN,
    DATE,
    NESTED,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    is_interval,
    is_numeric,
    is_year_month,
)

_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_COMPLEX = (*NESTED, "any", "null")


def may_cast(source: Type, target: Type) -> bool:
    """May an argument of type `source` be given where `target` is expected?"""
    if source == target or source.name == "null":
        return True
    if source.name == target.name and source.name in ("array", "map"):
        return may_cast(source.item, target.item)
    if source.name == target.name == "struct":
        pairs = zip(source.fields, target.fields, strict=True)
        return all(may_cast(one, other) for (_, one), (_, other) in pairs)
    if source.name in _COMPLEX or target.name in _COMPLEX:
        return source.name == "any"
    if target == STRING:
        return True
    if source == STRING:
        return target in _TIMES or target in (BOOLEAN, BINARY) or is_numeric(target)
    if is_interval(source) and is_interval(target):
        return is_year_month(source) == is_year_month(target)
    if source in _TIMES:
        return target in _TIMES
    return is_numeric(source) and is_numeric(target)
