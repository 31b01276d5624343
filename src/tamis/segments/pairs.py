"""Pairs as they were found, segment by segment, and as they are handed out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engines.base import Matches
from tamis.segments.records import Records, Subscription

Shorts: TypeAlias = npt.NDArray[np.int32]


class Waiting(Protocol):
    """A subscription that is in no segment yet."""

    @property
    def subscription(self) -> Subscription:
        """Which."""


Owner: TypeAlias = "Records | Sequence[Waiting]"
"""Whose slots pairs speak of."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows and slots, in lots that speak of the same slots."""

    rows: int
    lots: Sequence[tuple[Owner, Matches]]

    @classmethod
    def joined(cls, parts: Sequence[tuple[npt.NDArray[np.int64], Pairs]]) -> Pairs:
        """The pairs of several parts of a batch, each with its rows in the batch; lots of one owner become one."""
        owners: dict[int, tuple[Owner, list[Shorts], list[Shorts]]] = {}
        for places, part in parts:
            rows = places.astype(np.int32)
            for owner, found in part.lots:
                _, at, slots = owners.setdefault(id(owner), (owner, [], []))
                at.append(rows[found.rows])
                slots.append(found.slots)
        lots = [
            (owner, Matches(np.concatenate(at), np.concatenate(slots))) for owner, at, slots in owners.values()
        ]
        return cls(sum(part.rows for _, part in parts), lots)

    def by_priority(self) -> list[str]:
        """The ids of one event's subscriptions: higher priorities first, then in the order of their slots."""
        ids: list[str] = []
        priorities: list[int] = []
        for owner, found in self.lots:
            slots = np.sort(found.slots)
            if isinstance(owner, Records):
                ids += owner.ids.take(pa.array(slots)).to_pylist() if len(slots) else []
                priorities += owner.priorities[slots].tolist() if owner.has_priorities else [0] * len(slots)
            else:
                some = [owner[slot].subscription for slot in slots.tolist()]
                ids += [subscription.id for subscription in some]
                priorities += [subscription.priority for subscription in some]
        if not any(priorities):
            return ids
        order = sorted(range(len(ids)), key=lambda place: -priorities[place])
        return [ids[place] for place in order]

    def columns(self) -> tuple[Shorts, pa.StringArray, Shorts]:
        """Row, subscription id and revision of each pair, in any order."""
        rows: list[Shorts] = [np.empty(0, np.int32)]
        ids: list[pa.Array] = [pa.array([], pa.large_string())]
        revisions: list[Shorts] = [np.empty(0, np.int32)]
        for owner, found in self.lots:
            rows.append(found.rows)
            ids.append(_ids(owner, found.slots))
            revisions.append(_revisions(owner, found.slots))
        return np.concatenate(rows), pa.concat_arrays(ids).cast(pa.string()), np.concatenate(revisions)

    def table(self, event_ids: pa.Array, sort: Literal["event", "subscription"] | None) -> pa.Table:
        """The pairs with the ids of both, in an order or in none."""
        rows: list[Shorts] = []
        ids: list[pa.Array] = []
        for owner, found in self.lots:
            if not len(found.slots):
                continue
            at, slots = found
            if sort == "subscription":
                at, slots = _by(slots, at, int(slots.max()) + 1)[::-1]
            elif sort == "event" and len(self.lots) == 1:
                at, slots = _by(at, slots, self.rows)
            rows.append(at)
            ids.append(_ids(owner, slots))
        if not rows:
            return pa.table({"event_id": event_ids.slice(0, 0), "subscription_id": pa.array([], pa.string())})
        every, names = np.concatenate(rows), pa.concat_arrays(ids)
        if sort == "event" and len(self.lots) > 1:
            every, order = _by(every, np.arange(len(every), dtype=np.int32), self.rows)
            names = names.take(pa.array(order))
        return pa.table({"event_id": event_ids.take(pa.array(every)), "subscription_id": names.cast(pa.string())})


def _ids(owner: Owner, slots: Shorts) -> pa.LargeStringArray:
    if isinstance(owner, Records):
        return owner.ids.take(pa.array(slots))
    return pa.array([owner[slot].subscription.id for slot in slots.tolist()], pa.large_string())


def _revisions(owner: Owner, slots: Shorts) -> Shorts:
    if isinstance(owner, Records):
        return owner.revisions[slots]
    return np.fromiter((owner[slot].subscription.revision for slot in slots.tolist()), np.int32, len(slots))


@numba.njit(cache=True, nogil=True)
def _by(keys: Shorts, others: Shorts, count: int) -> tuple[Shorts, Shorts]:
    """Two columns ordered by the first, whose values are below `count`; equal ones stay as they were."""
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
