"""Files become batches; one bad line never stops the rest."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import EventError
from tamis.events import EventType, read_events
from tamis.events.reading import loose_value, read_csv, read_json_lines, read_parquet

TYPED = EventType.from_dict(
    {
        "attributes": {
            "i": "int",
            "d": "double",
            "c": "decimal(38,10)",
            "b": "boolean",
            "s": "string",
            "day": "date",
            "l": "array<int>",
            "bin": "binary",
        }
    }
)


def values(source: Any, name: str = "a", event_type: Any = None, **options: Any) -> list[Any]:
    reading = read_events(source, event_type, **options)
    return [value for batch in reading for value in batch.column((name,)).to_list()]


def reasons(content: bytes, **options: Any) -> list[tuple[int | None, str]]:
    reading = read_json_lines(content, **options)
    assert sum(len(batch) for batch in reading) == 0
    return [(each.line_number, each.reason) for each in reading.dead_letters]


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (b"1", 1),
        (b"-0", 0),
        (b"9223372036854775808", 2.0**63),
        (b"9" * 10_000, math.inf),
        (b"-" + b"9" * 10_000, -math.inf),
        (b"1e400", math.inf),
        (b"Infinity", math.inf),
        (b'"\\ud800"', "?"),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'["\\udc00", {"x": 99999999999999999999}]', ["?", {"x": 1e20}]),
        (b'1, "a": 2', 2),
        (b"[" * 150 + b"]" * 150, json.loads("[" * 150 + "]" * 150)),
    ],
)
def test_a_json_value_without_a_schema(token: bytes, expected: Any) -> None:
    (found,) = values(b'{"a": ' + token + b"}")
    assert (found, type(found)) == (expected, type(expected))


def test_nan_is_a_number() -> None:
    assert math.isnan(values(b'{"a": NaN}')[0])


def test_decimals_are_exact_from_the_text() -> None:
    line = b'{"c": 1234567890123456789012345678.12345678905}\n{"c": 1e999999999999999999999}\n{"c": 1e-99999}'
    assert values(line, "c", TYPED) == [12345678901234567890123456781234567891, None, 0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": 1', "not JSON: Expecting ',' delimiter at character 7"),
        (b'{"a": 1} x', "not JSON: Extra data at character 9"),
        (b"{'a': 1}", "not JSON: Expecting property name enclosed in double quotes at character 1"),
        (b'{"a": "\xff"}', "not UTF-8: invalid start byte at byte 7"),
        (b'{"a": "\xed\xa0\x80"}', "not UTF-8: invalid continuation byte at byte 7"),
        (b'{"a": "\x01"}', "not JSON: Invalid control character at at character 7"),
        (b"[{}]", "expected a JSON object, found a list"),
        (b"null", "expected a JSON object, found null"),
        (b'"x"', "expected a JSON object, found a string"),
        (b"1", "expected a JSON object, found a number"),
        (b'{"a":' + b"[" * 100_000, "nested more than 200 deep"),
        (b'{"a":' + b"[" * 201 + b"]" * 201 + b"}", "nested more than 200 deep"),
        (b"\x00", "not JSON: Expecting value at character 0"),
    ],
)
def test_a_broken_line_is_a_dead_letter(line: bytes, reason: str) -> None:
    reading = read_json_lines(b'{"a": 1}\n' + line + b'\n{"a": 2}')
    assert [value for batch in reading for value in batch.column(("a",)).to_list()] == [1, 2]
    (dead,) = reading.dead_letters
    assert (dead.kind, dead.line_number, dead.reason, dead.original) == ("malformed", 2, reason, line)


def test_a_line_too_long_is_a_dead_letter_and_is_not_kept() -> None:
    content = b'{"a": 1}\n{"a": "' + b"x" * 5_000 + b'"}\n{"a": 2}\n' + b"y" * 101
    reading = read_json_lines(content, max_line_bytes=100)
    assert [value for batch in reading for value in batch.column(("a",)).to_list()] == [1, 2]
    assert [(each.kind, each.line_number, len(each.original)) for each in reading.dead_letters] == [
        ("oversized", 2, 101),
        ("oversized", 4, 101),
    ]


def test_a_line_of_the_greatest_length_is_read() -> None:
    for ending in (b"", b"\n"):
        reading = read_json_lines(b'{"a": 1}' + ending, max_line_bytes=8)
        assert [len(batch) for batch in reading] == [1]


def test_blank_lines_line_ends_and_byte_order_marks_are_skipped() -> None:
    content = b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \t\n{"a": 2}\n\xef\xbb\xbf{"a": 3}\n\n'
    reading = read_json_lines(content)
    (batch,) = reading
    assert batch.column(("a",)).to_list() == [1, 2, 3]
    assert batch.ids.to_pylist() == [0, 3, 4]
    assert reading.dead_letters == []


def test_files_are_read_a_batch_at_a_time() -> None:
    content = b"".join(b'{"a": %d}\n' % number for number in range(10))
    batches = list(read_events(content, batch_rows=4))
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert [number for batch in batches for number in batch.ids.to_pylist()] == list(range(10))


def test_an_endless_stream_is_read_no_further_than_asked() -> None:
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            line = b'{"a": 1}\n'
            buffer[: len(line)] = line
            return len(line)

    reading = read_events(io.BufferedReader(Endless()), batch_rows=3)
    assert len(next(reading.batches)) == 3


@given(st.binary(max_size=60))
def test_no_bytes_at_all_stop_the_reading(content: bytes) -> None:
    for event_type in (None, TYPED):
        reading = read_json_lines(content + b'\n{"i": 7}', event_type)
        assert [batch.column(("i",)).to_list()[-1] for batch in reading] == [7]
        for batch in read_csv(b"i,s\n" + content, event_type):
            batch.column(("i",))


def test_the_format_follows_the_suffix(tmp_path: Path) -> None:
    for suffix in ("jsonl", "ndjson", "JSON"):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(b'{"a": 1}')
        assert values(path) == values(str(path)) == [1]
    (tmp_path / "a.csv").write_bytes(b"a\n1\n")
    assert values(tmp_path / "a.csv") == [1]
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    assert values(tmp_path / "a.parquet") == [1]
    (tmp_path / "a.txt").write_bytes(b'{"a": 1}')
    assert values(tmp_path / "a.txt", format="json") == [1]


def test_an_unknown_format_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(EventError, match=r"a\.txt: unknown format"):
        read_events(tmp_path / "a.txt")
    with pytest.raises(EventError, match="unknown format xml"):
        read_events(b"", format="xml")


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(EventError, match=f"nowhere.{suffix}"):
        list(read_events(tmp_path / f"nowhere.{suffix}"))


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}\n')))
    assert values("-") == [1]


def test_ids_come_from_the_attribute_asked_for() -> None:
    (batch,) = read_events(b'{"k": "x"}\n{"k": "y"}', event_id="k")
    assert batch.ids.to_pylist() == ["x", "y"]


def test_csv_cells_are_cast_to_the_declared_type() -> None:
    content = (
        b"\xef\xbb\xbfi,d,c,b,s,day,l,bin,more\r\n"
        b'12,1.5,1234567890123456789012345678.12345678905,true,12,2026-1-1,"[1, 2]",ab,x\r\n'
        b"1.5,x,1e2,maybe,,2026-02-30,[1,\n"
        b'3,1e400,-1,FALSE,"a,""b\nc",1970-01-02,[],\n'
        b"4\n"
    )
    (batch,) = read_events(content, TYPED, format="csv")
    assert {name: batch.column((name,)).to_list() for name in ("i", "d", "c", "b", "s", "day", "l", "bin")} == {
        "i": [12, None, 3, 4],
        "d": [1.5, None, math.inf, None],
        "c": [12345678901234567890123456781234567891, 1000000000000, -10000000000, None],
        "b": [True, None, False, None],
        "s": ["12", None, 'a,"b\nc', None],
        "day": [20454, None, 1, None],
        "l": [[1, 2], None, [], None],
        "bin": [b"ab", None, None, None],
    }
    assert batch.ids.to_pylist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("12", 12),
        ("-12", -12),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e2", 100.0),
        ("9" * 10_000, math.inf),
        ("True", True),
        ("false", False),
        ("nan", "nan"),
        ("Infinity", "Infinity"),
        ("1_000", "1_000"),
        (" 1", " 1"),
        ("0x10", "0x10"),
        ("\u0661", "\u0661"),
        ("1e", "1e"),
        ("2026-01-01", "2026-01-01"),
    ],
)
def test_a_csv_cell_without_a_schema_is_what_it_looks_like(cell: str, expected: Any) -> None:
    found = loose_value(cell)
    assert (found, type(found)) == (expected, type(expected))


def test_a_csv_header_that_names_a_column_twice_is_an_error() -> None:
    with pytest.raises(EventError, match="'a' twice"):
        list(read_csv(b"a,b,a\n1,2,3\n"))


def test_a_broken_csv_record_is_a_dead_letter() -> None:
    reading = read_csv(b"a\n1\n" + b"x" * 200_000 + b"\n2\n")
    assert [value for batch in reading for value in batch.column(("a",)).to_list()] == [1, 2]
    assert [(each.line_number, "limit" in each.reason) for each in reading.dead_letters] == [(3, True)]


def test_an_empty_csv_has_no_events() -> None:
    assert list(read_csv(b"")) == list(read_csv(b"a,b\n")) == []


def test_parquet_is_read_in_batches_from_files_streams_and_directories(tmp_path: Path) -> None:
    table = pa.table({"i": pa.array(range(10), pa.int64()), "day": pa.array([1] * 10, pa.date32())})
    pq.write_table(table, tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    for source in (tmp_path / "a.parquet", content, io.BytesIO(content), tmp_path):
        batches = list(read_parquet(source, TYPED, batch_rows=4))
        assert [number for batch in batches for number in batch.ids.to_pylist()] == list(range(10))
        assert [value for batch in batches for value in batch.column(("i",)).to_list()] == list(range(10))
        assert max(len(batch) for batch in batches) == 4
    assert values(content, "day", None, format="parquet") == ["1970-01-02"] * 10


def test_a_broken_parquet_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(EventError, match=r"broken\.parquet"):
        list(read_events(tmp_path / "broken.parquet"))
