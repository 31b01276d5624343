"""Type unification for calls: one type for several arguments, or an ArgumentError that names what was found.

`tamis.values.coercion` decides about types and returns None where there is none; here that becomes an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from tamis.functions.registry import Argument, ArgumentError
from tamis.values.coercion import common_type
from tamis.values.types import ANY, BOOLEAN, NULL, Type


def unify(arguments: Sequence[Argument]) -> Type:
    """The common type of `arguments`, as coalesce finds it; raises ArgumentError."""
    return require_type(common_type(arguments), arguments)


def require_type(found: Type | None, arguments: Sequence[Argument]) -> Type:
    """`found`; if that is None, an ArgumentError that names the types of `arguments`."""
    if found is None:
        raise type_mismatch(arguments)
    return found


def type_mismatch(arguments: Sequence[Argument], verb: str = "compared") -> ArgumentError:
    """The error for arguments that have no common type; `verb` is what the function would do to them."""
    names = list(dict.fromkeys(str(each.type) for each in arguments))
    msg = f"{' and '.join(names)} cannot be {verb}" if len(names) > 1 else f"{names[0]} cannot be {verb}"
    return ArgumentError(msg)


def check_condition(arguments: Sequence[Argument], place: int, *, allow: tuple[Type, ...] = ()) -> None:
    """Raise ArgumentError unless an argument is a condition, or of a type in `allow`."""
    found = arguments[place].type
    if found not in (BOOLEAN, ANY, *allow):
        msg = f"expected a condition (boolean), found {'NULL' if found == NULL else found}"
        raise ArgumentError(msg, place)
