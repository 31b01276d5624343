"""`tamis subs type`: event types are declared, listed and dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis.store import Store
from tests.cli.conftest import EXAMPLES, Run, Write

CAMERA = str(EXAMPLES / "camera.json")


@pytest.fixture
def store(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store that commands use if nobody says otherwise."""
    monkeypatch.delenv("TAMIS_STORE", raising=False)
    with Store.open(tmp_path / "tamis.db") as store:
        yield store


@pytest.mark.parametrize("command", ["declare", "list", "drop"])
def test_help_of_every_command_has_examples_and_exit_codes(run: Run, command: str) -> None:
    text = run("subs", "type", command, "--help").out
    assert f"  tamis subs type {command}" in text
    assert "Exit code" in text


def test_types_are_declared_and_listed(run: Run, write: Write, store: Store) -> None:
    assert run("subs", "type", CAMERA).out == "store version 1: event type 'camera' declared\n"
    assert run("subs", "type").out.startswith("camera (0 subscriptions): id, brand, model, kind, ")
    assert run("subs", "type", "--json").json[0]["name"] == "camera"
    run("subs", "add", "a", "brand = 'Sony'", "--type", "camera")
    narrow = write("narrow.json", '{"name": "camera", "attributes": {"price": "int"}}')
    outcome = run("subs", "type", narrow)
    assert (outcome.code, outcome.out) == (
        1,
        "store version 3: event type 'camera' declared, 1 subscription refused\n",
    )
    assert "no attribute 'brand'" in outcome.err
    assert run("subs", "list", "--json").json[0]["state"] == "refused"
    assert run("subs", "type", write("wrong.json", "[]")).code == 2
    assert run("subs", "type", CAMERA, "--json").json == [
        {"store_version": 4, "event_type": "camera", "refused": []}
    ]


def test_a_subscription_without_a_type_goes_to_the_declared_one(run: Run, store: Store) -> None:
    run("subs", "type", "declare", CAMERA)
    refused = run("subs", "add", "x", "prcie > 1")
    assert (refused.code, "did you mean price?" in refused.err) == (1, True)
    assert run("subs", "add", "y", "price > 1").code == 0
    assert store.get("y").event_type == "camera"


def test_a_type_that_nobody_needs_is_dropped(run: Run, store: Store) -> None:
    run("subs", "type", CAMERA)
    run("subs", "add", "x", "vlaue > 1", "--type", "event")
    listed = run("subs", "type", "list", "--json").json
    assert [(each["name"], each["subscriptions"]) for each in listed] == [("camera", 0), ("event", 1)]
    kept = run("subs", "type", "drop", "event")
    assert (kept.code, "has 1 living subscription" in kept.err) == (2, True)
    run("subs", "remove", "x")
    assert run("subs", "type", "drop", "event").out == "store version 4: event type 'event' dropped\n"
    assert [*store.event_types()] == ["camera"]
    unknown = run("subs", "type", "drop", "event", "--json")
    assert (unknown.code, "declared are camera" in unknown.err) == (2, True)
    assert run("subs", "type", "drop", "camera", "--json").json == [{"store_version": 5, "dropped": "camera"}]
