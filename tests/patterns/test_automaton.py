"""The automaton finds in each text the literals that `in` finds."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.arrays import I64
from tamis.patterns import automaton as automaton_module
from tamis.patterns.automaton import END, START, Automaton, build_automaton, scan, sorted_order
from tamis.patterns.texts import PackedTexts, read_only

_BEFORE, _AFTER = bytes([START]), bytes([END])


def _packed(pieces: Sequence[bytes]) -> tuple[np.ndarray, I64]:
    return np.frombuffer(b"".join(pieces), np.uint8).copy(), np.cumsum([0, *map(len, pieces)])


def _automaton(literals: Sequence[bytes], values: Sequence[int] | None = None) -> Automaton:
    return build_automaton(
        *_packed(literals), np.array(range(len(literals)) if values is None else values, np.int64)
    )


def _texts(texts: Sequence[bytes | None]) -> PackedTexts:
    data, offsets = _packed([text or b"" for text in texts])
    return PackedTexts(read_only(data), offsets, np.array([text is not None for text in texts], np.bool_))


def _found(automaton: Automaton, texts: Sequence[bytes | None], most: int = 1 << 30) -> list[tuple[int, int]]:
    keys, after = scan(automaton, _texts(texts), 0, most)
    assert after == len(texts)
    return [(key & 0xFFFFFFFF, key >> 32) for key in keys.tolist()]


def _naive(literals: Sequence[bytes], texts: Sequence[bytes | None]) -> list[tuple[int, int]]:
    return [
        (row, number)
        for row, text in enumerate(texts)
        for number, literal in enumerate(literals)
        if text is not None and literal in _BEFORE + text.translate(None, _BEFORE + _AFTER) + _AFTER
    ]


@pytest.mark.slow
@given(
    literals=st.lists(
        st.tuples(st.booleans(), st.text("abé", min_size=1, max_size=9), st.booleans()), max_size=30
    ),
    texts=st.lists(st.none() | st.text("abéx", max_size=25).map(str.encode), max_size=8),
    dense=st.booleans(),
)
def test_it_finds_what_a_search_for_each_literal_finds(
    literals: list[tuple[bool, str, bool]], texts: list[bytes | None], dense: bool
) -> None:
    pieces = [_BEFORE * start + core.encode() + _AFTER * end for start, core, end in literals]
    with pytest.MonkeyPatch.context() as patch:
        if not dense:  # one row of transitions only, so that small automata go the way of large ones
            patch.setattr(automaton_module, "_ROWS_LEAST", 1)
            patch.setattr(automaton_module, "_ROWS_MOST", 1)
        automaton = _automaton(pieces)
    found = _found(automaton, texts)
    assert sorted(found) == _naive(pieces, texts)
    assert len(set(found)) == len(found)


def test_many_literals_of_all_lengths() -> None:
    random_ = random.Random(3)
    literals = list({"".join(random_.choices("abcd", k=random_.randint(1, 30))).encode() for _ in range(3_000)})
    texts = ["".join(random_.choices("abcd", k=200)).encode() for _ in range(20)]
    texts += [literal + literal for literal in literals[:30]]
    assert sorted(_found(_automaton(literals), texts)) == _naive(literals, texts)


@given(st.lists(st.binary(max_size=30) | st.text("ab\0", max_size=30).map(str.encode), max_size=40))
def test_literals_are_sorted_by_bytes(pieces: list[bytes]) -> None:
    order = sorted_order(*_packed(pieces)).tolist()
    assert sorted(order) == list(range(len(pieces)))
    assert [pieces[place] for place in order] == sorted(pieces)


def test_a_literal_may_be_tied_to_an_end_of_the_text() -> None:
    literals = [b"ab", _BEFORE + b"ab", b"ab" + _AFTER, _BEFORE + b"ab" + _AFTER, _BEFORE + _AFTER]
    texts = [b"xabx", b"abx", b"xab", b"ab", b""]
    assert sorted(_found(_automaton(literals), texts)) == [
        *[(0, 0), (1, 0), (1, 1), (2, 0), (2, 2)],
        *[(3, 0), (3, 1), (3, 2), (3, 3), (4, 4)],
    ]


def test_bytes_that_are_not_utf8_are_not_the_ends_of_a_text() -> None:
    literals = [_BEFORE + b"a", b"a" + _AFTER, _BEFORE + _AFTER]
    assert _found(_automaton(literals), [b"x\xfeax", b"xa\xffx", b"\xfe\xff", b"\xff\xfe\xff"]) == []


def test_a_value_is_reported_once_and_equal_literals_report_all_their_values() -> None:
    automaton = _automaton([b"a", b"b", b"a", b"c"], [7, 7, -2, 7])
    assert sorted(_found(automaton, [b"abcabc", b"c", b""])) == [(0, -2), (0, 7), (1, 7)]


def test_no_literals_find_nothing() -> None:
    assert _found(_automaton([]), [b"a", None, b""]) == []


def test_a_scan_stops_when_it_has_enough_and_goes_on_where_it_stopped() -> None:
    automaton, texts = _automaton([b"a", b"b"]), _texts([b"ab", None, b"ab", b"b", b""])
    first, after_first = scan(automaton, texts, 0, 1)
    assert ((first & 0xFFFFFFFF).tolist(), after_first) == ([0, 0], 1)
    second, after_second = scan(automaton, texts, after_first, 3)
    assert ((second & 0xFFFFFFFF).tolist(), after_second) == ([2, 2, 3], 4)
    third, after_third = scan(automaton, texts, after_second, 1)
    assert (third.tolist(), after_third) == ([], 5)


@pytest.mark.slow
def test_a_million_pairs_of_literals_that_end_with_each_other() -> None:
    literals = [b"a" * length for length in range(1, 1001)]
    found = np.array(_found(_automaton(literals), [b"a" * 1000] * 1000 + [b"b" + b"a" * 500]))
    assert len(found) == 1_000_500
    assert np.bincount(found[:, 0]).tolist() == [1000] * 1000 + [500]
    assert np.bincount(found[:, 1]).tolist() == [1001] * 500 + [1000] * 500


def test_a_value_for_each_of_very_many_equal_literals() -> None:
    found = _found(_automaton([b"a"] * 10_000 + [b"ba"] * 5), [b"a", b"cba"])
    assert len(found) == 20_005


def test_literals_that_use_every_byte_are_refused() -> None:
    with pytest.raises(ValueError, match="every byte"):
        _automaton([bytes(range(256))])
