"""Functions of text, by the values that Spark gives."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tamis.errors import ConditionError
from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.functions.strings import LONGEST
from tamis.values.column import column_of, constant_column
from tamis.values.types import ANY, BIGINT, BINARY, INT, NULL, STRING, Type, array
from tests.functions.values import value


def type_of(value: Any) -> Type:
    return {str: STRING, bytes: BINARY, int: INT, type(None): NULL}[type(value)]


def call(name: str, *values: Any) -> Any:
    """The scalar form, typed by the values."""
    function = FUNCTIONS[name]
    return function.scalar(function.resolve([Argument(type_of(value)) for value in values], "UTC"))(*values)


@pytest.mark.parametrize(
    ("name", "values", "wanted"),
    [
        ("lower", ("AΣ",), "aς"),
        ("upper", ("ßŉ",), "SS\u02bcN"),
        ("initcap", ("sPark sql-is aΣ bΣc",), "Spark Sql-is Aς B\u03c3c"),
        ("length", ("é😀",), 2),
        ("length", (b"\1\2",), 2),
        ("octet_length", ("é😀",), 6),
        ("bit_length", ("é",), 16),
        ("trim", ("\t a ",), "\t a"),
        ("trim", ("xy", "xabyx"), "ab"),
        ("ltrim", ("x", "xab"), "ab"),
        ("rtrim", ("x", "abx"), "ab"),
        ("btrim", ("xabx", "x"), "ab"),
        ("substring", ("abcdef", 0, 3), "abc"),
        ("substring", ("abcdef", -3, 2), "de"),
        ("substring", ("abcdef", -10, 5), "a"),
        ("substring", ("abcdef", 2, -1), ""),
        ("substring", (b"\1\2\3", 2, 1), b"\2"),
        ("left", ("abc", -1), ""),
        ("right", ("abc", 2), "bc"),
        ("right", ("abc", 0), ""),
        ("concat", (), ""),
        ("concat", ("a", "b", "c"), "abc"),
        ("concat", ("a", None), None),
        ("concat", (b"a", b"b"), b"ab"),
        ("||", ("a", "b"), "ab"),
        ("concat_ws", (",", "a", None, "b", ""), "a,b,"),
        ("concat_ws", (None, "a"), None),
        ("concat_ws", (",",), ""),
        ("replace", ("abc", "", "x"), "abc"),
        ("replace", ("aaa", "aa", "b"), "ba"),
        ("replace", ("aab", "a"), "b"),
        ("startswith", ("abc", ""), True),
        ("endswith", ("abc", "bc"), True),
        ("contains", (b"abc", b"x"), False),
        ("instr", ("ábc", "c"), 3),
        ("instr", ("", ""), 1),
        ("locate", ("b", "abcb", 3), 4),
        ("locate", ("b", "abcb", 0), 0),
        ("locate", ("", "abc", 5), 1),
        ("locate", ("b", None, None), 0),
        ("locate", (None, "b", 1), None),
        ("reverse", ("aé😀",), "😀éa"),
        ("repeat", ("ab", -1), ""),
        ("lpad", ("hi", 5, "ab"), "abahi"),
        ("lpad", ("hi", 5, ""), "hi"),
        ("lpad", ("hi", 1), "h"),
        ("lpad", (b"\1", 3), b"\0\0\1"),
        ("rpad", ("hi", 5), "hi   "),
        ("split_part", ("a.b.c", ".", -1), "c"),
        ("split_part", ("a.b.c", ".", 5), ""),
        ("split_part", ("a.b.c", ".", 0), None),
        ("split_part", ("abc", "", 1), "abc"),
        ("translate", ("abc", "aab", "xyz"), "xzc"),
        ("translate", ("AaBbCc", "abc", "1"), "A1BC"),
        ("ascii", ("",), 0),
        ("ascii", ("😀",), 128512),
        ("substring_index", ("www.apache.org", ".", -2), "apache.org"),
        ("substring_index", ("aaaaa", "aa", 3), "aa"),
        ("substring_index", ("abc", "", 1), ""),
        ("levenshtein", ("kitten", "sitting"), 3),
        ("levenshtein", ("kitten", "sitting", 2), -1),
        ("lower", (None,), None),
    ],
)
def test_spark_s_values(name: str, values: tuple[Any, ...], wanted: Any) -> None:
    assert call(name, *values) == wanted


@pytest.mark.parametrize(("code", "wanted"), [(65, "A"), (-1, ""), (256, "\0"), (321, "A"), (200, "È")])
def test_chr_takes_the_low_byte(code: int, wanted: str) -> None:
    assert call("chr", code) == wanted


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("repeat", ("ab", LONGEST)),
        ("lpad", ("a", LONGEST + 1, "b")),
        ("rpad", ("a", 2**31 - 1, "b")),
        ("replace", ("a" * 2000, "a", "b" * 2000)),
        ("concat", ("a" * LONGEST, "b")),
        ("concat_ws", ("b" * LONGEST, "a", "a")),
    ],
)
def test_a_result_of_excessive_length_is_null(name: str, values: tuple[Any, ...]) -> None:
    assert call(name, *values) is None


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("repeat", ("", 2**31 - 1)),
        ("lpad", ("a", 2**31 - 1, "")),
        ("replace", ("a" * (LONGEST + 5), "b", "cc")),
    ],
)
def test_a_result_no_longer_than_its_argument_is_never_null(name: str, values: tuple[Any, ...]) -> None:
    assert call(name, *values) == values[0]


def test_texts_are_binary_only_if_all_of_them_are() -> None:
    resolve = FUNCTIONS["concat"].resolve
    assert resolve([Argument(BINARY), Argument(BINARY)], "UTC").returns == BINARY
    assert resolve([Argument(BINARY), Argument(STRING)], "UTC").parameters == (STRING, STRING)
    assert resolve([Argument(BINARY), Argument(NULL)], "UTC").returns == STRING


@pytest.mark.parametrize("name", ["lower", "length", "concat", "reverse", "trim", "initcap"])
def test_a_schemaless_argument_is_read_as_text(name: str) -> None:
    assert FUNCTIONS[name].resolve([Argument(ANY)], "UTC").parameters == (STRING,)


@pytest.mark.parametrize("name", ["concat_ws", "length"])
def test_arrays_are_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match="expected text, found array<string>"):
        FUNCTIONS[name].resolve([Argument(array(STRING))], "UTC")


def test_arrays_are_joined_and_turned() -> None:
    assert value("concat(array(1), array(2, NULL))") == [1, 2, None]
    assert value("concat(array(1), CAST(NULL AS array<int>))") is None
    assert value("concat_ws('-', array('a', NULL), 'b')") == "a-b"
    assert value("reverse(array(1, 2))") == [2, 1]
    assert value("size(concat(array_repeat(1, 600000), array_repeat(1, 600000)))") is None
    with pytest.raises(ConditionError):
        value("concat(array(1), 'a')")


PLAIN = ["", "a", "Ab c", "  x ", "aaa", "b.c.d", "A", "a"]
EXOTIC = [*PLAIN, "é", "ΑΣ", "😀a", "İx", "a\0b"]
TEXTS = "lower upper initcap length octet_length bit_length trim ltrim rtrim btrim reverse ascii".split()
PAIRS = "trim ltrim rtrim btrim replace startswith endswith contains instr locate concat concat_ws".split()
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    *((name, ()) for name in TEXTS),
    *((name, (part,)) for name in PAIRS for part in ("", "a", "é", "aa", " .", None)),
    *(
        (name, (number,))
        for name in "substring left right repeat lpad rpad".split()
        for number in (-2, 0, 1, 2, 9)
    ),
    *(("substring", (start, size)) for start in (-9, -2, 0, 1, 3) for size in (-1, 0, 2, 2**31 - 1)),
    *(
        (name, (old, new))
        for name in ("replace", "translate")
        for old in ("", "a", "aa")
        for new in ("", "b", "éé")
    ),
    *(
        (name, (".", number))
        for name in ("split_part", "substring_index", "levenshtein")
        for number in (-1, 0, 1, 2)
    ),
    *((name, (5, pad)) for name in ("lpad", "rpad") for pad in ("", "xy")),
]


@pytest.mark.parametrize("texts", [PLAIN, EXOTIC, []], ids=["ascii", "unicode", "no rows"])
@pytest.mark.parametrize(("name", "others"), CALLS)
def test_a_batch_gives_what_the_rows_give(name: str, others: tuple[Any, ...], texts: list[str]) -> None:
    function = FUNCTIONS[name]
    rows: list[str | None] = [*texts, None, *reversed(texts)] if texts else []
    types = [STRING, *(STRING if other is None else type_of(other) for other in others)]
    places = [0, len(others)] if set(types) == {STRING} else [0]
    for place in places:  # the text first, or last
        arguments = [*others[:place], None, *others[place:]]
        signature = function.resolve([Argument(type_) for type_ in types], "UTC")
        columns = [
            column_of(STRING, rows) if at == place else constant_column(types[at], other, len(rows))
            for at, other in enumerate(arguments)
        ]
        scalar = function.scalar(signature)
        wanted = [scalar(*(text if at == place else other for at, other in enumerate(arguments))) for text in rows]
        assert function.apply(signature, columns, len(rows)).to_list() == wanted


@pytest.mark.parametrize(
    ("name", "others"),
    [
        *((name, ()) for name in ("length", "octet_length", "bit_length", "reverse", "concat")),
        *((name, (part,)) for name in ("startswith", "endswith", "contains", "concat") for part in (b"", b"\xff")),
        *((name, (number,)) for name in ("substring", "left", "lpad", "rpad") for number in (-1, 0, 1, 4)),
    ],
)
def test_a_batch_of_binary_values(name: str, others: tuple[Any, ...]) -> None:
    function = FUNCTIONS[name]
    rows = [b"", b"\xff\x80", b"a\0\xff", None, "é".encode()]
    types = [BINARY, *map(type_of, others)]
    signature = function.resolve([Argument(type_) for type_ in types], "UTC")
    columns = [column_of(BINARY, rows), *(constant_column(type_of(each), each, 5) for each in others)]
    scalar = function.scalar(signature)
    assert function.apply(signature, columns, 5).to_list() == [scalar(row, *others) for row in rows]


def test_batches_in_which_everything_varies_and_long_ones() -> None:
    choose = random.Random(3)
    rows = [(choose.choice([*EXOTIC, None]), choose.choice([*EXOTIC, None])) for _ in range(300)]
    rows.append(("a" * LONGEST, "b"))
    for name in ("concat", "contains", "replace", "concat_ws", "locate"):
        function = FUNCTIONS[name]
        signature = function.resolve([Argument(STRING), Argument(STRING)], "UTC")
        columns = [column_of(STRING, each) for each in zip(*rows, strict=True)]
        scalar = function.scalar(signature)
        assert function.apply(signature, columns, len(rows)).to_list() == [scalar(*row) for row in rows]


def test_a_batch_of_numbers_for_chr() -> None:
    function = FUNCTIONS["chr"]
    signature = function.resolve([Argument(BIGINT)], "UTC")
    assert function.apply(signature, [column_of(BIGINT, [65, None, -1])], 3).to_list() == ["A", None, ""]
