"""Tombstones: which slots of a segment are dead, as bytes.

A few are a list of slots, many a bitmap; which of the two follows from the counts in the manifest, and so does the
length of the file.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.arrays import I32
from tamis.errors import SnapshotError
from tamis.snapshot.documents import digest
from tamis.snapshot.manifest import ManifestEntry

Slots = I32


def is_bitmap(slots: int, dead: int) -> bool:
    """Is a bitmap shorter than a list?"""
    return 32 * dead > slots


def sorted_slots(dead: npt.ArrayLike, slots: int) -> Slots:
    """Slots in order and once each.

    Raises:
        ValueError: One of them is no slot of the segment.
    """
    found = np.unique(np.asarray(dead, dtype=np.int64))
    if len(found) and (found[0] < 0 or found[-1] >= slots):
        msg = f"dead slots {found[0]} to {found[-1]} of a segment with {slots} slots"
        raise ValueError(msg)
    return found.astype(np.int32)


def encode(dead: Slots, slots: int) -> bytes:
    """The content of the file."""
    if not is_bitmap(slots, len(dead)):
        return dead.astype("<i4").tobytes()
    mask = np.zeros(slots, np.bool_)
    mask[dead] = True
    return np.packbits(mask, bitorder="little").tobytes()


def decode(data: bytes, entry: ManifestEntry, file: str) -> Slots:
    """The dead slots of an entry, in order.

    Raises:
        SnapshotError: The file is damaged.
    """
    if digest(data) != entry.tombstones:
        raise SnapshotError(file, "damaged: its checksum is not that of its content", "damaged")
    if is_bitmap(entry.slots, entry.dead):
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        found = np.flatnonzero(bits).astype(np.int32)
    else:
        found = np.frombuffer(data, "<i4").astype(np.int32)
    if len(found) != entry.dead or (len(found) and int(found.max()) >= entry.slots):
        message = f"damaged: it does not hold {entry.dead} of {entry.slots} slots, as the version says"
        raise SnapshotError(file, message, "damaged")
    found.flags.writeable = False
    return found
