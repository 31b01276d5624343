"""Subscriptions to be added, however they are given, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I32, I64
from tamis.errors import SubscriptionError
from tamis.language.bulk import DialectNames
from tamis.language.dialects import SQL
from tamis.segments.records import Subscription, dialect_column


class Columns(NamedTuple):
    """One entry a subscription; the conditions also as they were given, to be compiled.

    What is no id is empty. There is no dialect where it is SQL.
    """

    ids: pa.LargeStringArray
    conditions: pa.LargeStringArray
    owners: pa.LargeStringArray
    priorities: I64
    revisions: I32
    labels: pa.LargeStringArray
    dialects: pa.LargeStringArray
    given: Sequence[str | None] | pa.Array

    def __len__(self) -> int:
        """Number of subscriptions."""
        return len(self.ids)

    def subscription(self, place: int) -> Subscription:
        """One of them."""
        return Subscription(
            self.ids[place].as_py(),
            self.conditions[place].as_py(),
            int(self.priorities[place]),
            self.owners[place].as_py(),
            int(self.revisions[place]),
            self.labels[place].as_py(),
            self.dialects[place].as_py() or SQL,
        )

    def take(self, places: I64) -> Columns:
        """Some of them."""
        some = pa.array(places)
        texts = (self.ids.take(some), self.conditions.take(some), self.owners.take(some))
        optional = self.labels.take(some), self.dialects.take(some)
        return Columns(*texts, self.priorities[places], self.revisions[places], *optional, texts[1])

    @property
    def dialect(self) -> DialectNames:
        """The dialect of all, or that of each."""
        return SQL if self.dialects.null_count == len(self) else self.dialects.to_pylist()


def columns_of(given: Any, dialect: str = SQL) -> Columns:
    """Columns of subscriptions in any form.

    A mapping from ids to conditions, an Arrow table, or pairs (id, condition), mappings or `Subscription`s.

    `dialect` is that of pairs, mappings and rows that name none.

    Raises:
        SubscriptionError: It is something else, or has no id or condition.
    """
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
        return _table_columns(pa.table(given), dialect)
    if isinstance(given, Mapping):
        given = given.items()
    listed = [_subscription(each, dialect) for each in given]
    conditions = [each.condition for each in listed]
    return Columns(
        texts_of([_id(each.id) for each in listed]),
        texts_of([text if _is_encodable(text) else None for text in conditions]),
        texts_of([each.owner for each in listed]),
        np.fromiter((each.priority for each in listed), np.int64, len(listed)),
        np.fromiter((each.revision for each in listed), np.int32, len(listed)),
        texts_of([each.label for each in listed]),
        dialect_column(each.dialect for each in listed),
        conditions,
    )


def _table_columns(table: pa.Table, dialect: str) -> Columns:
    missing = [name for name in ("id", "condition") if name not in table.column_names]
    if missing:
        msg = f"the table has no column {missing[0]!r}; it has {', '.join(table.column_names)}"
        raise SubscriptionError(msg)
    ids, conditions = pc.fill_null(texts_of(table["id"]), ""), texts_of(table["condition"])
    owners, labels, dialects = (
        texts_of(table[name]) if name in table.column_names else pa.nulls(len(ids), pa.large_string())
        for name in ("owner", "label", "dialect")
    )
    dialects = pc.fill_null(dialects, dialect)
    dialects = pc.if_else(pc.equal(dialects, SQL), None, dialects)
    priorities = np.zeros(len(ids), np.int64)
    if "priority" in table.column_names:
        priorities = pc.fill_null(table["priority"].cast(pa.int64()), 0).to_numpy()
    revisions = np.ones(len(ids), np.int32)
    if "revision" in table.column_names:
        revisions = table["revision"].cast(pa.int32()).to_numpy()
    return Columns(ids, conditions, owners, priorities, revisions, labels, dialects, conditions)


def texts_of(values: Iterable[str | None] | pa.Array | pa.ChunkedArray) -> pa.LargeStringArray:
    """A column of texts."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return values.cast(pa.large_string())
    return pa.array(list(values), pa.large_string())


def _is_encodable(text: Any) -> bool:
    """Is it a text that UTF-8 can say? What is not is refused when it is compiled."""
    return isinstance(text, str) and not any("\ud800" <= character <= "\udfff" for character in text)


def _id(given: Any) -> str:
    """An id as text, which a whole number has; empty for anything else."""
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    return given if isinstance(given, str) else ""


def _subscription(given: Any, dialect: str) -> Subscription:
    if isinstance(given, Subscription):
        return given
    if isinstance(given, Mapping):
        if not {"id", "condition"} <= given.keys():
            raise _shape_error(given)
        id, condition, owner = given["id"], given["condition"], given.get("owner")
        revision, label = int(given.get("revision") or 1), given.get("label")
        own = given.get("dialect") or dialect
        return Subscription(id, condition, int(given.get("priority") or 0), owner, revision, label, own)
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise _shape_error(given)
    id, condition = given
    return Subscription(id, condition, dialect=dialect)


def _shape_error(given: Any) -> SubscriptionError:
    expected = "a pair (id, condition), a mapping with 'id' and 'condition', or a Subscription"
    return SubscriptionError(f"expected {expected}; found {given!r:.80}")
