"""Matchers of several event types in one snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.errors import SnapshotError, SubscriptionError
from tamis.events.event_type import EventType
from tamis.matcher import Matcher
from tamis.matchers import Matchers
from tamis.segments.records import Subscription
from tamis.snapshot import Snapshots

SALE = EventType.of({"name": "sale", "attributes": {"price": "int"}})
VISIT = EventType("visit")


def two_types() -> Matchers:
    matchers = Matchers([SALE, VISIT])
    matchers["sale"].add("cheap", "price < 10")
    matchers["visit"].add_many([Subscription("home", "page = '/'", 0, None, 7)])
    return matchers


def test_a_version_holds_all_event_types(tmp_path: Path) -> None:
    matchers = two_types()
    manifest = matchers.publish(tmp_path, {"from": "here"})
    assert set(manifest.event_types) == {"sale", "visit"}
    again = Matchers.open(tmp_path)
    assert (again.version, again.extra["from"], len(again)) == (1, "here", 2)
    assert again["sale"].match({"price": 5}) == ["cheap"]
    assert again["visit"].match({"page": "/"}) == ["home"]
    assert again["visit"].subscription("home").revision == 7
    again["sale"].remove("cheap")
    again.publish(tmp_path)
    assert len(Matchers.open(tmp_path)) == 1
    assert len(Matchers.open(tmp_path, 1)) == 2
    with pytest.raises(SnapshotError, match="another publisher"):
        matchers.publish(tmp_path)


def test_a_part_of_the_segments_may_be_opened(tmp_path: Path) -> None:
    two_types().publish(tmp_path)
    entry = next(entry for entry in Snapshots(tmp_path).manifest().entries if entry.event_type == "visit")
    part = Matchers.open(tmp_path, segments=[entry.segment])
    assert {name: len(part[name]) for name in part} == {"sale": 0, "visit": 1}
    with pytest.raises(SnapshotError, match="another publisher"):
        part.publish(tmp_path)


def test_one_event_type_of_several_is_not_published_alone(tmp_path: Path) -> None:
    two_types().publish(tmp_path)
    with pytest.raises(SubscriptionError, match="expected subscriptions for one event type, found sale, visit"):
        Matcher.open(tmp_path)
    with pytest.raises(SubscriptionError, match="there is no event type 'hat'; there are sale, visit"):
        Matcher.open(tmp_path, event_type="hat")
    sale = Matcher.open(tmp_path, event_type="sale")
    assert sale.match({"price": 5}) == ["cheap"]
    with pytest.raises(SnapshotError, match="is for event type visit, too"):
        sale.publish(tmp_path)


def test_a_changed_event_type_begins_empty() -> None:
    matchers = two_types()
    assert matchers.declare(SALE) is matchers["sale"]
    matchers.declare(EventType.of({"name": "sale", "attributes": {"price": "double"}}))
    assert len(matchers["sale"]) == 0
    matchers.drop("sale")
    assert list(matchers) == ["visit"]
    assert matchers.only.event_type == VISIT


def test_one_event_type_does_not_replace_several(tmp_path: Path) -> None:
    two_types().publish(tmp_path)
    sale = Matcher.open(tmp_path, event_type="sale")
    with pytest.raises(SnapshotError, match="is for event type visit, too") as refused:
        sale.publish(tmp_path)
    assert refused.value.kind == "conflict"
    several = Matchers.open(tmp_path)
    several.drop("visit")  # on purpose
    assert set(several.publish(tmp_path).event_types) == {"sale"}
