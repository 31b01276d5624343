"""Every cast against Spark's try_cast: all pairs of types, awkward values, several time zones."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tamis.values.casts import can_cast, caster, to_text
from tamis.values.datetimes import is_time_alone, write_wall
from tamis.values.text import write_double
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
    array,
    decimal,
    is_decimal,
    struct,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

# Zones whose rules are the same in the releases of the zone database that are in use.
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "+05:30")
DECIMALS = (
    decimal(3, 0),
    decimal(5, 2),
    decimal(10, 2),
    decimal(18, 8),
    decimal(20, 0),
    decimal(38, 10),
    decimal(38, 38),
)
ATOMS = (
    *(BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, *DECIMALS),
    *(STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ),
)
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


@contextmanager
def session_zone(spark: SparkSession, zone: str) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    assert before is not None
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def exported(expression: str, type_: Type) -> str:
    """The expression in a form that reaches Python unchanged."""
    if type_ == DATE:
        return f"unix_date({expression})"
    if type_ == TIMESTAMP:
        return f"unix_micros({expression})"
    if type_ == TIMESTAMP_NTZ or is_decimal(type_):
        return f"cast({expression} as string)"
    return expression


def comparable(value: Any, type_: Type) -> Any:
    """Our value in the form that `exported` gives."""
    if value is None:
        return None
    if type_ == TIMESTAMP_NTZ:
        return write_wall(value)
    if is_decimal(type_):
        return to_text(value, type_, "UTC")
    return value


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    return type(one) is type(other) and one == other


def writes_shortest(spark: SparkSession) -> bool:
    assert spark._jvm is not None
    return bool(spark._jvm.java.lang.Runtime.version().feature() >= 19)


def differences(
    frame: DataFrame, source: Type, values: Sequence[Any], targets: Sequence[Type], zone: str
) -> list[str]:
    """Where Spark's casts of column x, of which `values` are ours, differ from ours."""
    columns = [exported(f"try_cast(x as {target})", target) for target in targets]
    through_double = source in (FLOAT, DOUBLE) and not writes_shortest(frame.sparkSession)
    double = "cast(cast(x as double) as string)" if through_double else "null"
    rows = frame.selectExpr("n", double, *columns).collect()
    found = []
    for row in rows:
        value = values[row[0]]
        for target, given in zip(targets, row[2:], strict=True):
            if target == TIMESTAMP and source == STRING and is_time_alone(value):
                continue
            ours = comparable(caster(source, target, zone)(value), target)
            theirs = bytes(given) if target == BINARY and given is not None else given
            if row[1] is not None:  # an older Java, which writes more digits than are needed
                if is_decimal(target) and row[1] != write_double(caster(source, DOUBLE, zone)(value)):
                    continue
                if target == STRING:
                    ours, theirs = caster(STRING, source, zone)(ours), caster(STRING, source, zone)(theirs)
            if not same(ours, theirs):
                found.append(f"{source} {value!r} -> {target} in {zone}: {ours!r}, Spark {theirs!r}")
    return found


def targets_of(source: Type) -> list[Type]:
    return [target for target in ATOMS if can_cast(source, target) and target != source]


def check(
    spark: SparkSession,
    source: Type,
    values: Sequence[Any],
    *,
    given: str,
    external: Sequence[Any],
    zone: str,
) -> None:
    """Compare all casts of `values`; `given` makes one of column v, which holds `external`."""
    kind = "double" if source in (FLOAT, DOUBLE) else "bigint" if isinstance(external[0], int) else "string"
    with session_zone(spark, zone):
        frame = spark.createDataFrame(list(enumerate(external)), f"n int, v {kind}")
        frame = frame.selectExpr("n", f"{given} as x").coalesce(1).cache()
        try:
            found = differences(frame, source, values, targets_of(source), zone)
        finally:
            frame.unpersist()
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:40])


