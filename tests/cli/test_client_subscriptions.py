"""`tamis client list`, `show`, `pause` and `resume` on a real service."""

from __future__ import annotations

import re

import pytest

from tamis.client import Client, Tickets
from tests.cli.conftest import Run
from tests.client.server import Served


def test_list_shows_what_is_asked_for(run: Run, client: Client) -> None:
    for id, condition, label in (("a", "x = 1\n AND y = 2", "one"), ("b", "x = 2", None), ("c", "z = 1", "two")):
        client.subscribe(condition, id=id, label=label)
    client.pause("b")
    everything = run("client", "list")
    assert (everything.code, everything.err) == (0, "")
    rows = [line.split() for line in everything.out.splitlines()]
    assert [row[:3] for row in rows[1:]] == [
        ["a", "active", "event"],
        ["b", "paused", "event"],
        ["c", "active", "event"],
    ]
    assert rows[1][5:] == ["pull", "one", "x", "=", "1", "AND", "y", "=", "2"]
    for options, expected in (
        (["--search", "x ="], ["a", "b"]),
        (["--label", "two"], ["c"]),
        (["--type", "camera"], []),
        (["--limit", "2"], ["a", "b"]),
    ):
        assert [each["id"] for each in run("client", "list", *options, "--json").json] == expected
    client.subscribe('{"x": [1]}', id="d", dialect="eventbridge")
    rows = [line.split() for line in run("client", "list", "--search", "x").out.splitlines()]
    assert [row[row.index("pull") + 1 if row[0] != "a" else 7] for row in rows[1:]] == [
        "sql",
        "sql",
        "eventbridge",
    ]
    client.unsubscribe("d")
    [record] = run("client", "list", "--search", "z", "--json").json
    found = client.get("c")
    assert found.expires is not None
    assert (record["delivery"]["kind"], record["expires"]) == (
        "pull",
        found.expires.isoformat().replace("+00:00", "Z"),
    )


def test_show_has_everything_and_its_history(run: Run, client: Client) -> None:
    client.subscribe("x = 1", id="a", label="one", priority=3)
    client.pause("a")
    shown = run("client", "show", "a")
    assert (shown.code, shown.err) == (0, "")
    facts = dict(re.split(" {2,}", line, maxsplit=1) for line in shown.out.splitlines())
    assert (facts["id"], facts["label"], facts["condition"]) == ("a", "one", "x = 1")
    assert (facts["state"], facts["priority"], facts["delivery"]) == ("paused", "3", "pull")
    assert "refused" not in facts
    with_history = run("client", "show", "a", "--history")
    assert with_history.out.startswith(shown.out)
    changes = with_history.out.removeprefix(shown.out).splitlines()
    assert [line.split()[2] for line in changes[1:]] == ["add", "pause"]
    assert changes[0].split()[-1] == "by"
    actors = [change.actor for change in client.history("a")]
    assert re.fullmatch("token [0-9a-f]{12}", actors[0] or "")
    assert actors[1] == f"{actors[0]}, admin without a ticket"
    assert [line.endswith(actor or "-") for line, actor in zip(changes[1:], actors, strict=True)] == [True, True]
    [record] = run("client", "show", "a", "--history", "--json").json
    assert [each["kind"] for each in record["history"]] == ["add", "pause"]
    assert "history" not in run("client", "show", "a", "--json").json[0]


def test_what_is_not_there_is_refused(run: Run, served: Served) -> None:
    for command in ("show", "pause", "resume"):
        outcome = run("client", command, "nothing", "--json")
        assert (outcome.code, outcome.json[0]["kind"]) == (1, "not-found")


def test_pause_and_resume_find_the_ticket(run: Run, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = served.new_tenant()
    monkeypatch.setenv("TAMIS_TOKEN", served.token(tenant, "subscribe"))
    run("client", "subscribe", "x = 1", "--id", "a")
    assert run("client", "pause", "a").out == "'a' is paused\n"
    assert run("client", "resume", "a", "--json").json[0]["state"] == "active"
    refused = run("client", "pause", "a", "--tickets", "other.json")
    assert (refused.code, "other.json; --ticket gives another" in refused.err) == (1, True)
    ticket = Tickets().of(served.url, "a")
    assert run("client", "pause", "a", "--tickets", "other.json", "--ticket", str(ticket)).code == 0
    monkeypatch.setenv("TAMIS_TOKEN", served.token(tenant, "admin"))
    assert run("client", "resume", "a", "--tickets", "other.json").out == "'a' is active\n"
