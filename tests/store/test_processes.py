"""Several processes on one store: every change is there, in whole and dense versions, whoever is killed."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tamis.matchers import Matchers
from tamis.store import Publisher, Store
from tests.store.processes import add_in_company, finish, import_for_ever, queue, start, sync_for_ever


def versions_of(store: Store) -> Counter[int]:
    """How many changes each version has."""
    return Counter(store.changes(0).column("store_version").to_pylist())


@pytest.mark.slow
def test_two_processes_lose_nothing(url: str) -> None:
    times, names = 12, ("p", "q")
    finish([start(add_in_company, url, name, times) for name in names])
    with Store.open(url, create=False) as store:
        versions = versions_of(store)
        assert sorted(versions) == list(range(1, store.version() + 1))
        assert store.version() == len(names) * times * 4 + len(store.history("shared"))
        for name in names:
            kept = store.list(prefix=f"{name}-")
            assert len(kept) == times * 3
            assert sum(each.revision == 2 for each in kept) == times
        kinds = [change.kind for change in store.history("shared")]
        assert kinds == ["add", "remove"] * (len(kinds) // 2) + ["add"] * (len(kinds) % 2)
        assert ("shared" in store) == (len(kinds) % 2 == 1)
        revisions = [change.revision for change in store.history("shared") if change.kind == "add"]
        assert revisions == list(range(1, len(revisions) + 1))


@pytest.mark.slow
def test_threads_share_a_store(store: Store) -> None:
    def work(name: int) -> None:
        for number in range(10):
            store.add(f"{name}-{number}", "x = 1")
            store.get(f"{name}-{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert (store.version(), len(store)) == (40, 40)
    assert sorted(versions_of(store)) == list(range(1, 41))


@pytest.mark.slow
def test_removing_while_importing_is_safe(store: Store) -> None:
    done = Event()

    def remove() -> None:
        while not done.is_set():
            store.remove_many([each.id for each in store.list(limit=50)])

    with ThreadPoolExecutor(1) as pool:
        removing = pool.submit(remove)
        for number in range(5):
            store.add_many([{"id": f"{number}-{n}", "condition": "x = 1"} for n in range(300)])
        done.set()
        removing.result()
    log = store.changes(0)
    kinds = Counter(log.column("kind").to_pylist())
    assert kinds["add"] == 1_500
    assert len(store) == 1_500 - kinds["remove"]
    assert sorted(versions_of(store)) == list(range(1, store.version() + 1))


def test_readers_do_not_wait_for_a_writer(store: Store) -> None:
    store.add("a", "x = 1")
    with store._database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM tamis_subscriptions")
        assert "a" in store
    assert "a" not in store


@pytest.mark.slow
def test_a_killed_import_leaves_whole_versions_only(url: str) -> None:
    rows, chance = 400, random.Random(7)
    for turn in range(1, 6):
        ready = queue()
        process = start(import_for_ever, url, ready, rows)
        assert ready.get()
        process.join(chance.uniform(0, 0.2))
        process.kill()
        process.join(60)
        with Store.open(url) as store:
            store.add(f"after kill {turn}", "x = 1")
            versions = versions_of(store)
            assert sorted(versions) == list(range(1, store.version() + 1))
            sizes = Counter(versions.values())
            assert (sizes[1], sizes[rows + 1]) == (turn, 1)  # the first import declares the event type
            assert sizes.keys() <= {1, rows, rows + 1}
            assert len(store) == (store.version() - turn) * rows + turn


@pytest.mark.slow
def test_a_killed_publisher_is_made_up_for(url: str, tmp_path: Path) -> None:
    snapshot, chance = str(tmp_path / "snapshot"), random.Random(7)
    for _ in range(5):
        ready = queue()
        process = start(sync_for_ever, url, snapshot, ready)
        assert ready.get()
        process.join(chance.uniform(0, 0.3))
        process.kill()
        process.join(60)
        with Store.open(url) as store:
            published = Publisher(store, snapshot).sync()
            assert published.store_version == store.version()
            opened = Matchers.open(snapshot)
            assert opened.extra["store"] == {"id": store.identity, "version": store.version(), "refused": 0}
            expected = {(each.id, each.revision) for each in store.list()}
            found = {(each.id, each.revision) for name in opened for each in opened[name]}
            assert found == expected
    assert expected
