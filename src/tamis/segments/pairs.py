"""Pairs as they were found, segment by segment, and as they are handed out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I32, I64
from tamis.engines.base import Matches
from tamis.kernels import kernel
from tamis.segments.memtable import HasSubscription
from tamis.segments.records import Records

Owner: TypeAlias = "Records | Sequence[HasSubscription]"
"""Whose slots pairs speak of."""
_LEAST_FOR_KERNEL = 1 << 16
"""Fewer pairs are sorted without a kernel, which would have to be compiled or loaded first."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows and slots, in groups that speak of the same slots."""

    rows: int
    groups: Sequence[tuple[Owner, Matches]]

    @classmethod
    def join(cls, parts: Sequence[tuple[I64, Pairs]]) -> Pairs:
        """The pairs of several parts of a batch, each given with its rows; groups of one owner become one."""
        owners: dict[int, tuple[Owner, list[I32], list[I32]]] = {}
        for places, part in parts:
            rows = places.astype(np.int32)
            for owner, found in part.groups:
                _, at, slots = owners.setdefault(id(owner), (owner, [], []))
                at.append(rows[found.rows])
                slots.append(found.slots)
        groups = [
            (owner, Matches(np.concatenate(at), np.concatenate(slots))) for owner, at, slots in owners.values()
        ]
        return cls(sum(part.rows for _, part in parts), groups)

    def by_priority(self) -> list[str]:
        """The ids of one event's subscriptions: higher priorities first, then in the order of their slots."""
        ids: list[str] = []
        priorities: list[int] = []
        for owner, found in self.groups:
            slots = np.sort(found.slots)
            ids += _ids(owner, slots).to_pylist() if len(slots) else []
            priorities += _priorities(owner, slots).tolist()
        if not any(priorities):
            return ids
        order = sorted(range(len(ids)), key=lambda place: -priorities[place])
        return [ids[place] for place in order]

    def columns(self) -> tuple[I32, pa.StringArray, I32]:
        """Row, subscription id and revision of each pair, in any order."""
        rows: list[I32] = [np.empty(0, np.int32)]
        ids: list[pa.Array] = [pa.array([], pa.large_string())]
        revisions: list[I32] = [np.empty(0, np.int32)]
        for owner, found in self.groups:
            rows.append(found.rows)
            ids.append(_ids(owner, found.slots))
            revisions.append(_revisions(owner, found.slots))
        return np.concatenate(rows), pa.concat_arrays(ids).cast(pa.string()), np.concatenate(revisions)

    def owners_and_labels(self) -> tuple[pa.StringArray, pa.StringArray]:
        """Whose the subscription of each pair is, and what people call it, in the order of `columns`."""
        owners, labels = [pa.array([], pa.large_string())], [pa.array([], pa.large_string())]
        for owner, found in self.groups:
            if isinstance(owner, Records):
                owners.append(owner.owners.take(pa.array(found.slots)))
                labels.append(owner.labels_of(found.slots))
            else:
                some = [owner[slot].subscription for slot in found.slots.tolist()]
                owners.append(pa.array([each.owner for each in some], pa.large_string()))
                labels.append(pa.array([each.label for each in some], pa.large_string()))
        return pa.concat_arrays(owners).cast(pa.string()), pa.concat_arrays(labels).cast(pa.string())

    def priorities(self) -> I64:
        """The priority of each pair's subscription, in the order of `columns`."""
        return np.concatenate(
            [np.empty(0, np.int64), *(_priorities(owner, found.slots) for owner, found in self.groups)]
        )

    def by_owner(self, apart: Collection[str] = ()) -> OwnerGroups:
        """The pairs of each row by owner; a subscription without an owner, or `apart`, is a group of its own.

        Groups come in the order of rows, and of a row by their first subscription; subscriptions of a group by
        priority, higher ones first, then by id. So the result does not depend on segments or shards.
        """
        rows, ids, _ = self.columns()
        return group_by_owner(rows, ids, self.owners_and_labels()[0], self.priorities(), apart)

    def table(self, event_ids: pa.Array, sort: Literal["event", "subscription"] | None) -> pa.Table:
        """The pairs with the ids of both, in an order or in none."""
        rows: list[I32] = []
        ids: list[pa.Array] = []
        for owner, found in self.groups:
            if not len(found.slots):
                continue
            at, slots = found
            if sort == "subscription":
                at, slots = _order_by(slots, at, int(slots.max()) + 1)[::-1]
            elif sort == "event" and len(self.groups) == 1:
                at, slots = _order_by(at, slots, self.rows)
            rows.append(at)
            ids.append(_ids(owner, slots))
        if not rows:
            return pa.table({"event_id": event_ids.slice(0, 0), "subscription_id": pa.array([], pa.string())})
        every, names = np.concatenate(rows), pa.concat_arrays(ids)
        if sort == "event" and len(self.groups) > 1:
            every, order = _order_by(every, np.arange(len(every), dtype=np.int32), self.rows)
            names = names.take(pa.array(order))
        return pa.table({"event_id": event_ids.take(pa.array(every)), "subscription_id": names.cast(pa.string())})


