"""Ranks of cuts are those of a plain sort."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.forest.axes import HIGHEST, _least_double, _least_int, scale_of
from tamis.engines.forest.ranking import (
    AT,
    BEHIND,
    BOTH,
    DOUBLE_BEYOND,
    INT_BEYOND,
    NumberCuts,
    TextCuts,
    rank_numbers,
    rank_texts,
    take_texts,
)
from tamis.values.ranges import Key
from tamis.values.types import BINARY, NUMBER

Row = tuple[int, int, bytes]


def text_cuts(rows: list[Row]) -> TextCuts:
    return TextCuts(
        np.array([axis for axis, _, _ in rows], np.int32),
        np.array([side for _, side, _ in rows], np.uint8),
        np.cumsum([0, *(len(text) for _, _, text in rows)]).astype(np.int64),
        np.frombuffer(b"".join(text for _, _, text in rows) + b"\0", np.uint8).copy(),
    )


def ends(side: int, text: bytes) -> list[bytes]:
    return {AT: [text], BEHIND: [text + b"\0"], BOTH: [text, text + b"\0"]}[side]


@pytest.mark.parametrize("seed", range(12))
def test_texts(seed: int) -> None:
    random_ = random.Random(seed)
    axes = random_.choice((1, 2, 5))
    letters = random_.choice((b"\0a", b"ab", b"\0\xff", bytes(range(256))))
    prefix = random_.choice((b"", b"abcdefghij" * 3))

    def text() -> bytes:
        tail = bytes(random_.choice(letters) for _ in range(random_.choice((0, 1, 2, 3, 8, 9, 12))))
        return (prefix if random_.random() < 0.8 else b"") + tail

    batches = [
        [(random_.randrange(axes), random_.choice((AT, BEHIND, BOTH)), text()) for _ in range(count)]
        for count in random_.choice(((0,), (1, 3), (40, 40), (400,), (1500, 0, 700)))
    ]
    places, scales = rank_texts([text_cuts(batch) for batch in batches], axes)
    for axis, scale in enumerate(scales):
        rows = [row for batch in batches for row in batch if row[0] == axis]
        cuts = sorted({end for _, side, one in rows for end in ends(side, one)})
        assert [scale.cut(BINARY, place + 1) for place in range(len(scale))] == cuts
        for batch, found in zip(batches, places, strict=True):
            mine = [(row, place) for row, place in zip(batch, found.tolist(), strict=True) if row[0] == axis]
            assert all(place == cuts.index(ends(side, one)[0]) for (_, side, one), place in mine)


_VALUES = (
    *(0, 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**64, -(2**70), 10**400, 2**62 + 1, 2**62 + 2),
    *(0.5, 2.0**53, 2.0**63, 1e300, -1e300, float("inf"), float("-inf"), 0.1, 1.5),
)


@pytest.mark.parametrize("seed", range(12))
def test_numbers(seed: int) -> None:
    random_ = random.Random(seed)
    axes = random_.choice((1, 3))

    def cut() -> Key:
        kind = random_.random()
        if kind < 0.05:
            return 1, 0, random_.randrange(2)
        close = random_.randrange(2**62, 2**62 + 5000) if kind < 0.3 else random_.random()
        return 0, random_.choice(_VALUES) if kind > 0.6 else close, random_.randrange(2)

    counts = random_.choice(((0,), (3,), (30, 0, 5), (300, 500)))
    batches = [[(random_.randrange(axes), cut()) for _ in range(count)] for count in counts]
    places, scales = rank_numbers([number_cuts(batch) for batch in batches], axes)
    for axis, scale in enumerate(scales):
        expected, known = scale_of(NUMBER, {cut for batch in batches for at, cut in batch if at == axis})
        np.testing.assert_array_equal(scale.ints, expected.ints)  # type: ignore[union-attr]
        np.testing.assert_array_equal(scale.doubles, expected.doubles)  # type: ignore[union-attr]
        for batch, found in zip(batches, places, strict=True):
            mine = [(one, place) for (at, one), place in zip(batch, found.tolist(), strict=True) if at == axis]
            assert all(place == known[one] for one, place in mine)


def number_cuts(rows: list[tuple[int, Key]]) -> NumberCuts:
    ints, doubles = [_least_int(cut) for _, cut in rows], [_least_double(cut) for _, cut in rows]
    beyond = [
        INT_BEYOND * (whole > HIGHEST) + DOUBLE_BEYOND * (double > HIGHEST)
        for whole, double in zip(ints, doubles, strict=True)
    ]
    return NumberCuts(
        np.array([axis for axis, _ in rows], np.int32),
        np.array([min(whole, HIGHEST) for whole in ints], np.int64),
        np.array([min(double, HIGHEST) for double in doubles], np.int64),
        np.array(beyond, np.uint8),
    )


def test_some_texts_of_a_column() -> None:
    offsets, data = np.array([1, 3, 3, 6]), np.frombuffer(b"xabcdez", np.uint8).copy()
    for places, text in (([0, 1, 2], b"abcde"), ([2], b"cde"), ([1], b""), ([2, 0], b"cdeab")):
        taken, found = take_texts(offsets, data, np.array(places))
        assert found.tobytes() == text
        assert np.diff(taken).tolist() == np.diff(offsets)[places].tolist()
