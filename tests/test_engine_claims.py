"""What the claims on engines are measured with finds what was put in; all claims run at their smallest."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.boolean_claims import _terms
from benchmarks.claim_tools import bend, crossing, exponent
from benchmarks.engine_cases import EFFORTS, auction, engine_of, entries_of
from benchmarks.engine_claims import CLAIMS, UNMEASURED
from benchmarks.engine_points import Lab
from benchmarks.families import data_of
from benchmarks.node_counts import conjunctions, left_deep_nodes, top_down_visits
from tamis import compile_condition
from tamis.engines import ENGINES
from tamis.engines.forest import forest_of
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula


def _formulas(*texts: str) -> list[Formula]:
    return [compile_condition(text).formula for text in texts]


@pytest.mark.slow
def test_all_claims_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", "--smallest", "--claims"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])["figures"]
    assert figures["not measured"] == UNMEASURED
    for name in CLAIMS:
        assert [figure for figure in figures if figure.startswith(f"{name}: ")], name
    assert [figures[f"B20: class {each}"] for each in (1, 2, 3)] == [
        "2 conjunctions, 8 predicates",
        "4 conjunctions, 20 predicates",
        "6 conjunctions, 18 predicates",
    ]
    assert [figures[f"B18: class {each}: bytes of a tree, plain"] for each in (1, 2, 3)] == [38, 80, 47]
    assert figures["J1: m 3"] == "8 conjunctions, 11 nodes"


def test_a_claim_is_measured_or_told_why_not() -> None:
    known = {f"J{each}" for each in range(1, 36)} | {f"B{each}" for each in range(1, 23)}
    assert set(CLAIMS) | set(UNMEASURED) == known
    assert not set(CLAIMS) & set(UNMEASURED)
    with pytest.raises(SystemExit, match="B21: it is about generated events"):
        main(["engines", "--smallest", "--claim", "B21"])


def test_unknown_cases_are_named() -> None:
    assert {entry.case.family for entry in entries_of(["auction"])} == {"auction"}
    with pytest.raises(SystemExit, match="nothing"):
        entries_of(["nothing"])


def test_every_engine_is_a_contestant() -> None:
    for name in (*ENGINES, "hits, widths", "dag, general"):
        engine = engine_of(name)
        assert engine is not None and engine.name == name.split(",")[0]
    assert engine_of("unheard-of") is None


@pytest.mark.slow
def test_who_is_left_out_is_named_with_the_reason() -> None:
    lab = Lab(EFFORTS["smallest"])
    data = data_of(auction(only=1), 70, 64)
    points = lab.measure("class 1, 70", data, ("bitslice", "scan", "postings", "unheard-of"))
    assert set(points) == {"bitslice", "postings"}
    assert lab.left_out == {
        "class 1, 70: scan": "takes part up to 60 subscriptions",
        "class 1, 70: unheard-of": "there is no such engine",
    }


@pytest.mark.slow
def test_a_point_tells_of_work_bytes_and_changes() -> None:
    lab = Lab(EFFORTS["smallest"])
    points = lab.points(auction(), 60, ("hits", "bitslice"))
    assert lab.points(auction(), 60, ("hits",)) is points, "a point is measured once"
    hits, ours = points["hits"], points["bitslice"]
    assert hits.work["candidates"] >= hits.work["matches"]
    assert hits.structures()["trees"] > 0 and hits.bytes == pytest.approx(sum(hits.structures().values()))
    assert hits.inserted and hits.deleted
    assert not ours.inserted and "groups" in ours.structures()


def test_a_bend_is_where_the_curve_bends() -> None:
    sizes = [10.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    found = bend(sizes, [5 + size + 3 * max(0.0, size - 40) for size in sizes])
    assert found is not None
    assert found.at == pytest.approx(40, rel=0.03)
    assert (found.before, found.after) == pytest.approx((1, 4), rel=0.05)
    assert bend(sizes[:3], [1.0, 2.0, 3.0]) is None


def test_a_crossing_lies_between_two_sizes() -> None:
    assert crossing([10, 100, 1000], [4, 2, 1], [1, 2, 4]) == "100"
    assert crossing([10, 1000], [4, 1], [1, 4]) == "100"
    assert "the second is lower" in crossing([10, 100], [4, 4], [1, 2])


def test_the_exponent_of_a_square_is_two() -> None:
    assert exponent([1, 2, 4], [3, 12, 48]) == pytest.approx(2)


def test_conjunctions_of_a_product_of_sums() -> None:
    text = " AND ".join(f"(a{each} = 1 OR b{each} = 1 OR c{each} = 1)" for each in range(4))
    assert conjunctions(*_formulas(text)) == 3**4


def test_brackets_from_the_left_share_what_begins_alike() -> None:
    one, same_begin, same_end = _formulas(
        "a = 1 AND b = 1 AND c = 1", "a = 1 AND b = 1 AND d = 1", "b = 1 AND c = 1"
    )
    assert left_deep_nodes([one]) == 5
    assert left_deep_nodes([one, one]) == 5
    assert left_deep_nodes([one, same_begin]) == 7
    assert left_deep_nodes([one, same_end]) == 6


def test_a_walk_from_the_roots_leaves_what_is_decided() -> None:
    formulas = _formulas("a = 1 AND b = 1", "a = 1 AND c = 1")
    events = EventBatch.of([{"a": 0, "b": 1, "c": 1}, {"a": 1, "b": 1, "c": 1}], None)
    forgetful, remembering = top_down_visits(formulas, events)
    assert forgetful == (4 + 6) / 2
    assert remembering == (3 + 5) / 2


def test_terms_are_the_conjunctions_of_a_forest() -> None:
    terms = _terms(forest_of(_formulas("a = 1 AND (b = 1 OR c = 1)", "d = 1")))
    assert len(terms) == 3
    expected = _formulas("a = 1 AND b = 1", "a = 1 AND c = 1", "d = 1")
    assert list(terms) == expected
    assert np.all(terms.roots[:2] >= 0) and terms.roots[2] < 0
