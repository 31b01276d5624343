"""Which attributes an event must have for an expression to have a value.

Most expressions are NULL for most events, because events have few of all attributes. Told by the names that a
batch has, they take no time.
"""

from __future__ import annotations

from collections.abc import Iterable

from tamis.functions import FUNCTIONS
from tamis.language.expression import Apply, Path, Quantifier, Typed


def needed(expression: Typed) -> frozenset[str]:
    """Attributes without any one of which the expression is NULL; there may be more than these."""
    match expression:
        case Path(steps=steps):
            return frozenset(steps[:1])
        case Apply(function=function, arguments=arguments) if not FUNCTIONS[function].sees_null:
            return frozenset().union(*map(needed, arguments))
        case Quantifier(array=array):
            return needed(array)
        case _:
            return frozenset()


class Presence:
    """Numbered expressions, found by the names that they need."""

    def __init__(self, expressions: Iterable[tuple[int, Typed]]) -> None:
        self._all: list[int] = []
        self._always: list[int] = []
        self._by_name: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        for number, expression in expressions:
            names = sorted(needed(expression))
            self._all.append(number)
            if names:
                self._by_name.setdefault(names[0], []).append((number, tuple(names[1:])))
            else:
                self._always.append(number)

    def __bool__(self) -> bool:
        """Are there any?"""
        return bool(self._all)

    def among(self, names: Iterable[str] | None) -> list[int]:
        """The expressions that may have a value, given the attributes that are there (None: not known)."""
        if names is None:
            return self._all
        if not self._by_name:
            return self._always
        there = names if isinstance(names, (dict, set, frozenset)) else set(names)
        found = list(self._always)
        for name in there:
            for number, others in self._by_name.get(name, ()):
                if not others or all(other in there for other in others):
                    found.append(number)
        return found
