"""The first page."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from tamis.service.supervisor import Supervisor
from tests.service.page.worlds import World
from tests.service.webhooks.receiver import until


def test_pages_say_that_the_stream_warms_up(
    world: World, page: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "warming up" not in page.get("/").text
    supervisor = Supervisor(world.service.settings, missing=lambda: None)
    supervisor.waits_for = "Spark to start"
    monkeypatch.setattr(world.service, "supervisor", supervisor)
    assert "waits for Spark to start; events are accepted meanwhile" in page.get("/").text
    assert page.get("/index.json").json()["stream"]["waits_for"] == "Spark to start"
    for where in ("/", "/feed", "/events"):
        assert 'id="warming"' in page.get(where).text, where
    supervisor.state, supervisor.waits_for = "running", None
    for where in ("/", "/feed", "/events"):
        assert "warming" not in page.get(where).text, where


def test_the_overview_tells_what_quotas_left_out(world: World, page: TestClient) -> None:
    assert page.get("/index.json").json()["left_out"] == 0
    last = world.service.reports.last[-1]
    world.service.reports.last.append(replace(last, overflow_by_group=(("acme", 5), ("default", 1_234))))
    assert page.get("/index.json").json()["left_out"] == 1_234
    assert "1,234" in page.get("/").text


def test_the_overview_and_the_statistics_count_deliveries_that_are_not_done(
    world: World, page: TestClient
) -> None:
    expected = {"waiting": 2, "retrying": 0, "failed": 1, "paused": 0, "withheld": 0}
    for where in ("/index.json", "/statistics.json"):
        found = page.get(where).json()["webhooks"]
        assert {name: found[name] for name in expected} == expected
    assert "Webhooks paused" not in page.get("/").text
    second = world.service.feed.before("default", None, limit=10, subscription="default/called")[-2]
    world.park("default/called", second.id, second.seq, pause_after=2)

    def counts() -> list[dict[str, int]]:
        found = page.get("/statistics.json").json()
        return [found["webhooks"], found["service"]["webhooks"]]

    until(lambda: all(each["paused"] for each in counts()), "what was cached is counted again")
    for each in counts():
        assert (each["waiting"], each["failed"], each["paused"], each["withheld"]) == (0, 2, 1, 1)
    text = page.get("/statistics").text
    assert "1 paused" in text and "1 withheld" in text
    until(lambda: "Webhooks paused" in page.get("/").text)


def test_the_busiest_have_their_labels_and_conditions(world: World, page: TestClient) -> None:
    world.service.subscriptions.unsubscribe("default", "called")
    found = {each["id"]: each for each in page.get("/index.json").json()["broadest"]["items"]}
    assert (found["cheap"]["label"], found["cheap"]["condition"]) == (
        "bargains",
        "price < 300 AND brand = 'Lumen'",
    )
    assert (found["called"]["label"], found["called"]["condition"]) == (None, None), "it has ended"
    assert "bargains" in page.get("/").text
