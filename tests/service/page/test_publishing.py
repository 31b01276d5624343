"""The page that publishes: what it begins with, and for whom it is."""

from __future__ import annotations

import json
from collections.abc import Callable

from starlette.testclient import TestClient

from tamis.service.page import publishing
from tamis.service.page.page_request import PageRequest
from tests.service.page.worlds import World


def test_it_begins_like_another_event_without_its_id(ask: Callable[..., PageRequest]) -> None:
    data = publishing.data(ask(like="e1"))
    assert (data["event_type"], data["may_publish"]) == ("event", True)
    assert json.loads(data["event"]) == {"price": 250, "brand": "Lumen"}


def test_without_one_it_begins_like_the_last_of_its_type(ask: Callable[..., PageRequest]) -> None:
    assert json.loads(publishing.data(ask())["event"])["price"] == 7
    assert json.loads(publishing.data(ask(like="acme-event"))["event"])["price"] == 7, "not another tenant's"
    assert "price" in json.loads(publishing.data(ask(event_type="unknown"))["event"])


def test_who_may_not_publish_sees_that(world: World, visit: Callable[[str | None], TestClient]) -> None:
    _, subscriber = world.service.accounts.new_token("default", ["subscribe"])
    text = visit(subscriber).get("/events/new").text
    assert "needs a token with the role" in text and "<textarea" not in text
