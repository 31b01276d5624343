from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pytest

from tamis import Matcher
from tamis.arrays import I64, Bools
from tamis.lab.workloads import Workload, WorkloadError, generate

PREDICATE = re.compile(r"x(\d+) (BETWEEN|<=|>=|=|IN) \(?(\d+)(?:(?: AND |, )(\d+))?\)?(?: AND |$)")


class Predicate(NamedTuple):
    attribute: int
    operator: str
    first: int
    second: int | None

    def mask(self, values: I64) -> Bools:
        """Which events satisfy it; absent values are negative."""
        if self.operator == "IN":
            return np.isin(values, [self.first, self.second or 0])
        least = self.first if self.operator != "<=" else 0
        most = {"BETWEEN": self.second, "<=": self.first, "=": self.first, ">=": None}[self.operator]
        return (values >= least) & (values <= (9_999 if most is None else most))


def predicates(condition: str) -> list[Predicate]:
    found = list(PREDICATE.finditer(condition))
    assert "".join(each[0] for each in found) == condition
    return [
        Predicate(int(each[1]), each[2], int(each[3]), None if each[4] is None else int(each[4])) for each in found
    ]


def matches(data: Workload, most: int = 100_000) -> I64:
    """How many of the first conditions each event satisfies, by numpy."""
    columns = [
        data.events[f"x{number}"].fill_null(-1).to_numpy() for number in range(data.parameters["attributes"])
    ]
    counts = np.zeros(data.events.num_rows, np.int64)
    for condition in data.conditions.slice(0, most).to_pylist():
        alive = np.arange(len(counts))
        for predicate in sorted(predicates(condition), key=lambda each: -each.attribute):  # the rarest first
            alive = alive[predicate.mask(columns[predicate.attribute][alive])]
            if not len(alive):
                break
        counts[alive] += 1
    return counts


@pytest.fixture(scope="module")
def data() -> Workload:
    return generate("sparse", subscriptions=3_000, events=2_000, seed=4, width=0.3)


def test_conditions_have_five_to_nine_predicates_on_different_attributes(data: Workload) -> None:
    found = [predicates(condition) for condition in data.conditions.to_pylist()]
    counts = np.bincount([len(each) for each in found])
    assert counts[:5].sum() == 0
    assert len(counts) == 10
    assert np.all(np.abs(counts[5:] - 600) < 120)
    assert all(len({one.attribute for one in each}) == len(each) for each in found)


def test_numbers_are_asked_for_by_ranges_and_codes_by_equality(data: Workload) -> None:
    found = [one for condition in data.conditions.to_pylist() for one in predicates(condition)]
    for one in found:
        assert (one.operator in ("=", "IN")) == (one.attribute % 5 == 4)
        if one.operator == "BETWEEN":
            assert one.second is not None
            assert 0 <= one.first <= one.second <= 9_999
        if one.operator == "IN":
            assert one.first != one.second
    shares = {kind: sum(one.operator == kind for one in found) / len(found) for kind in ("BETWEEN", "<=", ">=")}
    assert shares["BETWEEN"] > 2 * shares["<="] > shares[">="] > 0.1


def test_ranges_cover_powers_of_the_width(data: Workload) -> None:
    found = [one for condition in data.conditions.to_pylist() for one in predicates(condition)]
    shares = np.array(
        [(one.second - one.first + 1) / 10_000 for one in found if one.operator == "BETWEEN" and one.second]
    )
    assert 0.3**1.5 - 1e-4 <= shares.min() < shares.max() <= 0.3**0.5 + 1e-4
    assert np.log(shares).mean() / np.log(0.3) == pytest.approx(1.0, abs=0.02)


def test_events_have_about_fifteen_attributes_by_popularity(data: Workload) -> None:
    carried = np.array([data.events[f"x{number}"].is_valid().to_numpy() for number in range(400)])
    pairs = carried.sum(axis=0)
    assert (pairs.min(), pairs.max()) == (10, 20)
    assert pairs.mean() == pytest.approx(15, abs=0.3)
    popularity = carried.mean(axis=1)
    assert popularity[0] > 0.95
    assert popularity[0] > popularity[3] > popularity[30] > popularity[300:].mean() > 0


def test_popularity_of_attributes_in_conditions_is_zipf(data: Workload) -> None:
    first = np.bincount([predicates(condition)[0].attribute for condition in data.conditions.to_pylist()])
    weights = np.arange(1, 401) ** -1.2
    assert first[0] / 3_000 == pytest.approx(weights[0] / weights.sum(), abs=0.03)
    assert first[4] / 3_000 == pytest.approx(weights[4] / weights.sum(), abs=0.01)


@pytest.mark.slow
def test_numpy_and_the_matcher_agree() -> None:
    data = generate("sparse", subscriptions=1_000, events=100, seed=6, width=0.9)
    matcher = Matcher(data.event_type, engine="scan")
    assert matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True)) == []
    rows = np.asarray(matcher.match_batch(data.events)["event_id"])
    assert np.bincount(rows, minlength=100).tolist() == matches(data).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [2.0, 5.0])
def test_matches_are_as_many_as_asked_for(wanted: float) -> None:
    data = generate("sparse", subscriptions=10_000, events=1_000, seed=9, matches=wanted)
    assert data.facts["expected_matches"] == pytest.approx(wanted)
    assert matches(data).mean() == pytest.approx(wanted, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("subscriptions", [100_000, 1_000_000])
def test_matches_do_not_grow_with_subscriptions(subscriptions: int) -> None:
    data = generate("sparse", subscriptions=subscriptions, events=4_096, seed=1)
    # Conditions are alike, so that a tenth of a million has a tenth of the matches.
    assert matches(data).mean() == pytest.approx(5.0 * 100_000 / subscriptions, rel=0.15)


@pytest.mark.slow
def test_more_subscriptions_have_narrower_ranges() -> None:
    widths = [generate("sparse", subscriptions=size, events=0).facts["width"] for size in (10_000, 20_000, 40_000)]
    assert 0.9 > widths[0] > widths[1] > widths[2] > 0.5


def test_too_few_subscriptions_for_the_matches_have_the_widest_ranges() -> None:
    facts = generate("sparse", subscriptions=500, events=0).facts
    assert facts["width"] == 0.9
    assert 0 < facts["expected_matches"] < 5


def test_a_given_width_decides(data: Workload) -> None:
    assert data.facts == {}
    assert data.parameters["width"] == 0.3


def test_too_few_attributes_are_refused() -> None:
    with pytest.raises(WorkloadError, match="workload sparse: attributes: 20 different ones"):
        generate("sparse", attributes=79)
