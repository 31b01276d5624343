"""Coarse bitmaps leave out nothing that an event satisfies, however few events there are."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tamis import Matcher, reference
from tamis.engines import ENGINES
from tamis.engines.base import Index
from tamis.engines.bitslice import Bitslice, BitsliceIndex, coarse_bitmaps
from tamis.events import EventBatch, EventType
from tamis.lab.workloads import generate
from tamis.language.condition import Condition, compile_condition
from tests.worlds import WORLDS, world

pytestmark = pytest.mark.slow

NEVER_MASKS = 1 << 30
TYPE = EventType.from_dict({"name": "e", "attributes": {name: "bigint" for name in "abcdef"}})


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every group has an coarse bitmap of all axes that its entries ask for."""
    monkeypatch.setattr(coarse_bitmaps, "LEAST_ENTRIES", 1)
    monkeypatch.setattr(coarse_bitmaps, "MANY_EVENTS", 0)
    monkeypatch.setattr(coarse_bitmaps, "_LEAST_REFUSED", 1e-9)
    monkeypatch.setattr(coarse_bitmaps, "_MOST_LEFT", 1.0)


def found(index: Index, batch: EventBatch) -> list[tuple[int, int]]:
    rows, slots = index.match(batch)
    return sorted(zip(rows.tolist(), slots.tolist(), strict=True))


def wanted(conditions: Sequence[Condition], batch: EventBatch) -> list[tuple[int, int]]:
    return sorted((row, slot) for slot, each in enumerate(conditions) for row in reference.matches(each, batch))


def ranges(random_: random.Random, count: int) -> list[Condition]:
    """Conjunctions of intervals with many different ends, some of which admit NULL."""
    texts = []
    for _ in range(count):
        parts = []
        for name in random_.sample("abcdef", random_.randint(2, 5)):
            low = random_.randrange(-(1 << 40), 1 << 40) if name < "c" else random_.randrange(1_000)
            high = low + (random_.randrange(1 << 40) if name < "c" else random_.randrange(600))
            part = f"{name} BETWEEN {low} AND {high}" if random_.random() < 0.8 else f"{name} <= {high}"
            parts.append(f"({name} IS NULL OR {part})" if random_.random() < 0.2 else part)
        texts.append(" AND ".join(parts))
    return [compile_condition(text, TYPE) for text in texts]


def events(random_: random.Random, count: int) -> EventBatch:
    def value(name: str) -> int:
        return random_.randrange(-(1 << 40), 1 << 41) if name < "c" else random_.randrange(1_600)

    return EventBatch.of(
        [{name: value(name) for name in "abcdef" if random_.random() < 0.85} for _ in range(count)], TYPE
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_conditions(everywhere: None, name: str) -> None:
    random_ = random.Random(71)
    here = world(name)
    conditions = here.accepted(random_, 150)
    index = Bitslice().build([condition.formula for condition in conditions])
    assert index.stats().counts["coarse_bitmaps"] > 0
    for rows in (0, 1, 2, 9, 40):
        batch = here.batch(random_, rows)
        for fewest in (2, NEVER_MASKS):
            index.fewest = fewest
            assert found(index, batch) == wanted(conditions, batch)


@pytest.mark.slow
def test_intervals_with_many_ends(everywhere: None) -> None:
    random_ = random.Random(72)
    conditions = ranges(random_, 700)
    index = Bitslice().build([condition.formula for condition in conditions])
    for rows in (1, 3, 30, 300):
        batch = events(random_, rows)
        expected = wanted(conditions, batch)
        for fewest in (1, 2, NEVER_MASKS):
            index.fewest = fewest
            assert found(index, batch) == expected


def test_a_saved_outline_is_the_same(everywhere: None) -> None:
    random_ = random.Random(73)
    conditions = ranges(random_, 100)
    index = Bitslice().build([condition.formula for condition in conditions])
    opened = BitsliceIndex.from_arrays(index.forest, index.arrays())
    assert opened.stats() == index.stats()
    assert opened.stats().bytes["outline.bits"] > 0
    batch = events(random_, 5)
    opened.fewest = NEVER_MASKS
    assert found(opened, batch) == wanted(conditions, batch)


@pytest.mark.slow
def test_segments_and_deaths(everywhere: None) -> None:
    random_ = random.Random(74)
    matcher = Matcher(TYPE, "bitslice")
    texts = {f"s{place}": condition.text for place, condition in enumerate(ranges(random_, 900))}
    ids = list(texts)
    for first in range(0, 900, 300):
        assert not matcher.add_many([(id_, texts[id_]) for id_ in ids[first : first + 300]])
    dead = set(random_.sample(ids, 200))
    matcher.remove_many(sorted(dead))
    batch = events(random_, 4)
    table = matcher.match_batch(batch)
    pairs = sorted(zip(table["event_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))
    living = {id_: compile_condition(text, TYPE) for id_, text in texts.items() if id_ not in dead}
    assert pairs == sorted((row, id_) for id_, each in living.items() for row in reference.matches(each, batch))


@pytest.mark.slow
def test_large_groups_have_outlines_and_small_ones_have_none() -> None:
    workload = generate("ranges", subscriptions=6_000, events=16, seed=75, attributes=4, ranges=3)
    formulas = [compile_condition(text, workload.event_type).formula for text in workload.conditions.to_pylist()]
    index, other = Bitslice().build(formulas), ENGINES["bitset"].build(formulas)
    assert index.stats().counts["coarse_bitmaps"] > 0
    assert Bitslice().build(formulas[:200]).stats().counts["coarse_bitmaps"] == 0
    for rows in (1, 16):
        batch = EventBatch.of(workload.events.slice(0, rows), workload.event_type)
        assert found(index, batch) == found(other, batch)


@pytest.mark.slow
@pytest.mark.parametrize("fewest", [1, NEVER_MASKS])
def test_more_intervals_than_are_looked_at_together(fewest: int) -> None:
    random_ = random.Random(76)
    names = [f"n{place}" for place in range(80)]
    wide = EventType.from_dict({"name": "w", "attributes": {name: "int" for name in names}})
    conditions = [
        compile_condition(" AND ".join(f"{name} < {random_.randrange(900, 2_000)}" for name in names), wide)
        for _ in range(300)
    ]
    index = Bitslice().build([condition.formula for condition in conditions])
    index.fewest = fewest
    batch = EventBatch.of([{name: random_.randrange(1_000) for name in names} for _ in range(70)], wide)
    assert found(index, batch) == wanted(conditions, batch)
