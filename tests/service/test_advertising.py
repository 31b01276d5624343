"""Advertisements: which events are as advertised, by publisher and type; which conditions overlap with none."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tamis import reference
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.language.condition import compile_condition
from tamis.service.accounts import TenantRights
from tamis.service.core import Service
from tamis.service.ingestion import PublishedEvent
from tamis.service.settings import ServiceSettings

CAMERA = EventType.from_dict({"name": "camera", "attributes": {"price": {"type": "int", "min": 0, "max": 100}}})


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(ServiceSettings(data=str(tmp_path), stream=False))
    made.subscriptions.declare("default", CAMERA, dry_run=False)
    yield made
    made.close()


def say(service: Service, id: str, condition: str, token: str | None, event_type: str = "camera") -> None:
    service.accounts.advertise("default", f"default/{id}", condition, f"default/{event_type}", token)
    service.advertising.forget()


def events(*prices: int) -> list[PublishedEvent]:
    return [PublishedEvent(str(price), None, json.dumps({"price": price}).encode()) for price in prices]


def unadvertised_events(service: Service, token: str | None, given: list[PublishedEvent]) -> list[tuple[int, str]]:
    types = service.subscriptions.event_types("default")
    return service.advertising.unadvertised_events("default", token, given, types, "camera")


def test_an_event_is_as_advertised_by_its_own_publisher(service: Service) -> None:
    say(service, "high", "price > 50", "ann")
    say(service, "low", "price < 10", "ann")
    say(service, "exact", "price = 30", "bob")
    given = events(3, 30, 60)
    assert unadvertised_events(service, "ann", given) == [(2, "not as advertised: satisfies none of high, low")]
    assert [place for place, _ in unadvertised_events(service, "bob", given)] == [1, 3]
    nothing = "not as advertised: its publisher advertises nothing of type 'camera'"
    assert unadvertised_events(service, "eve", given) == [(place, nothing) for place in (1, 2, 3)]


def test_an_advertisement_that_is_bound_to_nobody_holds_for_all(service: Service) -> None:
    say(service, "any", "price > 50", None)
    assert [place for place, _ in unadvertised_events(service, "ann", events(3, 60))] == [1]


def test_an_advertisement_is_about_its_type(service: Service) -> None:
    say(service, "a", "price < 5", "ann", "event")
    assert unadvertised_events(service, "ann", events(3)) != []
    assert service.advertising.unadvertised_events("default", "ann", events(3), {}, "event") == []


def test_conformity_equals_the_reference(service: Service) -> None:
    random_ = random.Random(1)
    texts = [f"price {sign} {random_.randrange(100)}" for sign in ("<", ">", "=", "<>") for _ in range(3)]
    said = {f"a{number}": random_.choice(texts) for number in range(6)}
    for number, (id, text) in enumerate(said.items()):
        say(service, id, text, ("ann", "bob", None)[number % 3])
    given = events(*(random_.randrange(100) for _ in range(50)))
    for token in ("ann", "bob"):
        bound = [
            compile_condition(each.condition, CAMERA)
            for each in service.accounts.advertisements("default")
            if each.token in (None, token)
        ]
        rows = [EventBatch.of(json.loads(each.value), CAMERA) for each in given]
        expected = [
            place
            for place, batch in enumerate(rows, 1)
            if not any(reference.matches(condition, batch) for condition in bound)
        ]
        assert [place for place, _ in unadvertised_events(service, token, given)] == expected


def finding(service: Service, condition: str, event_type: str = "camera") -> dict[str, Any] | None:
    of_type = service.subscriptions.event_type("default", event_type)
    return service.advertising.finding("default", of_type, condition, "sql")


def test_a_condition_that_overlaps_with_no_advertisement_is_warned_of(service: Service) -> None:
    assert finding(service, "price > 5") is None, "nobody advertises anything"
    say(service, "high", "price > 50", "ann")
    assert finding(service, "price > 60 OR price < 3") is None
    found = finding(service, "price < 50")
    assert found is not None
    assert found | {"severity": "warning", "code": "unadvertised", "start": 0, "end": 10} == found
    assert finding(service, "price < 50", "event") is None, "nothing is said of the schemaless type"


def test_declared_domains_take_part(service: Service) -> None:
    say(service, "high", "price >= 90", "ann")
    assert finding(service, "price >= 100") is None
    assert finding(service, "price > 100") is not None, "no camera costs more than 100"


def test_where_events_must_conform_silence_is_warned_of(service: Service) -> None:
    service.accounts.set_rights("default", TenantRights(conformity="warn"))
    assert finding(service, "price > 5") is not None


def test_a_revoked_token_takes_its_advertisements_along(service: Service) -> None:
    token, _ = service.accounts.new_token("default", ["publish"])
    say(service, "mine", "price > 50", token.id)
    say(service, "other", "price > 50", "bob")
    assert service.accounts.remove_token("default", token.id)
    assert [each.id for each in service.accounts.advertisements("default")] == ["default/other"]
