"""Scanned JSON lines are the same batches, dead letters and columns as lines read one by one."""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tamis.events import EventBatch, EventType, validate
from tamis.events.arrow import python_values
from tamis.events.json_columns import JsonSource
from tamis.events.json_objects import scan
from tamis.events.json_scan import BLANK, LEFT, SCANNED
from tamis.events.reading import read_json_lines
from tamis.formulas.expression import Apply, Path
from tamis.frames import BatchFrame
from tamis.functions.registry import Signature
from tamis.values.column import Column
from tamis.values.types import (
    ANY,
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NUMBER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    decimal,
)

NAMES = ("a", "b", "é", "a b", "")
SCALARS = (
    "boolean tinyint smallint int bigint float double decimal(5,2) decimal(18,0) decimal(18,18) decimal(38,10) "
    "string binary date timestamp timestamp_ntz"
).split()
NESTED = ("array<int>", "array<string>", "struct<a:int,b:string,c:struct<a:double>>")
READINGS = (
    NUMBER,
    STRING,
    BOOLEAN,
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    INT,
    BIGINT,
    DOUBLE,
    FLOAT,
    decimal(5, 2),
)


def event_type(type_: str, *, zone: str = "Europe/Paris") -> EventType:
    return EventType.from_dict({"time_zone": zone, "attributes": dict.fromkeys(NAMES[:4], type_)})


TYPES = {type_: event_type(type_) for type_ in (*SCALARS, *NESTED)}


def shown(column: Column) -> tuple[Any, ...]:
    """A column for comparison: NaN equals itself, 0.0 differs from -0.0 and True from 1."""
    values = column.values
    form = (type(values).__name__, getattr(values, "dtype", None) or getattr(values, "type", None))
    return column.type, column.valid.dtype, form, repr(column.to_list())


def paths(type_: EventType) -> Iterator[tuple[str, ...]]:
    for name in NAMES if type_.is_schemaless else NAMES[:4]:
        yield (name,)
    if type_.is_schemaless or type_.type_at(("a", "c")) is not None:
        yield from (("a", "a"), ("b", "c"), ("a", "c", "a"))


def outcome(content: bytes, type_: EventType, *, scanning: bool, **options: Any) -> tuple[Any, ...]:
    """All that a reading gives."""
    reading = read_json_lines(content, type_, _scan=scanning, **options)
    found: list[Any] = []
    for batch in reading:
        assert isinstance(batch.source, JsonSource) == scanning
        found.append((batch.rows, batch.ids.type, repr(batch.ids.to_pylist())))
        for path in paths(type_):
            found.append((path, shown(batch.column(path)), repr(raw_values(batch, path))))
            if type_.is_schemaless:
                found += [(path, each, shown(reading_of(batch, path, each))) for each in READINGS]
        found.append(list(batch.names()))
        found.append(validate(batch))
        found.append(list(reading.dead_letters))
    return found, reading.dead_letters


def raw_values(batch: EventBatch, path: tuple[str, ...]) -> list[Any]:
    values = batch.raw(path)
    return python_values(values) if isinstance(values, pa.Array) else list(values)


def reading_of(batch: EventBatch, path: tuple[str, ...], type_: Type) -> Column:
    expression = Apply("read", (Path(path, ANY),), Signature((ANY,), type_, batch.event_type.time_zone))
    return BatchFrame(batch).column(expression)


def assert_same(content: bytes, type_: EventType, **options: Any) -> None:
    scanned = outcome(content, type_, scanning=True, **options)
    plain = outcome(content, type_, scanning=False, **options)
    assert scanned == plain


# --- generators ----------------------------------------------------------------------------------------------

