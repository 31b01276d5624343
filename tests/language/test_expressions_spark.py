"""Expressions of every family of functions have the type and, in every row, the value that Spark gives them."""

from __future__ import annotations

import datetime
import itertools
import math
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tamis.events import EventBatch, EventType
from tamis.events.arrow_out import arrow_type
from tamis.syntax.tokens import SPACES
from tamis.values.types import parse_type
from tests.oracle.expressions import Pair, check, lines, typed, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NUMBERS = {"tiny": "tinyint", "small": "smallint", "n": "int", "big": "bigint", "real": "float", "d": "double"}
NUMBER_ROWS = pa.table(
    {
        "tiny": pa.array([-128, 127, 0, 7, -1, None], pa.int8()),
        "small": pa.array([-32768, 32767, 0, 12, -1, None], pa.int16()),
        "n": pa.array([-(2**31), 2**31 - 1, 0, 5, -1, None], pa.int32()),
        "big": pa.array([-(2**63), 2**63 - 1, 0, 255, -1, None], pa.int64()),
        "real": pa.array([-0.0, math.inf, math.nan, 0.5, -1.5, None], pa.float32()),
        "d": pa.array([-0.0, math.inf, math.nan, 0.25, -2.5, None], pa.float64()),
    }
)
TEXTS = {"s": "string", "t": "string", "b": "binary"}
TEXT_ROWS = pa.table(
    {
        "s": ["5", " 7 ", "4", None, "12", ""],
        "t": ["a", "\ufffd", "é", "x", None, "\u0080"],
        "b": pa.array([b"a", b"\xff", b"\xfe", "é".encode(), None, b"\xef\xbf\xbd"], pa.binary()),
    }
)


def guarded(text: str, attributes: dict[str, str] = NUMBERS, rows: pa.Table = NUMBER_ROWS) -> str:
    """What Spark is asked instead of an expression: NULL in the rows in which tamis has none."""
    event_type = EventType.of({"attributes": attributes})
    found = values(typed(event_type, text), EventBatch.of(rows, event_type))
    known = ", ".join(str(row) for row, value in enumerate(found) if value is not None) or "-1"
    return f"CASE WHEN row__ IN ({known}) THEN {text} END"


def test_white_space_is_that_of_spark(spark: SparkSession) -> None:
    check(spark, NUMBERS, NUMBER_ROWS, [f"n{space}<{space}5" for space in SPACES])


def test_a_comparison_after_a_cast(spark: SparkSession) -> None:
    pairs: list[Pair] = [
        ("s::int < 5", "try_cast(s AS int) < 5"),
        ("s::decimal(5,2) < 5", "try_cast(s AS decimal(5,2)) < 5"),
        ("s::int::string < '5'", "try_cast(s AS int)::string < '5'"),
        "array(1)::array<bigint> < array(2)",
    ]
    check(spark, TEXTS, TEXT_ROWS, pairs)


STRING_BESIDE_NUMBER = """
n + s
d - s
2S * s
1.50 + s
s div n
s & n
s IN (n, 5)
d IN (s)
s BETWEEN 4 AND 6
coalesce(s, n)
coalesce(d, s)
if(n = 5, s, 1.5)
array(s, n)
nullif(s, n)
pmod(s, n)
abs(s)
-s
round(s, 1)
floor(s)
ceil(s, 1)
sqrt(s)
isnan(s)
repeat('a', s)
date_add(DATE'2020-01-01', s)
make_date(s, 1, 1)
nullifzero(s)
zeroifnull(s)
left('abc', s)
"""


def test_a_string_attribute_beside_a_number(spark: SparkSession) -> None:
    texts, ints = ["5", " 7 ", "-4", None], pa.array([5, 6, None, 1], pa.int32())
    rows = pa.table({"s": texts, "n": ints, "d": [5.0, 1.5, 2.0, None]})
    signs = ("=", "<", "<=>", "+", "-", "*", "/", "%")
    asked = [f"s {sign} {other}" for sign in signs for other in "nd"]
    check(spark, {"s": "string", "n": "int", "d": "double"}, rows, [*asked, *lines(STRING_BESIDE_NUMBER)])


def test_unknown_is_null_of_any_type(spark: SparkSession) -> None:
    check(spark, TEXTS, TEXT_ROWS, ["s IS UNKNOWN", "s IS NOT UNKNOWN", "b IS UNKNOWN", "(s = t) IS UNKNOWN"])


def test_texts_of_binaries_are_compared_by_their_bytes(spark: SparkSession) -> None:
    text = "CAST(b AS STRING)"
    pairs: list[Pair] = [f"{text} {sign} t" for sign in ("=", "<>", "<", "<=", ">", ">=", "<=>")]
    pairs += [f"{text} = 'a'", f"{text} = '\ufffd'", f"{text} > 'z'", f"{text} IN ('a', '\ufffd', t)"]
    pairs += [f"t = {text}", f"{text} BETWEEN 'a' AND '\ufffd'", f"CAST({text} AS BINARY)", f"{text} IS NULL"]
    check(spark, TEXTS, TEXT_ROWS, pairs)