class OwnerGroups(NamedTuple):
    """Subscriptions that rows satisfy, by owner.

    Attributes:
        rows: Of each group.
        owners: Whose; NULL for a subscription that has no owner.
        ids: Lists of subscription ids.
    """

    rows: I32
    owners: pa.StringArray
    ids: pa.ListArray


def check_apart(by: object, apart: Collection[str]) -> None:
    """Refuse subscriptions that stand alone where nothing is grouped, and a text in place of several ids.

    Raises:
        ValueError: There is something wrong.
    """
    if isinstance(apart, str) or (apart and by is None):
        msg = f"expected ids of subscriptions, and by='owner', found apart={apart!r} and by={by!r}"
        raise ValueError(msg)


def group_by_owner(
    rows: I32, ids: pa.StringArray, owners: pa.StringArray, priorities: I64, apart: Collection[str] = ()
) -> OwnerGroups:
    """The pairs of each row by owner, as `Pairs.by_owner` says."""
    names = np.empty(len(rows), np.int64)
    names[np.asarray(pc.sort_indices(ids))] = np.arange(len(rows))
    order = np.lexsort((names, ~priorities, rows))
    encoded = owners.dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(-1), np.int64)
    if apart:
        is_apart = pc.is_in(ids, pa.array([*apart], ids.type))
        codes[is_apart.to_numpy(zero_copy_only=False)] = -1
    alone = np.flatnonzero(codes < 0)
    codes[alone] = len(encoded.dictionary) + np.arange(len(alone))
    keys = np.stack((rows[order].astype(np.int64), codes[order]))
    _, first, group = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    # np.unique numbers groups by owner; they are wanted by their first pair, which `order` has put in place.
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    taken = order[np.argsort(rank[group.reshape(-1)], kind="stable")]
    firsts = order[np.sort(first)]
    ends = np.zeros(len(first) + 1, np.int32)
    np.cumsum(np.bincount(rank[group.reshape(-1)], minlength=len(first)), out=ends[1:])
    lists = pa.ListArray.from_arrays(pa.array(ends), ids.take(pa.array(taken)))
    return OwnerGroups(rows[firsts], owners.take(pa.array(firsts)), lists)


def _ids(owner: Owner, slots: I32) -> pa.LargeStringArray:
    if isinstance(owner, Records):
        return owner.ids.take(pa.array(slots))
    return pa.array([owner[slot].subscription.id for slot in slots.tolist()], pa.large_string())


def _revisions(owner: Owner, slots: I32) -> I32:
    if isinstance(owner, Records):
        return owner.revisions[slots]
    return np.fromiter((owner[slot].subscription.revision for slot in slots.tolist()), np.int32, len(slots))


def _priorities(owner: Owner, slots: I32) -> I64:
    if isinstance(owner, Records):
        return owner.priorities[slots] if owner.has_priorities else np.zeros(len(slots), np.int64)
    return np.array([owner[slot].subscription.priority for slot in slots.tolist()], np.int64)


def _order_by(keys: I32, others: I32, count: int) -> tuple[I32, I32]:
    """Two columns ordered by the first, whose values are below `count`; equal ones stay as they were."""
    if len(keys) >= _LEAST_FOR_KERNEL:
        return _counting_sort(keys, others, count)
    order = np.argsort(keys, kind="stable")
    return keys[order], others[order]


@kernel
def _counting_sort(keys: I32, others: I32, count: int) -> tuple[I32, I32]:
    firsts = np.zeros(count + 1, np.int64)
    for key in keys:
        firsts[key + 1] += 1
    for key in range(count):
        firsts[key + 1] += firsts[key]
    sorted_keys, sorted_others = np.empty_like(keys), np.empty_like(others)
    for place in range(len(keys)):
        at = firsts[keys[place]]
        firsts[keys[place]] += 1
        sorted_keys[at] = keys[place]
        sorted_others[at] = others[place]
    return sorted_keys, sorted_others
