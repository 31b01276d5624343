"""The LIKE kernel answers like LIKE; that programs answer like RE2 is in `test_positions`."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis.functions.like import compile_like
from tamis.patterns.position_automaton import ProgramWriter
from tamis.patterns.verification import like_holds, run_program
from tamis.syntax.regex import parse_regex
from tests.patterns.test_index import LETTERS, LIKES


@given(LIKES, st.text(LETTERS, max_size=10))
def test_the_like_kernel_is_like(pattern: str, text: str) -> None:
    encoded = pattern.encode()
    signs = np.frombuffer(b"_" + encoded + b"%", np.uint8)
    data = np.frombuffer(b"a%" + text.encode() + b"b", np.uint8)
    holds = like_holds(signs, 1, 1 + len(encoded), data, 2, len(data) - 1)
    assert holds == compile_like(pattern)(text)


@given(st.text("ab", max_size=30), st.lists(st.text("ab_", max_size=3), max_size=6).map("%".join))
def test_the_like_kernel_takes_back_what_it_took(text: str, pattern: str) -> None:
    signs, data = (np.frombuffer(each.encode(), np.uint8) for each in (pattern, text))
    assert like_holds(signs, 0, len(signs), data, 0, len(data)) == compile_like(pattern)(text)


def test_characters_that_are_cut_off_are_read_as_bytes_and_no_further() -> None:
    data = np.frombuffer("aé😀".encode()[:-1], np.uint8)
    writer = ProgramWriter()
    number = writer.add(parse_regex("^..$"))
    assert number is not None
    assert not run_program(writer.programs(), number, data, 0, len(data))
    signs = np.frombuffer(b"____", np.uint8)
    assert like_holds(signs, 0, 3, data, 0, len(data))
    assert not like_holds(signs, 0, 4, data, 0, len(data))
