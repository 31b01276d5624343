"""Notifications: by long poll, as server-sent events, and each followed to where it came from."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.service.api.running import Running, Tenant, problem
from tests.service.api.test_subscriptions import subscribe
from tests.service.webhooks.receiver import until

PATH = "/v1/notifications"


def poll(client: httpx2.Client, **params: Any) -> tuple[list[str], int]:
    answer = client.get(PATH, params=params)
    assert answer.status_code == 200, answer.text
    said = answer.json()
    return [each["id"] for each in said["items"]], said["next"]


# --- long poll -----------------------------------------------------------------------------------------------


def test_a_cursor_misses_nothing_and_sees_nothing_twice(served: Running, tenant: Tenant) -> None:
    ids = served.match(tenant.name, "s", "a", "b", "c")
    served.match(served.tenant().name, "s", "a")
    ids += served.match(tenant.name, "s", "d")
    found: list[str] = []
    after = 0
    while page := poll(tenant.subscribe, after=after, limit=2):
        if not page[0]:
            break
        found, after = found + page[0], page[1]
    assert sorted(found[:3]) == sorted(ids[:3])
    assert found[3:] == ids[3:]
    assert poll(tenant.subscribe, after=after) == ([], after)


def test_a_notification_says_what_matched(served: Running, tenant: Tenant) -> None:
    [id] = served.match(tenant.name, "s", "e/1", revision=3)
    [item] = tenant.subscribe.get(PATH).json()["items"]
    expected = {"id": id, "subscription_id": "s", "event_id": "e/1", "event_type": "event", "revision": 3}
    assert item | expected == item


def test_a_notification_has_owner_label_and_kept_attributes(served: Running, tenant: Tenant) -> None:
    deep = "[" * 190 + "1.50" + "]" * 190
    kept = f'{{"price":12345678901234567890,"deep":{deep},"nul":"\\u0000é"}}'
    [id] = served.match(tenant.name, "s", "a", label="cheap", attributes=kept)
    served.match(tenant.name, "s", "b")
    expected = (tenant.name, "cheap", json.loads(kept))

    def carried(item: dict[str, Any]) -> tuple[Any, ...]:
        return item["owner"], item["label"], item["attributes"]

    for describe in (False, True):
        params = {"after": 0, "describe": describe}
        first, second = tenant.subscribe.get(PATH, params=params).json()["items"]
        assert (carried(first), carried(second)) == (expected, (tenant.name, None, None))
        with tenant.subscribe.stream("GET", f"{PATH}/stream", params=params) as answer:
            assert [json.loads(each["data"]) for each in sent(answer.iter_lines(), 2)] == [first, second]
    assert carried(tenant.subscribe.get(f"{PATH}/{id}").json()) == expected
    tenant.publish.post("/v1/events", json={"id": "a"})
    [told] = tenant.subscribe.get("/v1/events/a").json()["notifications"]
    assert carried(told) == expected


def test_one_subscription_can_be_followed(served: Running, tenant: Tenant) -> None:
    served.match(tenant.name, "s", "a")
    ids = served.match(tenant.name, "t", "a")
    assert poll(tenant.subscribe, subscription="t")[0] == ids
    assert poll(tenant.subscribe, subscription=f"{tenant.name}/t")[0] == []


def test_the_newest_ones_come_in_their_order(served: Running, tenant: Tenant) -> None:
    served.match(tenant.name, "s", "a")
    last = served.match(tenant.name, "s", "b") + served.match(tenant.name, "s", "c")
    found, after = poll(tenant.subscribe, newest="true", limit=2)
    assert found == last
    assert poll(tenant.subscribe, after=after)[0] == []


def test_a_poll_waits_until_the_feed_grows(served: Running, tenant: Tenant) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(poll, tenant.subscribe, wait=60)
        until(lambda: served.service.feed_watcher._growth._waiters, "somebody waits")
        served.match(served.tenant().name, "s", "a")  # not for us
        ids = served.match(tenant.name, "s", "a")
        assert waiting.result()[0] == ids


def test_a_poll_does_not_wait_for_what_is_there(served: Running, tenant: Tenant) -> None:
    ids = served.match(tenant.name, "s", "a")
    assert poll(tenant.subscribe, wait=60)[0] == ids


def test_a_poll_ends_with_nothing(tenant: Tenant) -> None:
    assert poll(tenant.subscribe, wait=0.01, after=5) == ([], 5)


@pytest.mark.parametrize("params", [{"after": -1}, {"after": 2**63}, {"wait": 61}, {"wait": "nan"}, {"limit": 0}])
def test_a_poll_that_cannot_be_is_refused(tenant: Tenant, params: dict[str, Any]) -> None:
    problem(tenant.subscribe.get(PATH, params=params), 422, "invalid")


def test_a_notification_is_described_if_so_wanted(served: Running, tenant: Tenant) -> None:
    ticket = subscribe(tenant.subscribe, "price < 300", id="s", label="cheap")["ticket"]
    subscribe(served.tenant().subscribe, "price < 300", id="other", label="not mine")
    change = {"condition": "price > 0 AND " + " OR ".join(["price < 300"] * 100)}
    tenant.subscribe.patch("/v1/subscriptions/s", json=change, headers={"Tamis-Ticket": ticket})
    served.match(tenant.name, "s", "a", revision=1)
    served.match(tenant.name, "s", "b", revision=2)
    served.match(tenant.name, "other", "c")
    first, second, unknown = tenant.subscribe.get(PATH, params={"describe": True}).json()["items"]
    assert (first["label"], first["condition"]) == ("cheap", "price < 300")
    assert second["condition"] == change["condition"][:1_000] + "…"
    assert (unknown["label"], unknown["condition"]) == (None, None)
    assert "condition" not in tenant.subscribe.get(PATH).json()["items"][0]
    newest = tenant.subscribe.get(PATH, params={"describe": True, "newest": True, "limit": 3}).json()["items"]
    assert newest == [first, second, unknown]
    with tenant.subscribe.stream("GET", f"{PATH}/stream", params={"describe": True, "after": 0}) as answer:
        assert [json.loads(each["data"]) for each in sent(answer.iter_lines(), 3)] == newest


# --- server-sent events --------------------------------------------------------------------------------------


def sent(lines: Iterator[str], count: int) -> list[dict[str, str]]:
    """The next so many events of a stream."""
    events: list[dict[str, str]] = []
    event: dict[str, str] = {}
    while len(events) < count:
        line = next(lines)
        name, _, value = line.partition(": ")
        if line and name:
            event[name] = value
        elif not line and "data" in event:
            events.append(event)
        if not line:
            event = {}
    return events


def ids_of(events: list[dict[str, str]]) -> list[str]:
    for event in events:
        assert event["event"] == "notification"
        assert event["id"] == str(json.loads(event["data"])["seq"])
    return [json.loads(event["data"])["id"] for event in events]


def test_a_stream_begins_now_and_goes_on(served: Running, tenant: Tenant) -> None:
    before = served.match(tenant.name, "s", "a")
    until(lambda: served.service.feed_watcher.seq >= served.service.feed.end(), "the news is known")
    with tenant.subscribe.stream("GET", f"{PATH}/stream") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines).startswith(":")
        served.match(served.tenant().name, "s", "a")
        ids = served.match(tenant.name, "s", "b") + served.match(tenant.name, "t", "b")
        assert ids_of(sent(lines, 2)) == ids
    assert before[0] not in ids


def test_a_stream_is_taken_up_again_where_it_was(served: Running, tenant: Tenant) -> None:
    served.match(tenant.name, "s", "a")
    with tenant.subscribe.stream("GET", f"{PATH}/stream", params={"after": 0}) as answer:
        [first] = sent(answer.iter_lines(), 1)
    ids = served.match(tenant.name, "s", "b") + served.match(tenant.name, "s", "c")
    # A browser asks for the same address again: what it has seen since counts more.
    headers = {"Last-Event-ID": first["id"]}
    with tenant.subscribe.stream("GET", f"{PATH}/stream", params={"after": 0}, headers=headers) as answer:
        assert ids_of(sent(answer.iter_lines(), 2)) == ids


def test_a_stream_may_be_of_one_subscription(served: Running, tenant: Tenant) -> None:
    served.match(tenant.name, "s", "a")
    ids = served.match(tenant.name, "t", "a")
    params: dict[str, Any] = {"after": 0, "subscription": "t"}
    with tenant.subscribe.stream("GET", f"{PATH}/stream", params=params) as answer:
        assert ids_of(sent(answer.iter_lines(), 1)) == ids


@pytest.mark.parametrize("last", ["", "x", "-1", "9" * 30, "9" * 5_000, "1_0"])
def test_an_id_that_no_event_had_is_passed_over(served: Running, tenant: Tenant, last: str) -> None:
    ids = served.match(tenant.name, "s", "a")
    params, headers = {"after": 0}, {"Last-Event-ID": last}
    with tenant.subscribe.stream("GET", f"{PATH}/stream", params=params, headers=headers) as answer:
        assert ids_of(sent(answer.iter_lines(), 1)) == ids


def test_a_stream_needs_a_token(served: Running) -> None:
    problem(served.client().get(f"{PATH}/stream"), 401, "unauthorized")


# --- one -----------------------------------------------------------------------------------------------------


def test_a_notification_is_followed_to_event_subscription_and_attempts(served: Running, tenant: Tenant) -> None:
    ticket = subscribe(tenant.subscribe, "price < 300", id="s")["ticket"]
    tenant.subscribe.patch(
        "/v1/subscriptions/s", json={"condition": "price < 200"}, headers={"Tamis-Ticket": ticket}
    )
    tenant.publish.post("/v1/events", json={"id": "e", "price": 1})
    [id] = served.match(tenant.name, "s", "e", revision=1)
    found = tenant.subscribe.get(f"{PATH}/{id}").json()
    assert found["event"] == {"id": "e", "price": 1}
    assert (found["subscription"]["revision"], found["subscription"]["condition"]) == (1, "price < 300")
    assert (found["attempts"], found["batch"] >= 0) == ([], True)
    event = tenant.subscribe.get("/v1/events/e").json()
    assert [each["id"] for each in event["notifications"]] == [id]
    problem(served.tenant().admin.get(f"{PATH}/{id}"), 404, "not-found")


def test_a_notification_stays_when_its_event_and_subscription_are_gone(served: Running, tenant: Tenant) -> None:
    [id] = served.match(tenant.name, "never", "gone")
    found = tenant.subscribe.get(f"{PATH}/{id}").json()
    assert (found["event"], found["subscription"], found["attempts"]) == (None, None, [])


# --- the end -------------------------------------------------------------------------------------------------


def test_the_end_of_the_service_ends_polls_and_streams(serving: Any) -> None:
    served = serving()
    tenant = served.tenant()
    welcome = threading.Event()

    def follow() -> list[str]:
        with tenant.subscribe.stream("GET", f"{PATH}/stream") as answer:
            lines = answer.iter_lines()
            first = next(lines)
            welcome.set()
            return [first, *lines]

    with ThreadPoolExecutor(2) as pool:
        polling, following = pool.submit(poll, tenant.admin, wait=60), pool.submit(follow)
        assert welcome.wait(60)
        until(lambda: len(served.service.feed_watcher._growth._waiters) == 2, "both wait")
        served.stop()
        assert polling.result() == ([], 0)
        assert following.result()[0].startswith(":")
    assert served.service.readiness().state == "stopping"
