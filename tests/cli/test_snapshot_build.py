"""`tamis snapshot build`: the difference between files and the newest version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tamis.matcher import Matcher
from tamis.snapshot import Snapshots
from tests.cli.conftest import EXAMPLES, Run, Write

CAMERA = str(EXAMPLES / "camera.json")


CAMERAS = str(EXAMPLES / "cameras.jsonl")


def pairs(url: str, version: int | None = None) -> set[tuple[str, str]]:
    """What the events of the examples find in a version."""
    events = [json.loads(line) for line in (EXAMPLES / "events.jsonl").read_text().splitlines() if line.strip()]
    found = Matcher.open(url, version).match_batch(events, event_id="model").to_pylist()
    return {(row["event_id"], row["subscription_id"]) for row in found}


def test_build_publishes_the_subscriptions_of_a_file(run: Run) -> None:
    outcome = run("snapshot", "build", "s", "--subscriptions", CAMERAS, "--event-type", CAMERA)
    count = len(Path(CAMERAS).read_text().splitlines())
    expected = f"version 1: {count} subscriptions, {count} added, 0 replaced, 0 removed\n"
    assert (outcome.code, outcome.out, outcome.err) == (0, expected, "")
    matcher = Matcher(CAMERA)
    records = [json.loads(line) for line in Path(CAMERAS).read_text().splitlines()]
    matcher.add_many([{"id": each["id"], "condition": each["condition"]} for each in records])
    assert len(pairs("s")) > 0
    assert [(each.id, each.condition) for each in Matcher.open("s")] == [
        (each.id, each.condition) for each in matcher
    ]
    assert run("snapshot", "verify", "s").code == 0


def test_build_again_makes_the_difference(run: Run, write: Write) -> None:
    before = [
        subscription("a", "x < 1"),
        subscription("b", "x < 2"),
        subscription("c", "x < 3"),
        subscription("d", "x < 4"),
    ]
    run("snapshot", "build", "s", "--subscriptions", write("s.jsonl", before))
    after = [
        subscription("a", "x < 1"),
        subscription("b", "x < 20"),
        subscription("c", "x <"),
        subscription("e", "x < 5", owner="me", priority=3),
    ]
    outcome = run("snapshot", "build", "s", "--subscriptions", write("s.jsonl", after))
    assert outcome.code == 1
    assert outcome.out == "version 2: 4 subscriptions, 1 added, 1 replaced, 1 removed\n"
    assert "s.jsonl:3: subscription 'c' is refused:" in outcome.err
    held = {each.id: (each.condition, each.owner, each.priority, each.revision) for each in Matcher.open("s")}
    assert held == {
        "a": ("x < 1", None, 0, 1),
        "b": ("x < 20", None, 0, 2),
        "c": ("x < 3", None, 0, 1),
        "e": ("x < 5", "me", 3, 1),
    }
    assert {each.id for each in Matcher.open("s", 1)} == {"a", "b", "c", "d"}


def test_build_without_a_change_publishes_nothing(run: Run, write: Write) -> None:
    arguments = ("snapshot", "build", "s", "--subscriptions", write("s.txt", "x < 1\nx < 2\n"))
    run(*arguments)
    assert run(*arguments).out == "version 1: 2 subscriptions, nothing changed\n"
    assert run(*arguments, "--json").json == [
        {"version": 1, "subscriptions": 2, "added": 0, "replaced": 0, "removed": 0, "refused": 0}
    ]
    assert Snapshots("s").versions() == [1]


def test_build_takes_several_files_and_names_what_it_refuses(run: Run, write: Write) -> None:
    first = write("a.jsonl", [subscription("a", "x < 1"), subscription("b", "x <")])
    second = write("b.jsonl", [subscription("a", "x < 2"), subscription("c", "x < 3")])
    outcome = run("snapshot", "build", "s", "--subscriptions", first, "--subscriptions", second, "--json")
    assert outcome.code == 1
    assert outcome.json[0]["refused"] == 2
    refused = [json.loads(line) for line in outcome.err.splitlines()]
    assert [(each["file"], each["line"], each["subscription_id"]) for each in refused] == [
        ("a.jsonl", 2, "b"),
        ("b.jsonl", 1, "a"),
    ]
    assert refused[1]["problems"] == [{"message": "there is already a subscription 'a', at a.jsonl:1"}]
    assert {each.id: each.condition for each in Matcher.open("s")} == {"a": "x < 1", "c": "x < 3"}


def test_build_refuses_another_event_type(run: Run, write: Write) -> None:
    file = write("s.txt", "price < 1\n")
    run("snapshot", "build", "s", "--subscriptions", file)
    outcome = run("snapshot", "build", "s", "--subscriptions", file, "--event-type", CAMERA)
    assert outcome.code == 2
    assert "s: version 1 is for another event type, 'event'; publish under another URL" in outcome.err


def test_build_without_an_event_type_keeps_that_of_the_snapshot(run: Run, write: Write) -> None:
    run("snapshot", "build", "s", "--subscriptions", CAMERAS, "--event-type", CAMERA)
    outcome = run("snapshot", "build", "s", "--subscriptions", write("s.txt", "price < 1\nprise < 1\n"))
    assert outcome.code == 1
    assert "the event type has no attribute 'prise'" in outcome.err
    assert Matcher.open("s").event_type.name == "camera"


def test_a_missing_file_publishes_nothing(run: Run) -> None:
    assert run("snapshot", "build", "s", "--subscriptions", "missing.jsonl").code == 2
    assert not Path("s").exists()


def subscription(id: str, condition: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "condition": condition, **more}


def test_build_leaves_out_what_is_paused(run: Run, write: Write) -> None:
    file = write("s.jsonl", [subscription("a", "x < 1"), subscription("b", "x < 2", state="paused")])
    outcome = run("snapshot", "build", "s", "--subscriptions", file)
    assert outcome.out == "version 1: 1 subscription, 1 added, 0 replaced, 0 removed\n"
