"""The sides of a term are what its conjunction restricts, rare axes first."""

from __future__ import annotations

import numpy as np

from tamis.lab.dynamic.term_index import TermIndex
from tamis.language.condition import compile_condition
from tests.lab.boxes.scan_store import TYPE, ScanStore


def file_of(*texts: str) -> ScanStore:
    file = ScanStore()
    index = TermIndex(file)
    index.insert_many(
        np.arange(len(texts), dtype=np.int32), [compile_condition(text, TYPE).formula for text in texts]
    )
    return file


def test_sides_of_one_axis_are_one() -> None:
    (sides,) = file_of("a > 3 AND a < 9 AND b = 2").sides()
    assert len(sides) == 2


def test_an_unsatisfiable_conjunction_is_no_term() -> None:
    assert file_of("a > 3 AND a < 2", "a IN (1, 2) AND a > 5", "FALSE").sides() == []


def test_pieces_have_their_hull_and_nulls_no_side() -> None:
    pieces, nulls, test = file_of("a IN (1, 2, 9)", "b IS NULL OR b = 1", "c LIKE '%x%'").sides()
    assert len(pieces) == 1
    assert nulls == []
    assert test[0][0] == -1


def test_sides_stand_from_rare_to_frequent() -> None:
    texts = [f"often = {place} AND sometimes = 1" for place in range(4)]
    file = file_of(*texts, "often = 1 AND rare = 1 AND sometimes = 2", "often = 3")
    orders = {tuple(side[0] for side in sides) for sides in file.sides()}
    often, sometimes, rare = 0, 1, 2
    assert orders == {(sometimes, often), (rare, sometimes, often), (often,)}
