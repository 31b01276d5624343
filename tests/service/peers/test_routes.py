"""Where an event went: asked of this site, and of a neighbour for what that has sent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from tamis.cli.app import app
from tamis.service.inbox import Arrival
from tamis.service.peers.outbox import write_forwards
from tamis.service.peers.routes import explain_route
from tests.service.living import until
from tests.service.peers.chains import LinkedSite, are_linked, in_step, sites_in


def explained(site: LinkedSite, came_over: str | None = None) -> dict[str, Any] | None:
    return asyncio.run(explain_route(site.service, "default/e", came_over))


def test_a_neighbour_is_told_of_what_it_has_sent_only(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a") as (a,):
        assert explained(a) is None
        a.service.inbox.append([Arrival("default/e", "default/event", b"{}", ("x", "n"))])
        found = explained(a, "n")
        assert found is not None and (found["path"], found["is_matched"]) == (["x", "n"], False)
        assert explained(a, "x") is None
        assert explained(a) is not None


def test_an_event_that_went_in_vain_is_explained_across_sites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sites_in(tmp_path, "a", "b") as (a, b):
        a.link_to(b)
        are_linked(a, b)
        b.subscribe("s", "x = 1")
        in_step(a, b)
        [key] = a.site.held_keys("b")
        a.service.inbox.append([Arrival("default/e", "default/event", b'{"x": 1}')])
        matched = pa.table({"event_id": ["default/e"], "subscription_id": [f"~link/b/{key}"]})
        with a.service.feed.database.writing() as connection:
            write_forwards(connection, matched, a.service.inbox.places, 1)
        until(lambda: b.service.inbox.get(["default/e"]))
        for site in (a, b):
            site.service.inbox.finish_upto(1)  # nobody is notified: the subscription has ended meanwhile, say
        until(lambda: a.peer("b")["in_vain"] == 1)
        found = explained(a)
        assert found is not None
        step = found["forwards"][0]
        assert (step["link"], step["entry"], step["outcome"]) == ("b", "x = 1", "in vain")
        assert (step["there"]["site"], step["there"]["found"], step["there"]["path"]) == ("b", [], ["a"])
        monkeypatch.setenv("TAMIS_TOKEN", a.running.token("subscribe"))
        said = CliRunner().invoke(app, ["route", "explain", a.running.url, "--event", "e"]).stdout
        assert said.splitlines() == [
            "The event at a: finds nothing",
            "  to b, by x = 1: in vain",
            "    there finds nothing",
        ]


def test_a_neighbour_that_is_away_leaves_the_rest_of_the_answer(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a") as (a,):
        a.client.put("/v1/peers/n", json={"url": "http://127.0.0.1:9"})
        a.service.inbox.append([Arrival("default/e", "default/event", b"{}")])
        matched = pa.table({"event_id": ["default/e"], "subscription_id": ["~link/n/k"]})
        with a.service.feed.database.writing() as connection:
            write_forwards(connection, matched, a.service.inbox.places, 1)
        a.site.outbox.acknowledge("n", [1])
        found = explained(a)
        assert found is not None
        assert found["forwards"] == [{"link": "n", "entry": None, "is_sent": True, "outcome": None, "there": None}]
