"""Edit distance, against the definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tamis.values.edit_distance import edit_distance

TEXT = st.text("abé😀", max_size=80)


def by_definition(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for letter in left:
        diagonal, row[0] = row[0], row[0] + 1
        for place, other in enumerate(right, 1):
            best = min(diagonal + (letter != other), row[place] + 1, row[place - 1] + 1)
            diagonal, row[place] = row[place], best
    return row[-1]


@given(TEXT, TEXT)
def test_distance(left: str, right: str) -> None:
    assert edit_distance(left, right) == by_definition(left, right)
