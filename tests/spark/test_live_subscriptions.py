"""Subscriptions that change while a stream runs: what is published, when, and how far behind it is."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tamis import EventType, Matcher
from tamis.errors import SnapshotError
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import reset_meters
from tamis.spark.live_subscriptions import LiveSubscriptions
from tamis.store import Store
from tamis.values.types import BIGINT

HALF = Operator("halved_here", (BIGINT,), BIGINT, lambda value: value // 2, batch=False)
TYPE = {"name": "reading", "attributes": {"id": "string", "n": "bigint"}}


@pytest.fixture
def halved() -> Iterator[Operator]:
    install(HALF)
    yield HALF
    uninstall("halved_here")
    reset_meters("halved_here")


def test_what_the_driver_refuses_of_a_store_is_told(
    tmp_path: Path, halved: Operator, caplog: pytest.LogCaptureFixture
) -> None:
    with Store.open(tmp_path / "subs.db") as store:
        store.set_event_type(EventType.of(TYPE))
        store.add("calls", "halved_here(n) = 1", event_type="reading")
        store.add("plain", "n = 1", event_type="reading")
        uninstall("halved_here")
        try:
            live = LiveSubscriptions(store, tmp_path / "snapshot", tmp_path)
            with caplog.at_level(logging.WARNING):
                live.publish()
        finally:
            install(halved)
    assert "the store has subscriptions that are refused, and not matched (1): 'calls': " in caplog.text
    assert len(Matcher.open(tmp_path / "snapshot")) == 1


def test_changes_are_published_when_they_are_asked_for(tmp_path: Path) -> None:
    with Store.open(tmp_path / "subs.db") as store:
        live = LiveSubscriptions(store, tmp_path / "snapshot", tmp_path)
        with pytest.raises(SnapshotError, match="there is no version yet"):
            live.newest()
        live.publish()
        store.add("a", "n = 1")
        assert live.newest() == 1
        live.publish()
        assert (live.newest(), live.store_version(2), live.lag_seconds()) == (2, 1, 0.0)
        live.publish()
        assert live.newest() == 2, "nothing has changed"


def test_a_folder_of_changes_is_a_store(tmp_path: Path) -> None:
    changes = tmp_path / "changes"
    changes.mkdir()
    (changes / "1.jsonl").write_text('{"id": "a", "condition": "n = 1"}\n')
    live = LiveSubscriptions(changes, tmp_path / "snapshot", tmp_path / "state")
    live.publish()
    assert len(Matcher.open(tmp_path / "snapshot")) == 1
    live.close()


def test_a_snapshot_of_another_process_is_used_as_it_is(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add("a", "n = 1")
    matcher.publish(tmp_path / "theirs")
    live = LiveSubscriptions(str(tmp_path / "theirs"), tmp_path / "ours", tmp_path)
    live.start(lambda: True, lambda: None)
    assert (live.newest(), live.store_version(1), live.lag_seconds()) == (1, None, None)
    live.close()
    assert not (tmp_path / "ours").exists()


def test_subscriptions_that_are_nowhere_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="expected a store, a folder of changes or a snapshot"):
        LiveSubscriptions(str(tmp_path / "nothing"), tmp_path / "snapshot", tmp_path)


def test_old_versions_and_old_changes_go(tmp_path: Path) -> None:
    with Store.open(tmp_path / "subs.db") as store:
        live = LiveSubscriptions(
            store, tmp_path / "snapshot", tmp_path, retention_seconds=0, change_retention=timedelta(0)
        )
        for number in range(5):
            store.add(f"s{number}", "true")
            live.publish()
        live.collect()
        assert live.snapshots.versions() == [4, 5]
        assert store.trimmed() == store.version() == 5
        store.add("more", "true")
        live.publish()
        assert live.store_version(live.newest()) == 6
