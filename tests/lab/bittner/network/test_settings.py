"""No setting changes what clients get; settings change messages and tables."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.events import EventBatch
from tamis.lab.bittner.network.overlay import Overlay
from tamis.lab.bittner.network.settings import PrePruning
from tamis.lab.bittner.network.topology import line
from tests.routing.drawing import EVENTS, formula_of


@pytest.mark.parametrize(
    ("settings", "associations", "events"),
    [
        ({}, 8, 2),
        ({"engine": "counting"}, 8, 2),
        ({"shortcut": False}, 8, 2),
        ({"conjunctive": True}, 8, 2),
        ({"covering": True}, 4, 2),
        ({"pre": PrePruning(count=5)}, 4, 4),
    ],
    ids=["default", "counting", "no shortcut", "conjunctive", "covering", "pre-pruning"],
)
def test_deliveries_are_the_same(settings: dict[str, Any], associations: int, events: int) -> None:
    overlay = Overlay(line(3), EVENTS, **settings)
    overlay.subscribe("narrow", formula_of("a = 1 AND b = 1"), broker=2)
    overlay.subscribe("narrower", formula_of("a = 1 AND b = 1"), broker=2)
    batch = EventBatch.of([{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": 3}], EVENTS)
    assert sorted(overlay.publish(batch, broker=0)) == [(0, "narrow"), (0, "narrower")]
    report = overlay.report()
    assert (report.associations, report.messages["events"]) == (associations, events)
