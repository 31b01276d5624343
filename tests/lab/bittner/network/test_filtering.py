"""The filter of a broker finds local subscriptions and neighbours; entries are kept in three forms."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.events import EventBatch
from tamis.formulas.formula import Formula
from tamis.frames import BatchFrame
from tamis.lab.baselines.counting import Counting
from tamis.lab.bittner.hits import Hits
from tamis.lab.bittner.network.filtering import BrokerFilter, NonLocalEntries
from tamis.lab.bittner.network.overlay import Overlay
from tamis.lab.bittner.network.settings import EngineName, NetworkSettings
from tamis.lab.bittner.network.topology import line
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.lab.workloads import generate
from tamis.language.bulk import compile_conditions
from tests.routing.drawing import EVENTS, formula_of

FRAME = BatchFrame(EventBatch.of([{"a": 1, "b": 1}, {"a": 2}, {"b": 1}, {}], EVENTS))


def settings(engine: EngineName = "hits", **others: Any) -> NetworkSettings:
    return NetworkSettings(EVENTS, SelectivityTable(), None, engine=engine, **others)


@pytest.mark.parametrize("shortcut", [True, False])
@pytest.mark.parametrize("engine", ["hits", "counting"])
def test_rows_of_local_subscriptions_and_of_neighbours(engine: EngineName, shortcut: bool) -> None:
    filter_ = BrokerFilter(settings(engine, shortcut=shortcut), (4, 7))
    filter_.insert("local", formula_of("a = 1 OR b = 1"), None)
    filter_.insert("first", formula_of("a = 2"), 7)
    filter_.insert("second", formula_of("a < 3"), 7)
    result = filter_.match(FRAME)
    assert (sorted(result.rows.tolist()), set(result.ids)) == ([0, 2], {"local"})
    assert {neighbour: rows.tolist() for neighbour, rows in result.forwards.items()} == {7: [0, 1]}
    filter_.replace({"first": formula_of("b = 1")})
    filter_.delete("second")
    assert filter_.match(FRAME).forwards[7].tolist() == [0, 2]
    assert filter_.changes == 5


def test_a_slot_is_used_again() -> None:
    filter_ = BrokerFilter(settings(), (4,))
    filter_.insert("old", formula_of("a = 1"), 4)
    filter_.delete("old")
    filter_.insert("new", formula_of("a = 2"), None)
    result = filter_.match(FRAME)
    assert (result.rows.tolist(), result.ids, result.forwards) == ([1], ["new"], {})


@pytest.mark.parametrize(
    ("form", "entries", "covered"),
    [({}, 2, 0.0), ({"conjunctive": True}, 3, 0.0), ({"covering": True}, 2, 1 / 3)],
    ids=["as received", "conjunctions", "uncovered conjunctions"],
)
def test_entries_in_three_forms(form: dict[str, Any], entries: int, covered: float) -> None:
    given = settings(**form)
    filter_ = BrokerFilter(given, (4,))
    table = NonLocalEntries(given, filter_)
    table.register("wide", formula_of("a < 3"), 4, 1)
    table.register("either", formula_of("a = 1 AND b = 1 OR b = 2"), 4, 1)
    assert len(table.pruner) == entries
    assert table.covered_share == pytest.approx(covered)
    assert filter_.match(FRAME).forwards[4].tolist() == [0, 1]
    table.deregister("wide")
    assert filter_.match(FRAME).forwards[4].tolist() == [0]
    table.deregister("either")
    assert len(table.pruner) == 0


@pytest.mark.parametrize("engine", ["hits", "counting"])
def test_memory_is_given_back_after_pruning(engine: EngineName) -> None:
    data = generate("auction", subscriptions=1_500, events=10, seed=5)
    formulas = [each for each in compile_conditions(data.conditions, data.event_type) if isinstance(each, Formula)]
    overlay = Overlay(line(2), data.event_type, engine=engine)
    for place, formula in enumerate(formulas):
        overlay.subscribe(f"s{place}", formula, 0)
    built = Hits() if engine == "hits" else Counting()
    while any(overlay.prune(count=700)):
        table = overlay.report().brokers[1].table
        entries = overlay._brokers[1]._entries.pruner
        fresh = sum(built.build([entry.current for entry in entries]).stats().bytes.values())
        assert table.index_bytes <= 1.3 * fresh
    assert table.totals.prunings > 1_500
