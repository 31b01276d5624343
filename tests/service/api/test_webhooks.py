"""Webhooks over HTTP: counted while they wait, paused when they fail, resumed by a handshake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from tamis.service.webhooks.tables import webhooks
from tests.service.api.running import Running, Tenant, problem, running
from tests.service.api.test_subscriptions import subscribe
from tests.service.webhooks.receiver import Receiver, after_handshake, answering, receiving, until


@pytest.fixture
def calling(tmp_path: Path, database_url: str) -> Iterator[Running]:
    """A service that may call this machine, gives up early and pauses early, on either database."""
    waits = {"webhook_attempts": 2, "webhook_base_seconds": 0.01, "webhook_pause_after": 2}
    with running(tmp_path, feed=database_url, webhook_networks=("127.0.0.0/8",), **waits) as made:
        yield made


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def webhook(tenant: Tenant, id: str = "s") -> dict[str, Any]:
    answer = tenant.subscribe.get(f"/v1/webhooks/{id}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def is_confirmed(tenant: Tenant, id: str) -> bool:
    return bool(webhook(tenant, id)["state"] == "confirmed")


def gauge(calling: Running, name: str) -> float:
    text = calling.client().get("/metrics").text
    [value] = re.findall(rf"^{re.escape(name)} (\S+)$", text, re.M)
    return float(value)


def test_a_receiver_that_fails_is_paused_counted_and_resumed(calling: Running, receiver: Receiver) -> None:
    tenant = calling.tenant()
    receiver.always["/"] = after_handshake(answering(500))
    subscribe(tenant.subscribe, id="s", delivery={"kind": "webhook", "url": receiver.url("/")})
    until(lambda: webhook(tenant)["state"] == "confirmed")
    problem(tenant.subscribe.post("/v1/webhooks/s/resume"), 409, "conflict")
    events = [f"e{number}" for number in range(5)]
    ids = [id for event in events for id in calling.match(tenant.name, "s", event)]
    until(lambda: webhook(tenant)["state"] == "paused")
    found = webhook(tenant)
    assert found | {"subscription_id": "s", "failures": 2, "waiting": 3, "failed": 2} == found
    assert "500" in found["reason"] and found["since"] and "secret" not in found
    assert tenant.subscribe.get("/v1/subscriptions/s").json()["delivery"]["state"] == "paused"
    assert tenant.subscribe.get("/v1/webhooks", params={"state": "paused"}).json()["items"] == [found]
    assert tenant.subscribe.get("/v1/webhooks", params={"state": "confirmed"}).json()["items"] == []
    assert (gauge(calling, 'tamis_webhooks{state="paused"}'), gauge(calling, "tamis_withheld_deliveries")) == (
        1,
        3,
    )
    assert (gauge(calling, "tamis_failed_deliveries"), gauge(calling, "tamis_waiting_deliveries")) == (2, 0)
    delivery = tenant.subscribe.get(f"/v1/notifications/{ids[3]}").json()["delivery"]
    assert delivery["state"] == "paused" and delivery["reason"].startswith("not delivered: ")
    other = calling.tenant()
    problem(other.admin.post("/v1/webhooks/s/resume"), 404, "not-found")
    problem(other.admin.get("/v1/webhooks/s"), 404, "not-found")
    assert other.admin.get("/v1/webhooks").json() == {"items": [], "next": None}

    del receiver.always["/"]
    answer = tenant.subscribe.post("/v1/webhooks/s/resume")
    assert (answer.status_code, answer.json()["state"]) == (202, "pending")
    until(lambda: webhook(tenant)["waiting"] == 0, "what had waited is delivered")
    assert (webhook(tenant)["state"], webhook(tenant)["failures"]) == ("confirmed", 0)
    states = [tenant.subscribe.get(f"/v1/notifications/{id}").json()["delivery"]["state"] for id in ids]
    assert states == ["failed"] * 2 + ["delivered"] * 3
    listed = tenant.subscribe.get("/v1/notifications", params={"describe": True}).json()["items"]
    assert {each["id"]: each["delivery"]["state"] for each in listed} == dict(zip(ids, states, strict=True))
    tenant.publish.post("/v1/events", json={"id": listed[0]["event_id"]})
    [told] = tenant.subscribe.get(f"/v1/events/{listed[0]['event_id']}").json()["notifications"]
    assert told["delivery"] == listed[0]["delivery"]
    assert gauge(calling, "tamis_withheld_deliveries") == 0


def test_a_delivery_that_is_retried_is_counted(calling: Running, receiver: Receiver) -> None:
    tenant = calling.tenant()
    receiver.always["/"] = after_handshake(answering(503, Retry_After="3000"))
    subscribe(tenant.subscribe, id="s", delivery={"kind": "webhook", "url": receiver.url("/")})
    until(lambda: webhook(tenant)["state"] == "confirmed")
    ids = [id for event in ("a", "b") for id in calling.match(tenant.name, "s", event)]
    until(lambda: gauge(calling, "tamis_retrying_deliveries") == 1)
    assert gauge(calling, "tamis_waiting_deliveries") == 2
    states = [tenant.subscribe.get(f"/v1/notifications/{id}").json()["delivery"]["state"] for id in ids]
    assert states == ["retrying", "waiting"]


def test_the_notifications_of_a_refused_webhook_say_so(calling: Running, receiver: Receiver) -> None:
    tenant = calling.tenant()
    receiver.always["/"] = answering(200, b"I do not agree")
    subscribe(tenant.subscribe, id="s", delivery={"kind": "webhook", "url": receiver.url("/")})
    until(lambda: webhook(tenant)["state"] == "refused")
    [id] = calling.match(tenant.name, "s", "a")
    found = tenant.subscribe.get(f"/v1/notifications/{id}").json()
    assert found["delivery"]["state"] == "refused"
    assert found["delivery"]["reason"].startswith("not delivered: the endpoint refused consent: ")
    assert (found["attempts"], webhook(tenant)["waiting"]) == ([], 1)
    assert [call.is_handshake for call in receiver.calls] == [True]
    del receiver.always["/"]
    tenant.subscribe.post("/v1/webhooks/s/resume")
    until(lambda: tenant.subscribe.get(f"/v1/notifications/{id}").json()["delivery"]["state"] == "delivered")


def test_failed_deliveries_are_replayed_by_subscription_and_by_time(calling: Running, receiver: Receiver) -> None:
    tenant, path = calling.tenant(), "/v1/deliveries/failed"
    receiver.always["/"] = after_handshake(answering(500))

    def failed(**params: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = tenant.subscribe.get(path, params=params).json()["items"]
        return items

    for name in ("a", "b"):
        subscribe(tenant.subscribe, id=name, delivery={"kind": "webhook", "url": receiver.url("/")})
        until(partial(is_confirmed, tenant, name))
        calling.match(tenant.name, name, "e")
        until(lambda name=name: failed(subscription=name), "it is parked")  # type: ignore[misc]
    [of_a], [of_b] = failed(subscription="a"), failed(subscription="b")
    assert failed(since=of_b["at"]) == [of_b] and failed(until=of_b["at"]) == [of_a]
    del receiver.always["/"]

    def replay(**body: str) -> dict[str, int]:
        answer = tenant.subscribe.post("/v1/deliveries/replay", json=body)
        assert answer.status_code == 202, answer.text
        said: dict[str, int] = answer.json()
        return said

    assert replay(until=of_a["at"]) == {"replayed": 0, "left": 0}
    assert replay(subscription="a") == {"replayed": 1, "left": 0}
    until(lambda: failed() == [of_b])
    assert tenant.subscribe.post("/v1/deliveries/replay").json() == {"replayed": 1, "left": 0}
    until(lambda: failed() == [])
    problem(tenant.subscribe.post("/v1/deliveries/replay", json={"sub": "a"}), 422, "invalid")
    assert calling.tenant().subscribe.post("/v1/deliveries/replay").json() == {"replayed": 0, "left": 0}


def test_a_name_that_no_database_takes_is_refused(calling: Running) -> None:
    client = calling.tenant().subscribe
    asked = [client.get("/v1/webhooks/a%00b"), client.post("/v1/webhooks/a%00b/resume")]
    asked += [client.get("/v1/webhooks?after=%00"), client.get("/v1/deliveries/failed?subscription=%00")]
    asked += [client.post("/v1/deliveries/replay", json={"subscription": "\0"})]
    assert [answer.status_code for answer in asked if answer.status_code not in (404, 422)] == []


# --- subscribers ---------------------------------------------------------------------------------------------


def test_a_subscriber_is_called_once_an_event_and_told_all_its_subscriptions(
    calling: Running, receiver: Receiver
) -> None:
    tenant = calling.tenant()
    made = tenant.subscribe.put("/v1/webhooks/@ann", json={"url": receiver.url("/")})
    assert made.status_code == 201 and made.json()["secret"].startswith("whsec_")
    until(lambda: is_confirmed(tenant, "@ann"))
    calling.match(tenant.name, "s", "e1", "e2", owner=f"{tenant.name}/@ann", label="cheap")
    calling.match(tenant.name, "other", "e2")
    until(lambda: len(receiver.notified("/")) == 2)
    told = [call.message["data"]["notification"] for call in receiver.notified("/")]
    assert [each["id"] for each in told] == receiver.ids("/")
    assert sorted(each["event_id"] for each in told) == ["e1", "e2"]
    for each in told:
        assert (each["subscriber"], each["subscription_id"]) == ("ann", "@ann")
        assert each["subscriptions"] == [{"id": "s", "revision": 1, "label": "cheap"}]
    assert tenant.subscribe.delete("/v1/webhooks/@ann").status_code == 204
    problem(tenant.subscribe.delete("/v1/webhooks/@ann"), 404, "not-found")


def test_only_subscribers_have_webhooks_of_their_own(calling: Running) -> None:
    tenant = calling.tenant()
    for id in ("s", "@"):
        problem(tenant.subscribe.put(f"/v1/webhooks/{id}", json={"url": "https://a.example"}), 422, "invalid")
    problem(tenant.subscribe.put("/v1/webhooks/@ann", json={"url": "http://10.0.0.1/"}), 422, "invalid")


def test_the_webhook_of_a_subscriber_outlives_its_subscriptions(calling: Running) -> None:
    tenant = calling.tenant()
    tenant.subscribe.put("/v1/webhooks/@ann", json={"url": "http://127.0.0.1:9/"})
    hook = calling.service.webhooks.get(f"{tenant.name}/@ann")
    assert hook is not None
    long_ago = update(webhooks).where(webhooks.c.subscription_id == hook.subscription_id).values(created=1)
    with calling.service.feed.database.writing() as connection:
        connection.execute(long_ago)
    assert hook.subscription_id not in calling.service.subscriptions.ended_webhooks()


def test_a_digest_is_wanted_with_the_delivery(calling: Running, receiver: Receiver) -> None:
    tenant = calling.tenant()
    hook = {"kind": "webhook", "url": receiver.url("/"), "digest_seconds": 3600}
    made = subscribe(tenant.subscribe, id="s", delivery=hook)
    assert made["subscription"]["delivery"]["digest_seconds"] == 3600
    until(lambda: is_confirmed(tenant, "s"))
    ids = calling.match(tenant.name, "s", "a", "b", "c")
    until(lambda: len(receiver.notified("/")) == 1)
    [call] = receiver.notified("/")
    assert (call.message["data"]["digest"]["count"], call.id in ids) == (3, True)
    exported = tenant.subscribe.get("/v1/subscriptions/export").text
    again = tenant.admin.post("/v1/subscriptions/import", params={"replace": True}, content=exported)
    assert (again.json()["secrets"], again.json()["refusals"]) == ({}, []), "it is the same receiver"
    problem(
        tenant.subscribe.put("/v1/webhooks/@ann", json={"url": hook["url"], "digest_seconds": 0}), 422, "invalid"
    )
    made = tenant.subscribe.put("/v1/webhooks/@ann", json={"url": hook["url"], "digest_seconds": 60}).json()
    assert made["digest_seconds"] == 60
