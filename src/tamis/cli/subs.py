"""`tamis subs ...`: the subscriptions in a store.

The store defines what may change and how; the commands call it and print the results.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tamis.cli.options import Condition, ConditionDialect, Json, Label, Operators, Priority
from tamis.cli.subs_files import TypeName, export, import_
from tamis.cli.subs_store import StoreUrl, open_store, stored_record
from tamis.cli.subs_types import types

if TYPE_CHECKING:
    from tamis.store import ChangeLogEntry

Expires: TypeAlias = Annotated[
    str | None,
    typer.Option("--expires", metavar="TIME", help="When it expires: 2026-12-31T18:00Z, or 30d from now."),
]

subs = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@subs.callback()
def _subs(operators: Operators = None) -> None:
    """Manage subscriptions in a store, which also keeps every change of them.

    A store is a SQLite file or a PostgreSQL database, given by --store or the variable TAMIS_STORE; by default the
    file tamis.db.

    \b
    Examples:
      tamis subs type camera.json
      tamis subs import cameras.jsonl
      tamis subs add cheap "price < 300" --type camera --owner ines --expires 30d
      tamis subs history cheap
      tamis subs --operators alarms add crowd "people(image) > 50"

    Exit code 0 on success; 1 if a condition was refused or an id is unknown; 2 if the command could not be carried
    out.
    """


@subs.command()
def add(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of the subscription.")],
    condition: Condition,
    type: TypeName = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="NAME", help="The owner of the subscription.")
    ] = None,
    label: Label = None,
    priority: Priority = None,
    valid_from: Annotated[
        str | None, typer.Option("--valid-from", metavar="TIME", help="When it becomes valid; by default at once.")
    ] = None,
    expires: Expires = None,
    dialect: ConditionDialect = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="If the id exists, change its condition and the other given fields."),
    ] = False,
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """Add a subscription.

    Without --type, it is to the only declared event type; if there are several or none, to `event`, which is
    schemaless, so that names of attributes are not checked.

    \b
    Examples:
      tamis subs add cheap "price < 300" --owner ines
      tamis subs add cheap "price < 200" --replace --expires 30d
      tamis subs add stopped '{"detail": {"state": ["stopped"]}}' --dialect eventbridge

    Exit code 1 if the condition is refused or the id is taken, 2 if the store cannot be written.
    """
    from tamis.cli.output import JsonLines, Screen, note
    from tamis.cli.problems import condition_problems
    from tamis.errors import ConditionError, SubscriptionError

    options = {"event_type": type, "owner": owner, "label": label, "priority": priority, "dialect": dialect}
    times = {"valid_from": _time(valid_from, "--valid-from"), "expires": _time(expires, "--expires")}
    given: dict[str, Any] = {name: value for name, value in (options | times).items() if value is not None}
    with open_store(store) as opened_store:
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
            JsonLines().write({"store_version": version, "id": id, "revision": after.revision})
        else:
            done = "added" if before is None else "unchanged" if before == after else "changed"
            Screen().say(f"store version {version}: {id!r} {done}, revision {after.revision}")


subs.command("import")(import_)
subs.command()(export)
subs.add_typer(types, name="type")


@subs.command()
def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The ids of the subscriptions.")],
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """Remove subscriptions.

    \b
    Examples:
      tamis subs remove cheap nikon

    Exit code 1 if one of the ids is unknown (the others are removed).
    """
    from tamis.cli.output import JsonLines, Screen, count_text, note

    with open_store(store, create=False) as opened_store:
        unknown = opened_store.remove_many(ids)
        version, removed = opened_store.version(), len({*ids}) - len(unknown)
        if json:
            JsonLines().write({"store_version": version, "removed": removed, "unknown": unknown})
        else:
            for id in unknown:
                note(f"there is no subscription {id!r}")
            Screen().say(f"store version {version}: {count_text(removed, 'subscription')} removed")
    raise typer.Exit(1 if unknown else 0)


@subs.command()
def renew(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of the subscription.")],
    expires: Expires = None,
    never: Annotated[bool, typer.Option("--never", help="The subscription does not expire.")] = False,
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """Set when a subscription expires.

    \b
    Examples:
      tamis subs renew cheap --expires 30d
      tamis subs renew cheap --never

    Exit code 2 if there is no such subscription, or the time has passed.
    """
    from tamis.cli.output import JsonLines, Screen, fail

    if (expires is None) != never:
        fail("expected --expires or --never")
    with open_store(store, create=False) as opened_store:
        version = opened_store.renew(id, _time(expires, "--expires"))
        until = opened_store.get(id).expires
        if json:
            shown = None if until is None else until.isoformat()
            JsonLines().write({"store_version": version, "id": id, "expires": shown})
        else:
            Screen().say(
                f"store version {version}: {id!r} expires {'never' if until is None else _time_text(until)}"
            )


@subs.command("list")
def list_(
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="NAME", help="Only subscriptions of this owner.")
    ] = None,
    type: Annotated[
        str | None, typer.Option("--type", metavar="NAME", help="Only subscriptions to this event type.")
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="TEXT", help="Only subscriptions with this label.")
    ] = None,
    prefix: Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Only ids with this prefix.")] = "",
    after: Annotated[
        str, typer.Option("--after", metavar="ID", help="Only ids after this one, for the next page.")
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="The greatest number of subscriptions.")
    ] = None,
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
    from tamis.cli.output import JsonLines, dialect_titles, print_table

    with open_store(store, create=False) as opened_store, opened_store.view() as view:
        found = view.subscriptions(
            owner=owner, event_type=type, label=label, prefix=prefix, after=after, limit=limit
        )
        if json:
            lines = JsonLines()
            for each in found:
                lines.write(stored_record(each))
                if lines.closed:
                    break
            return
        listed = list(found)
        dialects = dialect_titles(listed)
        titles = ("id", "revision", "type", "priority", "owner", "state", "expires (UTC)")
        print_table(
            (*titles, *dialects, "condition"),
            (
                (
                    each.id,
                    str(each.revision),
                    each.event_type,
                    str(each.priority),
                    each.owner or "",
                    each.state if each.refusal is None else "refused",
                    "" if each.expires is None else _time_text(each.expires),
                    *((each.dialect,) if dialects else ()),
                    " ".join(each.condition.split()),
                )
                for each in listed
            ),
        )


@subs.command()
def history(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of the subscription.")],
    store: StoreUrl = "tamis.db",
    json: Json = False,
) -> None:
    """Show every change of a subscription, the oldest first.

    \b
    Examples:
      tamis subs history cheap

    Exit code 1 if there never was such a subscription, or its changes have been trimmed.
    """
    from tamis.cli.output import JsonLines, dialect_titles, note, print_table

    with open_store(store, create=False) as opened_store:
        found, trimmed = opened_store.history(id), opened_store.trimmed()
        if trimmed:
            note(f"tamis: the changes up to store version {trimmed} have been trimmed")
        if json:
            lines = JsonLines()
            for change in found:
                lines.write(_change_record(change))
        elif found:
            has_actors = any(change.actor for change in found)
            dialects = dialect_titles(found)
            columns = ("store version", "at (UTC)", "change", "revision", "type", "owner", "expires (UTC)")
            print_table(
                (*columns, *(("by",) if has_actors else ()), *dialects, "condition"),
                (
                    (
                        str(change.store_version),
                        _time_text(change.at),
                        change.kind,
                        str(change.revision),
                        change.event_type,
                        change.owner or "",
                        "" if change.expires is None else _time_text(change.expires),
                        *((change.actor or "",) if has_actors else ()),
                        *((change.dialect,) if dialects else ()),
                        " ".join(change.condition.split()),
                    )
                    for change in found
                ),
            )
        else:
            note(f"there is no change of a subscription {id!r}")
    raise typer.Exit(0 if found else 1)


def _change_record(change: ChangeLogEntry) -> dict[str, Any]:
    from dataclasses import asdict

    record = asdict(change)
    for key in ("at", "valid_from", "expires"):
        record[key] = None if record[key] is None else record[key].isoformat()
    return record


def _time_text(time: datetime) -> str:
    return time.isoformat(" ", "seconds")[:19]


def _time(text: str | None, option: str) -> datetime | None:
    """The time of an option; a duration is added to the current time."""
    from tamis.cli.times import read_time

    if text is None:
        return None
    time = read_time(text, option)
    return datetime.now(UTC) + time if isinstance(time, timedelta) else time
