"""The kernel of greedy steps does what `KeyState` does, key by key: the same matches, and the same rows stay."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.composite import open_matches
from tamis.composite.open_matches import KEY_BITS, Bounds, OpenMatches, Rows
from tamis.composite.parts import compile_composite

pytestmark = pytest.mark.slow

SECOND = 1_000_000
TEXTS = (
    "a THEN b",
    "a THEN b THEN c",
    "a THEN b AFTER INTERVAL '2' SECOND THEN c",
    "SEQUENCE NON STRICT (a, b, c)",
    "AT_LEAST(2, a)",
    "AT_LEAST(4, a)",
)


def outcome(least: int, text: str, batches: list[list[tuple[int, int, int]]], most: int) -> Any:
    """What batches of key, second and parts give, and what they leave."""
    matches = OpenMatches(Bounds(per_key=most), lambda numbers: {number: {} for number in numbers})
    matches.add(compile_composite(text))
    found, number = [], 0
    with patch.object(open_matches, "LEAST_FOR_KERNEL", least):
        for batch in batches:
            key, second, parts = (np.array(column, np.int64) for column in zip(*batch, strict=True))
            numbers = np.arange(number, number + len(key))
            number += len(key)
            found += matches.apply(Rows.arrived(key, second * SECOND, numbers, parts), int(second.max()) * SECOND)
    held = matches.held
    return found, matches.dropped, held.code.tolist(), held.number.tolist(), held.begun.tolist()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_kernel_is_its_naive_twin(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(TEXTS))
    text = f"{form} WITHIN INTERVAL '6' SECOND BY user{data.draw(st.sampled_from(('', ' FOR ALL')))}"
    most_parts = 1 if form.startswith("AT") else 7
    clock, batches = 0, []
    for size in data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=4)):
        batch = []
        for _ in range(size):
            clock += data.draw(st.sampled_from((0, 0, 1, 2)))
            batch.append((data.draw(st.integers(0, 1)), clock, data.draw(st.integers(1, most_parts))))
        batches.append(batch)
    most = data.draw(st.sampled_from((3, 1000)))
    assert outcome(1, text, batches, most) == outcome(1000, text, batches, most)


def test_a_code_keeps_its_slot_in_what_the_kernel_leaves() -> None:
    found = outcome(1, "a THEN b WITHIN INTERVAL '6' SECOND BY user", [[(3, 0, 1), (3, 1, 1), (3, 2, 2)]], 9)
    assert [each.numbers for each in found[0]] == [[0, 2]]
    assert found[2:] == ([3], [1], [False])
    assert 3 >> KEY_BITS == 0