TOKENS = [
    *(
        "null",
        "true",
        "false",
        "NaN",
        "Infinity",
        "-Infinity",
        "nul",
        "tru",
        "True",
        "-NaN",
        "-",
        "+1",
        ".5",
        "1.",
    ),
    *("0", "-0", "00", "01", "-01", "1", "127", "128", "-128", "-129", "255", "32767", "32768", "2147483647"),
    *("2147483648", "-2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("-9223372036854775809", "999999999999999999", "99999999999999999999", "9" * 40, "-" + "9" * 400, "9" * 5000),
    *(
        "0.0",
        "-0.0",
        "0e5",
        "1e5",
        "1E+5",
        "1e-5",
        "1e",
        "1e+",
        "1.5",
        "-1.25",
        "1.005",
        "123.455",
        "999.995",
        "1e400",
    ),
    *(
        "-1e400",
        "1e-400",
        "4.9e-324",
        "2.5e-324",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "3.4028236e38",
    ),
    *("1e99999999999999999999", "1e-99999999999999999999", "0e99999999999999999999", "16777217", "16777217.0"),
    *("1.00000017881393432617187499", "1.000000178813934326171875", "7.006492321624085e-46", "0.1", "1.1", "0.3"),
    *(
        "9007199254740993",
        "9007199254740993.0",
        "0.000000000000000000000000000000000012345",
        "123456789012345678.9",
    ),
    *(
        "0." + "0" * 400 + "1",
        "0." + "0" * 30 + "1e31",
        "1" * 30 + ".5",
        "12345678901234567890.12345678901234567890",
    ),
    *("9223372036854", "9223372036855", "-9223372036854", "-9223372036855", "9223372036854775", "1767225600"),
    *(
        '""',
        '"a"',
        '"é"',
        '"😀"',
        '"a\\nb"',
        '"\\u00e9"',
        '"\\ud83d\\ude00"',
        '"\\ud83d"',
        '"\\ude00\\ud83d"',
        '"\\x"',
    ),
    *(
        '"\\u12"',
        '"\\u12g4"',
        '"\\"',
        '"\\\\"',
        '"\\/"',
        '"',
        '"a',
        '"a\tb"',
        '"\x7f"',
        '"12"',
        '"1.5"',
        '"1,234.50"',
    ),
    *(
        '"NaN"',
        '"Infinity"',
        '"-INF"',
        '"\\u004eaN"',
        '"true"',
        '"2026-02-28"',
        '"2026-02-30"',
        '"2026-2-3"',
        '" 2026 "',
    ),
    *(
        '"2026-01-01T10:00:00Z"',
        '"2026-01-01 10:00:00.123456"',
        '"2026-03-29 02:30:00"',
        '"10:00"',
        '"YWI="',
        '"YW"',
    ),
    *(
        '"\\u0032026-01-01"',
        "[]",
        "{}",
        "[1]",
        '["a", null]',
        "[1, 2,3 ]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[",
        "]",
        "[[[]]]",
    ),
    *(
        '{"a":1}',
        '{"a":1,"a":2}',
        '{"\\u0061":3}',
        '{"c":{"a":1.5}}',
        '{"c":{"a":1,}}',
        '{"a" 1}',
        "{1:2}",
        "{,}",
        "{",
    ),
    *('{"a":{"b":[{"c":null}]}}', '{"b":"x\\ty","c":[]}', '{"c":{"a":"NaN","b":NaN}}', "{ }", '{"a":"\\ud800"}'),
    *(
        "[" * 59 + "]" * 59,
        "[" * 61 + "]" * 61,
        "[" * 199 + "]" * 199,
        "[" * 201 + "]" * 201,
        "'a'",
        "undefined",
        "",
    ),
]
KEYS = ['"a"', '"b"', '"é"', '"a b"', '""', '"\\u0061"', '"zz"', '"a\\u0062"', '"a', "a", '"\x00"', '"c"']
BLANKS = ["", "", "", " ", "\t", "\r", "  "]
CUTS = b'{}[]",:\\ \t\r\n\x00\x1f\x7f\x80\xc3\xed\xa0\xef\xbb\xbf\xf0\xf4\xff0123456789.eE+-aNuI'


def line(chance: random.Random) -> bytes:
    """A line that is mostly an event."""
    usual = chance.random() < 0.8
    keys, blanks = (KEYS[:5], [""]) if usual else (KEYS, BLANKS)

    def blank() -> str:
        return chance.choice(blanks)

    pairs = [
        blank() + chance.choice(keys) + blank() + ":" + blank() + chance.choice(TOKENS) + blank()
        for _ in range(chance.choice((0, 1, 1, 2, 3, 5)))
    ]
    text = (blank() + "{" + ",".join(pairs) + "}" + blank()).encode()
    kind = chance.random()
    if kind < 0.08:  # mutated
        cut = bytearray(text)
        for _ in range(chance.randint(1, 3)):
            cut[chance.randrange(len(cut))] = chance.choice(CUTS)
        return bytes(cut)
    if kind < 0.12:
        return text[: chance.randrange(len(text) + 1)]
    if kind < 0.14:
        return chance.choice([b"\xef\xbb\xbf", b"x", b" ", b"[", b"{}"]) + text
    if kind < 0.16:
        return chance.choice([b"", b"  ", b"\xef\xbb\xbf", b"\xef\xbb\xbf ", b"null", b"[]", b"1", b'"x"'])
    return text


def content(seed: int, lines: int) -> bytes:
    chance = random.Random(seed)
    ends = [b"\n", b"\n", b"\n", b"\r\n", b"\n\n"]
    return b"".join(line(chance) + chance.choice(ends) for _ in range(lines)) + line(chance)


# --- the same as line by line ---------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", [*TYPES, None])
def test_seeded_lines(type_: str | None) -> None:
    chosen = EventType() if type_ is None else TYPES[type_]
    for seed in range(2):
        assert_same(content(seed, 60), chosen, batch_rows=37)


@pytest.mark.slow
@pytest.mark.parametrize("type_", [*TYPES, None])
def test_many_seeded_lines(type_: str | None) -> None:
    chosen = EventType(time_zone="Asia/Kolkata") if type_ is None else TYPES[type_]
    for seed in range(100, 130):
        assert_same(content(seed, 200), chosen, batch_rows=1 + 7 * (seed % 20))


@pytest.mark.slow
@pytest.mark.parametrize("type_", [*TYPES, None])
def test_every_token_in_every_type(type_: str | None) -> None:
    chosen = EventType() if type_ is None else TYPES[type_]
    lines = [f'{{"a":{token},"b": {token} }}'.encode() for token in TOKENS]
    assert_same(b"\n".join(lines), chosen)
    assert_same(b"\n".join([*lines, b'{"a":1,"b":2}'] * 2), chosen, batch_rows=11)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.integers(-200, 200), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "c", "é\n"]), inner, max_size=3)
    ),
    max_leaves=6,
)
EVENTS = st.lists(st.dictionaries(st.sampled_from([*NAMES, "c", "\n", "\ud800"]), VALUES, max_size=4), max_size=5)


