"""Nodes with few terms are merged into one bucket."""

from __future__ import annotations

from tests.lab.baselines.betree.trees import built, delete, nodes_of


def test_few_terms_are_merged_into_one_bucket() -> None:
    index = built([f"a = {number} AND b = {number % 3}" for number in range(40)], 8)
    assert len(nodes_of(index)) > 8
    delete(index, *range(36))
    assert len(nodes_of(index)) == 2
    delete(index, *range(36, 40))
    assert len(nodes_of(index)) == 2
