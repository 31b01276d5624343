"""Matching from many threads while subscriptions come and go: each match sees one version, never a mixture."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tamis import Matcher
from tamis.segments import collection, merge

_GROUP = 40
"""Subscriptions that come and go together."""


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "SMALL_MEMTABLE", 4)
    monkeypatch.setattr(merge, "FANOUT", 3)
    monkeypatch.setattr(merge, "SMALLEST", 16)


def group(number: int, size: int = _GROUP) -> list[tuple[str, str]]:
    return [(f"{number}-{member}", "a >= 0") for member in range(size)]


@pytest.mark.slow
@pytest.mark.parametrize("bulk", [False, True], ids=["in the head", "in segments"])
def test_groups_are_seen_whole_or_not_at_all(bulk: bool) -> None:
    size = 150 if bulk else _GROUP
    matcher = Matcher()
    matcher.add_many([("always", "a >= 0")])
    stop = threading.Event()
    seen: list[int] = []

    def read() -> None:
        while not stop.is_set():
            found = matcher.match_batch([{"a": 1}, {"a": 2}, {"a": -1}])
            events = found["event_id"].to_pylist()
            ids = found["subscription_id"].to_pylist()
            first = {id for event, id in zip(events, ids, strict=True) if event == 0}
            second = {id for event, id in zip(events, ids, strict=True) if event == 1}
            assert first == second, "two events of a batch saw different versions"
            assert 2 not in events
            assert "always" in first
            groups: dict[str, int] = {}
            for id in first - {"always"}:
                groups[id.split("-")[0]] = groups.get(id.split("-")[0], 0) + 1
            if bulk:  # one by one, a group grows in the head and may be seen in part
                assert set(groups.values()) <= {size}, groups
            seen.append(len(groups))

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            for number in range(25):
                matcher.add_many(group(number, size))
                if number >= 3:
                    matcher.remove_many([id for id, _ in group(number - 3, size)])
                if number % 10 == 5:
                    matcher.merge()
        finally:
            stop.set()
        for reader in readers:
            reader.result()
    assert seen
    assert max(seen) > 0
    assert len(matcher) == 1 + 3 * size


def test_a_replaced_subscription_is_there_once_in_every_version() -> None:
    matcher = Matcher()
    matcher.add_many([(f"s{number}", "a >= 0") for number in range(120)])
    stop = threading.Event()

    def read() -> int:
        matches = 0
        while not stop.is_set():
            found = matcher.match({"a": 1})
            assert sorted(found) == sorted(f"s{number}" for number in range(120))
            matches += 1
        return matches

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for turn in range(150):
                matcher.replace(f"s{turn % 120}", f"a >= {-turn}")
        finally:
            stop.set()
        assert all(reader.result() > 0 for reader in readers)


def test_several_threads_on_one_batch() -> None:
    subscriptions = [(f"s{number}", f"a > {number} AND b < {number % 7}") for number in range(300)]
    events = [{"a": row % 311, "b": row % 9} for row in range(3000)]
    one, several = Matcher(), Matcher(threads=3)
    one.add_many(subscriptions)
    several.add_many(subscriptions)
    assert (
        several.match_batch(events)
        .sort_by([("event_id", "ascending"), ("subscription_id", "ascending")])
        .equals(one.match_batch(events).sort_by([("event_id", "ascending"), ("subscription_id", "ascending")]))
    )


def test_writers_in_several_threads() -> None:
    matcher = Matcher()

    def write(writer: int) -> None:
        for number in range(60):
            matcher.add(f"{writer}-{number}", f"a = {number}")
            if number % 3 == 0:
                matcher.remove(f"{writer}-{number}")

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(write, writer) for writer in range(4)]:
            done.result()
    assert len(matcher) == 4 * 40
    assert sorted(matcher.match({"a": 4})) == [f"{writer}-4" for writer in range(4)]