BYTES = {"a": "binary", "b": "binary", "s": "string", "list": "array<binary>", "both": "struct<x:binary,n:int>"}
BYTES_ROWS = pa.table(
    {
        "a": pa.array([b"a", b"\xff", b"\xff", b"\xc3", b"\xef\xbf\xbd", None, b" \xff "], pa.binary()),
        "b": pa.array([b"a", b"\xfe", b"\xff", b"\xc3a", b"\xff", b"\xff", b"\xff"], pa.binary()),
        "s": ["a", "\ufffd", "x", "", "\ufffd", "\ufffd", None],
        "list": pa.array(
            [[b"a"], [b"\xfe", None], [b"\xff", b"\xfe"], [], None, [b"\x80"], [b"\xff"]], pa.list_(pa.binary())
        ),
        "both": pa.array(
            [{"x": each, "n": 1} for each in (b"a", b"\xff", b"\xfe", b"\xc3", None, b"\x80", b"\xff")],
            pa.struct({"x": pa.binary(), "n": pa.int32()}),
        ),
    }
)
_BYTE_TEXTS = (
    "{a}",
    "coalesce({a}, 'x')",
    "coalesce({a}, s)",
    "CASE WHEN s = 'x' THEN 'y' ELSE {a} END",
    "CASE s WHEN 'x' THEN {a} END",
    "if(s = 'x', {a}, {b})",
    "nvl({a}, {b})",
    "nvl2(s, {a}, {b})",
    "nullif({a}, {b})",
    "nullif({a}, s)",
    "greatest({a}, {b}, s)",
    "least({a}, 'z')",
    "elt(1, {a}, {b})",
    "get(array({a}, 'x'), 0)",
    "element_at(array(s, {a}), 2)",
    "named_struct('f', {a}, 'n', 1).f",
    "struct({a}, s).col1",
    "CAST(both AS STRUCT<x: STRING, n: INT>).x",
    "map('k', {a})['k']",
    "get(map_keys(map(nvl({a}, ''), 1)), 0)",
    "array_max(array({a}, {b}))",
    "array_min(CAST(list AS ARRAY<STRING>))",
    "get(sort_array(array({a}, {b}, s)), 1)",
    "get(array_sort(array('\u00e9', {a})), 1)",
    "get(array_distinct(array({b}, {a})), 1)",
    "get(array_except(array({a}), array({b})), 0)",
    "get(array_union(array({a}), CAST(list AS ARRAY<STRING>)), 1)",
    "get(array_remove(array({a}, 'x'), nvl({b}, '')), 0)",
    "get(flatten(array(array({a}))), 0)",
    "get(slice(array({a}, {b}), 2, 1), 0)",
    "get(array_append(array('x'), {a}), 1)",
    "get(array_repeat({a}, 2), 1)",
    "concat({a}, 'x')",
    "{a} || {b}",
    "concat_ws('-', {a}, array({b}), s)",
    "array_join(array({a}, {b}), ',', '?')",
    "repeat({a}, 2)",
    "replace({b}, 'a', 'xyz')",
    "substring_index({b}, 'a', 1)",
    "trim({a})",
    "ltrim({a})",
    "rtrim({a})",
    "btrim({a})",
    "upper({a})",
    "lower(concat({a}, 'X'))",
    "initcap({a})",
    "get(split({b}, 'a'), 0)",
    "split_part({b}, 'a', 1)",
    "translate({b}, 'a', 'z')",
    "regexp_replace({b}, 'a', 'z')",
    "CAST(X'FF' AS STRING)",
    "CAST(X'61' AS STRING)",
    "coalesce(CAST(X'FE' AS STRING), s)",
    "get(filter(CAST(list AS ARRAY<STRING>), x -> x < {a}), 0)",
    "get(transform(array({a}, 'x'), x -> concat(x, 'y')), 0)",
    "get(transform(array({a}, 'x'), x -> s), 0)",
    "get(zip_with(array({a}), array({b}), (x, y) -> if(x < y, x, y)), 0)",
    "aggregate(array({a}, {b}), '', (t, x) -> t || x)",
    "aggregate(array({a}, {b}), '', (t, x) -> t || x, t -> t || 'z')",
    "aggregate(array(s), {a}, (t, x) -> if(x > t, x, t))",
)
_BYTE_TESTS = (
    "{a} = {b}",
    "{a} <=> {b}",
    "{a} < s",
    "{a} IN ({b}, s)",
    "coalesce({a}, 'x') = {b}",
    "CASE WHEN true THEN {a} END IN ('a', {b})",
    "CAST(X'FF' AS STRING) = CAST(X'FE' AS STRING)",
    "{a} = CAST(X'FF' AS STRING)",
    "array({a}) = array({b})",
    "array_contains(array({a}, s), {b})",
    "array_contains(CAST(list AS ARRAY<STRING>), s)",
    "arrays_overlap(array({a}), array({b}, s))",
    "array_position(array({a}, s), {b})",
    "named_struct('x', {a}) = named_struct('x', {b})",
    "CAST(both AS STRUCT<x: STRING, n: INT>) = named_struct('x', {a}, 'n', 1)",
    "map_contains_key(map(nvl({a}, ''), 1), {b})",
    "size(array_distinct(array({a}, {b})))",
    "exists(CAST(list AS ARRAY<STRING>), x -> x = {a})",
    "forall(array({a}, {b}), x -> x <> s)",
    "exists(array(named_struct('f', {a})), x -> x.f = {b})",
    "startswith({a}, {b})",
    "contains({b}, {a})",
    "endswith({a}, 'a')",
    "{a} LIKE '_'",
    "{b} RLIKE '^.a?$'",
    "octet_length({a})",
    "bit_length(coalesce({a}, s))",
    "hash({a})",
    "xxhash64({a}, s)",
    "md5({a})",
    "base64({a})",
    "crc32(coalesce({a}, s))",
    "ascii({a})",
    "({a}, s) IN (({b}, '\ufffd'), ({b}, 'x'))",
    "CAST({a} AS BINARY)",
    "CAST(array({a}) AS ARRAY<BINARY>)",
    "upper({a}) = upper({b})",
)


def test_texts_of_binaries_keep_their_bytes(spark: SparkSession) -> None:
    """Equal bytes are equal and different bytes differ, wherever a text made of a binary goes."""
    names = {name: f"CAST({name} AS STRING)" for name in "ab"}
    asked = [f"hex({text})".format(**names) for text in _BYTE_TEXTS]
    check(spark, BYTES, BYTES_ROWS, [*asked, *(text.format(**names) for text in _BYTE_TESTS)])


def test_rounding_leaves_no_negative_zero(spark: SparkSession) -> None:
    calls = (
        "round({0}, 1)",
        "round({0})",
        "bround({0}, 1)",
        "bround({0}, 0)",
        "round(-{0}, 20)",
        "round({0} / 99, 1)",
    )
    check(spark, NUMBERS, NUMBER_ROWS, [call.format(name) for call in calls for name in ("d", "real")])


def test_no_value_where_spark_raises(spark: SparkSession) -> None:
    """Each row is asked of Spark only where tamis has a value: Spark would raise if the two did not agree."""
    calls = ["ceil({0})", "floor({0})", "ceil({0}, -1)", "floor({0}, 1)", "-({0})", "abs({0})", "{0} + {0}"]
    calls += ["{0} * {0}", "{0} - 1S", "{0} * 2S", "{0} % -1S", "pmod({0}, 7S)"]
    names = [name for name in NUMBERS if name not in ("real", "d")]
    asked = [call.format(name) for call in calls for name in names] + ["ceil(d)", "floor(d)", "ceil(real)"]
    check(spark, NUMBERS, NUMBER_ROWS, [(each, guarded(each)) for each in asked])


MOMENTS = {
    "day": "date",
    "due": "date",
    "at": "timestamp",
    "seen": "timestamp",
    "wall": "timestamp_ntz",
    "n": "int",
}
_AT = [
    "2024-01-31 10:00",
    "2024-03-09 07:30",
    "2024-11-02 05:30",
    "2024-11-03 05:30",
    "1582-10-10 00:00:00.5",
    None,
]
_SEEN = [
    "2024-02-29 12:34:56.789",
    "2024-03-10 07:30",
    "2024-11-03 06:30",
    "1970-01-01",
    "9999-12-30",
    "2024-01-01",
]


def moment_rows() -> pa.Table:
    at = pc.cast(pa.array(_AT), pa.timestamp("us"))
    seen = pc.cast(pa.array(_SEEN), pa.timestamp("us"))
    return pa.table(
        {
            "day": at.cast(pa.date32()),
            "due": seen.cast(pa.date32()),
            "at": pc.assume_timezone(at, "UTC"),
            "seen": pc.assume_timezone(seen, "UTC"),
            "wall": seen,
            "n": pa.array([0, 1, -3, 100, 7, None], pa.int32()),
        }
    )


