"""`tamis subs ...`: the subscriptions of record.

What may be changed and how is decided by the store; here it is shown, and the work is started.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tamis.cli.options import Json, Operators
from tamis.cli.subs_files import TypeName, export, import_
from tamis.cli.subs_store import StoreUrl, opened, stored_record

if TYPE_CHECKING:
    from tamis.store import Change, Store

Expires: TypeAlias = Annotated[
    str | None,
    typer.Option("--expires", metavar="TIME", help="When it ends: 2026-12-31T18:00Z, or 30d from now."),
]
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

subs = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@subs.callback()
def _subs(operators: Operators = None) -> None:
    """Keep subscriptions in a store: who wants what, since when, and everything that ever changed.

    A store is a SQLite file or a PostgreSQL database: --store, or the variable TAMIS_STORE, or tamis.db.

    \b
    Examples:
      tamis subs type camera.json
      tamis subs import cameras.jsonl
      tamis subs add cheap "price < 300" --type camera --owner ines --expires 30d
      tamis subs history cheap
      tamis subs --operators alarms add crowd "people(image) > 50"

    Exit code 0 if all is well; 1 if a condition was refused or an id is not there; 2 if the command could not be
    carried out.
    """


@subs.command()
def add(
    id: Annotated[str, typer.Argument(metavar="ID", help="Of the subscription.")],
    condition: Annotated[str, typer.Argument(metavar="CONDITION", help="What it waits for.")],
    type: TypeName = None,
    owner: Annotated[str | None, typer.Option("--owner", metavar="NAME", help="Whose it is.")] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="TEXT", help="What people call it.")] = None,
    priority: Annotated[
        int | None, typer.Option("--priority", metavar="N", help="Higher ones come first; by default 0.")
    ] = None,
    valid_from: Annotated[
        str | None, typer.Option("--valid-from", metavar="TIME", help="When it starts; by default at once.")
    ] = None,
    expires: Expires = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="If it is there already, change its condition and what else is given."),
    ] = False,
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """Add a subscription.

    \b
    Examples:
      tamis subs add cheap "price < 300" --owner ines
      tamis subs add cheap "price < 200" --replace --expires 30d

    Exit code 1 if the condition is refused or the id is taken, 2 if the store cannot be written.
    """
    from tamis.cli.output import JsonLines, Screen, note
    from tamis.cli.problems import condition_problems
    from tamis.errors import ConditionError, SubscriptionError

    options = {"event_type": type, "owner": owner, "label": label, "priority": priority}
    times = {"valid_from": _time(valid_from, "--valid-from"), "expires": _time(expires, "--expires")}
    given: dict[str, Any] = {name: value for name, value in (options | times).items() if value is not None}
    with opened(store) as opened_store:
        before = opened_store.get(id) if replace and id in opened_store else None
        try:
            change = opened_store.add if before is None else opened_store.replace
            version = change(id, condition, **given)
        except (ConditionError, SubscriptionError) as error:
            if json:
                where = isinstance(error, ConditionError) and condition_problems(error)
                JsonLines().write({"id": id, "problems": where or [{"message": str(error)}]})
            else:
                note(f"subscription {id!r} is refused:\n{error}")
            raise typer.Exit(1) from error
        after = opened_store.get(id)
        if json:
            JsonLines().write({"version": version, "id": id, "revision": after.revision})
        else:
            done = "added" if before is None else "unchanged" if before == after else "changed"
            Screen().say(f"version {version}: {id!r} {done}, revision {after.revision}")


subs.command("import")(import_)
subs.command()(export)


@subs.command()
def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Of the subscriptions.")],
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """Remove subscriptions.

    \b
    Examples:
      tamis subs remove cheap nikon

    Exit code 1 if one of them is not there (the others are removed).
    """
    from tamis.cli.output import JsonLines, Screen, counted, note

    with opened(store, create=False) as opened_store:
        unknown = opened_store.remove_many(ids)
        version, removed = opened_store.version(), len({*ids}) - len(unknown)
        if json:
            JsonLines().write({"version": version, "removed": removed, "unknown": unknown})
        else:
            for id in unknown:
                note(f"there is no subscription {id!r}")
            Screen().say(f"version {version}: {counted(removed, 'subscription')} removed")
    raise typer.Exit(1 if unknown else 0)


@subs.command()
def renew(
    id: Annotated[str, typer.Argument(metavar="ID", help="Of the subscription.")],
    expires: Expires = None,
    never: Annotated[bool, typer.Option("--never", help="It does not expire at all.")] = False,
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """Set when a subscription expires.

    \b
    Examples:
      tamis subs renew cheap --expires 30d
      tamis subs renew cheap --never

    Exit code 2 if there is no such subscription, or the time is over.
    """
    from tamis.cli.output import JsonLines, Screen, fail

    if (expires is None) != never:
        fail("expected --expires or --never")
    with opened(store, create=False) as opened_store:
        version = opened_store.renew(id, _time(expires, "--expires"))
        until = opened_store.get(id).expires
        if json:
            shown = None if until is None else until.isoformat()
            JsonLines().write({"version": version, "id": id, "expires": shown})
        else:
            Screen().say(f"version {version}: {id!r} expires {'never' if until is None else _shown(until)}")


@subs.command("list")
def list_(
    owner: Annotated[str | None, typer.Option("--owner", metavar="NAME", help="Of this owner only.")] = None,
    type: Annotated[str | None, typer.Option("--type", metavar="NAME", help="To this event type only.")] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="TEXT", help="With this label only.")] = None,
    prefix: Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Whose ids start so.")] = "",
    after: Annotated[
        str, typer.Option("--after", metavar="ID", help="Whose ids come after this one, for the next page.")
    ] = "",
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="At most so many.")] = None,
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """List subscriptions by id.

    \b
    Examples:
      tamis subs list --owner ines
      tamis subs list --limit 100 --after cheap --json

    Exit code 2 if there is no store.
    """
    from tamis.cli.output import JsonLines, print_table

    with opened(store, create=False) as opened_store, opened_store.view() as view:
        found = view.listed(owner=owner, event_type=type, label=label, prefix=prefix, after=after, limit=limit)
        if json:
            lines = JsonLines()
            for each in found:
                lines.write(stored_record(each))
                if lines.closed:
                    break
            return
        titles = ("id", "revision", "type", "priority", "owner", "state", "expires (UTC)", "condition")
        print_table(
            titles,
            (
                (
                    each.id,
                    str(each.revision),
                    each.event_type,
                    str(each.priority),
                    each.owner or "",
                    each.state if each.refusal is None else "refused",
                    "" if each.expires is None else _shown(each.expires),
                    " ".join(each.condition.split()),
                )
                for each in found
            ),
        )


@subs.command()
def history(
    id: Annotated[str, typer.Argument(metavar="ID", help="Of the subscription.")],
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """Show every change of a subscription, the oldest first.

    \b
    Examples:
      tamis subs history cheap

    Exit code 1 if there never was such a subscription, or its changes have been cut.
    """
    from tamis.cli.output import JsonLines, note, print_table

    with opened(store, create=False) as opened_store:
        found, trimmed = opened_store.history(id), opened_store.trimmed()
        if trimmed:
            note(f"tamis: the changes up to version {trimmed} have been cut")
        if json:
            lines = JsonLines()
            for change in found:
                lines.write(_change_record(change))
        elif found:
            print_table(
                ("version", "at (UTC)", "change", "revision", "type", "owner", "expires (UTC)", "condition"),
                (
                    (
                        str(change.version),
                        _shown(change.at),
                        change.kind,
                        str(change.revision),
                        change.event_type,
                        change.owner or "",
                        "" if change.expires is None else _shown(change.expires),
                        " ".join(change.condition.split()),
                    )
                    for change in found
                ),
            )
        else:
            note(f"there is no change of a subscription {id!r}")
    raise typer.Exit(0 if found else 1)


@subs.command("type")
def type_(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="The event type to declare, a JSON file.")
    ] = None,
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """Declare an event type or change the one of that name; without a file, list them.

    The conditions of its subscriptions are compiled again. What is now refused is named and not matched, and
    comes back when it compiles again.

    \b
    Examples:
      tamis subs type camera.json
      tamis subs type

    Exit code 1 if subscriptions are refused, 2 if the event type cannot be read.
    """
    from tamis.cli.inputs import load_event_type
    from tamis.cli.output import reported_errors

    if file is None:
        with opened(store, create=False) as opened_store:
            _list_types(opened_store, as_json=json)
        return
    with reported_errors():
        event_type = load_event_type(file)
    with opened(store) as opened_store:
        refused = _declared(opened_store, event_type, as_json=json)
    raise typer.Exit(1 if refused else 0)


def _declared(store: Store, event_type: Any, *, as_json: bool) -> int:
    """Set the type and say what is refused; gives how many."""
    from tamis.cli.output import JsonLines, Screen, counted, note

    refusals = store.set_event_type(event_type)
    for refusal in refusals if not as_json else ():
        note(f"subscription {refusal.id!r} is refused:\n{refusal.error}")
    if as_json:
        refused = [{"id": refusal.id, "message": str(refusal.error)} for refusal in refusals]
        JsonLines().write({"version": store.version(), "event_type": event_type.name, "refused": refused})
    else:
        said = f", {counted(len(refusals), 'subscription')} refused" if refusals else ""
        Screen().say(f"version {store.version()}: event type {event_type.name!r} declared{said}")
    return len(refusals)


def _list_types(store: Store, *, as_json: bool) -> None:
    from tamis.cli.output import JsonLines, Screen

    for name, event_type in store.event_types().items():
        if as_json:
            JsonLines().write(event_type.to_dict())
        else:
            attributes = event_type.attributes
            described = "schemaless" if attributes is None else ", ".join(each.name for each in attributes)
            Screen().say(f"{name}: {described}")


def _change_record(change: Change) -> dict[str, Any]:
    from dataclasses import asdict

    record = asdict(change)
    for key in ("at", "valid_from", "expires"):
        record[key] = None if record[key] is None else record[key].isoformat()
    return record


def _shown(time: datetime) -> str:
    return time.isoformat(" ", "seconds")[:19]


def _time(text: str | None, option: str) -> datetime | None:
    """`2026-12-31T18:00Z`, or `30d` from now."""
    from tamis.cli.output import fail

    if text is None:
        return None
    duration = _DURATION.fullmatch(text)
    if duration is not None:
        return datetime.now(UTC) + timedelta(seconds=float(duration[1]) * _UNITS[duration[2]])
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        fail(f"{option}: expected a time, as 2026-12-31T18:00Z, or a duration, as 12h or 30d, found {text!r}")
