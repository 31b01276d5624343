"""Subscriptions as their owners see them: names, tickets, validity, quotas, imports, event types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tamis.errors import ConditionError, SubscriptionError
from tamis.events.event_type import EventType
from tamis.service.accounts import Accounts, TenantRights
from tamis.service.errors import Conflict, Forbidden, NotFound, QuotaExceeded
from tamis.service.feed import FeedReader
from tamis.service.settings import ServiceSettings
from tamis.service.subscriptions import TenantSubscriptions, _error_for
from tamis.service.webhooks.addresses import Gate
from tamis.service.webhooks.queue import Webhooks
from tamis.store import Store

SALE = EventType.of({"name": "sale", "attributes": {"price": "double"}})


class World:
    """Subscriptions, and what they stand on."""

    def __init__(self, url: str, folder: Path, stack: ExitStack) -> None:
        self.store = stack.enter_context(Store.open(url))
        self.accounts = Accounts(url)
        stack.callback(self.accounts.close)
        feed = FeedReader(f"sqlite:///{folder / 'feed.db'}")
        stack.callback(feed.close)
        webhooks = Webhooks(feed.database, gate=Gate(("127.0.0.0/8",)))
        self.settings = ServiceSettings(data=str(folder), validity_seconds=60, longest_validity_seconds=3_600)
        self.subscriptions = TenantSubscriptions(self.store, self.accounts, webhooks, self.settings)
        self.accounts.set_rights("acme", TenantRights(subscriptions=3))


@pytest.fixture
def world(url: str, tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(url, tmp_path, stack)


def seconds_left(until: datetime | None) -> float:
    assert until is not None
    return (until - datetime.now(UTC)).total_seconds()


# --- making ------------------------------------------------------------------------------------------------------


def test_a_subscription_has_a_ticket_and_ends_after_the_default_time(world: World) -> None:
    made = world.subscriptions.subscribe("acme", {"id": "cheap", "condition": "price < 5", "label": "x"})
    assert (made.subscription.id, made.subscription.label, made.subscription.event_type) == ("cheap", "x", "event")
    assert 0 < seconds_left(made.subscription.expires) <= 60
    world.subscriptions.check_ticket("acme", "cheap", made.ticket)
    assert world.store.get("acme/cheap").owner == "acme"


def test_a_subscription_without_an_id_gets_one(world: World) -> None:
    ids = {world.subscriptions.subscribe("acme", {"condition": "true"}).subscription.id for _ in range(2)}
    assert len(ids) == 2


def test_an_id_is_taken_once_by_each_tenant(world: World) -> None:
    given = {"id": "a", "condition": "true"}
    world.subscriptions.subscribe("acme", given)
    with pytest.raises(Conflict, match="there is already a subscription 'a'"):
        world.subscriptions.subscribe("acme", given)
    world.subscriptions.subscribe("default", given)


def test_a_subscription_that_is_refused_leaves_no_ticket_and_no_webhook(world: World) -> None:
    delivery = {"kind": "webhook", "url": "http://127.0.0.1:9/x"}
    with pytest.raises(ConditionError):
        world.subscriptions.subscribe("acme", {"id": "a", "condition": "price <", "delivery": delivery})
    assert world.subscriptions.webhook("acme", "a") is None
    assert world.subscriptions.count("acme") == 0


def test_a_webhook_comes_and_goes_with_its_subscription(world: World) -> None:
    delivery = {"kind": "webhook", "url": "http://127.0.0.1:9/x"}
    made = world.subscriptions.subscribe("acme", {"id": "a", "condition": "true", "delivery": delivery})
    assert made.secret
    assert world.subscriptions.webhook("acme", "a") is not None
    world.subscriptions.unsubscribe("acme", "a")
    assert world.subscriptions.webhook("acme", "a") is None


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"colour": 1}, "there is no field 'colour'"),
        ({"id": "a/b"}, "id: expected a text without /"),
        ({"valid_for": 0}, "valid_for: expected a number of seconds above 0"),
        ({"valid_for": 10_000}, "it may last for at most 3,600 seconds"),
        ({"expires": "soon"}, "expires: expected a time"),
        ({"delivery": {"kind": "pigeon"}}, "delivery: expected a kind of pull or webhook"),
        ({"delivery": {"kind": "webhook"}}, "delivery.url: expected the URL of the receiver"),
    ],
)
def test_a_field_that_is_wrong_is_named(world: World, given: dict[str, Any], problem: str) -> None:
    with pytest.raises(SubscriptionError, match=problem):
        world.subscriptions.subscribe("acme", {"condition": "true", **given})


def test_a_tenant_has_as_many_as_it_may(world: World) -> None:
    for _ in range(3):
        world.subscriptions.subscribe("acme", {"condition": "true"})
    with pytest.raises(QuotaExceeded, match="'acme' may have 3 subscriptions, and has 3"):
        world.subscriptions.subscribe("acme", {"condition": "true"})
    world.subscriptions.subscribe("default", {"condition": "true"})


# --- changing ----------------------------------------------------------------------------------------------------


def test_only_the_ticket_of_a_subscription_opens_it(world: World) -> None:
    tickets = {
        id: world.subscriptions.subscribe("acme", {"id": id, "condition": "true"}).ticket for id in ("a", "b")
    }
    for wrong in (None, "", "x", tickets["b"]):
        with pytest.raises(Forbidden, match="the ticket of subscription 'a'"):
            world.subscriptions.check_ticket("acme", "a", wrong)
    with pytest.raises(NotFound):
        world.subscriptions.check_ticket("default", "a", tickets["a"])


def test_renewing_lets_a_subscription_last_longer(world: World) -> None:
    world.subscriptions.subscribe("acme", {"id": "a", "condition": "true", "valid_for": 5})
    renewed = world.subscriptions.renew("acme", "a", valid_for=1_000)
    assert 900 < seconds_left(renewed.expires) <= 1_000
    assert renewed.revision == 1
    with pytest.raises(SubscriptionError, match="at most 3,600 seconds"):
        world.subscriptions.renew("acme", "a", expires=datetime.now(UTC) + timedelta(days=1))


def test_another_condition_is_another_revision(world: World) -> None:
    world.subscriptions.subscribe("acme", {"id": "a", "condition": "x = 1"})
    changed = world.subscriptions.change("acme", "a", {"condition": "x = 2"})
    assert (changed.condition, changed.revision) == ("x = 2", 2)
    assert [change.kind for change in world.subscriptions.history("acme", "a")] == ["add", "replace"]
    with pytest.raises(SubscriptionError, match="owner cannot be changed"):
        world.subscriptions.change("acme", "a", {"owner": "default"})


def test_a_subscription_may_pause(world: World) -> None:
    world.subscriptions.subscribe("acme", {"id": "a", "condition": "x = 1"})
    assert world.subscriptions.pause("acme", "a", paused=True).state == "paused"
    assert world.subscriptions.pause("acme", "a", paused=False).state == "active"


def test_who_unsubscribes_is_gone_with_the_ticket(world: World) -> None:
    made = world.subscriptions.subscribe("acme", {"id": "a", "condition": "x = 1"})
    world.subscriptions.unsubscribe("acme", "a")
    with pytest.raises(NotFound, match="there is no subscription 'a'; it was removed"):
        world.subscriptions.get("acme", "a")
    again = world.subscriptions.subscribe("acme", {"id": "a", "condition": "x = 1"})
    with pytest.raises(Forbidden):
        world.subscriptions.check_ticket("acme", "a", made.ticket)
    world.subscriptions.check_ticket("acme", "a", again.ticket)


def test_another_tenants_subscription_is_not_there(world: World) -> None:
    world.subscriptions.subscribe("acme", {"id": "a", "condition": "x = 1"})
    for act in (world.subscriptions.get, world.subscriptions.unsubscribe, world.subscriptions.renew):
        with pytest.raises(NotFound, match="there is no subscription 'a'"):
            act("default", "a")
    assert world.subscriptions.page("default") == []


def test_errors_of_the_store_are_in_the_names_of_the_tenant_and_name_no_other(world: World) -> None:
    inner = SubscriptionError("why", "unknown event type", "acme/a", "acme/rent", ["acme/sale", "rival/plan"])
    seen = _error_for("acme", inner)
    assert isinstance(seen, NotFound)
    assert str(seen) == "there is no event type 'rent'; declared are sale; why"
    taken = _error_for("acme", SubscriptionError("", "exists", "acme/a"))
    assert (type(taken), str(taken)) == (Conflict, "there is already a subscription 'a'")
    wrong = _error_for("acme", SubscriptionError("label: 'rival/plan' is the text as it came", id="acme/a"))
    assert str(wrong) == "subscription 'a': label: 'rival/plan' is the text as it came"
    with pytest.raises(SubscriptionError, match="subscription 'a': label: a text may not have"):
        world.subscriptions.subscribe("acme", {"id": "a", "condition": "true", "label": "\0"})


# --- many --------------------------------------------------------------------------------------------------------


def test_an_import_takes_what_is_right_and_tells_the_rest(world: World) -> None:
    given: list[dict[str, Any]] = [
        {"id": "a", "condition": "x = 1"},
        {"id": "b", "condition": "x ="},
        {"id": "c", "condition": "x = 1", "delivery": {"kind": "webhook", "url": "ftp://127.0.0.1:9/"}},
    ]
    done = world.subscriptions.import_many("acme", given, replace=False)
    assert (done.imported.added, sorted(each.id for each in done.imported.refusals)) == (1, ["b", "c"])
    assert done.tickets.keys() == {"a"}
    world.subscriptions.check_ticket("acme", "a", done.tickets["a"])


def test_an_import_that_replaces_leaves_tickets_as_they_are(world: World) -> None:
    made = world.subscriptions.subscribe("acme", {"id": "a", "condition": "x = 1"})
    done = world.subscriptions.import_many("acme", [{"id": "a", "condition": "x = 2"}], replace=True)
    assert (done.imported.replaced, done.tickets) == (1, {})
    world.subscriptions.check_ticket("acme", "a", made.ticket)


def test_pages_and_search_are_in_the_names_of_the_tenant(world: World) -> None:
    for id in ("a1", "a2", "b1"):
        world.subscriptions.subscribe("acme", {"id": id, "condition": "x = 1"})
    world.subscriptions.subscribe("default", {"id": "a3", "condition": "x = 1"})
    page = world.subscriptions.page
    assert [each.id for each in page("acme", limit=2)] == ["a1", "a2"]
    assert [each.id for each in page("acme", after="a2")] == ["b1"]
    assert [each.id for each in page("acme", search="A")] == ["a1", "a2"]


# --- event types -------------------------------------------------------------------------------------------------


def test_event_types_are_the_tenants_own(world: World) -> None:
    world.subscriptions.declare("acme", SALE, dry_run=False)
    assert "sale" in world.subscriptions.event_types("acme")
    assert "sale" not in world.subscriptions.event_types("default")
    made = world.subscriptions.subscribe("acme", {"id": "a", "condition": "price < 5", "event_type": "sale"})
    assert made.subscription.event_type == "sale"
    with pytest.raises(NotFound, match="there is no event type 'sale'"):
        world.subscriptions.subscribe("default", {"condition": "price < 5", "event_type": "sale"})


def test_what_a_change_of_a_type_would_refuse_is_shown_before_it_is_made(world: World) -> None:
    world.subscriptions.declare("acme", SALE, dry_run=False)
    world.subscriptions.subscribe("acme", {"id": "a", "condition": "price < 5", "event_type": "sale"})
    other = EventType.of({"name": "sale", "attributes": {"cost": "double"}})
    would = world.subscriptions.declare("acme", other, dry_run=True)
    assert [each.id for each in would] == ["a"]
    assert world.subscriptions.get("acme", "a").refusal is None
    made = world.subscriptions.declare("acme", other, dry_run=False)
    assert [each.id for each in made] == ["a"]
    assert world.subscriptions.get("acme", "a").refusal is not None
