"""`tamis route`: assign subscriptions to shards, and see where events go."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run, Write

TYPE = {"name": "camera", "attributes": {"id": "string", "brand": "string", "price": "int"}}


@pytest.fixture
def alerts(run: Run, write: Write) -> str:
    write("camera.json", json.dumps(TYPE))
    write(
        "s.jsonl",
        [
            {"id": f"{brand}-{price}", "condition": f"brand = '{brand}' AND price < {price}"}
            for brand in ("Nikon", "Sony", "Leica", "Canon")
            for price in range(100, 125)
        ],
    )
    prices = {"cheap": 120, "dear": 900}
    write("e.jsonl", [{"id": name, "brand": "Sony", "price": price} for name, price in prices.items()])
    given = ("--subscriptions", "s.jsonl", "--event-type", "camera.json")
    assert run("snapshot", "build", "alerts", *given).code == 0
    return "alerts"


def test_assign_and_explain(run: Run, alerts: str) -> None:
    outcome = run("route", "assign", alerts, "--shards", "4", "--events", "e.jsonl", "--budget", "6000")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert "alerts.shards: version 1, of version 1 of " in lines[0]
    assert lines[1].startswith("4 entries, ")
    assert lines[1].endswith(" bytes of a budget of 6000")
    assert [line.split(": ")[1] for line in lines[2:]] == ["25 subscriptions"] * 4
    (answer,) = run("route", "assign", alerts, "--shards", "4", "--budget", "6000", "--json").json
    assert (answer["of"], answer["subscriptions"], answer["entries"]) == (1, [25] * 4, 4)
    outcome = run("route", "explain", "alerts.shards", "--events", "e.jsonl", "--event", "cheap")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "The event visits 1 of 4 shards, 0 in vain."
    assert lines[1].endswith("finds Sony-121, Sony-122, Sony-123, Sony-124")
    assert lines[2].startswith("  let in by brand = 'Sony', for 25 subscriptions such as Sony-1")


def test_an_entry_that_admits_an_event_without_a_match_is_named(run: Run, alerts: str) -> None:
    assert run("route", "assign", alerts, "--shards", "4", "--budget", "6000", "--into", "there").code == 0
    (answer,) = run("route", "explain", "there", "--events", "e.jsonl", "--event", "dear", "--json").json
    assert answer["shards"] == 4
    (visit,) = answer["visits"]
    assert (visit["in_vain"], visit["found"]) == (True, [])
    assert [each["entry"] for each in visit["admitted_by"]] == ["brand = 'Sony'"]
    # With the whole conditions as entries, nobody lets it in.
    assert run("route", "assign", alerts, "--shards", "4", "--into", "exact").code == 0
    (answer,) = run("route", "explain", "exact", "--events", "e.jsonl", "--event", "dear", "--json").json
    assert answer["visits"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("assign", "nowhere", "--shards", "4"), "there is no version"),
        (("assign", "alerts", "--shards", "4", "--measure", "speed"), "there is no measure 'speed'"),
        (("explain", "alerts", "--events", "e.jsonl", "--event", "dear"), "are not assigned to shards"),
        (("explain", "alerts.shards", "--events", "e.jsonl", "--event", "none"), "there is no event 'none'"),
        (
            ("explain", "alerts.shards", "--events", "e.jsonl", "--event", "dear", "--event-type", "car"),
            "choose one with --event-type: camera",
        ),
    ],
)
def test_what_cannot_be_done_is_exit_code_2(
    run: Run, alerts: str, arguments: tuple[str, ...], message: str
) -> None:
    assert run("route", "assign", alerts, "--shards", "2").code == 0
    outcome = run("route", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
