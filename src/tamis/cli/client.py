"""`tamis client ...`: a running service from the command line.

What is asked and how is decided by `tamis.client`; here it is shown, and tickets are kept in a file.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tamis.cli.client_publish import publish
from tamis.cli.client_service import Token, Url, opened
from tamis.cli.options import Json, Quiet

if TYPE_CHECKING:
    from tamis.client import ClientError, Notification, Subscription, Tickets

TicketsFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tickets",
        metavar="FILE",
        help="Where tickets are kept; by default tamis/tickets.json in your folder for state.",
    ),
]
Ticket: TypeAlias = Annotated[
    str | None, typer.Option("--ticket", metavar="TEXT", help="The ticket, if it is not in the file.")
]
Expires: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--expires",
        metavar="TIME",
        help="When it ends: 2026-12-31T18:00Z, or 30d from now; by default what the service says, a day.",
    ),
]
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

client = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@client.callback()
def _client() -> None:
    """Use a running service: subscribe, publish events, watch notifications.

    \b
    Examples:
      tamis client subscribe "price < 300" --id cheap
      tamis client publish events.jsonl
      tamis client tail --subscription cheap
      tamis client renew cheap --expires 30d
      tamis client unsubscribe cheap

    Exit code 0 if all is well; 1 if the service refuses what it was asked; 2 if it cannot be asked, or the command
    could not be carried out.
    """


@client.command()
def subscribe(
    condition: Annotated[str, typer.Argument(metavar="CONDITION", help="What to wait for.")],
    id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Its name; by default the service makes one up.")
    ] = None,
    type: Annotated[
        str | None, typer.Option("--type", metavar="NAME", help="The event type; by default the schemaless one.")
    ] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="TEXT", help="What people call it.")] = None,
    priority: Annotated[
        int | None, typer.Option("--priority", metavar="N", help="Higher ones come first; by default 0.")
    ] = None,
    webhook: Annotated[
        str | None, typer.Option("--webhook", metavar="URL", help="Send notifications there.")
    ] = None,
    expires: Expires = None,
    url: Url = None,
    token: Token = None,
    tickets: TicketsFile = None,
    json: Json = False,
) -> None:
    """Subscribe to events that satisfy a condition, and keep the ticket.

    \b
    Examples:
      tamis client subscribe "price < 300 and brand = 'Nikon'" --id nikon --expires 30d
      tamis client subscribe "level = 'alarm'" --webhook https://example.org/alarms --json

    Exit code 1 if the condition is refused or the id is taken, 2 if the service cannot be reached or the ticket
    could not be kept; then nothing is asked.
    """
    from tamis.cli.output import JsonLines, Screen

    validity = _validity(expires)
    with opened(url, token, as_json=json, condition=condition) as service:
        kept = _tickets(tickets)
        kept.check()
        made = service.subscribe(
            condition, id=id, event_type=type, label=label, priority=priority, webhook=webhook, **validity
        )
        subscription = made.subscription
        if json:
            secret = {} if made.secret is None else {"secret": made.secret}
            JsonLines().write({**_record(subscription), "ticket": made.ticket, **secret})
        else:
            Screen().say(f"subscribed as {subscription.id!r}, {_until(subscription)}")
            if made.secret is not None:
                Screen().say(f"calls of the webhook are signed with {made.secret}; it is not shown again")
        kept.keep(service.url, {subscription.id: made.ticket})


client.command()(publish)


@client.command()
def tail(
    subscription: Annotated[
        str | None, typer.Option("--subscription", metavar="ID", help="Only notifications of this one.")
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            "--after", min=0, metavar="SEQ", help="Start after this one; 0 for all. By default with the next."
        ),
    ] = None,
    count: Annotated[int | None, typer.Option("--count", min=1, metavar="N", help="End after so many.")] = None,
    url: Url = None,
    token: Token = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print notifications as they come, until Ctrl-C.

    A line has the sequence number, the time of the match, the subscription and the event. If the connection
    breaks, it is made again, and nothing is left out or printed twice.

    \b
    Examples:
      tamis client tail
      tamis client tail --subscription cheap --after 0 --count 10 --json

    Exit code 0 after Ctrl-C or --count, 1 if the service refuses, 2 if it cannot be reached at first.
    """
    from tamis.cli.output import JsonLines, Screen, note

    def lost(error: ClientError, seconds: float) -> None:
        if not quiet:
            note(f"tamis: {error}; connecting again in {seconds:.1f} s")

    lines, screen, seen = JsonLines(), Screen(), 0
    with opened(url, token, as_json=json) as service, _ended_by_ctrl_c():
        with service.tail(after, subscription=subscription, on_loss=lost) as feed:
            for notification in feed:
                if json:
                    lines.write(_record(notification))
                else:
                    screen.say(_line(notification))
                seen += 1
                if seen == count or lines.closed or screen.quiet:
                    break


