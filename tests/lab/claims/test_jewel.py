"""Rows on the expression graph that are counts have the answers that one knows."""

from __future__ import annotations

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.jewel import JEWEL


def test_an_and_of_ors_blows_up_and_its_graph_does_not() -> None:
    outcome = JEWEL.rows["J1"].measure(Bench("smallest"))
    assert (outcome.direction, outcome.agreement) == ("holds", "agrees")
    assert [each.ours for each in outcome.figures] == [(8.0,), (39.0,)]


def test_a_sentence_that_held_is_named() -> None:
    assert "the sentence that held: " in JEWEL.rows["J9"].measure(Bench("smallest")).note
