"""The page of a subscription: its history, its webhook, its end."""

from __future__ import annotations

from starlette.testclient import TestClient

from tamis.service.page.links import address
from tests.service.page.worlds import HOSTILE, World


def test_a_subscription_may_be_called_new(world: World, page: TestClient) -> None:
    world.subscribe("default", "new", "price = 1")
    assert address("subscriptions", "new") in page.get("/subscriptions").text
    assert page.get("/subscriptions/by-id.json?id=new").json()["subscription"]["condition"] == "price = 1"


def test_a_subscription_shows_what_was_done_to_it(world: World, page: TestClient) -> None:
    world.service.subscriptions.acting_as(f"token 1: {HOSTILE}").pause("default", "cheap", paused=True)
    found = page.get("/subscriptions/cheap.json").json()
    assert found["subscription"]["state"] == "paused"
    assert [each["kind"] for each in found["history"]] == ["pause", "add"]
    assert [each["actor"] for each in found["history"]] == [f"token 1: {HOSTILE}", None]
    assert "<bdi>token 1: &lt;script&gt;" in page.get("/subscriptions/cheap").text
    assert 'data-do="resume"' in page.get("/subscriptions/cheap").text


def test_a_subscription_that_has_ended_keeps_its_history(world: World, page: TestClient) -> None:
    world.service.subscriptions.unsubscribe("default", "cheap")
    found = page.get("/subscriptions/cheap.json").json()
    assert found["subscription"] is None
    assert found["history"][0]["kind"] == "remove"
    assert "has ended" in page.get("/subscriptions/cheap").text


def test_a_webhook_that_is_paused_says_so_and_can_be_resumed(world: World, page: TestClient) -> None:
    assert "/v1/webhooks/called/resume" not in page.get("/subscriptions/called").text
    second = world.service.feed.before("default", None, limit=10, subscription="default/called")[-2]
    world.park("default/called", second.id, second.seq, pause_after=2)
    shown = page.get("/subscriptions/called.json").json()["webhook"]
    assert (shown["state"], shown["failures"], shown["waiting"]) == ("paused", 2, 1)
    assert shown["since"]
    became = [each["delivery"]["state"] for each in page.get("/subscriptions/called.json").json()["notifications"]]
    assert became == ["paused", "failed", "failed"]
    text = page.get("/subscriptions/called").text
    assert "1 notifications are not delivered: the endpoint is paused since" in text
    assert "/v1/webhooks/called/resume" in text


def test_a_webhook_is_shown_without_its_secret(world: World, page: TestClient) -> None:
    hook = world.service.webhooks.get("default/called")
    assert hook is not None
    answer = page.get("/subscriptions/called.json")
    assert answer.json()["webhook"]["state"] == "confirmed"
    assert [each["outcome"] for each in answer.json()["attempts"]] == ["failed", "delivered"]
    assert hook.secret not in answer.text + page.get("/subscriptions/called").text
