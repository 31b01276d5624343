"""Notifications and dead letters as Arrow tables, and their ids, which are the same wherever they go.

An id is a function of what is notified, never of when or how: not of the batch, the query or the version of the
snapshot. It is the BLAKE2b hash of 16 bytes, without key, salt or personalisation, in 32 lower-case hexadecimal
digits, of these bytes one after the other:

- of a notification: the event id, the subscription id, each as the number of its UTF-8 bytes (unsigned, 32 bits,
  little-endian) and the bytes themselves; then the revision (signed, 64 bits, little-endian);
- of a dead letter: the kind and the original bytes, each with its length in front in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I64, U64, AnyArray, Bools
from tamis.events.conversion import clean
from tamis.hashing import hash_rows

Keys: TypeAlias = U64
"""Ids as numbers, uint64[2, n]: the first and the last 8 bytes, so that numbers sort as texts do."""

_TIME = pa.timestamp("us", "UTC")

NOTIFICATIONS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("event_id", pa.string(), nullable=False),
        pa.field("subscription_id", pa.string(), nullable=False),
        pa.field("revision", pa.int64(), nullable=False),
        pa.field("event_type", pa.string(), nullable=False),
        pa.field("version", pa.int64(), nullable=False),
        pa.field("event_time", _TIME),
        pa.field("matched_at", _TIME, nullable=False),
        pa.field("owner", pa.string()),
        pa.field("label", pa.string()),
        pa.field("attributes", pa.string()),
        pa.field("priority", pa.int64()),
    ]
)
"""A match: `version` is that of the snapshot, `matched_at` when it was made, which a replay keeps; `owner` and
`label` are the subscription's, if it has them; `attributes`, a JSON object, are those of the event that were asked
for; `priority` is the subscription's, never NULL in memory."""
ADDED = ("owner", "label", "attributes", "priority")
"""Columns that files and tables of earlier versions lack; JSON lines leave them out where they are empty or 0."""
JSON_COLUMN = "attributes"
"""The column whose values are JSON already."""

DEAD_LETTERS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("event_id", pa.string()),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("original", pa.binary(), nullable=False),
        pa.field("at", _TIME, nullable=False),
    ]
)
"""An event that could not be matched: why (`kind` for programs, `reason` for people), and the bytes that came."""


def with_added_columns(table: pa.Table) -> pa.Table:
    """Notifications with all columns; those that were added since are empty where they are missing."""
    for name in ADDED:
        if name not in table.column_names:
            field = NOTIFICATIONS.field(name)
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    if table["priority"].null_count:
        place = table.column_names.index("priority")
        table = table.set_column(place, NOTIFICATIONS.field("priority"), table["priority"].fill_null(0))
    return table


def by_priority(notifications: pa.Table) -> pa.Table:
    """Notifications with higher priorities first; those of one priority stay in their order."""
    priorities = notifications["priority"].to_numpy()
    if not priorities.any():
        return notifications
    return notifications.take(pa.array(np.argsort(~priorities, kind="stable")))


def json_object(values: Mapping[str, Any]) -> str:
    """Attributes of an event as JSON, in one spelling; what JSON cannot say is a text, half a character is `?`."""
    try:
        return clean(json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=str, allow_nan=False))
    except ValueError:  # NaN and the infinities
        return json_object(json.loads(json.dumps(values, default=str), parse_constant=str))


_DIGITS = np.array([f"{byte:02x}".encode() for byte in range(256)], dtype="S2").view(np.uint16)
"""The two digits of each byte, as one number."""
_ROWS = 1 << 18
"""How many ids are made at a time, so that the bytes to hash stay small."""


def notification_ids(event_ids: pa.Array, subscription_ids: pa.Array, revisions: pa.Array) -> pa.Array:
    """The id of each notification; the module says how it is computed.

    Example:
        >>> notification_ids(pa.array(["e1"]), pa.array(["cheap"]), pa.array([1])).to_pylist()
        ['a301d29d3f2728dc28b0f984eea76d3d']
    """
    return ids_of(notification_keys(event_ids, subscription_ids, revisions))


def notification_keys(event_ids: pa.Array, subscription_ids: pa.Array, revisions: pa.Array) -> Keys:
    """The id of each notification as a number."""
    revision = _number_bytes(_one_array(revisions).cast(pa.int64()).to_numpy(zero_copy_only=False).astype("<i8"))
    return _keys([*_with_length(event_ids), *_with_length(subscription_ids), revision])


