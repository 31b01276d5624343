"""Covering: of the entries that lead to one neighbour, those are left out that another one implies.

An AND covers another if each of its operands is implied by one of the other's: by an equal operand, or by narrower
ranges on the same attribute. Of equal ones the first covers the others. So covering is an order, and what is not
covered covers everything. When a coverer goes, what it covered gets another one, or comes back.
`tamis.lab.bittner.covering` decides covering for ORs of ANDs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice

from tamis.formulas.expression import Typed
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.within import Within
from tamis.values.ranges import after

_MOST_COMPARED = 64
"""Formulas that are tried for a key; where more have it, some cover may not be found."""
_ANYTHING = "anything"
"""The key of TRUE, and of all that it covers."""


class _Operands:
    """A formula as an AND: its ranges by attribute, and its other operands."""

    __slots__ = ("others", "ranges")

    def __init__(self, formula: Formula) -> None:
        self.ranges: dict[Typed, Within] = {}
        self.others: set[Formula] = set()
        for each in formula.operands if formula.is_and else (formula,):
            if isinstance(each.predicate, Within):
                self.ranges[each.predicate.attribute] = each.predicate
            else:
                self.others.add(each)

    def covers(self, other: _Operands) -> bool:
        if len(self.ranges) > len(other.ranges) or not self.others <= other.others:
            return False
        for attribute, wide in self.ranges.items():
            narrow = other.ranges.get(attribute)
            if narrow is None or (narrow is not wide and not _implies(narrow, wide)):
                return False
        return True

    def key(self) -> Hashable:
        """What every AND has that this one covers: an operand, ranges on an attribute, or nothing."""
        points = filter(_is_point, self.ranges.values())
        return next(iter((*self.others, *points, *self.ranges, _ANYTHING)))

    def keys(self) -> list[Hashable]:
        """The keys of all ANDs that may cover this one."""
        return [*self.others, *filter(_is_point, self.ranges.values()), *self.ranges, _ANYTHING]


class Covering:
    """Formulas by name, and which of them no other covers.

    >>> from tamis.language.condition import normalise
    >>> covering = Covering()
    >>> for text in ("a = 1 AND b < 3", "a = 1 AND b < 5", "a = 1 AND b < 4 AND c", "b < 5 OR c"):
    ...     covering.add(text, normalise(text))
    >>> [*covering]
    ['a = 1 AND b < 5', 'b < 5 OR c']
    >>> covering.remove("a = 1 AND b < 5")
    >>> [*covering]
    ['b < 5 OR c', 'a = 1 AND b < 3', 'a = 1 AND b < 4 AND c']
    """

    def __init__(self) -> None:
        self._operands: dict[Hashable, _Operands] = {}
        self._turns: dict[Hashable, int] = {}
        self._last = 0
        self._uncovered: dict[Hashable, None] = {}
        self._coverers: dict[Hashable, Hashable] = {}
        self._covered: dict[Hashable, dict[Hashable, None]] = {}
        # What is not covered stands in the first table under the key of what it covers, in the second under all
        # keys of what may cover it.
        self._by_key: dict[Hashable, dict[Hashable, None]] = {}
        self._by_keys: dict[Hashable, dict[Hashable, None]] = {}

    def __iter__(self) -> Iterator[Hashable]:
        """The names of what is not covered."""
        return iter(self._uncovered)

    def add(self, name: Hashable, formula: Formula) -> None:
        """Add a formula under a name of its own."""
        self._operands[name] = _Operands(formula)
        self._turns[name] = self._last = self._last + 1
        self._place(name)

    def remove(self, name: Hashable) -> None:
        """Remove a formula; what it covered gets another coverer, or is not covered any more."""
        if name in self._coverers:
            _discard(self._covered, self._coverers.pop(name), name)
        else:
            self._unindex(name)
        del self._operands[name], self._turns[name]
        for other in self._covered.pop(name, {}):
            del self._coverers[other]
            self._place(other)

    def _place(self, name: Hashable) -> None:
        """Let a formula be covered by another one, or cover others itself."""
        own = self._operands[name]
        for key in own.keys():
            for other in islice(self._by_key.get(key, ()), _MOST_COMPARED):
                if self._covers(other, name):
                    self._cover(name, other)
                    return
        for other in [*islice(self._by_keys.get(own.key(), ()), _MOST_COMPARED)]:
            if self._covers(name, other):
                self._unindex(other)
                self._cover(other, name)
        self._uncovered[name] = None
        self._by_key.setdefault(own.key(), {})[name] = None
        for key in own.keys():
            self._by_keys.setdefault(key, {})[name] = None

    def _unindex(self, name: Hashable) -> None:
        own = self._operands[name]
        del self._uncovered[name]
        _discard(self._by_key, own.key(), name)
        for key in own.keys():
            _discard(self._by_keys, key, name)

    def _covers(self, name: Hashable, other: Hashable) -> bool:
        wide, narrow = self._operands[name], self._operands[other]
        return (
            name != other
            and wide.covers(narrow)
            and (self._turns[name] < self._turns[other] or not narrow.covers(wide))
        )

    def _cover(self, name: Hashable, coverer: Hashable) -> None:
        self._coverers[name] = coverer
        self._covered.setdefault(coverer, {})[name] = None


def uncovered(formulas: Sequence[Formula]) -> list[int]:
    """The places of formulas that no other covers; of equal ones, the first."""
    covering = Covering()
    for place, formula in enumerate(formulas):
        covering.add(place, formula)
    return sorted(place for place in covering if isinstance(place, int))


def _discard(table: dict[Hashable, dict[Hashable, None]], key: Hashable, name: Hashable) -> None:
    del table[key][name]
    if not table[key]:
        del table[key]


def _implies(narrow: Within, wide: Within) -> bool:
    return wide.null >= narrow.null and (narrow.ranges & wide.ranges) == narrow.ranges


def _is_point(within: Within) -> bool:
    """Is it one value, which only this predicate, or a wider range, admits?"""
    cuts = within.ranges.cuts
    return not within.null and len(cuts) == 2 and not within.ranges.inside and after(cuts[0]) == cuts[1]