@pytest.mark.slow
@given(
    EVENTS, st.booleans(), st.sampled_from([None, *TYPES]), st.sampled_from([None, (",", ":"), (" ,\t", " :  ")])
)
def test_written_events(events: list[Any], ascii_only: bool, type_: str | None, separators: Any) -> None:
    lines = [json.dumps(event, ensure_ascii=ascii_only, separators=separators) for event in events]
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    assert_same(text, EventType() if type_ is None else TYPES[type_], batch_rows=3)


@pytest.mark.slow
@given(st.lists(st.binary(max_size=12), max_size=6), st.binary(max_size=20), st.sampled_from([None, *SCALARS]))
@example([b'{"a":', b"1}"], b"", None)
def test_bytes_of_any_kind(parts: list[bytes], last: bytes, type_: str | None) -> None:
    chosen = EventType() if type_ is None else TYPES[type_]
    text = b'{"a": 1}\n' + b"\n".join(b'{"a":' + part + b',"b":"' + part + b'"}' for part in parts) + b"\n" + last
    assert_same(text, chosen, batch_rows=3)


@pytest.mark.slow
@given(st.integers(0, 2**64 - 1), st.booleans(), st.integers(-330, 310), st.integers(0, 10**25))
def test_fractions_are_rounded_correctly(bits: int, written: bool, power: int, digits: int) -> None:
    number: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    text = repr(number) if written and math.isfinite(number) else f"{digits}.{bits}e{power}"
    for type_ in (DOUBLE, FLOAT):
        chosen = TYPES[str(type_)]
        assert_same(f'{{"a": {text}}}\n{{"a": -{text}}}'.replace("--", "-").encode(), chosen)
    (batch,) = read_json_lines(f'{{"a": {text}}}'.encode(), TYPES["double"], _scan=True)
    assert repr(batch.column(("a",)).to_list()) == repr([float(text)])