def dead_letter_ids(kinds: pa.Array, originals: pa.Array) -> pa.Array:
    """The id of each dead letter; the module says how it is computed."""
    return ids_of(_keys([*_with_length(kinds), *_with_length(originals)]))


def event_keys(event_ids: pa.Array) -> U64:
    """A number for each event id, the same everywhere: equal ids have equal numbers, others hardly ever."""
    digests = [
        blake2b(each, digest_size=8).digest() for each in _one_array(event_ids).cast(pa.binary()).to_pylist()
    ]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def ids_of(keys: Keys) -> pa.Array:
    """Ids as texts."""
    digits = _DIGITS[np.ascontiguousarray(keys.T).astype(">u8").view(np.uint8)]
    offsets = np.arange(0, 32 * (keys.shape[1] + 1), 32, dtype=np.int64)
    whole = pa.LargeStringArray.from_buffers(keys.shape[1], pa.py_buffer(offsets), pa.py_buffer(digits))
    return whole.cast(pa.string())


def id_keys(ids: pa.Array) -> Keys:
    """Ids as numbers that sort as the ids do.

    Raises:
        ValueError: One is not 32 hexadecimal digits.
    """
    texts = _one_array(ids).cast(pa.large_string())
    lengths = pc.binary_length(texts)
    if texts.null_count or not pc.all(pc.equal(lengths, 32), min_count=0).as_py():
        msg = "an id has 32 hexadecimal digits; at least one of these has not"
        raise ValueError(msg)
    joined = "".join(texts.to_pylist())
    pairs = np.frombuffer(bytes.fromhex(joined), dtype=">u8").reshape(-1, 2)
    if len(pairs) != len(texts):  # blanks between digits
        msg = "an id has 32 hexadecimal digits and nothing else"
        raise ValueError(msg)
    return np.ascontiguousarray(pairs.T, dtype=np.uint64)


def distinct(table: pa.Table) -> pa.Table:
    """The rows by id, one of each; of notifications with the same id the one whose event is the earliest."""
    return table.take(pa.array(distinct_order(id_keys(table["id"]), table)))


def distinct_order(keys: Keys, table: pa.Table) -> I64:
    """The rows of `distinct`, whose ids are `keys`."""
    times = np.zeros(table.num_rows, dtype=np.int64)
    if "event_time" in table.column_names:
        times = table["event_time"].cast(pa.int64()).fill_null(np.iinfo(np.int64).max).to_numpy()
    order = order_of(keys, times)
    return order[is_first(keys[:, order])]


def order_of(keys: Keys, then: I64) -> I64:
    """The order of ids, and of `then` where they are equal."""
    # By the first halves, which hardly ever are equal unless ids are; what is equal is put in order by itself.
    order = np.argsort(keys[0])
    halves = keys[0][order]
    is_equal = halves[1:] == halves[:-1]
    tied = np.flatnonzero(np.append(False, is_equal) | np.append(is_equal, False)) if is_equal.any() else order[:0]
    rows = order[tied]
    order[tied] = rows[np.lexsort((then[rows], keys[1][rows], keys[0][rows]))]
    return order


def is_first(keys: Keys) -> Bools:
    """Which of the sorted ids differ from the one before."""
    first = np.ones(keys.shape[1], dtype=np.bool_)
    first[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    return first


def _keys(parts: list[pa.Array]) -> Keys:
    """The hash of what the parts of each row are together."""
    rows = len(parts[0])
    pieces = [np.empty((0, 2), dtype=">u8")]
    for start in range(0, rows, _ROWS):
        joined = pc.binary_join_element_wise(*(part.slice(start, _ROWS) for part in parts), b"")
        if joined.null_count:
            msg = "an id cannot be made of NULL"
            raise ValueError(msg)
        pieces.append(hash_rows(joined).view(">u8"))
    return np.ascontiguousarray(np.concatenate(pieces).T, dtype=np.uint64)


def _with_length(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The length of each value, and its bytes."""
    content = _one_array(values).cast(pa.binary())
    lengths = pc.binary_length(content).fill_null(0).to_numpy(zero_copy_only=False)
    return _number_bytes(lengths.astype("<u4")), content


def _number_bytes(numbers: AnyArray) -> pa.Array:
    """Each number as its bytes."""
    width = pa.binary(numbers.dtype.itemsize)
    return pa.Array.from_buffers(width, len(numbers), [None, pa.py_buffer(numbers.tobytes())]).cast(pa.binary())


def _one_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
