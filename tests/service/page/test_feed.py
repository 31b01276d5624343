"""The feed of matches: the newest, or those before a number."""

from __future__ import annotations

from collections.abc import Callable

from starlette.testclient import TestClient

from tamis.service.page import feed
from tamis.service.page.page_request import PageRequest
from tests.service.page.worlds import HOSTILE


def test_the_feed_goes_on_after_the_newest(ask: Callable[..., PageRequest]) -> None:
    data = feed.data(ask())
    seqs = [each["seq"] for each in data["items"]]
    assert seqs == sorted(seqs, reverse=True)
    assert data["after"] == seqs[0]
    older = feed.data(ask(before=str(seqs[0])))
    assert [each["seq"] for each in older["items"]] == seqs[1:]
    assert older["after"] == 0, "a page of the past does not grow"


def test_one_subscription_has_its_own(ask: Callable[..., PageRequest]) -> None:
    assert {each["subscription_id"] for each in feed.data(ask(subscription="called"))["items"]} == {"called"}
    assert feed.data(ask(subscription="secret-plan"))["items"] == []


def test_labels_and_conditions_stand_beside_ids(ask: Callable[..., PageRequest]) -> None:
    found = {each["subscription_id"]: (each["label"], each["condition"]) for each in feed.data(ask())["items"]}
    assert found["cheap"] == ("bargains", "price < 300 AND brand = 'Lumen'")
    assert found["called"] == (None, "price < 1000 OR brand IS NULL")


def test_the_state_of_a_delivery_stands_beside_its_match(
    ask: Callable[..., PageRequest], page: TestClient
) -> None:
    found = {(each["subscription_id"], each["delivery"]["state"]) for each in feed.data(ask())["items"]}
    assert found == {("cheap", "pull"), ("hostile", "pull"), ("called", "failed"), ("called", "waiting")}
    assert page.get("/feed").text.count('<span class="state ') == 3


def test_kept_attributes_stand_beside_events(ask: Callable[..., PageRequest], page: TestClient) -> None:
    assert {each["attributes"]["brand"] for each in feed.data(ask())["items"]} == {HOSTILE}
    assert '<code class="cut">{&quot;brand&quot;:&quot;&lt;script&gt;' in page.get("/feed").text
