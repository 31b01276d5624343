"""Conversations between real services, without their streams: what is said, resent, refused and cut."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from tamis._version import __version__
from tamis.cli.app import app
from tamis.events import EventType
from tamis.service.accounts import TenantRights
from tamis.service.inbox import Arrival
from tamis.service.peers import protocol
from tamis.service.peers.entries import EntryRules
from tamis.service.peers.links import LinkError
from tamis.service.peers.outbox import write_forwards
from tamis.service.peers.sender import BackOff, Conversation
from tests.service.api.running import running
from tests.service.living import until
from tests.service.peers.chains import TOKEN, LinkedSite, are_linked, in_step, sites_in
from tests.service.peers.ways import way_to

pytestmark = pytest.mark.slow


def forward(site: LinkedSite, link: str, *ids: str, path: tuple[str, ...] = (), padding: int = 0) -> None:
    """Accept events and put them into the outbox, as the stream would."""
    names = [f"default/{id}" for id in ids]
    values = [json.dumps({"id": id, "x": 1, "text": "-" * padding}).encode() for id in ids]
    inbox = site.service.inbox
    inbox.append([Arrival(name, "default/event", value, path) for name, value in zip(names, values, strict=True)])
    table = pa.table({"event_id": names, "subscription_id": [f"~link/{link}/k"] * len(names)})
    with site.service.feed.database.writing() as connection:
        write_forwards(connection, table, inbox.places, 1)


def arrived(site: LinkedSite) -> list[str]:
    """The ids of all events of a site, in the order in which it has taken them."""
    return [each.id.partition("/")[2] for each in site.service.inbox.recent("default", limit=10_000)][::-1]


def test_entries_follow_subscriptions_as_they_come_change_and_go(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a", "b", "c") as (a, b, c):
        a.link_to(b)
        b.link_to(c)
        are_linked(a, b, c)
        c.subscribe("s", "x = 1")
        until(lambda: a.peer("b")["entries_in"] == 1)
        c.subscribe("same", "x = 1")
        answer = c.client.patch("/v1/subscriptions/same", json={"condition": "x = 2"})
        assert answer.status_code == 200, answer.text
        until(lambda: a.peer("b")["entries_in"] == 2)
        for id in ("s", "same"):
            assert c.client.delete(f"/v1/subscriptions/{id}").status_code == 204
        until(lambda: a.peer("b")["entries_in"] == 0)
        assert (a.peer("b")["reach"], c.peer("b")["reach"]) == (["c"], ["a"])
        # What belongs to links is nobody's subscription.
        b.subscribe("own", "x = 3")
        in_step(a, b, c)
        items = a.client.get("/v1/subscriptions").json()["items"]
        assert items == [] and a.client.get("/peers.json").json()["items"][0]["entries_in"] == 1
        assert 'tamis_link_entries{direction="in",link="b"} 1.0' in a.client.get("/metrics").text


def test_an_entry_goes_when_its_subscription_expires(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a", "b") as (a, b):
        a.link_to(b)
        are_linked(a, b)
        b.subscribe("short", "x = 1", valid_for=3_600)
        b.subscribe("long", "x = 2", valid_for=86_400)
        until(lambda: a.peer("b")["entries_in"] == 2)
        b.service.store.expire(datetime.now(UTC) + timedelta(hours=2))
        until(lambda: a.peer("b")["entries_in"] == 1)
        in_step(a, b)
        [kept] = b.site.wanted_entries("a", set())[1].entries.values()
        assert kept.condition == "x = 2"


def test_a_link_that_would_close_a_cycle_is_refused_and_the_others_go_on(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a", "b", "c") as (a, b, c):
        a.link_to(b)
        b.link_to(c)
        are_linked(a, b, c)
        until(lambda: a.peer("b")["reach"] == ["c"] and c.peer("b")["reach"] == ["a"])
        a.link_to(c)
        until(lambda: a.peer("c")["state"] == "refused" and c.peer("a")["state"] == "refused")
        assert {a.peer("c")["kind"], c.peer("a")["kind"]} == {"cycle"}
        c.subscribe("s", "x = 1")
        until(lambda: a.peer("b")["entries_in"] == 1)
        assert a.peer("c")["entries_in"] == 0
        are_linked(a, b, c)
        # When the other way is gone, the link is used.
        for one, other in ((a, b), (b, a)):
            assert one.client.delete(f"/v1/peers/{other.name}").status_code == 204
        until(lambda: a.peer("c")["state"] == "linked" and a.peer("c")["entries_in"] == 1)


def test_an_event_that_comes_back_is_dropped_and_its_link_cut(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a", "b") as (a, b):
        a.link_to(b)
        are_linked(a, b)
        b.subscribe("s", "x = 1")
        in_step(a, b)
        table = pa.table({"event_id": ["default/e"], "subscription_id": ["~link/b/k"]})
        a.service.inbox.append([Arrival("default/e", "default/event", b"{}", ("z",))])
        with a.service.feed.database.writing() as connection:
            write_forwards(connection, table, lambda _: {"default/e": (1, ())}, 1)
        with a.service.inbox._database.writing() as connection:
            connection.exec_driver_sql("UPDATE tamis_events SET path = 'b z'")
        until(lambda: b.peer("a")["looped"] == 1)
        assert arrived(b) == []
        until(lambda: a.peer("b")["kind"] == "cycle")


def test_types_that_differ_are_refused_by_name(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a", "b") as (a, b):
        for site, kind in ((a, "int"), (b, "double")):
            site.service.store.set_event_type(
                EventType.of({"name": "default/order", "attributes": {"price": kind}})
            )
        a.link_to(b)
        until(lambda: a.peer("b")["state"] == "refused" and b.peer("a")["state"] == "refused")
        assert a.peer("b")["kind"] == "event type" and "'default/order'" in a.peer("b")["reason"]
        a.service.store.set_event_type(EventType.of({"name": "default/order", "attributes": {"price": "double"}}))
        are_linked(a, b)


def test_types_travel_with_entries_and_tenants_stay_apart(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a", "b") as (a, b):
        for site in (a, b):
            site.service.accounts.set_rights("acme", TenantRights())
            site.service.subscriptions.prepare("acme")
        b.service.accounts.set_rights("secret", TenantRights())
        order = EventType.of({"name": "acme/order", "attributes": {"price": "int"}})
        b.service.store.set_event_type(order)
        b.service.subscriptions.prepare("secret")
        b.service.store.add("acme/s", "price < 3", event_type="acme/order", owner="acme")
        b.service.store.add("secret/s", "x = 1", event_type="secret/event", owner="secret")
        a.link_to(b)
        until(lambda: a.peer("b")["entries_in"] == 1)
        assert a.service.store.event_types()["acme/order"] == order
        assert not any(name.startswith("secret") for name in a.service.store.event_types())
        assert a.service.subscriptions.count("acme") == 0
        forward(a, "b", "e1")  # of the tenant default
        until(lambda: arrived(b) == ["e1"])
        assert b.service.inbox.recent("acme", limit=9) == []


def test_events_arrive_once_and_in_order_though_answers_are_lost(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a", "b") as (a, b), way_to(int(b.running.url.rpartition(":")[2])) as way:
        a.link_to(b)
        a.client.put("/v1/peers/b", json={"url": way.url, "token": TOKEN})
        are_linked(a, b)
        way.answers_to_lose = 3
        ids = [f"e{number}" for number in range(2_500)]
        forward(a, "b", *ids)
        until(lambda: a.peer("b")["backlog"] == 0, lambda: a.peer("b"))
        assert way.lost == 3
        assert arrived(b) == ids
        assert b.peer("a")["repeated"] > 0
        assert {each.path for each in b.service.inbox.numbered([1, 2])} == {("a",)}


def test_a_link_that_was_down_catches_up(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a") as (a,):
        with running(tmp_path / "b", site="b") as made:
            b = LinkedSite(None, "b", made)
            a.link_to(b)
            are_linked(a, b)
            b.subscribe("s", "x = 1")
            in_step(a, b)
        forward(a, "b", "e1", "e2")
        until(lambda: a.peer("b")["state"] == "down")
        assert (a.peer("b")["backlog"], a.peer("b")["entries_in"]) == (2, 1)
        a.service.tidy()
        a.service.inbox.finish_upto(2)
        assert a.service.inbox.forget(a.service.inbox.numbered([2])[0].at, a.site.outbox.first_unsent()) == 0
        with running(tmp_path / "b", site="b") as made:
            b = LinkedSite(None, "b", made)
            a.link_to(b)  # at another port
            until(lambda: arrived(b) == ["e1", "e2"])


def test_the_sender_learns_what_was_in_vain(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a", "b") as (a, b):
        a.link_to(b)
        are_linked(a, b)
        forward(a, "b", "e1", "e2")
        until(lambda: arrived(b) == ["e1", "e2"])
        b.running.match("default", "s", "e1")
        b.service.inbox.finish_upto(2)
        until(lambda: a.peer("b")["useful"] + a.peer("b")["in_vain"] == 2)
        assert (a.peer("b")["useful"], a.peer("b")["in_vain"]) == (1, 1)


def test_metrics_tell_how_a_link_is_doing(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a") as (a,):
        with running(tmp_path / "b", site="b") as made:
            b = LinkedSite(None, "b", made)
            a.link_to(b)
            are_linked(a, b)
            forward(a, "b", "e1", "e2", "e3")
            until(lambda: arrived(b) == ["e1", "e2", "e3"] and a.peer("b")["backlog"] == 0)
            b.running.match("default", "s", "e1")
            b.service.inbox.finish_upto(3)
            until(lambda: a.peer("b")["useful"] + a.peer("b")["in_vain"] == 3)
            found = metrics(a)
            assert found['tamis_link_up{link="b"}'] == 1.0
            assert {
                kind: found[f'tamis_link_events{{kind="{kind}",link="b"}}']
                for kind in ("forwarded", "useful", "in_vain", "backlog")
            } == {"forwarded": 3.0, "useful": 1.0, "in_vain": 2.0, "backlog": 0.0}
            assert found['tamis_link_lag_seconds{link="b"}'] == found['tamis_link_over_budget{link="b"}'] == 0.0
            assert metrics(b)['tamis_link_events{kind="taken",link="a"}'] == 3.0
        forward(a, "b", "e4")
        until(lambda: metrics(a)['tamis_link_up{link="b"}'] == 0.0)
        waits = metrics(a)
        assert waits['tamis_link_events{kind="backlog",link="b"}'] == 1.0
        assert waits['tamis_link_lag_seconds{link="b"}'] > 0.0


def metrics(site: LinkedSite) -> dict[str, float]:
    """What Prometheus would read of links."""
    lines = site.client.get("/metrics").text.splitlines()
    return {
        name: float(value) for name, value in (each.split() for each in lines if each.startswith("tamis_link"))
    }


def test_entries_over_their_budget_are_logged_once_and_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sites_in(tmp_path, "a", "b", link_bytes=3) as (a, b):
        b.subscribe("s", "x = 1")
        a.link_to(b)
        until(lambda: b.peer("a")["is_over_budget"])  # TRUE has four bytes
        b.subscribe("t", "y = 1")
        in_step(a, b)
        logged = [each.getMessage() for each in caplog.records if "'a' take" in each.getMessage()]
        assert logged == [
            "the 1 entries for site 'a' take 4 bytes, more than is allowed, and cannot be pruned further"
        ]
        assert metrics(b)['tamis_link_over_budget{link="a"}'] == 1.0
        assert "(entries over budget)" in b.client.get("/peers").text
        monkeypatch.setenv("TAMIS_TOKEN", b.running.token("admin"))
        line = CliRunner().invoke(app, ["peer", "list", "--url", b.running.url]).stdout
        assert line.startswith("a  linked") and " (over budget)" in line


def test_a_neighbour_of_the_settings_has_its_own_rules_of_entries(tmp_path: Path) -> None:
    """Budget, measure and merging of the other one are those of all links."""
    peers = (
        f"a http://127.0.0.1:9 {TOKEN} link_bytes=40 link_measure=memory link_merging=false",
        f"c http://127.0.0.1:9 {TOKEN}",
    )
    with sites_in(tmp_path, "b", peers=peers, link_bytes=4_000, link_cutoff=False) as (b,):
        for number in range(9):
            b.subscribe(f"s{number}", f"x = {number} AND y < {number}")
        assert b.site.rules("a") == EntryRules(40, "memory", merging=False)
        assert b.site.rules("c") == EntryRules(4_000)
        few, all_ = (b.site.wanted_entries(name, set())[1] for name in ("a", "c"))
        assert few.bytes <= 40 and not few.is_over_budget
        assert len(all_.entries) == 9


def test_the_versions_of_a_neighbour_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sites_in(tmp_path, "a", "b") as (a, b):
        a.link_to(b)
        are_linked(a, b)
        for site, neighbour in ((a, "b"), (b, "a")):
            shown = site.peer(neighbour)
            assert (shown["tamis"], shown["protocol"]) == (__version__, protocol.PROTOCOL)
            assert f"<td>{__version__}, protocol {protocol.PROTOCOL}</td>" in site.client.get("/peers").text
        monkeypatch.setenv("TAMIS_TOKEN", a.running.token("admin"))
        status = CliRunner().invoke(app, ["peer", "status", "b", "--url", a.running.url]).stdout
        assert {f"tamis: {__version__}", f"protocol: {protocol.PROTOCOL}"} <= {*status.splitlines()}


def test_a_neighbour_of_another_protocol_is_shown_with_it(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a") as (a,):
        a.client.put("/v1/peers/b", json={"url": "http://127.0.0.1:9", "token": TOKEN})
        said = protocol.Hello(site="b", protocol=99, tamis="9.9", reach=[], types={})
        with pytest.raises(LinkError) as caught:
            a.site.hello(a.site.links.get("b"), said)
        assert caught.value.kind == "protocol"
        assert (a.peer("b")["tamis"], a.peer("b")["protocol"]) == ("9.9", 99)


def test_waits_double_up_to_a_bound_until_something_works() -> None:
    back_off = BackOff()
    waits = [back_off.next_seconds() for _ in range(12)]
    for number, wait in enumerate(waits):
        longest = min(0.5 * 2**number, 30.0)
        assert longest / 2 <= wait <= longest
    assert waits[-1] >= 15.0
    back_off.reset()
    assert back_off.next_seconds() <= 0.5


def test_a_request_holds_a_bounded_part_of_a_long_backlog(tmp_path: Path) -> None:
    """However many events wait, and however long they are, what is read for a request is bounded."""
    longest = 1 << 16
    with sites_in(tmp_path, "a") as (a,):
        a.client.put("/v1/peers/b", json={"url": "http://127.0.0.1:9", "token": TOKEN})
        ids = [f"e{number}" for number in range(300)]
        forward(a, "b", *ids, padding=longest)
        conversation = Conversation(a.service, a.site, a.site.links.get("b"))
        numbers, read = a.site.outbox.pending("b", 1_000), []
        assert len(numbers) == 300
        while numbers:
            events, upto = conversation._read(numbers)
            size = sum(len(each.value) for each in events)
            assert len(events) == upto and size <= (4 << 20) + 50 * (longest + 100)
            read += [each.id for each in events]
            numbers = numbers[upto:]
        assert read == [f"default/{id}" for id in ids]


def test_entries_are_pruned_by_what_recent_events_are_like(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a", "b", link_bytes=30) as (a, b):
        events = [{"id": f"e{n}", "common": 1, "seldom": n} for n in range(50)]
        b.publish(*events)
        b.subscribe("s", "common = 1 AND seldom = 7 AND common < 100")
        a.link_to(b)
        until(lambda: a.peer("b")["entries_in"] == 1)
        [entry] = b.site.wanted_entries("a", set())[1].entries.values()
        assert entry.condition in ("seldom = 7", "seldom = 7 AND common < 100", "common = 1 AND seldom = 7")
        assert a.peer("b")["entries_in_bytes"] <= 30
