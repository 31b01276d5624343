"""The page of an event: its matches, and why or why not."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tamis.service.page.links import address
from tests.service.page.worlds import World, twin_of


def test_an_event_shows_its_matches_and_why(page: TestClient) -> None:
    text = page.get("/events/e1").text
    assert "both operands of its AND hold" in text
    assert '<span class="part yes">' in text
    found = page.get("/events/e1.json").json()
    assert {each["subscription_id"] for each in found["matches"]} == {"cheap", "called"}
    assert all(each["explanation"]["matched"] for each in found["matches"])
    states = {each["subscription_id"]: each["delivery"]["state"] for each in found["matches"]}
    assert states == {"cheap": "pull", "called": "waiting"}
    assert text.count('<span class="state waiting">waiting</span>') == 1
    assert '<span class="state pull">' not in text


def test_an_event_tells_why_not(page: TestClient) -> None:
    tried = page.get("/events/e1.json?subscription=hostile").json()["tried"]
    assert tried["explanation"]["matched"] is False
    assert '<span class="part no">' in page.get("/events/e1?subscription=hostile").text
    assert "there is no subscription" in page.get("/events/e1.json?subscription=nobody").json()["tried"]["problem"]


@pytest.mark.parametrize("id", ["shop/7?x#y.json", "new", "by-id", "..", "a.json", "é ü", "two\nlines", "\n"])
def test_whatever_its_id_an_event_has_a_page(world: World, page: TestClient, id: str) -> None:
    world.publish("default", {"id": id, "price": 1})
    where = address("events", id)
    assert page.get(where).status_code == 200
    assert page.get(twin_of(where)).json()["event"]["id"] == id


def test_an_event_says_whether_the_stream_has_come_to_it(world: World, page: TestClient) -> None:
    world.publish("default", {"id": "lonely", "price": 10_000})
    assert page.get("/events/lonely.json").json()["is_done"] is False
    assert "The stream has not come to it yet" in page.get("/events/lonely").text
    world.service.inbox.finish_upto(world.service.inbox.end())
    assert page.get("/events/lonely.json").json()["is_done"] is True
    assert "No subscription matched it." in page.get("/events/lonely").text


def test_a_dead_letter_says_why(world: World, page: TestClient) -> None:
    world.publish("default", {"id": "odd", "price": 1})
    world.match([], [("default/odd", b"{}"), ("acme/e1", b"{}")])
    assert page.get("/events/odd.json").json()["dead_letter"]["kind"] == "malformed"
    assert "It could not be matched: no number" in page.get("/events/odd").text
    assert page.get("/events/e1.json").json()["dead_letter"] is None
