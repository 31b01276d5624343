"""Some rows of a batch, in any order, as a frame of their own."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.events.batch import EventBatch
from tamis.events.compute import BatchFrame, Rows
from tamis.events.sources import Dicts
from tamis.language.expression import Typed, Variable, calls_in
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


class _Chosen(Rows):
    """Rows of another frame, which makes the elements of arrays for all of its rows."""

    def elements(self, array: Typed, variable: Variable) -> tuple[Frame, Column]:
        """A frame with one row an element of the array, and the array's own column."""
        if calls_in(array):
            return super().elements(array, variable)
        inner, whole = self.parent.elements(array, variable)
        firsts, lasts = whole.values.offsets[self.parent_rows], whole.values.offsets[self.parent_rows + 1]
        counts = lasts - firsts
        places = np.repeat(firsts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        return inner.chosen(places), self.column(array)
