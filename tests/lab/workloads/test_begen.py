from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

from tamis import Matcher
from tamis.arrays import F64, I64, Bools
from tamis.lab.workloads import Workload, WorkloadError, generate
from tamis.lab.workloads.begen import (
    BegenParameters,
    SubscriptionBlock,
    count_by_chance,
    events_of,
    subscriptions_of,
    topics_of,
)
from tamis.lab.workloads.draws import BLOCK_CONDITIONS, Draws, zipf

PREDICATE = re.compile(r"x(\d+) (?:= (\d+)|BETWEEN (\d+) AND (\d+))(?: AND |$)")
SURE = 5.0
"""Standard errors that a mean may be off."""


class Predicate(NamedTuple):
    attribute: int
    low: int
    high: int


def predicates(condition: str) -> list[Predicate]:
    found = list(PREDICATE.finditer(condition))
    assert "".join(each[0] for each in found) == condition
    return [Predicate(int(each[1]), int(each[2] or each[3]), int(each[2] or each[4])) for each in found]


def values_of(data: Workload) -> I64:
    """[attributes, events]; -1 where an event has none."""
    names = [f"x{number}" for number in range(data.parameters["attributes"])]
    return np.array([data.events[name].fill_null(-1).to_numpy() for name in names])


def holding(data: Workload) -> Bools:
    """Which conditions hold for which events: [conditions, events], by numpy."""
    values = values_of(data)
    holds = np.ones((len(data.conditions), data.events.num_rows), np.bool_)
    for number, condition in enumerate(data.conditions.to_pylist()):
        for one in predicates(condition):
            holds[number] &= (values[one.attribute] >= one.low) & (values[one.attribute] <= one.high)
    return holds


def error_of(share: float, trials: int) -> float:
    """The standard error of a share that was measured in so many trials."""
    return float(np.sqrt(share * (1 - share) / trials))


def drawn(rows: int = 4_000, *, topics: int = 50, aimed: float = 0.5, **parameters: Any) -> SubscriptionBlock:
    """Subscriptions as they are before they are written."""
    used = BegenParameters(**parameters)
    draws = Draws(4, "begen", "conditions", 0, rows)
    return subscriptions_of(draws, used, topics_of(used, 4, topics), aimed)


def used(found: SubscriptionBlock) -> Bools:
    """Which places hold a predicate: [rows, most predicates]."""
    return np.arange(found.attributes.shape[1]) < found.counts[:, None]


@pytest.fixture(scope="module")
def data() -> Workload:
    return generate("begen", subscriptions=2_000, events=300, seed=4)


@pytest.mark.slow
def test_conditions_say_what_was_drawn(data: Workload) -> None:
    found = drawn(BLOCK_CONDITIONS)
    parts = np.stack([found.attributes, found.lows, found.highs], axis=2)[:2_000].tolist()
    expected = [
        [Predicate(*part) for part in parts[row][:count]]
        for row, count in enumerate(found.counts[:2_000].tolist())
    ]
    assert [predicates(condition) for condition in data.conditions.to_pylist()] == expected


def test_equalities_and_ranges_are_written_as_such(data: Workload) -> None:
    conditions = data.conditions.slice(0, 3).to_pylist()
    assert all(re.search(r"x\d+ BETWEEN \d+ AND \d+", condition) for condition in conditions)
    assert any(re.search(r"x\d+ = \d+", condition) for condition in conditions)


def test_subscriptions_have_seven_predicates_on_average_on_different_attributes() -> None:
    found = drawn()
    counts = np.bincount(found.counts)
    assert counts.nonzero()[0].tolist() == [5, 6, 7, 8, 9]
    assert np.all(np.abs(counts[5:] / 4_000 - 0.2) < SURE * error_of(0.2, 4_000))
    assert all(len(set(row)) == 9 for row in found.attributes.tolist())


def test_events_have_fifteen_attributes_on_average(data: Workload) -> None:
    counts = np.bincount((values_of(data) >= 0).sum(axis=0))
    assert counts.nonzero()[0].tolist() == list(range(10, 21))
    # The variance of a number that is equally likely one of eleven is (11 ** 2 - 1) / 12.
    assert abs(counts @ np.arange(21) / 300 - 15) < SURE * np.sqrt(10 / 300)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_share_of_equalities_is_what_was_asked_for(share: float) -> None:
    found = drawn(equality=share)
    equal = (found.lows == found.highs)[used(found)]
    assert abs(equal.mean() - share) <= SURE * error_of(share, len(equal))


