"""Names of events: the value of one attribute, as text.

The text depends on the event alone: an integer as digits, a string as it is, anything else as Spark's cast to
string writes it.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tamis.events.batch import EventBatch
from tamis.events.conversion import clean, converter, plain
from tamis.values.types import STRING


def event_names(batch: EventBatch, attribute: str) -> pa.StringArray:
    """The name of each event, null where it has none; an empty text is none."""
    values = batch.raw((attribute,))
    if isinstance(values, pa.Array) and (pa.types.is_string(values.type) or pa.types.is_integer(values.type)):
        names = values.cast(pa.string())
    else:
        text = converter(STRING, batch.event_type.time_zone)
        listed = values.to_pylist() if isinstance(values, pa.Array) else values
        names = pa.array([_name(value, text) for value in listed], pa.string())
    return pc.if_else(pc.equal(names, ""), None, names)


def _name(value: Any, text: Any) -> str | None:
    if type(value) is str:
        return clean(value)
    simple = plain(value)
    name: str | None = None if simple is None else text(simple)
    return name
