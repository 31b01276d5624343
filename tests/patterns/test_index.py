"""An index of patterns answers like `Matches` does, test by test."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path as FilePath

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import PatternError
from tamis.events import EventBatch, EventType
from tamis.formulas.expression import Path
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.frames import BatchFrame
from tamis.functions.like import parse_like
from tamis.language.like_patterns import canonical_like
from tamis.patterns import index as pattern_index_module
from tamis.patterns.index import PatternIndex
from tamis.values.column import Column, column_of
from tamis.values.types import STRING
from tests.patterns.test_literals import random_texts, translated
from tests.syntax.test_regex import CORPUS, TEXTS

Test = tuple[str, str]

_EVENT_TYPE = EventType.from_dict({"name": "t", "attributes": {"a": "string"}})


def _expected(tests: Sequence[Test], column: Column) -> list[tuple[int, int]]:
    """Pairs of a test and a row, as `Matches` has them."""
    attribute = Path(("a",), STRING)
    frame = BatchFrame(EventBatch.of(pa.table({"a": column.values}), _EVENT_TYPE))
    return [
        (number, row)
        for number, (test, pattern) in enumerate(tests)
        for row in np.flatnonzero(MatchesPattern(attribute, test, pattern).mask(frame)).tolist()
    ]


def _found(index: PatternIndex, column: Column) -> list[tuple[int, int]]:
    rows, tests = index.match(column)
    assert rows.dtype == tests.dtype == np.int32
    return list(zip(tests.tolist(), rows.tolist(), strict=True))


def _check(tests: Sequence[Test], texts: Sequence[str | None]) -> PatternIndex:
    index = PatternIndex.build(tests)
    column = column_of(STRING, texts)
    assert _found(index, column) == _expected(tests, column)
    return index


# Letters whose lower case is of another length, the same as another's or depends on its neighbours.
LETTERS = "abAéÉKİΣ\u03c3ς\u212a%_\\😀"
_PIECES = ["%", "_", *"abAéÉKİΣ\u03c3😀\u212a", r"\%", r"\_", r"\\"]
LIKES = st.lists(st.sampled_from(_PIECES), max_size=7).map(
    lambda parts: canonical_like(parse_like("".join(parts)))
)
_REGEXES = st.sampled_from(translated(random.Random(5), 300))
_TESTS = st.lists(
    st.tuples(st.sampled_from(["like", "ilike"]), LIKES) | st.tuples(st.just("rlike"), _REGEXES), max_size=12
)


@pytest.mark.slow
@given(_TESTS, st.lists(st.none() | st.text(LETTERS, max_size=8), max_size=12))
def test_every_test_of_every_text(tests: list[Test], texts: list[str | None]) -> None:
    _check(tests, texts)


@pytest.mark.slow
def test_random_tests_and_texts() -> None:
    random_ = random.Random(17)
    for _ in range(15):
        tests: list[Test] = [("rlike", pattern) for pattern in translated(random_, 20)]
        for _ in range(60):
            pattern = canonical_like(parse_like("".join(random_.choices(_PIECES, k=random_.randint(0, 8)))))
            tests.append((random_.choice(("like", "ilike")), pattern))
        random_.shuffle(tests)
        texts: list[str | None] = [None, "", *random_texts(random_, 40)]
        texts += ["".join(random_.choices(LETTERS, k=random_.randint(1, 12))) for _ in range(40)]
        _check(tests, texts)


@pytest.mark.slow
def test_the_corpus_of_regular_expressions() -> None:
    _check([("rlike", pattern) for pattern in CORPUS], TEXTS)


@pytest.mark.slow
def test_many_regular_expressions_that_ignore_case() -> None:
    patterns = translated(random.Random(23), 1_000, depth=4, form="(?i:{})")
    _check([("rlike", pattern) for pattern in patterns], TEXTS)


@pytest.mark.parametrize(
    "tests",
    [
        [("like", "%a%"), ("like", "%ba%"), ("like", "%aba%"), ("like", "%a"), ("like", "%ba"), ("like", "%aba")],
        [
            ("like", "%"),
            ("like", ""),
            ("like", "_"),
            ("like", "__%"),
            ("like", "%_"),
            ("ilike", "_"),
            ("ilike", "%"),
        ],
        [("like", "a%"), ("like", "aba"), ("like", "a%a"), ("like", "%a%a%"), ("like", "a_a"), ("like", "_b_")],
        [
            ("ilike", "ABA"),
            ("ilike", "aba"),
            ("like", "aba"),
            ("ilike", "ab%"),
            ("ilike", "%A"),
            ("like", "%aba%"),
        ],
        [
            ("ilike", "%ΟΔΟΣ%"),
            ("ilike", "%\u03c3%"),
            ("ilike", "%ς%"),
            ("ilike", "i_"),
            ("ilike", "i%"),
            ("ilike", "İ"),
        ],
        [("rlike", "a"), ("rlike", "b|a"), ("rlike", "(?i)ABA"), ("rlike", "a*"), ("rlike", "a^b"), ("rlike", "")],
        [("rlike", "a.*a"), ("rlike", "^a|b$"), ("rlike", "[ab]{3}"), ("rlike", "(?i)k+"), ("rlike", "[^a]")],
        [("rlike", "(?dm)a$"), ("rlike", "(?dm)$"), ("rlike", "(?:a.?){40}"), ("like", "%a%"), ("rlike", "x{65}")],
        [
            ("rlike", "a"),
            ("like", "%a%"),
            ("ilike", "%a%"),
            ("ilike", "%A%"),
            ("rlike", "[aA]"),
            ("rlike", "(?i)a"),
        ],
    ],
)
def test_patterns_that_overlap(tests: list[Test]) -> None:
    texts = [
        "a",
        "aba",
        "ABA",
        "b",
        "",
        None,
        "ba",
        "xabay",
        "\u212a",
        "k",
        "i\u0307",
        "İ",
        "I",
        "é",
        "aé",
        "a\r\n",
    ]
    _check(tests, [*texts, "ΟΔΟΣ", "οδος x", "\u03c3", "a\nb", "a" * 50, "x" * 65, None])


def test_no_tests_and_no_texts() -> None:
    empty = column_of(STRING, [])
    assert _found(PatternIndex.build([]), column_of(STRING, ["a", None])) == []
    assert _found(PatternIndex.build([("like", "%"), ("rlike", "(?dm)$")]), empty) == []
    assert _found(PatternIndex.build([("like", "%a%"), ("ilike", "_")]), column_of(STRING, [None, None])) == []


def test_a_column_that_is_a_slice() -> None:
    index = PatternIndex.build([("like", "%b%"), ("ilike", "%É"), ("rlike", "a.+"), ("rlike", "(?dm)a$")])
    values = pa.array(["b", None, "abé", "É", "xa", "ab"])[1:5]
    column = Column(STRING, values, np.asarray(values.is_valid()))
    assert _found(index, column) == [(0, 1), (1, 1), (1, 2), (2, 1), (3, 3)]


def test_rows_that_are_masked_match_nothing() -> None:
    index = PatternIndex.build([("like", "%"), ("ilike", "%é%"), ("rlike", "(?dm)$"), ("rlike", "[a-z]?")])
    column = column_of(STRING, ["é", "é"]).where(np.array([False, True]))
    assert _found(index, column) == [(0, 1), (1, 1), (2, 1), (3, 1)]


@pytest.mark.parametrize("test", ["like", "ilike"])
def test_a_malformed_pattern_is_refused(test: str) -> None:
    with pytest.raises(PatternError, match="nothing follows"):
        PatternIndex.build([("like", "%a%"), (test, "%a\\")])


def test_arrays_that_are_saved_and_mapped_are_the_index(tmp_path: FilePath) -> None:
    tests = [
        ("like", "%ab%"),
        ("ilike", "%É_"),
        ("rlike", "a.*b"),
        ("rlike", "(?dm)b$"),
        ("like", "_"),
        ("rlike", ""),
    ]
    column = column_of(STRING, ["ab", "éx", None, "a b", "b\n", "", "É😀"])
    built = PatternIndex.build(tests)
    mapped = {}
    for name, array in built.arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
        mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r" if array.size else None)
    opened = PatternIndex.from_arrays(mapped)
    assert _found(opened, column) == _found(built, column) == _expected(tests, column)
    assert opened.nbytes == built.nbytes == sum(array.nbytes for array in mapped.values())
    assert all(not array.flags.writeable for array in opened.arrays().values())
    assert np.shares_memory(opened.arrays()["plain.nodes"], mapped["plain.nodes"])


@pytest.mark.slow
def test_a_million_pairs() -> None:
    tests = [("like", f"%{'a' * length}%") for length in range(1, 1001)]
    rows, numbers = PatternIndex.build(tests).match(column_of(STRING, ["a" * 1000] * 1000))
    assert len(rows) == 1_000_000
    assert np.array_equal(rows, np.tile(np.arange(1000), 1000))
    assert np.array_equal(numbers, np.repeat(np.arange(1000), 1000))


def test_pairs_are_settled_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_index_module, "_MOST_PAIRS", 3)
    tests = [
        ("like", "%a_%"),
        ("like", "%a%"),
        ("like", "_"),
        ("ilike", "__"),
        ("rlike", "a.b"),
        ("rlike", "(?dm)a$"),
    ]
    _check(tests, ["a", "ab", None, "axb", "b", "", "aa", "ba"])


def test_many_tests_share_a_literal() -> None:
    tests = [("like", f"%ab%{letter}{other}%") for letter in "abcdefgh" for other in "abcdefgh"]
    _check(
        [*tests, *(("rlike", f"ab.*{letter}+") for letter in "abcdefgh")], ["abc", "abcd", "ab gh", "x", "abba"]
    )
