"""Kernels for JSON numbers: exact, or left to Python; compared with Python's own reading of the text."""

from __future__ import annotations

import json
import random
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest

from tamis.arrays import I32, I64, U8
from tamis.events.json_numbers import (
    BEYOND_DOUBLES,
    DONE,
    FALLBACK,
    IS_NULL,
    decimals,
    doubles,
    gather_bytes,
    integers,
    join_as_list,
    take_cells,
)


def spans(texts: list[str]) -> tuple[U8, I64, I32]:
    """The block of all texts, and the start and length of each."""
    lengths = np.array([len(text) for text in texts], np.int32)
    starts = np.cumsum(lengths) - lengths
    return np.frombuffer("".join(texts).encode(), np.uint8), starts.astype(np.int64), lengths


def numbers(count: int) -> list[str]:
    chance = random.Random(count)
    forms = ("{0}", "-{0}", "{0}.{1}", "-{0}.{1}", "{0}e{2}", "{0}.{1}E-{2}", "0.000{1}", "{0}{1}{1}")
    return [
        chance.choice(forms).format(chance.randrange(10**6), chance.randrange(10**7), chance.randrange(30))
        for _ in range(count)
    ]


def test_integers_to_the_ends_of_64_bits() -> None:
    texts = ["0", "-0", "7", "-12", str(2**63 - 1), str(-(2**63))] * 20
    assert integers(*spans(texts)).tolist() == [int(text) for text in texts]


def test_doubles_are_those_of_python_or_left_to_it() -> None:
    texts = [*numbers(500), "0.0", "-0.0", "9007199254740993", "1e400", "1e-400", "123456789012345678901"]
    found, states = doubles(*spans(texts))
    for text, number, state in zip(texts, found.tolist(), states.tolist(), strict=True):
        assert state != IS_NULL
        if state == DONE:
            assert repr(number) == repr(float(text)), text
    by_text = dict(zip(texts, states.tolist(), strict=True))
    assert by_text["9007199254740993"] == FALLBACK
    assert by_text["1e400"] == by_text["1e-400"] == BEYOND_DOUBLES
    assert (states == DONE).mean() > 0.5


@pytest.mark.parametrize(("precision", "scale"), [(8, 2), (18, 0), (5, 5)])
def test_decimals_are_rounded_half_up_or_null_where_they_do_not_fit(precision: int, scale: int) -> None:
    texts = [*numbers(500), "0.005", "-0.005", "0.015", "999999.995"]
    found, states = decimals(*spans(texts), precision, scale)
    for text, unscaled, state in zip(texts, found.tolist(), states.tolist(), strict=True):
        expected = int(Decimal(text).scaleb(scale).to_integral_value(ROUND_HALF_UP))
        if state == DONE:
            assert unscaled == expected, text
        elif state == IS_NULL:
            assert abs(expected) >= 10**precision, text
    assert (states != FALLBACK).mean() > 0.5


def test_bytes_are_gathered_from_the_block_and_from_others() -> None:
    block, others = np.frombuffer(b"abcdef", np.uint8), np.frombuffer(b"XYZ", np.uint8)
    starts, lengths = np.array([2, -1 - 1, 0]), np.array([3, 2, 1], np.int32)
    assert gather_bytes(block, others, starts, lengths, np.array([0, 3, 5, 6], np.int32)).tobytes() == b"cdeYZa"


@pytest.mark.parametrize("texts", [[], ["1"], ["1", '"x"', "[2]", "null"]])
def test_values_are_joined_as_a_list(texts: list[str]) -> None:
    assert json.loads(join_as_list(*spans(texts)).tobytes()) == [json.loads(text) for text in texts]


def test_cells_are_taken_by_place() -> None:
    starts, lengths, kinds = np.arange(5) * 10, np.arange(5, dtype=np.int32), np.arange(5, dtype=np.uint8)
    found = take_cells(np.array([4, 1], np.int32), starts, lengths, kinds)
    assert [each.tolist() for each in found] == [[40, 10], [4, 1], [4, 1]]
