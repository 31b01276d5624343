"""`tamis client ...`: a running service from the command line.

`tamis.client` talks to the service; the commands print its answers and keep tickets in a file.
"""

from __future__ import annotations

import os
import shlex
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tamis.cli.client_advertisements import advertise, advertisements, withdraw
from tamis.cli.client_backup import export, import_
from tamis.cli.client_conditions import explain, match, test
from tamis.cli.client_deliveries import replay, resume_webhook, webhooks
from tamis.cli.client_publish import publish
from tamis.cli.client_service import (
    Id,
    Ticket,
    TicketsFile,
    Token,
    Url,
    answer_record,
    open_client,
    open_tickets,
    open_with_ticket,
    until_text,
)
from tamis.cli.client_subscriptions import list_, pause, resume, show
from tamis.cli.options import Condition, ConditionDialect, Json, Label, Priority, Quiet

if TYPE_CHECKING:
    from tamis.client import Client, ClientError, Notification, Subscribed

Expires: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--expires",
        metavar="TIME",
        help="When it expires: 2026-12-31T18:00Z, or 30d from now; by default what the service sets.",
    ),
]

_RENEWAL_ATTEMPTS = 5
"""Of `subscribe --keep`: how often it tries to reach the service before the subscription ends."""

_SHOWN_CHARACTERS = 120
"""Of the event's attributes, and of label and condition, in a line of `tail`."""

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
      tamis client test "price < 300" --last 1000
      tamis client export --output mine.jsonl

    Exit code 0 on success; 1 if the service refuses the request; 2 if it cannot be reached, or the command could
    not be carried out.
    """


@client.command()
def subscribe(
    condition: Condition,
    id: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="ID", help="The id of the subscription; by default the service generates one."
        ),
    ] = None,
    type: Annotated[
        str | None,
        typer.Option(
            "--type", metavar="NAME", help="The event type; by default the only declared one, else 'event'."
        ),
    ] = None,
    label: Label = None,
    priority: Priority = None,
    webhook: Annotated[
        str | None, typer.Option("--webhook", metavar="URL", help="Send notifications to this URL.")
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option(
            "--digest",
            metavar="DURATION",
            help="With --webhook: collect notifications for this long into one message.",
        ),
    ] = None,
    subscriber: Annotated[
        str | None,
        typer.Option(
            "--subscriber",
            metavar="NAME",
            help="Who gets one message for all subscriptions that an event matches.",
        ),
    ] = None,
    expires: Expires = None,
    dialect: ConditionDialect = None,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="Renew it as long as this command runs, until Ctrl-C; then it ends by itself."
        ),
    ] = False,
    url: Url = None,
    token: Token = None,
    tickets: TicketsFile = None,
    json: Json = False,
) -> None:
    """Subscribe to the events that satisfy a condition, and store the ticket.

    With --keep the command renews the subscription whenever half of its validity has passed, until Ctrl-C. While
    the service cannot be reached, it tries again until the subscription has ended.

    \b
    Examples:
      tamis client subscribe "price < 300 and brand = 'Nikon'" --id nikon --expires 30d
      tamis client subscribe "level = 'alarm'" --webhook https://example.org/alarms --json
      tamis client subscribe "level = 'alarm'" --expires 10m --keep

    Exit code 1 if the condition is refused or the id is taken, 2 if the service cannot be reached, or the file for
    the ticket cannot be written; then no request is sent.
    """
    from tamis.cli.output import JsonLines, Screen, fail
    from tamis.cli.times import read_time

    validity = _validity(expires)
    if keep and "expires" in validity:
        fail("--keep: expected a duration for --expires, such as 10m, found a time")
    gather = None if digest is None else read_time(digest, "--digest")
    if gather is not None and (webhook is None or not isinstance(gather, timedelta)):
        fail("--digest: expected a duration, such as 10m, with --webhook")
    with open_client(url, token, as_json=json, condition=condition) as service:
        kept = open_tickets(tickets)
        kept.check()
        options: dict[str, Any] = {"label": label, "priority": priority, "dialect": dialect, **validity}
        options |= {"subscriber": subscriber, "digest": gather}
        made = service.subscribe(condition, id=id, event_type=type, webhook=webhook, **options)
        subscription = made.subscription
        if json:
            secret = {} if made.secret is None else {"secret": made.secret}
            JsonLines().write({**answer_record(subscription), "ticket": made.ticket, **secret})
        else:
            Screen().say(f"subscribed as {subscription.id!r}, {until_text(subscription)}")
            for each in made.warnings:
                Screen().say(f"warning: {each['message']}")
            if not keep:
                Screen().say(f"renew it before then: tamis client renew {shlex.quote(subscription.id)}")
            if made.secret is not None:
                Screen().say(f"calls of the webhook are signed with {made.secret}; it is not shown again")
                Screen().say("its receiver is asked once whether it agrees; see: tamis client webhooks")
        kept.keep(service.url, {subscription.id: made.ticket})
        if keep:
            _keep_renewing(service, made, validity, as_json=json)


def _keep_renewing(service: Client, made: Subscribed, validity: dict[str, Any], *, as_json: bool) -> None:
    """Renew a subscription whenever half of its validity has passed, until SIGINT or SIGTERM."""
    from tamis.cli.output import JsonLines, Screen, note
    from tamis.cli.signals import handle_signals
    from tamis.client import ClientError

    lines, screen = JsonLines(), Screen()
    subscription, stop = made.subscription, threading.Event()
    assert subscription.expires is not None and subscription.created is not None, "the service always says both"
    half = (subscription.expires - subscription.created) / 2  # both of the service's clock
    wait, ends = half, time.monotonic() + 2 * half.total_seconds()
    with handle_signals(lambda _: stop.set(), signal.SIGINT, signal.SIGTERM):
        while not stop.wait(wait.total_seconds()):
            asked = time.monotonic()
            try:
                subscription = service.renew(subscription.id, made.ticket, **validity)
            except ClientError as error:
                if error.status is not None or time.monotonic() > ends:
                    raise
                wait = half / _RENEWAL_ATTEMPTS
                note(f"tamis: {error}; trying again in {wait.total_seconds():.1f} s")
                continue
            wait, ends = half, asked + 2 * half.total_seconds()
            if as_json:
                lines.write(answer_record(subscription))
            else:
                screen.say(f"{subscription.id!r} renewed, {until_text(subscription)}")
            if lines.closed or screen.quiet:
                break
    if not as_json:
        screen.say(f"{subscription.id!r} is not renewed any more, it lasts {until_text(subscription)}")


client.command("list")(list_)
client.command()(show)
client.command()(pause)
client.command()(resume)
client.command()(test)
client.command()(explain)
client.command()(match)
client.command()(publish)
client.command()(advertise)
client.command()(advertisements)
client.command()(withdraw)


@client.command()
def tail(
    subscription: Annotated[
        str | None, typer.Option("--subscription", metavar="ID", help="Only notifications of this subscription.")
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            "--after",
            min=0,
            metavar="SEQ",
            help="Start after this sequence number, 0 for all; by default with the next notification.",
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", min=1, metavar="N", help="End after this many notifications.")
    ] = None,
    url: Url = None,
    token: Token = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print notifications as they arrive, until Ctrl-C.

    A line has the sequence number, the time of the match, the subscription, the event, those of its attributes
    that the service's setting keep_attributes names, the state of its delivery in brackets if the subscription has
    a webhook, and the label and condition of the subscription. If the connection breaks, the command reconnects;
    it omits no notification and prints none twice.

    \b
    Examples:
      tamis client tail
      tamis client tail --subscription cheap --after 0 --count 10 --json

    Exit code 0 after Ctrl-C or --count, 1 if the service refuses the request, 2 if it cannot be reached at first.
    """
    from tamis.cli.output import JsonLines, Screen, note

    def report_loss(error: ClientError, seconds: float) -> None:
        if not quiet:
            note(f"tamis: {error}; connecting again in {seconds:.1f} s")

    lines, screen, seen = JsonLines(), Screen(), 0
    with open_client(url, token, as_json=json) as service, _end_at_ctrl_c():
        with service.tail(after, subscription=subscription, describe=True, on_loss=report_loss) as feed:
            for notification in feed:
                if json:
                    lines.write(answer_record(notification))
                else:
                    screen.say(_line(notification))
                seen += 1
                if seen == count or lines.closed or screen.quiet:
                    break


