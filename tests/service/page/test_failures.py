"""What went wrong, of the tenant only."""

from __future__ import annotations

from collections.abc import Callable

from tamis.service.page import failures
from tamis.service.page.page_request import PageRequest


def test_dead_letters_are_shown_with_their_text(ask: Callable[..., PageRequest]) -> None:
    data = failures.dead_letters(ask())
    [item] = data["items"]
    assert (item["event_id"], data["next"]) == ("bad", None)
    assert '"id": "bad"' in item["original"]
    assert failures.dead_letters(ask(before=str(item["number"])))["items"] == []


def test_failed_deliveries_are_shown_in_the_names_of_the_tenant(ask: Callable[..., PageRequest]) -> None:
    [item] = failures.failed_deliveries(ask())["items"]
    assert (item["subscription_id"], item["attempts"], item["error"]) == ("called", 12, "answered 503")
    assert item["condition"] == "price < 1000 OR brand IS NULL"
    assert failures.failed_deliveries(ask(after=str(item["seq"])))["items"] == []


def test_failed_deliveries_are_shown_and_replayed_by_subscription_and_time(
    ask: Callable[..., PageRequest],
) -> None:
    [item] = failures.failed_deliveries(ask())["items"]
    filters = {"subscription": "called", "since": item["at"].isoformat()}
    found = failures.failed_deliveries(ask(**filters))
    assert (found["items"], found["replay"]) == ([item], filters)
    assert failures.failed_deliveries(ask(subscription="cheap"))["items"] == []
    assert failures.failed_deliveries(ask(until=item["at"].isoformat()))["items"] == []
    unread = failures.failed_deliveries(ask(since="yesterday"))
    assert (unread["items"], unread["replay"]) == ([item], {}), "what cannot be read does not filter"
