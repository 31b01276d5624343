"""What typed calls share: finding one type for several arguments, and masks of several columns.

Turns the silent None of `tamis.values.coercion` into an ArgumentError that says what was found; decides
nothing about types itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.functions.registry import Argument, ArgumentError, Scalar
from tamis.values.coercion import common_type, is_refused_string
from tamis.values.column import Column, Mask, Numbers, column_of
from tamis.values.types import ANY, BOOLEAN, NULL, STRING, Type

_STRING_HINT = "cast the string: try_cast(x AS double), or try_cast(x AS bigint) for whole numbers"


def unified(arguments: Sequence[Argument]) -> Type:
    """The common type of `arguments`, as coalesce finds it; raises ArgumentError."""
    return found_or_refused(common_type(arguments), arguments)


def found_or_refused(found: Type | None, arguments: Sequence[Argument]) -> Type:
    """`found`; if that is None, an ArgumentError that names the types of `arguments`."""
    if found is None:
        raise refusal(arguments)
    return found


def refusal(arguments: Sequence[Argument], verb: str = "compared") -> ArgumentError:
    """The error of arguments that have no common type."""
    if is_refused_string(arguments):
        place = next(at for at, each in enumerate(arguments) if each.type == STRING and not each.is_constant)
        number = next(each.type for each in arguments if each.type not in (STRING, NULL))
        msg = f"a string attribute cannot be {verb} with {'a number' if number == ANY else number}"
        return ArgumentError(msg, place, _STRING_HINT)
    names = list(dict.fromkeys(str(each.type) for each in arguments))
    msg = f"{' and '.join(names)} cannot be {verb}" if len(names) > 1 else f"{names[0]} cannot be {verb}"
    return ArgumentError(msg)


def check_condition(arguments: Sequence[Argument], place: int, *, allow: tuple[Type, ...] = ()) -> None:
    """Raise ArgumentError unless an argument is a condition, or of a type in `allow`."""
    found = arguments[place].type
    if found not in (BOOLEAN, ANY, *allow):
        msg = f"expected a condition (boolean), found {'NULL' if found == NULL else found}"
        raise ArgumentError(msg, place)


def all_valid(columns: Sequence[Column]) -> Mask:
    """The rows in which no column is NULL."""
    valid = columns[0].valid.copy()
    for column in columns[1:]:
        valid &= column.valid
    return valid


def strict_rows(scalar: Scalar, returns: Type, columns: Sequence[Column]) -> Column:
    """A strict scalar form applied row by row, for types that the vector form of a function leaves out."""
    at = np.flatnonzero(all_valid(columns))
    lists = [column.take(at).to_list() for column in columns]
    results = [None] * len(columns[0])
    for row, values in zip(at.tolist(), zip(*lists, strict=True), strict=True):
        results[row] = scalar(*values)
    return column_of(returns, results)


def all_rows(scalar: Scalar, returns: Type, columns: Sequence[Column]) -> Column:
    """As `strict_rows`, for a scalar form that sees NULL."""
    lists = [column.to_list() for column in columns]
    return column_of(returns, [scalar(*values) for values in zip(*lists, strict=True)])


def merged(choice: Mask, chosen: Column, other: Column) -> Column:
    """The rows of `chosen` where `choice` holds, of `other` elsewhere; both are of one type."""
    valid = np.where(choice, chosen.valid, other.valid)
    first, second = chosen.values, other.values
    if isinstance(first, np.ndarray):
        return Column(chosen.type, np.where(choice, first, second), valid)
    if isinstance(first, pa.Array):
        return Column(chosen.type, pc.if_else(pa.array(choice), first, second), valid)
    if isinstance(first, Numbers):
        integral = np.where(choice, first.integral, second.integral)
        ints = np.where(choice, first.ints, second.ints)
        return Column(chosen.type, Numbers(integral, ints, np.where(choice, first.doubles, second.doubles)), valid)
    if isinstance(first, tuple):
        pairs = zip(first, second, strict=True)
        return Column(chosen.type, tuple(merged(choice, one, two) for one, two in pairs), valid)
    rows = zip(choice.tolist(), chosen.to_list(), other.to_list(), strict=True)
    return column_of(chosen.type, [one if picked else two for picked, one, two in rows])
