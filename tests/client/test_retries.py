"""What is asked again, how often and after how long; and what is not."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest

from tamis.client import Client, ClientError, Retries
from tamis.client.calls.base import ApiCall
from tamis.client.retries import RetryState, answered_error, retry_after
from tamis.service.accounts import TenantRights
from tests.client.clients import QUICK
from tests.client.conftest import Connect
from tests.client.server import Fault, Served

SUBSCRIPTIONS = "/v1/subscriptions"
LATER = {"Retry-After": "0"}


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_is_asked_again(served: Served, client: Client, status: int) -> None:
    served.faults += [Fault(SUBSCRIPTIONS, status, LATER), Fault(SUBSCRIPTIONS, status)]
    assert client.subscribe("x = 1", id="one").subscription.id == "one"
    assert len(served.requests(SUBSCRIPTIONS)) == 3


def test_a_service_that_stays_busy_is_given_up(served: Served, client: Client) -> None:
    served.faults += [Fault(SUBSCRIPTIONS, 503, LATER) for _ in range(QUICK.attempts)]
    with pytest.raises(ClientError, match="come back later") as caught:
        client.get("one")
    assert (caught.value.status, caught.value.kind) == (503, "unavailable")
    assert len(served.requests(SUBSCRIPTIONS)) == QUICK.attempts


def test_a_service_that_asks_for_a_long_wait_is_not_asked_again(served: Served, client: Client) -> None:
    served.faults.append(Fault(SUBSCRIPTIONS, 429, {"Retry-After": "3600"}))
    with pytest.raises(ClientError, match="come back later"):
        client.get("one")
    assert len(served.requests(SUBSCRIPTIONS)) == 1


def test_a_tenant_that_asks_too_often_waits_as_long_as_it_is_told(served: Served, connect: Connect) -> None:
    token = served.token(served.new_tenant(TenantRights(requests_per_second=2)))
    client = connect(token=token, retries=Retries(attempts=10, base_seconds=0.001, most_seconds=30))
    assert [len([*client.subscriptions()]) for _ in range(4)] == [0] * 4
    assert len(served.requests(SUBSCRIPTIONS)) > 4


def test_what_the_service_refuses_is_not_asked_again(served: Served, client: Client) -> None:
    with pytest.raises(ClientError):
        client.get("none")
    assert len(served.requests()) == 1


def test_a_question_whose_answer_is_cut_is_asked_again(served: Served, client: Client) -> None:
    client.subscribe("x = 1", id="one")
    served.faults += [Fault(SUBSCRIPTIONS), Fault(SUBSCRIPTIONS)]
    assert client.get("one").id == "one"
    assert len(served.requests(SUBSCRIPTIONS, "GET")) == 3


def test_what_may_be_done_twice_is_sent_again(served: Served, client: Client) -> None:
    ticket = client.subscribe("x = 1", id="one").ticket
    for ask in (
        lambda: client.change("one", ticket, priority=3),
        lambda: client.renew("one", ticket),
        lambda: client.pause("one", ticket),
        lambda: client.advertise("all", "x = 1"),
        lambda: client.declare({"name": "sale", "attributes": {}}),
        lambda: client.test("x = 1", event_type="event"),
    ):
        served.faults.append(Fault("/v1/"))
        served.asked.clear()
        ask()
        assert len(served.asked) == 2
    assert client.get("one").priority == 3


def test_what_may_not_be_done_twice_is_sent_once(served: Served, client: Client) -> None:
    ticket = client.subscribe("x = 1", id="one").ticket
    for ask in (
        lambda: client.subscribe("x = 2", id="two"),
        lambda: client.import_many([{"id": "three", "condition": "x = 3"}]),
        lambda: client.create_token("publish"),
    ):
        served.faults.append(Fault("/v1/"))
        served.asked.clear()
        with pytest.raises(ClientError, match="was sent and may have been carried out") as caught:
            ask()
        assert (caught.value.status, caught.value.kind) == (None, "connection")
        assert len(served.asked) == 1
    assert [each.id for each in client.subscriptions()] == ["one", "three", "two"]
    client.unsubscribe("one", ticket)


def test_nobody_there_is_tried_and_named(connect: Connect) -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ClientError, match="no answer from the service") as caught:
            connect(url).subscribe("x = 1")
    assert (caught.value.status, caught.value.kind) == (None, "connection")
    assert str(caught.value).startswith(url)
    assert "carried out" not in str(caught.value)


def test_an_export_that_is_cut_says_so(served: Served, client: Client) -> None:
    client.import_many({"id": f"s{n}", "condition": "x = 1"} for n in range(50))
    served.faults += [Fault(f"{SUBSCRIPTIONS}/export", 503, LATER), Fault(f"{SUBSCRIPTIONS}/export")]
    with pytest.raises(ClientError, match="no answer from the service"):
        [*client.export()]
    assert len([*client.export()]) == 50


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>Bad\n Gateway", "found status 502: <html>Bad Gateway"),
        (b"", "found status 502"),
        (b"[]", "502: \\[\\]"),
    ],
)
def test_an_answer_of_somebody_else_is_told_apart(served: Served, client: Client, body: bytes, said: str) -> None:
    served.faults.append(Fault(SUBSCRIPTIONS, 502, {}, body))
    with pytest.raises(ClientError, match=said) as caught:
        client.get("one")
    assert (caught.value.status, caught.value.kind) == (502, "unexpected")


def test_nonsense_with_a_good_status_is_an_error(served: Served, client: Client) -> None:
    served.faults += [Fault(SUBSCRIPTIONS, 200, {}, b"hello"), Fault(SUBSCRIPTIONS, 200, {}, b'{"id": 7}')]
    with pytest.raises(ClientError, match="expected JSON, found 'hello'"):
        client.get("one")
    with pytest.raises(ClientError, match=r"Subscription\.id: expected a text, found 7"):
        client.get("one")


# --- decisions -----------------------------------------------------------------------------------------------

ONCE = ApiCall("POST", "/x", lambda answer: answer)
AGAIN = ApiCall("GET", "/x", lambda answer: answer, repeatable=True)


def test_the_wait_is_what_the_service_asks_for() -> None:
    assert RetryState(ONCE, "", Retries()).after_answer(503, {"Retry-After": "7"}, b"") == 7.0
    assert RetryState(ONCE, "", Retries()).after_answer(204, {}, b"") is None


def test_waits_double_up_to_the_longest() -> None:
    retries = Retries(base_seconds=1.0, most_seconds=8.0)
    for failures, longest in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 8.0), (10_000, 8.0)):
        assert all(longest / 2 <= retries.seconds(failures) <= longest for _ in range(20))


def test_a_broken_connection_is_made_again_for_what_may_be_sent_twice() -> None:
    broke, away = httpx2.ReadError("broke"), httpx2.ConnectError("away")
    assert RetryState(AGAIN, "", QUICK).after_failure(broke) > 0
    assert RetryState(ONCE, "", QUICK).after_failure(away) > 0
    with pytest.raises(ClientError, match="carried out"):
        RetryState(ONCE, "", QUICK).after_failure(broke)
    with pytest.raises(ClientError):
        RetryState(AGAIN, "", QUICK).after_failure(httpx2.UnsupportedProtocol("gopher"))


def test_retry_after_is_a_number_or_a_time() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert retry_after({"Retry-After": "12"}, now) == 12.0
    assert retry_after({"retry-after": format_datetime(now + timedelta(seconds=90), usegmt=True)}, now) == 90.0
    assert retry_after({"retry-after": format_datetime(now - timedelta(days=1), usegmt=True)}, now) == 0.0
    for text in ("", "soon", "-1", "1.5", "\u0661"):
        assert retry_after({"Retry-After": text}, now) is None


def test_problems_without_places_are_left_out() -> None:
    body = b'{"type": "https://tamis.invalid/problems/invalid", "detail": "no", "problems": [{"field": "id"}]}'
    error = answered_error("http://here", 422, body)
    assert (error.kind, error.detail, error.problems) == ("invalid", "no", ())
