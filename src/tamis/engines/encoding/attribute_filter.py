"""Finds the expressions that can have a value, given the attributes that a batch has.

Most expressions are NULL for most events, because an event has few of all attributes. Those that lack an attribute
they require are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

from tamis.formulas.expression import Apply, Path, Quantifier, Typed
from tamis.functions import FUNCTIONS


def required_attributes(expression: Typed) -> frozenset[str]:
    """Attributes all of which the expression requires: it is NULL without any one of them. Not necessarily all."""
    match expression:
        case Path(steps=steps):
            return frozenset(steps[:1])
        case Apply(function=function, arguments=arguments) if not FUNCTIONS[function].sees_null:
            return frozenset().union(*map(required_attributes, arguments))
        case Quantifier(array=array):
            return required_attributes(array)
        case _:
            return frozenset()


class AttributeFilter:
    """Numbered expressions by the attributes that they require.

    Each stands in one list only, that of its first attribute in order of name; the others are checked when it is
    met.
    """

    def __init__(self, expressions: Iterable[tuple[int, Typed]]) -> None:
        self._all: list[int] = []
        self._always: list[int] = []
        self._by_name: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        for number, expression in expressions:
            names = sorted(required_attributes(expression))
            self._all.append(number)
            if names:
                self._by_name.setdefault(names[0], []).append((number, tuple(names[1:])))
            else:
                self._always.append(number)

    def __bool__(self) -> bool:
        return bool(self._all)

    def candidates(self, names: Iterable[str] | None) -> list[int]:
        """The numbers of the expressions that may have a value, given the present attributes (None: not known)."""
        if names is None:
            return self._all
        if not self._by_name:
            return self._always
        present = names if isinstance(names, (dict, set, frozenset)) else set(names)
        found = list(self._always)
        for name in present:
            for number, others in self._by_name.get(name, ()):
                if not others or all(other in present for other in others):
                    found.append(number)
        return found
