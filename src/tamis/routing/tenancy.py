"""Placement by tenant: the subscriptions of a tenant stay in as few shards as hold them.

It pays where events belong to tenants, too, as those of a service do: an event then visits the shards of its
tenant only. Where every event is for all tenants, similarity alone is better.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I64, Mask


class TenantShards:
    """The shards of each tenant."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._of: dict[str | None, Mask] = {}

    def add_shard(self, tenants: Iterable[str | None]) -> None:
        """Add a shard with subscriptions of these tenants."""
        self._shards += 1
        having = set(tenants)
        self._of = {tenant: np.append(mask, tenant in having) for tenant, mask in self._of.items()}

    def reserve(self, tenant: str | None, count: int, room: I64) -> Mask:
        """The shards of a tenant, extended by the emptiest others until `count` more subscriptions fit in.

        Args:
            tenant: Its name; None stands for subscriptions without an owner.
            count: Subscriptions to come.
            room: How many each shard may take; enough in all.

        Returns:
            bool[shards].
        """
        mask = self._of.setdefault(tenant, np.zeros(self._shards, np.bool_))
        while room[mask].sum() < count and not mask.all():
            mask[int(np.argmax(np.where(mask, -1, room)))] = True
        return mask


def group_by_tenant(owners: pa.LargeStringArray) -> list[tuple[str | None, I64]]:
    """The row indices of each tenant, the largest group first, because large groups are hard to fit in later.

    An owner is a tenant, or somebody of one: what stands before a `/` is the tenant.
    """
    encoded = pc.replace_substring_regex(owners, "/.*", "").dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(len(encoded.dictionary)), np.int64)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(encoded.dictionary) + 1))
    names = [*encoded.dictionary.to_pylist(), None]
    groups = [(name, rows) for name, rows in zip(names, np.split(order, ends[:-1]), strict=True) if len(rows)]
    return sorted(groups, key=lambda group: -len(group[1]))
