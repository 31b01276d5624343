"""Events that come as JSON texts in a column, and what they are called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.events import json_values
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.events.json_columns import JsonSource
from tamis.events.json_scan import scan_kernel
from tamis.events.json_values import read_json_values, rows_of
from tamis.events.reading import read_json_lines
from tamis.kernels import is_compiled

TYPE = EventType.of(
    {
        "name": "e",
        "attributes": {"a": "int", "s": {"type": "struct", "attributes": {"b": "string"}}, "n": "double"},
    }
)


def values_of(column: pa.Array, event_type: Any = None, **more: Any) -> dict[int, Any]:
    """The value of `a` by row."""
    read = read_json_values(column, event_type, **more)
    return {
        row: value
        for batch in read.batches
        for row, value in zip(rows_of(batch).tolist(), batch.column(("a",)).to_list(), strict=True)
    }


@pytest.mark.parametrize("kind", [pa.binary(), pa.string(), pa.large_binary(), pa.large_string()])
def test_rows_are_those_of_the_column(kind: pa.DataType) -> None:
    texts = ['{"a": 1}', None, "", '{"a":\n 2}', "  ", '{\r\n"a": 3}']
    column = pa.array([None if text is None else text.encode() for text in texts], pa.binary()).cast(kind)
    assert values_of(column, TYPE) == {0: 1, 3: 2, 5: 3}


def test_what_is_no_event_keeps_its_row_and_its_bytes() -> None:
    originals = [b"{", b'{"a": 1}', b'{"a": "x\ny"}', b"\xff\xfe", b'{"a": 1} {}', b'{"a": "' + b"z" * 100 + b'"}']
    read = read_json_values(pa.array(originals), TYPE, most_bytes=50)
    assert [(row, each.kind, each.original) for row, each in read.dead_letters] == [
        (row, "oversized" if row == 5 else "malformed", originals[row]) for row in (0, 2, 3, 4, 5)
    ]
    assert read.dead_letters[-1][1].reason == "the event is longer than 50 bytes"
    assert [rows_of(batch).tolist() for batch in read.batches] == [[1]]


@pytest.mark.parametrize("rows", [0, 1, 5_000])
def test_many_rows_are_scanned_and_few_are_not(rows: int) -> None:
    texts = [json.dumps({"a": row, "text": "x" * 300}) for row in range(rows)]
    assert values_of(pa.array(texts, pa.string()), TYPE) == {row: row for row in range(rows)}


def test_a_slice_of_a_column() -> None:
    column = pa.array([b'{"a": 0}', b'{"a": 1}', None, b'{"a": 3}']).slice(1)
    assert values_of(column, TYPE) == {0: 1, 2: 3}


# --- the two ways give the same ---------------------------------------------------------------------------------

KINDS = (pa.binary(), pa.string(), pa.large_binary(), pa.large_string())
ODD_TEXTS = (
    *(b"", b" ", b"\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf \t", b"null", b"[1]", b"{", b"{}", b"}", b'{"a": 1} {}'),
    *(b'\xef\xbb\xbf{"a": 1}', b' \xef\xbb\xbf{"a": 1}', b'{"a":\r\n 2}\r\n', b'\n{"a"\n:3\n}', b'{"a": "x\ny"}'),
    *(
        b'{"a": 1}\n{"a": 2}',
        b"\xff\xfe",
        b'{"a": "\xff"}',
        b'{"n": "\xed\xa0\x80"}',
        b'{"n": "\\ud800"}',
        b"{'a': 1}",
    ),
    *(b'{"a": 1, "a": 2}', b'{"\\u0061": 7}', b'{"a": 1e400, "n": 1e400}', b'{"a": 9223372036854775808}'),
    *(b'{"s": {"b": "x"}}', b'{"s": {"b": 1}}', b'{"s": [1]}', b'{"a": null, "s": null}', b'{"n": NaN}'),
    *(
        b'{"a": "' + b"z" * 60 + b'"}',
        b" " * 70,
        b'{"s":' + b"[" * 300 + b"]" * 300 + b"}",
        b'{"a": 1}\x00',
        b"\x0b",
    ),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abn"), inner, max_size=3),
    max_leaves=5,
)
TEXTS = (
    st.none()
    | st.sampled_from(ODD_TEXTS)
    | st.dictionaries(st.sampled_from(["a", "s", "n", "x"]), VALUES, max_size=4).map(
        lambda e: json.dumps(e).encode()
    )
    | st.dictionaries(st.sampled_from("asn"), VALUES, max_size=4).map(lambda e: json.dumps(e, indent=1).encode())
    | st.binary(max_size=6)
)


def column_of(kind: pa.DataType, texts: list[bytes | None]) -> pa.Array:
    """A column whose bytes are as they are, also where they are no UTF-8, as in a column of Spark's."""
    is_long = kind in (pa.large_binary(), pa.large_string())
    return pa.array(texts, pa.large_binary() if is_long else pa.binary()).view(kind)