def test_numbers_near_the_bounds_of_the_quick_way() -> None:
    chance = random.Random(5)
    texts = [f"{chance.randint(2**52, 2**56)}e{chance.randint(-24, 24)}" for _ in range(500)]
    texts += [f"{chance.randint(10**15, 10**18) / 10**17}" for _ in range(200)]
    content = "\n".join(f'{{"a": {text}}}' for text in texts).encode()
    (batch,) = read_json_lines(content, TYPES["double"], _scan=True)
    assert batch.column(("a",)).to_list() == [float(text) for text in texts]
    assert_same(content, TYPES["decimal(38,10)"])
    assert_same(content, EventType())


def test_numbers_midway_between_floats_are_rounded_once() -> None:
    chance = random.Random(6)
    texts = []
    for unit in (Fraction(1, 2**150), Fraction(1, 2**149), Fraction(1, 2**24), Fraction(2**104)):
        for _ in range(20):
            midway = (2 * chance.randrange(2**23) + 1) * unit
            with localcontext(prec=400):
                digits = f"{Decimal(midway.numerator) / Decimal(midway.denominator):.200e}"
            number, power = digits.split("e")
            texts += [digits, f"{number}1e{power}", f"{number[:60]}e{power}"]
    assert_same("\n".join(f'{{"a": {text}}}' for text in texts).encode(), TYPES["float"])


def time_text(chance: random.Random) -> str:
    """A text that is mostly a date or a timestamp."""
    year = chance.choice(
        ["2026", "1970", "0000", "1582", "9999", f"{chance.randrange(10_000):04}", "12026", "-2026"]
    )
    month, day = (
        chance.choice(["02", "03", "12", "00", "13", "1"]),
        chance.choice(["01", "28", "29", "31", "00", "3"]),
    )
    parts = [year, "-", month, "-", day]
    if chance.random() < 0.8:
        clock = [
            chance.choice(["00", "02", "23", "24", "9"]),
            chance.choice(["30", "59", "60"]),
            chance.choice(["00", "59"]),
        ]
        parts += [chance.choice("TT  t"), ":".join(clock)]
        parts += [chance.choice(["", "", ".", ".1", ".123456", ".1234567", ".000001", ",5"])]
        parts += [
            chance.choice(
                ["", "", "Z", "z", "+01:00", "-17:59", "+18:00", "+1:00", " UTC", "Europe/Paris", "+01:60"]
            )
        ]
    text = "".join(parts)
    if chance.random() < 0.15:
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice("0a:-T. Z") + text[at + chance.randrange(2) :]
    return text


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["date", "timestamp", "timestamp_ntz", None])
def test_texts_of_times(type_: str | None) -> None:
    chance = random.Random(8)
    content = "\n".join(json.dumps({"a": time_text(chance)}) for _ in range(3_000)).encode()
    for zone in ("UTC", "Europe/Paris", "+05:30"):
        chosen = EventType(time_zone=zone) if type_ is None else event_type(type_, zone=zone)
        readings = (DATE, TIMESTAMP, TIMESTAMP_NTZ) if type_ is None else ()
        columns = []
        for scanning in (True, False):
            (batch,) = read_json_lines(content, chosen, _scan=scanning)
            read = [reading_of(batch, ("a",), each) for each in readings]
            columns.append([each.to_list() for each in read or [batch.column(("a",))]])
        assert columns[0] == columns[1]


@pytest.mark.slow
def test_every_byte_in_every_place() -> None:
    places = [b'{"a": 1, "b": "x%cy"}', b'{"a%c": 1}', b'{"a": 1%c}', b'{"a"%c: 1}', b'{"a": %c1}', b'%c{"a": 1}']
    places += [b'{"a": "\xc3%c"}', b'{"a": "\xe0%c\x80"}', b'{"a": "\xed%c\x80"}', b'{"a": "\xf0%c\x80\x80"}']
    places += [
        b'{"a": "\xf4%c\x80\x80"}',
        b'{"a": "\xef\xbf%c"}',
        b'{"a": "\\%c"}',
        b'{"a": "\\u00%c0"}',
        b'{"a": [1%c2]}',
    ]
    for place in places:
        assert_same(b"\n".join(place.replace(b"%c", bytes([byte])) for byte in range(256)), EventType())


