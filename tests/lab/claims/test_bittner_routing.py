"""Rows on routing use the networks of the benchmark, and say so where it is not there."""

from __future__ import annotations

import sys

import pytest

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.bittner_routing import BITTNER
from tamis.lab.claims.row import UntestableError


def test_full_pruning_leaves_the_same_table_whatever_the_measure() -> None:
    outcome = BITTNER.rows["B29"].measure(Bench("smallest"))
    assert (outcome.direction, outcome.agreement) == ("holds", "agrees")
    assert len({each.ours for each in outcome.figures}) == 1


def test_without_the_repository_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "benchmarks.routing_network", None)
    with pytest.raises(UntestableError, match="which is in the repository only"):
        BITTNER.rows["B25"].measure(Bench("smallest"))


def test_the_model_contradicts_the_sentence_on_bytes_of_overlap() -> None:
    outcome = BITTNER.rows["B49"].measure(Bench("smallest"))
    assert outcome.direction == "fails"
    assert outcome.note == "conjunctions need more in A5 only"
