"""Subscriptions of several event types as one version of a snapshot."""

from __future__ import annotations

from pathlib import Path

from tamis import EventType, Matcher
from tamis.segments.published import open_subscriptions, publish_subscriptions
from tamis.snapshot import Snapshots


def given() -> dict[str, Matcher]:
    found = {name: Matcher(EventType(name)) for name in ("sale", "visit")}
    found["sale"].add_many([("cheap", "price < 10"), ("high", "price > 90")])
    found["visit"].add("home", "page = '/'")
    return found


def test_what_was_published_is_opened_again(tmp_path: Path) -> None:
    snapshots, matchers = Snapshots(tmp_path), given()
    matchers["sale"].merge()  # events are learned from once there is a segment
    matchers["sale"].match({"price": 5})
    manifest = publish_subscriptions(matchers, snapshots, None, {"from": "here"})
    assert (manifest.extra["subscriptions"], manifest.extra["from"]) == (3, "here")
    found = open_subscriptions(snapshots, manifest, manifest.event_types)
    assert {name: each.event_type.name for name, each in found.items()} == {"sale": "sale", "visit": "visit"}
    learned = found["sale"].statistics
    assert learned is not None
    assert learned.to_json() == matchers["sale"].statistics.to_json()
    assert found["visit"].statistics is None, "no event was seen"
    assert Matcher.of_segments(*found["sale"]).match({"price": 95}) == ["high"]


def test_dead_slots_come_with_their_segment(tmp_path: Path) -> None:
    snapshots, matchers = Snapshots(tmp_path), given()
    first = publish_subscriptions(matchers, snapshots, None)
    matchers["sale"].remove("cheap")
    second = publish_subscriptions(matchers, snapshots, first.version)
    ((_, before),) = open_subscriptions(snapshots, first, ["sale"])["sale"].segments
    ((_, after),) = open_subscriptions(snapshots, second, ["sale"])["sale"].segments
    assert (before.tolist(), after.tolist()) == ([], [0])


def test_some_event_types_or_segments_are_opened(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    manifest = publish_subscriptions(given(), snapshots, None)
    assert set(open_subscriptions(snapshots, manifest, ["visit"])) == {"visit"}
    (entry,) = (entry for entry in manifest.entries if entry.event_type == "visit")
    found = open_subscriptions(snapshots, manifest, manifest.event_types, [entry.segment])
    assert {name: len(each.segments) for name, each in found.items()} == {"sale": 0, "visit": 1}
