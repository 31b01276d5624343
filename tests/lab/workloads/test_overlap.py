from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.lab.liu.chains import chains_of
from tamis.lab.liu.strategies import naive
from tamis.lab.workloads import WorkloadError, generate
from tamis.lab.workloads.draws import BLOCK_CONDITIONS, BLOCK_EVENTS
from tamis.lab.workloads.overlap import OverlapArrays, arrays, outcomes, probe_operator

SIZES: dict[str, Any] = {"subscriptions": 20_000, "events": 400, "seed": 1}


def matched_share(found: OverlapArrays) -> float:
    """Measured on all events."""
    chains = chains_of(found.starts, found.members, found.selectivities)
    numbers = np.arange(len(found.selectivities))
    counts = [
        naive(chains, outcomes(seed, numbers, found.selectivities)).matched.mean() for seed in found.seeds.tolist()
    ]
    return float(np.mean(counts))


def test_conditions_are_calls_of_one_operator() -> None:
    data = generate("overlap", subscriptions=3, events=2, seed=1, predicates=50)
    form = re.compile(r"probe\(seed, \d+\)( AND probe\(seed, \d+\)){2,4}")
    assert all(form.fullmatch(condition) for condition in data.conditions.to_pylist())
    assert data.events.schema.field("seed").type == pa.int64()


def test_arrays_are_the_predicates_of_the_texts() -> None:
    sizes = {"subscriptions": BLOCK_CONDITIONS + 3, "events": BLOCK_EVENTS + 2, "seed": 5}
    data, found = generate("overlap", **sizes, predicates=200), arrays(**sizes, predicates=200)
    written = [[int(number) for number in re.findall(r", (\d+)\)", text)] for text in data.conditions.to_pylist()]
    assert found.starts.tolist() == np.cumsum([0, *(len(each) for each in written)]).tolist()
    assert found.members.tolist() == [number for each in written for number in each]
    assert found.seeds.tolist() == data.events["seed"].to_pylist()


@pytest.mark.parametrize("most", [5, 11])
def test_lengths_are_uniform_and_predicates_of_a_condition_different(most: int) -> None:
    found = arrays(**SIZES, length=(3, most), predicates=5_000)
    lengths = np.diff(found.starts)
    counts = np.bincount(lengths, minlength=most + 1)
    assert counts[:3].sum() == 0 and len(counts) == most + 1
    np.testing.assert_allclose(counts[3:], 20_000 / (most - 2), rtol=0.1)
    rows = np.repeat(np.arange(20_000), lengths)
    assert len(np.unique(rows * 5_000 + found.members)) == len(found.members)


def test_uniform_weights_make_popularity_uniform() -> None:
    found = arrays(subscriptions=50_000, events=0, seed=2, predicates=1_000)
    uses = np.bincount(found.members, minlength=1_000) / len(found.members) * 1_000
    # Weights are uniform in [0, 1]: a tenth of the predicates below every tenth of twice the mean.
    assert np.quantile(uses, [0.25, 0.5, 0.75]) == pytest.approx([0.5, 1.0, 1.5], abs=0.12)


@pytest.mark.parametrize("exponent", [0.8, 1.2])
def test_zipf_is_by_number(exponent: float) -> None:
    found = arrays(**SIZES, predicates=40_000, popularity="zipf", exponent=exponent, length=(1, 1))
    uses = np.bincount(found.members, minlength=40_000)
    weights = np.arange(1, 40_001.0) ** -exponent
    for bound in (10, 100, 1_000):
        assert uses[:bound].sum() / uses.sum() == pytest.approx(weights[:bound].sum() / weights.sum(), rel=0.05)


@pytest.mark.parametrize("popularity", ["uniform", "zipf"])
@pytest.mark.parametrize("selectivity", ["power", "equal"])
@pytest.mark.parametrize("matched", [0.002, 0.05])
def test_events_satisfy_the_share_asked_for(popularity: str, selectivity: str, matched: float) -> None:
    found = arrays(
        **SIZES, predicates=2_000, popularity=popularity, selectivity=selectivity, matched=matched, length=(3, 6)
    )
    products = np.multiply.reduceat(found.selectivities[found.members], found.starts[:-1])
    assert products.mean() == pytest.approx(matched, rel=1e-6)
    assert matched_share(found) == pytest.approx(matched, rel=0.2)


def test_selectivities_are_powers_or_equal() -> None:
    power = arrays(**SIZES, predicates=10_000).selectivities
    logarithms = -np.log(power)  # of u ** x: exponentially distributed
    assert logarithms.std() == pytest.approx(logarithms.mean(), rel=0.05)
    assert len(set(arrays(**SIZES, predicates=10_000, selectivity="equal").selectivities.tolist())) == 1


def test_outcomes_are_independent_with_the_chance_of_their_predicate() -> None:
    chances = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    seeds = np.arange(20_000)
    found = np.array([outcomes(seeds, np.full(20_000, number), chances[[number]]) for number in range(5)])
    assert found.mean(axis=1) == pytest.approx(chances, abs=0.012)
    halves = np.array([outcomes(seeds, np.full(20_000, number), np.array([0.5])) for number in range(6)])
    assert np.abs(np.corrcoef(halves) - np.eye(6)).max() < 0.03
    assert abs(np.corrcoef(halves[0, 1:], halves[0, :-1])[0, 1]) < 0.03


def test_the_operator_tells_what_arrays_say() -> None:
    found = arrays(subscriptions=100, events=3, seed=1, predicates=30)
    probe = probe_operator(found.selectivities, cost=0.001)
    assert (probe.signature, probe.cost) == ("probe(bigint, int) boolean", 0.001)
    for seed in found.seeds.tolist():
        told = probe.function(pa.array([seed] * 30), pa.array(range(30), pa.int32()))
        assert told.to_pylist() == outcomes(seed, np.arange(30), found.selectivities).tolist()


def test_numbers_of_no_predicate() -> None:
    probe = probe_operator(np.ones(2))
    assert probe.function(pa.array([1, 1, 1]), pa.array([-1, 1, 2])).to_pylist() == [None, True, None]
    assert probe.check is not None
    assert probe.check([None, 2]) == "expected the number of a predicate, from 0 to 1, found 2"
    assert probe.check([None, 1]) is None and probe.check([None, None]) is None


def test_conditions_longer_than_there_are_predicates_are_refused() -> None:
    with pytest.raises(WorkloadError, match="predicates: 5 different ones at a time need at least 20, not 19"):
        generate("overlap", predicates=19)
