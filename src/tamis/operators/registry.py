"""The registry of operators: functions that are too expensive to compute for every event.

An operator is a Python function with a name, typed arguments and a typed result. A condition calls it by name;
each call is shared by all conditions that make it, and made only for events on which an undecided condition
depends. A batch operator gets Arrow arrays of equal length, one an argument, and returns one value a row, in
order, as an Arrow array, a numpy array or a list. A scalar one gets and returns single values. Neither ever sees
NULL: a call with a NULL argument is NULL. So is a call that fails, and only that one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from tamis.errors import TamisError
from tamis.functions import FUNCTIONS
from tamis.values.column import Value
from tamis.values.types import Type, parse_type

Check: TypeAlias = Callable[[Sequence[Value | None]], str | None]
F = TypeVar("F", bound=Callable[..., Any])

_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_RESERVED = ("exists", "forall")


class OperatorError(TamisError):
    """An operator cannot be registered or found."""


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """A function that conditions may call.

    Attributes:
        name: As conditions write it; lower case.
        parameters: The types of its arguments.
        returns: The type of its result. An array of structs may be bound to variables: `plates(image, ?p, ?n)`.
        function: What is called.
        cost: Expected seconds for one event; learned where it is not given.
        batch: Does `function` take arrays?
        deterministic: Are equal arguments enough for equal results?
        timeout: Seconds that one run of `function` may take.
        cache: Results kept across events, by argument; 0 for none.
        check: Gets the arguments of a call, None for those that are not constant, when a condition is registered;
            returns what is wrong with them, or None.
        description: One line for people.
        attribute: Of the events: its one argument, which calls leave out. It returns an array of structs, and is a
            relation of their fields.
    """

    name: str
    parameters: tuple[Type, ...]
    returns: Type
    function: Callable[..., Any] = field(repr=False)
    cost: float | None = None
    batch: bool = True
    deterministic: bool = True
    timeout: float | None = None
    cache: int = 0
    check: Check | None = field(default=None, repr=False)
    description: str = ""
    attribute: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            msg = f"operator {self.name!r}: a name is lower case letters, digits and _"
            raise OperatorError(msg)
        if self.name in FUNCTIONS or self.name in _RESERVED:
            msg = f"operator {self.name!r}: that is a function of the language"
            raise OperatorError(msg)
        for what, number in (("cost", self.cost), ("timeout", self.timeout)):
            if number is not None and not number > 0:
                msg = f"operator {self.name!r}: expected a {what} above 0, found {number}"
                raise OperatorError(msg)
        if self.cache and not self.deterministic:
            msg = f"operator {self.name!r}: results that are not determined by the arguments cannot be cached"
            raise OperatorError(msg)

    @property
    def signature(self) -> str:
        """For example `people(binary) int`."""
        return f"{self.name}({', '.join(str(each) for each in self.parameters)}) {self.returns}"


OPERATORS: dict[str, Operator] = {}
"""Every operator by its name."""


def operator(
    name: str,
    args: Iterable[str | Type],
    returns: str | Type,
    *,
    cost: float | None = None,
    batch: bool = True,
    deterministic: bool = True,
    timeout: float | None = None,
    cache: int = 0,
    check: Check | None = None,
) -> Callable[[F], F]:
    """Register a function as an operator; the function itself is unchanged.

    Examples:
        >>> @operator("length_in_words", ["string"], "int", batch=False)
        ... def length_in_words(text: str) -> int:
        ...     return len(text.split())
        >>> OPERATORS["length_in_words"].signature
        'length_in_words(string) int'
        >>> uninstall("length_in_words")
    """
    parameters = tuple(_type(each) for each in args)

    def register(function: F) -> F:
        description = (inspect.getdoc(function) or "").partition("\n")[0]
        install(
            Operator(
                name,
                parameters,
                _type(returns),
                function,
                cost=cost,
                batch=batch,
                deterministic=deterministic,
                timeout=timeout,
                cache=cache,
                check=check,
                description=description,
            )
        )
        return function

    return register


def install(*operators: Operator) -> None:
    """Register operators; one of the same name from the same function is replaced, another one refused."""
    for each in operators:
        known = OPERATORS.get(each.name)
        if known is not None and _place(known) != _place(each):
            msg = f"operator {each.name!r} is there already, from {_place(known)}"
            raise OperatorError(msg)
        OPERATORS[each.name] = each


def uninstall(*names: str) -> None:
    """Forget operators.

    Raises:
        OperatorError: There is no operator of a name.
    """
    for name in names:
        if OPERATORS.pop(name, None) is None:
            msg = f"there is no operator {name!r}"
            raise OperatorError(msg)


def _place(each: Operator) -> str:
    function = each.function
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', type(function).__module__)}.{name}"


def _type(given: str | Type) -> Type:
    return given if isinstance(given, Type) else parse_type(given)
