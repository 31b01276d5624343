"""The blocks of a wide table hold the values of its columns, and nothing is touched that nobody asks for."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.events.wide_tables import WideTable

KINDS: dict[pa.DataType, list[Any]] = {
    pa.int8(): [-128, 0, 127],
    pa.uint16(): [0, 65_535],
    pa.int32(): [-(2**31), 5],
    pa.uint64(): [0, 2**64 - 1],
    pa.float32(): [0.5, float("inf")],
    pa.float64(): [-0.0, 1e300],
    pa.bool_(): [True, False],
    pa.date32(): [dt.date(1900, 1, 1)],
    pa.date64(): [dt.date(2026, 1, 1)],
    pa.timestamp("us", "UTC"): [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)],
    pa.decimal128(20, 2): [Decimal("-1.25"), Decimal("123456789012345678.90")],
    pa.string(): ["", "text"],
    pa.list_(pa.int8()): [[], [1, 2]],
    pa.null(): [None],
}
LEFT = {pa.string(), pa.list_(pa.int8()), pa.null()}


def random_columns(random_: random.Random, rows: int) -> dict[str, pa.Array]:
    """Columns of all kinds, some without a value and some without NULL."""
    columns = {}
    for number in range(30):
        type_ = random_.choice([*KINDS])
        fill = random_.choice([0.0, 0.1, 0.5, 1.0])
        values = [random_.choice(KINDS[type_]) if random_.random() < fill else None for _ in range(rows)]
        columns[f"a{number}"] = pa.array(values, type_)
    return columns


def naive_values(columns: dict[str, pa.Array], places: list[int]) -> list[tuple[int, int, Any]]:
    """Place, row and value, of all that is there."""
    arrays = [*columns.values()]
    return [
        (place, row, value)
        for place in places
        for row, value in enumerate(arrays[place].to_pylist())
        if value is not None
    ]


def block_values(table: WideTable, places: list[int]) -> list[tuple[int, int, Any]]:
    blocks = table.blocks(np.array(places, np.int64))
    assert len({block.array.type for block in blocks}) == len(blocks)
    found: list[tuple[int, int, Any]] = []
    for block in blocks:
        block.array.validate(full=True)
        assert set(block.columns.tolist()) == set(range(len(block.places))), "no column is empty"
        columns = block.places[block.columns].tolist()
        found += zip(columns, block.rows.tolist(), block.array.to_pylist(), strict=True)
    return sorted(found, key=lambda each: each[:2])


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 64, 100])
def test_blocks_hold_what_columns_hold(rows: int) -> None:
    for seed in range(8):
        random_ = random.Random(seed)
        columns = random_columns(random_, rows + 3)
        inner = {name: array[2 : rows + 2] for name, array in columns.items()}
        whole = pa.table(columns)[2 : rows + 2]
        cut = random_.randrange(rows + 1)
        for table in (
            WideTable(pa.table(inner)),
            WideTable(whole),
            WideTable(pa.concat_tables([whole[:cut], whole[cut:]])),
            WideTable(pa.RecordBatch.from_pydict(inner)),
        ):
            possible = np.flatnonzero(table.layout.types >= 0).tolist()
            assert {whole.schema.types[place] for place in set(range(30)) - set(possible)} <= LEFT
            some = sorted(random_.sample(possible, len(possible) // 3))
            for places in (possible, some):
                assert block_values(table, places) == naive_values(inner, places)
            for name, array in inner.items():
                assert table.is_empty(name) == (array.null_count == rows)
                assert table[name].to_pylist() == array.to_pylist()


def test_a_table_of_block_types_only_is_written_whole() -> None:
    columns = {f"a{number}": pa.array([None, number, None]) for number in range(20)}
    for places in ([*range(20)], [*range(3, 18)], [19, 3]):
        assert block_values(WideTable(pa.table(columns)), places) == naive_values(columns, sorted(places))


def test_names_are_those_that_may_hold_something() -> None:
    table = WideTable(pa.table({"a": [1, 2], "b": pa.array([None, None], pa.int8()), "c": ["x", None]}))
    assert list(table.filled_names()) == ["a", "b", "c"], "nobody asked"
    assert table.is_empty("b") and not table.is_empty("a") and not table.is_empty("elsewhere")
    assert list(table.filled_names()) == ["a", "c"]
    assert list(table) == ["a", "b", "c"] and len(table) == 3 and "elsewhere" not in table


def test_no_rows() -> None:
    table = WideTable(pa.table({"a": pa.array([], pa.int8()), "b": pa.array([], pa.int8())}))
    assert table.blocks(np.array([0, 1])) == []
    assert table["a"].to_pylist() == [] and table.is_empty("a")


def test_of_two_columns_with_one_name_the_last_counts() -> None:
    table = WideTable(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]))
    assert table["a"].to_pylist() == [2] and table.layout.places == {"a": 1}


def test_blocks_pay_where_columns_are_short() -> None:
    def pays(columns: int, rows: int, values: int) -> bool:
        column = pa.array([1] * values + [None] * (rows - values), pa.int8())
        return WideTable(pa.table({f"a{number}": column for number in range(columns)})).pays_in_blocks

    assert pays(400, 64, 64) and pays(400, 1_024, 20)
    assert not pays(400, 1_024, 1_024) and not pays(10, 4_096, 4_096)


def test_a_column_is_made_when_it_is_asked_for() -> None:
    offsets = pa.py_buffer(np.array([0, 1], np.int32))
    bad = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff")])
    assert WideTable(pa.table({"a": bad}))["a"].to_pylist() == ["\ufffd"]
    with pytest.raises(KeyError):
        WideTable(pa.table({"a": bad}))["b"]
