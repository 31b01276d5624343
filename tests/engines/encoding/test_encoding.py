"""Coordinates are those of the columns, however a batch came."""

from __future__ import annotations

import datetime as dt
import enum
import random
from collections import OrderedDict
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.engines.encoding import EncodedBatch, Encoder
from tamis.engines.encoding.dict_events import plain_path
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.axes import Axis
from tamis.errors import EventTypeError
from tamis.events import EventBatch, EventType
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tests.oracle.rows import random_table
from tests.worlds import WORLDS, random_value, world

Coordinates = list[list[int | None]]
"""Of every axis, by row; None where it is NULL."""


class _Colour(enum.Enum):
    RED = "red"


class _Size(enum.IntEnum):
    SMALL = 1


class _Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


ODD: tuple[Any, ...] = (
    *(np.int64(3), np.int8(-1), np.uint64(2**64 - 1), np.float32(1.5), np.float64("nan"), np.bool_(True)),
    *(np.str_("abc"), np.array([1, 2]), np.datetime64("2024-02-29"), np.datetime64("NaT"), np.timedelta64(1)),
    *(Decimal("2.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("1E+400"), 2**53 + 1, -(2**63) - 1, 10**400),
    *(dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12), dt.datetime(2024, 2, 29, tzinfo=dt.UTC), dt.time(1)),
    *(b"abc", bytearray(b"abc"), _Colour.RED, _Size.SMALL, _Text("abc"), "\ud800", "x\ud83d\ude00", "é", object()),
    *((1, 2), {"x": 1}, OrderedDict(x=2, y="a"), MappingProxyType({"x": {"y": 1}}), {1: 2}, {"x": np.int32(2)}),
    *("NaN", "1,234.50", "2024-02-29T10:00:00Z", "YWJj", -0.0, 1e39, 3.0, [None], [1, "a"], None),
)


def expected(axes: tuple[Axis, ...], batch: EventBatch) -> Coordinates:
    """What the columns say."""
    frame = BatchFrame(batch)
    found = []
    for axis in axes:
        column = frame.column(axis.attribute)
        values = axis.scale.coordinates(column).tolist()
        found.append([value if ok else None for value, ok in zip(values, column.valid.tolist(), strict=True)])
    return found


def decoded(encoded: EncodedBatch) -> Coordinates:
    lines, rows = encoded.coordinates.shape
    assert encoded.valid.shape == (lines, rows) and rows == encoded.rows
    assert encoded.columns.dtype == np.int32 and encoded.valid.dtype == np.uint8
    assert encoded.coordinates.flags.c_contiguous and encoded.valid.flags.c_contiguous
    assert sorted(encoded.columns[encoded.columns >= 0].tolist()) == list(range(lines))
    found: Coordinates = []
    for line in encoded.columns.tolist():
        if line < 0:
            found.append([None] * rows)
            continue
        assert encoded.valid[line].any()
        pairs = zip(encoded.coordinates[line].tolist(), encoded.valid[line].tolist(), strict=True)
        found.append([value if ok else None for value, ok in pairs])
    return found


def check(axes: tuple[Axis, ...], encoder: Encoder, events: Any, event_type: EventType | None = None) -> None:
    """Two batches, so that no column is shared by the two ways."""
    wanted = expected(axes, EventBatch.of(events, event_type))
    encoded = encoder.encode(BatchFrame(EventBatch.of(events, event_type)))
    for axis, found, right in zip(axes, decoded(encoded), wanted, strict=True):
        assert found == right, axis


@cache
def forest_in(name: str) -> tuple[Forest, Encoder]:
    conditions = world(name).accepted(random.Random(51), 200)
    forest = forest_of([condition.formula for condition in conditions])
    return forest, Encoder(forest.axes, forest.tests)


def random_dicts(name: str, random_: random.Random, rows: int) -> list[dict[str, Any]]:
    """Events of a world as dicts, in which some values are of kinds that nobody asked for."""
    if name == "typed":
        events = random_table(random_, rows).to_pylist()
    else:
        events = world(name).draw_events(random_, rows)
    for event in events:
        for key in [*event]:
            draw = random_.random()
            if draw < 0.1:
                del event[key]
            elif draw < 0.3:
                event[key] = random_.choice(ODD)
            elif draw < 0.4:
                event[key] = random_value(random_)
    return list(events)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_few_dicts(name: str) -> None:
    forest, encoder = forest_in(name)
    random_ = random.Random(52)
    for rows in (1, 1, 1, 1, 2, 5, 8, 32):
        events = random_dicts(name, random_, rows)
        check(forest.axes, encoder, events, world(name).event_type)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_every_attribute_odd(name: str) -> None:
    """Every attribute, and every field in one, holds the same strange value."""
    axes = tuple(axis for axis in forest_in(name)[0].axes if plain_path(axis.attribute))
    encoder = Encoder(axes, forest_of([]).tests)
    here = world(name).event_type
    names = ("a", "b", "c", "odd name") if here.attributes is None else [each.name for each in here.attributes]
    for odd in ODD:
        event = {**dict.fromkeys(names, odd), "s": {"x": odd, "y": odd}}
        check(axes, encoder, event, here)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_many_rows(name: str) -> None:
    forest, encoder = forest_in(name)
    random_ = random.Random(55)
    events = random_dicts(name, random_, 70)
    check(forest.axes, encoder, events, world(name).event_type)
    table = random_table(random_, 70)
    if name == "typed":
        check(forest.axes, encoder, table, world(name).event_type)
        check(forest.axes, encoder, table.slice(3, 1), world(name).event_type)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_sparse_events(name: str) -> None:
    """Computed attributes are left out only where what they need is not there."""
    forest, encoder = forest_in(name)
    random_ = random.Random(57)
    for rows in (1, 3, 40):
        full = random_dicts(name, random_, rows)
        keys = sorted({key for event in full for key in event})
        for _ in range(6):
            kept = set(random_.sample(keys, random_.randint(0, 3)))
            events = [{key: value for key, value in event.items() if key in kept} for event in full]
            check(forest.axes, encoder, events, world(name).event_type)


@pytest.mark.slow
def test_many_dicts_that_have_little_in_common() -> None:
    texts = [f"x{number} > {number} OR lower(x{number}) = 'a'" for number in range(300)]
    forest = forest_of([compile_condition(text).formula for text in (*texts, "coalesce(x1, 2) > 1")])
    encoder = Encoder(forest.axes, forest.tests)
    random_ = random.Random(58)
    events = [{f"x{random_.randrange(400)}": random_value(random_) for _ in range(5)} for _ in range(60)]
    check(forest.axes, encoder, events)
    check(forest.axes, encoder, [*events, MappingProxyType({"x1": 1})])


def test_events_that_are_no_dicts() -> None:
    class Shy(OrderedDict[str, Any]):
        """Has more than it shows."""

        def get(self, key: str, default: Any = None) -> Any:
            return 7 if key == "c" else super().get(key, default)

    forest = forest_of([compile_condition(text).formula for text in ("a = 1", "b.x > 1", "b.c > 1", "c = 7")])
    encoder = Encoder(forest.axes, forest.tests)
    for event in (MappingProxyType({"a": 1, "b": {"x": 2}}), {"b": Shy(x=3)}, Shy(c=1)):
        check(forest.axes, encoder, [event])
    # What is not among the names of an event is not there.
    assert decoded(encoder.encode(BatchFrame(EventBatch.of([Shy(a=1)]))))[3] == [None]


def test_no_rows_and_no_axes() -> None:
    encoder = Encoder((), forest_of([]).tests)
    several: tuple[list[dict[str, int]], ...] = ([], [{}], [{"a": 1}] * 3)
    for events in several:
        encoded = encoder.encode(BatchFrame(EventBatch.of(events)))
        assert encoded.rows == len(events) and encoded.coordinates.shape == (0, len(events))
    forest = forest_of([compile_condition("a = 1").formula])
    encoded = Encoder(forest.axes, forest.tests).encode(BatchFrame(EventBatch.of([])))
    assert encoded.columns.tolist() == [-1] and encoded.coordinates.shape == (0, 0)


def test_a_batch_of_another_event_type() -> None:
    small = EventType.from_dict({"name": "t", "attributes": {"a": "int"}})
    large = EventType.from_dict({"name": "t", "attributes": {"a": "bigint"}})
    other = EventType.from_dict({"name": "u", "attributes": {"b": "int"}})
    forest = forest_of([compile_condition("a > 5", small).formula])
    encoder = Encoder(forest.axes, forest.tests)
    for event_type in (small, large, small):
        check(forest.axes, encoder, {"a": 2**40}, event_type)
    assert decoded(encoder.encode(BatchFrame(EventBatch.of({"b": 1}, other)))) == [[None]]
    with pytest.raises(EventTypeError):
        encoder.encode(BatchFrame(EventBatch.of({"a": 1}, other)))


def test_elements_of_arrays() -> None:
    condition = compile_condition("exists(tags, x -> x > 'b' AND a = 1 AND x <> c)")
    (test,) = condition.formula.predicates()
    forest = forest_of([test.formula])  # type: ignore[attr-defined]
    frame = BatchFrame(EventBatch.of([{"tags": ["a", "c"], "a": 1}, {"tags": []}, {"tags": ["d"], "c": "d"}]))
    elements, _ = frame.elements(test.attribute, test.variable)  # type: ignore[attr-defined]
    found = decoded(Encoder(forest.axes, forest.tests).encode(elements))
    for axis, coordinates in zip(forest.axes, found, strict=True):
        column = elements.column(axis.attribute)
        values = axis.scale.coordinates(column).tolist()
        assert coordinates == [v if ok else None for v, ok in zip(values, column.valid.tolist(), strict=True)]


def test_one_table_of_one_row() -> None:
    event_type = EventType.from_dict({"name": "t", "attributes": {"a": "int", "b": "string"}})
    forest = forest_of([compile_condition("a > 5 OR b = 'x'", event_type).formula])
    encoder = Encoder(forest.axes, forest.tests)
    check(forest.axes, encoder, pa.table({"a": [7], "b": ["x"]}), event_type)
    check(forest.axes, encoder, pa.table({"a": [None], "b": ["x"]}), event_type)


WIDE_KINDS: dict[str, tuple[pa.DataType, ...]] = {
    "int": (pa.int32(), pa.int64(), pa.uint64(), pa.float64(), pa.string(), pa.null()),
    "bigint": (pa.int8(), pa.uint64(), pa.dictionary(pa.int8(), pa.int64())),
    "double": (pa.float32(), pa.float64(), pa.int64(), pa.bool_(), pa.string()),
    "decimal(8,2)": (pa.decimal128(6, 2), pa.decimal128(30, 4), pa.int16()),
    "boolean": (pa.bool_(), pa.int8()),
    "date": (pa.date32(), pa.date64(), pa.timestamp("us"), pa.string()),
    "timestamp": (pa.timestamp("ms", "UTC"), pa.timestamp("us")),
    "string": (pa.string(), pa.int8()),
    "struct<x:int>": (pa.struct([("x", pa.int64())]),),
}
"""Declared types, and what columns of them may be in Arrow."""


def wide_values(random_: random.Random, type_: pa.DataType, rows: int) -> pa.Array:
    """A column in which some values are beyond the bounds of the declared type."""
    fill = random_.choice([0.0, 0.05, 0.05, 1.0])
    some = [0, 1, 7, 100, 127, 2**40]
    numbers = [random_.choice(some) if random_.random() < fill else None for _ in range(rows)]
    if pa.types.is_null(type_):
        return pa.nulls(rows)
    if pa.types.is_struct(type_):
        return pa.array([None if number is None else {"x": number} for number in numbers], type_)
    if pa.types.is_dictionary(type_):
        return pa.array(numbers, pa.int64()).dictionary_encode()
    if pa.types.is_string(type_):
        return pa.array([None if number is None else f"2026-01-{number % 28 + 1:02}" for number in numbers], type_)
    if type_ in (pa.int64(), pa.uint64(), pa.float64()):
        return pa.array(numbers, type_)
    small = pa.array([None if number is None else number % 100 for number in numbers], pa.int64())
    if pa.types.is_date64(type_) or pa.types.is_timestamp(type_):
        return small.cast(type_)
    if pa.types.is_decimal(type_):
        return small.cast(pa.decimal128(38, type_.scale)).cast(type_)
    return small.cast(pa.int32()).cast(type_)


def test_wide_tables() -> None:
    """Of any types, with columns that hold nothing, that nobody asks for, or that are not there."""
    random_ = random.Random(59)
    declared = {f"a{number}": kind for number, kind in enumerate([*WIDE_KINDS] * 4)}
    event_type = EventType.from_dict({"name": "w", "attributes": declared})
    literals = {"boolean": "true", "date": "DATE '2026-01-02'", "string": "'2026-01-02'"}
    literals |= {"timestamp": "TIMESTAMP '1970-01-01T00:00:00.007Z'"}
    texts = ["a0 + a1 > 5", "coalesce(a2, a11) > 5", "lower(a7) = 'x'", "a16 LIKE '%1'"]
    for name, kind in random_.sample([*declared.items()], 30):
        field = f"{name}.x" if kind.startswith("struct") else name
        texts.append(f"{field} >= {literals.get(kind, 5)}")
    forest = forest_of([compile_condition(text, event_type).formula for text in texts])
    encoder = Encoder(forest.axes, forest.tests)
    for rows in (1, 3, 8, 65, 300):
        columns = {
            name: wide_values(random_, random_.choice(WIDE_KINDS[kind]), rows)
            for name, kind in declared.items()
            if random_.random() < 0.9
        }
        columns["nobody's"] = pa.array(range(rows))
        table = pa.table(columns)
        check(forest.axes, encoder, table, event_type)
        check(forest.axes, encoder, table[rows // 3 :], event_type)
        check(forest.axes, encoder, pa.RecordBatch.from_pydict(columns), event_type)


def test_segments_share_the_blocks_of_a_batch() -> None:
    event_type = EventType.from_dict({"name": "w", "attributes": {f"a{number}": "int" for number in range(40)}})
    table = pa.table({f"a{number}": pa.array([number, None, 2**40 * (number % 2)]) for number in range(40)})
    frame = BatchFrame(EventBatch.of(table, event_type))
    for numbers in (range(0, 20), range(10, 30), range(40), range(3)):
        texts = [f"a{number} > 1" for number in numbers]
        forest = forest_of([compile_condition(text, event_type).formula for text in texts])
        found = decoded(Encoder(forest.axes, forest.tests).encode(frame))
        assert found == expected(forest.axes, EventBatch.of(table, event_type))


def test_wide_tables_of_another_event_type() -> None:
    names = [f"a{number}" for number in range(20)]
    small = EventType.from_dict({"name": "t", "attributes": dict.fromkeys(names, "int")})
    large = EventType.from_dict({"name": "t", "attributes": dict.fromkeys(names, "bigint")})
    other = EventType.from_dict({"name": "u", "attributes": dict.fromkeys(names[1:], "int")})
    forest = forest_of([compile_condition("a0 > 5", small).formula])
    encoder = Encoder(forest.axes, forest.tests)
    table = pa.table({name: [2**40] for name in names})
    for event_type in (small, large, small):
        check(forest.axes, encoder, table, event_type)
    with pytest.raises(EventTypeError):
        encoder.encode(BatchFrame(EventBatch.of(table, other)))
