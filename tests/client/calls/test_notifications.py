"""What could not be matched or delivered, with both clients."""

from __future__ import annotations

import pytest

from tamis.client import Client, ClientError
from tests.client.server import Served
from tests.service.webhooks.receiver import Receiver, after_handshake, answering, until


def test_an_event_that_cannot_be_matched_is_kept_and_matched_again(client: Client, served: Served) -> None:
    declared = {"name": "sale", "attributes": {"price": "int"}}
    client.declare(declared)
    client.subscribe("price < 3 OR price IS NULL", id="cheap", event_type="sale")
    for number in range(3):
        client.publish({"id": f"e{number}", "price": "none"}, type="sale")
        served.match()
    letters = [*client.dead_letters(page=2)]
    assert [each.event_id for each in letters] == ["e2", "e1", "e0"]
    assert (letters[0].kind, "price" in letters[0].reason) == ("wrong type", True)
    assert '"none"' in letters[0].original
    assert [each.id for each in client.dead_letters(before=letters[1].number)] == [letters[2].id]
    client.declare({"name": "sale", "attributes": {}})
    client.replay_dead_letter(letters[0].id)
    assert [each.event_id for each in client.dead_letters()] == ["e1", "e0"]
    with pytest.raises(ClientError, match="there is no dead letter"):
        client.replay_dead_letter(letters[0].id)


def test_a_delivery_that_failed_is_kept_and_made_again(client: Client, served: Served, receiver: Receiver) -> None:
    receiver.always["/hook"] = after_handshake(answering(500))
    client.subscribe("x >= 0", id="all", webhook=receiver.url("/hook"))
    until(lambda: client.get("all").delivery.state == "confirmed")
    client.publish([{"id": "e1", "x": 1}, {"id": "e2", "x": 2}])
    served.match()
    until(lambda: len([*client.failed_deliveries()]) == 2)
    first, second = client.failed_deliveries(page=1)
    assert (first.subscription_id, first.attempts, "500" in first.error) == ("all", 1, True)
    assert [each.seq for each in client.failed_deliveries(after=first.seq)] == [second.seq]
    (attempt,) = client.notification(first.notification_id).attempts
    assert (attempt.attempt, attempt.status, attempt.outcome) == (1, 500, "failed")
    delivery = client.notification(first.notification_id).delivery
    assert delivery is not None
    assert (delivery.state, "500" in str(delivery.reason)) == ("failed", True)
    del receiver.always["/hook"]
    client.replay(first.notification_id)
    until(lambda: [each.seq for each in client.failed_deliveries()] == [second.seq])
    assert receiver.ids("/hook").count(first.notification_id) == 2
    with pytest.raises(ClientError, match="no failed delivery"):
        client.replay("none")
    assert [*client.failed_deliveries(until=second.at)] == []
    assert client.replay_many(subscription="other").replayed == 0
    assert client.replay_many(endpoint="nowhere.example").replayed == 0
    assert client.replay_many(since=second.at).replayed == 1
    until(lambda: [*client.failed_deliveries()] == [])


def test_a_webhook_that_was_refused_is_resumed(client: Client, receiver: Receiver) -> None:
    receiver.script("/hook", answering(500))
    client.subscribe("x >= 0", id="all", webhook=receiver.url("/hook"))
    until(lambda: client.webhook("all").state == "refused")
    [found] = client.webhooks(state="refused")
    assert found == client.webhook("all")
    assert [*client.webhooks(state="paused")] == []
    assert client.resume_webhook("all").state == "pending"
    until(lambda: client.get("all").delivery.state == "confirmed")
    with pytest.raises(ClientError) as caught:
        client.resume_webhook("all")
    assert caught.value.kind == "conflict"
