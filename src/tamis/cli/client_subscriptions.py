"""`tamis client list`, `show`, `pause` and `resume`: the subscriptions of a running service."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.client_service import (
    Id,
    Ticket,
    TicketsFile,
    Token,
    Url,
    answer_record,
    open_client,
    open_with_ticket,
)
from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.client import Subscription


def list_(
    search: Annotated[
        str | None,
        typer.Option("--search", metavar="TEXT", help="Only those with this text in id, label or condition."),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="TEXT", help="Only those with this label.")
    ] = None,
    type: Annotated[str | None, typer.Option("--type", metavar="NAME", help="Only those to this type.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="List at most N.")] = None,
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List subscriptions by id.

    \b
    Examples:
      tamis client list --search nikon
      tamis client list --type camera --limit 100 --json

    Exit code 1 if the service refuses the request, 2 if it cannot be reached.
    """
    from itertools import islice

    from tamis.cli.output import JsonLines, dialect_titles, print_table

    with open_client(url, token, as_json=json) as service:
        found = islice(service.subscriptions(search=search, label=label, event_type=type), limit)
        if json:
            lines = JsonLines()
            for each in found:
                lines.write(answer_record(each))
                if lines.closed:
                    break
            return
        listed = list(found)
        dialects = dialect_titles(listed)
        print_table(
            ("id", "state", "type", "expires (UTC)", "delivery", "label", *dialects, "condition"),
            (
                (
                    each.id,
                    _state(each),
                    each.event_type,
                    _time_text(each.expires),
                    each.delivery.kind,
                    each.label or "",
                    *((each.dialect,) if dialects else ()),
                    " ".join(each.condition.split()),
                )
                for each in listed
            ),
        )


def show(
    id: Id,
    history: Annotated[bool, typer.Option("--history", help="Show every change of it, too.")] = False,
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Show a subscription: its condition, its state, how it is delivered and when it ends.

    \b
    Examples:
      tamis client show cheap
      tamis client show cheap --history --json

    Exit code 1 if there is no such subscription, 2 if the service cannot be reached.
    """
    from tamis.cli.output import JsonLines, Screen, print_table

    with open_client(url, token, as_json=json) as service:
        found = service.get(id)
        changes = service.history(id) if history else ()
        if json:
            more = {"history": [answer_record(change) for change in changes]} if history else {}
            JsonLines().write({**answer_record(found), **more})
            return
        delivery = found.delivery
        delivered = [delivery.kind, delivery.url, delivery.state, delivery.reason]
        facts = {
            "id": found.id,
            "label": found.label,
            "condition": found.condition,
            "dialect": None if found.dialect == "sql" else found.dialect,
            "event type": found.event_type,
            "state": _state(found),
            "refused": found.refusal,
            "revision": str(found.revision),
            "priority": str(found.priority),
            "delivery": ", ".join(filter(None, delivered)),
            "valid from (UTC)": _time_text(found.valid_from),
            "expires (UTC)": _time_text(found.expires) or "never",
            "created (UTC)": _time_text(found.created),
            "changed (UTC)": _time_text(found.changed),
        }
        shown = {name: value for name, value in facts.items() if value}
        width = max(map(len, shown))
        for name, value in shown.items():
            Screen().say(f"{name.ljust(width)}  {value}")
        if changes:
            print_table(
                ("at (UTC)", "change", "state after it", "revision", "expires (UTC)", "by"),
                (
                    (
                        _time_text(change.at),
                        change.kind,
                        change.state or "",
                        str(change.revision),
                        _time_text(change.expires),
                        change.actor or "",
                    )
                    for change in changes
                ),
            )


def pause(
    id: Id,
    ticket: Ticket = None,
    url: Url = None,
    token: Token = None,
    tickets: TicketsFile = None,
    json: Json = False,
) -> None:
    """Leave a subscription out of matching until it is resumed; it expires all the same.

    \b
    Examples:
      tamis client pause cheap

    Exit code 1 if there is no such subscription or the ticket is wrong, 2 if the service cannot be reached.
    """
    _set_paused(id, ticket, url, token, tickets, paused=True, as_json=json)


def resume(
    id: Id,
    ticket: Ticket = None,
    url: Url = None,
    token: Token = None,
    tickets: TicketsFile = None,
    json: Json = False,
) -> None:
    """Match a paused subscription again.

    \b
    Examples:
      tamis client resume cheap

    Exit code 1 if there is no such subscription or the ticket is wrong, 2 if the service cannot be reached.
    """
    _set_paused(id, ticket, url, token, tickets, paused=False, as_json=json)


def _set_paused(
    id: str,
    ticket: str | None,
    url: str | None,
    token: str | None,
    tickets: str | None,
    *,
    paused: bool,
    as_json: bool,
) -> None:
    from tamis.cli.output import JsonLines, Screen

    with open_with_ticket(id, ticket, url, token, tickets, as_json=as_json) as (service, shown, _):
        changed = (service.pause if paused else service.resume)(id, shown)
        if as_json:
            JsonLines().write(answer_record(changed))
        else:
            Screen().say(f"{id!r} is {changed.state}")


def _state(subscription: Subscription) -> str:
    return subscription.state if subscription.refusal is None else "refused"


def _time_text(time: datetime | None) -> str:
    return "" if time is None else time.isoformat(" ", "seconds")[:19]
