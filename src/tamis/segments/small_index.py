"""Small indexes: the formulas of a segment, evaluated one by one until it pays to get the kernels of an index.

Kernels that nobody has compiled take most of a minute, in which Python evaluates a million formulas. So where they
are not compiled, few formulas get their index when about as many evaluations have been made by this process. One
thread builds it then, others go on evaluating; where another process has compiled them, it is built at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tamis.engines.base import Index, Matches, Stats, frame_of
from tamis.engines.forest import Forest
from tamis.engines.scan import Scan
from tamis.events.batch import EventBatch
from tamis.formulas.predicates.base import Frame
from tamis.interpretation import Allowance

MOST = 1_000
"""Formulas of a small index."""
_KERNELS = "tamis.engines.bitslice.kernels.handle"
"""The last module that the default engine calls kernels of: if they are compiled, so are those of the index."""
_ROWS_OF_EVALUATION = 1_000
"""Rows for which a formula is evaluated in about the time that its evaluation takes at least."""
_allowance = Allowance(to_load=0, to_compile=1_000_000)
"""Of evaluations without an index."""


def needs_index(formulas: int = 0, rows: int = 0) -> bool:
    """Is an index worth compiling by now, or compiled? Evaluating formulas for rows counts towards it."""
    return not _allowance.covers(_KERNELS, formulas * (1 + rows // _ROWS_OF_EVALUATION) if rows else 0)


def small_or_built(forest: Forest, build: Callable[[], Index]) -> Index:
    """The index that `build` makes; for few formulas, and without kernels, a small one that calls it later."""
    return build() if len(forest) > MOST or needs_index() else SmallIndex(forest, build)


class SmallIndex:
    """Formulas in slots; several threads may match at the same time.

    Attributes:
        built: The index that has taken its place; None as long as there is none.
    """

    def __init__(self, forest: Forest, build: Callable[[], Index]) -> None:
        self.built: Index | None = None
        self._formulas = len(forest)
        self._scan = Scan().build(forest)
        self._build = build
        self._building = threading.Lock()

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs, in no particular order."""
        frame = frame_of(events)
        if (
            self.built is None
            and needs_index(self._formulas, frame.rows)
            and self._building.acquire(blocking=False)
        ):
            try:
                if self.built is None:
                    self.built = self._build()
            finally:
                self._building.release()
        return (self._scan if self.built is None else self.built).match(frame)

    def stats(self) -> Stats:
        """Of what answers."""
        return (self._scan if self.built is None else self.built).stats()
