"""A forest that was saved is the forest that is read, and reading copies nothing large."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.axes import Axis, NumberScale, ObjectScale, TextScale
from tamis.engines.forest.files import forest_arrays, forest_from
from tamis.engines.forest.join import join_forests
from tamis.events import EventType
from tamis.formulas.codec import CodecError
from tamis.frames import BatchFrame
from tamis.language.bulk import compile_conditions
from tests.worlds import WORLDS, world


def mapped(folder: Path, forest: Forest) -> Forest:
    """The forest, through files that are mapped into memory."""
    arrays, meta = forest_arrays(forest)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    text = json.dumps(meta, allow_nan=False)
    found = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in arrays}
    return forest_from(found, json.loads(text))


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_forests_come_back(name: str, tmp_path: Path) -> None:
    random_ = random.Random(71)
    here = world(name)
    forest = forest_of(compile_conditions([here.condition(random_) for _ in range(300)], here.event_type))
    again = mapped(tmp_path, forest)
    assert list(again) == list(forest)
    assert list(again.tests) == list(forest.tests)
    assert [axis.attribute for axis in again.axes] == [axis.attribute for axis in forest.axes]
    frame = BatchFrame(here.batch(random_, 40))
    for one, other in zip(forest.axes, again.axes, strict=True):
        assert len(one.scale) == len(other.scale)
        column = frame.column(one.attribute)
        if column.valid.any():
            np.testing.assert_array_equal(one.scale.coordinates(column), other.scale.coordinates(column))
    for slot in random_.sample(range(300), 50):
        np.testing.assert_array_equal(again[slot].mask(frame), forest[slot].mask(frame))


def test_what_is_read_can_be_joined(tmp_path: Path) -> None:
    random_ = random.Random(72)
    here = world("schemaless")
    forest = forest_of(compile_conditions([here.condition(random_) for _ in range(200)]))
    again = mapped(tmp_path, forest)
    keep = np.arange(0, 200, 3)
    assert list(join_forests([(again, keep)])) == forest[::3]


def test_nothing_large_is_copied() -> None:
    texts = [f"a = {number} AND b = 'x{number}' AND c LIKE '%{number}%'" for number in range(100)]
    arrays, meta = forest_arrays(forest_of(compile_conditions(texts)))
    forest = forest_from(arrays, meta)
    for name, array in (
        ("leaf_lows", forest.leaves.lows),
        ("node_children", forest.nodes.children),
        ("roots", forest.roots),
        ("pattern_data", forest.tests.patterns.data),
    ):
        assert np.shares_memory(array, arrays[name]), name
    (strings,) = [axis.scale for axis in forest.axes if isinstance(axis.scale, TextScale)]
    (numbers,) = [axis.scale for axis in forest.axes if isinstance(axis.scale, NumberScale)]
    assert np.shares_memory(strings.data, arrays["text_data"])
    assert np.shares_memory(numbers.ints, arrays["ints"])


def test_patterns_stay_out_of_the_document() -> None:
    few, many = (
        forest_arrays(forest_of(compile_conditions([f"c LIKE '%{number}%'" for number in range(count)])))[1]
        for count in (1, 1000)
    )
    assert few == many


def test_long_decimals() -> None:
    type_ = EventType.from_dict({"name": "t", "attributes": {"money": "decimal(38,2)", "tags": "array<int>"}})
    cuts = ["-123456789012345678901234567890.12", "0", "0.01", "-0.01", "99999999999999999999.5"]
    forest = forest_of(compile_conditions([f"money < {cut}" for cut in cuts] + ["tags IS NULL"], type_))
    arrays, meta = forest_arrays(forest)
    again = forest_from(arrays, json.loads(json.dumps(meta)))
    assert list(again) == list(forest)
    assert again.axes == forest.axes
    assert sum(isinstance(axis.scale, ObjectScale) and len(axis.scale) > 0 for axis in again.axes) == 1


def test_an_empty_forest(tmp_path: Path) -> None:
    assert len(mapped(tmp_path, forest_of([]))) == 0


def without(name: str) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    return lambda arrays, _: arrays.pop(name)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("roots"), "the array roots of a forest must be int32, it is missing"),
        (lambda arrays, _: arrays.update(roots=arrays["roots"].astype(np.int64)), "it is int64 of 1 dimensions"),
        (lambda arrays, _: arrays.update(leaf_lows=arrays["leaf_lows"][1:]), "must be of one length"),
        (lambda arrays, _: arrays.update(node_firsts=arrays["node_firsts"][1:]), "do not fit together"),
        (
            lambda arrays, _: arrays.update(text_firsts=arrays["text_firsts"][1:]),
            "text_firsts of a forest is too short",
        ),
        (lambda _, meta: meta.update(format=2), "a forest of format 1 is expected, found 2"),
        (lambda _, meta: meta.pop("axes"), "axes of a forest must be a list"),
        (lambda _, meta: meta.update(axes=[99]), "there is no entry 99"),
        (lambda _, meta: meta.pop("document"), "a document is expected"),
    ],
)
def test_what_is_no_forest_is_refused(damage: Callable[[Any, Any], object], message: str) -> None:
    arrays, meta = forest_arrays(forest_of(compile_conditions(["a = 'x' AND b > 3", "c LIKE '%x%'"])))
    damage(arrays, meta)
    with pytest.raises(CodecError, match=message):
        forest_from(arrays, meta)


def test_an_axis_is_told_by_its_attribute() -> None:
    forest = forest_of(compile_conditions(["a = 'x'", "a = 1", "a"]))
    again = forest_from(*forest_arrays(forest))
    assert all(isinstance(axis, Axis) for axis in again.axes)
    assert [type(axis.scale) for axis in again.axes] == [type(axis.scale) for axis in forest.axes]