INTERVALS = """
INTERVAL 1 DAY 2 HOURS + INTERVAL '3' MINUTE
INTERVAL '1-2' YEAR TO MONTH
INTERVAL '1 2:3:4.5' DAY TO SECOND
INTERVAL '2:3' HOUR TO MINUTE
INTERVAL '-1 day 2 hours 1.5 seconds'
INTERVAL 1 WEEK
INTERVAL -1 DAY
- INTERVAL 5 MILLISECONDS
INTERVAL '90' MINUTE
INTERVAL 1.5 SECONDS
at - seen
seen - at
at - day
day - at
wall - day
wall - at
day - due
day - '2024-01-01'
'2024-01-01' - at
at - seen > INTERVAL 1 DAY
seen - at BETWEEN INTERVAL '0' SECOND AND INTERVAL 30 DAYS
day - due < INTERVAL 3 HOURS
INTERVAL 1 DAY IN (INTERVAL 24 HOURS, at - seen)
INTERVAL 1 DAY = INTERVAL 24 HOURS
greatest(at - seen, INTERVAL 2 HOUR)
coalesce(at - seen, INTERVAL 2 DAYS)
CASE WHEN n > 0 THEN INTERVAL 1 DAY ELSE INTERVAL 1 HOUR END
at > seen - INTERVAL 1 MONTH
at + INTERVAL 1 DAY >= seen
(at - seen) * 2
(at - seen) * 1.5
2.5D * (at - seen)
(at - seen) * n
(at - seen) / 3
(at - seen) / n => try_divide(at - seen, n)
(at - seen) / 0.7
(at - seen) / 1.3D
INTERVAL 5 MONTH / 2
INTERVAL 1 MONTH * 1.5
INTERVAL '-5' MONTH / 2
-(at - seen)
abs(at - seen)
sign(at - seen)
sign(INTERVAL 0 MONTH)
EXTRACT(DAY FROM at - seen)
EXTRACT(HOUR FROM at - seen)
EXTRACT(MINUTE FROM at - seen)
EXTRACT(SECONDS FROM at - seen)
EXTRACT(YEAR FROM INTERVAL '-3-7' YEAR TO MONTH)
EXTRACT(MONTH FROM INTERVAL '-3-7' YEAR TO MONTH)
CAST(at - seen AS STRING)
CAST(INTERVAL 90 MINUTES AS INTERVAL HOUR)
CAST(at - seen AS INTERVAL DAY TO MINUTE)
(at - seen)::INTERVAL DAY TO HOUR
CAST(day - due AS INT)
CAST(INTERVAL '-90' MINUTE AS BIGINT)
CAST(n AS INTERVAL DAY)
CAST('1' AS INTERVAL DAY)
CAST("INTERVAL -'1-3' YEAR TO MONTH" AS INTERVAL YEAR TO MONTH)
make_dt_interval(n, 2, 3, 4.5)
make_dt_interval()
make_dt_interval(1, n)
make_ym_interval(n, 2)
make_ym_interval(n)
at + make_dt_interval(n, n)
day + make_ym_interval(n)
day + CAST(n AS INTERVAL DAY)
(at - seen) IS NULL
array(INTERVAL 1 DAY, at - seen)[1] = at - seen
"""
LENGTHS = (
    *("INTERVAL 1 DAY", "INTERVAL '-1' MONTH", "INTERVAL '1 2:3:4.5' DAY TO SECOND", "INTERVAL 25 HOURS"),
    *("INTERVAL 1 WEEK", "INTERVAL '1-1' YEAR TO MONTH"),
)
UNITS = "YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND DAYOFYEAR".split()


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_intervals(spark: SparkSession, zone: str) -> None:
    asked = lines(INTERVALS)
    for moment, length in itertools.product(("at", "seen", "wall", "day", "due"), LENGTHS):
        asked += [f"{moment} + {length}", f"{moment} - {length}", f"{length} + {moment}"]
    for unit in UNITS:
        asked += [f"timestampadd({unit}, n, seen)", f"dateadd({unit}, n, day)", f"date_add({unit}, -1, wall)"]
        if unit != "DAYOFYEAR":
            asked += [f"timestampdiff({unit}, at, seen)", f"datediff({unit}, day, due)"]
            asked += [f"date_diff({unit}, wall, wall)"]
    check(spark, MOMENTS, moment_rows(), asked, zone=zone)


CODES = {"s": "string", "t": "string", "b": "binary", "n": "int", "k": "bigint", "tiny": "tinyint", "p": "boolean"}
CODE_ROWS = pa.table(
    {
        "s": ["4A", "abc", "79927398713", "AbCD-1 éÉ日", "", None],
        "t": ["a", "YWJj", "a", "b", "", "x"],
        "b": pa.array([b"a", b"\xff\x00", b"", "é".encode(), b"abc" * 40, None], pa.binary()),
        "n": pa.array([0, 1, -1, 255, 2**31 - 1, None], pa.int32()),
        "k": pa.array([0, 2, -(2**63), 2**40, 13, None], pa.int64()),
        "tiny": pa.array([0, 1, -128, 127, 5, None], pa.int8()),
        "p": [True, False, None, True, False, True],
    }
)
CODE = """
hex(n)
hex(k)
hex(s)
hex(b)
hex(tiny)
hex(1.9D)
hex(p)
unhex(s)
unhex(t)
unhex(n)
bin(n)
bin(k)
bin(tiny)
md5(s)
md5(b)
sha(s)
sha1(b)
sha2(s, 256)
sha2(b, n)
sha2(s, 512)
sha2(s, 0)
sha2(b, 224)
sha2(b, 384)
crc32(s)
crc32(b)
base64(s)
base64(b)
unbase64(t) => try_to_binary(t, 'base64')
encode(s, 'UTF-8')
encode(s, 'utf-16')
encode(s, 'UTF-16BE')
encode(s, 'UTF-16LE')
encode(s, 'UTF-32')
encode(t, 'US-ASCII')
decode(encode(s, 'UTF-16'), 'UTF-16')
decode(encode(s, 'UTF-8'), 'UTF-8')
decode(encode(s, 'UTF-32'), 'UTF-32')
decode(b, 'ISO-8859-1')
bit_count(n)
bit_count(k)
bit_count(tiny)
bit_count(p)
getbit(n, 3)
getbit(k, 40)
bit_get(tiny, 7)
shiftleft(n, 3)
shiftleft(k, 65)
shiftleft(tiny, 2)
shiftright(n, tiny)
shiftright(k, 1)
shiftrightunsigned(n, 1)
shiftrightunsigned(k, n)
n << 3
k >> 2
k >>> 2
n << 2 + 1
n | 1 << 2
n & 1 << 3 = 8
to_binary(s, 'utf-8')
to_binary(s, 'hex') => try_to_binary(s, 'hex')
to_binary(s) => try_to_binary(s)
to_binary(t, 'BASE64') => try_to_binary(t, 'BASE64')
try_to_binary(t, 'base64')
try_to_binary(s)
luhn_check(s)
luhn_check(t)
mask(s)
mask(s, 'Q')
mask(s, 'Q', 'q')
mask(s, 'Q', 'q', 'd', 'o')
mask(s, NULL, NULL, NULL, '*')
elt(n, s, t) => if(n IN (1, 2), elt(n, s, t), NULL)
elt(1, s, n)
elt(1, b, b)
elt(2, s, NULL)
instr(s, t, 1)
instr(s, t, -1)
instr(s, t, 2, 1)
instr('abcabcabc', t, n)
instr('aaaa', 'aa', -1, 2)
instr(s, '', 5)
typeof(n)
typeof(array(k))
typeof(NULL)
typeof(DATE'2020-01-01' - DATE'2020-01-01')
"""


def test_bits_bytes_and_digests(spark: SparkSession) -> None:
    asked = lines(CODE)
    texts = ("abcabcabc", "aaaa", "é😀é", "", "abc")
    for text, part, start in itertools.product(texts, ("bc", "aa", "é", ""), (1, 2, 5, -1, -2, -3, 0, 100, -100)):
        asked += [f"instr('{text}', '{part}', {start}, {place}) = n" for place in (1, 2)]
    check(spark, CODES, CODE_ROWS, asked)


FORMATS = """
format_string('%d %s', n, s)
format_string('%5d|%-5s|%05d', n, t, n)
format_string('%x %X %o %b %%', n, k, n, p)
format_string('%,d %+d % d', n, n, k)
format_string('%s %s', 1.5D, 1.50)
format_string('%.2f|%8.1f|%-8.0f|%f', 0.125D, -2.25D, 2.5D, 1e10D)
format_string('%e %.2e', 1234.5D, 0.00012D)
format_string('%.3s|%8.2s', s, t)
format_string('%2$s %1$s', s, t)
format_string('abc')
format_string('%010.3f|%s', 3.14159D, NULL)
printf('%d', tiny)
"""
URLS = [
    *("http://user:pw@spark.apache.org:80/path/a?query=1&b=2#frag", "http://x.y", "https://x.y/?a=1", "/a/b?c=d"),
    *(
        "mailto:a@b.c",
        "ftp://[::1]:21/x",
        "http://a_b/c",
        "http://h/p?x=1&xx=2&x=3",
        "a b",
        "http://h/%zz",
        "",
        None,
    ),
]


