"""Forests as plain arrays and JSON, and back: the stored form of segments.

Everything that grows with the number of conditions is an array. Reading copies no array and creates no predicates,
so the arrays may be read-only maps of files. The kind of an axis' scale follows from the type of its attribute;
the cuts of all axes of one kind are in common arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tamis.arrays import I64, U8, U64, AnyArray, Arrays
from tamis.engines.forest import Forest, Leaves, Nodes, Pieces
from tamis.engines.forest.axes import KEY_SCALE, Axis, NumberScale, ObjectScale, Scale, TextScale, has_keys
from tamis.engines.forest.tests import Patterns, Tests
from tamis.formulas.codec import CodecError, FormulaReader, FormulaWriter
from tamis.values.types import BINARY, NUMBER, STRING, Type

_FORMAT = 1
_LOW = (1 << 64) - 1

_DTYPES: dict[str, type[np.generic]] = {
    "leaf_kinds": np.uint8,
    "leaf_nulls": np.uint8,
    "leaf_axes": np.int32,
    "leaf_lows": np.int64,
    "leaf_highs": np.int64,
    "piece_lows": np.int64,
    "piece_highs": np.int64,
    "node_least": np.int32,
    "node_firsts": np.int64,
    "node_children": np.int32,
    "roots": np.int32,
    # Offsets: per axis of the kind, where its part of the following arrays begins, and finally their end.
    "text_firsts": np.int64,
    "text_offsets": np.int64,
    "text_data": np.uint8,
    "int_firsts": np.int64,
    "ints": np.int64,
    "double_firsts": np.int64,
    "doubles": np.int64,
    "object_firsts": np.int64,
    "object_highs": np.int64,
    "object_lows": np.uint64,
    "pattern_attributes": np.int32,
    "pattern_tests": np.uint8,
    "pattern_negated": np.uint8,
    "pattern_offsets": np.int64,
    "pattern_data": np.uint8,
}
"""The arrays of a forest, and their types."""


def forest_arrays(forest: Forest) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """A forest as arrays and JSON-able data."""
    writer = FormulaWriter()
    scales = [axis.scale for axis in forest.axes]
    tests = forest.tests
    meta = {
        "format": _FORMAT,
        "axes": [writer.expression(axis.attribute) for axis in forest.axes],
        "pattern_attributes": [writer.expression(attribute) for attribute in tests.attributes],
        "tests": [writer.predicate(test) for test in tests.others],
    }
    meta["document"] = writer.document()
    columns = (
        *forest.leaves,
        *forest.pieces,
        *forest.nodes,
        forest.roots,
        *_texts([scale for scale in scales if isinstance(scale, TextScale)]),
        *_concatenate([scale.ints for scale in scales if isinstance(scale, NumberScale)]),
        *_concatenate([scale.doubles for scale in scales if isinstance(scale, NumberScale)]),
        *_objects([scale for scale in scales if isinstance(scale, ObjectScale)]),
        *tests.patterns,
    )
    return dict(zip(_DTYPES, columns, strict=True)), meta


def forest_from(arrays: Arrays, meta: Mapping[str, Any]) -> Forest:
    """The forest whose `forest_arrays` these are.

    Raises:
        CodecError: They are not a forest, or one of another version.
    """
    if meta.get("format") != _FORMAT:
        msg = f"a forest of format {_FORMAT} is expected, found {meta.get('format')!r}"
        raise CodecError(msg)
    found = {name: _check_array(name, arrays.get(name)) for name in _DTYPES}
    reader = FormulaReader(meta.get("document"))
    attributes = [reader.expression(number) for number in _numbers(meta, "axes")]
    scales = _scales([attribute.type for attribute in attributes], found)
    leaves = Leaves(*_fields(found, "leaf_kinds", "leaf_nulls", "leaf_axes", "leaf_lows", "leaf_highs"))
    pieces = Pieces(*_fields(found, "piece_lows", "piece_highs"))
    nodes = Nodes(found["node_least"], found["node_firsts"], found["node_children"])
    attribute_numbers, kinds, negated = _fields(found, "pattern_attributes", "pattern_tests", "pattern_negated")
    patterns = Patterns(attribute_numbers, kinds, negated, found["pattern_offsets"], found["pattern_data"])
    if len(nodes.firsts) != len(nodes.least) + 1 or len(patterns.offsets) != len(patterns.tests) + 1:
        msg = "the arrays of a forest do not fit together"
        raise CodecError(msg)
    tests = Tests(
        tuple(reader.expression(number) for number in _numbers(meta, "pattern_attributes")),
        patterns,
        tuple(reader.predicate(number) for number in _numbers(meta, "tests")),
    )
    axes = tuple(Axis(attribute, scale) for attribute, scale in zip(attributes, scales, strict=True))
    return Forest(axes, tests, leaves, pieces, nodes, found["roots"])


def _concatenate(parts: Sequence[I64]) -> tuple[I64, I64]:
    """Offsets of the parts, and all parts as one array."""
    firsts = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    return firsts, np.concatenate([np.empty(0, np.int64), *parts])


def _texts(scales: Sequence[TextScale]) -> tuple[I64, I64, U8]:
    """The cuts of strings: each axis has its offsets, one more than it has cuts, into common data."""
    offsets: list[I64] = []
    data: list[U8] = []
    base = 0
    for scale in scales:
        first, last = int(scale.offsets[0]), int(scale.offsets[-1])
        offsets.append(scale.offsets + (base - first))
        data.append(scale.data[first:last])
        base += last - first
    return *_concatenate(offsets), np.concatenate([np.empty(0, np.uint8), *data])


def _objects(scales: Sequence[ObjectScale]) -> tuple[I64, I64, U64]:
    """The cuts of decimals of more than 18 digits: their upper and lower 64 bits."""
    cuts = [cut for scale in scales for cut in scale.cuts]
    return (
        np.cumsum([0, *map(len, scales)]).astype(np.int64),
        np.fromiter((cut >> 64 for cut in cuts), np.int64, len(cuts)),
        np.fromiter((cut & _LOW for cut in cuts), np.uint64, len(cuts)),
    )


def _scales(types: Sequence[Type], found: Arrays) -> list[Scale]:
    """The scales of axes with attributes of these types."""
    texts, mixed, objects = 0, 0, 0
    scales: list[Scale] = []
    for type_ in types:
        if has_keys(type_):
            scales.append(KEY_SCALE)
        elif type_ in (STRING, BINARY):
            scales.append(TextScale(_part(found, "text_offsets", "text_firsts", texts), found["text_data"]))
            texts += 1
        elif type_ == NUMBER:
            ints = _part(found, "ints", "int_firsts", mixed)
            scales.append(NumberScale(ints, _part(found, "doubles", "double_firsts", mixed)))
            mixed += 1
        else:
            highs = _part(found, "object_highs", "object_firsts", objects).tolist()
            lows = _part(found, "object_lows", "object_firsts", objects).tolist()
            scales.append(ObjectScale(tuple([high << 64 | low for high, low in zip(highs, lows, strict=True)])))
            objects += 1
    return scales


def _part(found: Arrays, name: str, firsts: str, number: int) -> AnyArray:
    if number + 1 >= len(found[firsts]):
        msg = f"the array {firsts} of a forest is too short"
        raise CodecError(msg)
    first, last = found[firsts][number : number + 2].tolist()
    return found[name][first:last]


def _check_array(name: str, array: AnyArray | None) -> AnyArray:
    if array is None or array.ndim != 1 or array.dtype != _DTYPES[name]:
        what = "missing" if array is None else f"{array.dtype} of {array.ndim} dimensions"
        msg = f"the array {name} of a forest must be {np.dtype(_DTYPES[name])}, it is {what}"
        raise CodecError(msg)
    return np.asarray(array)


def _fields(found: Arrays, *names: str) -> list[AnyArray]:
    """Arrays that must be of one length."""
    arrays = [found[name] for name in names]
    if len({len(array) for array in arrays}) > 1:
        msg = f"the arrays {', '.join(names)} of a forest must be of one length"
        raise CodecError(msg)
    return arrays


def _numbers(meta: Mapping[str, Any], name: str) -> list[int]:
    numbers = meta.get(name)
    if not isinstance(numbers, list):
        msg = f"{name} of a forest must be a list, it is {type(numbers).__name__}"
        raise CodecError(msg)
    return numbers
