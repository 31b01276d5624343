"""Events and matches over time."""

from __future__ import annotations

from starlette.testclient import TestClient


def test_matches_over_time_add_up(page: TestClient) -> None:
    spans = page.get("/subscriptions/called.json?span=hour").json()["activity"]["spans"]
    assert sum(each["matches"] for each in spans) == 3
    assert sum(each["events"] for each in page.get("/statistics.json").json()["activity"]["spans"]) == 4
