"""What is said to be required of a text occurs in every text that matches; if it is exact, in no other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import PatternError
from tamis.functions.like import compile_like
from tamis.patterns.automaton import END, START
from tamis.patterns.literals import (
    EXACT,
    MALFORMED,
    NEEDED,
    UNKNOWN,
    Required,
    like_pieces,
    plain_literal,
    plain_runs,
    regex_literals,
)
from tamis.syntax.regex import parse_regex, translate
from tamis.values.letter_case import lower
from tests.syntax.test_regex import CORPUS, TEXTS, found_by_pyarrow

_BEFORE, _AFTER = bytes([START]), bytes([END])

LETTERS = "abAkKéΣ\u03c3 \n\r😀"


def random_regex(random_: random.Random, depth: int) -> str:
    """A Java pattern; some are refused."""
    if depth == 0 or random_.random() < 0.2:
        classes = ("[ab]", "[^a]", "[0-9]", "[a-f]", r"\d", r"\s", r"\W", ".", "[kK]", r"[Σa]")
        edges = ("^", "$", r"\A", r"\z", r"\Z")
        pools: list[Sequence[str]] = [LETTERS, ("ab", "abc", "bak", "Ka"), classes, edges]
        return random_.choice(random_.choices(pools, (5, 5, 2, 1))[0])
    parts = [random_regex(random_, depth - 1) for _ in range(random_.randint(1, 3))]
    kind = random_.random()
    if kind < 0.4:
        return "".join(parts)
    if kind < 0.6:
        return f"({'|'.join(parts)})"
    if kind < 0.7:
        return f"(?{random_.choice('idsm')}:{''.join(parts)})"
    quantifier = random_.choice(("*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "{20}"))
    return f"(?:{''.join(parts)}){quantifier}"


def translated(random_: random.Random, count: int, depth: int = 3, form: str = "{}") -> list[str]:
    """Random patterns of a form that are not refused."""
    patterns: list[str] = []
    while len(patterns) < count:
        pattern = form.format(random_regex(random_, depth))
        try:
            translate(pattern)
        except PatternError:
            continue
        patterns.append(pattern)
    return patterns


def random_texts(random_: random.Random, count: int) -> list[str]:
    return ["".join(random_.choices(LETTERS + "xb7", k=random_.randint(0, 12))) for _ in range(count)]


def _occurs(required: Required, text: str) -> bool:
    if required.literals is None:
        return True
    whole = _BEFORE + (lower(text) if required.folded else text).encode() + _AFTER
    return any(literal in whole for literal in required.literals)


def _check_regex(pattern: str, texts: Sequence[str]) -> Required:
    required = regex_literals(parse_regex(pattern))
    for text, found in zip(texts, found_by_pyarrow(translate(pattern), texts), strict=True):
        occurs = _occurs(required, text)
        assert (occurs == found) if required.exact else (occurs or not found), (pattern, text, required)
    return required


@pytest.mark.parametrize(
    ("pattern", "pieces", "role"),
    [
        ("%ab%", [b"ab"], EXACT),
        ("%ab", [b"ab" + _AFTER], EXACT),
        ("ab%", [_BEFORE + b"ab"], EXACT),
        ("ab", [_BEFORE + b"ab" + _AFTER], EXACT),
        ("", [_BEFORE + _AFTER], EXACT),
        (r"%\%\_\\%", [b"%_\\"], EXACT),
        ("%a%bcd%e%", [b"a", b"bcd", b"e"], NEEDED),
        ("a%bcd%", [_BEFORE + b"a", b"bcd"], NEEDED),
        ("%_b", [b"b" + _AFTER], NEEDED),
        ("a_b%", [_BEFORE + b"a", b"b"], NEEDED),
        ("%é_a%", ["é".encode(), b"a"], NEEDED),
        (r"\%_", [_BEFORE + b"%"], NEEDED),
        ("%", [], UNKNOWN),
        ("_", [], UNKNOWN),
        ("%_%_", [], UNKNOWN),
        ("a\\", [], MALFORMED),
        (r"b%\a%", [], MALFORMED),
    ],
)
def test_literals_of_like_patterns(pattern: str, pieces: list[bytes], role: int) -> None:
    data = np.frombuffer(b"%x%" + pattern.encode() + b"%y%", np.uint8)
    length = len(pattern.encode())
    found, bounds, firsts, roles = like_pieces(data, np.array([0, 3, 3 + length, 6 + length]))
    texts = [found[start:end].tobytes() for start, end in pairwise(bounds.tolist())]
    assert [texts[first:last] for first, last in pairwise(firsts.tolist())] == [[b"x"], pieces, [b"y"]]
    assert roles.tolist() == [EXACT, role, EXACT]


@given(
    st.lists(st.sampled_from(["%", "_", "a", "b", "é", r"\%", r"\_", r"\\"]), max_size=7).map("".join),
    st.lists(st.text("abé%_\\", max_size=8), max_size=8),
)
def test_what_a_like_pattern_needs_occurs_where_it_matches(pattern: str, texts: list[str]) -> None:
    matches = compile_like(pattern)
    encoded = pattern.encode()
    data, bounds, _, roles = like_pieces(np.frombuffer(encoded, np.uint8), np.array([0, len(encoded)]))
    assert roles[0] != MALFORMED
    pieces = [data[start:end].tobytes() for start, end in pairwise(bounds.tolist())]
    for text in texts:
        occurs = all(piece in _BEFORE + text.encode() + _AFTER for piece in pieces)
        assert (occurs == matches(text)) if roles[0] == EXACT else (occurs or not matches(text)), text


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        ("foo", Required((b"foo",), exact=True)),
        ("^foo", Required((_BEFORE + b"foo",), exact=True)),
        (r"foo\z", Required((b"foo" + _AFTER,), exact=True)),
        ("colou?r", Required((b"color", b"colour"), exact=True)),
        ("(foo|bar)baz?", Required((b"fooba", b"barba"), exact=True)),
        ("foo.*bars", Required((b"bars",), exact=False)),
        ("fo+bar", Required((b"obar",), exact=False)),
        ("x{3,}y", Required((b"xxxy",), exact=False)),
        ("v[0-9]+", Required((b"v",), exact=False)),
        ("^/api/v[0-9]+/users$", Required((_BEFORE + b"/api/v",), exact=False)),
        ("ab*c|def+", Required((b"a", b"def"), exact=False)),
        ("a.*|b.*", Required((b"a", b"b"), exact=False)),
        ("(?i)ab", Required((b"AB", b"Ab", b"aB", b"ab"), exact=True)),
        ("(?i)Hello, world", Required((b"hello, world",), exact=False, folded=True)),
        ("(?i:hello)SOMETHING ELSE.*", Required((b"hellosomething else",), exact=False, folded=True)),
        ("a?", Required(None, exact=True)),
        ("^", Required(None, exact=True)),
        (r"\A\z", Required((_BEFORE + _AFTER,), exact=True)),
        ("a^b", Required((), exact=True)),
        ("[0-2]+", Required((b"0", b"1", b"2"), exact=False)),
        ("[a-z]+", Required(None, exact=False)),
        (".*", Required(None, exact=False)),
        ("(a|b*)c?", Required(None, exact=False)),
    ],
)
def test_literals_of_regular_expressions(pattern: str, required: Required) -> None:
    assert _check_regex(pattern, TEXTS) == required


def test_the_end_of_a_line_is_a_handful_of_endings() -> None:
    required = _check_regex("foo$", TEXTS)
    assert required.exact
    assert required.literals is not None
    assert len(required.literals) == 7
    assert all(literal.startswith(b"foo") and literal.endswith(_AFTER) for literal in required.literals)


def test_a_capital_sigma_is_not_looked_for_in_lower_case() -> None:
    required = _check_regex("(?i)odysseΣ.*", ["ODYSSEΣ", "odysseΣ", "odysseΣa", "odysseς"])
    assert required == Required((b"odysse",), exact=False, folded=True)


@pytest.mark.slow
def test_the_corpus_of_patterns() -> None:
    found = [_check_regex(pattern, TEXTS) for pattern in CORPUS]
    assert sum(required.exact for required in found) > len(found) / 2
    assert sum(required.literals is None and not required.exact for required in found) < len(found) / 4


@pytest.mark.slow
def test_random_patterns() -> None:
    random_ = random.Random(7)
    found = [_check_regex(pattern, random_texts(random_, 40)) for pattern in translated(random_, 500)]
    assert {required.exact for required in found} == {True, False}
    assert {required.folded for required in found} == {True, False}


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    pattern = "(a|b" * 99 + "c" + ")*" * 99
    assert regex_literals(parse_regex(pattern)) == Required(None, exact=False)


@pytest.mark.parametrize("pattern", ["foo", "a b-c", "é,😀", "a\nb", "#&~", "0"])
def test_a_pattern_without_signs_is_its_own_literal(pattern: str) -> None:
    literal = plain_literal(pattern)
    assert literal is not None
    assert regex_literals(parse_regex(pattern)) == Required((literal,), exact=True)


@pytest.mark.parametrize("pattern", ["", "a.", "a]", "a}", r"\d", "^a", "a|b"])
def test_a_pattern_with_signs_is_not(pattern: str) -> None:
    assert plain_literal(pattern) is None


def test_the_rarest_literals_are_required() -> None:
    node = parse_regex("^often .*(rare|seldom)( often)?[0-9]+")
    assert regex_literals(node).literals == (_BEFORE + b"often ",), "the longest, if nothing is known"
    known = {b"rare": 9.0, b"seldom": 8.0}
    assert regex_literals(node, lambda literal: known.get(literal, 1.0)).literals == (b"rare", b"seldom")


def test_plain_runs() -> None:
    assert plain_runs("^a b .*c( d)?$") == [_BEFORE + b"a b ", b"c", b" d"]
    assert plain_runs("[.]") == []
