"""Descriptions of calls: what is sent, without sending it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from tamis.client.calls.base import ApiCall, Listing, as_json, delete, get, post, put, under, without_none
from tamis.client.errors import ClientError
from tamis.client.models import Tenant


def test_headers_name_what_is_sent_and_the_ticket() -> None:
    assert get("/x", lambda answer: None).headers() == {"Accept": "application/json"}
    sent = post("/x", lambda answer: None, {"a": 1}, ticket="t")
    assert sent.headers() == {
        "Accept": "application/json",
        "Content-Type": "application/json",
        "Tamis-Ticket": "t",
    }
    assert sent.body == b'{"a":1}'


def test_parameters_are_texts_and_leave_out_none() -> None:
    query = {"after": 3, "newest": True, "search": "a b", "label": None}
    assert ApiCall("GET", "/x", str, query).parameters() == {"after": "3", "newest": "true", "search": "a b"}


def test_only_what_does_no_more_when_sent_twice_is_repeatable() -> None:
    def nothing(answer: Any) -> None:
        return None

    repeatable = [get("/x", nothing), put("/x", nothing, {}), post("/x", nothing, repeatable=True)]
    once = [post("/x", nothing), delete("/x")]
    assert [call.repeatable for call in (*repeatable, *once)] == [True, True, True, False, False]


def test_a_listing_asks_for_a_page_from_its_cursor_on() -> None:
    listing = Listing("/v1/tenants", Tenant, "after", {"limit": 2})
    call = listing.page("b")
    assert call.parameters() == {"limit": "2", "after": "b"}
    page = call.read({"items": [{"name": "c", "rights": {}}], "next": "c"})
    assert ([each.name for each in page.items], page.next) == (["c"], "c")
    assert listing.page(None).parameters() == {"limit": "2"}


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_no_address_can_hold_is_refused(name: str) -> None:
    with pytest.raises(ClientError, match="expected a name"):
        under("/v1/subscriptions", name)


def test_times_are_written_in_utc_if_they_have_a_zone() -> None:
    zoned = datetime(2026, 7, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    given = {"zoned": zoned, "utc": datetime(2026, 7, 1, tzinfo=UTC), "day": date(2026, 7, 1)}
    text = as_json(given).decode()
    assert "2026-07-01T12:00:00" in text
    assert '"day":"2026-07-01"' in text


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), "\ud800"])
def test_what_json_does_not_have_is_refused(value: object) -> None:
    with pytest.raises(ClientError, match="cannot be written as JSON"):
        as_json({"x": value})


def test_what_is_none_is_left_out() -> None:
    assert without_none(a=None, b=0, c="") == {"b": 0, "c": ""}
