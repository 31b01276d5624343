"""Coordinates of dicts, read value by value, are those of their columns."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

from tamis.engines.encoding import Encoder
from tamis.engines.forest import forest_of
from tamis.language.condition import compile_condition
from tests.engines.encoding.test_encoding import check


def test_fields_of_objects() -> None:
    texts = ("s.x = 1", "s.x.y = 'a'", "s.x.y.z IS NULL", "s IS NOT NULL", "s.x > '1'", "t.x", "s.w + 1 > 2")
    forest = forest_of([compile_condition(text).formula for text in texts])
    encoder = Encoder(forest.axes, forest.tests)
    objects: tuple[Any, ...] = (
        {},
        {"x": 1},
        {"x": {"y": "a"}},
        {"x": {"y": {"z": 0}}},
        5,
        None,
        [{"x": 1}],
        {"w": 2.5, "x": None},
    )
    for value in (*objects, OrderedDict(x=OrderedDict(y="b"))):
        for other in objects:
            check(forest.axes, encoder, {"s": value, "t": other})


def test_the_cache_of_texts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.engines.encoding.dict_events._CACHED_TEXTS", 3)
    forest = forest_of([compile_condition(f"a > '{text}' OR b = '{text}'").formula for text in "bdfhjln"])
    encoder = Encoder(forest.axes, forest.tests)
    for text in "abcdefghijklmnabcdbbbb":
        check(forest.axes, encoder, {"a": text, "b": text * 50})
