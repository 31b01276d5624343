"""Hashes of many texts are those that `hashlib` gives for each, whichever way they are made."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis import hashing
from tamis.hashing import DIGEST_BYTES, hash_rows
from tamis.kernels import is_compiled

NEVER = 1 << 60
# Blocks have 128 bytes: lengths around the ends of the first five are drawn as often as all others.
lengths = st.integers(0, 600) | st.sampled_from([0, 1, 127, 128, 129, 255, 256, 257, 384, 512, 513, 600])
texts = lengths.flatmap(lambda length: st.binary(min_size=length, max_size=length))


@pytest.fixture(params=[pytest.param("kernel", marks=pytest.mark.slow), "plain"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Hashes are made by the kernel, or by hashlib, for any number of rows."""
    least = 0 if request.param == "kernel" else NEVER
    monkeypatch.setattr(hashing, "_LEAST_COMPILED", least)
    monkeypatch.setattr(hashing, "_LEAST", least)
    way: str = request.param
    return way


def expected(rows: list[bytes]) -> list[bytes]:
    return [blake2b(each, digest_size=DIGEST_BYTES).digest() for each in rows]


def found(rows: pa.Array) -> list[bytes]:
    hashes = hash_rows(rows)
    assert hashes.shape == (len(rows), DIGEST_BYTES)
    assert hashes.dtype == np.uint8
    return [each.tobytes() for each in hashes]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(texts, max_size=12))
def test_hashes_are_those_of_hashlib(way: str, rows: list[bytes]) -> None:
    assert found(pa.array(rows, pa.binary())) == expected(rows)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(texts, max_size=12), st.integers(0, 12), st.integers(0, 12))
def test_a_slice_has_the_hashes_of_its_rows(way: str, rows: list[bytes], start: int, length: int) -> None:
    some = pa.array(rows, pa.binary()).slice(start, length)
    assert found(some) == expected(rows[start : start + length])


def test_every_length_up_to_five_blocks(way: str) -> None:
    rows = [bytes((length + place) % 256 for place in range(length)) for length in range(601)]
    assert found(pa.array(rows, pa.binary())) == expected(rows)


def test_texts_without_a_byte_have_the_hash_of_nothing(way: str) -> None:
    assert found(pa.array([b"", b""], pa.binary())) == expected([b"", b""])
    assert found(pa.array([], pa.binary())) == []


def test_texts_with_long_offsets_are_taken_as_well(way: str) -> None:
    rows = [b"a", b"", b"b" * 300]
    assert found(pa.array(rows, pa.large_binary())) == expected(rows)
    assert found(pa.array(["é", "x"], pa.string()).cast(pa.binary())) == expected(["é".encode(), b"x"])


@pytest.mark.slow
def test_many_rows_with_a_compiled_kernel_are_hashed_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [b"%d" % number for number in range(hashing._LEAST_COMPILED)]
    monkeypatch.setattr(hashing, "_LEAST", 0)
    assert found(pa.array(rows, pa.binary())) == expected(rows)
    monkeypatch.undo()
    assert is_compiled(hashing.__name__)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(hashing, "blake2b", refuse)
    assert found(pa.array(rows, pa.binary())) == expected(rows)
