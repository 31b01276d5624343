"""Axes of several forests as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.axes import TextScale
from tamis.engines.forest.axis_union import AxisUnion
from tamis.events import EventType
from tamis.language.condition import compile_condition

TYPE = EventType.from_dict({"name": "t", "attributes": {"s": "string", "n": "int", "d": "decimal(30,2)"}})


def forest(*texts: str, event_type: EventType | None = TYPE) -> Forest:
    return forest_of([compile_condition(text, event_type).formula for text in texts])


@pytest.mark.parametrize("event_type", [TYPE, None])
def test_translated_leaves_are_the_same_predicates(event_type: EventType | None) -> None:
    one = forest("s < 'c'", "n = 3", "s IN ('a', 'x')", event_type=event_type)
    other = forest("n IN (1, 3, 5)", "s BETWEEN 'b' AND 'x'", "n > 4 OR n IS NULL", event_type=event_type)
    union = AxisUnion()
    numbers = [union.add_forest(each) for each in (one, other)]
    axes = union.rank()
    assert len(axes) == len({axis.attribute for axis in axes})
    for number, before in zip(numbers, (one, other), strict=True):
        leaves, pieces = union.translate(number)
        after = replace(before, axes=axes, leaves=leaves, pieces=pieces)
        assert list(after) == list(before)


def test_a_scale_has_the_cuts_of_all_forests_once() -> None:
    union = AxisUnion()
    for texts in (("s < 'c'", "s >= 'm'"), ("s < 'c'", "s >= 'a'")):
        union.add_forest(forest(*texts))
    (axis,) = union.rank()
    assert isinstance(axis.scale, TextScale)
    assert [axis.scale.cut(axis.attribute.type, place + 1) for place in range(len(axis.scale))] == ["a", "c", "m"]


def test_cuts_of_long_decimals() -> None:
    union = AxisUnion()
    before = forest("d < 1.5", "d > 12345678901234567890.25")
    number = union.add_forest(before)
    union.add_forest(forest("d = 7"))
    axes = union.rank()
    leaves, pieces = union.translate(number)
    assert list(replace(before, axes=axes, leaves=leaves, pieces=pieces)) == list(before)
