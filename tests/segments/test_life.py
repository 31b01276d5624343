"""A matcher through its life: whatever is done to it, it finds what a plain dictionary of conditions finds."""

from __future__ import annotations

import random
import tempfile
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Matcher, SubscriptionError, reference
from tamis.language.condition import Condition
from tamis.matcher import Sort
from tamis.segments import collection, merge
from tests.matchers import segments_of
from tests.worlds import WORLDS, World, world

_STOCK = 60


class Model:
    """A matcher beside what it should hold."""

    def __init__(self, here: World, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        self.here = here
        self.stock = here.accepted(random.Random(seed % 7), _STOCK)
        self.matcher = Matcher(here.event_type)
        self.conditions: dict[str, Condition] = {}
        self.revisions: dict[str, int] = {}
        self.folder = folder
        self.published: list[tuple[int, dict[str, Condition]]] = []
        self.number = 0

    def new_id(self) -> str:
        self.number += 1
        return f"s{self.number}"

    def some_id(self) -> str:
        return self.random.choice([*self.conditions])

    def add(self) -> None:
        id, condition = self.new_id(), self.random.choice(self.stock)
        self.matcher.add(id, condition.text if self.random.random() < 0.5 else condition)
        self.conditions[id], self.revisions[id] = condition, 1

    def add_many(self) -> None:
        count = self.random.choice((1, 5, 40, 120))
        given = [(self.new_id(), self.random.choice(self.stock)) for _ in range(count)]
        refused = self.matcher.add_many([(id, condition.text) for id, condition in given])
        assert refused == []
        self.conditions.update(given)
        self.revisions.update((id, 1) for id, _ in given)

    def replace(self) -> None:
        id, condition = self.some_id(), self.random.choice(self.stock)
        self.matcher.replace(id, condition.text)
        self.conditions[id] = condition
        self.revisions[id] += 1

    def remove(self) -> None:
        id = self.some_id()
        self.matcher.remove(id)
        del self.conditions[id]
        with pytest.raises(SubscriptionError):
            self.matcher.remove(id)

    def remove_many(self) -> None:
        ids = self.random.sample([*self.conditions], min(len(self.conditions), self.random.choice((1, 10, 60))))
        assert self.matcher.remove_many([*ids, "nobody"]) == ["nobody"]
        for id in ids:
            del self.conditions[id]

    def merge(self) -> None:
        self.matcher.merge()
        assert self.matcher.stats()["dead"] == 0
        assert self.matcher.stats()["segments"] <= 1

    def publish(self) -> None:
        version = self.matcher.publish(self.folder)
        self.published.append((version, dict(self.conditions)))

    def open(self) -> None:
        if self.published:
            version, conditions = self.random.choice(self.published)
            old = Matcher.open(self.folder, version)
            self.check_one(old, conditions)
            if version == self.published[-1][0] and conditions == self.conditions:
                self.matcher = Matcher.open(self.folder)

    def check(self) -> None:
        self.check_one(self.matcher, self.conditions)
        for id in self.random.sample([*self.conditions], min(3, len(self.conditions))):
            found = self.matcher.subscription(id)
            assert (found.condition, found.revision) == (self.conditions[id].text, self.revisions[id])

    def check_one(self, matcher: Matcher, conditions: dict[str, Condition]) -> None:
        batch = self.here.batch(self.random, self.random.choice((0, 1, 3, 20, 70)))
        sorts: tuple[Sort | None, ...] = ("event", "subscription", None)
        sort = self.random.choice(sorts)
        table = matcher.match_batch(batch, sort=sort)
        events, ids = table["event_id"].to_pylist(), table["subscription_id"].to_pylist()
        wanted = {(row, id) for id, condition in conditions.items() for row in reference.matches(condition, batch)}
        found = list(zip(events, ids, strict=True))
        assert set(found) == wanted
        assert len(found) == len(wanted), "a pair is there twice"
        if sort == "event":
            assert events == sorted(events)
        if sort == "subscription":
            assert sum(a != b for a, b in pairwise(ids)) < max(1, len(set(ids)))
        assert len(matcher) == len(conditions)
        assert {each.id for each in matcher} == set(conditions)


STEPS = (
    "add",
    "add",
    "add_many",
    "replace",
    "remove",
    "remove_many",
    "merge",
    "publish",
    "open",
    "check",
    "check",
)
NEED = {"replace", "remove", "remove_many"}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
@given(seed=st.integers(0, 2**32), steps=st.lists(st.sampled_from(STEPS), min_size=3, max_size=14))
def test_a_life(name: str, seed: int, steps: list[str]) -> None:
    live(name, seed, steps)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_a_long_life(name: str) -> None:
    random_ = random.Random(51)
    live(name, 52, ["add_many", *random_.choices(STEPS, k=25)])


def live(name: str, seed: int, steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # Small sizes, so that little happens to few subscriptions often.
        patch.setattr(collection, "SMALL_MEMTABLE", 4)
        patch.setattr(collection, "LARGE_MEMTABLE", 30)
        patch.setattr(merge, "FANOUT", 3)
        patch.setattr(merge, "SMALLEST", 8)
        model = Model(world(name), seed, Path(folder) / "snapshot")
        for step in steps:
            if step not in NEED or model.conditions:
                getattr(model, step)()
        model.check()


def test_ids_that_are_taken_and_ids_given_twice() -> None:
    matcher = Matcher()
    rows = [{"id": f"s{number}", "condition": f"a = {number}"} for number in range(150)]
    assert matcher.add_many(pa.Table.from_pylist(rows)) == []
    again = [
        {"id": "s3", "condition": "b = 1"},
        {"id": "t", "condition": "b = 1"},
        {"id": "t", "condition": "b = 2"},
    ]
    more = [{"id": f"t{number}", "condition": f"a = {number}"} for number in range(150)]
    refused = matcher.add_many(pa.Table.from_pylist([*again, *more]))
    assert [each.id for each in refused] == ["s3", "t"]
    assert (len(matcher), matcher.subscription("t").condition) == (301, "b = 1")
    assert sorted(matcher.match({"a": 3, "b": 1})) == ["s3", "t", "t3"]


def test_a_removed_id_can_come_back() -> None:
    matcher = Matcher()
    matcher.add_many([(f"s{number}", f"a = {number}") for number in range(120)])
    matcher.remove("s5")
    matcher.add("s5", "a = 7")
    assert matcher.match({"a": 7}) == ["s7", "s5"]
    matcher.merge()
    assert sorted(matcher.match({"a": 7})) == ["s5", "s7"]
    assert matcher.match({"a": 5}) == []
    assert matcher.subscription("s5").revision == 1


def test_the_number_of_segments_stays_small() -> None:
    matcher = Matcher()
    for lot in range(40):
        matcher.add_many([(f"s{lot}-{number}", f"a = {number}") for number in range(100)])
    tiers = {merge.tier(segment.alive) for segment in segments_of(matcher)}
    assert matcher.stats()["segments"] <= (merge.FANOUT - 1) * len(tiers)
    assert len(matcher.match({"a": 5})) == 40


def test_what_is_mostly_dead_is_rewritten() -> None:
    matcher = Matcher()
    matcher.add_many([(f"s{number}", "a = 1") for number in range(1000)])
    matcher.remove_many([f"s{number}" for number in range(600)])
    assert (matcher.stats()["dead"], len(matcher), len(matcher.match({"a": 1}))) == (0, 400, 400)
