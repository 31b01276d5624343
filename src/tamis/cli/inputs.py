"""What commands read beside subscriptions: event types and named events.

An event's name never depends on other events: it is the value of one attribute, the same for the whole input,
or, where an event has none, its row number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.cli.output import fail
from tamis.events.arrow import python_values
from tamis.events.batch import EventBatch
from tamis.events.conversion import clean, converter, plain
from tamis.events.event_type import EventType
from tamis.events.reading import BATCH_ROWS, Reading, read_events
from tamis.places import is_store
from tamis.values.types import STRING

STDIN = "-"


def source_name(source: str) -> str:
    """How messages call a file."""
    return "standard input" if source == STDIN else source


def check_sources(*sources: str) -> None:
    """Fail early if a file is missing, or two inputs would share standard input."""
    if sources.count(STDIN) > 1:
        fail("only one input can be standard input")
    for source in sources:
        if source != STDIN and "://" not in source and not Path(source).exists():
            fail(f"{source}: no such file")


def load_event_type(path: str | None, subscriptions: str = "") -> EventType:
    """The event type of `--event-type`; by default that of a store of subscriptions, if it has one only."""
    if path is not None:
        return EventType.load(path)
    return _stored_type(subscriptions) if is_store(subscriptions) else EventType()


def _stored_type(url: str) -> EventType:
    from tamis.store import Store

    with Store.open(url, create=False) as store:
        types = store.event_types()
        if len(types) > 1:
            fail(f"{store.url}: has the event types {', '.join(types)}: say which with --event-type")
    return next(iter(types.values()), EventType())


def open_events(
    source: str, event_type: EventType, format: str | None, *, batch_rows: int = BATCH_ROWS
) -> Reading:
    """The events of a file or of standard input; their ids are row numbers."""
    return read_events(source, event_type, format=format, batch_rows=batch_rows)


@dataclass(slots=True)
class Names:
    """How events are called.

    Attributes:
        attribute: Whose value is the name; None to use row numbers.
        found: Did any event have it?
    """

    attribute: str | None
    found: bool = False

    @classmethod
    def of(cls, event_id: str | None, event_type: EventType) -> Names:
        """By the attribute asked for; else by `id`, if the event type declares it or has no declarations."""
        if event_id is not None:
            return cls(event_id)
        declared = event_type.attributes
        has_id = declared is None or any(attribute.name == "id" for attribute in declared)
        return cls("id" if has_id else None)

    def of_rows(self, batch: EventBatch) -> list[int | str]:
        """The name of each event of the batch."""
        numbers: list[int] = batch.ids.to_pylist()
        own = self.own(batch)
        return [number if name is None else name for name, number in zip(own, numbers, strict=True)]

    def own(self, batch: EventBatch) -> list[int | str | None]:
        """The value of the attribute in each event of the batch, None where there is none."""
        if self.attribute is None:
            return [None] * batch.rows
        values = batch.raw((self.attribute,))
        raw = python_values(values) if isinstance(values, pa.Array) else values
        text = converter(STRING, batch.event_type.time_zone)
        names = [_name(value, text) for value in raw]
        self.found = self.found or any(name is not None for name in names)
        return names


def _name(value: Any, text: Callable[[Any], Any]) -> int | str | None:
    if type(value) is int:
        return value
    if type(value) is str:
        return clean(value)
    simple = plain(value)
    name: str | None = None if simple is None else text(simple)
    return name
