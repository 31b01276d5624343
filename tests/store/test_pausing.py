"""Pausing and resuming, searching, and what is written alongside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection

from tamis.errors import SubscriptionError
from tamis.limits import Limits
from tamis.snapshot import Snapshots
from tamis.store import Publisher, Store

SOON = timedelta(hours=1)


def published(store: Store, folder: Path) -> int:
    """How many subscriptions are matched."""
    return Publisher(store, folder).sync().subscriptions


# --- pausing -----------------------------------------------------------------------------------------------------


def test_an_import_may_pause_and_resume(store: Store, tmp_path: Path) -> None:
    rows = [{"id": "a", "condition": "x = 1", "state": "paused"}, {"id": "b", "condition": "x = 1"}]
    assert store.add_many(rows).added == 2
    assert published(store, tmp_path / "snapshot") == 1
    assert store.add_many([{**row, "state": "active"} for row in rows], replace=True).edited == 1
    assert published(store, tmp_path / "snapshot") == 2
    assert [change.kind for change in store.history("a")] == ["add", "resume"]
    [refusal] = store.add_many([{"id": "c", "condition": "x = 1", "state": "removed"}]).refusals
    assert str(refusal.error) == ("subscription 'c': state: expected active, waiting or paused, found 'removed'")


def test_a_paused_subscription_is_there_and_not_matched(store: Store, tmp_path: Path) -> None:
    store.add("a", "x = 1")
    store.add("b", "x = 1")
    assert published(store, tmp_path / "snapshot") == 2
    store.pause("a")
    assert published(store, tmp_path / "snapshot") == 1
    assert store.get("a").state == "paused"
    assert [each.id for each in store.list()] == ["a", "b"]
    store.pause("a", paused=False)
    assert published(store, tmp_path / "snapshot") == 2
    assert (store.get("a").state, store.get("a").revision) == ("active", 1)
    assert Snapshots(tmp_path / "snapshot").latest() is not None


def test_a_snapshot_that_is_made_anew_has_no_paused_subscription(store: Store, tmp_path: Path) -> None:
    store.add("a", "x = 1")
    store.add("b", "x = 1")
    store.pause("a")
    assert published(store, tmp_path / "snapshot") == 1


def test_pausing_twice_is_pausing_once(store: Store) -> None:
    store.add("a", "x = 1")
    version = store.pause("a")
    assert store.pause("a") == version
    assert [change.kind for change in store.history("a")] == ["add", "pause"]


def test_resuming_what_is_not_paused_changes_nothing(store: Store) -> None:
    version = store.add("a", "x = 1")
    assert store.pause("a", paused=False) == version


def test_a_paused_subscription_stays_paused_when_it_is_changed_or_renewed(store: Store, tmp_path: Path) -> None:
    store.add("a", "x = 1")
    store.pause("a")
    store.replace("a", "x = 2", label="new")
    store.renew("a", datetime.now(UTC) + SOON)
    store.add_many([{"id": "a", "condition": "x = 3"}], replace=True)
    assert (store.get("a").state, store.get("a").condition) == ("paused", "x = 3")
    assert published(store, tmp_path / "snapshot") == 0


def test_a_paused_subscription_expires_all_the_same(store: Store) -> None:
    store.add("a", "x = 1", expires=datetime.now(UTC) + SOON)
    store.pause("a")
    store.expire(datetime.now(UTC) + 2 * SOON)
    assert "a" not in store


def test_a_subscription_whose_time_has_not_come_waits_again_when_it_is_resumed(store: Store) -> None:
    store.add("a", "x = 1", valid_from=datetime.now(UTC) + SOON)
    store.pause("a")
    store.expire(datetime.now(UTC) + 2 * SOON)
    assert store.get("a").state == "paused", "its time comes, and it stays paused"
    store.pause("a", paused=False)
    assert store.get("a").state == "waiting"


def test_a_paused_subscription_can_be_removed_and_added_again(store: Store) -> None:
    store.add("a", "x = 1")
    store.pause("a")
    store.remove("a")
    with pytest.raises(SubscriptionError, match="there is no subscription 'a'; it was removed"):
        store.pause("a", paused=False)
    store.add("a", "x = 1")
    assert (store.get("a").state, store.get("a").revision) == ("active", 2)


def test_an_event_type_that_refuses_a_paused_condition_says_so(store: Store) -> None:
    from tamis.events.event_type import EventType

    store.set_event_type(EventType.of({"name": "sale", "attributes": {"price": "double"}}))
    store.add("a", "price < 1", event_type="sale")
    store.pause("a")
    [refusal] = store.set_event_type(EventType.of({"name": "sale", "attributes": {"cost": "double"}}))
    assert refusal.id == "a"
    assert store.get("a").state == "paused"


# --- searching ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("CHEAP", ["cheap-1", "other"]),
        ("price <", ["cheap-1"]),
        ("100%", ["other"]),
        ("1_0", []),
        ("'", ["quoted"]),
        ("\\", ["quoted"]),
        ("nothing", []),
        ("\0", []),
    ],
)
def test_search_looks_into_ids_labels_and_conditions(store: Store, text: str, ids: list[str]) -> None:
    store.add("cheap-1", "price < 5")
    store.add("other", "x = 100", label="100% Cheap")
    store.add("quoted", "b = 'it\\\\s'")
    assert [each.id for each in store.list(search=text)] == ids


def test_search_goes_with_owner_and_page(store: Store) -> None:
    for owner in ("t", "u"):
        for number in range(3):
            store.add(f"{owner}{number}", "cheap = 1", owner=owner)
    assert [each.id for each in store.list(search="cheap", owner="u", after="u0", limit=1)] == ["u1"]
    with store.view() as view:
        assert (view.count(owner="t"), view.count()) == (3, 6)


# --- alongside, limited ------------------------------------------------------------------------------------------


def test_what_is_written_alongside_is_told_the_new_ids(store: Store) -> None:
    store.add("old", "x = 1")
    told: list[list[str]] = []
    rows = [
        {"id": "old", "condition": "x = 2"},
        {"id": "new", "condition": "x = 1"},
        {"id": "bad", "condition": "x ="},
    ]
    store.add_many(rows, replace=True, alongside=lambda _, ids: told.append(ids))
    assert told == [["new"]]


def test_nothing_is_added_if_what_is_alongside_fails(store: Store) -> None:
    def fail(_: Connection, __: list[str]) -> None:
        msg = "no"
        raise RuntimeError(msg)

    version = store.version()
    with pytest.raises(RuntimeError):
        store.add_many([{"id": "a", "condition": "x = 1"}], alongside=fail)
    assert (store.version(), len(store)) == (version, 0)


def test_a_limited_store_is_the_same_store(store: Store) -> None:
    limited = store.with_limits(Limits(operators=frozenset()))
    limited.add("a", "x = 1")
    assert "a" in store
    assert store.with_limits(store.limits) is store