# --- how lines are read ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_lines_too_long_are_set_aside() -> None:
    for size in (1, 98, 99, 100, 101, 102, 2_000, 200_000):
        text = b'{"a": "' + b"x" * (size - 9) + b'"}'
        for ending in (b"", b"\n", b"\r\n", b'\n{"a": 1}', b"\n\n" + text + b"\n" + text):
            assert_same(b'{"a": 0}\n' + text + ending, EventType(), max_line_bytes=100)
            assert_same(text + b"\r" * 150 + ending, EventType(), max_line_bytes=100)


def test_ids_come_from_the_attribute_asked_for() -> None:
    for values in ("1 2 3", '"x" "y" null', '1 "x" 2.5', "null null null", '"\\n" 1 true'):
        text = "\n".join(f'{{"a": {value}}}' for value in values.split()).encode()
        assert_same(text, EventType(), event_id="a")
        assert_same(text, TYPES["int"], event_id="a")


def test_long_inputs_are_scanned_and_short_ones_are_not() -> None:
    (short,) = read_json_lines(b'{"a": 1}\n' * 100)
    long = list(read_json_lines(b'{"a": 1}\n' * 200_000))
    few = next(read_json_lines(b'{"a": 1}\n' * 200_000, batch_rows=10).batches)
    assert not isinstance(short.source, JsonSource)
    assert [len(batch) for batch in long] == [65_536, 65_536, 65_536, 3_392]
    assert all(isinstance(batch.source, JsonSource) for batch in long)
    assert not isinstance(few.source, JsonSource)


def test_unknown_attributes_and_an_empty_batch() -> None:
    assert list(read_json_lines(b"\n\n", _scan=True)) == []
    (batch,) = read_json_lines(b"{}\n{}", _scan=True)
    assert batch.column(("a",)).to_list() == batch.column(("a", "b")).to_list() == [None, None]
    assert list(batch.names()) == []


# --- the scan ---------------------------------------------------------------------------------------------------


def scanned(lines: list[bytes]) -> Any:
    block = np.frombuffer(bytearray(b"".join(lines)), np.uint8)
    ends = np.cumsum([len(each) for each in lines])
    return scan(block, ends - [len(each) for each in lines], ends, len(lines))


def test_what_an_object_turns_out_to_be() -> None:
    lines = [b'{"a":1}', b" ", b"{} ", b"{", b'{"\\u0061":1}', b"[]", b'{"a":[' + b"[" * 60 + b"]" * 60 + b"]}"]
    assert scanned(lines).states.tolist() == [SCANNED, BLANK, SCANNED, LEFT, LEFT, LEFT, LEFT]


def test_many_names_and_many_cells() -> None:
    lines = [json.dumps({f"name {row} {key}": key for key in range(50)}).encode() for row in range(300)]
    wide = json.dumps({f"k{key}": key for key in range(20_000)}).encode()
    result = scanned([*lines, wide, wide])
    assert result.counts.tolist() == [302, 300 * 50 + 40_000, 300 * 50 + 20_000]
    (batch,) = read_json_lines(b"\n".join([*lines, wide]), _scan=True)
    assert reading_of(batch, ("k19999",), NUMBER).to_list() == [*[None] * 300, 19_999]
    assert reading_of(batch, ("name 7 49",), NUMBER).to_list()[7] == 49


def test_names_are_told_apart_by_all_their_bytes() -> None:
    names = [
        "abcdefgh",
        "abcdefgx",
        "abcdefghi",
        "abcdefgxi",
        "xbcdefgh",
        "abcdefghijklmnop",
        "abcdefghijklmnox",
        "a",
        "b",
    ]
    lines = [json.dumps({name: place, names[-1 - place]: "x"}).encode() for place, name in enumerate(names)] * 3
    assert_same(b"\n".join(lines), EventType())
    for name in names:
        (batch,), (plain,) = (read_json_lines(b"\n".join(lines), _scan=way) for way in (True, False))
        assert batch.column((name,)).to_list() == plain.column((name,)).to_list()
