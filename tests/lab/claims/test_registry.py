"""The registry has every row, and every row is measured at the smallest size."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.registry import PAPERS, ROWS, UnknownClaimError, select_rows
from tamis.lab.claims.run import measure_row
from tamis.lab.workloads import WORKLOADS

COUNTS = {"jewel": ("J", 37), "bittner": ("B", 56), "liu": ("L", 19), "wang": ("W", 13), "mishra-sahni": ("P", 19)}


def test_all_144_rows_are_there() -> None:
    assert len(ROWS) == 144
    for name, (letter, count) in COUNTS.items():
        assert set(PAPERS[name].rows) == {f"{letter}{number}" for number in range(1, count + 1)}
        assert (Path(__file__).parents[3] / "docs" / "papers" / f"{name}.md").exists()


@pytest.mark.parametrize("id_", ROWS)
def test_a_row_says_where_what_and_how(id_: str) -> None:
    row = ROWS[id_]
    assert row.claim.endswith(".") and row.where and row.theirs and row.workload and row.counted
    assert [paper.rows[id_] for paper in PAPERS.values() if id_ in paper.rows] == [row]
    named = row.workload.split("`")[1::2]
    assert all(name in WORKLOADS for name in named), "a workload is named as `tamis generate` does"


def test_rows_that_contradict_something_say_what() -> None:
    contradicting = {id_ for id_, row in ROWS.items() if row.contradicts}
    assert {"J3", "J9", "J15", "J24", "J33", "B3", "B37", "B49", "B51"} <= contradicting
    assert {"L5", "L6", "L9", "L13", "W1", "W5", "P12", "P13"} <= contradicting


def test_rows_are_selected_by_paper_and_by_id() -> None:
    assert len(select_rows()) == 144
    assert [row.id for row in select_rows(ids=["J20", "J2"])] == ["J2", "J20"]
    assert len(select_rows(["wang"], ["J20"])) == 14
    with pytest.raises(UnknownClaimError, match="there is no paper nobody; known are jewel, bittner"):
        select_rows(["nobody"])
    with pytest.raises(UnknownClaimError, match="there is no claim J38; known are J1 to J37"):
        select_rows(ids=["J38"])


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_every_row_is_measured_at_the_smallest_size(name: str) -> None:
    """All of them take about 40 seconds of the processor; larger sizes are for the command only."""
    bench = Bench("smallest")
    untestable = []
    for row in select_rows([name]):
        record = measure_row(row, bench)
        if record["direction"] == "cannot be tested":
            assert record["reason"]
            untestable.append(row.id)
        else:
            assert record["direction"] in ("holds", "fails", "unclear", "none claimed")
            assert record["figures"] or record["note"]
            assert all(each["ours"] for each in record["figures"])
    assert untestable == (["J13"] if name == "jewel" else [])
