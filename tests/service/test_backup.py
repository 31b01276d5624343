"""A backup of all tenants, restored into a service that has nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tamis.events.event_type import EventType
from tamis.service.accounts import TenantRights
from tamis.service.core import Service
from tamis.service.inbox import Arrival
from tamis.service.settings import ServiceSettings

DAY = timedelta(days=1)
LATER = datetime.now(UTC).replace(microsecond=123_456) + timedelta(days=9)
HOOK = {"kind": "webhook", "url": "http://127.0.0.1:9/hook"}


@pytest.fixture
def new_service(
    tmp_path: Path, request: pytest.FixtureRequest, new_schema: Callable[[], str]
) -> Iterator[Callable[[str], Service]]:
    """Opens services, each on databases of their own."""
    with ExitStack() as stack:

        def open_one(kind: str) -> Service:
            number = len(list(tmp_path.iterdir()))
            url = new_schema() if kind == "postgresql" else ""
            databases: dict[str, Any] = {"store": url, "feed": url, "inbox": url}
            folder = str(tmp_path / f"service {number}")
            networks = ("127.0.0.1/32",)
            service = Service(
                ServiceSettings(data=folder, stream=False, webhook_networks=networks, site="south", **databases)
            )
            stack.callback(service.close)
            return service

        yield open_one


def set_up(service: Service) -> dict[str, tuple[str, str]]:
    """Give two tenants everything that there is; gives token and ticket of each."""
    secrets = {}
    plain = {"event_type": "event"}
    service.site.links.put("north", "https://north.example", "a" * 40)
    for tenant in ("acme", "bolt"):
        rights = TenantRights(subscriptions=9, matches_per_minute=7, operators=("a",))
        service.accounts.set_rights(tenant, rights)
        service.subscriptions.prepare(tenant)
        _, token = service.accounts.new_token(tenant, ["subscribe", "publish"], f"of {tenant} ü")
        sale = EventType.of({"name": "sale", "attributes": {"price": "decimal(8,2)"}})
        service.subscriptions.declare(tenant, sale, dry_run=False)
        service.accounts.advertise(tenant, f"{tenant}/all", "price > 0", f"{tenant}/sale", "a-token")
        service.subscriptions.deliver_to(tenant, "@ann", HOOK["url"], 60.0)
        for given in (
            {"id": "on", "condition": "price < 3", "event_type": "sale", "priority": -3, "expires": LATER},
            {"id": "off", "condition": "name = 'Zoë\n\u2028'", "label": "ü", "subscriber": "ann", **plain},
            {"id": "later", "condition": "x = 1", "valid_from": LATER - DAY, "expires": LATER, **plain},
            {"id": "rule", "condition": '{"x": [1]}', "dialect": "eventbridge", **plain},
            {
                "id": "both",
                "condition": "x = 1 THEN x = 2 WITHIN INTERVAL '1' HOUR",
                "dialect": "composite",
                **plain,
            },
            {"id": "hooked", "condition": "x = 1", "delivery": HOOK, **plain},
        ):
            made = service.subscriptions.subscribe(tenant, given)
        service.subscriptions.pause(tenant, "off", paused=True)
        secrets[tenant] = token, made.ticket
    return secrets


def everything(service: Service) -> Any:
    """All that a backup has, by the parts of the service and not by the backup."""
    links = [(each.name, each.url, each.token) for each in service.site.links.all()]
    anew: dict[str, Any] = {"created": LATER, "changed": LATER}
    tenants = service.accounts.tenants()
    return (
        tenants,
        {name: service.accounts.sealed_tokens(name) for name in tenants},
        service.store.event_types(),
        {
            name: [replace(each, created=LATER) for each in service.accounts.advertisements(name)]
            for name in tenants
        },
        [replace(each, **anew) for each in service.store.list()],
        {
            each.subscription_id: (each.url, each.secret, each.state, each.digest_seconds)
            for each in service.webhooks.list()
        },
        links,
    )


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [("sqlite", "sqlite"), ("sqlite", "postgresql"), ("postgresql", "sqlite")])
def test_what_is_restored_is_everything(new_service: Callable[[str], Service], kinds: tuple[str, str]) -> None:
    old, new = map(new_service, kinds)
    secrets = set_up(old)
    old.webhooks.add("bolt/hooked", HOOK["url"], state="confirmed")
    lines = [json.dumps(record) for record in old.backup.records()]
    done = new.backup.restore(map(json.loads, lines))
    assert done.refusals == []
    counts = {
        "tenant": 3,
        "token": 2,
        "event_type": 5,
        "advertisement": 2,
        "subscriber": 2,
        "link": 1,
        "subscription": 12,
    }
    assert done.restored == counts
    assert everything(new) == everything(old)
    states = {each.id: each.state for each in new.store.list()}
    assert (states["acme/off"], states["acme/later"], states["acme/on"]) == ("paused", "waiting", "active")
    dialects = {each.id: each.dialect for each in new.store.list()}
    assert (dialects["acme/rule"], dialects["acme/both"], dialects["acme/on"]) == (
        "eventbridge",
        "composite",
        "sql",
    )
    for tenant, (token, ticket) in secrets.items():
        caller = new.accounts.caller(token)
        assert caller is not None and (caller.tenant, {*caller.roles}) == (tenant, {"subscribe", "publish"})
        new.subscriptions.check_ticket(tenant, "hooked", ticket)
        [added] = new.subscriptions.history(tenant, "hooked")
        assert (added.kind, added.actor) == ("add", "the operator, from a backup")
        assert token not in "".join(lines) and ticket not in "".join(lines)


def test_what_is_there_is_refused_or_replaced(new_service: Callable[[str], Service]) -> None:
    old, new = new_service("sqlite"), new_service("sqlite")
    set_up(old)
    records = [*old.backup.records()]
    assert new.backup.restore(records).refusals == []
    new.subscriptions.change("acme", "on", {"condition": "price < 4"})
    new.subscriptions.pause("acme", "off", paused=False)
    again = new.backup.restore(records)
    assert sorted(each.id for each in again.refusals) == sorted(each.id for each in old.store.list())
    assert new.subscriptions.get("acme", "on").condition == "price < 4"
    assert new.backup.restore(records, replace=True).refusals == []
    assert new.subscriptions.get("acme", "on").condition == "price < 3"
    assert new.subscriptions.get("acme", "off").state == "paused"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "expected an object with one of tenant, token"),
        ({"tenant": {}, "token": {}}, "expected an object with one of tenant, token"),
        ({"tenant": {}}, "tenant: KeyError: 'name'"),
        ({"tenant": {"name": "A", "rights": {}}}, "1 to 63 of a-z"),
        ({"tenant": {"name": "acme", "rights": {"gold": 1}}}, "there is no right 'gold'"),
        (
            {"token": {"id": "a", "tenant": "nobody", "roles": ["admin"], "label": ""}},
            "token: KeyError: 'created'",
        ),
        ({"event_type": {"name": 7}}, "name"),
        ({"subscription": {"id": "a"}}, "subscription: KeyError: 'condition'"),
    ],
)
def test_what_is_no_record_is_refused_and_the_rest_restored(
    new_service: Callable[[str], Service], record: Any, message: str
) -> None:
    service = new_service("sqlite")
    good = {"tenant": {"name": "bolt", "rights": {}}}
    done = service.backup.restore([record, good])
    [refusal] = done.refusals
    assert message in str(refusal.error)
    assert "bolt" in service.accounts.tenants()


def test_a_subscription_belongs_to_its_owner(new_service: Callable[[str], Service]) -> None:
    service = new_service("sqlite")
    fields = {
        "condition": "x = 1",
        "label": None,
        "priority": 0,
        "valid_from": None,
        "expires": None,
        "state": None,
    }
    row = {**fields, "id": "default/a", "owner": "default", "event_type": "default/event"}
    for wrong in ({"id": "acme/a"}, {"owner": "acme"}, {"event_type": "acme/event"}):
        [refusal] = service.backup.restore([{"subscription": row | wrong}]).refusals
        assert "expected a name of tenant" in str(refusal.error)
    assert service.backup.restore([{"subscription": row}]).refusals == []


def test_a_link_of_the_settings_counts_and_is_not_in_a_backup(tmp_path: Path) -> None:
    record = {"link": {"name": "north", "url": "https://elsewhere.example", "token": "b" * 40}}
    peers = (f"north https://north.example {'a' * 40}",)
    with closing(Service(ServiceSettings(data=str(tmp_path), stream=False, site="south", peers=peers))) as service:
        assert [each for each in service.backup.records() if "link" in each] == []
        [refused] = service.backup.restore([record]).refusals
        assert "the settings of this service have one to 'north'" in str(refused.error)
        assert service.site.links.get("north").url == "https://north.example"


def test_a_link_needs_a_site(tmp_path: Path) -> None:
    record = {"link": {"name": "north", "url": "https://north.example", "token": "b" * 40}}
    with closing(Service(ServiceSettings(data=str(tmp_path), stream=False))) as service:
        [refused] = service.backup.restore([record]).refusals
        assert (refused.id, "set site in its settings" in str(refused.error)) == ("north", True)


def test_copies_of_the_databases_are_a_service(tmp_path: Path) -> None:
    """As the operations guide says: the feed first, while the service runs, into an empty folder."""
    copied = tmp_path / "copied"
    copied.mkdir()
    given: dict[str, Any] = {"stream": False, "site": "south", "webhook_networks": ("127.0.0.1/32",)}
    with closing(Service(ServiceSettings(data=str(tmp_path / "old"), **given))) as old:
        token = set_up(old)["acme"][0]
        old.inbox.append([Arrival("acme/e", "acme/event", b'{"id": "e", "x": 1}')])
        for name in ("feed", "inbox", "store"):
            with closing(sqlite3.connect(tmp_path / "old" / f"{name}.db")) as source:
                with closing(sqlite3.connect(copied / f"{name}.db")) as target:
                    source.backup(target)
        old.subscriptions.pause("acme", "on", paused=True)  # the copy is not touched by what comes later
        with closing(Service(ServiceSettings(data=str(copied), **given))) as new:
            assert (new.store.get("acme/on").state, old.store.get("acme/on").state) == ("active", "paused")
            old.subscriptions.pause("acme", "on", paused=False)
            assert everything(new) == everything(old)
            assert new.store.history("acme/off") == old.store.history("acme/off"), "unlike a restored export"
            caller = new.accounts.caller(token)
            assert caller is not None and caller.tenant == "acme"
            [event] = new.inbox.get(["acme/e"]).values()
            assert (event.value, new.inbox.waiting()) == (b'{"id": "e", "x": 1}', 1)
