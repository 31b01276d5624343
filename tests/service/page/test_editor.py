"""The editor: empty, or with what another subscription has."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tamis.events.event_type import EventType
from tamis.service.errors import NotFound
from tamis.service.inbox import Arrival
from tamis.service.page import editor
from tamis.service.page.page_request import PageRequest, TimedCache
from tests.service.page.worlds import World


def test_a_new_subscription_may_begin_like_another(ask: Callable[..., PageRequest]) -> None:
    data = editor.data(ask(like="cheap", condition="ignored"))
    assert (data["condition"], data["label"]) == ("price < 300 AND brand = 'Lumen'", "bargains")
    assert data["event_types"] == ["event"]
    assert data["dialect"] == "sql" and {"sql", "eventbridge", "jms"} <= {*data["dialects"]}
    assert {each["id"] for each in data["events"]} >= {"e1", "half"}


def test_like_one_that_is_not_there_it_begins_as_asked(ask: Callable[..., PageRequest]) -> None:
    data = editor.data(ask(like="secret-plan", condition="x > 1"))
    assert (data["condition"], data["event_type"], data["label"]) == ("x > 1", "event", "")


def test_the_events_to_explain_are_of_the_chosen_type(world: World) -> None:
    caller = world.service.accounts.caller(world.token)
    assert caller is not None
    world.service.subscriptions.declare(
        "default", EventType.from_dict({"name": "camera", "attributes": {"price": "int"}}), dry_run=False
    )
    old = json.dumps({"id": "c1", "price": 1}).encode()
    world.service.inbox.append([Arrival("default/c1", "default/camera", old)])
    world.publish("default", *({"id": f"later-{number}", "price": number} for number in range(40)))

    def ids(**query: str) -> list[str]:
        data = editor.data(PageRequest(world.service, caller, query, TimedCache()))
        return [each["id"] for each in data["events"]]

    assert ids(event_type="camera") == ["c1"]
    assert ids() == ["c1"], "the only declared type is the default"
    assert "c1" not in ids(event_type="event") and ids(event_type="event")[0] == "later-39"
    # One that is asked for is among them, however old; but not among those of another type.
    assert "e1" in ids(event="e1") and "e1" not in ids()
    assert ids(event="e1", event_type="camera") == ["c1"]
    assert "acme-event" not in ids(event="acme-event")


def test_an_edit_begins_with_what_the_subscription_has(ask: Callable[..., PageRequest]) -> None:
    data = editor.edit_data(ask("cheap"))
    assert data["subscription"]["revision"] == 1
    assert (data["condition"], data["label"]) == ("price < 300 AND brand = 'Lumen'", "bargains")
    assert editor.data(ask())["subscription"] is None


def test_only_what_lives_can_be_edited(ask: Callable[..., PageRequest]) -> None:
    for id in ("secret-plan", "never", ""):
        with pytest.raises(NotFound):
            editor.edit_data(ask(id))
