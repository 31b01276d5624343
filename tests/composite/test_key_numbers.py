"""Numbers of keys: equal exactly if the texts of the keys are."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import EventType
from tamis.composite import key_numbers
from tamis.composite.key_numbers import KeyNumbers
from tamis.composite.parts import keys_of
from tamis.events.batch import EventBatch

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from((0.0, 1.0, 1.5, -0.0)),
    st.sampled_from(("", "a", "1", "true", "[1]")),
    st.lists(st.integers(0, 1), max_size=2),
)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=8), st.sampled_from([("a",), ("a", "b"), ()]))
def test_numbers_are_equal_where_texts_are(rows: list[tuple[Any, Any]], names: tuple[str, ...]) -> None:
    events = [{"a": a, "b": b} for a, b in rows]
    batch, paths = EventBatch.of(events), tuple((name,) for name in names)
    numbers = KeyNumbers()
    found = numbers.of_rows(batch, paths, np.arange(len(events))).tolist()
    # One at a time, so that the other rows of the batch make no difference.
    assert [numbers.of_rows(EventBatch.of(each), paths, np.zeros(1, np.int64))[0] for each in events] == found
    texts = keys_of(batch, paths)
    assert [number < 0 for number in found] == [text is None for text in texts]
    by_number = numbers.texts()
    for number, text in zip(found, texts, strict=True):
        if text is not None:
            assert by_number[number] == text
            assert numbers.of_texts([text]).tolist() == [number]


@pytest.mark.parametrize("few", [0, 10_000])
def test_texts_of_all_lengths_are_told_apart(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_numbers, "_LEAST_FOR_KERNEL", few)
    words = ["a" * size + end for size in range(20) for end in ("", "b", "\0", "\0\0", "é", "\U0001f600")]
    texts = [*words, *reversed(words)]
    event_type = EventType.of({"name": "e", "attributes": {"a": "string"}})
    numbers = KeyNumbers()
    found = numbers.of_rows(
        EventBatch.of([{"a": each} for each in texts], event_type), (("a",),), np.arange(len(texts))
    )
    known = dict(zip(found.tolist(), texts, strict=True))
    assert [known[number] for number in found.tolist()] == texts
    assert len(known) == len({*words})


def test_columns_of_texts_and_of_numbers_have_keys() -> None:
    event_type = EventType.of({"name": "e", "attributes": {"a": "string", "b": "double"}})
    batch = EventBatch.of([{"a": "x", "b": 1.0}, {"a": "x", "b": 2.0}, {"a": None, "b": 1.0}], event_type)
    numbers, rows = KeyNumbers(), np.arange(3)
    assert numbers.of_rows(batch, (("a",),), rows).tolist() == [0, 0, -1]
    assert numbers.of_rows(batch, (("b",),), rows).tolist() == [1, 2, 1]
    assert numbers.of_rows(batch, (("a",), ("b",)), rows).tolist() == [3, 4, -1]


def test_numbers_that_nobody_keeps_are_forgotten_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_numbers, "_SPARE", 2)
    numbers = KeyNumbers()
    numbers.of_texts(['["a"]', '["b"]', '["c"]'])
    numbers.forget_unused(lambda: [np.array([1])])
    assert numbers.texts() == {1: '["b"]'}
    assert numbers.of_texts(['["a"]', '["b"]', '["a"]']).tolist() == [0, 1, 0]


def test_many_keys_come_and_go_and_keep_their_numbers() -> None:
    numbers = KeyNumbers()
    kept: dict[str, int] = {}
    for turn in range(6):
        names = [f"u{turn * 4_000 + place}" for place in range(9_000)]
        batch = EventBatch.of(
            [{"a": name} for name in names], EventType.of({"name": "e", "attributes": {"a": "string"}})
        )
        found = numbers.of_rows(batch, (("a",),), np.arange(len(names))).tolist()
        assert len({*found}) == len(names)
        assert all(kept.get(name, number) == number for name, number in zip(names, found, strict=True))
        kept = {name: number for name, number in zip(names, found, strict=True) if int(name[1:]) % 2}
        in_use = [np.array([*kept.values()])]
        numbers.forget_unused(partial(list, in_use))


@pytest.mark.parametrize(
    "values", [["a", "b"], [1, -2], [(1, "x"), (1, "y")], ["\u00e9", 'say "a"', "\n"], [(1, "\\")]]
)
def test_kernel_and_plain_code_give_the_same_numbers(values: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("a", "b")[: len(values[0]) if isinstance(values[0], tuple) else 1]
    events = [dict(zip(names, each if isinstance(each, tuple) else (each,), strict=True)) for each in values]
    batch, paths = EventBatch.of(events), tuple((name,) for name in names)
    found = []
    for least in (1, 1000):
        monkeypatch.setattr(key_numbers, "_LEAST_FOR_KERNEL", least)
        numbers = KeyNumbers()
        found.append(numbers.of_rows(batch, paths, np.arange(len(events))).tolist())
        assert numbers.of_rows(batch, paths, np.arange(len(events))).tolist() == found[-1]
        assert [numbers.texts()[each] for each in found[-1]] == keys_of(batch, paths)
    assert found[0] == found[1] == [*range(len(values))]
