"""A matcher whose engine changes in place: one index, and every reader sees the version of its beginning."""

from __future__ import annotations

import random
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tamis import Matcher, operator
from tamis.errors import SubscriptionError
from tamis.formulas.formula import Formula
from tamis.lab.dynamic.term_index import TermIndex
from tamis.lab.jewel.dag import FilterError
from tamis.lab.wang.rtree import RtreeStore
from tamis.operators.registry import OPERATORS, uninstall
from tamis.segments.live_index import LiveCollection
from tamis.segments.records import Subscription

LABORATORY = ("counting", "hits", "buckets:capacity=2")
ENGINES = ["scan", *(pytest.param(name, marks=pytest.mark.lab) for name in LABORATORY)]
REFUSED = "AT_LEAST(2, a > 1, b > 1, c > 1)"
"""More than AND and OR, which is all that this filter of `dag` supports."""
EVENTS = [{"a": value, "b": value % 3} for value in range(12)]


def pairs(table: Any) -> list[tuple[int, str]]:
    return sorted((row["event_id"], row["subscription_id"]) for row in table.to_pylist())


def expected(conditions: dict[str, int]) -> list[tuple[int, str]]:
    return sorted((event, id) for event in range(12) for id, least in conditions.items() if event >= least)


@pytest.mark.parametrize("engine", ENGINES)
def test_subscriptions_come_and_go_in_one_index(engine: str) -> None:
    random_ = random.Random(3)
    matcher, held = Matcher(engine=engine), dict[str, int]()
    for turn in range(60):
        if held and random_.random() < 0.4:
            id = random_.choice([*held])
            matcher.remove(id)
            del held[id]
        elif held and random_.random() < 0.3:
            id = random_.choice([*held])
            held[id] = random_.randrange(12)
            matcher.replace(id, f"a >= {held[id]}")
        else:
            new = {f"{turn}-{n}": random_.randrange(12) for n in range(random_.randint(1, 4))}
            assert matcher.add_many([(id, f"a >= {least}") for id, least in new.items()]) == []
            held |= new
        assert len(matcher) == len(held)
        if turn % 10 == 9:
            assert pairs(matcher.match_batch(EVENTS)) == expected(held)
    assert matcher.stats()["segments"] == 0
    assert {each.id for each in matcher} == set(held)


@pytest.mark.parametrize("engine", ENGINES)
def test_all_parts_of_a_batch_see_the_version_of_its_beginning(engine: str) -> None:
    matcher = Matcher(engine=engine)
    matcher.add_many([("old", "a >= 0"), ("changed", "a >= 6"), ("kept", "b = 1")])
    before = pairs(matcher.match_batch(EVENTS))
    parts = matcher.match_parts(EVENTS, schedule="arrival", width=4)
    found = [*pairs(next(parts).pairs)]
    matcher.remove("old")
    matcher.replace("changed", "a >= 3")
    matcher.add("new", "a >= 0")
    found += [pair for part in parts for pair in pairs(part.pairs)]
    assert sorted(found) == before
    after = {id for _, id in pairs(matcher.match_batch(EVENTS))}
    assert after == {"changed", "kept", "new"}