def outcome(column: pa.Array | pa.ChunkedArray, event_type: EventType, **options: Any) -> tuple[Any, ...]:
    """All that reading gives, row by row."""
    read = read_json_values(column, event_type, **options)
    found = {}
    for batch in read.batches:
        columns = [batch.column(path).to_list() for path in (("a",), ("n",), ("s",), ("s", "b"))]
        present = [batch.source.present((name,)).tolist() for name in "asnx"]
        for place, row in enumerate(rows_of(batch).tolist()):
            assert row not in found
            found[row] = repr([each[place] for each in (*columns, *present)])
    return list(found.items()), read.dead_letters


@pytest.mark.slow
@given(st.data())
def test_scanned_and_read_one_by_one_are_the_same(data: st.DataObject) -> None:
    """Events, dead letters with kinds, reasons and original bytes, and rows; slices, nulls and chunks included."""
    kind, event_type = data.draw(st.sampled_from(KINDS)), data.draw(st.sampled_from([TYPE, EventType()]))
    chunks = []
    for texts in data.draw(st.lists(st.lists(TEXTS, max_size=8), min_size=1, max_size=3)):
        before, behind = data.draw(st.lists(TEXTS, max_size=2)), data.draw(st.lists(TEXTS, max_size=2))
        chunks.append(column_of(kind, [*before, *texts, *behind]).slice(len(before), len(texts)))
    column = chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, kind)
    plain = outcome(column, event_type, most_bytes=64, _scan=False)
    assert outcome(column, event_type, most_bytes=64, _scan=True) == plain
    rows = [text for chunk in chunks for text in chunk.cast(pa.large_binary()).to_pylist()]
    assert plain == one_by_one(rows, event_type)


def one_by_one(texts: list[bytes | None], event_type: EventType) -> tuple[Any, ...]:
    """The same, of every text in a column of its own."""
    found, dead = [], []
    for row, text in enumerate(texts):
        events, letters = outcome(pa.array([text], pa.binary()), event_type, most_bytes=64, _scan=False)
        found += [(row, event) for _, event in events]
        dead += [(row, letter) for _, letter in letters]
    return found, dead


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scanned", [True, False])
def test_odd_texts_keep_their_bytes(kind: pa.DataType, scanned: bool) -> None:
    _, dead = outcome(column_of(kind, list(ODD_TEXTS)), TYPE, most_bytes=64, _scan=scanned)
    assert dead == outcome(column_of(pa.binary(), list(ODD_TEXTS)), TYPE, most_bytes=64, _scan=not scanned)[1]
    assert all(letter.original == ODD_TEXTS[row] for row, letter in dead)
    assert {letter.kind.value for _, letter in dead} == {"malformed", "oversized"}


