"""The cut-off of a link goes where filtering and forwards in vain together cost least, and follows changes."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from tamis import reference
from tamis.cli.app import app
from tamis.events import EventBatch
from tamis.language.condition import compile_condition
from tamis.routing.load import Load
from tests.service.living import until
from tests.service.peers.chains import LinkedSite, are_linked, in_step, settled, sites_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_handshakes_tell_how_far_entries_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sites_in(tmp_path, "a", "b") as (a, b):
        a.link_to(b)
        are_linked(a, b)
        for number in range(40):
            b.subscribe(f"s{number}", f"title = 'book {number}' AND price < {number % 7}")
        until(lambda: a.peer("b")["entries_in"] == 40)
        exact = a.peer("b")["entries_in_bytes"]
        for events in (1_000, 2_000):
            load = Load(events=events, seconds=events / 1_000)
            said = a.site.introduction("b").model_copy(update={"load": load})
            b.site.agree("a", said)
        assert b.peer("a")["halvings"] == 1
        metrics = b.client.get("/metrics").text
        assert 'tamis_link_halvings{link="a"} 1.0' in metrics
        assert f'tamis_link_entry_bytes{{direction="in",link="b"}} {exact}.0' in a.client.get("/metrics").text
        monkeypatch.setenv("TAMIS_TOKEN", b.running.token("admin"))
        assert " (halvings: 1)" in CliRunner().invoke(app, ["peer", "list", "--url", b.running.url]).stdout
        entries = b.site.wanted_entries("a", set())[1]
        assert entries.bytes <= exact / 2 and not entries.is_over_budget


KINDS, PATTERNS = 20, 30


def _event(number: int) -> dict[str, Any]:
    """One that satisfies a condition, and not by its kind alone."""
    kind, pattern = number % KINDS, number % PATTERNS
    return {"id": f"e{number}", "kind": f"k{kind}", "title": f"a title of {number} b{kind * PATTERNS + pattern}"}


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("is_worth_it", [True, False])
def test_a_running_service_generalises_entries_as_far_as_measurements_say(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_worth_it: bool
) -> None:
    """Entries take time, and `kind` alone sends the same events; or there are few of them."""
    monkeypatch.setattr("tamis.service.peers.sender._HELLO_SECONDS", 2.0)
    if is_worth_it:  # on a fast processor, too
        monkeypatch.setattr("tamis.service.peers.site._EVENT_SECONDS", 1e-5)
    numbers = [*range(KINDS * PATTERNS)] if is_worth_it else [*range(KINDS)]
    conditions = {
        f"s{n}": f"kind = 'k{n // PATTERNS if is_worth_it else n}' AND title RLIKE '^.*[{n % 10}a].*b[0-9]*{n}$'"
        for n in numbers
    }
    with sites_in(tmp_path, "a", "b", spark=spark, link_merging=False) as (a, b):
        rows = [
            {"id": f"default/{id}", "condition": each, "owner": "default", "event_type": "default/event"}
            for id, each in conditions.items()
        ]
        assert not b.service.store.add_many(rows).refusals
        a.link_to(b)
        are_linked(a, b)
        in_step(a, b)
        if is_worth_it:
            _let_filtering_cost_entries(a, monkeypatch)
        cutoff = b.site._cutoffs["a"]
        published: list[dict[str, Any]] = []
        while cutoff.is_worth_it and not cutoff._search.settled and cutoff.step < 2 and len(published) < 100_000:
            events = [_event(len(published) + n) for n in range(200)]
            a.publish(*events)
            published += events
            settled(a)
        costs = dict(cutoff._search._known)
        assert not cutoff.is_worth_it or cutoff._search.settled or cutoff.step == 2, costs
        if is_worth_it:
            assert costs[1] < costs[0], costs
            until(lambda: a.peer("b")["entries_in"] < len(conditions))
        else:
            assert (cutoff.step, costs) == (0, {}), "no step is tried where filtering is cheap"
            until(lambda: a.peer("b")["entries_in"] == len(conditions))
        settled(a, b)
        _check_notifications(b, conditions, published)


def _let_filtering_cost_entries(site: LinkedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """A microsecond for each event and entry: what is measured is noise beside other tests."""
    measured, seen, seconds, lock = site.site.load, 0, 0.0, threading.Lock()

    def load(link: str) -> Load:
        nonlocal seen, seconds
        entries = site.peer("b")["entries_in"]
        with lock:  # handshakes go both ways at once
            found = measured(link)
            seconds += 1e-6 * (found.events - seen) * entries
            seen = found.events
            return replace(found, seconds=seconds)

    monkeypatch.setattr(site.site, "load", load)


def _check_notifications(site: LinkedSite, conditions: dict[str, str], events: list[dict[str, Any]]) -> None:
    """Of twenty of the subscriptions: the reference takes its time."""
    batch, some = EventBatch.of(events), dict([*conditions.items()][:: len(conditions) // 20])
    expected = [
        (id, events[row]["id"])
        for id, condition in some.items()
        for row in reference.matches(compile_condition(condition), batch)
    ]
    assert sorted(pair for pair in site.notified() if pair[0] in some) == sorted(expected) != []
