"""A broker answers messages with messages: what it forwards, to whom, and what it takes back."""

from __future__ import annotations

import pytest

from tamis.events import EventBatch
from tamis.formulas.formula import Formula
from tamis.frames import BatchFrame
from tamis.lab.bittner.advertisements import Advertisement
from tamis.lab.bittner.network.broker import Broker, Retract, Subscribe, Withdraw
from tamis.lab.bittner.network.settings import Forwarding, NetworkSettings, PrePruning
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tests.routing.drawing import EVENTS, formula_of

NORTH, SOUTH = 1, 2


def broker_with(forwarding: Forwarding = "subscriptions", pre: PrePruning | None = None) -> Broker:
    settings = NetworkSettings(EVENTS, SelectivityTable(), None, forwarding=forwarding, pre=pre)
    return Broker([NORTH, SOUTH], settings)


@pytest.fixture
def formula() -> Formula:
    return formula_of("a < 3 AND b = 1")


@pytest.mark.parametrize(("sender", "receivers"), [(None, [NORTH, SOUTH]), (NORTH, [SOUTH])])
def test_a_subscription_goes_to_all_but_its_sender(
    sender: int | None, receivers: list[int], formula: Formula
) -> None:
    hops = 0 if sender is None else 1
    answers = broker_with().receive(Subscribe("s", formula, hops), sender)
    assert answers == [(each, Subscribe("s", formula, hops + 1)) for each in receivers]


def test_a_retraction_follows_the_subscription(formula: Formula) -> None:
    broker = broker_with()
    broker.receive(Subscribe("s", formula, 1), NORTH)
    assert broker.hops("s") == 1
    assert broker.receive(Retract("s"), NORTH) == [(SOUTH, Retract("s"))]
    assert broker.table().non_local == 0


def test_with_advertisements_a_subscription_goes_where_one_overlaps(formula: Formula) -> None:
    broker = broker_with("advertisements")
    assert broker.receive(Subscribe("s", formula, 0), None) == []
    disjoint, overlapping = (Advertisement(text, EVENTS.name, formula_of(text)) for text in ("a > 5", "b < 3"))
    assert broker.receive(disjoint, NORTH) == [(SOUTH, disjoint)]
    assert broker.receive(overlapping, NORTH) == [(SOUTH, overlapping), (NORTH, Subscribe("s", formula, 1))]
    assert broker.receive(Withdraw("b < 3"), NORTH) == [(SOUTH, Withdraw("b < 3")), (NORTH, Retract("s"))]


def test_pre_pruning_forwards_a_generalisation(formula: Formula) -> None:
    (_, message), _ = broker_with(pre=PrePruning(count=1)).receive(Subscribe("s", formula, 0), None)
    assert isinstance(message, Subscribe)
    assert message.formula in (formula_of("a < 3"), formula_of("b = 1"))


def test_local_and_non_local_matches_are_told_apart(formula: Formula) -> None:
    broker = broker_with()
    broker.receive(Subscribe("mine", formula, 0), None)
    broker.receive(Subscribe("theirs", formula_of("a < 9"), 1), SOUTH)
    result = broker.filter(BatchFrame(EventBatch.of([{"a": 1, "b": 1}, {"a": 8}, {"a": 9}], EVENTS)))
    assert (result.rows.tolist(), result.ids) == ([0], ["mine"])
    assert {neighbour: rows.tolist() for neighbour, rows in result.forwards.items()} == {SOUTH: [0, 1]}
