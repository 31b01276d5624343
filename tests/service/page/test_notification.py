"""The page of a notification: the way from the event to the receiver."""

from __future__ import annotations

from starlette.testclient import TestClient

from tests.service.page.worlds import World


def test_a_notification_can_be_followed(world: World, page: TestClient) -> None:
    parked = page.get("/failed-deliveries.json").json()["items"][0]
    found = page.get(f"/notifications/{parked['notification_id']}.json").json()
    assert found["notification"]["subscription_id"] == "called"
    assert found["subscription"]["condition"] == "price < 1000 OR brand IS NULL"
    assert found["attempts"][0]["status"] == 503
    assert found["explanation"]["matched"] is True
    assert found["batch"]["batch"] == 0
    assert (found["delivery"]["state"], found["delivery"]["reason"]) == ("failed", "answered 503")


def test_a_notification_whose_webhook_is_paused_says_so(world: World, page: TestClient) -> None:
    newest, second, _ = world.service.feed.before("default", None, limit=10, subscription="default/called")
    assert page.get(f"/notifications/{newest.id}.json").json()["delivery"]["state"] == "waiting"
    world.park("default/called", second.id, second.seq, pause_after=2)
    assert "not delivered: the endpoint is paused since" in page.get(f"/notifications/{newest.id}").text
