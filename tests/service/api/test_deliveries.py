"""Failed deliveries and bad events: listed for their tenant only, and replayed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.api.running import Running, problem, running
from tests.service.api.test_subscriptions import subscribe
from tests.service.webhooks.receiver import Receiver, after_handshake, answering, receiving, until


@pytest.fixture(scope="module")
def calling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that may call this machine, and gives up early."""
    folder: Path = tmp_path_factory.mktemp("calling")
    settings = {"webhook_attempts": 2, "webhook_base_seconds": 0.01, "webhook_networks": ("127.0.0.0/8",)}
    with running(folder, **settings) as made:
        yield made


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def test_a_delivery_that_failed_is_replayed_under_the_same_id(calling: Running, receiver: Receiver) -> None:
    tenant = calling.tenant()
    receiver.always["/"] = after_handshake(answering(500))
    made = subscribe(tenant.subscribe, id="s", delivery={"kind": "webhook", "url": receiver.url("/")})
    assert made["secret"] and made["subscription"]["delivery"]["state"] == "pending"
    until(lambda: tenant.subscribe.get("/v1/subscriptions/s").json()["delivery"]["state"] == "confirmed")
    ids = calling.match(tenant.name, "s", "a") + calling.match(tenant.name, "s", "b")
    path = "/v1/deliveries/failed"
    until(lambda: len(tenant.subscribe.get(path).json()["items"]) == 2, "both are parked")
    first = tenant.subscribe.get(path, params={"limit": 1}).json()
    second = tenant.subscribe.get(path, params={"limit": 1, "after": first["next"]}).json()
    [item] = first["items"]
    assert [item["notification_id"], second["items"][0]["notification_id"]] == ids
    assert (item["subscription_id"], item["attempts"]) == ("s", 2)
    assert "500" in item["error"]
    other = calling.tenant()
    assert other.admin.get(path).json()["items"] == []
    problem(other.admin.post(f"/v1/deliveries/{ids[0]}/replay"), 404, "not-found")
    del receiver.always["/"]
    before = len(receiver.ids("/"))
    assert tenant.subscribe.post(f"/v1/deliveries/{ids[0]}/replay").status_code == 202
    until(lambda: len(receiver.ids("/")) > before, "it came again")
    assert receiver.ids("/")[-1] == ids[0]
    until(lambda: len(tenant.subscribe.get(path).json()["items"]) == 1, "it is not parked any more")
    attempts = tenant.subscribe.get(f"/v1/notifications/{ids[0]}").json()["attempts"]
    assert [each["outcome"] for each in attempts] == ["failed", "failed", "delivered"]
    problem(tenant.subscribe.post(f"/v1/deliveries/{ids[0]}/replay"), 404, "not-found")


def test_a_receiver_that_lies_is_told_nothing(calling: Running, receiver: Receiver) -> None:
    tenant = calling.tenant()
    receiver.always["/"] = answering(200, b'{"challenge": "guessed"}')
    subscribe(tenant.subscribe, id="s", delivery={"kind": "webhook", "url": receiver.url("/")})
    until(lambda: tenant.subscribe.get("/v1/subscriptions/s").json()["delivery"]["state"] == "refused")
    calling.match(tenant.name, "s", "a")
    assert "challenge" in tenant.subscribe.get("/v1/subscriptions/s").json()["delivery"]["reason"]
    assert receiver.notified("/") == []


def test_a_bad_event_is_matched_again_when_it_is_replayed(calling: Running) -> None:
    tenant = calling.tenant()
    tenant.admin.put("/v1/event-types/order", json={"attributes": {"price": "int"}})
    text = b'{"id": "e", "price": "x"}'
    headers = {"Content-Type": "application/json"}
    tenant.publish.post("/v1/events", content=text, headers=headers, params={"event_type": "order"})
    calling.spoil(tenant.name, "e", text, "price: not a number")
    calling.spoil(tenant.name, "f", b"\xff")
    path = "/v1/dead-letters"
    first = tenant.subscribe.get(path, params={"limit": 1}).json()
    assert (first["items"][0]["event_id"], first["items"][0]["original"]) == ("f", "\ufffd")
    [item] = tenant.subscribe.get(path, params={"limit": 1, "before": first["next"]}).json()["items"]
    id, expected = item["id"], {"event_id": "e", "reason": "price: not a number", "original": text.decode()}
    assert item | expected == item
    other = calling.tenant()
    assert other.admin.get(path).json()["items"] == []
    problem(other.admin.post(f"{path}/{id}/replay"), 404, "not-found")
    end = calling.service.inbox.end()
    assert tenant.subscribe.post(f"{path}/{id}/replay").status_code == 202
    again = calling.service.inbox.between(end, end + 1)
    assert [each[:3] for each in again] == [(f"{tenant.name}/e", f"{tenant.name}/order", text)]
    assert [each["event_id"] for each in tenant.subscribe.get(path).json()["items"]] == ["f"]
    problem(tenant.subscribe.post(f"{path}/{id}/replay"), 404, "not-found")
