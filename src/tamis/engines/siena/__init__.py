"""`siena`: counting as in a router that forwards: terms that an event cannot satisfy are passed over beforehand.

Subscriptions are conjunctions under their predicates, as in `counting`. The attributes that most conjunctions need
are a preselection: what needs one that an event lacks is not counted, nor are the other conjunctions of a
subscription that has matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Stats
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.counting import TallyFile
from tamis.engines.dynamic.index import Event, PredicateIndex
from tamis.engines.dynamic.normal_form import TermIndex
from tamis.engines.forest import Forest
from tamis.engines.siena.preselection import (
    MOST_ATTRIBUTES,
    match_preselected,
    preselect,
    preselection_figures,
    preselection_of,
    preselection_work,
)
from tamis.language.formula import Formula
from tamis.statistics import Statistics

Bytes: TypeAlias = npt.NDArray[np.uint8]
Shorts: TypeAlias = npt.NDArray[np.int32]


class Siena:
    """The engine."""

    name = "siena"

    def __init__(self, attributes: int = MOST_ATTRIBUTES) -> None:
        """With a preselection of at most so many attributes.

        Raises:
            ValueError: If a preselection cannot have so many.
        """
        if not 0 <= attributes <= MOST_ATTRIBUTES:
            msg = f"attributes: a preselection has from 0 to {MOST_ATTRIBUTES}, not {attributes}"
            raise ValueError(msg)
        self._attributes = attributes

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        """An index with formula i in slot i."""
        return TermIndex(PreselectedFile(self._attributes)).filled(formulas)


class PreselectedFile(TallyFile):
    """Terms under their predicates, and a preselection."""

    def __init__(self, attributes: int) -> None:
        super().__init__()
        self._chosen = preselection_of(attributes)

    def insert(
        self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: Shorts
    ) -> None:
        """As `TermFile`."""
        super().insert(predicates, forest, conjunctions, slots)
        preselect(self._chosen, self._tally, predicates.predicates, slots)

    def match(self, predicates: PredicateIndex, event: Event) -> tuple[Shorts, Shorts, Bytes]:
        """As `TermFile`."""
        rows, slots, sure = match_preselected(self._tally, self._chosen, predicates.predicates, event)
        return rows, slots, sure

    def stats(self) -> Stats:
        """As `TermFile`."""
        found = super().stats()
        attributes, size = preselection_figures(self._chosen)
        return Stats(found.counts | {"preselected attributes": attributes}, found.bytes | {"preselection": size})

    def work(self) -> dict[str, int]:
        """As `TermFile`."""
        names = ("held", "hits", "passed over", "conjunctions")
        return dict(zip(names, preselection_work(self._chosen).tolist(), strict=True))
