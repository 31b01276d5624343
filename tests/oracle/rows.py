"""Tables of random rows: one column or more of every type, full of the values where engines differ.

A table depends on its random generator alone, and both sides read the same Arrow table.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

_ITEM = pa.struct([("name", pa.string()), ("price", pa.decimal128(8, 2))])
_NESTED = pa.struct([("a", pa.int32()), ("b", pa.string()), ("c", pa.struct([("d", pa.float64())]))])


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column: its name, the kind that the grammar knows it by, its type for Arrow and for Spark."""

    name: str
    kind: str
    arrow: pa.DataType
    ddl: str


ATTRIBUTES = (
    Attribute("id", "id", pa.int32(), "int"),
    Attribute("flag", "boolean", pa.bool_(), "boolean"),
    Attribute("ok", "boolean", pa.bool_(), "boolean"),
    Attribute("tiny", "tinyint", pa.int8(), "tinyint"),
    Attribute("small", "smallint", pa.int16(), "smallint"),
    Attribute("n", "int", pa.int32(), "int"),
    Attribute("k", "int", pa.int32(), "int"),
    Attribute("big", "bigint", pa.int64(), "bigint"),
    Attribute("real", "float", pa.float32(), "float"),
    Attribute("dbl", "double", pa.float64(), "double"),
    Attribute("ratio", "double", pa.float64(), "double"),
    Attribute("price", "short_decimal", pa.decimal128(8, 2), "decimal(8,2)"),
    Attribute("money", "short_decimal", pa.decimal128(20, 4), "decimal(20,4)"),
    Attribute("huge", "decimal", pa.decimal128(38, 10), "decimal(38,10)"),
    Attribute("name", "string", pa.string(), "string"),
    Attribute("city", "string", pa.string(), "string"),
    Attribute("digits", "string", pa.string(), "string"),
    Attribute("born", "date", pa.date32(), "date"),
    Attribute("due", "date", pa.date32(), "date"),
    Attribute("ts", "timestamp", pa.timestamp("us", tz="UTC"), "timestamp"),
    Attribute("seen", "timestamp", pa.timestamp("us", tz="UTC"), "timestamp"),
    Attribute("wall", "timestamp_ntz", pa.timestamp("us"), "timestamp_ntz"),
    Attribute("raw", "binary", pa.binary(), "binary"),
    Attribute("ints", "array_int", pa.list_(pa.int32()), "array<int>"),
    Attribute("dbls", "array_double", pa.list_(pa.float64()), "array<double>"),
    Attribute("words", "array_string", pa.list_(pa.string()), "array<string>"),
    Attribute("st", "struct", _NESTED, "struct<a:int,b:string,c:struct<d:double>>"),
    Attribute("items", "array_item", pa.list_(_ITEM), "array<struct<name:string,price:decimal(8,2)>>"),
)
SCHEMA = pa.schema([(attribute.name, attribute.arrow) for attribute in ATTRIBUTES])
DDL = ", ".join(f"{attribute.name} {attribute.ddl}" for attribute in ATTRIBUTES)