@contextmanager
def _ended_by_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C end the process at once, wherever it is: each line was handed over, nothing has to be undone."""
    before = signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@client.command()
def renew(
    id: Annotated[str, typer.Argument(metavar="ID", help="Of the subscription.")],
    expires: Expires = None,
    ticket: Ticket = None,
    url: Url = None,
    token: Token = None,
    tickets: TicketsFile = None,
    json: Json = False,
) -> None:
    """Make a subscription last longer.

    \b
    Examples:
      tamis client renew cheap
      tamis client renew cheap --expires 30d

    Exit code 1 if there is no such subscription or the ticket is not its own, 2 if the service cannot be reached.
    """
    from tamis.cli.output import JsonLines, Screen

    validity = _validity(expires)
    with opened(url, token, as_json=json) as service:
        kept = _tickets(tickets)
        with _ticket_named(kept, id):
            renewed = service.renew(id, ticket or kept.of(service.url, id), **validity)
        if json:
            JsonLines().write(_record(renewed))
        else:
            Screen().say(f"{id!r} renewed, {_until(renewed)}")


@client.command()
def unsubscribe(
    id: Annotated[str, typer.Argument(metavar="ID", help="Of the subscription.")],
    ticket: Ticket = None,
    url: Url = None,
    token: Token = None,
    tickets: TicketsFile = None,
    json: Json = False,
) -> None:
    """End a subscription, and drop its ticket.

    \b
    Examples:
      tamis client unsubscribe cheap

    Exit code 1 if there is no such subscription or the ticket is not its own, 2 if the service cannot be reached.
    """
    from tamis.cli.output import JsonLines, Screen

    with opened(url, token, as_json=json) as service:
        kept = _tickets(tickets)
        with _ticket_named(kept, id):
            service.unsubscribe(id, ticket or kept.of(service.url, id))
        kept.forget(service.url, id)
        if json:
            JsonLines().write({"id": id, "state": "removed"})
        else:
            Screen().say(f"{id!r} ended")


@contextmanager
def _ticket_named(kept: Tickets, id: str) -> Iterator[None]:
    """Say where the ticket was looked for, if the service wants another one."""
    from tamis.client import ClientError

    try:
        yield
    except ClientError as error:
        if error.status in {401, 403}:
            error.add_note(f"the ticket of {id!r} was looked for in {kept.path}; --ticket gives another")
        raise


def _tickets(path: str | None) -> Tickets:
    from tamis.client import Tickets

    return Tickets(path)


def _record(answer: Subscription | Notification) -> dict[str, Any]:
    """An answer for JSON, its times in ISO 8601."""
    from dataclasses import asdict

    from tamis.client.calls.base import moment

    return {
        name: moment(value) if isinstance(value, datetime) else value for name, value in asdict(answer).items()
    }


def _line(notification: Notification) -> str:
    at = notification.matched_at.isoformat(" ", "seconds")[:19]
    return f"{notification.seq}  {at}  {notification.subscription_id}  {notification.event_id}"


def _until(subscription: Subscription) -> str:
    ends = subscription.expires
    return "until it is ended" if ends is None else f"until {ends.isoformat(' ', 'seconds')[:19]} UTC"


def _validity(expires: str | None) -> dict[str, Any]:
    """`30d` by the clock of the service, `2026-12-31T18:00Z` by everybody's."""
    from tamis.cli.output import fail

    if expires is None:
        return {}
    duration = _DURATION.fullmatch(expires)
    if duration is not None:
        return {"valid_for": timedelta(seconds=float(duration[1]) * _UNITS[duration[2]])}
    try:
        return {"expires": datetime.fromisoformat(expires)}
    except ValueError:
        fail(f"--expires: expected a time, as 2026-12-31T18:00Z, or a duration, as 12h or 30d, found {expires!r}")