@pytest.mark.parametrize("middle", [None, 0.4])
def test_ranges_have_the_widths_and_lie_within_the_values(middle: float | None) -> None:
    found = drawn(equality=0.0, middle=middle)
    sizes = found.highs - found.lows + 1
    assert (found.lows.min() >= 0, found.highs.max() <= 999) == (True, True)
    assert (sizes.min(), sizes.max()) == (40, 200)
    assert abs(sizes.mean() - 120) < SURE * np.sqrt(160**2 / 12 / sizes.size)


@pytest.mark.parametrize("middle", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("values", [1_000, 101])
def test_so_many_ranges_span_the_middle(middle: float, values: int) -> None:
    found = drawn(equality=0.0, middle=middle, values=values)
    cut = values // 2
    spans = (found.lows < cut) & (found.highs > cut)
    assert np.all(spans | (found.highs < cut) | (found.lows > cut))
    assert abs(spans.mean() - middle) <= SURE * error_of(middle, spans.size)


@pytest.mark.parametrize("parameters", [{}, {"exponent": 1.0}, {"middle": 0.5}], ids=str)
def test_an_event_satisfies_the_subscriptions_aimed_at_its_topic(parameters: dict[str, Any]) -> None:
    settings = BegenParameters(**parameters)
    found = drawn(500, topics=5, aimed=1.0, **parameters)
    topics, values = events_of(Draws(4, "begen", "events", 0, 40), settings, topics_of(settings, 4, 5))
    met = values[:, found.attributes]  # [events, subscriptions, most predicates]
    holds = np.all(((found.lows <= met) & (met <= found.highs)) | ~used(found), axis=2)
    assert np.all(holds | (topics[:, None] != found.topics))
    assert holds.mean() < 0.25


def measured(data: Workload) -> tuple[float, float]:
    """The share of matches, and its standard error.

    Subscriptions are drawn independently of each other, and events are. So the variance of the mean over all pairs
    is at most that of the mean of subscriptions plus that of the mean of events.
    """
    holds = holding(data)
    of_each = holds.mean(axis=1).var() / holds.shape[0] + holds.mean(axis=0).var() / holds.shape[1]
    return float(holds.mean()), float(np.sqrt(of_each))


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"exponent": 1.0},
        {"exponent": 2.0, "attributes": 100},
        {"matches": 0.15, "attributes": 1_000},
        {"matches": 0.8},
        {"matches": 0.002, "attributes": 1_500},
        {"matches": 0.002, "exponent": 1.2},
        {"middle": 0.5},
        {"values": 48, "width": 0.12},
    ],
    ids=str,
)
def test_matches_are_as_many_as_asked_for(parameters: dict[str, Any]) -> None:
    data = generate("begen", subscriptions=16_000, events=500, seed=9, **parameters)
    share, error = measured(data)
    wished = data.parameters["matches"]
    assert error < 0.07 * wished
    assert abs(share - wished) < SURE * error


@pytest.mark.slow
@pytest.mark.parametrize("matches", [0.05, 0.2])
def test_matches_by_chance_are_counted_in(matches: float) -> None:
    data = generate(
        "begen",
        subscriptions=16_000,
        events=1_000,
        seed=3,
        attributes=80,
        predicates=(1, 2),
        width=0.5,
        matches=matches,
    )
    assert data.facts["matches_by_chance"] > 0.03
    share, error = measured(data)
    # What happens by chance was counted in a sample about as large as this one, so that it has such an error, too.
    assert error < 0.05 * matches
    assert abs(share - matches) < SURE * np.sqrt(2) * error


def test_no_match_is_nothing_but_chance() -> None:
    data = generate("begen", subscriptions=500, events=50, seed=1, matches=0)
    assert (data.facts["aimed"], holding(data).sum()) == (0, 0)


def test_every_match() -> None:
    data = generate("begen", subscriptions=100, events=10, seed=1, matches=1)
    assert data.facts == {"topics": 1, "aimed": 1.0, "matches_by_chance": 0.0}
    assert holding(data).all()


def test_more_matches_by_chance_than_asked_for_are_refused() -> None:
    with pytest.raises(WorkloadError, match=r"workload begen: matches: an event satisfies 0\.\d+ of such"):
        generate("begen", attributes=80, predicates=1, width=1.0, matches=0.01)


