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
from tamis.segments.fields import check_matcher_fields, check_optional_text, check_priority
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
    check_matcher_fields(table.column_names, "column")
    missing = [name for name in ("id", "condition") if name not in table.column_names]
    if missing:
        msg = f"the table has no column {missing[0]!r}; it has {', '.join(table.column_names)}"
        raise SubscriptionError(msg)
    ids, conditions = pc.fill_null(_text_column(table, "id"), ""), _text_column(table, "condition")
    owners, labels, dialects = (_text_column(table, name) for name in ("owner", "label", "dialect"))
    dialects = pc.fill_null(dialects, dialect)
    dialects = pc.if_else(pc.equal(dialects, SQL), None, dialects)
    priorities = _integer_column(table, "priority", pa.int64(), 0)
    revisions = _integer_column(table, "revision", pa.int32(), 1)
    return Columns(ids, conditions, owners, priorities, revisions, labels, dialects, conditions)


def _text_column(table: pa.Table, name: str) -> pa.LargeStringArray:
    """A column of the table as texts, null where it is not there."""
    if name not in table.column_names:
        return pa.nulls(table.num_rows, pa.large_string())
    try:
        return texts_of(table[name])
    except pa.ArrowException as error:
        msg = f"column {name!r}: expected texts, found {table[name].type}"
        raise SubscriptionError(msg) from error


def _integer_column(table: pa.Table, name: str, type_: pa.DataType, default: int) -> Any:
    """A column of the table as integers, the default where there is none."""
    if name not in table.column_names:
        return np.full(table.num_rows, default, type_.to_pandas_dtype())
    column = table[name]
    try:
        # A text that looks like a number is none, as in a mapping; a float that is whole comes from pandas.
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or column.type == pa.null()):
            raise pa.ArrowTypeError
        return pc.fill_null(column.cast(type_), default).to_numpy()
    except pa.ArrowException as error:
        msg = f"column {name!r}: expected integers of {type_.bit_width} bits, found {column.type}"
        detail = f": {error}" if str(error) else ""
        raise SubscriptionError(msg + detail) from error


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
        return _check_fields(given)
    if isinstance(given, Mapping):
        if not {"id", "condition"} <= given.keys():
            raise _shape_error(given)
        check_matcher_fields(given)
        priority, revision = given.get("priority"), given.get("revision")
        return _check_fields(
            Subscription(
                given["id"],
                given["condition"],
                0 if priority is None else priority,
                given.get("owner"),
                1 if revision is None else revision,
                given.get("label"),
                given.get("dialect") or dialect,
            )
        )
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise _shape_error(given)
    id, condition = given
    return Subscription(id, condition, dialect=dialect)


def _check_fields(given: Subscription) -> Subscription:
    """The same; what is wrong with its id or condition is said when it is added.

    Raises:
        SubscriptionError: Another field is not what it should be.
    """
    id = _id(given.id)
    check_priority(id, given.priority)
    revision: object = given.revision
    if not isinstance(revision, int) or isinstance(revision, bool) or not 0 < revision < 1 << 31:
        msg = f"revision: expected an integer from 1 to {(1 << 31) - 1}, found {revision!r:.80}"
        raise SubscriptionError(msg, id=id)
    for name in ("owner", "label", "dialect"):
        check_optional_text(id, name, getattr(given, name))
    return given


def _shape_error(given: Any) -> SubscriptionError:
    expected = "a pair (id, condition), a mapping with 'id' and 'condition', or a Subscription"
    return SubscriptionError(f"expected {expected}; found {given!r:.80}")
