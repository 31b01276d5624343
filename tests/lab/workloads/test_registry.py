"""What holds for every family."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tamis import Matcher, compile_conditions
from tamis.events import EventBatch, validate
from tamis.lab.workloads import WORKLOADS, Workload, WorkloadError, generate
from tamis.lab.workloads.draws import BLOCK_CONDITIONS, BLOCK_EVENTS
from tamis.lab.workloads.overlap import arrays, probe_operator
from tamis.operators import install, uninstall

QUICK: dict[str, dict[str, Any]] = {"ads": {"segments": 200}, "strings": {"vocabulary": 1_000}}
"""Parameters with which a family is quickly planned."""
PREFIX = {**QUICK, "sparse": {"width": 0.4}}
"""Parameters with which a family does not depend on the number of subscriptions, either."""

DIGESTS = {
    "ranges": "2f4bb943ff9825d5",
    "equality": "fdd02a9e73a068cb",
    "sparse": "94201cab2a8bd42a",
    "ads": "bea6beef136e6f2e",
    "strings": "0ac8447eca676065",
    "auction": "4c4f2ea988e7de1b",
    "advertisements": "35656b21ec2b9c2e",
    "artificial": "12c6345d39359cc7",
    "jewel": "b8bea6c4b3eba939",
    "begen": "7445dbcb22113e31",
    "boxes": "7ccdddc9081c1a70",
    "overlap": "3e8c36581b53e826",
}


@pytest.fixture(scope="module")
def workloads() -> dict[str, Workload]:
    return {
        name: generate(name, subscriptions=300, events=64, seed=7, **QUICK.get(name, {})) for name in WORKLOADS
    }


@pytest.fixture(scope="module", autouse=True)
def probe() -> Iterator[None]:
    """The operator that the conditions of `overlap` call."""
    install(probe_operator(arrays(subscriptions=300, events=64, seed=7).selectivities))
    yield
    uninstall("probe")


every = pytest.mark.parametrize("name", WORKLOADS)


@pytest.mark.slow
@every
def test_sizes_and_names(name: str, workloads: dict[str, Workload]) -> None:
    data = workloads[name]
    assert data.ids.to_pylist() == [f"s{number}" for number in range(300)]
    assert data.conditions.type == pa.large_string()
    assert len(data.conditions) == 300
    assert data.events["id"].to_pylist() == [f"e{number}" for number in range(64)]
    assert data.events.column_names == [attribute.name for attribute in data.event_type.attributes or ()]
    assert (data.name, data.seed) == (name, 7)


@pytest.mark.slow
@every
def test_the_same_seed_gives_the_same_data(name: str, workloads: dict[str, Workload]) -> None:
    again, other = (
        generate(name, subscriptions=300, events=64, seed=seed, **QUICK.get(name, {})) for seed in (7, 8)
    )
    assert again.conditions.equals(workloads[name].conditions)
    assert again.events.equals(workloads[name].events)
    assert not other.conditions.equals(workloads[name].conditions)
    assert not other.events.drop("id").equals(workloads[name].events.drop("id"))


@pytest.mark.slow
@every
def test_data_are_the_same_everywhere_and_for_ever(name: str, workloads: dict[str, Workload]) -> None:
    data = workloads[name]
    told = repr((data.conditions.to_pylist(), data.events.to_pylist()))
    assert hashlib.sha256(told.encode()).hexdigest()[:16] == DIGESTS[name]


@pytest.mark.slow
@every
def test_fewer_are_the_first_of_more(name: str) -> None:
    few, many = (
        generate(name, subscriptions=subscriptions, events=events, seed=3, **PREFIX.get(name, {}))
        for subscriptions, events in ((5, 3), (BLOCK_CONDITIONS + 5, BLOCK_EVENTS + 3))
    )
    assert few.conditions.equals(many.conditions.slice(0, 5))
    assert few.events.equals(many.events.slice(0, 3))
    head, tail = many.conditions.slice(0, 5), many.conditions.slice(BLOCK_CONDITIONS, 5)
    assert not head.equals(tail)


@every
def test_nothing_at_all(name: str) -> None:
    data = generate(name, subscriptions=0, events=0, **QUICK.get(name, {}))
    assert (len(data.ids), len(data.conditions), data.events.num_rows) == (0, 0, 0)


@every
def test_every_condition_compiles_with_and_without_the_event_type(
    name: str, workloads: dict[str, Workload]
) -> None:
    data = workloads[name]
    assert compile_conditions(data.conditions, data.event_type).refused == []
    assert compile_conditions(data.conditions).refused == []


@every
def test_columns_have_the_declared_types(name: str, workloads: dict[str, Workload]) -> None:
    data = workloads[name]
    expected = {
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "boolean": pa.bool_(),
    }
    for attribute in data.event_type.attributes or ():
        declared = expected.get(str(attribute.type), pa.decimal128(6, 2))
        assert data.events.schema.field(attribute.name).type == declared, attribute.name


@every
def test_events_are_as_the_event_type_says(name: str, workloads: dict[str, Workload]) -> None:
    data = workloads[name]
    assert validate(EventBatch.of(data.events, data.event_type)) == []


@pytest.mark.slow
@every
def test_a_typed_matcher_and_a_schemaless_one_find_the_same_pairs(
    name: str, workloads: dict[str, Workload]
) -> None:
    data = workloads[name]
    given = pa.table({"id": data.ids, "condition": data.conditions})
    found = []
    for event_type in (data.event_type, None):
        matcher = Matcher(event_type, engine="scan")
        assert matcher.add_many(given) == []
        pairs = matcher.match_batch(data.events.slice(0, 16), event_id="id")
        found.append(pairs.sort_by([("event_id", "ascending"), ("subscription_id", "ascending")]))
    assert found[0].equals(found[1])


@every
def test_values_do_not_repeat_between_events(name: str, workloads: dict[str, Workload]) -> None:
    events = workloads[name].events.drop("id").to_pylist()
    assert len({repr(event) for event in events}) == len(events)


@every
def test_attributes_of_conditions_are_all_in_use(name: str, workloads: dict[str, Workload]) -> None:
    text = " ".join(workloads[name].conditions.to_pylist())
    names = [attribute.name for attribute in workloads[name].event_type.attributes or ()][1:4]
    assert all(re.search(rf"\b{attribute}\b", text) for attribute in names)


def test_parameters_are_told_as_used() -> None:
    data = generate("ranges", subscriptions=1, events=1, width=0.25)
    assert data.parameters == {"attributes": 20, "ranges": 10, "width": (0.25, 0.25), "kind": "int"}


def test_unknown_workloads_are_refused() -> None:
    with pytest.raises(WorkloadError, match="no workload 'rangs'; known are ranges, equality"):
        generate("rangs")


def test_unknown_parameters_are_refused() -> None:
    with pytest.raises(WorkloadError, match="workload ranges: there is no parameter 'widht'; did you mean width"):
        generate("ranges", widht=0.3)


@pytest.mark.parametrize("size", [{"subscriptions": -1}, {"events": 1.5}, {"seed": True}])
def test_wrong_sizes_are_refused(size: dict[str, int]) -> None:
    with pytest.raises(WorkloadError, match=f"workload ranges: {next(iter(size))}: expected a whole number"):
        generate("ranges", **size)


def test_a_large_seed() -> None:
    data = generate("equality", subscriptions=1, events=1, seed=2**80)
    assert pc.starts_with(data.conditions, "a")[0].as_py()
    assert np.asarray(data.events["a0"]).dtype == np.int32
