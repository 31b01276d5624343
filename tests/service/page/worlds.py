"""A service with something in it: subscriptions, events, matches, and things that went wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS, dead_letter_ids, notification_ids
from tamis.progress import BatchReport
from tamis.service.core import Service
from tamis.service.feed import FeedSink
from tamis.service.inbox import Arrival
from tamis.service.names import qualified_name
from tamis.service.page.links import twin_path
from tamis.service.settings import ServiceSettings
from tamis.service.webhooks.records import DeliveryAttempt, Transition
from tamis.service.webhooks.settings import PauseRule
from tamis.sinks.base import Delivery
from tamis.store.records import microseconds

HOSTILE = "<script>alert(1)</script>"
ORIGIN = "http://127.0.0.1"


@dataclass
class World:
    """A service, and tokens of two tenants."""

    service: Service
    token: str
    other: str
    publisher: str
    batches: int = 0

    def publish(self, tenant: str, *events: dict[str, Any]) -> None:
        name = qualified_name(tenant, "event")
        arrivals = [
            Arrival(qualified_name(tenant, event["id"]), name, json.dumps(event).encode()) for event in events
        ]
        self.service.inbox.append(arrivals)

    def subscribe(self, tenant: str, id: str, condition: str, **more: Any) -> str:
        made = self.service.subscriptions.subscribe(tenant, {"id": id, "condition": condition, **more})
        return made.ticket

    def match(self, pairs: Sequence[tuple[str, str]], dead: Sequence[tuple[str, bytes]] = ()) -> None:
        """A batch with notifications of (event, subscription), named as inside, and dead letters."""
        when = datetime.now(UTC) - timedelta(seconds=15)
        sink = FeedSink(url=self.service.settings.database("feed"))
        notifications, letters = _notifications(pairs, when), _dead(dead, when)
        sink.commit(Delivery("tamis", self.batches, when, 1, notifications, letters))
        sink.close()
        self.batches += 1

    def report(self, count: int) -> None:
        """Reports of batches, as the stream would have written them."""
        start = datetime.now(UTC) - timedelta(seconds=count)
        for number in range(count):
            self.service.reports.last.append(
                BatchReport(
                    query="tamis",
                    batch=number,
                    at=start + timedelta(seconds=number),
                    seconds=0.2 + 0.05 * (number % 4),
                    match_seconds=0.1,
                    commit_seconds=0.03,
                    events=200 + 37 * (number % 5),
                    matched_events=40,
                    notifications=55,
                    repeated=0,
                    overflow=0,
                    dead=0,
                    backlog=3 * (number % 7),
                    version=1 + number // 10,
                    store_version=9,
                    lag_seconds=0.0,
                )
            )

    def park(self, subscription: str, notification_id: str, seq: int, pause_after: int = 0) -> None:
        """Let the delivery of a notification have failed; the subscription, named as inside, has a webhook."""
        hook = self.service.webhooks.get(subscription)
        assert hook is not None
        now = microseconds(datetime.now(UTC))
        shake = DeliveryAttempt("handshake", subscription, now, 0.02, 1, 200, None, "delivered")
        call = DeliveryAttempt(notification_id, subscription, now, 0.8, 12, 503, "answered 503", "failed")
        self.service.webhooks.record([Transition(shake, hook.created, None, "confirm")])
        self.service.webhooks.record([Transition(call, hook.created, seq, "park")], PauseRule(parked=pause_after))


def twin_of(where: str) -> str:
    """The address of the JSON that a page is made of."""
    path, mark, query = where.partition("?")
    return twin_path(path) + mark + query


def make_world(folder: Path) -> World:
    service = Service(ServiceSettings(data=str(folder), stream=False, webhook_networks=("127.0.0.1/32",)))
    accounts = service.accounts
    _, token = accounts.new_token("default", ["admin"])
    accounts.set_rights("acme", accounts.rights("default") or _rights())
    _, other = accounts.new_token("acme", ["subscribe"])
    _, publisher = accounts.new_token("default", ["publish"])
    return World(service, token, other, publisher)


def fill(world: World) -> None:
    """What the tests look for."""
    world.subscribe("default", "cheap", "price < 300 AND brand = 'Lumen'", label="bargains")
    world.subscribe("default", "hostile", f"brand = '{HOSTILE}'", label=HOSTILE)
    hook = {"kind": "webhook", "url": "http://127.0.0.1:9/hook"}
    world.subscribe("default", "called", "price < 1000 OR brand IS NULL", delivery=hook)
    world.subscribe("acme", "secret-plan", "price > 5")
    world.publish(
        "default",
        {"id": "e1", "price": 250, "brand": "Lumen"},
        {"id": HOSTILE, "price": 990, "brand": HOSTILE},
        {"id": "shop/7?x#y.json", "price": 5, "brand": "Orion"},
        {"id": "half", "price": 7, "brand": "\ud800 half"},
    )
    world.publish("acme", {"id": "acme-event", "price": 9})
    pairs = [("default/e1", "default/cheap"), ("default/e1", "default/called")]
    pairs += [(f"default/{HOSTILE}", "default/hostile"), (f"default/{HOSTILE}", "default/called")]
    pairs += [("default/shop/7?x#y.json", "default/called"), ("acme/acme-event", "acme/secret-plan")]
    world.match(pairs, [("default/bad", f'{{"id": "bad", "x": "{HOSTILE}"}}'.encode()), ("acme/worse", b"{}")])
    first = world.service.feed.before("default", None, limit=10, subscription="default/called")[-1]
    world.park("default/called", first.id, first.seq)
    world.report(30)


def _rights() -> Any:
    from tamis.service.accounts import TenantRights

    return TenantRights()


def _notifications(pairs: Sequence[tuple[str, str]], when: datetime) -> pa.Table:
    events = pa.array([event for event, _ in pairs], pa.string())
    subscriptions = pa.array([subscription for _, subscription in pairs], pa.string())
    revisions = pa.array([1] * len(pairs), pa.int64())
    types = pa.array([f"{event.partition('/')[0]}/event" for event, _ in pairs], pa.string())
    columns = [
        notification_ids(events, subscriptions, revisions),
        events,
        subscriptions,
        revisions,
        types,
        pa.array([1] * len(pairs), pa.int64()),
        pa.array([None] * len(pairs), NOTIFICATIONS.field("event_time").type),
        pa.array([when] * len(pairs), NOTIFICATIONS.field("matched_at").type),
        pa.array([event.partition("/")[0] for event, _ in pairs], pa.string()),
        pa.array([None] * len(pairs), pa.string()),
        pa.array([json.dumps({"brand": HOSTILE})] * len(pairs), pa.string()),
    ]
    return pa.table(columns, names=NOTIFICATIONS.names[: len(columns)])


def _dead(dead: Sequence[tuple[str, bytes]], when: datetime) -> pa.Table:
    kinds = pa.array(["malformed"] * len(dead), pa.string())
    bodies = pa.array([body for _, body in dead], pa.binary())
    columns = [
        dead_letter_ids(kinds, bodies),
        pa.array([id for id, _ in dead], pa.string()),
        kinds,
        pa.array([f"no number: {HOSTILE}" for _ in dead], pa.string()),
        bodies,
        pa.array([when] * len(dead), DEAD_LETTERS.field("at").type),
    ]
    return pa.table(columns, schema=DEAD_LETTERS)
