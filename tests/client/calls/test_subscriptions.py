"""Subscribing, and everything that can be done with a subscription afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tamis.client import KEEP, Client, ClientError, Delivery
from tamis.service.accounts import TenantRights
from tests.client.conftest import Connect
from tests.client.server import Served
from tests.service.webhooks.receiver import Receiver, until

CAMERA = {"name": "camera", "attributes": {"price": "decimal(8,2)", "brand": "string"}}


def test_a_subscription_is_as_it_was_made(client: Client) -> None:
    client.declare(CAMERA)
    made = client.subscribe("price < 300", id="cheap", event_type="camera", label="Cheap ones", priority=5)
    found = made.subscription
    assert (found.id, found.condition, found.event_type) == ("cheap", "price < 300", "camera")
    assert (found.label, found.priority, found.revision, found.state) == ("Cheap ones", 5, 1, "active")
    assert found.delivery == Delivery("pull")
    assert made.secret is None
    assert client.get("cheap") == found


def test_the_ticket_is_not_shown(client: Client) -> None:
    made = client.subscribe("price < 300")
    assert made.ticket
    assert made.ticket not in repr(made)


def test_without_an_id_the_service_makes_one_up(client: Client) -> None:
    first, second = (client.subscribe("price < 300").subscription.id for _ in range(2))
    assert first != second
    assert client.get(first).id == first


def test_it_lasts_a_day_unless_told_otherwise(client: Client) -> None:
    def lasts(**how: timedelta | datetime) -> timedelta:
        found = client.subscribe("price < 300", **how).subscription  # type: ignore[arg-type]
        assert found.created is not None
        assert found.expires is not None
        return found.expires - found.created

    slack = timedelta(minutes=5)
    assert abs(lasts() - timedelta(days=1)) < slack
    assert abs(lasts(valid_for=timedelta(hours=2.5)) - timedelta(hours=2.5)) < slack
    assert abs(lasts(expires=datetime.now(UTC) + timedelta(days=3)) - timedelta(days=3)) < slack


def test_it_may_start_later(client: Client) -> None:
    start = datetime.now(UTC) + timedelta(days=1)
    found = client.subscribe("price < 300", valid_from=start).subscription
    assert (found.state, found.valid_from) == ("waiting", start)


def test_two_ways_to_say_how_long_are_refused_before_anything_is_asked(served: Served, client: Client) -> None:
    with pytest.raises(ClientError, match="valid_for or expires, found both") as caught:
        client.subscribe("price < 300", valid_for=timedelta(days=1), expires=datetime.now(UTC))
    assert (caught.value.status, caught.value.kind) == (None, "invalid")
    assert not served.asked


def test_a_taken_id_is_a_conflict(client: Client) -> None:
    client.subscribe("price < 300", id="cheap")
    with pytest.raises(ClientError, match="already a subscription 'cheap'") as caught:
        client.subscribe("price < 200", id="cheap")
    assert (caught.value.status, caught.value.kind) == (409, "conflict")


def test_a_refused_condition_has_its_problems_with_places(client: Client) -> None:
    client.declare(CAMERA)
    text = "prise < 300\n  AND band = 'Sony'"
    with pytest.raises(ClientError) as caught:
        client.subscribe(text, event_type="camera")
    assert (caught.value.status, caught.value.kind) == (422, "condition")
    first, second = caught.value.problems
    assert (text[first.start : first.end], first.line, first.column) == ("prise", 1, 1)
    assert first.hint is not None and "price" in first.hint
    assert (text[second.start : second.end], second.line, second.column) == ("band", 2, 7)
    assert "no attribute 'band'" in str(caught.value)


def test_a_tenant_has_no_more_subscriptions_than_it_may(served: Served, connect: Connect) -> None:
    client = connect(token=served.token(served.new_tenant(TenantRights(subscriptions=1))))
    client.subscribe("price < 300")
    with pytest.raises(ClientError, match="may have 1 subscriptions") as caught:
        client.subscribe("price < 200")
    assert (caught.value.status, caught.value.kind) == (403, "quota")


def test_what_is_not_there_is_not_found(client: Client) -> None:
    for ask in (
        lambda: client.get("none"),
        lambda: client.history("none"),
        lambda: client.renew("none", "a ticket"),
        lambda: client.unsubscribe("none", "a ticket"),
    ):
        with pytest.raises(ClientError, match="'none'") as caught:
            ask()
        assert (caught.value.status, caught.value.kind) == (404, "not-found")


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_no_address_can_hold_is_refused(client: Client, name: str) -> None:
    with pytest.raises(ClientError, match="expected a name"):
        client.get(name)


@pytest.mark.parametrize("id", ["a b", "50%", "?x=1#y", "é", "a+b", "☃"])
def test_ids_may_have_any_characters(client: Client, id: str) -> None:
    ticket = client.subscribe("price < 300", id=id).ticket
    assert client.get(id).id == id
    assert [each.id for each in client.subscriptions()] == [id]
    client.unsubscribe(id, ticket)
    assert [*client.subscriptions()] == []


def test_lists_come_page_by_page(served: Served, client: Client) -> None:
    ids = [f"s{number}" for number in range(7)]
    client.import_many({"id": id, "condition": "price < 1"} for id in ids)
    assert [each.id for each in client.subscriptions(page=3)] == ids
    assert len(served.requests("/v1/subscriptions", "GET")) == 3
    assert [each.id for each in client.subscriptions(after="s4")] == ["s5", "s6"]


def test_lists_are_searched(client: Client) -> None:
    client.declare(CAMERA)
    client.subscribe("price < 300", id="cheap", label="bargains", event_type="event")
    client.subscribe("brand = 'Nikon'", id="nikon", event_type="camera")
    assert [each.id for each in client.subscriptions(search="Nikon")] == ["nikon"]
    assert [each.id for each in client.subscriptions(label="bargains")] == ["cheap"]
    assert [each.id for each in client.subscriptions(event_type="camera")] == ["nikon"]


def test_a_change_leaves_what_is_not_named(client: Client) -> None:
    ticket = client.subscribe("price < 300", id="cheap", label="Cheap", priority=3).ticket
    changed = client.change("cheap", ticket, condition="price < 200", label=None)
    assert (changed.condition, changed.label, changed.priority, changed.revision) == ("price < 200", None, 3, 2)
    assert client.change("cheap", ticket, condition=KEEP, priority=4).revision == 2
    assert client.get("cheap").priority == 4


def test_renewing_moves_the_end(client: Client) -> None:
    ticket = client.subscribe("price < 300", id="cheap", valid_for=timedelta(hours=1)).ticket
    before = client.get("cheap").expires
    assert before is not None
    for renewed in (
        client.renew("cheap", ticket),
        client.renew("cheap", ticket, valid_for=timedelta(days=30)),
        client.renew("cheap", ticket, expires=datetime.now(UTC) + timedelta(days=40)),
    ):
        assert renewed.expires is not None
        assert renewed.expires > before
        before = renewed.expires


def test_what_is_paused_is_not_matched(served: Served, client: Client) -> None:
    ticket = client.subscribe("price < 300", id="cheap").ticket
    assert client.pause("cheap", ticket).state == "paused"
    client.publish({"id": "e1", "price": 1})
    served.match()
    assert client.resume("cheap", ticket).state == "active"
    client.publish({"id": "e2", "price": 1})
    served.match()
    assert [each.event_id for each in client.notifications(wait_seconds=0)] == ["e2"]


def test_what_has_ended_is_gone_but_for_its_history(client: Client) -> None:
    ticket = client.subscribe("price < 300", id="cheap").ticket
    client.change("cheap", ticket, condition="price < 200")
    client.unsubscribe("cheap", ticket)
    with pytest.raises(ClientError, match="there is no subscription 'cheap'"):
        client.get("cheap")
    history = client.history("cheap")
    assert [each.kind for each in history] == ["add", "replace", "remove"]
    assert [each.condition for each in history[:2]] == ["price < 300", "price < 200"]


def test_without_its_ticket_nobody_changes_a_subscription(served: Served, tenant: str, connect: Connect) -> None:
    client = connect(token=served.token(tenant, "subscribe"))
    client.subscribe("price < 300", id="cheap")
    other = client.subscribe("price < 200", id="other").ticket
    for ticket in (None, "guessed", other):
        for ask in (
            lambda ticket=ticket: client.change("cheap", ticket, priority=1),
            lambda ticket=ticket: client.renew("cheap", ticket),
            lambda ticket=ticket: client.pause("cheap", ticket),
            lambda ticket=ticket: client.resume("cheap", ticket),
            lambda ticket=ticket: client.unsubscribe("cheap", ticket),
        ):
            with pytest.raises(ClientError, match="ticket of subscription 'cheap'") as caught:
                ask()
            assert (caught.value.status, caught.value.kind) == (403, "forbidden")
    assert client.get("cheap").state == "active"


def test_an_administrator_may_pause_without_a_ticket(client: Client) -> None:
    client.subscribe("price < 300", id="cheap")
    assert client.pause("cheap", None).state == "paused"


def test_many_are_imported_and_what_is_refused_comes_back(client: Client) -> None:
    client.declare(CAMERA)
    records: list[dict[str, Any]] = [
        {"id": "cheap", "condition": "price < 300", "event_type": "camera", "priority": 2},
        {"id": "wrong", "condition": "prise < 300", "event_type": "camera"},
        {"id": "none", "condition": "price < 1", "event_type": "tripod"},
    ]
    imported = client.import_many(records)
    assert (imported.added, imported.replaced, imported.edited, imported.unchanged) == (1, 0, 0, 0)
    assert [*imported.tickets] == ["cheap"]
    assert imported.tickets["cheap"] not in repr(imported)
    refused = {each.id: each for each in imported.refusals}
    assert [problem.start for problem in refused["wrong"].problems] == [0]
    assert "tripod" in refused["none"].detail
    client.unsubscribe("cheap", imported.tickets["cheap"])


def test_an_import_replaces_what_is_there_if_told_to(client: Client) -> None:
    client.import_many([{"id": "a", "condition": "x = 1"}, {"id": "b", "condition": "x = 2"}])
    again = [{"id": "a", "condition": "x = 3"}, {"id": "c", "condition": "x = 4"}]
    assert [each.id for each in client.import_many(again[:1]).refusals] == ["a"]
    imported = client.import_many(again, replace=True)
    assert (imported.added, imported.replaced) == (1, 1)
    assert [*imported.tickets] == ["c"]
    assert client.get("a").condition == "x = 3"


def test_an_export_can_be_imported_elsewhere(served: Served, client: Client, connect: Connect) -> None:
    client.import_many({"id": f"s{n}", "condition": f"x = {n}", "label": "é\u2028"} for n in range(1_200))
    exported = [*client.export()]
    assert [each.id for each in exported] == sorted(f"s{n}" for n in range(1_200))
    elsewhere = connect(token=served.token(served.new_tenant()))
    assert elsewhere.import_many(exported).added == 1_200
    assert elsewhere.get("s7").condition == "x = 7"
    assert elsewhere.get("s7").label == "é\u2028"


def test_a_webhook_is_confirmed_by_its_receiver(client: Client, receiver: Receiver) -> None:
    made = client.subscribe("price < 300", id="cheap", webhook=receiver.url("/hook"))
    assert made.secret is not None and made.secret.startswith("whsec_")
    assert made.secret not in repr(made)
    assert (made.subscription.delivery.kind, made.subscription.delivery.url) == ("webhook", receiver.url("/hook"))
    until(lambda: client.get("cheap").delivery.state == "confirmed")


def test_a_webhook_to_a_forbidden_address_is_refused(client: Client) -> None:
    with pytest.raises(ClientError, match="subscription 'cheap'") as caught:
        client.subscribe("price < 300", id="cheap", webhook="http://10.0.0.1/hook")
    assert (caught.value.status, caught.value.kind) == (422, "invalid")


def test_tenants_do_not_see_each_other(served: Served, client: Client, connect: Connect) -> None:
    ticket = client.subscribe("price < 300", id="cheap").ticket
    other = connect(token=served.token(served.new_tenant()))
    assert [*other.subscriptions()] == []
    with pytest.raises(ClientError, match="there is no subscription 'cheap'"):
        other.unsubscribe("cheap", ticket)
    assert other.subscribe("price < 200", id="cheap").subscription.condition == "price < 200"
    assert client.get("cheap").condition == "price < 300"
