"""Values of every type, for properties of casts."""

from __future__ import annotations

import math
import random
from typing import Any

from tamis.values.casts import caster
from tamis.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    decimal,
    is_decimal,
)

DAY = 86_400_000_000
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


ATOMS = (
    *(BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, decimal(3, 0), decimal(5, 2), decimal(18, 8)),
    *(decimal(20, 0), decimal(38, 10), STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ),
)


def samples(type_: Type) -> list[Any]:
    draw = random.Random(str(type_))
    whole = [
        0,
        1,
        -1,
        127,
        128,
        -129,
        40_000,
        1 << 31,
        1 << 40,
        (1 << 53) + 1,
        (1 << 60) + (1 << 36) + 1,
        GREATEST,
        LEAST,
    ]
    whole += [draw.getrandbits(draw.randrange(1, 63)) * draw.choice((1, -1)) for _ in range(40)]
    if type_ == BOOLEAN:
        return [True, False]
    if type_ in (FLOAT, DOUBLE):
        values = [
            math.nan,
            math.inf,
            -math.inf,
            -0.0,
            0.5,
            127.9,
            2147483647.9,
            2.0**63,
            -(2.0**63),
            1e300,
            1e-300,
        ]
        values += [draw.uniform(-1e6, 1e6) for _ in range(20)]
        return [caster(DOUBLE, type_, "UTC")(value) for value in [*values, *map(float, whole)]]
    if is_decimal(type_):
        limit = 10**type_.precision
        return [*(value for value in whole if abs(value) < limit), limit - 1, 1 - limit, limit // 2]
    if type_ == STRING:
        return ["1", "x", "2020-01-01", "1.5", "true", "", "1", "2020-03-29 02:30:00", "12e3"]
    if type_ == BINARY:
        return [b"", b"a"]
    if type_ == DATE:
        return [*(value for value in whole if abs(value) < 1 << 31), *range(17_800, 18_400, 7)]
    if type_ in (TIMESTAMP, TIMESTAMP_NTZ):
        return [*whole, *(1_577_836_800_000_000 + step * DAY // 5 for step in range(2000))]
    return [value for value in whole if caster(BIGINT, type_, "UTC")(value) is not None]
