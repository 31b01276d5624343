"""Functions of text give what Spark gives, on thousands of texts chosen to be awkward."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument
from tamis.values import letter_case
from tamis.values.column import column_of
from tamis.values.types import BIGINT, BINARY, INT, STRING, Type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TEXTS = [
    "",
    " ",
    "a",
    "ab",
    "aa",
    "aaa",
    "abab",
    "ba",
    "A b",
    " a\t",
    "é",
    "éa",
    "😀",
    "a😀b",
    "x\0y",
    ".",
    "a.b.c",
]
TEXTS += [
    "..",
    "0",
    "10",
    "AΣ",
    "ΑΣ ΣΑ",
    "ǆ İI ß",
    "ﬁ x-ray o'NEIL",
    "a\u0301b",
    "  two  ",
    "%_\\",
    "\u00a0",
    "\u017f",
    "\0",
]
NUMBERS = [0, 1, 2, 3, 4, 7, -1, -2, -3, -9, 2**31 - 1, -(2**31), 2**31 - 2, 1 - 2**31]
SMALL = [0, 1, 2, 3, 4, 7, 30, -1, -2, -(2**31)]
BYTES = [b"", b"\0", b"a", b"ab", b"\xff\x80", b"aba", "é😀".encode()]
PARTS = [-3, -2, -1, 1, 2, 3, 2**31 - 1, -(2**31)]

SHAPES: dict[tuple[Type, ...], tuple[list[list[Any]], list[str]]] = {
    (STRING,): (
        [TEXTS],
        "lower lcase upper ucase length char_length character_length len octet_length bit_length trim ltrim "
        "rtrim btrim initcap reverse ascii concat concat_ws".split(),
    ),
    (STRING, STRING): (
        [TEXTS, TEXTS],
        "trim ltrim rtrim btrim concat concat_ws replace startswith endswith contains instr locate position "
        "levenshtein".split(),
    ),
    (STRING, INT): ([TEXTS, NUMBERS], "substring substr left right".split()),
    (STRING, INT, INT): ([TEXTS, NUMBERS, NUMBERS], "substring substr".split()),
    (STRING, STRING, STRING): ([TEXTS, TEXTS, TEXTS], "replace translate concat concat_ws".split()),
    (STRING, STRING, INT): ([TEXTS, TEXTS, NUMBERS], "locate substring_index".split()),
    (BINARY,): ([BYTES], "length octet_length bit_length reverse concat".split()),
    (BINARY, BINARY): ([BYTES, BYTES], "concat startswith endswith contains".split()),
    (BINARY, INT): ([BYTES, NUMBERS], "substring left".split()),
    (BINARY, INT, INT): ([BYTES, NUMBERS, NUMBERS], ["substring"]),
    (BIGINT,): ([[*range(-3, 600), 2**63 - 1, -(2**63)]], ["chr", "char"]),
}
# Arguments that Spark would raise on, or need gigabytes for, are left out of these.
BOUNDED: dict[tuple[Type, ...], tuple[list[list[Any]], list[str]]] = {
    (STRING, INT): ([TEXTS, SMALL], "repeat lpad rpad".split()),
    (STRING, INT, STRING): ([TEXTS, SMALL, TEXTS], "lpad rpad".split()),
    (STRING, STRING, INT): ([TEXTS, TEXTS, PARTS], ["split_part"]),
    (BINARY, INT): ([BYTES, SMALL], "lpad rpad".split()),
    (BINARY, INT, BINARY): ([BYTES, SMALL, BYTES], "lpad rpad".split()),
}
CASES = [*SHAPES.items(), *BOUNDED.items()]
ARROW = {STRING: pa.string(), BINARY: pa.binary(), INT: pa.int32(), BIGINT: pa.int64()}


@pytest.mark.parametrize(
    ("types", "case"), CASES, ids=[f"{' '.join(map(str, types))}-{names[0]}" for types, (_, names) in CASES]
)
def test_all_combinations_of_awkward_arguments_and_null(
    spark: SparkSession, types: tuple[Type, ...], case: tuple[list[list[Any]], list[str]]
) -> None:
    pools, names = case
    rows = list(itertools.product(*([*pool, None] for pool in pools)))
    random.Random(0).shuffle(rows)
    rows = rows[:6000]
    lists = list(zip(*rows, strict=True))
    fields = [f"a{place}" for place in range(len(types))]
    table = pa.table(
        {name: pa.array(each, ARROW[type_]) for name, each, type_ in zip(fields, lists, types, strict=True)}
    )
    expressions = [f"{name}({', '.join(fields)}) AS r{place}" for place, name in enumerate(names)]
    found = spark.createDataFrame(table).selectExpr(*expressions).toArrow().to_pydict()
    columns = [column_of(type_, each) for type_, each in zip(types, lists, strict=True)]
    for place, name in enumerate(names):
        function = FUNCTIONS[name]
        signature = function.resolve([Argument(type_) for type_ in types], "UTC")
        wanted = found[f"r{place}"]
        scalar = function.scalar(signature)
        results = [scalar(*row) for row in rows]
        triples = zip(rows, results, wanted, strict=True)
        wrong = [(name, row, result, want) for row, result, want in triples if result != want]
        assert wrong == []
        assert function.apply(signature, columns, len(rows)).to_list() == wanted


def test_bounded_edit_distance(spark: SparkSession) -> None:
    rows = list(itertools.product(TEXTS, TEXTS, [-1, 0, 1, 2, 3, 2**31 - 1]))
    frame = spark.createDataFrame(
        pa.table({name: pa.array(each) for name, each in zip("abc", zip(*rows, strict=True), strict=True)})
    )
    wanted = frame.selectExpr("levenshtein(a, b, int(c)) AS r").toArrow().column("r").to_pylist()
    function = FUNCTIONS["levenshtein"]
    scalar = function.scalar(function.resolve([Argument(STRING), Argument(STRING), Argument(INT)], "UTC"))
    assert [scalar(*row) for row in rows] == wanted


def test_case_of_every_letter_and_its_effect_on_sigma(spark: SparkSession) -> None:
    points = [*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)]
    formulas: dict[str, Callable[[str], str]] = {
        "c": lambda c: c,
        "concat('aΣ', c, 'a')": lambda c: f"aΣ{c}a",
        "concat('aΣ', c)": lambda c: f"aΣ{c}",
        "concat(c, 'Σ')": lambda c: f"{c}Σ",
        "concat('a', c, 'Σ é')": lambda c: f"a{c}Σ é",
    }
    mappings = {"lower": letter_case.lower, "upper": letter_case.upper, "initcap": letter_case.title}
    table = pa.table({"c": pa.array([chr(point) for point in points])})
    pairs = [(name, formula) for name in mappings for formula in formulas]
    expressions = [f"{name}({formula}) AS r{place}" for place, (name, formula) in enumerate(pairs)]
    found = spark.createDataFrame(table).selectExpr(*expressions).toArrow()
    for place, (name, formula) in enumerate(pairs):
        wanted = found.column(place).to_pylist()
        results = [mappings[name](formulas[formula](chr(point))) for point in points]
        wrong = [hex(point) for point, one, two in zip(points, results, wanted, strict=True) if one != two]
        assert (name, formula, wrong) == (name, formula, [])


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("trim('x', 'xax')", "a"),
        ("trim(BOTH 'x' FROM 'xax')", "a"),
        ("btrim('xax', 'x')", "a"),
        ("trim(LEADING 'x' FROM 'xax')", "ax"),
        ("ltrim('x', 'xax')", "ax"),
        ("trim(TRAILING 'x' FROM 'xax')", "xa"),
        ("rtrim('x', 'xax')", "xa"),
    ],
)
def test_the_order_of_arguments_of_trims(spark: SparkSession, call: str, value: str) -> None:
    row = spark.sql(f"SELECT {call}").first()
    assert row is not None
    assert row[0] == value