@pytest.mark.lab
def test_what_calls_an_operator_is_verified_and_can_be_removed() -> None:
    @operator("halves", ["int"], "int")
    def halves(values: Any) -> list[int]:
        return [value.as_py() // 2 for value in values]

    try:
        matcher = Matcher({"name": "t", "attributes": {"a": "int"}}, engine="counting")
        matcher.add("four", "halves(a) = 4 AND a > 8")
        matcher.add("any", "a > 10")
        assert pairs(matcher.match_batch([{"a": 8}, {"a": 9}, {"a": 11}])) == [(1, "four"), (2, "any")]
        assert matcher.operators() == {"halves"}
        matcher.remove("four")
        assert pairs(matcher.match_batch([{"a": 9}])) == []
        assert matcher.operators() == set()
    finally:
        uninstall("halves")
    assert "halves" not in OPERATORS


@pytest.mark.lab
def test_wangs_search_begins_again_after_as_many_changes_as_the_engine_says() -> None:
    matcher = Matcher(engine="rtree:threshold=40,rounds=1,inner=3,leaf=4")
    conditions = {f"s{low}": f"a BETWEEN {low} AND {low + 9} AND b > {low % 7 - 5}" for low in range(200)}
    assert matcher.add_many(conditions) == []
    assert isinstance(matcher._collection, LiveCollection)
    index = matcher._collection.index
    assert isinstance(index, TermIndex) and isinstance(index._store, RtreeStore)
    events = [{"a": value, "b": value % 3} for value in range(0, 200, 12)]
    search = index._store._controllers.of(len(events))
    for _ in range(100):
        matcher.match_batch(events)
    assert search.settled
    for low in range(39):
        matcher.remove(f"s{low}")
    assert search.settled, "one change less than the threshold"
    matcher.remove("s39")
    assert not search.settled
    plain = Matcher(engine="scan")
    plain.add_many([(id, text) for id, text in conditions.items() if id in matcher])
    for _ in range(100):
        assert pairs(matcher.match_batch(events)) == pairs(plain.match_batch(events))
    assert search.settled


@pytest.mark.lab
def test_publishing_goes_on_with_segments(tmp_path: Any) -> None:
    matcher = Matcher(engine="hits")
    matcher.add_many([("low", "a < 3"), ("high", "a > 9")])
    version = matcher.publish(tmp_path / "snapshot")
    assert version == 1
    assert matcher.stats()["segments"] == 1
    matcher.add("new", "a = 5")
    both = [matcher, Matcher.open(tmp_path / "snapshot", engine="hits")]
    assert [{id for _, id in pairs(each.match_batch(EVENTS))} for each in both] == [
        {"low", "high", "new"},
        {"low", "high"},
    ]


def test_changes_while_it_goes_over_to_segments_are_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matcher = Matcher(engine="scan")
    matcher.add_many([("low", "a < 3"), ("high", "a > 9"), ("both", "a > 1")])
    compile_again = matcher._formula_of
    changes = [
        lambda: matcher.remove("low"),
        lambda: matcher.remove_many(["both"]),
        lambda: matcher.add("new", "a = 5"),
    ]
    threads = [Thread(target=change) for change in changes]

    def formula_of(subscription: Subscription) -> Formula:
        for thread in threads:
            if thread.ident is None:
                thread.start()
        return compile_again(subscription)

    monkeypatch.setattr(matcher, "_formula_of", formula_of)
    matcher.publish(tmp_path / "snapshot")
    for thread in threads:
        thread.join()
    assert {each.id for each in matcher} == {"high", "new"}


@pytest.mark.lab
def test_what_an_engine_refuses_changes_nothing() -> None:
    matcher = Matcher(engine="dag:filter=true-value-path")
    matcher.add_many([("a", "a > 1"), ("b", "a > 2"), ("c", "a > 3")])
    matcher.remove("b")
    with pytest.raises(FilterError):
        matcher.replace("c", REFUSED)
    with pytest.raises(FilterError):
        matcher.add("d", REFUSED)
    matcher.add_many([("e", "a > 4"), ("f", "a > 5")])
    assert sorted(matcher.match({"a": 9})) == ["a", "c", "e", "f"]


def test_an_id_is_there_once() -> None:
    matcher = Matcher(engine="scan")
    refused = matcher.add_many([("x", "a = 1"), ("x", "a = 2"), ("y", "a =")])
    assert [each.id for each in refused] == ["x", "y"]
    with pytest.raises(SubscriptionError, match="already a subscription 'x'"):
        matcher.add("x", "a = 3")
    assert matcher.remove_many(["x", "z"]) == ["z"]
    assert len(matcher) == 0