@pytest.mark.slow
def test_numpy_and_the_matcher_agree() -> None:
    data = generate("begen", subscriptions=1_000, events=200, seed=6, matches=0.05)
    matcher = Matcher(data.event_type, engine="scan")
    assert matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True)) == []
    rows = np.asarray(matcher.match_batch(data.events)["event_id"])
    assert np.bincount(rows, minlength=200).tolist() == holding(data).sum(axis=0).tolist()


def test_every_event_has_about_the_same_number_of_matches(data: Workload) -> None:
    # Half of the subscriptions have a topic, and an event has one of 50.
    assert data.facts == {"topics": 50, "aimed": 0.5, "matches_by_chance": 0.0}
    shares = holding(data).mean(axis=0)
    assert np.all(np.abs(shares - 0.01) < SURE * error_of(0.01, 2_000))


def popularity(found: SubscriptionBlock, attributes: int = 400) -> F64:
    places = found.attributes[used(found)]
    return np.bincount(places, minlength=attributes) / len(places)


def test_uniform_attributes_are_equally_popular() -> None:
    found = drawn(8_000, topics=88)  # two decks of 44 topics, all but four attributes being in each
    error = error_of(1 / 400, 8_000 * 7)
    shares = popularity(found)
    assert np.all(shares < 1 / 400 * (1 + 0.5 / 99) + SURE * error)
    assert np.sum(shares < 1 / 400 - SURE * error) <= 8


def test_zipf_attributes_are_as_popular_as_their_rank_says() -> None:
    first = np.bincount(drawn(8_000, aimed=0.0, exponent=1.0).attributes[:, 0], minlength=400)
    expected = np.diff(zipf(400, 1.0), prepend=0)
    # Ranks in groups large enough for a normal distribution of their counts.
    for low, high in ((0, 1), (1, 2), (2, 4), (4, 16), (16, 64), (64, 400)):
        share = expected[low:high].sum()
        assert abs(first[low:high].sum() / 8_000 - share) < SURE * error_of(share, 8_000)


def test_a_greater_exponent_makes_the_popular_more_popular() -> None:
    shares = [popularity(drawn(500, exponent=exponent))[:4].sum() for exponent in (0.0, 0.5, 1.0, 1.5)]
    assert shares == sorted(shares)
    assert shares[-1] > 10 * shares[0]


def test_events_draw_attributes_as_subscriptions_do() -> None:
    parameters = BegenParameters(exponent=1.0)
    values = events_of(Draws(5, "begen", "events", 0, 500), parameters, topics_of(parameters, 5, 50))[1]
    carried = (values >= 0).mean(axis=0)
    assert carried[:4].min() > 0.3 > carried[200:].max()


@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_topics_have_different_attributes(exponent: float) -> None:
    topics = topics_of(BegenParameters(exponent=exponent), 3, 100)
    assert topics.attributes.shape == topics.values.shape == (100, 9)
    assert all(len(set(row)) == 9 for row in topics.attributes.tolist())


def test_uniform_topics_share_the_attributes_evenly() -> None:
    counts = np.bincount(topics_of(BegenParameters(), 3, 100).attributes.ravel(), minlength=400)
    assert (counts.min() >= 1, counts.max() <= 3) == (True, True)


def test_chance_is_counted_as_by_hand() -> None:
    draws = Draws(1, "test", "test", 0, 60)
    topics, lows = draws.below(3) - 1, draws.below(4, 2)
    found = SubscriptionBlock(topics, 1 + draws.below(2), draws.subset(3, 2), lows, lows + draws.below(4, 2))
    events, values = draws.below(2), (draws.below(6, 3) - 1).astype(np.int32)
    expected = [0, 0]
    for row in range(60):
        for event in range(60):
            holds = all(
                found.lows[row, place] <= values[event, found.attributes[row, place]] <= found.highs[row, place]
                for place in range(found.counts[row])
            )
            if holds and topics[row] != events[event]:
                expected[int(topics[row] >= 0)] += 1
    assert count_by_chance(found, events, values).tolist() == expected
    assert min(expected) > 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"attributes": 79}, "attributes: 20 different ones at a time need at least 80, not 79"),
        (
            {"predicates": 11},
            "pairs: an event needs all attributes of a subscription, of which there are up to 11",
        ),
        ({"middle": 0.5, "width": 0.6}, "middle: where it is given, ranges have from 3 to 499 of 1000 values"),
        ({"middle": 0.5, "width": 0.001}, "middle: where it is given, ranges have from 3 to 499"),
    ],
)
def test_what_cannot_be_had_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkloadError, match=f"workload begen: {message}"):
        generate("begen", **parameters)
