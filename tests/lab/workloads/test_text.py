from __future__ import annotations

import numpy as np

from tamis.lab.workloads.text import FRACTION_UNIT, NOTHING, Phrases, cents, fractions, integers, render


def naive(code: int, texts: dict[int, str]) -> str:
    if code % 4 == 0:
        return texts[code]
    if code % 4 == 1:
        return str(code // 4)
    digits = {2: 9, 3: 2}[code % 4]
    return f"{code // 4 // 10**digits}.{code // 4 % 10**digits:0{digits}d}"


def test_texts_spell_their_codes() -> None:
    phrases = Phrases()
    words = ["", "a BETWEEN ", " AND ", "é€😀", "'x'"]
    texts = dict(zip(phrases.codes(words).tolist(), words, strict=True))
    rng = np.random.default_rng(5)
    pieces = np.stack(
        [
            phrases.codes(words)[rng.integers(0, len(words), 500)],
            integers(rng.integers(-(10**12), 10**12, 500)),
            integers(rng.integers(-3, 12, 500)),
            fractions(rng.integers(0, FRACTION_UNIT + 1, 500)),
            cents(rng.integers(0, 100_001, 500)),
        ]
    )
    codes = rng.permuted(np.concatenate([pieces, pieces]), axis=0).T
    expected = ["".join(naive(code, texts) for code in row) for row in codes.tolist()]
    assert render(np.ascontiguousarray(codes), phrases.table()).to_pylist() == expected


def test_bounds_of_numbers() -> None:
    codes = np.array(
        [
            integers(np.array([0, -1, 10, 9, 1_000_000])),
            fractions(np.array([0, 1, FRACTION_UNIT - 1, FRACTION_UNIT, 250_000_000])),
            cents(np.array([0, 5, 99, 100, 100_000])),
        ]
    ).T
    assert render(np.ascontiguousarray(codes), Phrases().table()).to_pylist() == [
        "00.0000000000.00",
        "-10.0000000010.05",
        "100.9999999990.99",
        "91.0000000001.00",
        "10000000.2500000001000.00",
    ]


def test_code_zero_is_nothing() -> None:
    assert Phrases().code("") == NOTHING
    assert render(np.zeros((2, 3), np.int64), Phrases().table()).to_pylist() == ["", ""]


def test_no_texts() -> None:
    assert render(np.zeros((0, 3), np.int64), Phrases().table()).to_pylist() == []


def test_a_phrase_has_one_code() -> None:
    phrases = Phrases()
    assert phrases.code("x") == phrases.code("x") != phrases.code("y")
