"""Quotas keep what a plain loop over the notifications keeps, whatever the order, the cut and the replays."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.notifications import NOTIFICATIONS
from tamis.quotas import KEPT_STATES, Quota, QuotaError, Quotas, first_per_subscription
from tests.sinks.deliveries import START, notifications

Pairs = list[tuple[int, int]]

quotas = st.builds(
    Quota,
    st.none() | st.integers(1, 4),
    st.integers(1, 8).map(lambda seconds: timedelta(seconds=seconds)),
    st.none() | st.integers(1, 5).map(lambda seconds: timedelta(seconds=seconds)),
)
batches = st.lists(
    st.tuples(st.integers(0, 4), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), max_size=15)),
    max_size=10,
)


class Naive:
    """The same rules, one notification at a time."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self.counts: Counter[tuple[int, str]] = Counter()
        self.last: dict[str, datetime] = {}

    def apply(self, when: datetime, table: pa.Table) -> tuple[list[str], dict[str, int]]:
        kept, overflow = [], Counter[str]()
        pairs = set(zip(table["id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))
        window = int(when.timestamp() // self.quota.per.total_seconds())
        for id_, subscription in sorted(pairs):
            is_full = self.quota.matches is not None and self.counts[window, subscription] >= self.quota.matches
            last = self.last.get(subscription)
            is_hot = self.quota.cool_down is not None and last is not None and when - last < self.quota.cool_down
            if is_full or is_hot:
                overflow[subscription] += 1
                continue
            self.counts[window, subscription] += 1
            self.last[subscription] = when
            kept.append(id_)
        return kept, dict(overflow)


def made(steps: Iterable[tuple[int, Pairs]]) -> list[tuple[datetime, pa.Table]]:
    """The time and the notifications of each batch."""
    result, when = [], START
    for later, pairs in steps:
        when += timedelta(seconds=later)
        result.append((when, notifications(pairs, when)))
    return result


@pytest.mark.slow
@settings(max_examples=20)
@given(quotas, batches, st.randoms(use_true_random=False))
def test_it_keeps_what_a_loop_keeps_replays_included(
    quota: Quota, steps: list[tuple[int, Pairs]], chance: random.Random
) -> None:
    naive = Naive(quota)
    with tempfile.TemporaryDirectory() as folder:
        living = Quotas(quota, folder)
        for batch, (when, table) in enumerate(made(steps)):
            expected = naive.apply(when, table)
            for _ in range(chance.randrange(1, 3)):  # a replay comes in another order, often in a new process
                if chance.random() < 0.5:
                    living = Quotas(quota, folder)
                order = list(range(table.num_rows))
                chance.shuffle(order)
                kept, overflow = living.apply("q", batch, when, table.take(pa.array(order, pa.int64())))
                assert (kept["id"].to_pylist(), overflow) == expected


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), max_size=40),
    st.integers(1, 5),
    st.lists(st.integers(0, 3), min_size=40, max_size=40),
)
def test_cutting_in_the_workers_changes_nothing(pairs: Pairs, most: int, tasks: list[int]) -> None:
    table = notifications(pairs, START)
    parts = []
    for task in range(4):
        part = table.filter(pa.array([each == task for each in tasks[: len(pairs)]], pa.bool_()))
        kept, overflow = first_per_subscription(part, most)
        distinct_ids = set(part["id"].to_pylist())
        assert sum(overflow.values()) == len(distinct_ids) - len(set(kept["id"].to_pylist()))
        cut = [name for name, count in Counter(kept["subscription_id"].to_pylist()).items() if name in overflow]
        assert all(Counter(kept["subscription_id"].to_pylist())[name] == most for name in cut)
        parts.append(kept)
    quota = Quota(most, timedelta(seconds=1))
    with tempfile.TemporaryDirectory() as folder:
        expected, _ = Quotas(quota, Path(folder) / "whole").apply("q", 0, START, table)
        found, _ = Quotas(quota, Path(folder) / "cut").apply("q", 0, START, pa.concat_tables(parts))
    assert found["id"].to_pylist() == expected["id"].to_pylist()


def test_cutting_keeps_the_order_and_other_columns() -> None:
    pairs = pa.table(
        {"event_id": list("abcdef"), "subscription_id": list("xyxyxz"), "revision": [1] * 6, "n": range(6)}
    )
    kept, overflow = first_per_subscription(pairs, 2)
    assert overflow == {"x": 1}
    assert kept.column_names == pairs.column_names
    assert kept["n"].to_pylist() == sorted(kept["n"].to_pylist())
    assert set(kept["n"].to_pylist()) > {1, 3, 5}
    assert first_per_subscription(pairs, 3) == (pairs, {})


def test_each_query_has_a_state_of_its_own(tmp_path: Path) -> None:
    quotas = Quotas(Quota(1, timedelta(hours=1)), tmp_path)
    for query in ("q", "q.000000000000", "another"):
        kept, overflow = quotas.apply(query, 0, START, notifications([(1, 1), (2, 1)], START))
        assert kept.num_rows == 1
        assert overflow == {"s1": 1}


def test_few_states_are_kept_and_a_lost_one_is_said(tmp_path: Path) -> None:
    quotas = Quotas(Quota(1, timedelta(hours=1)), tmp_path)
    for batch in range(20):
        quotas.apply("q", batch, START, NOTIFICATIONS.empty_table())
    assert len(list(tmp_path.glob("*.arrow"))) == KEPT_STATES
    with pytest.raises(QuotaError, match=r"no state from before batch 3 of query q; the oldest is .*0015\.arrow"):
        Quotas(Quota(1), tmp_path).apply("q", 3, START, NOTIFICATIONS.empty_table())


def test_what_no_longer_matters_is_not_kept(tmp_path: Path) -> None:
    quotas = Quotas(Quota(5, timedelta(seconds=1), timedelta(seconds=1)), tmp_path)
    quotas.apply("q", 0, START, notifications([(1, n) for n in range(1_000)], START))
    later = START + timedelta(seconds=5)
    quotas.apply("q", 1, later, notifications([(2, 1)], later))
    first, second = sorted(tmp_path.glob("*.arrow"))
    assert pa.ipc.open_file(first.read_bytes()).read_all().num_rows == 1_000
    assert pa.ipc.open_file(second.read_bytes()).read_all()["subscription_id"].to_pylist() == ["s1"]


def test_no_batch_exceeds_most() -> None:
    assert Quota().most is None
    assert Quota(7).most == 7
    assert Quota(7, cool_down=timedelta(seconds=1)).most == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"matches": 0}, "matches must be 1 or more, found 0"),
        ({"per": timedelta(0)}, "per must be longer than nothing, found 0:00:00"),
        ({"cool_down": timedelta(seconds=-1)}, "cool_down must be longer than nothing"),
    ],
)
def test_a_quota_must_make_sense(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(QuotaError, match=f"quota: {problem}"):
        Quota(**arguments)
