"""Literals that many others contain are common, and a pattern is found under its rarest one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.patterns.rarity import WINDOW, Rarity, expected_count, rarest_pieces
from tamis.patterns.texts import pack_texts


def chance(literals: int, literal: bytes) -> float:
    return literals * 64.0 * 16.0 ** -len(literal)


@given(st.lists(st.text("ab", min_size=1, max_size=12).map(str.encode), min_size=1, max_size=20))
def test_short_literals_are_counted_wherever_they_occur(literals: list[bytes]) -> None:
    rarity = Rarity(*pack_texts(literals))
    for literal in literals:
        length = max(1, min(len(literal), WINDOW) // 2 * 2)
        windows = [literal[start : start + length] for start in range(len(literal) - length + 1)]
        counts = [
            sum(other[start:].startswith(window) for other in literals for start in range(len(other)))
            for window in windows
        ]
        data = np.frombuffer(literal, np.uint8)
        found = expected_count(rarity.counts, rarity.literals, data, 0, len(data))
        assert found == pytest.approx(min(len(literals), *counts) + chance(len(literals), literal))


def test_bits_rise_with_rarity() -> None:
    words = [b"common word"] * 900 + [b"rare word"] * 3
    rarity = Rarity(*pack_texts(words))
    assert rarity.bits(b"common word") < 0.1 < rarity.bits(b"rare word") < rarity.bits(b"never seen")
    assert rarity.bits(b" word") == pytest.approx(rarity.bits(b"common word"), abs=0.1), "in all of them"


def test_without_literals_the_length_decides() -> None:
    assert Rarity(*pack_texts([])).bits(b"abc") == 12.0


def chosen(patterns: Sequence[Sequence[bytes]]) -> list[bytes]:
    data, bounds = pack_texts([piece for pattern in patterns for piece in pattern])
    firsts = np.cumsum([0, *map(len, patterns)])
    rarity = Rarity(data, bounds)
    found, ends = rarest_pieces(rarity.counts, rarity.literals, data, bounds, firsts)
    return [found[start:end].tobytes() for start, end in pairwise(ends.tolist())]


def test_the_rarest_piece() -> None:
    common = [[b"a long common prefix", f"word{number:04}".encode()] for number in range(100)]
    *found, none, one = chosen([*common, [], [b"x"]])
    assert (none, one) == (b"", b"x")
    # Counters are found by hash, so one in many words may share the counter of a common window.
    assert sum(word == own for word, (_, own) in zip(found, common, strict=True)) > 95


def test_a_short_piece_is_not_rare_because_it_was_not_counted() -> None:
    assert chosen([[b"q", b"some longer text"]] * 2) == [b"some longer text"] * 2
