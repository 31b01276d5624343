"""Small indexes: formulas are evaluated until the kernels of an index are there, or worth it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis import EventBatch, Matcher, interpretation
from tamis.engines.base import Index
from tamis.engines.bitslice import Bitslice, BitsliceIndex
from tamis.engines.forest import Forest, forest_of
from tamis.interpretation import Allowance
from tamis.language.condition import normalise
from tamis.segments import small_index
from tamis.segments.small_index import SmallIndex, small_or_built
from tamis.snapshot import Snapshots

FORMULAS = [normalise(f"a > {number} OR b LIKE '%x{number}'") for number in range(20)]
EVENTS = EventBatch.of([{"a": 5, "b": "yx7"}, {"a": 30, "b": ""}])


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """Whether kernels are compiled; an index is worth compiling them after 100 evaluations."""
    found = {"all": False}
    monkeypatch.setattr(interpretation, "is_compiled", lambda _module: found["all"])
    monkeypatch.setattr(small_index, "_allowance", Allowance(to_load=0, to_compile=100))
    return found


def build(forest: Forest) -> Index:
    return Bitslice().build(forest)


def pairs(index: Index) -> set[tuple[int, int]]:
    found = index.match(EVENTS)
    return set(zip(found.rows.tolist(), found.slots.tolist(), strict=True))


def test_an_index_is_built_when_it_is_worth_compiling_it(compiled: dict[str, bool]) -> None:
    forest = forest_of(FORMULAS)
    index = small_or_built(forest, lambda: build(forest))
    assert isinstance(index, SmallIndex)
    expected = pairs(build(forest))
    for is_built in (False, False, False, False, True):
        assert pairs(index) == expected
        assert (index.built is not None) == is_built
    assert "entries" in index.stats().counts


def test_an_index_is_built_when_kernels_have_been_compiled_elsewhere(compiled: dict[str, bool]) -> None:
    forest = forest_of(FORMULAS)
    index = small_or_built(forest, lambda: build(forest))
    compiled["all"] = True
    assert pairs(index) == pairs(build(forest))
    assert isinstance(index, SmallIndex)
    assert isinstance(index.built, BitsliceIndex)
    assert isinstance(small_or_built(forest, lambda: build(forest)), BitsliceIndex)


def test_many_formulas_have_an_index_at_once(compiled: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_index, "MOST", len(FORMULAS) - 1)
    forest = forest_of(FORMULAS)
    assert isinstance(small_or_built(forest, lambda: build(forest)), BitsliceIndex)


def test_what_was_published_without_an_index_gets_one_where_there_are_kernels(
    compiled: dict[str, bool], tmp_path: Path
) -> None:
    matcher = Matcher()
    matcher.add_many((f"s{number}", f"a > {number}") for number in range(40))
    matcher.publish(tmp_path)
    (entry,) = Snapshots(tmp_path).manifest().entries
    assert Snapshots(tmp_path).segment(entry.segment).meta["engines"] == []
    cold = Matcher.open(tmp_path).match_batch([{"a": 5}])
    compiled["all"] = True
    opened = Matcher.open(tmp_path)
    assert opened.match_batch([{"a": 5}]).equals(cold)
    assert "entries" in opened.stats()
    assert opened.match_batch([{"a": 5}]).equals(cold)


def test_merged_segments_find_the_same_without_kernels(compiled: dict[str, bool]) -> None:
    matcher, whole = Matcher(), Matcher()
    for number in range(40):
        for each in (matcher, whole):
            each.add(f"s{number}", f"a > {number} OR b = 'x{number % 3}' AND NOT c IN (1, {number})")
        if number % 10 == 9:
            matcher.merge()
    matcher.remove_many(["s3", "s20"])
    matcher.merge()
    whole.remove_many(["s3", "s20"])
    compiled["all"] = True
    events = [{"a": 7, "b": "x1", "c": 4}, {"a": 90}, {"b": "x2", "c": 1}]
    assert matcher.match_batch(events).sort_by("subscription_id") == whole.match_batch(events).sort_by(
        "subscription_id"
    )
