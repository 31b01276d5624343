"""A program finds what RE2 finds for the same expression."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from tamis.patterns.position_automaton import Programs, ProgramWriter
from tamis.patterns.verification import run_program
from tamis.syntax.regex import parse_regex, translate
from tests.patterns.test_literals import random_texts, translated
from tests.syntax.test_regex import CORPUS, TEXTS, found_by_pyarrow


def _answers(programs: Programs, number: int, texts: Sequence[str]) -> list[bool]:
    encoded = [text.encode() for text in texts]
    data = np.frombuffer(b"<" + b"".join(encoded) + b">", np.uint8)
    bounds = np.cumsum([1, *map(len, encoded)]).tolist()
    return [bool(run_program(programs, number, data, start, end)) for start, end in pairwise(bounds)]


def _compare(patterns: Sequence[str], texts: Sequence[str]) -> int:
    """Compare those that have a program, and say how many."""
    writer = ProgramWriter()
    numbers = [writer.add(parse_regex(pattern)) for pattern in patterns]
    programs = writer.programs()
    for pattern, number in zip(patterns, numbers, strict=True):
        if number is not None:
            assert _answers(programs, number, texts) == found_by_pyarrow(translate(pattern), texts), pattern
    return sum(number is not None for number in numbers)


@pytest.mark.slow
def test_the_corpus_of_patterns() -> None:
    assert _compare(CORPUS, TEXTS) > 0.95 * len(CORPUS)


def test_random_patterns() -> None:
    random_ = random.Random(11)
    patterns = translated(random_, 500)
    assert _compare(patterns, [*random_texts(random_, 60), *random_.sample(TEXTS, 20)]) > 400


@pytest.mark.slow
def test_many_random_patterns() -> None:
    random_ = random.Random(12)
    for _ in range(30):
        assert _compare(translated(random_, 100, depth=4), random_texts(random_, 60)) > 60


@pytest.mark.parametrize(
    "pattern",
    ["x{64}", "a{1,64}", "(?:ab){32}", "[^a]{63}b", "(?:a|b{31}){2}", "(?:.{30}a)*b$", "^a{63}[bc]", r"x{64}\z"],
)
def test_64_positions_are_a_program(pattern: str) -> None:
    texts = ["", "a", "ab" * 32, "x" * 63, "x" * 64, "x" * 65, "é" * 63 + "b", "é" * 62 + "b", "b" * 62, "a" * 64]
    texts += ["a" * 64 + "\r\n", "a" * 64 + "x", "a" * 63 + "c", "xa" + "a" * 62 + "c", "b" * 61 + "a", "b"]
    assert _compare([pattern], texts) == 1


@pytest.mark.parametrize("pattern", ["x{65}", "(?dm)a$", "(?:ab){33}", "a{0,65}"])
def test_more_positions_and_ends_of_lines_have_no_program(pattern: str) -> None:
    writer = ProgramWriter()
    assert writer.add(parse_regex("a")) == 0
    assert writer.add(parse_regex(pattern)) is None
    assert writer.add(parse_regex("b")) == 1
    assert _answers(writer.programs(), 1, ["a", "b"]) == [False, True]


def test_equal_sets_are_kept_once() -> None:
    writer = ProgramWriter()
    for _ in range(3):
        writer.add(parse_regex("[a-zé]x[^\\n]"))
    programs = writer.programs()
    assert len(programs.ascii) == 2
    assert len(programs.codes) == 9


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    assert _compare(["(" * 100 + "a" + ")*" * 100 + "b"], ["aab", "b", "a"]) == 1
