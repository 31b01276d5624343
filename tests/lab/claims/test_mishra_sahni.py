"""Rows on buckets measure contestants that are told by name, without statistics."""

from __future__ import annotations

import pytest

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.mishra_sahni import MISHRA_SAHNI


@pytest.mark.slow
def test_rows_that_share_points_measure_them_once() -> None:
    bench = Bench("smallest")
    told: list[str] = []
    bench.lab.progress = told.append
    first = MISHRA_SAHNI.rows["P2"].measure(bench)
    measured = len(told)
    second = MISHRA_SAHNI.rows["P3"].measure(bench)
    assert measured > 0 and len(told) == measured
    assert {each.what for each in first.figures} & {each.what for each in second.figures}


def test_the_sizes_of_the_paper_decide_whether_figures_are_judged() -> None:
    outcome = MISHRA_SAHNI.rows["P4"].measure(Bench("smallest"))
    assert outcome.agreement == "not at this size"


@pytest.mark.slow
def test_the_suffix_structure_is_compared_with_the_automaton() -> None:
    figures = {each.what: each.ours for each in MISHRA_SAHNI.rows["P19"].measure(Bench("smallest")).figures}
    assert figures["steps of an event"][0] > 0
    assert figures["nodes a pattern"][0] > 1
    assert all(value > 0 for values in figures.values() for value in values)
