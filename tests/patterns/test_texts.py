"""Columns of texts become bytes, and lower case is that of `lower`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tamis.patterns.texts import PackedTexts, in_lower_case, pack_texts, texts_of
from tamis.values.column import Column, column_of
from tamis.values.letter_case import lower
from tamis.values.types import STRING


def _back(texts: PackedTexts) -> list[str | None]:
    return [
        texts.data[start:end].tobytes().decode() if valid else None
        for start, end, valid in zip(texts.offsets[:-1], texts.offsets[1:], texts.valid, strict=True)
    ]


@given(st.lists(st.none() | st.text("aAZzéÉKİΣ\u03c3\u212a😀[@`{", max_size=6), min_size=1, max_size=10))
def test_lower_case_is_that_of_each_text_alone(values: list[str | None]) -> None:
    texts = texts_of(column_of(STRING, values))
    assert _back(texts) == values
    assert _back(in_lower_case(texts)) == [None if value is None else lower(value) for value in values]


def test_a_slice_begins_where_it_begins() -> None:
    values = pa.array(["AB", "ÉC", None, "D", "EF"])[1:4]
    texts = texts_of(Column(STRING, values, np.asarray(values.is_valid())))
    assert _back(texts) == ["ÉC", None, "D"]
    assert _back(in_lower_case(texts)) == ["éc", None, "d"]


def test_texts_are_packed_one_behind_the_other() -> None:
    data, offsets = pack_texts(["é", "", b"ab"])
    assert (data.tobytes(), offsets.tolist()) == ("éab".encode(), [0, 2, 2, 4])
    data, offsets = pack_texts([])
    assert (data.tobytes(), offsets.tolist()) == (b"", [0])
