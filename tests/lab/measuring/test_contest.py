"""Contestants are compared before they are timed, and a pair that differs is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tamis.engines.base import Index, Matches, Stats
from tamis.events.batch import EventBatch
from tamis.formulas.predicates.base import Frame
from tamis.lab.measuring.cases import Case, Data, data_of
from tamis.lab.measuring.contest import Contestant, compare_pairs, contest, enter


class _Forgetful:
    """An index that does not tell of the last pair that it finds."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def match(self, events: EventBatch | Frame) -> Matches:
        rows, slots = self.index.match(events)
        return Matches(rows[:-1], slots[:-1])

    def stats(self) -> Stats:
        return self.index.stats()


@pytest.fixture(scope="module")
def equality() -> Data:
    return data_of(Case("equality", "equality"), 5_000, 64)


@pytest.fixture(scope="module")
def contestants(equality: Data) -> list[Contestant]:
    return [enter(name, equality, 100) for name in ("bitslice", "bitset", "scan")]


def test_contestants_are_compared_before_they_are_timed(contestants: list[Contestant], equality: Data) -> None:
    compared = compare_pairs(contestants, equality, [1, 8, 64])
    assert set(compared) == {"bitset", "scan"}
    assert all(compared.values())


@pytest.mark.parametrize("place", [0, 1])
def test_pairs_that_differ_are_told(contestants: list[Contestant], equality: Data, place: int) -> None:
    wrong = list(contestants)
    wrong[place] = replace(wrong[place], index=_Forgetful(wrong[place].index))
    with pytest.raises(SystemExit, match=r"differ; .* finds, .* does not: event .*the reference says True"):
        compare_pairs(wrong, equality, [64])


def test_scan_gets_some_of_the_subscriptions_and_no_less_of_a_batch_than_it_would_take(
    contestants: list[Contestant],
) -> None:
    scan = contestants[2]
    assert scan.subscriptions == 100
    assert scan.rows(1_024, 0.0) == 1_024  # 5,000 subscriptions leave room for more
    assert replace(scan, most_rows=67).rows(1_024, 0.0) == 67


def test_contestants_take_turns_with_the_same_events(contestants: list[Contestant], equality: Data) -> None:
    runs = contest(contestants[:2], equality, 16, rounds=3, seconds=0.0)
    assert [len(run.microseconds) for run in runs] == [3, 3]
    assert runs[0].rows == 16 and all(run.median > 0 for run in runs)
