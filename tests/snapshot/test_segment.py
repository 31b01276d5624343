"""Segments: their names, their files, what is refused."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tamis.errors import SnapshotError
from tamis.snapshot import SnapshotPart, Snapshots
from tamis.snapshot.segment import ARRAYS, HEADER, Segment, make_segment, open_segment
from tests.snapshot.processes import finish, map_and_wait, mapping_of, queue, segment_of, start

DTYPES = ("?", "i1", "<i2", "<i4", "<i8", ">i4", "u1", "<u8", "<f4", "<f8", ">f8", "S5")
META: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def stored(segment: Segment, folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / HEADER).write_bytes(segment.header())
    (folder / ARRAYS).write_bytes(b"".join(segment.content()))
    return folder


@pytest.mark.slow
@given(data=st.data(), meta=st.dictionaries(st.text(), META, max_size=3))
def test_what_is_stored_comes_back(
    data: st.DataObject, meta: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    names = data.draw(st.lists(st.text(), unique=True, max_size=5))
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
    arrays = {name: data.draw(hnp.arrays(data.draw(st.sampled_from(DTYPES)), shapes)) for name in names}
    segment = make_segment(arrays, meta)
    folder = stored(segment, tmp_path_factory.mktemp("segment") / "it")
    found = open_segment(folder, segment.name)
    assert (found.name, found.meta, found.bytes) == (segment.name, meta, segment.bytes)
    assert (folder / ARRAYS).stat().st_size == found.bytes
    assert found.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype.newbyteorder("<")
        assert found.arrays[name].shape == array.shape
        np.testing.assert_array_equal(found.arrays[name], array)


def test_equal_content_has_an_equal_name() -> None:
    first = make_segment({"a": np.arange(3), "b": np.zeros(2)}, {"x": 1, "y": [2]})
    again = make_segment({"b": np.zeros(2), "a": np.arange(6)[::2] // 2}, {"y": (2,), "x": 1})
    assert first.name == again.name


@pytest.mark.parametrize(
    ("arrays", "meta"),
    [
        ({"a": [1, 2, 4]}, {"x": 1}),
        ({"b": [1, 2, 3]}, {"x": 1}),
        ({"a": [[1, 2, 3]]}, {"x": 1}),
        ({"a": np.array([1, 2, 3], np.int32)}, {"x": 1}),
        ({"a": [1, 2, 3]}, {"x": 2}),
        ({"a": [1, 2, 3], "b": []}, {"x": 1}),
    ],
    ids=["value", "name", "shape", "type", "meta", "one more"],
)
def test_other_content_has_another_name(arrays: dict[str, Any], meta: dict[str, Any]) -> None:
    assert make_segment(arrays, meta).name != make_segment({"a": [1, 2, 3]}, {"x": 1}).name


def test_the_name_is_the_checksum_of_the_header() -> None:
    segment = segment_of(1)
    assert segment.name == hashlib.sha256(segment.header()).hexdigest()


def test_arrays_are_aligned_and_cannot_be_written(tmp_path: Path) -> None:
    segment = make_segment({"a": np.arange(3, dtype=np.int8), "b": np.arange(5.0), "c": np.array(7)})
    mapped = open_segment(stored(segment, tmp_path / "s"), segment.name)
    assert [row["offset"] % 64 for row in json.loads(segment.header())["arrays"]] == [0, 0, 0]
    for each in (segment, mapped):
        for array in each.arrays.values():
            assert array.ctypes.data % array.itemsize == 0
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_arrays_are_not_copied() -> None:
    array = np.arange(1_000)
    assert np.shares_memory(make_segment({"a": array}).arrays["a"], array)


@pytest.mark.parametrize("array", [np.array(["a"], object), np.array(["a"]), np.array([1], "M8[s]"), [1j]])
def test_arrays_of_objects_are_refused(array: Any) -> None:
    with pytest.raises(TypeError, match=r"array 'odd': a segment holds numbers"):
        make_segment({"odd": array})


def test_descriptions_that_json_cannot_say_are_refused() -> None:
    with pytest.raises(TypeError):
        make_segment({}, {"x": object()})
    with pytest.raises(ValueError, match="not JSON compliant"):
        make_segment({}, {"x": float("nan")})


@pytest.mark.parametrize("file", [HEADER, ARRAYS])
def test_a_missing_file_is_named(tmp_path: Path, file: str) -> None:
    segment = segment_of(1)
    folder = stored(segment, tmp_path / "s")
    (folder / file).unlink()
    with pytest.raises(SnapshotError) as caught:
        open_segment(folder, segment.name)
    assert (caught.value.kind, caught.value.file) == ("missing", str(folder / file))


@pytest.mark.parametrize("change", [-1, 1, -1_000])
def test_arrays_of_another_length_are_refused(tmp_path: Path, change: int) -> None:
    segment = segment_of(1)
    folder = stored(segment, tmp_path / "s")
    content = (folder / ARRAYS).read_bytes()
    (folder / ARRAYS).write_bytes(content[:change] if change < 0 else content + b"x")
    with pytest.raises(SnapshotError, match=rf"arrays.bin: damaged: \d+ bytes, expected {segment.bytes}"):
        open_segment(folder, segment.name)


@pytest.mark.parametrize(
    ("header", "kind", "message"),
    [
        (b"", "damaged", "not JSON"),
        (b"{", "damaged", "not JSON"),
        (b"\xff\xfe", "damaged", "not JSON"),
        (b"[" * 100_000, "damaged", "not JSON"),
        (b"[]", "foreign", "expected a document of kind 'tamis.segment'"),
        (b'{"kind": "parquet"}', "foreign", "expected a document of kind 'tamis.segment'"),
        (b'{"kind": "tamis.segment", "format": 2}', "newer", "its format is 2, this tamis reads up to 1"),
        (b'{"kind": "tamis.segment", "format": "1"}', "damaged", "the format is '1'"),
        (b'{"kind": "tamis.segment", "format": 1}', "damaged", "its sha256 is"),
    ],
)
def test_headers_that_are_not_ours_are_refused(tmp_path: Path, header: bytes, kind: str, message: str) -> None:
    segment = segment_of(1)
    folder = stored(segment, tmp_path / "s")
    (folder / HEADER).write_bytes(header)
    with pytest.raises(SnapshotError) as caught:
        open_segment(folder, segment.name)
    assert (caught.value.kind, caught.value.file) == (kind, str(folder / HEADER))
    assert message in caught.value.message


@pytest.mark.parametrize(
    "change",
    [
        {"arrays": None},
        {"meta": 1, "arrays": [{"name": "a"}]},
        {"arrays": [{"name": "a", "dtype": "O", "shape": [1], "offset": 0, "sha256": ""}]},
        {"arrays": [{"name": "a", "dtype": "<i4", "shape": [-1], "offset": 0, "sha256": ""}]},
        {"arrays": [{"name": "a", "dtype": "<i4", "shape": [10**9], "offset": 0, "sha256": ""}]},
        {"arrays": [{"name": "a", "dtype": "<i4", "shape": [1], "offset": -64, "sha256": ""}]},
    ],
)
def test_tables_that_lead_astray_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    segment = segment_of(1)
    folder = stored(segment, tmp_path / "s")
    header = json.dumps({**json.loads(segment.header()), **change}).encode()
    (folder / HEADER).write_bytes(header)
    with pytest.raises(SnapshotError) as caught:
        open_segment(folder, hashlib.sha256(header).hexdigest())
    assert caught.value.kind == "foreign"


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="asks Linux which pages are in memory")
def test_opening_reads_no_array(tmp_path: Path) -> None:
    segment = make_segment({"a": np.ones(1 << 20), "b": np.ones(1 << 20)})
    folder = stored(segment, tmp_path / segment.name)
    tracemalloc.start()
    mapped = open_segment(folder, segment.name)
    allocated = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert mapping_of(segment.name)["Rss"] == 0
    assert allocated < 100_000
    assert mapped.arrays["a"][0] == 1
    assert mapping_of(segment.name)["Rss"] > 0


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="asks Linux which pages are shared")
def test_processes_share_the_pages(tmp_path: Path) -> None:
    segment = make_segment({"a": np.ones(1 << 20)})
    Snapshots(tmp_path / "snapshot").publish([SnapshotPart(segment, 1)], parent=None, event_types={"event": {}})
    told, may_end = queue(), queue()
    processes = []
    for _ in range(2):
        processes.append(start(map_and_wait, "local", tmp_path, segment.name, told, may_end, 0))
        total, pages = told.get()
        assert total == 1 << 20
    # The second sees that all of its pages are those of the first.
    assert pages["Rss"] == pages["Shared_Clean"] == 8 << 10
    assert pages["Private_Clean"] == pages["Private_Dirty"] == 0
    for _ in processes:
        may_end.put(None)
    finish(processes)
