"""The conjunctive baseline of overlap: every AND of a condition is registered and looked up by itself."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from tamis.events.event_type import EventType
from tamis.formulas.formula import TRUE, Formula
from tamis.lab.bittner.implication import terms
from tamis.routing.overlap import MOST_TERMS, OverlapIndex


class ConjunctiveIndex:
    """Conditions by id, as `OverlapIndex` has them.

    The ranges of an AND on one attribute are one range, so it reports fewer false overlaps than `OverlapIndex`,
    but there are more conditions. A condition with too many ANDs overlaps with all.
    """

    def __init__(self, event_types: Iterable[EventType] = (), *, most_terms: int = MOST_TERMS) -> None:
        """Start empty; the arguments are those of `OverlapIndex`."""
        self._index = OverlapIndex(event_types)
        self._most_terms = most_terms
        self._names: list[str] = []
        self._owners: dict[str, array[int]] = {}  # by event type: of each AND, the place of its condition

    def __len__(self) -> int:
        """The number of registered ANDs."""
        return len(self._index)

    def add(self, name: str, event_type: str, formula: Formula) -> None:
        owners = self._owners.setdefault(event_type, array("q"))
        for term in self._terms(formula):
            self._index.add(str(len(self._index)), event_type, term)
            owners.append(len(self._names))
        self._names.append(name)

    def overlapping(self, event_type: str, formula: Formula) -> list[str]:
        """The ids of all that overlap with the condition, in the order of their registration."""
        owners = np.asarray(self._owners.get(event_type, array("q")))
        marked = np.zeros(len(owners), np.bool_)
        for term in self._terms(formula):
            marked |= self._index.overlap_mask(event_type, term)
        return [self._names[place] for place in np.unique(owners[marked]).tolist()]

    def overlaps(self, event_type: str, formula: Formula) -> bool:
        """Is there one that overlaps?"""
        return any(self._index.overlaps(event_type, term) for term in self._terms(formula))

    def _terms(self, formula: Formula) -> list[Formula]:
        found = terms(formula, self._most_terms)
        return [TRUE] if found is None else found
