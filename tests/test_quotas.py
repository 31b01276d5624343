"""Quotas keep what a plain loop over the notifications keeps, whatever the order, the cut and the replays."""

from __future__ import annotations

import pickle
import random
import tempfile
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import quotas as quotas_module
from tamis.notifications import NOTIFICATIONS, distinct
from tamis.quotas import (
    KEPT_STATES,
    Quota,
    QuotaCut,
    QuotaError,
    Quotas,
    QuotaState,
    by_group,
)
from tests.sinks.deliveries import START, notifications

Pairs = list[tuple[int, int]]

quotas = st.builds(
    Quota,
    st.none() | st.integers(1, 4),
    st.integers(1, 8).map(lambda seconds: timedelta(seconds=seconds)),
    st.none() | st.integers(1, 5).map(lambda seconds: timedelta(seconds=seconds)),
    st.dictionaries(st.sampled_from(["s0", "s1", "other"]), st.none() | st.integers(1, 3)),
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
            most = self.quota.groups.get(subscription.partition("/")[0], self.quota.matches)
            is_full = most is not None and self.counts[window, subscription] >= most
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


def cut_pairs(quota: Quota, *chunks: pa.Table) -> tuple[pa.Table, Counter[str]]:
    """What a task leaves of its pairs, and how many it does not."""
    cut = QuotaCut(quota)
    left = [some for chunk in chunks for some in cut.add(chunk)]
    return pa.concat_tables([chunks[0].slice(0, 0), *left, *cut.finish()]), cut.overflow


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
        kept, overflow = cut_pairs(Quota(most), part)
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


# --- tasks that write --------------------------------------------------------------------------------------------


def spread(table: pa.Table, chance: random.Random, *, by_event: bool = False) -> list[list[pa.Table]]:
    """The rows of a batch in any order, over one to four tasks with one to three chunks each.

    With `by_event` those of an event are in one task.
    """
    order = list(range(table.num_rows))
    chance.shuffle(order)
    shape = [chance.randrange(1, 4) for _ in range(chance.randrange(1, 5))]
    chunks: list[list[list[int]]] = [[[] for _ in range(chunks)] for chunks in shape]
    tasks: dict[str, list[list[int]]] = {}
    for row in order:
        task = tasks.setdefault(table["event_id"][row].as_py(), chance.choice(chunks))
        chance.choice(task if by_event else chance.choice(chunks)).append(row)
    return [[table.take(pa.array(rows, pa.int64())) for rows in task] for task in chunks]


def write_by_tasks(
    state: QuotaState, tasks: list[list[pa.Table]], chance: random.Random
) -> tuple[list[str], Counter[str], Counter[str]]:
    """What tasks write of a batch: the ids; how many of each limited subscription; how many are beyond the quota.

    Tasks cut what they have. What is left of a subscription with a limit comes to one task, which decides.
    """
    written, overflow, ids = Counter[str](), Counter[str](), list[str]()
    by_task: dict[int, list[pa.Table]] = {}
    place: dict[str, int] = {}
    for chunks in tasks:
        copy: QuotaState = pickle.loads(pickle.dumps(state))
        limited = [copy.is_limited(chunk["subscription_id"]) for chunk in chunks]
        for chunk, is_limited in zip(chunks, limited, strict=True):
            ids += chunk.filter(pa.array(~is_limited))["id"].to_pylist()
        some = [chunk.filter(pa.array(each)) for chunk, each in zip(chunks, limited, strict=True)]
        with patch.object(quotas_module, "CUT_ROWS", chance.choice([1, 4, 10, 1_000])):
            left, beyond = cut_pairs(copy.quota, *some)
        overflow.update(beyond)
        for row, name in enumerate(left["subscription_id"].to_pylist()):
            task = place.setdefault(name, chance.randrange(3))
            by_task.setdefault(task, []).append(left.slice(row, 1))
    for rows in by_task.values():
        every = distinct(pa.concat_tables(rows))
        keep, kept, beyond = pickle.loads(pickle.dumps(state)).decide(every["subscription_id"])
        ids += every.filter(pa.array(keep))["id"].to_pylist()
        written.update(kept)
        overflow.update(beyond)
    return sorted({*ids}), written, overflow


@pytest.mark.slow
@settings(max_examples=40)
@given(quotas, batches, st.booleans(), st.randoms(use_true_random=False))
def test_tasks_write_what_a_loop_keeps_however_events_are_spread(
    quota: Quota, steps: list[tuple[int, Pairs]], by_event: bool, chance: random.Random
) -> None:
    naive = Naive(quota)
    with tempfile.TemporaryDirectory() as folder:
        living = Quotas(quota, folder)
        for batch, (when, table) in enumerate(made(steps)):
            kept, beyond = naive.apply(when, table)
            for _ in range(chance.randrange(1, 3)):  # a replay is spread otherwise, often by a new process
                if chance.random() < 0.5:
                    living = Quotas(quota, folder)
                state = living.state("q", batch, when)
                ids, written, overflow = write_by_tasks(state, spread(table, chance, by_event=by_event), chance)
                assert ids == sorted(kept)
                if by_event:
                    assert overflow == beyond
                else:  # what is cut in two tasks is counted in both
                    assert overflow >= Counter(beyond)
                    assert overflow.keys() == beyond.keys()
                nothing, more = living.apply("q", batch, when, NOTIFICATIONS.empty_table(), written)
                assert (nothing.num_rows, more) == (0, {})


@pytest.mark.slow
@settings(max_examples=20)
@given(quotas, batches, st.randoms(use_true_random=False))
def test_tasks_and_the_driver_may_take_turns(
    quota: Quota, steps: list[tuple[int, Pairs]], chance: random.Random
) -> None:
    naive = Naive(quota)
    with tempfile.TemporaryDirectory() as folder:
        living = Quotas(quota, folder)
        for batch, (when, table) in enumerate(made(steps)):
            kept, beyond = naive.apply(when, table)
            if chance.random() < 0.5:  # a sink that only the driver writes to
                found, overflow = living.apply("q", batch, when, table)
                assert (found["id"].to_pylist(), overflow) == (kept, beyond)
            else:
                ids, written, _ = write_by_tasks(living.state("q", batch, when), spread(table, chance), chance)
                assert ids == sorted(kept)
                living.apply("q", batch, when, NOTIFICATIONS.empty_table(), written)


@pytest.mark.slow
@settings(max_examples=20)
@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), max_size=20),
    st.dictionaries(st.sampled_from(["s0", "s1", "s2", "s3"]), st.integers(1, 6)),
)
def test_what_was_written_before_leaves_less(most: int, pairs: Pairs, written: dict[str, int]) -> None:
    written = {name: min(count, most) for name, count in written.items()}
    table = notifications([*dict.fromkeys(pairs)], START)
    asked = Counter(table["subscription_id"].to_pylist())
    with tempfile.TemporaryDirectory() as folder:
        quotas = Quotas(Quota(most, timedelta(hours=1)), folder)
        kept, overflow = quotas.apply("q", 0, START, table, written)
        counts = Counter(kept["subscription_id"].to_pylist())
        for name in {*asked, *written}:
            assert counts[name] == min(asked[name], most - written.get(name, 0))
            assert counts[name] + overflow.get(name, 0) == asked[name]
        rest, _ = quotas.apply("q", 1, START, named(*["s0"] * 9, *["s3"] * 9))
        left = Counter(rest["subscription_id"].to_pylist())
        for name in ("s0", "s3"):
            assert left[name] == most - counts[name] - written.get(name, 0)


