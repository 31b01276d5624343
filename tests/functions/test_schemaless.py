"""Reading values of schemaless events: only values of the required kind, converted never."""

from __future__ import annotations

import math
from typing import Any

from tamis.functions.registry import Signature
from tamis.functions.schemaless import READ, reader
from tamis.values.column import column_of
from tamis.values.types import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NUMBER,
    STRING,
    TINYINT,
    Type,
    array,
    decimal,
    struct,
)


def test_reading_takes_only_the_kind_that_is_asked_for() -> None:
    values: list[Any] = [True, 7, 300, 2.5, "12", "1970-01-02", [1, "2"], {"a": 1, "b": "x"}, 1 << 70, None]

    def read(target: Type) -> list[Any]:
        return READ.apply(Signature((ANY,), target), [column_of(ANY, values)], len(values)).to_list()

    assert read(BOOLEAN) == [True, *[None] * 9]
    assert read(NUMBER) == [None, 7, 300, 2.5, None, None, None, None, float(1 << 70), None]
    assert read(TINYINT) == [None, 7, *[None] * 8]
    assert read(BIGINT) == [None, 7, 300, *[None] * 7]
    assert read(DOUBLE) == [None, 7.0, 300.0, 2.5, None, None, None, None, float(1 << 70), None]
    assert read(decimal(4, 1)) == [None, 70, 3000, 25, *[None] * 6]
    assert read(STRING) == [None, None, None, None, "12", "1970-01-02", None, None, None, None]
    assert read(DATE) == [None, None, None, None, None, 1, None, None, None, None]
    assert read(array(ANY))[6] == [1, "2"]
    assert read(array(INT))[6] == [1, None]
    assert read(struct(("a", INT), ("c", INT), ("b", INT)))[7] == (1, None, None)
    assert read(BINARY) == [None] * 10
    assert read(ANY) == values


def test_reading_numbers_beyond_their_types() -> None:
    assert reader(NUMBER)(-(10**400)) == -math.inf
    assert reader(FLOAT)(16777217) == 16777216.0
    assert reader(FLOAT)(1e300) == math.inf
    assert reader(decimal(3, 1))(99.95) is None
    assert reader(decimal(3, 1))(0.25) == 3
