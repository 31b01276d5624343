"""Statistics of the service: the snapshot, whatever state it is in."""

from __future__ import annotations

from starlette.testclient import TestClient

from tests.service.page.worlds import World


def test_without_a_snapshot_statistics_say_so(page: TestClient) -> None:
    assert page.get("/statistics.json").json()["service"]["snapshot"] is None
    assert "There is none yet" in page.get("/statistics").text


def test_a_snapshot_is_shown(world: World, page: TestClient) -> None:
    from tamis.events.event_type import EventType
    from tamis.matchers import Matchers

    folder = world.service.settings.folder / "stream" / "snapshot"
    matchers = Matchers([EventType("default/event")])
    matchers["default/event"].add("a", "price < 3")
    matchers.publish(str(folder))
    found = page.get("/statistics.json").json()["service"]["snapshot"]
    assert [each["version"] for each in found["versions"]] == [1]
    assert found["segments"][0]["slots"] == 1
    assert "Segments of version 1" in page.get("/statistics").text


def test_a_damaged_snapshot_is_named_and_breaks_nothing(world: World, page: TestClient) -> None:
    folder = world.service.settings.folder / "stream" / "snapshot"
    folder.mkdir(parents=True)
    (folder / "versions").write_text("not a folder")
    assert page.get("/statistics").status_code == 200
