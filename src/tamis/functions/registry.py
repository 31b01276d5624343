"""The registry of functions: every operator and function of the language is one `Function`.

A function defines how its arguments are typed (`resolve`) and what it computes, for one event (`scalar`) and,
where numpy or pyarrow give exactly the same results, for a batch (`vector`). Without `vector` the scalar form is
applied row by row. Where Spark raises at run time, a scalar form returns None.

To add a function: write it in the file of its subject, `register` it there, and add a test with the values that
Spark gives. Nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tamis.errors import TamisError
from tamis.functions.rows import Scalar, apply_null_aware, apply_strict, strict
from tamis.values.column import Column, Value
from tamis.values.types import Type


class ArgumentError(TamisError):
    """A function does not accept these arguments; the analyser adds the place in the condition.

    Attributes:
        message: What was found and what is expected.
        argument: Which argument is at fault, counted from 0, or None for the call as a whole.
        hint: What to write instead.
    """

    def __init__(self, message: str, argument: int | None = None, hint: str | None = None) -> None:
        """Keep the parts apart."""
        super().__init__(message)
        self.message = message
        self.argument = argument
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Argument:
    """What is known of an argument when a call is typed: the type, and the value of a constant.

    `folded` marks a constant that was computed, as `1 + 1` or `CAST(1 AS INT)`: Spark's typing rules for
    literals (a sign included) do not apply to it.
    """

    type: Type
    is_constant: bool = False
    value: Value = None
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """A typed call: arguments are cast to `parameters`, the result is `returns`.

    `zone` is the time zone of the event type; functions of dates and timestamps depend on it.
    """

    parameters: tuple[Type, ...]
    returns: Type
    zone: str = "UTC"


Resolve: TypeAlias = Callable[[Sequence[Argument], str], Signature]
Vector: TypeAlias = Callable[[Signature, Sequence[Column]], Column]


@dataclass(frozen=True, slots=True)
class Function:
    """One function.

    Attributes:
        name: Canonical name, lower case.
        resolve: Types of the arguments and the time zone to a signature; raises ArgumentError.
        bind: Makes the scalar form for a signature. It never gets NULL, unless `sees_null`.
        vector: The batch form, or None. It gets columns of the signature's parameter types.
        sees_null: The scalar form is called even if an argument is NULL (as for coalesce).
    """

    name: str
    resolve: Resolve
    bind: Callable[[Signature], Scalar]
    vector: Vector | None = None
    sees_null: bool = False

    def scalar(self, signature: Signature) -> Scalar:
        """The function of the values of one event; NULL arguments give NULL, unless it `sees_null`."""
        inner = self.bind(signature)
        return inner if self.sees_null else strict(inner)

    def apply(self, signature: Signature, columns: Sequence[Column], rows: int) -> Column:
        """The function applied to the columns of a batch of `rows` events."""
        if self.vector is not None:
            return self.vector(signature, columns)
        inner = self.bind(signature)
        if self.sees_null:
            return apply_null_aware(inner, signature.returns, columns, rows)
        return apply_strict(inner, signature.returns, columns, rows)


FUNCTIONS: dict[str, Function] = {}
"""Every function by its name and its other names, lower case."""


def register(function: Function, *other_names: str) -> None:
    """Add `function` to the language, under its name and the other names."""
    for name in (function.name, *other_names):
        if name in FUNCTIONS:
            msg = f"function {name} is registered twice"
            raise ValueError(msg)
        FUNCTIONS[name] = function


def always(scalar: Scalar) -> Callable[[Signature], Scalar]:
    """A `bind` for a function whose scalar form is the same for every signature."""
    return lambda _: scalar


def takes(*parameters: Type, returns: Type, optional: int = 0) -> Resolve:
    """A `resolve` for fixed parameter types; the last `optional` ones may be left out.

    The analyser decides whether an argument may be cast to its parameter.
    """

    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, len(parameters) - optional, len(parameters))
        return Signature(parameters[: len(arguments)], returns, zone)

    return resolve


def check_count(arguments: Sequence[Argument], least: int, most: int | None = None) -> None:
    """Raise ArgumentError unless there are `least` to `most` arguments (None: any number)."""
    if len(arguments) >= least and (most is None or len(arguments) <= most):
        return
    wanted = f"{least}" if least == most else f"at least {least}" if most is None else f"{least} to {most}"
    msg = f"expected {wanted} argument{'' if wanted == '1' else 's'}, found {len(arguments)}"
    raise ArgumentError(msg)
