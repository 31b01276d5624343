"""The benchmark of buckets builds the contestants it names, and tells shapes and steps as they are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from benchmarks.buckets import PARTS, run
from benchmarks.buckets_cases import EVERYBODY, EXTENTS, IT, JUDGED, RBPST, begen, engine_of, pubsub
from benchmarks.buckets_shape import changes_of, shape_of
from benchmarks.buckets_steps import Counted, fitted
from benchmarks.families import data_of
from tamis.engines.forest import Forest, forest_of
from tamis.events.event_type import EventType
from tamis.lab.mishra_sahni.buckets import Buckets
from tamis.language.bulk import compile_conditions


def _forest(conditions: list[str]) -> Forest:
    return forest_of(compile_conditions(pa.array(conditions, pa.large_string()), EventType("any")))


def test_contestants_are_told_by_name() -> None:
    assert (IT, RBPST) == ("buckets, 5000, it-node", "buckets, 5000, rbpst-hull")
    assert pubsub("it-range", 50, "as they come") == "buckets, 50, it-range, as they come"
    for name in (*EVERYBODY, "bitslice", pubsub("auto", 50), pubsub("rbpst-range", 1, "frequent first")):
        engine = engine_of(name)
        assert engine is not None and engine.name == name.split(",", maxsplit=1)[0]
    assert engine_of("nobody") is None


def test_full_runs_have_the_sizes_of_the_paper() -> None:
    full = EXTENTS["full"]
    assert (min(full.sizes), max(full.sizes)) == (100_000, 5_000_000) and JUDGED in full.sizes
    assert (min(full.dimensions), max(full.dimensions)) == (100, 1_500)
    assert (min(full.capacities), max(full.capacities)) == (1, 50_000)
    assert (min(full.matches), max(full.matches)) == (0.0001, 0.15)
    assert (min(full.shares), max(full.shares)) == (0.0001, 0.01)


def test_cases_have_labels_of_their_own() -> None:
    cases = [begen("uniform"), begen("zipf"), begen("zipf", 100), begen("uniform", matches=0.15)]
    assert len({case.label for case in cases}) == len(cases)
    assert [case.parameters["exponent"] for case in cases] == [0.0, 1.0, 1.0, 0.0]


def test_a_structure_that_never_overflowed_has_not_split() -> None:
    shape = shape_of(Buckets(10, "rbpst-hull").build(_forest([f"x BETWEEN {n} AND {n + 5}" for n in range(10)])))
    assert shape == (10, 1, 0, 0)


def test_a_structure_that_overflowed_has_split() -> None:
    shape = shape_of(Buckets(3, "rbpst-hull").build(_forest([f"x BETWEEN {n} AND {n + 5}" for n in range(10)])))
    assert shape == (10, 1, 1, 10)


def test_what_is_below_a_full_bucket_that_cannot_split_is_deeper() -> None:
    index = Buckets(1, "rbpst-hull").build(_forest(["x = 1 AND y = 1", "x = 1 AND y = 2", "x = 1 AND y = 3"]))
    shape = shape_of(index)
    assert shape.deepest == 2
    assert shape.depths > 3


def test_an_index_tells_its_shape_beside_its_own_counts() -> None:
    engine = engine_of(pubsub("it-range", 2))
    assert engine is not None
    counts = engine.build(_forest(["x > 1", "x > 2", "x > 3", "x > 4 AND y = 1"])).stats().counts
    assert counts["subscriptions"] == 4
    assert counts["split_structures"] == 1


@pytest.mark.slow
def test_insertions_into_priority_trees_take_steps() -> None:
    forest = _forest([f"x BETWEEN {n} AND {n + 5}" for n in range(50)])
    assert changes_of(Buckets(1, "rbpst-range").build(forest)).steps > 50
    assert changes_of(Buckets(1, "it-range").build(forest)) == (0, 0)


def test_the_sum_that_made_steps_is_found() -> None:
    counted = [
        Counted(2**ranges, found, 2**values, 3.0 + 2.0 * found + 1.5 * ranges)
        for ranges in (10, 17)
        for found in (4.0, 60.0)
        for values in (20, 40)
    ]
    told = fitted(counted)
    assert told.startswith("3 +2 s +1.5 log2 n ")
    assert told.endswith("greatest residual 0% of 8 points")


def test_a_part_that_there_is_not() -> None:
    with pytest.raises(
        SystemExit, match="there is no part P99; known are capacity, subscriptions, matches, dimensions, P6"
    ):
        run("smallest", ["P99"])
    assert {f"P{number}" for number in (6, 7, 14, 15, 16, 17, 18)} <= set(PARTS)


@pytest.mark.slow
def test_sizes_may_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    report = run("smallest", ["P6"], [70])
    shown: dict[str, Any] = report.figures
    assert f"begen uniform, 400 dimensions, 70: {RBPST}, us/event" in shown
    assert "depth" in shown[f"P6, uniform: {RBPST}"]
    assert not report.judged and not report.bars
    assert "all pairs are those of bitslice" in capsys.readouterr().out


@pytest.mark.slow
def test_data_may_come_without_statistics() -> None:
    data = data_of(begen("uniform", 80), 20, 8, informed=False)
    assert (len(data.forest), data.events) == (20, 8)
    assert not data.statistics
