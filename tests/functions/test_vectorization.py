"""Vector forms made from scalar forms give the same values with fewer calls."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tamis.functions.registry import Signature
from tamis.functions.vectorization import is_ascii, is_constant, text_vector, value_of
from tamis.values.column import column_of, constant_column
from tamis.values.types import INT, STRING

SIGNATURE = Signature((STRING, INT), STRING)


def counting() -> tuple[list[Any], Any]:
    calls: list[Any] = []

    def repeat(text: str, times: int) -> str | None:
        calls.append((text, times))
        return text * times if times else None

    return calls, repeat


def test_a_varying_text_is_computed_once_per_distinct_value() -> None:
    calls, repeat = counting()
    texts = column_of(STRING, ["a", "b", None, "a", "b"])
    result = text_vector(repeat)(SIGNATURE, [texts, constant_column(INT, 2, 5)])
    assert result.to_list() == ["aa", "bb", None, "aa", "bb"]
    assert calls == [("a", 2), ("b", 2)]


def test_constants_are_computed_once() -> None:
    calls, repeat = counting()
    columns = [constant_column(STRING, "a", 4), constant_column(INT, 0, 4)]
    assert text_vector(repeat)(SIGNATURE, columns).to_list() == [None] * 4
    assert calls == [("a", 0)]


def test_if_several_arguments_vary_every_row_is_computed() -> None:
    calls, repeat = counting()
    columns = [column_of(STRING, ["a", "a", None]), column_of(INT, [1, 2, 3])]
    assert text_vector(repeat)(SIGNATURE, columns).to_list() == ["a", "aa", None]
    assert calls == [("a", 1), ("a", 2)]


def test_a_shortcut_replaces_the_scalar_form_unless_it_declines() -> None:
    calls, repeat = counting()
    columns = [column_of(STRING, ["a", "b", None]), constant_column(INT, 2, 3)]
    shortcut = text_vector(repeat, shortcut=pc.binary_repeat)
    assert shortcut(SIGNATURE, columns).to_list() == ["aa", "bb", None]
    assert calls == []
    assert text_vector(repeat, shortcut=lambda *_: None)(SIGNATURE, columns).to_list() == ["aa", "bb", None]
    assert len(calls) == 2


def test_which_columns_are_constant() -> None:
    assert is_constant(column_of(STRING, ["a", "a"]))
    assert value_of(column_of(INT, [7, 8])) == 7
    assert not is_constant(column_of(STRING, ["a", None]))
    assert not is_constant(column_of(STRING, ["a", "b", "a", "a", "a"]))
    assert not is_constant(column_of(INT, []))
    assert [is_ascii(pa.array(texts)) for texts in (["a", None], ["é"])] == [True, False]