NUMBERS = (
    *("0", "-0", "1", "-1", "+7", "127", "128", "-128", "-129", "32767", "32768", "2147483647", "2147483648"),
    *("-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("1.5", "2.5", "-0.5", ".5", "5.", "1e3", "1E-3", "1e400", "-1e400", "1e-400", "4.9e-324", "2.4e-324"),
    *("1d", "1.0F", "0x1p3", "0x1.8p1", "0x.8p-1", "0x1p", "0x10", "-0x1p-1074", "0x1p5000", "0x1p-5000"),
    *("NaN", "nan", "+NaN", "-nan", "inf", "+Inf", "-INF", "Infinity", "-infinity", "infinit", "+infinity"),
    *(
        "1_000",
        "1,000",
        "\uff11\uff12",
        "\u0663.\u0665",
        "1e\u0661",
        "\u0967",
        "\U0001d7cf",
        "0e99",
        "0e2147483647",
        "1e2147483648",
        "1e-2147483648",
    ),
    *("99.995", "999.995", "99999999.995", "0.00000000000000000000000000000000000001", "9" * 38, "9" * 39),
    *("1.00000005960464477539062500001", "1.000000059604644775390625", "1.0000000596046447753906249999"),
    *(
        "3.4028235677973366e38",
        "3.40282356779733661637e38",
        "3.4028235677973367e38",
        "1e23",
        "2e23",
        "16777217",
    ),
    *("9007199254740993", "0.1", "0.3", "123456789012345678", "1" * 400, "0." + "0" * 400 + "1", "1" * 5000),
    *(
        "1.000000059604644775390625" + "0" * 5000 + "1",
        "0x1.000001p0",
        "0x1.00000100000001p0",
        "-",
        "+",
        ".",
        "",
    ),
)
WORDS = (
    "t",
    "TRUE",
    "Yes",
    "y",
    "on",
    "off",
    "F",
    "false",
    "no",
    "N",
    "tru",
    "1",
    "00",
    "01",
    "null",
    "None",
)
STAMPS = (
    *(
        "2020-02-29",
        "2019-02-29",
        "2020-2-9",
        "2020",
        "2020-13",
        "2020-12",
        "0000-01-01",
        "-0001-12-31",
        "20201",
    ),
    *("+10000-01-01", "9999999-12-31", "5881580-07-11", "5881580-07-12", "-5877641-06-23", "-5877641-06-22"),
    *("294247-01-10 04:00:54.775807Z", "294247-01-10 04:00:54.775808Z", "-290308-12-21 19:59:05.224192Z"),
    *("-290308-12-21 19:59:05.224191Z", "2020-01-01 12", "2020-01-01T1:2", "2020-01-01 1:2:3", "2020-01-01T"),
    *("2020-01-01 23:59:59.9999999", "2020-01-01 23:59:60", "2020-01-01 24:00:00", "2020-01-01 12:60:00"),
    *(
        "2020-03-29 02:30:00",
        "2020-10-25 02:30:00",
        "2020-03-08 02:30:00",
        "2020-11-01 01:30:00",
        "1900-01-01",
    ),
    *(
        "2011-12-30 12:00:00",
        "2020-10-04 02:15:00",
        "2020-04-05 01:45:00",
        "2020-01-01 00:00:00 Europe/Paris",
    ),
    *(
        "2020-01-01 00:00:00UTC",
        "2020-01-01 00:00:00 utc",
        "2020-01-01 00:00:00GMT+1",
        "2020-01-01 00:00:00 UT-3",
    ),
    *(
        "2020-01-01 00:00:00+1",
        "2020-01-01 00:00:00+1:3",
        "2020-01-01 00:00:00+01:00",
        "2020-01-01 00:00:00+010203",
    ),
    *(
        "2020-01-01 00:00:00-18:00",
        "2020-01-01 00:00:00+18:01",
        "2020-01-01 00:00:00 PST",
        "2020-01-01 00:00:00 EST",
    ),
    *(
        "2020-01-01 00:00:00.",
        "2020-01-01 00:00:00.Z",
        "2020-01-01 00:00:00.5+01:00:30",
        "2020-01-01 00:00:00.1.2",
    ),
    *(
        "12:30",
        "T12",
        "T12:30:15.5",
        " T12",
        "1:2:3",
        "12:30:15Z",
        "2020-01-01 00:00Z",
        "epoch",
        "now",
        "today",
    ),
    *(
        "2020-06-15 12:00:00 America/New_York",
        "2020-06-15 12:00:00 Factory",
        "2020-06-15 12:00:00 Z",
        "2020-06-15Z",
    ),
    *(
        "1500-06-15 12:00:00",
        "12345-06-15 12:00:00",
        "2500-06-15 02:30:00",
        "2020-06-15 12:00:00 UTC+01:00:00",
    ),
)
EDGES = ("", "", " ", "\t", "\n", "\x00", "\x1f", "\x7f", "\xa0", "\u3000", "\u2028")


def mutated(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    texts = [*NUMBERS, *WORDS, *STAMPS]
    for _ in range(count):
        text = draw.choice([*NUMBERS, *STAMPS, *STAMPS])[:60]
        for _ in range(draw.randrange(3)):
            at = draw.randrange(len(text) + 1)
            insert = draw.choice("0123456789+-.:eEfdDxTZ /aP_") if draw.random() < 0.7 else ""
            text = text[:at] + insert + text[at + draw.randrange(2) :]
        texts.append(draw.choice(EDGES) + text + draw.choice(EDGES))
    return texts


def sampled_integers(seed: int, bits: int) -> list[int]:
    draw = random.Random(seed)
    least, greatest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    edges = [0, 1, -1, least, least + 1, greatest, greatest - 1, (1 << 60) + (1 << 36) + 1]
    edges += [sign * (1 << power) + step for power in range(bits - 1) for sign in (1, -1) for step in (-1, 0, 1)]
    edges += [sign * 10**power + step for power in range(19) for sign in (1, -1) for step in (-1, 0, 1)]
    edges += [draw.getrandbits(draw.randrange(1, bits)) * draw.choice((1, -1)) for _ in range(300)]
    return [value for value in edges if least <= value <= greatest]


def sampled_doubles(seed: int) -> list[float]:
    draw = random.Random(seed)
    values = [float(value) for value in sampled_integers(seed, 64)]
    values += [
        math.nan,
        math.inf,
        -math.inf,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        3.4028235677973366e38,
        1e23,
    ]
    values += [
        value + step for value in (127.0, 128.0, 32767.0, -128.0, 2147483647.0) for step in (0.9, -0.9, 0.5)
    ]
    values += [draw.uniform(-1, 1) * 10.0 ** draw.randrange(-30, 40) for _ in range(600)]
    values += [round(draw.uniform(-1000, 1000), draw.randrange(6)) for _ in range(300)]
    values += [draw.randrange(-(10**6), 10**6) / 1000 + 0.0005 for _ in range(200)]
    return values


@pytest.mark.parametrize("zone", ZONES)
def test_strings(spark: SparkSession, zone: str) -> None:
    texts = mutated(ZONES.index(zone), 1500)
    check(spark, STRING, texts, given="v", external=texts, zone=zone)


@pytest.mark.parametrize(("source", "bits"), [(TINYINT, 8), (SMALLINT, 16), (INT, 32), (BIGINT, 64)], ids=str)
def test_integers(spark: SparkSession, source: Type, bits: int) -> None:
    values = sampled_integers(1, bits)
    check(spark, source, values, given=f"cast(v as {source})", external=values, zone="Europe/Paris")


@pytest.mark.parametrize("source", [FLOAT, DOUBLE], ids=str)
def test_fractions(spark: SparkSession, source: Type) -> None:
    doubles = sampled_doubles(2)
    values = [caster(DOUBLE, source, "UTC")(value) for value in doubles]
    check(spark, source, values, given=f"cast(v as {source})", external=doubles, zone="UTC")


@pytest.mark.parametrize("source", DECIMALS, ids=str)
def test_decimals(spark: SparkSession, source: Type) -> None:
    draw = random.Random(source.precision)
    limit = 10**source.precision
    units = [0, 1, -1, limit - 1, 1 - limit, limit // 2, 10**source.scale, 5 * 10**source.scale // 10]
    units += [value * 10**source.scale + step for value in sampled_integers(3, 64)[:400] for step in (-1, 0, 1)]
    units += [draw.randrange(-limit, limit) // 10 ** draw.randrange(source.precision) for _ in range(500)]
    units = [value for value in units if -limit < value < limit]
    texts = [to_text(value, source, "UTC") for value in units]
    check(spark, source, units, given=f"cast(v as {source})", external=texts, zone="UTC")


def test_booleans(spark: SparkSession) -> None:
    check(spark, BOOLEAN, [True, False], given="cast(v as boolean)", external=[1, 0], zone="UTC")


def test_binary(spark: SparkSession) -> None:
    texts = ["", "a", "é€😀", "\x00"]
    values = [text.encode() for text in texts]
    check(spark, BINARY, values, given="cast(v as binary)", external=texts, zone="UTC")


def sampled_micros(seed: int) -> list[int]:
    draw = random.Random(seed)
    hour = 3_600_000_000
    values = [value for value in sampled_integers(seed, 64) if abs(value) < GREATEST - 30 * hour]
    # Hours around the changes of 2011 and 2020, and every year of a long time.
    values += [second * 1_000_000 + 1_800_000_000 for second in range(1_577_836_800, 1_609_459_200, 43_200)]
    values += [1_325_200_000_000_000 + step * hour for step in range(48)]
    values += [
        draw.randrange(-10_000, 10_000) * 365 * 24 * hour + draw.randrange(400 * 24 * hour) for _ in range(800)
    ]
    return values


@pytest.mark.parametrize("zone", ZONES)
def test_timestamps(spark: SparkSession, zone: str) -> None:
    values = [*sampled_micros(ZONES.index(zone)), LEAST, GREATEST]
    check(spark, TIMESTAMP, values, given="timestamp_micros(v)", external=values, zone=zone)


@pytest.mark.parametrize("zone", ZONES)
def test_timestamps_ntz(spark: SparkSession, zone: str) -> None:
    values = [*sampled_micros(ZONES.index(zone) + 10), LEAST, GREATEST]
    walls = [write_wall(value) for value in values]
    check(spark, TIMESTAMP_NTZ, values, given="cast(v as timestamp_ntz)", external=walls, zone=zone)


@pytest.mark.parametrize("zone", ZONES)
def test_dates(spark: SparkSession, zone: str) -> None:
    values = [value for value in sampled_integers(5, 32) if abs(value) < 106_751_990]
    values += list(range(15_000, 18_600))
    check(spark, DATE, values, given="date_from_unix_date(cast(v as int))", external=values, zone=zone)


def test_dates_without_timestamp(spark: SparkSession) -> None:
    for zone in ("UTC", "Pacific/Apia"):
        days = [
            step + end for step in range(-3, 4) for end in (LEAST // 86_400_000_000, GREATEST // 86_400_000_000)
        ]
        with session_zone(spark, zone):
            rows = spark.createDataFrame([(day,) for day in days], "x int").selectExpr(
                "x",
                "unix_micros(try_cast(date_from_unix_date(x) as timestamp))",
                "cast(try_cast(date_from_unix_date(x) as timestamp_ntz) as string)",
            )
            for day, stamp, wall in rows.collect():
                assert caster(DATE, TIMESTAMP, zone)(day) == stamp
                assert comparable(caster(DATE, TIMESTAMP_NTZ, zone)(day), TIMESTAMP_NTZ) == wall


NESTED = (
    *(
        array(INT),
        array(STRING),
        array(BIGINT),
        array(array(STRING)),
        struct(("a", INT)),
        struct(("b", STRING)),
    ),
    *(struct(("a", INT), ("b", INT)), array(struct(("c", DATE)))),
)


def test_pairs_that_the_analyser_accepts(spark: SparkSession) -> None:
    from pyspark.errors import AnalysisException

    types = (*ATOMS, *NESTED)
    for source in types:
        frame = spark.createDataFrame([], f"x {source}")
        for target in types:
            try:
                frame.selectExpr(f"cast(x as {target})", f"try_cast(x as {target})")
                accepted = True
            except AnalysisException:
                accepted = False
            assert can_cast(source, target) == accepted, f"{source} -> {target}"


def test_nested_values(spark: SparkSession) -> None:
    row = spark.sql(
        "select try_cast(array('1', 'x', null) as array<int>), cast(array('1', 'x', null) as string),"
        " try_cast(named_struct('a', 'x', 'b', 2.5D) as struct<c: int, d: int>),"
        " cast(named_struct('a', cast(null as int), 'b', array(1.50, null)) as string), '[]'"
    ).collect()[0]
    texts, pair = array(STRING), struct(("a", STRING), ("b", DOUBLE))
    deep = struct(("a", INT), ("b", array(decimal(3, 2))))
    assert row[0] == caster(texts, array(INT), "UTC")(["1", "x", None])
    assert row[1] == to_text(["1", "x", None], texts, "UTC")
    assert tuple(row[2]) == caster(pair, struct(("c", INT), ("d", INT)), "UTC")(("x", 2.5))
    assert row[3] == to_text((None, [150, None]), deep, "UTC")
    assert row[4] == to_text([], array(INT), "UTC")
