"""Latency from publishing to the feed, of what both databases still have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from tamis.progress import BatchReport
from tamis.service.api.app import make_app
from tamis.service.latency import measure_latency
from tests.service.page.worlds import ORIGIN, World, make_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = make_world(tmp_path)
    made.subscribe("default", "all", "price > 0")
    yield made
    made.service.close()


def report_of(world: World, batch: int, ends_after: float) -> BatchReport:
    """A report of a batch that ended so many seconds after the event `e` was accepted."""
    world.report(1)
    accepted = world.service.inbox.accepted_at(["default/e"])["default/e"]
    start = accepted + timedelta(seconds=ends_after - 2)
    return replace(world.service.reports.last.pop(), batch=batch, at=start, seconds=2.0)


def test_it_ends_when_the_batch_does(world: World) -> None:
    world.publish("default", {"id": "e", "price": 1})
    world.match([("default/e", "default/all")])
    reports = [report_of(world, 0, 5.0), report_of(world, 7, 50.0)]
    found = measure_latency(world.service.inbox, world.service.feed, reports, "default")
    assert found.notifications == 1
    assert found.p50 == found.p99 == pytest.approx(5.0)


def test_without_a_report_it_ends_with_the_match(world: World) -> None:
    """Matched before it was accepted, by this world's clock: never less than nothing."""
    world.publish("default", {"id": "e", "price": 1})
    world.match([("default/e", "default/all")])
    found = measure_latency(world.service.inbox, world.service.feed, [], "default")
    assert (found.notifications, found.p50, found.p99) == (1, 0.0, 0.0)


def test_percentiles_are_of_notifications(world: World) -> None:
    ids = [f"e{number}" for number in range(99)]
    world.publish("default", {"id": "e", "price": 1}, *({"id": id, "price": 1} for id in ids))
    world.match([("default/e", "default/all"), *((f"default/{id}", "default/all") for id in ids[:50])])
    world.match([(f"default/{id}", "default/all") for id in ids[50:]])
    reports = [report_of(world, 0, 3.0), report_of(world, 1, 9.0)]
    found = measure_latency(world.service.inbox, world.service.feed, reports)
    assert found.notifications == 100
    assert [found.p50, found.p99] == pytest.approx([3.0, 9.0])


def test_each_tenant_has_its_own_and_what_is_gone_is_left_out(world: World) -> None:
    world.publish("acme", {"id": "e", "price": 1})
    world.match([("acme/e", "acme/all"), ("acme/gone", "acme/all")])
    measure = world.service.inbox, world.service.feed, ()
    assert measure_latency(*measure, "default").p50 is None
    assert measure_latency(*measure, "acme").notifications == 1
    assert measure_latency(*measure).notifications == 1


def test_prometheus_and_the_pages_have_it(world: World) -> None:
    world.publish("default", {"id": "e", "price": 1})
    world.match([("default/e", "default/all")])
    world.service.reports.last.append(report_of(world, 0, 4.0))
    families = text_string_to_metric_families(world.service.metrics.text().decode())
    [family] = [each for each in families if each.name == "tamis_notification_seconds"]
    assert {each.labels["quantile"]: each.value for each in family.samples} == pytest.approx({"0.5": 4, "0.99": 4})
    client = TestClient(make_app(world.service), ORIGIN, headers={"Authorization": f"Bearer {world.token}"})
    for page in ("/index.json", "/statistics.json"):
        found = json.loads(client.get(page).text)["latency"]
        assert (found["notifications"], found["p50"]) == (1, pytest.approx(4.0))
    assert "from published to notified" in client.get("/").text