_SMALL = (-3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 10, 12)
INTEGERS: dict[str, tuple[int, ...]] = {
    "tinyint": (*_SMALL, 100, 127, -128, -127),
    "smallint": (*_SMALL, 300, 32767, -32768, 2024),
    "int": (*_SMALL, 100, 2**31 - 1, -(2**31), 2**24 + 1, 65536, 2024),
    "bigint": (*_SMALL, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**31, 1_710_000_000, 10**12),
}
_TINIEST_FLOAT = 2.0**-149
FLOATS: dict[str, tuple[float, ...]] = {
    "float": (
        *(0.0, -0.0, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 0.10000000149011612, 1.100000023841858, 16777216.0),
        *(math.nan, math.inf, -math.inf, _TINIEST_FLOAT, 3.4028234663852886e38, 1e10, 7.0),
    ),
    "double": (
        *(0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 0.1, 1.1, 2.675, 1e-3, 123456.789, 7.0, 12.0),
        *(math.nan, math.inf, -math.inf, 5e-324, 2.0**53, 2.0**53 + 2, 1.7976931348623157e308, 1e22, -9.3e18),
    ),
}
DECIMALS: dict[str, tuple[Decimal, ...]] = {
    "price": tuple(
        map(
            Decimal,
            ("0", "0.01", "-0.01", "1", "1.50", "2.50", "-2.50", "3", "9.99", "12.3", "7", "999999.99"),
        )
    ),
    "money": tuple(
        map(
            Decimal,
            ("0", "0.0001", "1", "2.5", "-2.5000", "1.2345", "9999999999999999.9999", "-7", "12.3456"),
        )
    ),
    "huge": tuple(
        map(
            Decimal,
            (
                *("0", "0.0000000001", "1", "2.5", "-2.5", "1.2345678901", "3", "-7.5"),
                *("9999999999999999999999999999.9999999999", "-1234567890123456789012345678.0123456789"),
            ),
        )
    ),
}
STRINGS = (
    *(
        "",
        "a",
        "A",
        "b",
        "abc",
        "ABC",
        "aBc",
        "abcabc",
        "xyz",
        " a ",
        "  ",
        "a b",
        "red",
        "Red",
        "green",
        "blue",
    ),
    *(
        "100%",
        "50%_x",
        "a_c",
        "a\\c",
        "\\",
        "%",
        "_",
        "a\nb",
        "it's",
        'say "x"',
        "tab\tend",
        "a,b,c",
        ",",
        "x,,y",
    ),
    *(
        "é",
        "É",
        "straße",
        "ǅ",
        "İ",
        "ﬁ",
        "😀",
        "a😀b",
        "\uffff",
        "\ue000",
        "日本",
        "e\u0301",
        "ab\u00a0",
        "\u2003x",
    ),
)
NUMBER_TEXTS = (
    *(
        "1",
        "2",
        "-3",
        " 7 ",
        "007",
        "2.5",
        "1e3",
        "-0",
        "NaN",
        "Infinity",
        "-inf",
        "1.50",
        "\t5\n",
        "2147483648",
    ),
    *(
        "9223372036854775808",
        "0x1F",
        "1_000",
        "",
        "abc",
        "+4",
        ".5",
        "5.",
        "1d",
        "1f",
        "12L",
        "true",
        "f",
        " YES ",
    ),
)
DATE_TEXTS = (
    *("2024-02-29", "2024-2-9", " 2024-03-10 ", "2023-02-29", "2024", "2024-07", "1582-10-10", "0001-01-01"),
    *("9999-12-31", "2024-03-10T01:02:03", "2024-03-10 02:30:00", "2024-03-10 01:02:03.123456", "2024-13-01"),
    *("2024-11-03 01:30:00-04:00", "2024-11-03 01:30:00Z", "2024-03-10 12:00:00 Europe/Paris", "-2024-01-01"),
)
DATES = tuple(
    date.fromisoformat(text)
    for text in (
        *("0001-01-01", "1582-10-04", "1582-10-10", "1582-10-15", "1899-12-31", "1900-02-28", "1969-12-31"),
        *("1970-01-01", "2000-02-29", "2023-12-31", "2024-01-01", "2024-01-31", "2024-02-29", "2024-03-10"),
        *("2024-03-31", "2024-07-04", "2024-11-03", "2024-12-30", "2026-02-28", "9999-12-31"),
    )
)
TIMES = tuple(
    datetime.fromisoformat(text)
    for text in (
        *("0001-01-02 00:00:00", "1582-10-10 12:00:00", "1883-11-18 17:00:00", "1900-01-01 00:00:00"),
        *("1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "2024-02-29 12:34:56.789012"),
        *("2024-03-10 01:59:59.999999", "2024-03-10 02:30:00", "2024-03-10 06:59:59", "2024-03-10 07:00:00"),
        *("2024-03-31 01:00:00", "2024-03-31 02:30:00", "2024-11-03 01:30:00", "2024-11-03 05:30:00"),
        *("2024-11-03 06:30:00", "2024-07-04 00:00:00", "2024-12-31 23:59:59.5", "9999-12-30 12:00:00"),
    )
)
BYTES = (b"", b"\x00", b"a", b"abc", b"\xff", b"\x80\x81", b"a\xffb", "é".encode(), b"12")


def _some(random_: random.Random, pool: tuple[Any, ...], null_part: float = 0.15) -> Any:
    return None if random_.random() < null_part else random_.choice(pool)


def _list(random_: random.Random, pool: tuple[Any, ...]) -> Any:
    if random_.random() < 0.12:
        return None
    return [_some(random_, pool) for _ in range(random_.choice((0, 1, 1, 2, 3, 4)))]


_LIST_INTS = (-1, 0, 1, 2, 3, 5, 7, 100, 2**31 - 1)
_LIST_STRINGS = ("", "a", "b", "abc", "red", "blue", "😀", "x")
_STRUCT_DOUBLES = (0.0, -0.0, 1.5, math.nan, 7.0, -2.5)


def _value(random_: random.Random, attribute: Attribute) -> Any:
    name, kind = attribute.name, attribute.kind
    if kind in INTEGERS:
        return _some(random_, INTEGERS[kind])
    if kind in FLOATS:
        return _some(random_, FLOATS[kind])
    if kind == "struct":
        inner = {"d": _some(random_, _STRUCT_DOUBLES)} if random_.random() < 0.85 else None
        value = {"a": _some(random_, _SMALL), "b": _some(random_, STRINGS), "c": inner}
        return value if random_.random() < 0.88 else None
    if kind == "array_item":
        pool = tuple(
            {"name": _some(random_, _LIST_STRINGS), "price": _some(random_, DECIMALS["price"])} for _ in range(4)
        )
        return _list(random_, pool)
    pools: dict[str, tuple[Any, ...]] = {
        "boolean": (True, False),
        "decimal": DECIMALS["huge"],
        "short_decimal": DECIMALS.get(name, ()),
        "string": NUMBER_TEXTS + DATE_TEXTS if name == "digits" else STRINGS,
        "date": DATES,
        "timestamp": TIMES,
        "timestamp_ntz": TIMES,
        "binary": BYTES,
    }
    if kind in pools:
        return _some(random_, pools[kind])
    return _list(random_, {"array_int": _LIST_INTS, "array_double": _STRUCT_DOUBLES}.get(kind, _LIST_STRINGS))


def random_table(random_: random.Random, rows: int) -> pa.Table:
    """A table of the schema `SCHEMA`; `id` counts the rows, and is for probes only."""
    columns = [
        pa.array([_value(random_, attribute) for _ in range(rows)], attribute.arrow)
        for attribute in ATTRIBUTES[1:]
    ]
    columns.insert(0, pa.array(range(rows), pa.int32()))
    return pa.Table.from_arrays(columns, schema=SCHEMA)