def test_a_subscription_that_was_only_written_by_tasks_cools_down(tmp_path: Path) -> None:
    quotas = Quotas(Quota(cool_down=timedelta(seconds=10)), tmp_path)
    quotas.apply("q", 0, START, NOTIFICATIONS.empty_table(), {"s1": 1})
    soon, later = START + timedelta(seconds=9), START + timedelta(seconds=10)
    assert quotas.apply("q", 1, soon, notifications([(1, 1), (1, 2)], soon))[1] == {"s1": 1}
    assert quotas.apply("q", 2, later, notifications([(2, 1)], later))[1] == {}


def test_a_state_says_which_subscriptions_have_a_limit(tmp_path: Path) -> None:
    names = pa.chunked_array([["t/a", "u/a"], ["t/b"]])
    state = Quotas(Quota(groups={"t": 2}), tmp_path).state("q", 0, START)
    assert state.is_limited(names).tolist() == [True, False, True]
    cool = Quotas(Quota(cool_down=timedelta(seconds=1)), tmp_path).state("q", 0, START)
    assert cool.is_limited(names).tolist() == [True, True, True]


def test_cutting_keeps_the_order_and_other_columns() -> None:
    pairs = pa.table(
        {"event_id": list("abcdef"), "subscription_id": list("xyxyxz"), "revision": [1] * 6, "n": range(6)}
    )
    kept, overflow = cut_pairs(Quota(2), pairs)
    assert overflow == {"x": 1}
    assert kept.column_names == pairs.column_names
    assert kept["n"].to_pylist() == sorted(kept["n"].to_pylist())
    assert set(kept["n"].to_pylist()) > {1, 3, 5}
    assert cut_pairs(Quota(3), pairs) == (pairs, {})


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
    names = pa.array(["s"])
    assert Quota().most(names)[0] > 10**18
    assert Quota(7).most(names)[0] == 7
    assert Quota(7, cool_down=timedelta(seconds=1)).most(names)[0] == 1


