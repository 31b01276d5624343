"""Keeping the subscriptions of a tenant together: in as few shards as hold them.

It pays where events belong to tenants, too, as those of a service do: then an event visits the shards of its
tenant only. Where everybody's events are for everybody, similarity alone is better.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]


class Homes:
    """Which shards each tenant has."""

    def __init__(self, shards: int) -> None:
        """Nobody has any."""
        self._shards = shards
        self._of: dict[str | None, Mask] = {}

    def of(self, tenant: str | None, count: int, room: Ints) -> Mask:
        """The shards of a tenant: those it has, and the emptiest ones besides until so many more fit in.

        Args:
            tenant: Its name; None is one, too.
            count: Of subscriptions to come.
            room: How many each shard may take, enough in all.
        """
        home = self._of.setdefault(tenant, np.zeros(self._shards, np.bool_))
        while room[home].sum() < count and not home.all():
            home[int(np.argmax(np.where(home, -1, room)))] = True
        return home


def by_tenant(owners: pa.LargeStringArray) -> list[tuple[str | None, Ints]]:
    """The places of each owner, those with most first: what is large is hard to fit in later."""
    encoded = owners.dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(len(encoded.dictionary)), np.int64)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(encoded.dictionary) + 1))
    names = [*encoded.dictionary.to_pylist(), None]
    lots = [(name, places) for name, places in zip(names, np.split(order, ends[:-1]), strict=True) if len(places)]
    return sorted(lots, key=lambda lot: -len(lot[1]))
