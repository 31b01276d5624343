"""Inputs of commands other than subscriptions: event types, and events with their names.

The name of an event never depends on other events: it is the value of one attribute, the same for the whole
input, or its row number if it lacks the attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.cli.output import fail, missing_file
from tamis.events.arrow import python_values
from tamis.events.batch import EventBatch
from tamis.events.conversion import clean, converter, plain
from tamis.events.event_type import EventType
from tamis.events.reading import BATCH_ROWS, EventReader, read_events
from tamis.urls import is_store
from tamis.values.types import STRING

STDIN = "-"


def source_name(source: str) -> str:
    """The name of an input in messages."""
    return "standard input" if source == STDIN else source


def check_sources(*sources: str) -> None:
    """Fail if a file is missing, or if two inputs are standard input."""
    if sources.count(STDIN) > 1:
        fail("only one input can be standard input")
    for source in sources:
        if source != STDIN and "://" not in source and not Path(source).exists():
            fail(missing_file(source))


def load_event_type(path: str | None, subscriptions: str = "") -> EventType:
    """The event type of `--event-type`; by default the only one of a store of subscriptions, or schemaless."""
    if path is not None:
        return EventType.load(path)
    return _stored_type(subscriptions) if is_store(subscriptions) else EventType()


def _stored_type(url: str) -> EventType:
    from tamis.store import Store

    with Store.open(url, create=False) as store, store.view() as view:
        living = view.count_by_type()
        types = {name: each for name, each in view.event_types().items() if name in living or not living}
        if len(types) > 1:
            fail(f"{store.url}: has the event types {', '.join(types)}: choose one with --event-type")
    return next(iter(types.values()), EventType())


def open_events(
    source: str, event_type: EventType, format: str | None, *, batch_rows: int = BATCH_ROWS
) -> EventReader:
    """The events of a file or of standard input; their ids are row numbers."""
    return read_events(source, event_type, format=format, batch_rows=batch_rows)


@dataclass(slots=True)
class EventNames:
    """The naming of events.

    Attributes:
        attribute: The attribute whose value is the name; None for row numbers.
        found: Whether any event had the attribute.
    """

    attribute: str | None
    found: bool = False

    @classmethod
    def of(cls, event_id: str | None, event_type: EventType) -> EventNames:
        """Names by the given attribute; else by `id`, if the event type declares it or is schemaless."""
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
