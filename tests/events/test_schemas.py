"""Arrow's and Spark's schemas become attributes as Spark maps them, or are refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tamis.errors import EventTypeError
from tamis.events import EventType
from tamis.events.schemas import spark_attributes
from tamis.values.types import parse_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def types(event_type: EventType) -> dict[str, str]:
    return {attribute.name: str(attribute.type) for attribute in event_type.attributes or ()}


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.int8(), "tinyint"),
        (pa.int64(), "bigint"),
        (pa.uint8(), "smallint"),
        (pa.uint16(), "int"),
        (pa.uint32(), "bigint"),
        (pa.uint64(), "decimal(20,0)"),
        (pa.float32(), "float"),
        (pa.decimal128(8, 2), "decimal(8,2)"),
        (pa.decimal256(38, 2), "decimal(38,2)"),
        (pa.large_string(), "string"),
        (pa.string_view(), "string"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.binary(4), "binary"),
        (pa.date64(), "date"),
        (pa.timestamp("ns", "Europe/Paris"), "timestamp"),
        (pa.timestamp("s"), "timestamp_ntz"),
        (pa.list_(pa.int32()), "array<int>"),
        (pa.list_(pa.int32(), 3), "array<int>"),
        (pa.large_list(pa.struct([("x", pa.bool_())])), "array<struct<x:boolean>>"),
    ],
)
def test_arrow_types_map_as_in_spark(arrow: pa.DataType, expected: str) -> None:
    assert types(EventType.from_arrow(pa.schema([("a", arrow)]))) == {"a": expected}


@pytest.mark.parametrize(
    "arrow",
    [
        pa.float16(),
        pa.null(),
        pa.duration("s"),
        pa.time32("s"),
        pa.map_(pa.string(), pa.duration("us")),
        pa.decimal256(40, 0),
        pa.decimal128(5, -2),
        pa.list_(pa.null()),
        pa.struct([]),
        pa.struct([("x", pa.time64("us"))]),
    ],
)
def test_an_arrow_type_without_counterpart_is_refused_by_name(arrow: pa.DataType) -> None:
    with pytest.raises(EventTypeError, match=r"Arrow schema: odd"):
        EventType.from_arrow(pa.schema([("a", pa.int8()), ("odd", arrow)]))


def test_a_column_that_is_not_nullable_is_required() -> None:
    (found,) = EventType.from_arrow(pa.schema([pa.field("a", pa.int8(), nullable=False)])).attributes or ()
    assert found.required


def test_spark_ddl_is_read_without_spark() -> None:
    ddl = (
        "title STRING, `a,``b` decimal(8, 2) NOT NULL COMMENT 'x, y', "
        "tags: array<struct<x int, y:string>>, v varchar(3)"
    )
    event_type = EventType.from_spark(ddl)
    assert types(event_type) == {
        "title": "string",
        "a,`b": "decimal(8,2)",
        "tags": "array<struct<x:int,y:string>>",
        "v": "string",
    }
    assert [one.name for one in event_type.attributes or () if one.required] == ["a,`b"]


@pytest.mark.parametrize(
    "ddl",
    ["", "a", "a int,", "a int b", "a map<string>", "a map<map<int,int>,int>", "a variant", "a interval day"],
)
def test_malformed_ddl_is_refused(ddl: str) -> None:
    with pytest.raises(EventTypeError, match="Spark schema"):
        EventType.from_spark(ddl)


def field(kind: Any, **metadata: Any) -> dict[str, Any]:
    content = {"name": "a", "type": kind, "nullable": True, "metadata": metadata}
    return {"type": "struct", "fields": [content]}


@pytest.mark.parametrize(
    "schema",
    [
        field("void"),
        field({"type": "map", "keyType": "string", "valueType": "variant"}),
        field("string", __COLLATIONS={"a": "spark.UTF8_LCASE"}),
        field({"type": "struct", "fields": []}),
    ],
)
def test_a_spark_type_without_counterpart_is_refused_by_name(schema: dict[str, Any]) -> None:
    with pytest.raises(EventTypeError, match=r"Spark schema: a[.:]"):
        EventType.from_spark(schema)


@pytest.mark.parametrize("schema", [3, {"type": "array"}, None])
def test_what_is_no_spark_schema_is_refused(schema: Any) -> None:
    with pytest.raises(EventTypeError, match="expected a StructType"):
        EventType.from_spark(schema)


@pytest.mark.spark
def test_schemas_of_spark_and_of_its_arrow_data_give_the_same_type(spark: SparkSession) -> None:
    ddl = (
        "a tinyint, b smallint, c int, d bigint, e float, f double, g decimal(38,10), h string, i binary, "
        "j date, k timestamp, l timestamp_ntz, m boolean, n array<array<int>>, "
        "o struct<`x y`:int,z:array<string>>"
    )
    frame = spark.createDataFrame([], ddl)
    from_schema = EventType.from_spark(frame.schema)
    assert from_schema == EventType.from_spark(ddl) == EventType.of(frame.schema.jsonValue())
    assert from_schema == EventType.of(frame.toArrow().schema)
    assert [parse_type(text) for text in types(from_schema).values()] == [
        attribute.type for attribute in from_schema.attributes or ()
    ]


def test_columns_that_conditions_cannot_read_may_be_left_out() -> None:
    ddl = {
        "type": "struct",
        "fields": [
            {"name": "a", "type": "integer", "nullable": True},
            {
                "name": "m",
                "type": {"type": "map", "keyType": "string", "valueType": "variant", "valueContainsNull": True},
            },
        ],
    }
    assert [name for name, _, _ in spark_attributes(ddl, partial=True)] == ["a"]
    with pytest.raises(EventTypeError, match="m"):
        spark_attributes(ddl)


def test_columns_of_types_without_a_counterpart_are_left_out_if_asked() -> None:
    ddl = "a int, m map<string,variant>, i interval day to second, s struct<x: variant>, b string"
    assert [name for name, _, _ in spark_attributes(ddl, partial=True)] == ["a", "b"]
    with pytest.raises(EventTypeError, match="interval day to second has no counterpart"):
        spark_attributes("i interval day to second")
