"""Three linked sites with real HTTP and real Spark: events go where somebody wants them, once."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from tamis import reference
from tamis.cli.app import app
from tamis.events import EventBatch
from tamis.language.condition import compile_condition
from tests.campaigns import federation
from tests.campaigns.outcome import Outcome
from tests.service.living import until
from tests.service.peers.chains import LinkedSite, are_linked, in_step, settled, sites_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUDGET = 400
pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def chain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[LinkedSite]]:
    """Sites a, b and c, where b is between the others."""
    with sites_in(tmp_path_factory.mktemp("chain"), "a", "b", "c", spark=spark, link_bytes=BUDGET) as sites:
        a, b, c = sites
        a.link_to(b)
        b.link_to(c)
        are_linked(a, b, c)
        yield sites


def test_an_event_notifies_a_subscription_at_another_site_exactly_once(chain: list[LinkedSite]) -> None:
    a, b, c = chain
    c.subscribe("far", "far < 300 AND brand = 'Nikon'")
    b.subscribe("near", "far < 100")
    in_step(a, b, c)
    a.publish({"id": "f1", "far": 50, "brand": "Nikon"}, {"id": "f2", "far": 500}, {"id": "f3", "far": 60})
    settled(a, b, c)
    assert c.notified("far") == [("far", "f1")]
    assert sorted(b.notified("near")) == [("near", "f1"), ("near", "f3")]
    assert a.notified() == []
    there = c.service.inbox.get(["default/f1"])["default/f1"]
    assert there.path == ("a", "b")
    assert set(b.service.inbox.get(["default/f1", "default/f2", "default/f3"])) == {"default/f1", "default/f3"}


def test_results_are_those_of_one_service_with_all_subscriptions(chain: list[LinkedSite]) -> None:
    chance = random.Random(7)
    wanted: dict[str, dict[str, str]] = {}
    for site in chain:
        conditions = {f"r{n}": _condition(chance) for n in range(12)}
        wanted[site.name] = conditions
        rows = [{"id": f"default/{id}", "condition": each} for id, each in conditions.items()]
        site.service.store.add_many([{**row, "owner": "default", "event_type": "default/event"} for row in rows])
    in_step(*chain)
    links = [each for site in chain for each in site.site.status()]
    assert all(each["entries_out_bytes"] <= BUDGET and not each["is_over_budget"] for each in links)
    assert sum(len(each) for each in wanted["b"].values()) > BUDGET
    events = [{"id": f"r{n}", **_event(chance)} for n in range(150)]
    for place, site in enumerate(chain):
        site.publish(*events[place::3])
    settled(*chain)
    batch = EventBatch.of(events)
    for site in chain:
        expected = {
            (id, events[row]["id"])
            for id, condition in wanted[site.name].items()
            for row in reference.matches(compile_condition(condition), batch)
        }
        found = [pair for pair in site.notified() if pair[0] in wanted[site.name]]
        assert sorted(found) == sorted(expected)
    a, b, _ = chain
    until(lambda: a.peer("b")["forwarded"] == a.peer("b")["useful"] + a.peer("b")["in_vain"] > 0)
    assert b.peer("a")["taken"] == a.peer("b")["forwarded"]


def test_a_route_is_explained_across_sites(chain: list[LinkedSite], monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c = chain
    c.subscribe("goal", "goal = 1")
    in_step(a, b, c)
    a.publish({"id": "g1", "goal": 1})
    settled(a, b, c)
    found = a.client.get("/v1/routes/g1").json()
    [step] = found["forwards"]
    [onward] = step["there"]["forwards"]
    assert (step["link"], onward["link"], onward["there"]["found"]) == ("b", "c", ["goal"])
    assert onward["there"]["path"] == ["a", "b"]
    monkeypatch.setenv("TAMIS_TOKEN", a.running.token("subscribe"))
    until(lambda: a.client.get("/v1/routes/g1").json()["forwards"][0]["outcome"] == "useful")
    until(lambda: b.client.get("/v1/routes/g1").json()["forwards"][0]["outcome"] == "useful")
    entry, further = step["entry"], onward["entry"]
    explain = ["route", "explain", a.running.url, "--event"]
    assert CliRunner().invoke(app, [*explain, "g1"]).stdout.splitlines() == [
        "The event at a: finds nothing",
        f"  to b, by {entry}: useful",
        "    there finds nothing",
        f"    to c, by {further}: useful",
        "      there finds goal",
    ]
    same = json.loads(CliRunner().invoke(app, [*explain, "g1", "--json"]).stdout)
    assert same["forwards"][0]["there"]["forwards"][0]["there"]["site"] == "c"
    assert CliRunner().invoke(app, [*explain, "nothing"]).exit_code == 1


def test_kills_of_services_streams_and_links_lose_nothing_and_notify_nothing_twice(
    spark_environment: None, tmp_path: Path
) -> None:
    outcome = Outcome("federation", seed=3, is_quiet=True)
    federation.run(outcome, tmp_path, kills=20, shares_spark=True)
    assert outcome.violations == []
    assert outcome.figures["kills by kind"] == {"link": 12, "service alone": 4, "stream": 4}
    assert outcome.figures["processes of shared streams killed"] >= 4 * 3  # a driver, its Java, Python's workers
    assert outcome.figures["events accepted"] > 500 and outcome.figures["pairs compared"] > 500


def _condition(chance: random.Random) -> str:
    low = chance.randrange(90)
    atoms = [f"y = {chance.randrange(5)}", f"z = '{chance.choice('pqrst')}'", f"x BETWEEN {low} AND {low + 9}"]
    atoms += [f"x < {low} OR NOT (y = 2)", f"x <> {low}"]
    return " AND ".join(f"({each})" for each in chance.sample(atoms, chance.randrange(3, 5)))


def _event(chance: random.Random) -> dict[str, Any]:
    return {"x": chance.randrange(100), "y": chance.randrange(5), "z": chance.choice("pqrst")}
