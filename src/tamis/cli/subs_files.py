"""`tamis subs import` and `tamis subs export`: subscriptions between files and a store."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Mapping
from dataclasses import replace as replaced
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tamis.cli.options import Dialect, Json, Quiet
from tamis.cli.subs_store import StoreUrl, given_record, open_store

if TYPE_CHECKING:
    from tamis.cli.subscriptions import SubscriptionEntry
    from tamis.errors import TamisError
    from tamis.events.event_type import EventType
    from tamis.store import ImportResult, Store

TypeName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="NAME",
        help="The event type; by default the only declared one, else 'event', which is schemaless.",
    ),
]

_COUNTS = ("added", "replaced", "edited", "unchanged")


def import_(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="As for match; - for standard input.")],
    type: TypeName = None,
    replace: Annotated[bool, typer.Option("--replace", help="Change subscriptions whose ids exist.")] = False,
    types: Annotated[
        str | None,
        typer.Option("--types", metavar="FILE", help="Declare the event types of this file first, one per line."),
    ] = None,
    dialect: Dialect = "sql",
    store: StoreUrl = "tamis.db",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add the subscriptions of files, all in one store version.

    The files are those of `tamis match`, and may also have the fields label, valid_from, expires and state. The
    event_type of a subscription takes precedence over --type. Refused subscriptions are reported; the others are
    added.

    \b
    Examples:
      tamis subs import cameras.jsonl
      tamis subs import all.jsonl --types types.jsonl --store postgresql://host/db
      tamis subs import rules.jsonl --dialect eventbridge

    Exit code 0 if all subscriptions are valid, 1 if some were refused, 2 if nothing could be read or written.
    """
    from tamis.cli.inputs import check_sources
    from tamis.cli.output import JsonLines, Screen, note, printing_errors, steps
    from tamis.errors import SubscriptionError

    with printing_errors(), steps(shown=not quiet and not json) as step:
        check_sources(*files)
        step("reading")
        entries, records = _read_entries(files, type, dialect)
        declared = _read_types(types)
        with open_store(store) as opened_store:
            for event_type in declared:
                opened_store.set_event_type(event_type)
            step(f"compiling and storing {len(records):,} subscriptions")
            imported, errors = _store_records(opened_store, entries, records, replace=replace)
            schemaless = [name for name, each in opened_store.event_types().items() if each.attributes is None]
        refused = {place: None for place, entry in enumerate(entries) if entry.problems} | errors
    _report(entries, refused, as_json=json)
    if not json and any(isinstance(each, SubscriptionError) and each.event_type for each in errors.values()):
        note("tamis: declare event types with `tamis subs type FILE`, or import them with --types")
    if json:
        counts = {name: getattr(imported, name) for name in ("store_version", *_COUNTS)}
        JsonLines().write({**counts, "event_types": imported.by_type, "refused": len(refused)})
    else:
        done = ", ".join(f"{getattr(imported, name):,} {name}" for name in _COUNTS)
        screen = Screen()
        screen.say(f"store version {imported.store_version}: {done}, {len(refused):,} refused")
        for name, count in imported.by_type.items():
            loose = ", which is schemaless: names of attributes are not checked" if name in schemaless else ""
            screen.say(f"  {count:,} to event type {name}{loose}")
    raise typer.Exit(1 if refused else 0)


def export(
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="The output file; by default standard output."),
    ] = None,
    types: Annotated[
        str | None,
        typer.Option("--types", metavar="FILE", help="Write the event types to this file, one per line."),
    ] = None,
    store: StoreUrl = "tamis.db",
) -> None:
    """Write all subscriptions as JSON lines, which `tamis subs import` reads.

    A line has everything that was given for a subscription, and whether it is paused. With --types the two files
    are a backup of all that the store has, but for its history.

    \b
    Examples:
      tamis subs export --output all.jsonl
      tamis subs export --output all.jsonl --types types.jsonl

    Exit code 2 if there is no store, or the file cannot be written.
    """
    from tamis.cli.output import as_json, open_output

    with (
        open_store(store, create=False) as opened_store,
        opened_store.view() as view,
        open_output(output) as lines,
    ):
        if types is not None:
            with open_output(types) as type_lines:
                for event_type in view.event_types().values():
                    type_lines.write_bytes(as_json(event_type.to_dict()) + b"\n")
        for stored in view.subscriptions():
            lines.write_bytes(as_json(given_record(stored)) + b"\n")
            if lines.closed:
                break
        lines.flush()


def _read_entries(
    files: list[str], event_type: str | None, dialect: str
) -> tuple[list[SubscriptionEntry], dict[int, dict[str, Any]]]:
    """The entries of all files, and the records of those without problems by index."""
    from tamis.cli.subscriptions import read_subscriptions

    entries: list[SubscriptionEntry] = []
    records: dict[int, dict[str, Any]] = {}
    places: dict[str, str] = {}
    for source in files:
        for each in read_subscriptions(source, dialect=dialect):
            entry = each
            if not entry.problems and entry.id in places:
                problem = f"there is already a subscription {entry.id!r}, at {places[entry.id]}"
                entry = replaced(entry, problems=(problem,))
            if not entry.problems:
                places[entry.id] = entry.place
                records[len(entries)] = {
                    "id": entry.id,
                    "condition": entry.condition,
                    "dialect": entry.dialect,
                    "event_type": entry.event_type or event_type,
                    "owner": entry.owner,
                    "priority": entry.priority,
                    **entry.stored,
                }
            entries.append(entry)
    return entries, records


def _read_types(path: str | None) -> list[EventType]:
    """The event types of a file that `export --types` has written.

    Raises:
        EventTypeError: One of them is none.
    """
    from tamis.errors import EventTypeError
    from tamis.events.event_type import EventType

    found = []
    for number, line in enumerate([] if path is None else Path(path).read_bytes().split(b"\n"), 1):
        if line.strip():
            try:
                found.append(EventType.from_dict(json_.loads(line)))
            except (ValueError, RecursionError) as error:
                msg = f"{path}: line {number}: not an event type as JSON: {error}"
                raise EventTypeError(msg) from error
    return found


def _store_records(
    store: Store,
    entries: list[SubscriptionEntry],
    records: dict[int, dict[str, Any]],
    *,
    replace: bool,
) -> tuple[ImportResult, dict[int, TamisError]]:
    """Add the records; returns the result, and the errors of refused records by index."""
    imported = store.add_many(records.values(), replace=replace)
    places = {entries[place].id: place for place in records}
    return imported, {places[refusal.id]: refusal.error for refusal in imported.refusals}


def _report(entries: list[SubscriptionEntry], refused: Mapping[int, TamisError | None], *, as_json: bool) -> None:
    """Report the refused subscriptions on standard error."""
    from tamis.cli.output import JsonLines
    from tamis.cli.problems import report_refusal

    lines = JsonLines(sys.stderr.buffer) if as_json else None
    for place, error in sorted(refused.items(), key=lambda item: item[0]):
        report_refusal(entries[place], error, lines)
