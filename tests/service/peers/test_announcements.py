"""Announcements: entries go only towards sites whose events may satisfy them, as in the simulation of brokers."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tamis.events import EventType
from tamis.lab.bittner.network.overlay import Overlay
from tamis.lab.bittner.network.topology import line
from tamis.language.condition import normalise
from tamis.routing.covering import uncovered
from tamis.service.accounts import Accounts, TenantRights
from tamis.service.peers.announcements import ANYTHING, AnnouncedFilter, any_of_tenant
from tamis.service.peers.entries import EVERYTHING, Entry
from tests.service.living import until
from tests.service.peers.chains import LinkedSite, are_linked, in_step, settled, site_in, sites_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {"t/event": EventType("t/event"), "u/event": EventType("u/event")}


def wanted(*texts: str, event_type: str = "t/event") -> set[Entry]:
    return {Entry(event_type, text) for text in texts}


def test_only_overlapping_conditions_are_admitted() -> None:
    filter_ = AnnouncedFilter()
    asked = wanted("price < 5", "price > 9 AND used", "title = 'x'")
    assert filter_.overlapping(asked, frozenset(wanted("price > 7")), TYPES) == wanted(
        "price > 9 AND used", "title = 'x'"
    )
    # It follows announcements that come and go, and new conditions.
    both = frozenset(wanted("price > 7", "price = 3"))
    assert filter_.overlapping(asked, both, TYPES) == asked
    more = asked | wanted("price = 4")
    assert filter_.overlapping(more, both, TYPES) == asked
    assert filter_.overlapping(more, frozenset(), TYPES) == set()


def test_declared_domains_take_part() -> None:
    price = {"type": "int", "min": 0, "max": 100}
    described = {"name": "t/event", "attributes": {"price": price, "used": "boolean"}}
    types, announced = {"t/event": EventType.of(described)}, frozenset(wanted("price >= 90"))
    filter_ = AnnouncedFilter()
    asked = wanted("price > 100", "price > 95", "price < 0 OR used", "price IS NULL")
    assert filter_.overlapping(asked, announced, types) == wanted("price > 95", "price < 0 OR used")
    # Without them, a price above 100 may come.
    assert wanted("price > 100") <= filter_.overlapping(asked, announced, TYPES)


def test_any_event_of_a_tenant_or_of_all_admits_everything() -> None:
    asked = wanted("a = 1") | wanted("a = 1", event_type="u/event")
    assert AnnouncedFilter().overlapping(asked, frozenset({ANYTHING}), TYPES) == asked
    assert AnnouncedFilter().overlapping(asked, frozenset({any_of_tenant("u")}), TYPES) == wanted(
        "a = 1", event_type="u/event"
    )


def test_an_announcement_that_cannot_be_read_admits_all_of_its_type() -> None:
    announced = frozenset(wanted("no_such_operator(a) = 1"))
    assert AnnouncedFilter().overlapping(wanted("a = 1"), announced, TYPES) == wanted("a = 1")


@pytest.fixture
def conform(monkeypatch: pytest.MonkeyPatch) -> Callable[[LinkedSite], None]:
    def refuse_others(site: LinkedSite) -> None:
        site.service.accounts.set_rights("default", TenantRights(conformity="refuse"))

    monkeypatch.setattr("tamis.service.peers.announcements._IN_FLIGHT_SECONDS", 0.0)
    return refuse_others


def advertise(site: LinkedSite, id: str, condition: str) -> None:
    answer = site.client.put(f"/v1/advertisements/{id}", json={"condition": condition})
    assert answer.status_code in (200, 201), answer.text


def held(site: LinkedSite, neighbour: LinkedSite) -> set[str]:
    with site.service.store.view() as view:
        return {each.condition for each in view.subscriptions(owner=f"~link/{neighbour.name}")}


@pytest.mark.slow
def test_entries_come_and_go_with_advertisements(tmp_path: Path, conform: Callable[[LinkedSite], None]) -> None:
    with sites_in(tmp_path, "a", "b", "c", link_advertisements=True) as (a, b, c):
        a.link_to(b)
        b.link_to(c)
        are_linked(a, b, c)
        c.subscribe("cheap", "price < 9")
        until(lambda: held(a, b) == {"price < 9"})  # anybody may publish anything yet
        assert a.peer("b")["announced_out"] is None or a.peer("b")["announced_out"] == 1
        for site in (a, b, c):
            conform(site)
        until(lambda: held(a, b) == held(b, c) == set())
        advertise(a, "dear", "price > 50")
        until(lambda: b.peer("a")["announced_in"] == 1 and c.peer("b")["announced_in"] == 1)
        in_step(a, b, c)
        assert held(b, c) == set()
        advertise(a, "any", "price > 5")
        until(lambda: held(a, b) == held(b, c) == {"price < 9"})
        assert held(b, a) == held(c, b) == set()
        assert a.client.delete("/v1/advertisements/any").status_code in (200, 204)
        until(lambda: held(a, b) == held(b, c) == set())


@pytest.mark.slow
def test_an_ended_advertisement_is_announced_until_its_events_are_through(
    tmp_path: Path, conform: Callable[[LinkedSite], None]
) -> None:
    with sites_in(tmp_path, "a", "b", link_advertisements=True) as (a, b):
        a.link_to(b)
        are_linked(a, b)
        conform(a)
        b.subscribe("cheap", "price < 9")
        advertise(a, "any", "price > 5")
        until(lambda: a.site.announced_to("b") == {Entry("default/event", "price > 5")})
        until(lambda: held(a, b) == {"price < 9"})
        a.publish({"id": "e1", "price": 7})
        assert a.client.delete("/v1/advertisements/any").status_code in (200, 204)
        until(lambda: a.site.announcements._own_advertisements() == frozenset())
        for _ in range(3):  # no stream runs: the event stays unmatched
            assert Entry("default/event", "price > 5") in a.site.announced_to("b")
        assert held(a, b) == {"price < 9"}
        a.service.inbox.finish_upto(a.service.inbox.end())
        until(lambda: held(a, b) == set())


@pytest.mark.slow
@pytest.mark.parametrize("withdrawn", ["before", "while the site was down"])
def test_an_ended_advertisement_is_announced_after_a_restart_as_well(
    tmp_path: Path, conform: Callable[[LinkedSite], None], withdrawn: str
) -> None:
    announced = Entry("default/event", "price > 5")
    with sites_in(tmp_path, "b", link_advertisements=True) as (b,):
        with site_in(tmp_path, "a", link_advertisements=True) as a:
            a.link_to(b)
            are_linked(a, b)
            conform(a)
            b.subscribe("cheap", "price < 9")
            advertise(a, "any", announced.condition)
            until(lambda: a.site.announced_to("b") == {announced} and held(a, b) == {"price < 9"})
            a.publish({"id": "e1", "price": 7})
            if withdrawn == "before":
                assert a.client.delete("/v1/advertisements/any").status_code in (200, 204)
                until(lambda: a.site.announcements._own_advertisements() == frozenset())
                assert announced in a.site.announced_to("b")
            port = a.port
        if withdrawn != "before":
            accounts = Accounts(f"sqlite:///{tmp_path / 'a' / 'store.db'}")
            [found] = accounts.advertisements("default")
            assert accounts.withdraw(found.id)
            accounts.close()
        with site_in(tmp_path, "a", port=port, link_advertisements=True) as a:
            for _ in range(3):  # no stream runs: the event stays unmatched
                assert a.site.announced_to("b") == {announced}
            until(lambda: a.peer("b")["state"] == "linked" and b.peer("a")["state"] == "linked")
            in_step(a, b)
            assert held(a, b) == {"price < 9"}
            a.service.inbox.finish_upto(a.service.inbox.end())
            until(lambda: held(a, b) == set())


@pytest.mark.slow
def test_any_event_was_announced_where_nobody_knows_what_was(
    tmp_path: Path, conform: Callable[[LinkedSite], None]
) -> None:
    with sites_in(tmp_path, "b", link_advertisements=True) as (b,):
        with site_in(tmp_path, "a", link_advertisements=False) as a:
            a.link_to(b)
            are_linked(a, b)
            conform(a)
            b.subscribe("cheap", "price < 9")
            until(lambda: held(a, b) == {"price < 9"})
            a.publish({"id": "e1", "price": 7})
            port = a.port
        with site_in(tmp_path, "a", port=port, link_advertisements=True) as a:
            for _ in range(3):
                assert a.site.announced_to("b") == {ANYTHING}
            a.service.inbox.finish_upto(a.service.inbox.end())
            until(lambda: a.site.announced_to("b") == frozenset())
            until(lambda: held(a, b) == set())


@pytest.mark.slow
@pytest.mark.spark
def test_no_event_is_lost_if_a_site_restarts_after_an_advertisement_has_ended(
    spark: SparkSession, tmp_path: Path, conform: Callable[[LinkedSite], None]
) -> None:
    with sites_in(tmp_path, "b", spark=spark, link_advertisements=True) as (b,):
        with site_in(tmp_path, "a", link_advertisements=True) as a:
            a.link_to(b)
            are_linked(a, b)
            conform(a)
            b.subscribe("cheap", "price < 9")
            advertise(a, "any", "price > 5")
            until(lambda: held(a, b) == {"price < 9"})
            a.publish({"id": "e1", "price": 7})
            assert a.client.delete("/v1/advertisements/any").status_code in (200, 204)
            port = a.port
        with site_in(tmp_path, "a", spark, port, link_advertisements=True) as a:
            until(lambda: b.peer("a")["announced_in"] is not None and b.peer("a")["state"] == "linked")
            in_step(a, b)
            a.start()
            settled(a, b)
            assert b.notified() == [("cheap", "e1")]
            until(lambda: held(a, b) == set())


@pytest.mark.slow
@pytest.mark.spark
def test_events_reach_who_wants_them_with_entries_for_advertised_events_only(
    spark: SparkSession, tmp_path: Path, conform: Callable[[LinkedSite], None]
) -> None:
    with sites_in(tmp_path, "a", "b", "c", spark=spark, link_advertisements=True) as (a, b, c):
        for site in (a, b, c):
            conform(site)
        a.link_to(b)
        b.link_to(c)
        are_linked(a, b, c)
        advertise(a, "cheap", "price < 100")
        b.subscribe("near", "price < 10")
        c.subscribe("far", "price < 50")
        c.subscribe("dear", "price > 200")
        until(lambda: held(a, b) == {"price < 50"} and held(b, c) == {"price < 50"})  # covers that of site b
        a.publish({"id": "e1", "price": 5}, {"id": "e2", "price": 30}, {"id": "e3", "price": 70})
        assert a.client.post("/v1/events", json=[{"id": "e4", "price": 300}]).status_code == 422
        settled(a, b, c)
        assert (b.notified(), sorted(c.notified())) == ([("near", "e1")], [("far", "e1"), ("far", "e2")])
        assert (a.peer("b")["forwarded"], b.peer("c")["forwarded"]) == (2, 2)
        advertise(a, "dear", "price > 250")
        until(lambda: held(a, b) == held(b, c) == {"price < 50", "price > 200"})
        a.publish({"id": "e5", "price": 300})
        a.client.delete("/v1/advertisements/dear").raise_for_status()  # its event is still under way
        settled(a, b, c)
        assert c.notified("dear") == [("dear", "e5")]
        until(lambda: held(a, b) == held(b, c) == {"price < 50"})


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_entries_are_where_the_simulation_has_subscriptions(
    tmp_path: Path, conform: Callable[[LinkedSite], None], seed: int
) -> None:
    chance = random.Random(seed)
    overlay = Overlay(line(3), EventType("event"), forwarding="advertisements")
    with sites_in(tmp_path, "a", "b", "c", link_advertisements=True) as sites:
        for site in sites:
            conform(site)
        for place, site in enumerate(sites):
            for number in range(2):
                condition = _condition(chance)
                advertise(site, f"ad{number}", condition)
                overlay.advertise(f"{site.name}{number}", normalise(condition), place)
        sites[0].link_to(sites[1])
        sites[1].link_to(sites[2])
        are_linked(*sites)
        homes: dict[str, int] = {}
        for place, site in enumerate(sites):
            for number in range(8):
                condition = _condition(chance)
                if condition not in homes:
                    homes[condition] = place
                    site.subscribe(f"s{number}", condition)
                    overlay.subscribe(condition, normalise(condition), place)
        until(lambda: all(_held_as_simulated(sites, here, overlay, homes) for here in range(3)))
    assert any(overlay.hops(each, (home + 1) % 3) is None for each, home in homes.items())


def _held_as_simulated(sites: list[LinkedSite], here: int, overlay: Overlay, homes: dict[str, int]) -> bool:
    """Does a site have, of each neighbour, what is behind it and has come to the broker, unless it is covered?"""
    for there in (here - 1, here + 1):
        if 0 <= there < len(sites):
            come = [
                text
                for text, home in sorted(homes.items())
                if (home > here) == (there > here) and home != here and overlay.hops(text, here) is not None
            ]
            expected = {come[place] for place in uncovered([normalise(each) for each in come])}
            if held(sites[here], sites[there]) != expected:
                return False
    return True


def _condition(chance: random.Random) -> str:
    low = chance.randrange(90)
    parts = [f"x BETWEEN {low} AND {low + chance.randrange(1, 12)}", f"y = '{chance.choice('pqrs')}'"]
    return " AND ".join(chance.sample(parts, chance.randint(1, 2)))


def test_everything_is_a_condition_of_the_language() -> None:
    assert normalise(EVERYTHING).describe() == EVERYTHING
