"""A store that verifies every box, to test boxes without an index."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.base import Stats
from tamis.events import EventType
from tamis.lab.boxes import BoxStore
from tamis.lab.boxes.kernels.boxes import all_terms, axis_uses, box_holds, head_at
from tamis.lab.boxes.kernels.rows import RowValues, empty_view, hide_row, show_row
from tamis.lab.dynamic.predicate_index import PredicateIndex
from tests.lab.boxes.sides import sides_of

TYPE = EventType.from_dict(
    {
        "name": "t",
        "attributes": dict.fromkeys(("a", "b", "often", "sometimes", "rare"), "bigint") | {"c": "string"},
    }
)


@numba.njit
def holding(boxes: Any, predicates: Any, rows: Any, terms: I32) -> Any:
    found = []
    view = empty_view(boxes, predicates)
    for row in range(len(rows.firsts) - 1):
        show_row(rows, row, view)
        for term in terms:
            if box_holds(boxes, predicates, boxes.firsts[term], view):
                found.append((row, head_at(boxes, boxes.firsts[term])))
        hide_row(rows, row, view)
    return found


class ScanStore(BoxStore):
    """Verifies every term."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: set[int] = set()
        self.cleared = 0

    def sides(self) -> list[list[list[int]]]:
        return [sides_of(self._boxes, term).tolist() for term in sorted(self.stored)]

    def uses(self) -> list[int]:
        return [int(count) for count in axis_uses(self._boxes)]

    def _clear(self, predicates: PredicateIndex) -> None:
        self.stored = set()
        self.cleared += 1

    def _insert_terms(self, terms: I32) -> None:
        assert not self.stored & set(terms.tolist())
        self.stored |= set(terms.tolist())

    def _delete_terms(self, terms: I32) -> None:
        assert self.stored >= set(terms.tolist())
        self.stored -= set(terms.tolist())

    def _match(self, predicates: PredicateIndex, rows: RowValues) -> tuple[I32, I64]:
        assert self.stored == set(all_terms(self._boxes).tolist())
        if not self.stored:
            return np.empty(0, np.int32), np.empty(0, np.int64)
        terms = np.array(sorted(self.stored), np.int32)
        found = np.array(holding(self._boxes, predicates.predicates, rows, terms), np.int64).reshape(-1, 2)
        return found[:, 0].astype(np.int32), found[:, 1].copy()

    def _stats(self) -> Stats:
        return Stats({}, {})

    def work(self) -> dict[str, int]:
        return {}
