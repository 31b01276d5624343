"""Match quotas and cool-downs of subscriptions: one that is nearly always true does not crowd out the rest.

Which notifications are kept is a function of the notifications, the time of the batch and the state after the
batch before, never of partitions or the clock: those with the lowest ids are kept. The state after a batch is on
disk before the batch is committed, in a file of its own, with the quota that was applied. A replay begins from the
state of the batch before it and applies the same quota, even if another one is in force by then.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I64, U64, Bools
from tamis.errors import TamisError
from tamis.notifications import Keys, distinct, event_keys, is_first, notification_keys, order_of
from tamis.sinks.folder_commits import batch_name
from tamis.sinks.ledger import is_among_any
from tamis.snapshot.storage import open_storage

KEPT_STATES = 5
"""How many states of a query stay; only its last batch is ever replayed."""

CUT_ROWS = 100_000
"""Pairs that wait in a task before they are cut to the quota."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ANY_NUMBER = np.iinfo(np.int64).max
_STATE = pa.schema([("subscription_id", pa.string()), ("count", pa.int64()), ("last_us", pa.int64())])


class QuotaError(TamisError):
    """A quota makes no sense, or its state is not there."""


@dataclass(frozen=True, slots=True)
class Quota:
    """How many notifications a subscription may give.

    Attributes:
        matches: At most so many notifications within `per`; None for any number.
        per: A window of time. Windows follow each other without overlap, from 1970 on, in the times of batches.
        cool_down: No notification so soon after one; since a batch has one time, at most one a batch then. None
            for no such rule.
        groups: Instead of `matches`, the number for each subscription of some groups. The group of a subscription
            is what its id has before the first slash.
    """

    matches: int | None = None
    per: timedelta = timedelta(minutes=1)
    cool_down: timedelta | None = None
    groups: Mapping[str, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = {"matches": self.matches, **{f"groups: {name!r}": most for name, most in self.groups.items()}}
        for name, most in numbers.items():
            if most is not None and most < 1:
                msg = f"quota: {name} must be 1 or more, found {most}"
                raise QuotaError(msg)
        for name in ("per", "cool_down"):
            value = getattr(self, name)
            if value is not None and value < _MICROSECOND:
                msg = f"quota: {name} must be longer than nothing, found {value}"
                raise QuotaError(msg)

    @property
    def is_limit(self) -> bool:
        """Does it limit any subscription?"""
        numbers = (self.matches, *self.groups.values())
        return self.cool_down is not None or any(number is not None for number in numbers)

    def allowance(self, subscriptions: pa.Array) -> I64:
        """How many notifications each of some subscriptions may give within `per`; a huge number for any."""
        most = np.full(len(subscriptions), _number(self.matches), dtype=np.int64)
        if self.groups:
            known = pa.array(self.groups, pa.string())
            numbers = np.array([_number(number) for number in self.groups.values()], dtype=np.int64)
            found = pc.index_in(_groups(subscriptions), value_set=known)
            has_own = found.is_valid().to_numpy(zero_copy_only=False)
            most[has_own] = numbers[found.drop_null().to_numpy()]
        return most

    def most(self, subscriptions: pa.Array) -> I64:
        """What each of some subscriptions cannot exceed in a batch: for `QuotaCut`."""
        allowed = self.allowance(subscriptions)
        return allowed if self.cool_down is None else np.minimum(allowed, 1)

    def to_json(self) -> str:
        cool_down = None if self.cool_down is None else self.cool_down // _MICROSECOND
        times = {"per_us": self.per // _MICROSECOND, "cool_down_us": cool_down}
        return json.dumps({"matches": self.matches, **times, "groups": dict(self.groups)})

    @classmethod
    def from_json(cls, text: str | bytes) -> Quota:
        """Read a quota from its JSON."""
        given: dict[str, Any] = json.loads(text)
        cool_down = None if given["cool_down_us"] is None else given["cool_down_us"] * _MICROSECOND
        return cls(given["matches"], given["per_us"] * _MICROSECOND, cool_down, given["groups"])


class Quotas:
    """A quota, and what subscriptions have used of it."""

    def __init__(self, quota: Quota | Callable[[], Quota], state: str | os.PathLike[str]) -> None:
        """Nothing is touched yet.

        Args:
            quota: The quota of all subscriptions; or a function that gives it, called for each batch.
            state: The path or URL of a folder for the states.
        """
        self._quota = quota
        self._storage = open_storage(state)
        self._last: tuple[str, int, pa.Table] | None = None
        self._asked: tuple[str, int, Quota] | None = None

    def quota(self, query: str, batch: int) -> Quota:
        """The quota of a batch: in a replay, the one that was applied the first time."""
        if self._asked is None or self._asked[:2] != (query, batch):
            found = self._quota() if callable(self._quota) else self._quota
            if callable(self._quota) and batch in self._batches(query):
                found = _recorded_quota(self._read(query, batch)) or found
            self._asked = query, batch, found
        return self._asked[2]

    def state(self, query: str, batch: int, at: datetime) -> QuotaState:
        """What tasks need to know to apply the quota to a batch."""
        _, before = self._before(query, batch)
        return QuotaState(self.quota(query, batch), _file(before), (at - _EPOCH) // _MICROSECOND)

    def apply(
        self,
        query: str,
        batch: int,
        at: datetime,
        notifications: pa.Table,
        written: Mapping[str, int] = MappingProxyType({}),
    ) -> tuple[pa.Table, Mapping[str, int]]:
        """Keep what the quota allows, and write the state after the batch.

        Args:
            query: The id of the streaming query.
            batch: The number of the batch.
            at: The recorded time of the batch, with a time zone.
            notifications: With the columns of `NOTIFICATIONS`, in any order.
            written: How many more of each subscription tasks have written, by `QuotaState.decide`.

        Returns:
            The notifications that are kept, by id, each id once; how many are not, by subscription.

        Raises:
            QuotaError: The state of the batch before is not there.
        """
        at_us = (at - _EPOCH) // _MICROSECOND
        quota = self.quota(query, batch)
        after, before = self._before(query, batch)
        table = distinct(notifications)
        keep, overflow, state = _decide(quota, before, at_us, table["subscription_id"], written)
        facts = {"after": str(after), "window_us": str(_window(quota, at_us)), "quota": quota.to_json()}
        state = state.replace_schema_metadata(facts)
        self._storage.write(f"{batch_name(query, batch)}.arrow", [_file(state)])
        for old in self._batches(query)[:-KEPT_STATES]:
            self._storage.remove(f"{batch_name(query, old)}.arrow")
        self._last = (query, batch, state)
        return table.filter(pa.array(keep)), overflow

    def _before(self, query: str, batch: int) -> tuple[int | None, pa.Table]:
        """The batch before, and the state after it."""
        if self._last is not None and self._last[:2] == (query, batch - 1):
            return batch - 1, self._last[2]
        batches = self._batches(query)
        earlier = [each for each in batches if each < batch]
        if earlier:
            return earlier[-1], self._read(query, earlier[-1])
        if not batches or (batch in batches and self._read(query, batch).schema.metadata[b"after"] == b"None"):
            return None, _STATE.empty_table().replace_schema_metadata({"window_us": "0"})
        where = self._storage.where(f"{batch_name(query, batches[0])}.arrow")
        msg = f"quota: no state from before batch {batch} of query {query}; the oldest is {where}"
        raise QuotaError(msg)

    def _batches(self, query: str) -> list[int]:
        first, _, _ = batch_name(query, 0).rpartition(".")
        names = [each.name.split(".") for each in self._storage.listing("")]
        return [int(parts[1]) for parts in names if len(parts) == 3 and parts[0] == first]

    def _read(self, query: str, batch: int) -> pa.Table:
        return pa.ipc.open_file(self._storage.read(f"{batch_name(query, batch)}.arrow")).read_all()


@dataclass(frozen=True, slots=True)
class QuotaState:
    """A quota and what was used of it before a batch, as tasks get it.

    Attributes:
        quota: Of the batch.
        before: What was used before it, in Arrow's file format.
        at_us: The time of the batch.
    """

    quota: Quota
    before: bytes
    at_us: int

    def is_limited(self, subscriptions: pa.ChunkedArray) -> Bools:
        """Which rows are of a subscription that has a limit."""
        codes, names = _codes(subscriptions)
        return np.asarray(self.quota.most(names) < _ANY_NUMBER)[codes]

    def decide(self, subscriptions: pa.ChunkedArray) -> tuple[Bools, dict[str, int], dict[str, int]]:
        """Which of all notifications of some subscriptions are within the quota, in the order of their ids.

        Returns:
            Which are; how many are, and how many are not, by subscription.
        """
        codes, names = _codes(subscriptions)
        before = pa.ipc.open_file(self.before).read_all()
        keep = _rank(codes) < _remaining(self.quota, before, self.at_us, names)[codes]
        return keep, _counts(codes[keep], names), _counts(codes[~keep], names)


class QuotaCut:
    """Cuts the pairs of a task to what a quota allows in a batch at most: those with the lowest notification ids.

    A worker may limit its own pairs so before `Quotas` limits all of them; the result is the same. Pairs wait
    until there are many, so that few of a subscription are left however they come. A pair that comes again, as its
    event does, is counted once among those that are cut.

    Attributes:
        overflow: How many different pairs were cut, by subscription.
    """

    def __init__(self, quota: Quota) -> None:
        self.overflow: Counter[str] = Counter()
        self._quota = quota
        self._waiting: list[pa.Table] = []
        self._keys: list[Keys] = []
        self._events: list[U64] = []
        self._handed_on: list[Keys] = []
        self._cut: list[Keys] = []

    def add(self, pairs: pa.Table) -> Iterator[pa.Table]:
        """Take pairs, with columns `event_id`, `subscription_id`, `revision` and others; gives some to hand on."""
        if not pairs.num_rows:
            return
        keys = notification_keys(pairs["event_id"], pairs["subscription_id"], pairs["revision"])
        rows = self._rows_of_repeated_events(pairs)
        if len(rows):
            was_handed_on, was_cut = (is_among_any(keys[:, rows], each) for each in (self._handed_on, self._cut))
            # The copies of one notification may differ in the time of the event: whoever decides sees all.
            yield pairs.take(pa.array(rows[was_handed_on]))
            waits = np.ones(pairs.num_rows, np.bool_)
            waits[rows[was_handed_on | was_cut]] = False
            pairs, keys = pairs.filter(pa.array(waits)), keys[:, waits]
        self._waiting.append(pairs)
        self._keys.append(keys)
        if self._rows_waiting() >= CUT_ROWS:
            self._apply()
            if self._rows_waiting() > CUT_ROWS // 2:
                yield from self._hand_on()

    def finish(self) -> Iterator[pa.Table]:
        """The pairs that are left."""
        if self._waiting:
            self._apply()
            yield from self._hand_on()

    def _rows_waiting(self) -> int:
        return sum(each.num_rows for each in self._waiting)

    def _rows_of_repeated_events(self, pairs: pa.Table) -> I64:
        encoded = pairs["event_id"].combine_chunks().dictionary_encode()
        events = event_keys(encoded.dictionary)
        is_again = np.zeros(len(events), np.bool_)
        for earlier in self._events:
            is_again |= np.isin(events, earlier)
        self._events.append(events)
        return np.flatnonzero(is_again[encoded.indices.to_numpy(zero_copy_only=False)])

    def _apply(self) -> None:
        pairs, keys = pa.concat_tables(self._waiting), np.concatenate(self._keys, axis=1)
        codes, names = _codes(pairs["subscription_id"])
        most = self._quota.most(names)
        is_many = np.bincount(codes, minlength=len(names)) > most
        rows = np.flatnonzero(is_many[codes])
        # One row of each id: a repeated event must not take the place of another.
        ordered = rows[order_of(keys[:, rows], np.zeros(len(rows), np.int64))]
        ordered = ordered[is_first(keys[:, ordered])]
        is_kept = _rank(codes[ordered]) < most[codes[ordered]]
        keep = np.ones(len(codes), np.bool_)
        keep[rows] = False
        keep[ordered[is_kept]] = True
        self.overflow.update(_counts(codes[ordered[~is_kept]], names))
        self._cut.append(keys[:, ordered[~is_kept]])
        self._waiting, self._keys = [pairs.filter(pa.array(keep))], [keys[:, keep]]

    def _hand_on(self) -> Iterator[pa.Table]:
        self._handed_on += self._keys
        yield from self._waiting
        self._waiting, self._keys = [], []


def _decide(
    quota: Quota, before: pa.Table, at_us: int, subscriptions: pa.ChunkedArray, written: Mapping[str, int]
) -> tuple[Bools, dict[str, int], pa.Table]:
    """Which notifications to keep beside those that are written, how many not, and the state after it."""
    both = pa.concat_arrays([subscriptions.combine_chunks().cast(pa.string()), pa.array([*written], pa.string())])
    every, names = _codes(pa.chunked_array([both]))
    codes = every[: len(subscriptions)]
    given = np.zeros(len(names), np.int64)
    given[every[len(subscriptions) :]] = np.fromiter(written.values(), np.int64, len(written))
    counts, lasts, place, is_known = _usage(quota, before, at_us, names)
    count = np.zeros(len(names), dtype=np.int64)
    last = np.full(len(names), _never(quota, at_us), dtype=np.int64)
    count[is_known], last[is_known] = counts[place], lasts[place]
    allowed = np.maximum(_remaining(quota, before, at_us, names) - given, 0)
    keep = _rank(codes) < allowed[codes]
    sent = given + np.bincount(codes[keep], minlength=len(names))

    # The state after the batch: subscriptions without a notification in it as they were, then those with one.
    others = np.ones(before.num_rows, dtype=np.bool_)
    others[place] = False
    columns = {
        "subscription_id": pa.concat_arrays(
            [before["subscription_id"].filter(pa.array(others)).combine_chunks(), names]
        ),
        "count": np.concatenate([counts[others], count + sent]),
        "last_us": np.concatenate([lasts[others], np.where(sent > 0, at_us, last)]),
    }
    # What no longer limits anything is dropped, or the state would grow with every subscription that ever matched.
    matters = (quota.allowance(columns["subscription_id"]) < _ANY_NUMBER) & (columns["count"] > 0)
    if quota.cool_down is not None:
        matters |= at_us - columns["last_us"] < quota.cool_down // _MICROSECOND
    state = pa.table(columns, schema=_STATE).filter(pa.array(matters)).combine_chunks()
    return keep, _counts(codes[~keep], names), state


def _usage(quota: Quota, before: pa.Table, at_us: int, names: pa.Array) -> tuple[I64, I64, I64, Bools]:
    """Counts and last times of the state, where subscriptions stand in it, and which of them do."""
    counts = before["count"].to_numpy()
    if int(before.schema.metadata[b"window_us"]) != _window(quota, at_us):
        counts = np.zeros(before.num_rows, dtype=np.int64)
    found = pc.index_in(names, value_set=before["subscription_id"].combine_chunks())
    is_known = found.is_valid().to_numpy(zero_copy_only=False)
    place = found.fill_null(0).to_numpy(zero_copy_only=False)[is_known]
    return counts, before["last_us"].to_numpy(), place, is_known


def _remaining(quota: Quota, before: pa.Table, at_us: int, names: pa.Array) -> I64:
    """How many notifications each of some subscriptions may still give, after the state; a huge number for any."""
    counts, lasts, place, is_known = _usage(quota, before, at_us, names)
    left = quota.allowance(names)
    limited = left < _ANY_NUMBER
    used = np.zeros(len(names), np.int64)
    used[is_known] = counts[place]
    left = np.where(limited, np.maximum(left - used, 0), left)
    if quota.cool_down is not None:
        last = np.full(len(names), _never(quota, at_us), dtype=np.int64)
        last[is_known] = lasts[place]
        left = np.where(at_us - last < quota.cool_down // _MICROSECOND, 0, np.minimum(left, 1))
    return left


def _file(table: pa.Table) -> bytes:
    with pa.BufferOutputStream() as stream:
        with pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)
        content: bytes = stream.getvalue().to_pybytes()
        return content


def by_group(counts: Mapping[str, int], quota: Quota) -> dict[str, int]:
    """The sums of counts by subscription, for each group that the quota names."""
    sums: dict[str, int] = {}
    for subscription, count in counts.items():
        group = subscription.partition("/")[0]
        if group in quota.groups:
            sums[group] = sums.get(group, 0) + count
    return sums


def _groups(subscriptions: pa.Array) -> pa.Array:
    return pc.list_element(pc.split_pattern(subscriptions, "/", max_splits=1), 0)


def _number(most: int | None) -> int:
    return _ANY_NUMBER if most is None else most


def _recorded_quota(state: pa.Table) -> Quota | None:
    """The quota that a state was made by; None if the state does not have it."""
    text = state.schema.metadata.get(b"quota")
    return None if text is None else Quota.from_json(text)


def _window(quota: Quota, at_us: int) -> int:
    """When the window began that a time is in."""
    per_us = quota.per // _MICROSECOND
    return at_us // per_us * per_us


def _never(quota: Quota, at_us: int) -> int:
    """A time so long ago that it does not matter."""
    return at_us if quota.cool_down is None else at_us - quota.cool_down // _MICROSECOND


def _codes(subscriptions: pa.ChunkedArray) -> tuple[I64, pa.Array]:
    """A number for each row's subscription, and the subscriptions by number."""
    encoded = subscriptions.combine_chunks().cast(pa.string()).dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary


def _rank(codes: I64) -> I64:
    """The number of earlier rows with the same code, for each row."""
    # Sorted by code, the rank of a row is its distance from the first row of its code.
    order = np.argsort(codes, kind="stable")
    grouped = codes[order]
    starts = np.flatnonzero(np.concatenate([[True], grouped[1:] != grouped[:-1]])) if len(codes) else order
    sizes = np.diff(np.append(starts, len(codes)))
    rank = np.empty(len(codes), dtype=np.int64)
    rank[order] = np.arange(len(codes)) - np.repeat(starts, sizes)
    return rank


def _counts(codes: I64, names: pa.Array) -> dict[str, int]:
    """How many rows there are of each subscription that has any."""
    found, counts = np.unique(codes, return_counts=True)
    return dict(zip(names.take(pa.array(found)).to_pylist(), counts.tolist(), strict=True))