# --- groups ------------------------------------------------------------------------------------------------------


def named(*subscriptions: str) -> pa.Table:
    """A notification of an event of its own for each subscription."""
    table = notifications([(number, 0) for number in range(len(subscriptions))], START)
    return table.set_column(table.schema.get_field_index("subscription_id"), "subscription_id", [[*subscriptions]])


def test_a_group_has_a_number_of_its_own_for_each_of_its_subscriptions(tmp_path: Path) -> None:
    quota = Quota(3, timedelta(hours=1), groups={"acme": 1, "free": None})
    given = named(*["acme/a"] * 5, *["acme/b"] * 5, *["free/a"] * 5, *["acmes/a"] * 5, *["acme"] * 5)
    kept, overflow = Quotas(quota, tmp_path).apply("q", 0, START, given)
    assert Counter(kept["subscription_id"].to_pylist()) == {
        **{"acme/a": 1, "acme/b": 1, "acme": 1},
        **{"free/a": 5, "acmes/a": 3},
    }
    assert overflow == {"acme/a": 4, "acme/b": 4, "acmes/a": 2, "acme": 4}


def test_workers_cut_each_subscription_by_its_group() -> None:
    pairs = pa.table(
        {"event_id": list("abcdef"), "subscription_id": ["t/x"] * 3 + ["u/x"] * 3, "revision": [1] * 6}
    )
    kept, overflow = cut_pairs(Quota(groups={"t": 2}), pairs)
    assert Counter(kept["subscription_id"].to_pylist()) == {"t/x": 2, "u/x": 3}
    assert overflow == {"t/x": 1}


def test_nothing_is_remembered_of_a_group_without_a_limit(tmp_path: Path) -> None:
    Quotas(Quota(groups={"t": 9}), tmp_path).apply("q", 0, START, named("t/a", "u/a"))
    [state] = tmp_path.glob("*.arrow")
    assert pa.ipc.open_file(state.read_bytes()).read_all()["subscription_id"].to_pylist() == ["t/a"]


def test_overflow_is_summed_by_the_groups_of_a_quota() -> None:
    counts = {"t/a": 2, "t/b": 3, "u/a": 5}
    assert by_group(counts, Quota(1, groups={"t": 1})) == {"t": 5}


def test_a_quota_that_changes_holds_from_the_next_batch_on(tmp_path: Path) -> None:
    now = Quota(groups={"t": 2})
    quotas = Quotas(lambda: now, tmp_path)
    kept, _ = quotas.apply("q", 0, START, named(*["t/a"] * 9))
    assert kept.num_rows == 2
    now = Quota(groups={"t": 5})
    kept, overflow = quotas.apply("q", 1, START, named(*["t/a"] * 9))
    assert (kept.num_rows, overflow) == (3, {"t/a": 6}), "2 of 5 were used before"
    now = Quota()
    kept, overflow = quotas.apply("q", 2, START, named(*["t/a"] * 9))
    assert (kept.num_rows, overflow) == (9, {})


def test_a_batch_that_is_done_again_goes_by_the_quota_of_its_first_time(tmp_path: Path) -> None:
    given = named(*["t/a"] * 9)
    first = Quota(groups={"t": 2})
    kept, _ = Quotas(lambda: first, tmp_path).apply("q", 0, START, given)
    again = Quotas(lambda: Quota(groups={"t": 7}), tmp_path)
    assert again.quota("q", 0) == first
    assert again.apply("q", 0, START, given)[0].equals(kept)
    assert again.quota("q", 1).groups == {"t": 7}


@given(quotas)
def test_a_quota_survives_json(quota: Quota) -> None:
    assert Quota.from_json(quota.to_json()) == quota


def test_a_quota_knows_whether_it_limits_anybody() -> None:
    assert not Quota().is_limit
    assert not Quota(groups={"t": None}).is_limit
    assert Quota(groups={"t": 1}).is_limit
    assert Quota(1).is_limit
    assert Quota(cool_down=timedelta(seconds=1)).is_limit


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"matches": 0}, "matches must be 1 or more, found 0"),
        ({"groups": {"t": 0}}, "groups: 't' must be 1 or more, found 0"),
        ({"per": timedelta(0)}, "per must be longer than nothing, found 0:00:00"),
        ({"cool_down": timedelta(seconds=-1)}, "cool_down must be longer than nothing"),
    ],
)
def test_a_quota_must_make_sense(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(QuotaError, match=f"quota: {problem}"):
        Quota(**arguments)
