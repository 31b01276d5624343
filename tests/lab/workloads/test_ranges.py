from __future__ import annotations

import re

import numpy as np
import pytest

from tamis import Matcher
from tamis.lab.workloads import WorkloadError, generate

RANGE = re.compile(r"a(\d+) BETWEEN (\S+) AND (\S+)")


def ranges(condition: str) -> list[tuple[int, float, float]]:
    found = [(int(name), float(low), float(high)) for name, low, high in RANGE.findall(condition)]
    assert " AND ".join(RANGE.sub("x", condition).split(" AND ")) == " AND ".join("x" * len(found))
    return found


@pytest.mark.parametrize(("kind", "domain"), [("int", 1_000_000), ("double", 1)])
@pytest.mark.parametrize(
    ("width", "least", "most"), [(0.3, 0.3, 0.3), ((0.1, 0.5), 0.1, 0.5), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)]
)
def test_ranges_have_the_width_and_lie_within_the_domain(
    kind: str, domain: int, width: float | tuple[float, float], least: float, most: float
) -> None:
    data = generate("ranges", subscriptions=400, events=1, seed=5, kind=kind, width=width)
    found = [ranges(condition) for condition in data.conditions.to_pylist()]
    assert all(len({name for name, _, _ in each}) == len(each) == 10 for each in found)
    names, low, high = (np.array(column) for column in zip(*(one for each in found for one in each), strict=True))
    # A range of integers holds both of its ends.
    widths = (high - low + (kind == "int")) / domain
    assert low.min() >= 0
    assert high.max() <= (999_999 if kind == "int" else 1)
    assert widths.min() >= least - 1e-9
    assert widths.max() <= max(most, 1e-6) + 1e-9
    assert np.all(np.abs(np.bincount(names, minlength=20) - 200) < 60)
    if least < most:
        assert abs(widths.mean() - 0.3) < 0.01


def test_places_of_ranges_are_uniform() -> None:
    data = generate("ranges", subscriptions=4_000, events=1, seed=5, ranges=1, width=0.2)
    starts = np.array([ranges(condition)[0][1] for condition in data.conditions.to_pylist()])
    counts = np.histogram(starts, 8, (0, 800_000))[0]
    assert np.all(np.abs(counts - 500) < 100)


def test_values_of_events_are_uniform() -> None:
    for kind, domain in (("int", 1_000_000), ("double", 1.0)):
        values = np.asarray(generate("ranges", subscriptions=1, events=4_000, kind=kind).events["a3"])
        assert values.min() >= 0
        assert values.max() < domain
        assert np.all(np.abs(np.histogram(values, 8, (0, domain))[0] - 500) < 100)


@pytest.mark.parametrize("kind", ["int", "double"])
def test_matches_are_as_many_as_widths_say(kind: str) -> None:
    data = generate("ranges", subscriptions=2_000, events=200, seed=2, ranges=3, width=0.2, kind=kind)
    matcher = Matcher(data.event_type, engine="scan")
    assert matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True)) == []
    assert matcher.match_batch(data.events).num_rows / 200 == pytest.approx(2_000 * 0.2**3, rel=0.05)


def test_sizes_are_parameters() -> None:
    data = generate("ranges", subscriptions=3, events=2, attributes=4, ranges=4)
    assert data.events.column_names == ["id", "a0", "a1", "a2", "a3"]
    assert all(len(ranges(condition)) == 4 for condition in data.conditions.to_pylist())


def test_more_ranges_than_attributes_are_refused() -> None:
    with pytest.raises(WorkloadError, match="workload ranges: ranges: 10 ranges need as many attributes"):
        generate("ranges", attributes=9)