def test_formats_and_urls(spark: SparkSession) -> None:
    check(spark, CODES, CODE_ROWS, lines(FORMATS))
    parts = ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO", "host")
    pairs: list[Pair] = [(f"parse_url(u, '{part}')", f"try_parse_url(u, '{part}')") for part in parts]
    pairs += [f"try_parse_url(u, 'QUERY', '{key}')" for key in ("x", "b", "y")]
    pairs += ["try_parse_url(u, 'HOST', 'x')"]
    check(spark, {"u": "string"}, pa.table({"u": URLS}), pairs)


REALS = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -2.5, 3.0, 27.0, 100.0, 1e-5, 0.1, 12.34, math.nan, math.inf, None]
MATHEMATICS = (
    *"exp expm1 ln log log10 log2 log1p cbrt rint sin cos tan cot sec csc asin acos atan sinh cosh tanh".split(),
    *"asinh acosh atanh degrees radians".split(),
)
MATHEMATICS_OF_TWO = """
power(x, y)
pow(x, 2)
pow(2, x)
pow(x, -1)
pow(x, 0)
atan2(x, y)
hypot(x, y)
log(x, y)
log(2, x)
nanvl(x, y)
nanvl(CAST(x AS FLOAT), CAST(y AS FLOAT))
nanvl(1, 2)
e() * x
pi()
factorial(CAST(abs(n) AS INT))
width_bucket(x, 0, 10, 5)
width_bucket(x, 10, 0, 5)
width_bucket(x, y, 3, 4)
width_bucket(x, -1, 2.5, n)
width_bucket(INTERVAL '1' DAY * 3, INTERVAL '0' DAY, INTERVAL '10' DAY, 11)
width_bucket(INTERVAL '1' YEAR, INTERVAL '0' YEAR, INTERVAL '10' YEAR, 10)
ln(n)
exp(tiny)
"""


def test_mathematics_within_two_units_of_the_last_place(spark: SparkSession) -> None:
    rows = list(itertools.product(REALS, [0.5, -2.0, 3.0, math.inf, None]))
    numbers = [row % 23 - 2 for row in range(len(rows))]
    table = pa.table(
        {
            "x": pa.array([x for x, _ in rows], pa.float64()),
            "y": pa.array([y for _, y in rows], pa.float64()),
            "n": pa.array(numbers, pa.int32()),
            "tiny": pa.array(numbers, pa.int8()),
        }
    )
    asked = [f"{name}(x)" for name in MATHEMATICS]
    attributes = {"x": "double", "y": "double", "n": "int", "tiny": "tinyint"}
    check(spark, attributes, table, [*asked, *lines(MATHEMATICS_OF_TWO)], tolerance=2)


