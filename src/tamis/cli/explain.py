"""`tamis explain`: why an event satisfies a subscription, or why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import (
    Dialect,
    EventId,
    EventsFile,
    EventsFormat,
    EventTypeFile,
    Json,
    Operators,
    SubscriptionsFile,
)

if TYPE_CHECKING:
    from tamis.cli.inputs import EventNames
    from tamis.cli.subscriptions import SubscriptionEntry
    from tamis.events.batch import EventBatch
    from tamis.events.event_type import EventType
    from tamis.events.reading import EventReader

# An explanation evaluates whole columns of its batch to show one row, so batches are small.
_BATCH_ROWS = 1_024
_IDS_SHOWN = 5


def explain(
    subscriptions: SubscriptionsFile,
    id: Annotated[str, typer.Option("--id", metavar="ID", help="The subscription.")],
    events: EventsFile,
    event: Annotated[
        str,
        typer.Option("--event", metavar="NAME", help="The event: its id or row number, as match prints it."),
    ],
    event_type: EventTypeFile = None,
    operators: Operators = None,
    event_id: EventId = None,
    format: EventsFormat = None,
    dialect: Dialect = "sql",
    time: Annotated[
        str, typer.Option("--time", metavar="NAME", help="The attribute with times, for composite subscriptions.")
    ] = "time",
    json: Json = False,
) -> None:
    """Explain why an event satisfies a subscription, or why not.

    Prints a sentence, then every part of the condition with its verdict and the values that it read, then the
    calls of operators. NAME is the id of an event or, if no event has that id, its row number, counted from 0.

    For a composite subscription, it reports on the key of the event, over all events of the file: which
    matches are complete, which are open and until when, and why others were not completed.

    \b
    Examples:
      tamis explain --subscriptions cameras.jsonl --id bargain --events events.jsonl --event e3
      tamis explain --subscriptions alerts.txt --id 7 --events log.csv --event 1200 --json

    Exit code 0 whether the event matches or not; 1 if the subscription is refused; 2 if there is no such
    subscription or event, or a file cannot be read.
    """
    from tamis.cli.inputs import EventNames, check_sources, load_event_type, open_events, source_name
    from tamis.cli.output import JsonLines, Screen, fail, note, printing_errors
    from tamis.cli.problems import refusal_text
    from tamis.cli.subscriptions import read_subscriptions
    from tamis.cli.trees import explanation_tree
    from tamis.errors import ConditionError
    from tamis.explain import explain as explained
    from tamis.language.condition import compile_record
    from tamis.language.dialects import has_state
    from tamis.urls import is_store

    with printing_errors():
        check_sources(subscriptions, events)
        type_ = load_event_type(event_type, subscriptions)
        name = None if event_type is None and not is_store(subscriptions) else type_.name
        entries = read_subscriptions(subscriptions, event_type=name, dialect=dialect)
        entry = _entry(entries, id, source_name(subscriptions))
        try:
            condition = None
            if not entry.problems:
                condition = compile_record(entry.condition, type_, dialect=entry.dialect)
        except ConditionError as error:
            note(refusal_text(entry, error))
            raise typer.Exit(1) from error
        if condition is None:
            note(refusal_text(entry, None))
            raise typer.Exit(1)
        reading = open_events(events, type_, format, batch_rows=_BATCH_ROWS)
        if has_state(entry.dialect):
            _explain_composite(
                entry, type_, reading, EventNames.of(event_id, type_), event, time, source_name(events), json=json
            )
            return
        found = find_event(reading, EventNames.of(event_id, type_), event)
        if found is None:
            fail(_missing_event(source_name(events), event))
        batch, row = found
        explanation = explained(condition, batch, row=row, subscription_id=id)
        if json:
            JsonLines().write(explanation.to_dict())
        else:
            screen = Screen()
            screen.say(explanation.reason, style="bold")
            screen.print(explanation_tree(explanation))
            for call in explanation.calls:
                screen.say(str(call))


def _explain_composite(
    entry: SubscriptionEntry,
    event_type: EventType,
    reading: EventReader,
    names: EventNames,
    event: str,
    time: str,
    file: str,
    *,
    json: bool,
) -> None:
    """What became of the key of an event."""
    from tamis.cli.output import JsonLines, Screen, fail, note
    from tamis.cli.problems import refusal_text
    from tamis.composite.trial import try_composite
    from tamis.errors import ConditionError

    events: list[dict[str, Any]] = []
    chosen = None
    for batch in reading:
        numbers = zip(names.own(batch), batch.ids.to_pylist(), strict=True)
        for each, (name, number) in zip(_dicts(batch), numbers, strict=True):
            events.append(each)
            if event in (str(name), str(number)):
                chosen = events[-1] if chosen is None or str(name) == event else chosen
    if chosen is None:
        fail(_missing_event(file, event))
    try:
        trial = try_composite(entry.condition, events, event_type, time=time, key=chosen)
    except ConditionError as error:
        note(refusal_text(entry, error))
        raise typer.Exit(1) from error
    if json:
        JsonLines().write(trial.to_dict())
    else:
        Screen().say(str(trial))


def _dicts(batch: EventBatch) -> list[dict[str, Any]]:
    """The events of a batch as dicts."""
    columns = {name: batch.raw((name,)) for _, name in batch.names()}
    listed = {name: each.to_pylist() if hasattr(each, "to_pylist") else each for name, each in columns.items()}
    return [
        {name: each[row] for name, each in listed.items() if each[row] is not None} for row in range(batch.rows)
    ]


def _entry(entries: list[SubscriptionEntry], id: str, file: str) -> SubscriptionEntry:
    from difflib import get_close_matches

    from tamis.cli.output import fail

    for entry in entries:
        if entry.id == id:
            return entry
    close = get_close_matches(id, [entry.id for entry in entries], 3)
    if close:
        fail(f"{file}: there is no subscription {id!r}; did you mean {' or '.join(map(repr, close))}?")
    known = [repr(entry.id) for entry in entries[:_IDS_SHOWN]]
    more = f" and {len(entries) - len(known):,} more" if len(entries) > len(known) else ""
    there = f"its ids are {', '.join(known)}{more}" if known else "it has none"
    fail(f"{file}: there is no subscription {id!r}; {there}")


def _missing_event(file: str, event: str) -> str:
    ids = "`tamis match` prints the ids of events, `--event 0` is the first one"
    return f"{file}: there is no event {event!r}; {ids}"


def find_event(reading: EventReader, names: EventNames, event: str) -> tuple[EventBatch, int] | None:
    """The batch and row of the event with this id or, if there is none, with this row number."""
    by_number = None
    for batch in reading:
        for row, (name, number) in enumerate(zip(names.own(batch), batch.ids.to_pylist(), strict=True)):
            if name is not None and str(name) == event:
                return batch, row
            if str(number) == event:
                by_number = batch, row
    return by_number
