"""`tamis client webhooks`, `resume-webhook` and `replay`: what webhooks do, and what they could not deliver."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.client_service import Token, Url, answer_record, open_client
from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.client import Client, WebhookStatus

_LOOK_SECONDS = 0.1


def webhooks(
    state: Annotated[
        str | None,
        typer.Option(
            "--state", metavar="STATE", help="Only those that are pending, confirmed, paused or refused."
        ),
    ] = None,
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List webhooks: their state, how many notifications wait and how many failed.

    \b
    Examples:
      tamis client webhooks
      tamis client webhooks --state paused --json

    Exit code 1 if the service refuses the request, 2 if it cannot be reached.
    """
    from tamis.cli.output import JsonLines, Screen

    lines, screen = JsonLines(), Screen()
    with open_client(url, token, as_json=json) as service:
        for each in service.webhooks(state=state):
            if json:
                lines.write(answer_record(each))
            else:
                screen.say(_line(each))
            if lines.closed or screen.quiet:
                break


def resume_webhook(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of the subscription.")],
    wait: Annotated[
        float, typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for the receiver's answer.")
    ] = 30.0,
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Resume a webhook that is paused or refused: its receiver is asked again, and gets what has waited.

    \b
    Examples:
      tamis client resume-webhook cheap

    Exit code 1 if the receiver does not agree, or the service refuses the request; 2 if the service cannot be
    reached.
    """
    from tamis.cli.output import JsonLines, Screen

    with open_client(url, token, as_json=json) as service:
        found = _await_answer(service, service.resume_webhook(id), wait)
        if json:
            JsonLines().write(answer_record(found))
        else:
            Screen().say(_line(found))
        if found.state == "refused":
            raise typer.Exit(1)


def replay(
    id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The id of one notification; by default all that failed.")
    ] = None,
    subscription: Annotated[
        str | None, typer.Option("--subscription", metavar="ID", help="Only notifications of this subscription.")
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option("--endpoint", metavar="URL", help="Only of webhooks with this URL, or on this host[:port]."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="Only what was given up since: 2026-12-31T18:00Z, or 2h for 2 hours ago.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="Only what was given up before this time, or before 2h ago."),
    ] = None,
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Deliver again what webhooks did not take: all, one, or those of a subscription, an endpoint or a time.

    \b
    Examples:
      tamis client replay
      tamis client replay --subscription cheap --since 2h
      tamis client replay --endpoint hook.example
      tamis client replay --since 2026-07-20T10:00Z --until 2026-07-20T12:00Z

    Exit code 1 if the service refuses the request, 2 if it cannot be reached.
    """
    from tamis.cli.output import JsonLines, Screen, fail
    from tamis.client import Replayed

    if id is not None and (subscription, endpoint, since, until) != (None,) * 4:
        fail("expected the id of a notification, or --subscription, --endpoint, --since and --until; found both")
    begin, end = _moment(since, "--since"), _moment(until, "--until")
    with open_client(url, token, as_json=json) as service:
        if id is not None:
            service.replay(id)
            done = Replayed(1, 0)
        else:
            done = service.replay_many(subscription=subscription, endpoint=endpoint, since=begin, until=end)
        if json:
            JsonLines().write(answer_record(done))
        else:
            left = (
                f"; {done.left} are not: their receiver refused, or they are not kept any more"
                if done.left
                else ""
            )
            Screen().say(f"{done.replayed} failed deliveries are tried again{left}")


def _await_answer(service: Client, found: WebhookStatus, wait: float) -> WebhookStatus:
    """The webhook after its receiver has answered, or when the wait is over."""
    deadline = time.monotonic() + wait
    while found.state == "pending" and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
        found = service.webhook(found.subscription_id)
    return found


def _line(of: WebhookStatus) -> str:
    since = "" if of.since is None else f" since {of.since.isoformat(' ', 'seconds')[:19]}"
    counts = f"{of.waiting} waiting, {of.failed} failed"
    return f"{of.subscription_id}  {of.state}{since}  {of.url}  {counts}{f': {of.reason}' if of.reason else ''}"


def _moment(text: str | None, option: str) -> datetime | None:
    """A time of an option; a duration is so long ago."""
    from tamis.cli.times import read_time

    if text is None:
        return None
    found = read_time(text, option)
    return datetime.now(UTC) - found if isinstance(found, timedelta) else found