DATE_TEXTS = [
    *("2024-03-05", "2024-3-5", "05/03/2024", "2024-03-05 10:11:12", " 2024-03-05", "2024-02-30", "24-03-05", "x"),
    *("Mar 5, 2024", "march 5, 2024", "20240305", "2024", "2024-03", "2024-065", "12024-03-05", "-2024-03-05", ""),
    *(
        "2024-03-05 10:11:12.123",
        "2024-03-05 10:11:12.1",
        "2024-03-05T10:11:12Z",
        "2024-03-05T10:11:12+01:00",
        "03",
    ),
    *(
        "2024-03-05T10:11:12+0100",
        "2024-03-05 10:11:12 Europe/Paris",
        "2024-03-05 10:11 PM",
        "2024-03-05 12:11 am",
    ),
    *(
        "2024-03-05 24:11",
        "10:11",
        "2024-03-05 25:00",
        "2024-03-10 02:30",
        "2024-11-03 01:30",
        "+12024-03-05",
        None,
    ),
]
PATTERNS = [
    *("yyyy-MM-dd", "yyyy-M-d", "dd/MM/yyyy", "yy-MM-dd", "MMM d, yyyy", "MMMM d, yyyy", "yyyyMMdd", "yyyy", "MM"),
    *("yyyy-MM", "yyyy-DDD", "yyyy-D", "y-MM-dd", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd H:mm:ss", "HH:mm"),
    *("yyyy-MM-dd HH:mm:ss.SSS", "yyyy-MM-dd HH:mm:ss[.SSS]", "yyyy-MM-dd'T'HH:mm:ssX", "yyyy-MM-dd HH:mm"),
    *("yyyy-MM-dd'T'HH:mm:ssXXX", "yyyy-MM-dd'T'HH:mm:ssXX", "yyyy-MM-dd'T'HH:mm:ssZ", "yyyy-MM-dd kk:mm"),
    *("yyyy-MM-dd HH:mm:ss VV", "yyyy-MM-dd hh:mm a", "yyyy-MM-dd[ HH[:mm]]"),
]
WRITTEN = [
    *(
        "y yy yyy yyyy yyyyy",
        "M MM MMM MMMM L LL",
        "d dd D DDD",
        "E EE EEE EEEE",
        "a h hh H HH k kk K KK",
        "Q QQ G",
    ),
    *("m mm s ss", "S SS SSS SSSSSS SSSSSSSSS", "X XX XXX x xx xxx Z ZZZ VV", "yyyy-MM-dd HH:mm:ss", "[yyyy]", ""),
]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_patterns_of_dates(spark: SparkSession, zone: str) -> None:
    asked: list[Pair] = []
    for pattern in PATTERNS:
        text = '"' + pattern + '"'
        asked += [(f"to_date(s, {text})", f"try_to_date(s, {text})"), f"try_to_date(s, {text})"]
        asked += [(f"to_timestamp(s, {text})", f"try_to_timestamp(s, {text})"), f"try_to_timestamp(s, {text})"]
    check(spark, {"s": "string"}, pa.table({"s": DATE_TEXTS}), asked, zone=zone)
    asked = [f"date_format({moment}, '{each}')" for moment in ("at", "wall", "day", "seen") for each in WRITTEN]
    asked += [*lines(MADE_MOMENTS)]
    check(spark, MOMENTS, moment_rows(), asked, zone=zone)


MADE_MOMENTS = """
unix_timestamp(at)
unix_timestamp(day)
unix_timestamp(wall)
to_unix_timestamp(seen)
unix_timestamp('2024-03-05 10:11:12')
unix_timestamp('2024-03-05', 'yyyy-MM-dd')
from_unixtime(n)
from_unixtime(n, 'yyyy-MM-dd HH')
to_timestamp_ntz('2024-03-05 10:11:12')
to_timestamp_ntz('2024-03-05 10:11', 'yyyy-MM-dd HH:mm')
to_timestamp_ntz(at)
to_timestamp_ltz('2024-03-05 10:11', 'yyyy-MM-dd HH:mm')
to_timestamp_ltz(wall)
to_date(at, 'yyyy')
to_timestamp(day, 'dd')
make_timestamp(2024, 3, 10, n, 30, 1.5) => try_make_timestamp(2024, 3, 10, n, 30, 1.5)
make_timestamp(year(at), 2, 28, 1, 2, 60)
make_timestamp(2024, 3, 5, 10, 11, 12.5, 'CET')
make_timestamp_ltz(2024, 3, 5, 10, 11, 12.123456)
make_timestamp_ntz(2024, 3, 5, 10, 11, 12.5)
try_make_timestamp_ntz(2024, 3, 5, 10, 11, 12.5)
try_make_timestamp_ntz(2024, 3, 35, 10, 11, 12.5)
try_make_timestamp(2024, 2, 30, 1, 1, 1)
dayname(day)
monthname(day)
"""


ARRAYS = {
    "a": "array<int>",
    "b": "array<int>",
    "w": "array<string>",
    "r": "array<double>",
    "n": "int",
    "s": "string",
}
ARRAY_ROWS = pa.table(
    {
        "a": pa.array([[3, None, 1], [], [1, 1, 2], [None], None, [5]], pa.list_(pa.int32())),
        "b": pa.array([[1, 4], [None], [2], [], [7], None], pa.list_(pa.int32())),
        "w": pa.array([["b", None, "a"], [], ["x"], [None], None, ["é", "😀"]], pa.list_(pa.string())),
        "r": pa.array([[-0.0, 0.0, math.nan], [], [1.5, math.nan, math.nan], [None], None, [2.5]]),
        "n": pa.array([1, 2, -1, 3, 5, None], pa.int32()),
        "s": ["a", "b", None, "é", "x", ","],
    }
)
ARRAY_CALLS = """
sort_array(a)
sort_array(a, false)
sort_array(w)
sort_array(r)
array_sort(a)
array_sort(w)
array_join(w, ',')
array_join(w, s)
array_join(w, '-', s)
array_join(a, '-')
array_insert(a, 1, n)
array_insert(a, n, 9)
array_insert(a, -2, 9)
array_insert(w, -5, s)
array_append(a, n)
array_append(a, 3L)
array_append(w, NULL)
array_prepend(a, n)
array_prepend(w, s)
array_compact(a)
array_compact(w)
array_remove(a, n)
array_remove(w, s)
array_distinct(a)
array_distinct(r)
array_union(r, r)
array_except(r, array(1.5D))
array_intersect(r, r)
array_remove(r, 0.0D)
array_union(a, b)
array_intersect(a, b)
array_except(a, b)
array_except(b, a)
slice(a, 2, 2)
slice(a, -2, 2)
slice(a, n, 1)
flatten(array(a, b))
array_repeat(s, n)
array_repeat(n, 2)
named_struct('x', n, 'y', s).y
struct(n, s).s
named_struct('x', n) = named_struct('x', 1)
array_contains(array_union(a, b), n)
size(array_compact(a)) > 1
"""


def test_changed_arrays(spark: SparkSession) -> None:
    check(spark, ARRAYS, ARRAY_ROWS, lines(ARRAY_CALLS))


HIGHER_ORDER = """
transform(a, x -> x + n)
transform(a, (x, i) -> x * i)
transform(w, x -> upper(x) || s)
transform(a, x -> n)
transform(a, x -> array(x, n))
filter(a, x -> x > 1)
filter(a, (x, i) -> i > 0)
filter(w, x -> x IS NOT NULL)
filter(a, x -> NULL)
filter(a, x -> exists(b, y -> y > x))
transform(filter(a, x -> x IS NOT NULL), x -> x + 1)
zip_with(a, b, (x, y) -> coalesce(x, 0) - coalesce(y, 10))
zip_with(w, a, (x, y) -> x || y)
aggregate(a, 0, (acc, x) -> acc + coalesce(x, 0))
aggregate(a, 0, (acc, x) -> acc + x)
aggregate(a, 0L, (acc, x) -> acc + x)
aggregate(a, n, (acc, x) -> acc + coalesce(x, 1), acc -> acc * 10)
aggregate(w, '', (acc, x) -> concat(acc, coalesce(x, '-')))
reduce(a, 1, (acc, x) -> greatest(acc, x))
size(filter(a, x -> x = n)) > 0
array_contains(transform(a, x -> x % 2), 1)
exists(transform(a, x -> x + 1), y -> y = 4)
aggregate(transform(b, (x, i) -> x + i), 0, (t, x) -> t + coalesce(x, 0)) > 3
struct(n, s).n
struct(n, s, 1).col3
"""


SEQUENCES = """
sequence(day, DATE'2024-05-31', INTERVAL 1 MONTH)
sequence(DATE'2024-01-31', DATE'2024-05-30', INTERVAL 1 MONTH)
sequence(DATE'2024-01-31', DATE'2023-10-31', INTERVAL -1 MONTH)
sequence(DATE'2024-01-31', DATE'2024-01-25')
sequence(DATE'2024-01-01', DATE'2024-01-10', INTERVAL 36 HOUR)
sequence(DATE'2024-01-01', DATE'2024-04-10', make_interval(0, 1, 0, 1))
sequence(DATE'2024-12-31', DATE'2024-02-29', INTERVAL -1 MONTH)
sequence(at, at + INTERVAL 3 DAYS, INTERVAL 12 HOUR)
sequence(at, at + INTERVAL 3 DAYS, INTERVAL 1 DAY)
sequence(at, at + INTERVAL 3 DAYS, INTERVAL '1 12' DAY TO HOUR)
sequence(at + INTERVAL 3 DAYS, at)
sequence(at, at + INTERVAL 3 MONTHS, INTERVAL 1 MONTH)
sequence(at, at + INTERVAL 90 DAYS, make_interval(0, 1, 0, 1, 3))
sequence(at, at, INTERVAL 0 DAY)
sequence(DATE'2024-01-01', TIMESTAMP'2024-01-03 12:00:00', INTERVAL 1 DAY)
sequence(wall, wall + INTERVAL 3 DAYS, INTERVAL 1 DAY)
sequence(wall, wall + INTERVAL 3 MONTHS, INTERVAL 1 MONTH)
sequence(wall, wall - INTERVAL 30 HOURS, INTERVAL -7 HOURS)
"""


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_sequences_of_moments(spark: SparkSession, zone: str) -> None:
    types = {"day": "date", "at": "timestamp", "wall": "timestamp_ntz"}
    at = ["2024-03-09 12:00", "2024-03-10 07:30", "2024-11-02 05:30", "2024-01-31 23:00", None]
    rows = pa.table(
        {
            "day": pa.array(
                [datetime.date(2024, 1, 31), datetime.date(2024, 2, 29), None, None, None], pa.date32()
            ),
            "at": pc.assume_timezone(pa.array(at).cast(pa.timestamp("us")), "UTC"),
            "wall": pa.array(at).cast(pa.timestamp("us")),
        }
    )
    check(spark, types, rows, lines(SEQUENCES), zone=zone)


def test_higher_order_functions(spark: SparkSession) -> None:
    check(spark, ARRAYS, ARRAY_ROWS, lines(HIGHER_ORDER))


JSON = [
    *(
        '{"a":{"b":[1,2,{"c":"x"}]}}',
        '{"a":"x y"}',
        '{"a":null}',
        '{"a":1.50}',
        '{"a":1e5}',
        '{"a":true}',
        '{"a":1',
    ),
    *(
        "[1,2]",
        '{"a b":1}',
        '{"a":"\\u00e9\\n"}',
        '{"a":[{"b":1},{"b":2}]}',
        '{"a": [1, "é/\\"" ] , "b":{}}',
        "{}",
    ),
    *('{"a":1,"a":2}', '{"a":01}', '{"a":NaN}', "", "5", '"x"', "[]", '{"a":12345678901234567890}', "null", None),
]


def test_json_in_text(spark: SparkSession) -> None:
    paths = ("$", "$.a", "$.a.b", "$.a.b[1]", "$.a.b[2].c", "$[0]", "$.a[0]", "$.a[0].b", "a", "$.b", "$.a[1]")
    asked: list[Pair] = [f"get_json_object(s, '{path}')" for path in paths]
    asked += ["get_json_object(s, \"$['a b']\")", "json_array_length(s)", "json_object_keys(s)"]
    asked += ["json_array_length(get_json_object(s, '$.a')) > 1"]
    check(spark, {"s": "string"}, pa.table({"s": JSON}), asked)


def test_moments_beside_constants_of_the_other_kind(spark: SparkSession) -> None:
    hours = ["2024-03-10 02:30", "2024-03-10 03:30", "2024-11-03 01:30", "2024-11-03 05:30", "2024-11-03 06:30"]
    rows = pa.table(
        {
            "ts": pa.array([*hours, None]).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
            "wall": pa.array([*hours, None]).cast(pa.timestamp("us")),
        }
    )
    pairs: list[Pair] = []
    for operator in ("=", "<>", "<=>", "<", "<=", ">", ">="):
        for hour in hours:
            pairs += [f"wall {operator} TIMESTAMP'{hour}:00'", f"TIMESTAMP'{hour}:00' {operator} wall"]
            pairs.append(f"CAST(ts AS TIMESTAMP_NTZ) {operator} TIMESTAMP_NTZ'{hour}:00'")
    for hour in hours:
        pairs += [
            f"wall IN (TIMESTAMP'{hour}:00')",
            f"wall IN (TIMESTAMP'{hour}:00', TIMESTAMP'2024-01-01 00:00:00')",
        ]
    check(spark, {"ts": "timestamp", "wall": "timestamp_ntz"}, rows, pairs, zone="America/New_York")


MAPS = {
    "m": "map<string,int>",
    "p": "map<int,string>",
    "q": "map<double,array<string>>",
    "v": "map<string,struct<x:int,y:string>>",
    "k": "string",
    "n": "int",
    "a": "array<string>",
}
MAP_ROWS = pa.table(
    {
        "m": [[("a", 1), ("b", None)], [], None, [("", 3), ("é", -4)], [("B", 5)]],
        "p": [[(1, "x")], [(2, None), (7, "y")], None, [], [(-1, ""), (0, "0")]],
        "q": [[(1.0, ["a"])], [(math.nan, [])], [(0.0, None)], None, [(2.5, [None, "b"])]],
        "v": [[("a", {"x": 1, "y": "u"})], [("a", None)], [], None, [("b", {"x": None, "y": ""})]],
        "k": ["a", "b", None, "é", "B"],
        "n": [1, 7, None, 0, -1],
        "a": [["a", "b"], ["x"], [], None, ["é", "é"]],
    },
    pa.schema([(name, arrow_type(parse_type(type_))) for name, type_ in MAPS.items()]),
)
MAP_CALLS = """
m[k]
m['b']
m.a
m.`é`
m[n]
p[n]
p[1L]
p['7']
p[k] => p[try_cast(k AS INT)]
q[n]
q[0.0D]
q[-0.0D]
q[CAST('NaN' AS DOUBLE)]
q[1][0] => get(q[1], 0)
v.a.x
v['b'].y
m[NULL]
element_at(m, k)
element_at(p, n)
element_at(p, CAST(n AS BIGINT))
element_at(p, 1.0D)
element_at(q, n)
element_at(m, NULL)
try_element_at(v, 'a')
map_contains_key(m, k)
map_contains_key(m, 'b')
map_contains_key(p, n)
map_contains_key(p, 7L)
map_contains_key(q, 1)
map_contains_key(q, CAST('NaN' AS DOUBLE))
size(m)
cardinality(p)
map_keys(m)
map_keys(q)
map_values(m)
map_values(v)
map_entries(m)
map_entries(v)
exists(map_entries(m), e -> e.value > 0)
exists(map_keys(m), x -> x = k)
array_contains(map_values(p), 'y')
m IS NULL
p IS NOT NULL
coalesce(m, map('z', 9))
coalesce(m, map('z', 9L))
if(n > 0, m, NULL)
CASE WHEN n = 0 THEN p WHEN n = 1 THEN map(5, 'q') END
CAST(m AS STRING)
CAST(v AS STRING)
CAST(q AS STRING)
CAST(m AS MAP<STRING, BIGINT>)
CAST(p AS MAP<BIGINT, BINARY>)
map(k, n) => CASE WHEN k IS NOT NULL THEN map(k, n) END
map('a', n, 'b', 2L)
map(1, 2, 1.5D, n)
map('x', a, 'y', NULL)['x']
size(map())
map('1', n)[1]
map(array(1), n)[array(1)]
map_from_arrays(a, array(1, 2)) => CASE WHEN size(a) = 2 AND a[0] <> a[1] THEN map_from_arrays(a, array(1, 2)) END
map_from_entries(array(struct(1, 'x'), struct(2, 'z')))
map_from_entries(array(named_struct('x', 'a', 'y', n), NULL))
map_concat(m, map('zz', 1))
str_to_map('a:1,b:2:3,c')
str_to_map('')
str_to_map('a=1;b=2', ';', '=')
str_to_map('x', ',', CAST(NULL AS STRING))
str_to_map('a:1,a:2') => CAST(NULL AS MAP<STRING, STRING>)
map_concat(m, map('zz', 1L), map('y', n))
named_struct('a', m).a.b
array(m, map('t', 1))[1]
transform(map_entries(m), e -> e.key)
typeof(v)
"""


def test_maps(spark: SparkSession) -> None:
    check(spark, MAPS, MAP_ROWS, lines(MAP_CALLS))


JSON_TEXTS = {
    "j": "string",
    "m": "map<string,int>",
    "p": "struct<x:double,t:string,d:date,b:binary>",
    "a": "array<decimal(5,2)>",
}
JSON_ROWS = pa.table(
    {
        "j": [
            '{"a":1,"b":"x","c":[1,2],"d":1.50,"e":{"f":true}}',
            '{"a":"1","b":5,"c":[1,"x"],"d":"2.5","e":{"f":1}} more',
            '[{"a":1},{"a":"x","b":null}]',
            '{"a":1',
            " ",
            "null",
            None,
            '{"a":3000000000,"b":{"z":1.0},"c":[null],"d":12345.678,"e":null,"A":7}',
            '{"a":NaN,"b":"é\\n","d":1e2,"a":2}',
            "5",
        ],
        "m": [[("k", 1), ("l", None)], [], None] + [[('"\\\x01', -1)]] * 7,
        "p": [
            {"x": 1.5, "t": 'a\x1f\n"\\/é', "d": datetime.date(2020, 1, 31), "b": b"\xff"},
            {"x": math.nan, "t": None, "d": None, "b": None},
            *[None] * 7,
            {"x": 1e10, "t": "", "d": None, "b": b""},
        ],
        "a": [[Decimal("1.50"), None], [], None, *[[Decimal(-3)]] * 7],
    },
    pa.schema([(name, arrow_type(parse_type(type_))) for name, type_ in JSON_TEXTS.items()]),
)
JSON_CALLS = """
from_json(j, 'a INT').a > 0
from_json(j, 'a INT, b STRING')
from_json(j, 'A BIGINT').a
from_json(j, 'a DOUBLE, c ARRAY<INT>')
from_json(j, 'STRUCT<d: DECIMAL(5,2), e: STRUCT<f: BOOLEAN>>')
from_json(j, 'e STRUCT<f: BOOLEAN>').e.f
from_json(j, 'b STRING, c STRING')
from_json(j, 'ARRAY<STRUCT<a: INT>>')
from_json(j, 'ARRAY<INT>')
from_json(j, 'MAP<STRING, STRING>')['b']
from_json(j, 'a INT') IS NULL
size(from_json(j, 'ARRAY<STRUCT<a INT, b STRING>>'))
to_json(m)
to_json(p)
to_json(a)
to_json(named_struct('m', m, 'n', 5, 'f', j IS NULL))
to_json(array(p))
"""


def test_typed_json_in_text(spark: SparkSession) -> None:
    check(spark, JSON_TEXTS, JSON_ROWS, lines(JSON_CALLS))


REGULAR_EXPRESSIONS = r"""
regexp_extract(s, '([a-z])([0-9]+)', 2)
regexp_extract(s, '([a-z])([0-9]+)')
regexp_extract(s, r'(\d+)$', 0)
regexp_extract_all(s, '[a-z]|(2)', 1)
regexp_replace(s, r'\s+$', '')
regexp_replace(s, '(?<x>[a-z])([0-9]+)', '<$2$1>')
regexp_count(s, '[0-9]')
regexp_substr(s, '[0-9]+?')
regexp_substr(s, 'z*')
regexp_instr(s, '[0-9]+')
split(s, ',')
split(s, ',', 2)
split(s, '[,;]+', 0)
split(s, '')
split(s, '', 2)
s RLIKE r'\b22\b'
s RLIKE r'\p{Lu}'
regexp_like(s, r'^\pL+$')
"""


def test_regular_expressions(spark: SparkSession) -> None:
    texts = ["a1b22", "a,b,,c,", ",", "", None, "x 22 \r\n", "é😀2", "ÀB", "a;,b9\n", "no"]
    check(spark, {"s": "string"}, pa.table({"s": texts}), lines(REGULAR_EXPRESSIONS))


NUMBER_FORMATS = (
    "999 000 9,999 0,000.00 S9,999.99 9,999.99S MI999.9 99.9MI $9,999.99PR S$99 90.09 9999999999.999 .99 9. 0G00"
)
READ = [
    "454",
    "-4",
    "4-",
    "+ 4",
    "<4>",
    "1,234",
    "1,2",
    "4 5",
    "$4",
    "-$1,234.5",
    "12.34",
    ".5",
    "",
    "-",
    "1.2.3",
    "<4",
]


def test_numbers_by_formats(spark: SparkSession) -> None:
    numbers = ["0", "-0.4", "4", "-12", "123.45", "-1234.5", "0.05", "99999", None]
    rows = pa.table(
        {
            "d": pa.array([None if each is None else Decimal(each) for each in numbers], pa.decimal128(9, 2)),
            "n": pa.array([0, 7, -7, 123, -1234, 2**31 - 1, -(2**31), 45, None], pa.int32()),
            "r": [0.0, -0.5, 12.5, 1e9, -3.25, 0.1, 99.99, 1234.0, None],
        }
    )
    asked: list[Pair] = [f"to_char({name}, '{form}')" for form in NUMBER_FORMATS.split() for name in "dnr"]
    check(spark, {"d": "decimal(9,2)", "n": "int", "r": "double"}, rows, [*asked, "to_varchar(n, '99')"])
    texts = pa.table({"s": [*READ, None]})
    read: list[Pair] = [f"try_to_number(s, '{form}')" for form in NUMBER_FORMATS.split() if form != ".99"]
    check(spark, {"s": "string"}, texts, [*read, ("to_number(s, '99')", "try_to_number(s, '99')")])


MORE_OF_TEXT = """
conv(s, 10, 16)
conv(s, 16, -10)
conv(s, 36, 2)
conv(n, 10, -2)
quote(s)
url_encode(s)
url_decode(url_encode(s))
try_url_decode(s)
find_in_set(s, 'a,,Ab, x ,é')
find_in_set('a,b', s)
overlay(s, '__', 2)
overlay(s, '__', 2, 0)
overlay(s, 'x', -1, 1)
OVERLAY(s PLACING '--' FROM 2 FOR 1)
space(2)
equal_null(s, NULL)
decode(n, 1, 'one', NULL, 'none', 'other')
regexp_replace(s, '[a-z]', '#', 2)
regexp_replace(s, '^.', '#', 3)
hash(s)
hash(s, n)
hash(n)
hash(NULL)
hash(b, l, f, r, d18, d38, t, w, x)
hash(a)
hash(z)
hash(d38)
xxhash64(s)
xxhash64(n, s)
xxhash64(b, l, f, r, d18, d38, t, w, x)
xxhash64(a, z)
pmod(hash(s), 4)
to_char(w, 'yyyy-MM')
to_char(x, 'hex')
to_char(x, 'base64')
from_utc_timestamp(t, 'America/New_York')
to_utc_timestamp(t, 'America/New_York')
to_utc_timestamp(t, '+03:30')
convert_timezone('Europe/Paris', 'Asia/Tokyo', m)
convert_timezone('Asia/Tokyo', m)
months_between(w, DATE'2024-02-29')
months_between(t, TIMESTAMP'2023-12-31 10:30:00')
months_between(t, TIMESTAMP'2023-12-30 10:30:00', FALSE)
sequence(1, n % 5)
sequence(5L, n % 3 - 2, -2)
sequence(DATE'2024-02-27', w)
arrays_zip(a)
map_filter(map('a', n, 'b', l), (k, v) -> v > 0 OR k = 'b')
transform_values(map('a', n, 'b', 2), (k, v) -> concat(k, v))
transform_keys(map('a', n, 'b', 2), (k, v) -> concat(k, 'x'))
s COLLATE UTF8_LCASE = 'AB'
s COLLATE UTF8_LCASE < 'b'
s COLLATE UTF8_LCASE IN ('AB', 'É')
s COLLATE UTF8_LCASE BETWEEN 'A' AND 'C'
s COLLATE UTF8_LCASE_RTRIM = 'ab'
s COLLATE UTF8_BINARY_RTRIM <=> 'a'
s = 'ab' COLLATE UTF8_LCASE
s COLLATE UTF8_BINARY = 'Ab'
s COLLATE UTF8_LCASE LIKE 'A%'
contains(s COLLATE UTF8_LCASE, 'B')
startswith(s COLLATE UTF8_LCASE, 'A')
collate(s, 'UTF8_LCASE') <> 'AB'
collation(s COLLATE UTF8_LCASE)
CAST(t - TIMESTAMP'2000-01-01 00:00:00.7' AS BIGINT)
CAST(t - TIMESTAMP'2000-01-01 00:00:00.7' AS DECIMAL(20, 3))
CAST(t - TIMESTAMP'2000-01-01 00:00:00.7' AS DECIMAL(20, 8))
CAST(INTERVAL '-10-2' YEAR TO MONTH AS INT) + n * 0S => -122 + n * 0S
CAST(INTERVAL '1 02' DAY TO HOUR AS DECIMAL(5, 1))
t + CAST(n AS INTERVAL DAY TO MINUTE) => t + CAST(n AS INTERVAL MINUTE)
"""


def test_hashes_collations_and_more(spark: SparkSession) -> None:
    moments = [
        datetime.datetime(2024, 3, 31, 2, 30, tzinfo=datetime.UTC),
        datetime.datetime(1969, 7, 20, 20, 17, 40, 5, tzinfo=datetime.UTC),
    ]
    moments *= 5
    texts = ["Ab", "a", "", "aé +%41", "%zz", None, "ab ", "-7F", "ΟΔΟΣ ẞ" + "x" * 40, " 12 "]
    columns = {
        "s": ("string", pa.array(texts)),
        "n": ("int", pa.array([1, -1, None, 3, 2, 2**31 - 1, 0, 4, -(2**31), 7], pa.int32())),
        "l": ("bigint", pa.array([9, -(2**63), 2**63 - 1, None, 2, 2**31, 0, 4, -3, 7], pa.int64())),
        "b": ("boolean", pa.array([True, False, None] * 3 + [True])),
        "f": (
            "float",
            pa.array([0.0, -0.0, 1.5, math.nan, None, math.inf, -2.25, 3e38, 1e-40, 7.0], pa.float32()),
        ),
        "r": ("double", pa.array([0.0, -0.0, 1.5, math.nan, None, math.inf, -2.25, 3e38, 5e-324, 7.0])),
        "d18": (
            "decimal(18,2)",
            pa.array([Decimal("1.50"), Decimal("-1.50"), None, Decimal(0), Decimal(7)] * 2, pa.decimal128(18, 2)),
        ),
        "d38": (
            "decimal(38,2)",
            pa.array(
                [Decimal("1.28"), Decimal("-1.28"), Decimal(10) ** 30, Decimal(0), None] * 2, pa.decimal128(38, 2)
            ),
        ),
        "t": ("timestamp", pa.array(moments, pa.timestamp("us", "UTC"))),
        "m": ("timestamp_ntz", pa.array([each.replace(tzinfo=None) for each in moments], pa.timestamp("us"))),
        "w": ("date", pa.array([each.date() for each in moments])),
        "x": ("binary", pa.array([b"", b"\xff", b"abcde", None, b"\x80" * 33] * 2, pa.binary())),
        "a": ("array<int>", pa.array([[1, None, 3], [], None, [7], [2, 2]] * 2, pa.list_(pa.int32()))),
        "z": (
            "struct<p:int,q:string>",
            pa.array(
                [{"p": 1, "q": "y"}, {"p": None, "q": ""}] * 5, pa.struct([("p", pa.int32()), ("q", pa.string())])
            ),
        ),
    }
    rows = pa.table({name: values for name, (_, values) in columns.items()})
    check(spark, {name: type_ for name, (type_, _) in columns.items()}, rows, lines(MORE_OF_TEXT))


def test_keywords_as_names(spark: SparkSession) -> None:
    names = ("end", "like", "in", "is", "between", "escape", "when", "then", "else", "div", "rlike", "regexp")
    rows = pa.table({name: pa.array([1, 2, None], pa.int32()) for name in names})
    asked: list[Pair] = [f"{name} > 1" for name in names]
    asked += ["end + 1", "in IN (2, 3)", "is IS NULL", "between BETWEEN 1 AND 1", "like LIKE '1'", "5 div div"]
    check(spark, dict.fromkeys(names, "int"), rows, asked)


ARRAYS_AS_TEXTS = """
concat(a, b)
concat(a, array(1))
concat(a, array(2.5BD))
a || array(7L)
concat(sa, array('x'), sa)
concat(sa, array(1)) => concat(transform(sa, x -> try_cast(x AS bigint)), array(1L))
concat(array(a), array(array(1L)))
concat_ws(',', sa)
concat_ws(s, 'a', sa, a, 'b')
concat_ws(',', array(true), array(DATE'2020-01-01'), n)
concat_ws(',')
reverse(a)
reverse(sa)
reverse(reverse(array(a)))
map_zip_with(m, o, (k, x, y) -> coalesce(x, 0) + coalesce(y, 0))['b']
map_keys(map_zip_with(m, o, (k, x, y) -> k || 's'))
map_values(map_zip_with(m, o, (k, x, y) -> k || coalesce(x, n) || coalesce(y, n)))
map_values(map_zip_with(m, map('a', 'z'), (m, o, y) -> concat(m, o, y)))
exists(map_values(map_zip_with(m, o, (k, x, y) -> x > y)), v -> v)
"""


def test_arrays_that_are_joined_turned_and_maps_that_are_merged(spark: SparkSession) -> None:
    rows = {
        "a": pa.array([[1, None, 3], [], None, [5]], pa.list_(pa.int32())),
        "b": pa.array([[7], [8, 9], [1], None], pa.list_(pa.int64())),
        "sa": pa.array([["p", None], [], None, ["3"]], pa.list_(pa.string())),
        "m": pa.array([[("a", 1), ("b", 2)], [("b", None)], None, []], pa.map_(pa.string(), pa.int32())),
        "o": pa.array([[("b", 3), ("c", 4)], [("b", 1)], [("a", 1)], []], pa.map_(pa.string(), pa.int32())),
        "s": pa.array(["-", "", None, "ab"]),
        "n": pa.array([1, 2, 3, None], pa.int32()),
    }
    types = {"a": "array<int>", "b": "array<bigint>", "sa": "array<string>", "s": "string", "n": "int"}
    types |= {"m": "map<string,int>", "o": "map<string,int>"}
    check(spark, types, pa.table(rows).select(list(types)), lines(ARRAYS_AS_TEXTS))


MOMENTS_AND_TEXTS = """
d + NULL
NULL + d
d - NULL
NULL - d
ts + NULL
ts - NULL
NULL - ts
wall + NULL
wall - NULL
INTERVAL 1 DAY + NULL
NULL - INTERVAL 1 YEAR
NULL * INTERVAL 1 DAY
INTERVAL 1 YEAR / NULL
s + INTERVAL 2 DAYS => CAST(try_cast(s AS timestamp) + INTERVAL 2 DAYS AS string)
INTERVAL 2 HOURS + s => CAST(try_cast(s AS timestamp) + INTERVAL 2 HOURS AS string)
s - INTERVAL '1 02:03' DAY TO MINUTE => CAST(try_cast(s AS timestamp) - INTERVAL '1 02:03' DAY TO MINUTE AS string)
s + (ts - ts) => CAST(try_cast(s AS timestamp) + (ts - ts) AS string)
t * INTERVAL 2 DAYS => try_cast(t AS double) * INTERVAL 2 DAYS
INTERVAL 2 YEARS * t => INTERVAL 2 YEARS * try_cast(t AS double)
timediff(HOUR, ts, TIMESTAMP'2024-04-01 01:00:00')
time_bucket(INTERVAL 15 MINUTES, ts)
INTERVAL 2 YEARS / t => try_divide(INTERVAL 2 YEARS, try_cast(t AS double))
"""


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_moments_beside_null_and_intervals_beside_texts(spark: SparkSession, zone: str) -> None:
    moment = datetime.datetime(2024, 3, 30, 12, 30)
    rows = pa.table(
        {
            "d": pa.array([moment.date(), None, moment.date()], pa.date32()),
            "ts": pa.array([moment, moment, None], pa.timestamp("us", "UTC")),
            "wall": pa.array([moment, moment, None], pa.timestamp("us")),
            "s": ["2024-03-30", "2024-10-27 00:30:00.5", "x"],
            "t": ["2", " 0.5", None],
        }
    )
    types = {"d": "date", "ts": "timestamp", "wall": "timestamp_ntz", "s": "string", "t": "string"}
    check(spark, types, rows, lines(MOMENTS_AND_TEXTS), zone=zone)


ROWS_AND_CODES = """
(n, s) = (1, 'a')
(n, s) = (n, s)
(n, s) <=> (n, NULLIF(s, 'b'))
(n, s) IN ((1, 'a'), (2, 'b'))
(n, s) NOT IN ((1, 'a'))
(n, s) < (2, 'b')
(big, s) = (1L, 'a')
((n, s), big) = ((n, s), 1L + big - 1L)
(n + 1, s).s
(n, s).n
hmac(s, 'message')
hmac('key', s, 'SHA-512')
hmac('key', b, 'md5')
hmac(b, b, 'sha1')
hmac('key', 'message', s) => CASE WHEN s IS NULL THEN hmac('key', 'message', s) END
try_make_timestamp_ltz(2020, n, 1, 1, 1, 1)
"""


def test_rows_of_values_and_keyed_digests(spark: SparkSession) -> None:
    columns = {"n": pa.array([1, 2, None, 13], pa.int32()), "big": pa.array([1, 2, None, 4], pa.int64())}
    columns |= {"s": pa.array(["a", "b", None, "x"]), "b": pa.array([b"a", b"\xff\x00", None, b"c"], pa.binary())}
    types = {"n": "int", "big": "bigint", "s": "string", "b": "binary"}
    check(spark, types, pa.table(columns), lines(ROWS_AND_CODES))
