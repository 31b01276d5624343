"""A view sees one version of the store, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tamis.events.event_type import EventType
from tamis.store import Store


def test_it_tells_when_the_first_change_after_a_version_was_made(store: Store) -> None:
    store.add_many([{"id": "a", "condition": "x = 1"}, {"id": "b", "condition": "x = 1"}])
    between = datetime.now(UTC)
    store.remove("a")
    store.remove("b")
    with store.view() as view:
        first, second, none = (view.changed_after(version) for version in (0, 1, store.version()))
    assert first is not None and second is not None and none is None
    assert first <= between <= second
    assert second == store.history("a")[-1].at


def test_it_counts_by_event_type_and_refusal(store: Store) -> None:
    store.set_event_type(EventType.from_dict({"name": "book", "attributes": {"x": "int", "y": "int"}}))
    store.add("a", "x = 1", event_type="book")
    store.add("b", "y = 1", event_type="book", owner="t")
    store.add("c", "y = 1", event_type="event")
    store.set_event_type(EventType.from_dict({"name": "book", "attributes": {"x": "int"}}))
    with store.view() as view:
        assert (view.count(), view.count(event_type="book"), view.count(event_type="event")) == (3, 2, 1)
        assert (view.count(refused=True), view.count(event_type="event", refused=True)) == (1, 0)
        assert (view.count(owner="t", event_type="book"), view.count(owner="t", event_type="event")) == (1, 0)


def test_it_knows_what_revisions_said(store: Store) -> None:
    store.add("a", "x = 1", label="first")
    store.replace("a", "x = 2")
    store.replace("a", label="second")
    store.add("gone", "x = 3", label="was")
    store.remove("gone")
    with store.view() as view:
        found = view.conditions_at([("a", 1), ("a", 2), ("a", 3), ("gone", 1), ("never", 1), ("\0", 1)])
        assert found == {
            ("a", 1): ("first", "x = 1"),
            ("a", 2): ("second", "x = 2"),
            ("gone", 1): ("was", "x = 3"),
        }
        assert view.conditions_at([]) == {}


def test_it_stays_as_it_was(store: Store) -> None:
    store.add("a", "x = 1")
    with store.view() as view:
        store.remove("a")
        store.add("b", "x = 1")
        assert [each.id for each in view.subscriptions()] == ["a"]
        assert view.version == 1
    assert store.version() == 3


def test_it_gives_what_is_to_be_matched_and_what_has_changed_since(store: Store) -> None:
    store.add("a", "x = 1")
    store.add("b", "x = 2")
    store.pause("b")
    store.replace("a", "x = 3")
    store.renew("a", datetime.now(UTC) + timedelta(days=1))
    with store.view() as view:
        (batch,) = view.matchable("event")
        assert batch.select(["id", "condition", "revision"]).to_pylist() == [
            {"id": "a", "condition": "x = 3", "revision": 2}
        ]
        changed = view.changed_subscriptions(2)
        assert (changed.ids, changed.expired, changed.matchable["id"].to_pylist()) == (["a", "b"], {}, ["a"])
        assert not changed.is_any_refused
        assert view.changed_subscriptions(4).ids == [], "when it expires does not change what is matched"
        assert (view.changed_event_types(0), view.changed_event_types(1)) == (["event"], [])
