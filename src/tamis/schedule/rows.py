"""Some rows of a batch, in any order, as a frame of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.events.batch import EventBatch
from tamis.events.compute import BatchFrame
from tamis.events.sources import Dicts
from tamis.language.expression import Typed, Variable
from tamis.predicates.base import Frame
from tamis.values.column import Column

Places: TypeAlias = npt.NDArray[np.int64]


def rows_of(frame: BatchFrame, rows: Places) -> Frame:
    """Some rows of a batch, in the order given.

    Dicts are taken as they are, since engines read a few of them value by value; columns are made once for the
    whole batch, by whoever asks first, and shared by all its parts.
    """
    source = frame.batch.source
    if isinstance(source, Dicts):
        some = Dicts([source.events[row] for row in rows.tolist()])
        return BatchFrame(EventBatch(frame.batch.event_type, len(rows), some))
    return _Chosen(frame, rows)


class _Chosen:
    """Rows of another frame, which computes everything for all of its rows."""

    def __init__(self, parent: Frame, chosen: Places) -> None:
        self.rows = len(chosen)
        self._parent = parent
        self._chosen = chosen
        self._known: dict[Typed, Column] = {}

    def names(self) -> Iterable[str] | None:
        """Those of the parent."""
        return self._parent.names()

    def column(self, expression: Typed) -> Column:
        """The expression's value in every row."""
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._parent.column(expression).take(self._chosen)
        return known

    def elements(self, array: Typed, variable: Variable) -> tuple[Frame, Column]:
        """A frame with one row an element of the array, and the array's own column."""
        inner, whole = self._parent.elements(array, variable)
        firsts, lasts = whole.values.offsets[self._chosen], whole.values.offsets[self._chosen + 1]
        counts = lasts - firsts
        places = np.repeat(firsts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        return _Chosen(inner, places), self.column(array)

    def part(self, start: int, stop: int) -> Frame:
        """Some consecutive rows."""
        return _Chosen(self._parent, self._chosen[start:stop])
