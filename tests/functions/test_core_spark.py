"""Typing and values of the core functions, compared with Spark in bulk."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError, Signature
from tamis.values.casts import caster
from tamis.values.column import column_of
from tamis.values.types import Type, is_decimal, is_numeric, parse_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# --- one value as Spark writes it, and back -----------------------------------------------------------------


def to_sql(type_: Type, value: Any) -> str:
    """An expression of `type_` for a value of ours."""
    if value is None:
        return f"CAST(NULL AS {type_})"
    if is_decimal(type_):
        digits = f"{abs(value):0{type_.scale + 1}d}"
        whole = len(digits) - type_.scale
        text = ("-" if value < 0 else "") + digits[:whole] + "." + digits[whole:]
    elif type_.name == "float" and math.isfinite(value):
        text = repr(struct.unpack("f", struct.pack("f", value))[0])
    elif type_.name == "date":
        return f"date_from_unix_date({value})"
    elif type_.name == "timestamp":
        return f"timestamp_micros({value})"
    elif type_.name == "timestamp_ntz":
        return f"CAST(timestamp_micros({value}) AS timestamp_ntz)"
    elif type_.name == "binary":
        return f"X'{value.hex()}'"
    elif type_.name == "array":
        return f"CAST(array({', '.join(to_sql(type_.item, item) for item in value)}) AS {type_})"
    else:
        text = value if isinstance(value, str) else repr(value)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"CAST('{escaped}' AS {type_})"


def from_spark(value: Any) -> Any:
    """A collected value, comparable with `comparable`."""
    if isinstance(value, Decimal):
        return ("decimal", value.normalize() if value else Decimal(0))
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value
    return [from_spark(item) for item in value] if isinstance(value, list) else value


def comparable(type_: Type, value: Any) -> Any:
    """A value of ours in the form of `from_spark`."""
    if value is None:
        return None
    if is_decimal(type_):
        sign, digits = (1 if value < 0 else 0), tuple(map(int, str(abs(value))))
        return ("decimal", _PLAIN(Decimal((sign, digits, -type_.scale))))
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value
    return [comparable(type_.item, item) for item in value] if isinstance(value, list) else value


def _PLAIN(value: Decimal) -> Decimal:
    return value.normalize() if value else Decimal(0)


# --- our side: cast the arguments to the parameters, apply ------------------------------------------------


def ours(name: str, types: Sequence[Type], rows: Sequence[Sequence[Any]]) -> tuple[Signature, list[Any]]:
    """The results of a function for rows of argument values; scalar and vector forms agree."""
    function = FUNCTIONS[name]
    signature = function.resolve([Argument(type_) for type_ in types], "UTC")
    casts = [caster(*pair, "UTC") for pair in zip(types, signature.parameters, strict=True)]
    scalar = function.scalar(signature)
    cast_rows = [
        [None if value is None else cast(value) for cast, value in zip(casts, row, strict=True)] for row in rows
    ]
    results = [scalar(*row) for row in cast_rows]
    columns = [
        column_of(type_, values)
        for type_, values in zip(signature.parameters, zip(*cast_rows, strict=True), strict=True)
    ]
    batch = function.apply(signature, columns, len(rows)).to_list()
    show: Callable[[Any], Any] = lambda value: comparable(signature.returns, value)  # noqa: E731
    assert list(map(show, batch)) == list(map(show, results)), f"vector form of {name}{signature.parameters}"
    return signature, list(map(show, results))


# --- values -------------------------------------------------------------------------------------------------

TYPES = {
    name: parse_type(name)
    for name in (
        "tinyint smallint int bigint float double decimal(5,2) decimal(18,4) decimal(38,0) decimal(38,10) "
        "decimal(38,38) string boolean binary date timestamp timestamp_ntz "
        "array<int> array<double> array<string>"
    ).split()
}
NAN, INF = math.nan, math.inf
VALUES: dict[str, list[Any]] = {
    "tinyint": [None, 0, 1, -1, 7, -128, 127, 10],
    "smallint": [None, 0, 1, -1, 7, -32768, 32767, -181],
    "int": [None, 0, 1, -1, 7, -(2**31), 2**31 - 1, 46341],
    "bigint": [None, 0, 1, -1, -(2**63), 2**63 - 1, 3037000500, 2**53 + 1],
    "float": [
        None,
        0.0,
        -0.0,
        1.5,
        NAN,
        INF,
        -INF,
        3.4028234663852886e38,
        -1.401298464324817e-45,
        0.10000000149011612,
    ],
    "double": [None, 0.0, -0.0, 1.5, NAN, INF, -INF, 1.7976931348623157e308, -5e-324, 0.1],
    "decimal(5,2)": [None, 0, 1, -1, 150, 99999, -99999, 333],
    "decimal(18,4)": [None, 0, 1, -15000, 10**18 - 1, 1 - 10**18, 33333, 5],
    "decimal(38,0)": [None, 0, 1, -1, 7, 10**38 - 1, 1 - 10**38, 2**63],
    "decimal(38,10)": [None, 0, 1, -15 * 10**9, 7, 10**38 - 1, 1 - 10**38, 5],
    "decimal(38,38)": [None, 0, 1, -5 * 10**37, 5, 10**38 - 1, 1 - 10**38, 5 * 10**27],
    "string": [None, "", "a", "A", "ä", "\uffff", "😀", "ab"],
    "boolean": [None, True, False],
    "binary": [None, b"", b"\x00", b"\x7f", b"\x80", b"\xff", b"a"],
    "date": [None, 0, -1, 18262, -141428, 2932896],
    "timestamp": [None, 0, -1, 18262 * 86_400_000_000, 86_399_999_999],
    "timestamp_ntz": [None, 0, -1, 18262 * 86_400_000_000, 86_399_999_999],
    "array<int>": [None, [], [1], [None], [1, None], [1, 2], [2], [2**31 - 1]],
    "array<double>": [None, [], [1.0], [0.0], [-0.0], [NAN], [None], [1.0, None, INF]],
    "array<string>": [None, [], ["a"], ["b", "a"], [None], ["ä", None]],
}
ROWS = max(map(len, VALUES.values()))
NUMBERS = [name for name, type_ in TYPES.items() if is_numeric(type_)]


def column_name(side: str, name: str) -> str:
    return f"{side}_{''.join(character if character.isalnum() else '_' for character in name)}"


@pytest.fixture(scope="module")
def pairs(spark: SparkSession) -> SparkSession:
    """View `pairs`: every value of every type on the left with every value of every type on the right."""
    for side in ("l", "r"):
        names = ", ".join([f"{side}_row", *(column_name(side, name) for name in TYPES)])
        rows = ", ".join(
            "(" + ", ".join([str(row), *(to_sql(TYPES[name], _value(name, row)) for name in TYPES)]) + ")"
            for row in range(ROWS)
        )
        # A checkpoint spares every query the analysis of this long list of literals.
        frame = spark.sql(f"SELECT * FROM VALUES {rows} AS t({names})").coalesce(1).localCheckpoint()
        frame.createOrReplaceTempView(side)
    crossed = spark.sql("SELECT * FROM l CROSS JOIN r ORDER BY l_row, r_row")
    crossed.coalesce(1).localCheckpoint().createOrReplaceTempView("pairs")
    return spark


def _value(name: str, row: int) -> Any:
    return VALUES[name][row % len(VALUES[name])]


def spark_columns(spark: SparkSession, expressions: Sequence[str], view: str = "pairs") -> list[list[Any]]:
    """The values of each expression over the view, in one job for many expressions."""
    columns: list[list[Any]] = []
    for start in range(0, len(expressions), 150):
        some = [f"{each} AS c{place}" for place, each in enumerate(expressions[start : start + 150])]
        rows = spark.sql(f"SELECT {', '.join(some)} FROM {view}").collect()
        columns += [[from_spark(row[place]) for row in rows] for place in range(len(some))]
    return columns


def pair_rows(left: str, right: str) -> list[tuple[Any, Any]]:
    return [(_value(left, i), _value(right, j)) for i in range(ROWS) for j in range(ROWS)]


SQL = {
    "+": "try_add({a}, {b})",
    "-": "try_subtract({a}, {b})",
    "*": "try_multiply({a}, {b})",
    "/": "try_divide({a}, {b})",
    "%": "try_mod({a}, {b})",
    "pmod": "pmod({a}, {b})",
    "div": "{a} div {b}",
    "=": "{a} = {b}",
    "<>": "{a} <> {b}",
    "<": "{a} < {b}",
    "<=": "{a} <= {b}",
    ">": "{a} > {b}",
    ">=": "{a} >= {b}",
    "<=>": "{a} <=> {b}",
    "in": "{a} IN ({b})",
    "coalesce": "coalesce({a}, {b})",
    "greatest": "greatest({a}, {b})",
    "least": "least({a}, {b})",
    "array_contains": "array_contains({a}, {b})",
    "array_position": "array_position({a}, {b})",
    "arrays_overlap": "arrays_overlap({a}, {b})",
    "element_at": "if({b} = 0, NULL, try_element_at({a}, {b}))",
    "&": "{a} & {b}",
    "|": "{a} | {b}",
    "^": "{a} ^ {b}",
}


def accepted(name: str, left: str, right: str) -> Signature | None:
    try:
        return FUNCTIONS[name].resolve([Argument(TYPES[left]), Argument(TYPES[right])], "UTC")
    except ArgumentError:
        return None


def is_read_from_string(left: str, right: str) -> bool:
    """Does Spark cast a string, which raises for most strings?"""
    return ("string" in left) != ("string" in right)


def as_integer(signature: Signature | None, expression: str) -> str:
    """Dates and timestamps as integers, so that no time zone of this process plays a part."""
    name = "" if signature is None else signature.returns.name
    if name == "timestamp_ntz":
        return f"unix_micros(CAST({expression} AS timestamp))"
    return {"date": f"unix_date({expression})", "timestamp": f"unix_micros({expression})"}.get(name, expression)


def in_microseconds(value: Any) -> Any:
    """An interval of days and times as a number, as ours are."""
    return value // timedelta(microseconds=1) if isinstance(value, timedelta) else value


def guarded(name: str, expression: str, left: str, right: str) -> str:
    """NULL where Java finds a division impossible, or Spark an overflow, in ANSI mode only."""
    scales = TYPES[left].scale, TYPES[right].scale
    rows = []
    for place, (one, other) in enumerate(pair_rows(left, right)):
        if not (isinstance(one, int) and isinstance(other, int)) or other == 0:
            continue
        whole = abs(one) * 10 ** scales[1] // (abs(other) * 10 ** scales[0])
        wraps = name == "div" and whole == 2**63 and "decimal" not in left + right and (one < 0) == (other < 0)
        if len(str(whole).rstrip("0")) > 39 or wraps:
            rows.append(str(place))
    return f"if(l_row * {ROWS} + r_row IN ({', '.join(rows)}), NULL, {expression})" if rows else expression


@contextmanager
def nulls_for_errors(spark: SparkSession) -> Iterator[None]:
    """Without ANSI mode Spark computes the same for exact numbers, and gives NULL where it would raise."""
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        yield
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")


def compare_with_spark(
    spark: SparkSession, name: str, among: Callable[[str, str], bool] = lambda *_: True
) -> None:
    template = SQL[name]
    cases = [
        pair
        for pair in itertools.product(TYPES, TYPES)
        if accepted(name, *pair) is not None and not is_read_from_string(*pair) and among(*pair)
    ]
    expressions = [template.format(a=column_name("l", left), b=column_name("r", right)) for left, right in cases]
    if name in ("%", "pmod", "div"):
        expressions = [guarded(name, each, *case) for each, case in zip(expressions, cases, strict=True)]
    types = spark.sql(
        f"SELECT {', '.join(f'typeof({each})' for each in expressions)} FROM pairs LIMIT 1"
    ).collect()[0]
    theirs = spark_columns(
        spark,
        [as_integer(accepted(name, *case), each) for case, each in zip(cases, expressions, strict=True)],
    )
    for (left, right), type_, expected in zip(cases, types, theirs, strict=True):
        rows = pair_rows(left, right)
        signature, found = ours(name, (TYPES[left], TYPES[right]), rows)
        assert str(signature.returns) == type_, f"type of {left} {name} {right}"
        wrong = [
            (row, mine, other)
            for row, mine, other in zip(rows, found, map(in_microseconds, expected), strict=True)
            if mine != other
        ]
        assert not wrong, f"{left} {name} {right}: {len(wrong)} differ, first (row, ours, Spark) {wrong[0]}"


NO_TRY = ("pmod", "div")


@pytest.mark.parametrize("name", NO_TRY)
def test_operators_without_a_try_form(pairs: SparkSession, name: str) -> None:
    exact = [each for each in NUMBERS if each not in ("float", "double")]
    with nulls_for_errors(pairs):
        compare_with_spark(pairs, name, lambda left, right: left in exact and right in exact)


@pytest.mark.parametrize("name", [name for name in SQL if name not in NO_TRY])
def test_types_and_values_of_two_operands(pairs: SparkSession, name: str) -> None:
    compare_with_spark(pairs, name)


REFUSED = ("=", "coalesce", "greatest", "*", "arrays_overlap")


@pytest.mark.parametrize("name", REFUSED)
def test_spark_refuses_the_pairs_that_we_refuse(pairs: SparkSession, name: str) -> None:
    from pyspark.errors import AnalysisException

    taken = []
    for left, right in itertools.product(TYPES, TYPES):
        if accepted(name, left, right) is not None:
            continue
        operands = f"(SELECT CAST(NULL AS {left}) AS a, CAST(NULL AS {right}) AS b)"
        try:
            pairs.sql(f"SELECT {SQL[name].format(a='a', b='b')} FROM {operands}")
        except AnalysisException:
            continue
        taken.append((left, right))
    assert taken == []


UNARY = {
    "negative": "-{a}",
    "abs": "abs({a})",
    "floor": "floor({a})",
    "ceil": "ceil({a})",
    "sign": "sign({a})",
    "sqrt": "sqrt({a})",
    "isnan": "isnan({a})",
    "round": "round({a})",
    "bround": "bround({a})",
}


def test_functions_of_one_number(pairs: SparkSession) -> None:
    cases = list(itertools.product(UNARY, NUMBERS))
    found = [ours(name, (TYPES[type_],), [(_value(type_, row),) for row in range(ROWS)]) for name, type_ in cases]
    expressions = []
    for (name, type_), (_, results) in zip(cases, found, strict=True):
        expression = UNARY[name].format(a=column_name("l", type_))
        raising = [str(row) for row in range(ROWS) if results[row] is None and _value(type_, row) is not None]
        guard = f"if(l_row IN ({', '.join(raising)}), NULL, {expression})"
        expressions.append(guard if raising else expression)
    types = pairs.sql(f"SELECT {', '.join(f'typeof({each})' for each in expressions)} FROM l LIMIT 1").collect()
    expected = spark_columns(pairs, expressions, "(SELECT * FROM l ORDER BY l_row)")
    assert [str(signature.returns) for signature, _ in found] == list(types[0])
    for case, (_, results), theirs in zip(cases, found, expected, strict=True):
        assert (case, results) == (case, theirs)


DIGITS = (-39, -5, -2, -1, 0, 1, 2, 3, 12, 40)


def test_rounding_to_digits(pairs: SparkSession) -> None:
    cases = [
        (name, type_, digits)
        for name in ("round", "bround", "floor", "ceil")
        for type_ in NUMBERS
        for digits in DIGITS
        if name in ("round", "bround") or type_ not in ("float", "double")
    ]
    found, expressions = [], []
    for name, type_, digits in cases:
        arguments = [Argument(TYPES[type_]), Argument(parse_type("int"), is_constant=True, value=digits)]
        signature = FUNCTIONS[name].resolve(arguments, "UTC")
        cast = caster(TYPES[type_], signature.parameters[0], "UTC")
        scalar = FUNCTIONS[name].bind(signature)
        values = [_value(type_, row) for row in range(ROWS)]
        results = [None if value is None else scalar(cast(value), digits) for value in values]
        found.append((str(signature.returns), [comparable(signature.returns, result) for result in results]))
        raising = [str(row) for row in range(ROWS) if results[row] is None and values[row] is not None]
        expression = f"{name}({column_name('l', type_)}, {digits})"
        expressions.append(f"if(l_row IN ({', '.join(raising)}), NULL, {expression})" if raising else expression)
    types = pairs.sql(f"SELECT {', '.join(f'typeof({each})' for each in expressions)} FROM l LIMIT 1").collect()
    expected = spark_columns(pairs, expressions, "(SELECT * FROM l ORDER BY l_row)")
    for case, (type_name, results), their_type, theirs in zip(cases, found, types[0], expected, strict=True):
        assert (case, type_name, results) == (case, their_type, theirs)


INT_ONE = Argument(parse_type("int"), is_constant=True, value=1)
TEXT_ONE = Argument(parse_type("string"), is_constant=True, value="1")
BIG = Argument(parse_type("bigint"), is_constant=True, value=5_000_000_000)
COMPUTED = Argument(parse_type("int"), is_constant=True, value=2, folded=True)
LITERALS = {"1": INT_ONE, "'1'": TEXT_ONE, "5000000000": BIG, "(1 + 1)": COMPUTED}


def test_types_beside_literals(pairs: SparkSession) -> None:
    names = ("+", "-", "*", "/", "%", "coalesce", "greatest")
    cases = []
    for name, type_, literal, first in itertools.product(names, NUMBERS, LITERALS, (True, False)):
        arguments = [Argument(TYPES[type_]), LITERALS[literal]]
        sql = [column_name("l", type_), literal]
        try:
            signature = FUNCTIONS[name].resolve(arguments if first else arguments[::-1], "UTC")
        except ArgumentError:
            continue
        a, b = sql if first else sql[::-1]
        template = f"{{a}} {name} {{b}}" if name in "+-*/%" else f"{name}({{a}}, {{b}})"
        cases.append((template.format(a=a, b=b), str(signature.returns)))
    types = pairs.sql(f"SELECT {', '.join(f'typeof({sql})' for sql, _ in cases)} FROM l LIMIT 1").collect()[0]
    assert cases == [(sql, type_) for (sql, _), type_ in zip(cases, types, strict=True)]


TEXTS = [
    "",
    "a",
    "ab",
    "abc",
    "A",
    "Ab\n",
    "a%",
    "a_b",
    "a\\b",
    "ä",
    "Ä",
    "😀",
    "a😀b",
    "aaaa",
    "aXbXc",
    "%",
    "_",
    "İ",
    "ß",
    "Σς",
]
PATTERNS = [
    "", "%", "_", "__", "a%", "%b", "%b%", "a_b", "a\\_b", "a\\%", "a\\\\b", "%a%b%", "a%a", "_%_", "%_",
    "ä", "Ä%", "A%B%C", "%%", "i̇", "SS", "σς", "%\n", "a%X_%", "aa%aa", "aaa%aa",
]  # fmt: skip


def test_like_and_ilike(spark: SparkSession) -> None:
    string = parse_type("string")
    rows = ", ".join(f"({row}, {to_sql(string, text)})" for row, text in enumerate(TEXTS))
    view = f"(SELECT * FROM VALUES {rows} AS t(row, text) ORDER BY row)"
    cases = list(itertools.product(("like", "ilike"), PATTERNS))
    expressions = [f"text {name} {to_sql(string, pattern)}" for name, pattern in cases]
    expected = spark_columns(spark, expressions, view)
    for (name, pattern), theirs in zip(cases, expected, strict=True):
        found = ours(name, (string, string), [(text, pattern) for text in TEXTS])[1]
        assert (name, pattern, found) == (name, pattern, theirs)