@pytest.mark.parametrize("scanned", [True, False])
def test_bytes_under_a_null_are_no_event(scanned: bool) -> None:
    whole = pa.array([b'{"a": 0}', b'{"a": 1}', b'{"a": 2}'])
    _, offsets, data = whole.buffers()
    column = pa.Array.from_buffers(pa.binary(), 3, [pa.py_buffer(b"\x05"), offsets, data])
    assert column.to_pylist() == [b'{"a": 0}', None, b'{"a": 2}']
    assert values_of(column, TYPE, _scan=scanned) == {0: 0, 2: 2}


@pytest.mark.parametrize(
    "column", [pa.array([], pa.string()), pa.nulls(3, pa.binary()), pa.chunked_array([], pa.binary())]
)
@pytest.mark.parametrize("scanned", [True, False, None])
def test_without_events_there_is_no_batch(column: Any, scanned: bool | None) -> None:
    assert read_json_values(column, TYPE, _scan=scanned) == json_values.JsonValues([], [])


def test_a_column_of_many_bytes_is_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "_BATCH_BYTES", 100)
    texts = [b'{"a": %d}' % row for row in range(60)] + [
        b'{"a": 60, "x": "' + b"x" * 300 + b'"}',
        None,
        b'{"a": 62}',
    ]
    column = pa.chunked_array([pa.array(texts[:3]), pa.array(texts[3:5]), pa.array(texts[5:])])
    for scanned in (True, False):
        read = read_json_values(column, TYPE, _scan=scanned)
        assert [row for batch in read.batches for row in rows_of(batch).tolist()] == [*range(61), 62]
        assert 5 < len(read.batches) < 20
        assert values_of(column, TYPE, _scan=scanned) == {row: row for row in (*range(61), 62)}


# --- when the scan is worth it ----------------------------------------------------------------------------------


def is_scanned(batch: EventBatch) -> bool:
    return isinstance(batch.source, JsonSource)


def test_a_kilobyte_is_scanned_where_the_kernels_are_compiled() -> None:
    list(read_json_lines(b'{"a": 1}\n{"a": 2.5, "t": "2026-01-01"}', _scan=True))
    scanned = [b'{"a": %d, "x": "%b"}' % (row, b"x" * 30) for row in range(40)]
    if not all(map(is_compiled, json_values._KERNELS)):
        pytest.skip("not all kernels are compiled")
    assert [is_scanned(batch) for batch in read_json_values(pa.array(scanned)).batches] == [True]
    assert [is_scanned(batch) for batch in read_json_values(pa.array(scanned[:20])).batches] == [False]
    assert [is_scanned(batch) for batch in read_json_values(pa.array([b"{}"] * 40)).batches] == [False]


def test_a_column_needs_no_kernels_of_its_own() -> None:
    """Arrow's memory is read-only, for which numba would compile everything once more."""
    for batch in read_json_lines(b'{"a": 1}\n{"a": 2}', _scan=True):
        batch.column(("a",))
    before = len(scan_kernel.signatures)  # type: ignore[attr-defined]
    (batch,) = read_json_values(pa.array([b'{"a": 1}', b'{"a": 2}']), _scan=True).batches
    batch.column(("a",))
    assert len(scan_kernel.signatures) == before  # type: ignore[attr-defined]


def test_the_bytes_of_the_column_are_scanned_where_they_are() -> None:
    column = pa.array([b'{"a": 1}', b'{"a": 2}'])
    (batch,) = read_json_values(column, _scan=True).batches
    assert isinstance(batch.source, JsonSource)
    assert batch.source.objects.block.ctypes.data == column.buffers()[2].address


PROGRAM = """
import pyarrow as pa
from tamis import kernels
from tamis.events.json_columns import JsonSource
from tamis.events.json_values import read_json_values
small = pa.array([b'{"a": 1, "b": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}'] * 1000)
(batch,) = read_json_values(small).batches
batch.column(("a",))
print(isinstance(batch.source, JsonSource), kernels.compilations.count)
"""


def test_little_work_compiles_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "TAMIS_KERNELS": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False", "0"]
