"""Composite subscriptions in a store and in its snapshot: each is one subscription, and its parts are records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis import ConditionError, EventType, Matcher
from tamis.matchers import Matchers
from tamis.segments.published import PARTS
from tamis.snapshot import Snapshots
from tamis.store import Publisher, Store

TEXT = "kind = 'a' THEN kind = 'b' WITHIN INTERVAL '1' HOUR BY user"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "subscriptions.db") as opened:
        yield opened


def test_a_composite_subscription_is_checked_against_its_event_type(store: Store) -> None:
    store.set_event_type(EventType.of({"name": "step", "attributes": {"kind": "string", "user": "string"}}))
    store.add("walk", TEXT, dialect="composite")
    for wrong in ("kind = 'a' THEN", TEXT.replace("user", "buyer"), TEXT.replace("kind = 'b'", "colour = 'b'")):
        with pytest.raises(ConditionError):
            store.add("wrong", wrong, dialect="composite")
    assert [(each.id, each.dialect) for each in store.list()] == [("walk", "composite")]


def test_parts_are_published_with_it_and_leave_with_it(store: Store, tmp_path: Path) -> None:
    url = tmp_path / "snapshot"
    store.add("plain", "kind = 'a'")
    store.add("walk", TEXT, dialect="composite")
    first = Publisher(store, url).sync()
    assert (first.subscriptions, first.added, first.refusals) == (2, 2, [])
    manifest = Snapshots(url).manifest()
    assert (manifest.extra[PARTS], manifest.extra["subscriptions"], manifest.extra["store"]["refused"]) == (
        2,
        2,
        0,
    )
    opened = Matchers.open(url, parts=True).only
    assert sorted(opened.match({"kind": "a"})) == ["plain", "walk\0" + "0"]

    publisher = Publisher(store, url)
    store.replace("walk", f"kind = 'c' THEN NOT {TEXT}".replace(" THEN kind", " AND kind"))
    second = publisher.sync()
    assert (second.subscriptions, second.added, second.removed) == (2, 1, 1)
    assert Matchers.open(url, parts=True).only.match({"kind": "c"}) == ["walk\0" + "0"]
    store.remove("walk")
    third = publisher.sync()
    assert (third.subscriptions, third.removed) == (1, 1)
    assert PARTS not in Snapshots(url).manifest().extra
    assert len(Matchers.open(url, parts=True)) == 1


def test_whoever_keeps_no_state_does_not_see_parts(store: Store, tmp_path: Path) -> None:
    store.add("walk", TEXT, dialect="composite")
    Publisher(store, tmp_path / "snapshot").sync()
    for matcher in (Matcher.open(tmp_path / "snapshot"), Matchers.open(tmp_path / "snapshot").only):
        assert matcher.match({"kind": "a", "user": "ann"}) == []
        assert [each.id for each in matcher] == ["walk"]
