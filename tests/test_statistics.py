"""Statistics: learned from batches, kept as JSON, used for filing, never changing what is found."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from tamis import EventBatch, EventType, Matcher, Statistics
from tamis.formulas.expression import Path
from tamis.frames import BatchFrame
from tamis.statistics import SAMPLE
from tamis.values.types import INT
from tests.worlds import WORLDS, world

OFFER = EventType.from_dict({"name": "offer", "attributes": {"a": "int", "b": "int"}})
A, B = Path(("a",), INT), Path(("b",), INT)


def frame(rows: int, share: float, seed: int = 1) -> BatchFrame:
    random_ = random.Random(seed)
    events = [{"a": random_.randrange(100), "b": 7 if random_.random() < share else None} for _ in range(rows)]
    return BatchFrame(EventBatch.of(events, OFFER))


def test_non_null_fraction_and_values_are_learned() -> None:
    statistics = Statistics()
    for turn in range(40):
        statistics.observe(frame(50, 0.2, turn), [A, B])
    a, b = statistics.of(A), statistics.of(B)
    assert a is not None
    assert b is not None
    assert a.non_null_fraction > 0.99
    assert b.non_null_fraction == pytest.approx(0.2, abs=0.05)
    assert set(b.sample) == {7}
    assert len(a.sample) == SAMPLE
    assert np.mean(a.sample) == pytest.approx(49.5, abs=6)


@pytest.mark.slow
def test_newer_events_count_more() -> None:
    statistics = Statistics()
    for turn in range(2000):
        statistics.observe(frame(64, 0.0 if turn < 1000 else 1.0, turn % 5), [B])
    found = statistics.of(B)
    assert found is not None
    assert found.non_null_fraction > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_json_and_back(name: str) -> None:
    random_ = random.Random(3)
    here = world(name)
    matcher = Matcher(here.event_type)
    matcher.add_many((f"s{number}", each.text) for number, each in enumerate(here.accepted(random_, 150)))
    matcher.match_batch(here.batch(random_, 50))
    content = json.loads(json.dumps(matcher.statistics.to_json()))
    assert len(matcher.statistics) > 5
    again = Statistics.from_json(content)
    assert json.loads(json.dumps(again.to_json())) == content


@pytest.mark.slow
def test_statistics_change_nothing_that_is_found() -> None:
    random_ = random.Random(4)
    here = world("typed")
    conditions = [(f"s{number}", each.text) for number, each in enumerate(here.accepted(random_, 200))]
    learned = Matcher(here.event_type)
    learned.add_many(conditions)
    batches = [here.batch(random_, 60) for _ in range(3)]
    tables = [learned.match_batch(batch).to_pylist() for batch in batches]
    informed = Matcher(here.event_type, statistics=learned.statistics)
    informed.add_many(conditions)
    for batch, table in zip(batches, tables, strict=True):
        found = informed.match_batch(batch).to_pylist()
        assert sorted(map(str, found)) == sorted(map(str, table))


def test_a_survey_keeps_quantiles_and_frequent_values() -> None:
    values = [1] * 600 + [2] * 300 + list(range(3, 103))
    random.Random(1).shuffle(values)
    statistics = Statistics()
    statistics.survey(BatchFrame(EventBatch.of([{"a": value} for value in values], OFFER)), [A, B], len(values))
    a = statistics.of(A)
    assert a is not None
    assert a.sample.count(1) == pytest.approx(0.6 * SAMPLE, abs=1)
    assert a.sample.count(2) == pytest.approx(0.3 * SAMPLE, abs=1)
    assert (a.events, a.present, a.distinct) == (1_000, 1_000, 102)
    assert statistics.describe() == [
        {
            "attribute": "a",
            "presence": 0.9995,
            "distinct": 102,
            "quartiles": ["1", "1", "1", "2", "101"],
            "frequent": {"1": pytest.approx(0.6, abs=0.01), "2": pytest.approx(0.3, abs=0.01)},
        },
        {"attribute": "b", "presence": pytest.approx(0.0005), "distinct": 0, "quartiles": [], "frequent": {}},
    ]
    assert Statistics.from_json(json.loads(json.dumps(statistics.to_json()))).describe() == statistics.describe()


def test_values_seen_once_stand_for_others() -> None:
    events = [{"a": row, "b": row % 10} for row in range(100)]
    statistics = Statistics()
    statistics.survey(BatchFrame(EventBatch.of(events, OFFER)), [A, B], 10_000)
    a, b = statistics.of(A), statistics.of(B)
    assert a is not None
    assert b is not None
    assert a.distinct == pytest.approx(1_000)
    assert b.distinct == 10


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_everything_learned_can_be_described(name: str) -> None:
    random_ = random.Random(5)
    here = world(name)
    matcher = Matcher(here.event_type)
    matcher.add_many((f"s{number}", each.text) for number, each in enumerate(here.accepted(random_, 150)))
    matcher.match_batch(here.batch(random_, 50))
    described = matcher.statistics.describe()
    assert len(described) == len(matcher.statistics)
    assert all(len(each["quartiles"]) in (0, 5) for each in described)
