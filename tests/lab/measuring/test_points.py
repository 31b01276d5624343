"""A point has time, work, bytes and rates of change; who is left out is named with the reason."""

from __future__ import annotations

import pytest

from tamis.lab.measuring.cases import data_of
from tamis.lab.measuring.contestants import auction
from tamis.lab.measuring.points import Effort, Lab

EFFORT = Effort(64, 16, 1, 0.0, 1, 60)


@pytest.mark.slow
def test_who_is_left_out_is_named_with_the_reason() -> None:
    lab = Lab(EFFORT)
    data = data_of(auction(only=1), 70, 64)
    points = lab.measure("class 1, 70", data, ("bitslice", "scan", "postings", "unheard-of"))
    assert set(points) == {"bitslice", "postings"}
    assert lab.left_out == {
        "class 1, 70: scan": "takes part up to 60 subscriptions",
        "class 1, 70: unheard-of": "there is no such engine",
    }


@pytest.mark.slow
def test_a_point_tells_of_work_bytes_and_changes() -> None:
    lab = Lab(EFFORT)
    points = lab.points(auction(), 60, ("hits", "bitslice"))
    assert lab.points(auction(), 60, ("hits",)) is points, "a point is measured once"
    hits, ours = points["hits"], points["bitslice"]
    assert hits.work["candidates"] >= hits.work["matches"]
    assert hits.structures()["trees"] > 0 and hits.bytes == pytest.approx(sum(hits.structures().values()))
    assert hits.inserted and hits.deleted
    assert not ours.inserted and "groups" in ours.structures()
