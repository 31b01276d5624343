"""A hash table from two whole numbers to one that is not negative: linear probing, deletion by backward shift.

Deletion moves later keys of a run closer to their home instead of leaving a tombstone, so a look-up never slows
down by what was deleted.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import Structs
from tamis.engines.structs import struct
from tamis.kernels import kernel

PLACE = np.dtype([("first", np.int64), ("second", np.int64), ("value", np.int64)])
"""A place of the table: its key, and its value, -1 if it is empty."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)


@struct
class HashTable(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_table`; only compiled code reads its fields.

    places: PLACE[a power of two]: a key is at its home or behind it, with no empty place between.
    count: how many are filled.
    """

    places: Structs
    count: int


@kernel
def _empty_places(length: int) -> Structs:
    places = np.empty(length, PLACE)
    for place in range(length):
        places[place].value = -1
    return places


@kernel
def empty_table() -> HashTable:
    return HashTable(_empty_places(16), 0)


@kernel
def _home(length: int, first: int, second: int) -> int:
    mixed = (np.uint64(first) * _MIX) ^ (np.uint64(second) * _SECOND)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(length - 1))


@kernel
def _place_of(places: Structs, first: int, second: int) -> int:
    """The place of a key, or the empty one where it would go."""
    at = _home(len(places), first, second)
    while places[at].value >= 0 and (places[at].first != first or places[at].second != second):
        at = (at + 1) & (len(places) - 1)
    return at


@kernel
def look_up(table: HashTable, first: int, second: int) -> int:
    """The value of a key, -1 if it has none."""
    return int(table.places[_place_of(table.places, first, second)].value)


@kernel
def set_value(table: HashTable, first: int, second: int, value: int) -> None:
    """Set the value of a key, which is not negative."""
    if 2 * (table.count + 1) > len(table.places):
        old = table.places
        table.places = _empty_places(2 * len(old))
        for place in range(len(old)):
            if old[place].value >= 0:
                moved = table.places[_place_of(table.places, old[place].first, old[place].second)]
                moved.first, moved.second, moved.value = old[place].first, old[place].second, old[place].value
    place = table.places[_place_of(table.places, first, second)]
    if place.value < 0:
        table.count += 1
        place.first, place.second = first, second
    place.value = value


@kernel
def remove_key(table: HashTable, first: int, second: int) -> None:
    """Remove a key that is there; keys behind it move closer to their homes."""
    places = table.places
    mask = len(places) - 1
    hole = _place_of(places, first, second)
    at = (hole + 1) & mask
    while places[at].value >= 0:
        home = _home(len(places), places[at].first, places[at].second)
        if (at - home) & mask >= (at - hole) & mask:
            places[hole].first, places[hole].second = places[at].first, places[at].second
            places[hole].value = places[at].value
            hole = at
        at = (at + 1) & mask
    places[hole].value = -1
    table.count -= 1


@kernel
def table_bytes(table: HashTable) -> int:
    return int(len(table.places) * table.places.itemsize)
