"""Notifications: by long poll and over a stream, whatever breaks on the way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from tamis.client import Client, ClientError, Notification, Retries
from tests.client.conftest import Connect
from tests.client.server import STREAM, Fault, Served, serving
from tests.service.webhooks.receiver import until

POLL = "/v1/notifications"


@pytest.fixture
def notify(served: Served, client: Client) -> Iterator[Callable[..., list[str]]]:
    """Publishes events that a subscription waits for, and matches them; gives their ids."""
    client.subscribe("x >= 0", id="all")
    client.subscribe("x % 2 = 0", id="even")
    numbers = iter(range(1_000_000))

    def notify(count: int) -> list[str]:
        ids = [f"e{number}" for number in islice(numbers, count)]
        client.publish({"id": id, "x": int(id[1:])} for id in ids)
        served.match()
        return ids

    yield notify


def events(found: Iterator[Notification], count: int) -> list[str]:
    return [each.event_id for each in islice(found, count)]


def test_a_notification_tells_what_met_what(client: Client, served: Served) -> None:
    client.subscribe("price < 3", id="cheap")
    client.publish({"id": "e1", "price": 2, "time": "2026-01-02T03:04:05Z"})
    served.match()
    (found,) = client.notifications(wait_seconds=0)
    assert (found.subscription_id, found.event_id, found.event_type) == ("cheap", "e1", "event")
    assert found.revision == 1
    assert found.event_time is not None and found.event_time.isoformat() == "2026-01-02T03:04:05+00:00"
    (told,) = client.event("e1").notifications  # as `describe` tells it
    assert (told.condition, told.delivery and told.delivery.state) == ("price < 3", "pull")
    assert replace(told, condition=None, delivery=None) == found
    trace = client.notification(found.id)
    assert (replace(trace.notification, delivery=None), trace.event["price"], trace.attempts) == (found, 2, ())
    assert trace.subscription is not None and trace.subscription.condition == "price < 3"
    with pytest.raises(ClientError, match="there is no notification 'none'"):
        client.notification("none")


def test_pages_are_asked_for_until_there_is_nothing_more(
    served: Served, client: Client, notify: Callable[..., list[str]]
) -> None:
    ids = notify(7)
    with client.notifications(subscription="all", wait_seconds=0, page=3) as feed:
        assert sorted(each.event_id for each in feed) == sorted(ids)
        end = feed.cursor
    assert end is not None
    assert len(served.requests(POLL)) == 4
    assert [*client.notifications(end, subscription="all", wait_seconds=0)] == []
    more = notify(2)
    later = client.notifications(end, subscription="all", wait_seconds=0)
    assert sorted(each.event_id for each in later) == more


def test_one_poll_gives_a_page_and_where_to_go_on(client: Client, notify: Callable[..., list[str]]) -> None:
    notify(3)
    start = client.poll(0, limit=2)
    assert len(start.items) == 2
    assert start.next == start.items[-1].seq
    rest = client.poll(start.items[-1].seq, limit=10)
    assert len(rest.items) == 3
    assert client.newest() == rest.next
    assert client.newest(subscription="even") <= client.newest()


def test_a_poll_waits_for_what_comes(client: Client, served: Served, connect: Connect) -> None:
    client.subscribe("x >= 0", id="all")
    found: list[Notification] = []
    waiting = connect()
    thread = threading.Thread(target=lambda: found.extend(waiting.poll(0, wait_seconds=60).items))
    thread.start()
    until(lambda: served.requests(POLL))
    client.publish({"id": "e1", "x": 1})
    served.match()
    thread.join()
    assert [each.event_id for each in found] == ["e1"]


def test_a_stream_starts_with_the_next_unless_told_otherwise(
    client: Client, served: Served, connect: Connect, notify: Callable[..., list[str]]
) -> None:
    old = notify(2)
    found: list[str] = []
    tailing = connect()

    def follow() -> None:
        with tailing.tail(subscription="all") as feed:
            found.extend(events(feed, 2))

    thread = threading.Thread(target=follow)
    thread.start()
    until(lambda: served.requests(STREAM))
    new = notify(2)
    thread.join()
    assert sorted(found) == new
    with client.tail(0, subscription="all") as feed:
        assert sorted(events(feed, 4)) == sorted(old + new)


def test_a_stream_that_is_cut_loses_nothing_and_repeats_nothing(
    client: Client, served: Served, notify: Callable[..., list[str]]
) -> None:
    ids = notify(40)
    served.cuts.extend([0, 1, 5, 0, 3])
    losses: list[str] = []
    with client.tail(0, subscription="all", on_loss=lambda error, _: losses.append(error.kind)) as feed:
        found = [*islice(feed, 40)]
        assert feed.cursor == found[-1].seq
    assert sorted(each.event_id for each in found) == sorted(ids)
    assert [each.seq for each in found] == sorted({each.seq for each in found})
    assert losses == ["connection"] * 5
    opened = served.requests(STREAM)
    assert len(opened) == 6
    assert [each.headers["last-event-id"] for each in opened] == [
        str(place) for place in (0, 0, *(found[upto - 1].seq for upto in (1, 6, 6, 9)))
    ]


def test_a_stream_goes_on_after_the_service_was_busy(
    client: Client, served: Served, notify: Callable[..., list[str]]
) -> None:
    ids = notify(3)
    served.cuts.append(1)
    served.faults += [Fault(STREAM, 503, {"Retry-After": "0"}), Fault(STREAM, 429)]
    losses: list[int | None] = []
    with client.tail(0, subscription="all", on_loss=lambda error, _: losses.append(error.status)) as feed:
        assert sorted(events(feed, 3)) == ids
    assert losses == [503, 429, None]


def test_a_stream_goes_on_when_the_service_comes_back(connect: Connect, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        token, port = served.token("default"), int(served.url.rpartition(":")[2])
        client = connect(served.url, token=token)
        client.subscribe("x >= 0", id="all")
        client.publish({"id": "e1", "x": 1})
        served.match()
        feed = client.tail(0)
        assert next(feed).event_id == "e1"
    with serving(tmp_path, port) as served:
        client.publish({"id": "e2", "x": 2})
        served.match()
        with feed:
            assert next(feed).event_id == "e2"


def test_a_stream_that_was_never_there_is_given_up(connect: Connect, served: Served) -> None:
    served.faults += [Fault(STREAM, 503)] * 4
    client = connect(retries=Retries(attempts=4, base_seconds=0.001, most_seconds=0.01))
    with pytest.raises(ClientError, match="come back later") as caught:
        next(client.tail(0))
    assert (caught.value.status, len(served.requests(STREAM))) == (503, 4)


def test_a_stream_that_is_refused_is_given_up_at_once(connect: Connect, served: Served, tenant: str) -> None:
    client = connect(token=served.token(tenant, "publish"))
    with pytest.raises(ClientError, match="role 'subscribe'"):
        next(client.tail(0))
    assert len(served.requests(STREAM)) == 1


def test_somebody_else_is_not_taken_for_the_service(client: Client, served: Served) -> None:
    served.faults.append(Fault(STREAM, 200, {"content-type": "text/html"}, b"<p>Welcome"))
    with pytest.raises(ClientError, match="expected text/event-stream, found text/html") as caught:
        next(client.tail(0))
    assert caught.value.kind == "unexpected"


def test_polling_survives_cut_answers(client: Client, served: Served, notify: Callable[..., list[str]]) -> None:
    ids = notify(9)
    served.faults += [Fault(POLL), Fault(POLL, 503, {"Retry-After": "0"}), Fault(POLL)]
    feed = client.notifications(subscription="all", wait_seconds=0, page=4)
    assert sorted(each.event_id for each in feed) == ids


def test_tenants_are_told_of_their_own_only(
    client: Client, served: Served, connect: Connect, notify: Callable[..., list[str]]
) -> None:
    notify(3)
    other = connect(token=served.token(served.new_tenant()))
    assert [*other.notifications(wait_seconds=0)] == []
    assert [*other.notifications(subscription="all", wait_seconds=0)] == []


# --- what went wrong -----------------------------------------------------------------------------------------
