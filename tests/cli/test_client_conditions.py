"""`tamis client test`, `explain` and `match` on a real service."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.client import Client
from tests.cli.conftest import Run, Write
from tests.client.server import Served

EVENTS: list[dict[str, Any]] = [{"id": "e1", "price": 1}, {"id": "e2", "price": 900}, {"price": 2}]


def test_a_condition_is_tested_on_what_was_published_or_on_a_file(run: Run, write: Write, client: Client) -> None:
    client.publish(EVENTS[:2])
    outcome = run("client", "test", "price < 300")
    assert (outcome.code, outcome.out) == (0, "1 of 2 events satisfy the condition\n  e1\n")
    assert run("client", "test", "price < 300", "--last", "1").out.startswith("0 of 1 event satisfy")
    file = write("events.jsonl", EVENTS)
    [record] = run("client", "test", "price < 300", "--events", file, "--json").json
    assert record == {"events": 3, "matched": 2, "unknown": 0, "ids": ["e1", "3"]}
    many = write("many.jsonl", [{"id": f"e{number}", "price": 1} for number in range(50)])
    assert run("client", "test", "price < 300", "--events", many).out.endswith("  and 30 more\n")


def test_an_explanation_says_why(run: Run, write: Write, client: Client) -> None:
    client.subscribe("price < 300 AND brand = 'Nikon'", id="cheap")
    client.publish(EVENTS[1])
    outcome = run("client", "explain", "--subscription", "cheap", "--event-id", "e2")
    assert (outcome.code, outcome.err) == (0, "")
    assert "price < 300" in outcome.out and "900" in outcome.out
    event = write("event.json", '{"price": 5, "brand": "Nikon"}')
    [record] = run("client", "explain", "price < 300", "--event", event, "--json").json
    assert (record["verdict"], record["tree"]["text"]) == (True, "price < 300")


def test_an_event_is_matched_with_all_subscriptions(run: Run, write: Write, client: Client) -> None:
    client.subscribe("price < 300", id="cheap")
    client.subscribe("price < 3", id="cheapest")
    client.subscribe("price < 300", id="off")
    client.pause("off")
    client.publish(EVENTS[0])
    outcome = run("client", "match", "--event-id", "e1")
    assert (outcome.code, outcome.out) == (0, "2 of 2 active subscriptions to 'event'\n  cheap\n  cheapest\n")
    [record] = run("client", "match", "--event", "-", "--json", input='{"price": 5}').json
    assert record == {"event_type": "event", "subscriptions": 2, "ids": ["cheap"]}
    assert client.notifications(wait_seconds=0).cursor == 0, "nobody is notified"


def test_many_events_are_matched_line_by_line(run: Run, write: Write, client: Client) -> None:
    outcome = run("client", "subscribe", '{"price": [5]}', "--id", "rule", "--dialect", "eventbridge")
    assert outcome.code == 0
    client.subscribe("price < 300", id="cheap")
    file = write("events.jsonl", [{"price": 5}, {"price": 7}, {"price": 900}])
    assert run("client", "match", "--events", file).json == [["cheap", "rule"], ["cheap"], []]
    assert "eventbridge" in run("client", "show", "rule").out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["match", "--event-id", "e", "--events", "good.json"],
            2,
            "expected one of --event, --event-id and --events",
        ),
        (["test", "price <"], 1, "the condition is refused"),
        (["test", "a = 1", "--last", "1", "--events", "good.json"], 2, "expected --last or --events, found both"),
        (["test", "a = 1", "--events", "broken.json"], 2, "broken.json:1: not JSON"),
        (["test", "a = 1", "--events", "none.json"], 2, "none.json: no such file"),
        (["explain", "--event-id", "e"], 2, "expected a condition or --subscription"),
        (
            ["explain", "a = 1", "--subscription", "s", "--event-id", "e"],
            2,
            "expected a condition or --subscription",
        ),
        (["explain", "a = 1"], 2, "expected --event or --event-id"),
        (["explain", "a = 1", "--event-id", "none"], 1, "there is no event 'none'"),
        (["explain", "--subscription", "none", "--event", "good.json"], 1, "there is no subscription 'none'"),
        (["match"], 2, "expected --event or --event-id"),
        (["match", "--event", "list.json"], 2, "list.json: expected an event, an object, found [1]"),
        (["match", "--event-id", "none"], 1, "there is no event 'none'"),
        (["match", "--event", "good.json", "--type", "none"], 1, "there is no event type 'none'"),
    ],
)
def test_mistakes_are_named(
    run: Run, write: Write, served: Served, arguments: list[str], code: int, message: str
) -> None:
    write("good.json", "{}")
    write("list.json", "[1]")
    write("broken.json", "{")
    outcome = run("client", *arguments)
    assert (outcome.code, message in outcome.err) == (code, True), outcome.err