@contextmanager
def _end_at_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C end the process at once: every line has been flushed, and there is nothing to clean up."""
    from tamis.cli.signals import handle_signals

    with handle_signals(lambda _: os._exit(0), signal.SIGINT):
        yield


@client.command()
def renew(
    id: Id,
    expires: Expires = None,
    ticket: Ticket = None,
    url: Url = None,
    token: Token = None,
    tickets: TicketsFile = None,
    json: Json = False,
) -> None:
    """Extend the validity of a subscription.

    \b
    Examples:
      tamis client renew cheap
      tamis client renew cheap --expires 30d

    Exit code 1 if there is no such subscription or the ticket is wrong, 2 if the service cannot be reached.
    """
    from tamis.cli.output import JsonLines, Screen

    validity = _validity(expires)
    with open_with_ticket(id, ticket, url, token, tickets, as_json=json) as (service, shown, _):
        renewed = service.renew(id, shown, **validity)
        if json:
            JsonLines().write(answer_record(renewed))
        else:
            Screen().say(f"{id!r} renewed, {until_text(renewed)}")


@client.command()
def unsubscribe(
    id: Id,
    ticket: Ticket = None,
    url: Url = None,
    token: Token = None,
    tickets: TicketsFile = None,
    json: Json = False,
) -> None:
    """End a subscription, and delete its ticket.

    \b
    Examples:
      tamis client unsubscribe cheap

    Exit code 1 if there is no such subscription or the ticket is wrong, 2 if the service cannot be reached.
    """
    from tamis.cli.output import JsonLines, Screen

    with open_with_ticket(id, ticket, url, token, tickets, as_json=json) as (service, shown, kept):
        service.unsubscribe(id, shown)
        kept.forget(service.url, id)
        if json:
            JsonLines().write({"id": id, "state": "removed"})
        else:
            Screen().say(f"{id!r} ended")


client.command()(export)
client.command("import")(import_)
client.command()(webhooks)
client.command("resume-webhook")(resume_webhook)
client.command()(replay)


def _line(notification: Notification) -> str:
    from tamis.notifications import json_object

    at = notification.matched_at.isoformat(" ", "seconds")[:19]
    words = [notification.label, notification.condition]
    described = _cut(": ".join(each for each in words if each))
    kept = _cut(json_object(notification.attributes)) if notification.attributes else ""
    delivery = notification.delivery
    became = "" if delivery is None or delivery.state == "pull" else f"[{delivery.state}]"
    names = (notification.subscription_id, notification.event_id)
    return "  ".join(part for part in (str(notification.seq), at, *names, kept, became, described) if part)


def _cut(text: str) -> str:
    """A text in one line, at most so long as `_SHOWN_CHARACTERS` says."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"


def _validity(expires: str | None) -> dict[str, Any]:
    """The arguments for `--expires`: a duration is added to the clock of the service, not to the local one."""
    from tamis.cli.times import read_time

    if expires is None:
        return {}
    until = read_time(expires, "--expires")
    return {"valid_for": until} if isinstance(until, timedelta) else {"expires": until}
