"""What the commands of `tamis client` share: the connection to a service, tickets, and answers as text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from tamis.client import Client, ClientError, Subscription, Tickets

Url: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", help="The URL of the service; by default $TAMIS_URL, else http://127.0.0.1:8765."
    ),
]
Token: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TEXT",
        help="The access token; by default $TAMIS_TOKEN, which does not appear in process lists.",
    ),
]

Id: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="The id of the subscription.")]
TicketsFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tickets",
        metavar="FILE",
        help="The file that keeps tickets; by default tamis/tickets.json in the user's state folder.",
    ),
]
Ticket: TypeAlias = Annotated[
    str | None, typer.Option("--ticket", metavar="TEXT", help="The ticket, if it is not in the file.")
]


@contextmanager
def open_client(
    url: str | None, token: str | None, *, as_json: bool, condition: str | None = None
) -> Iterator[Client]:
    """A client for one command; refusals of the service give a message and exit code 1, other errors 2."""
    from tamis.cli.output import fail, printing_errors

    try:
        from tamis.client import Client, ClientError
        from tamis.client.errors import CONNECTION
    except ImportError as error:
        fail(str(error))
    with printing_errors():
        with Client(url, token=token) as client:
            try:
                yield client
            except ClientError as error:
                if error.kind == CONNECTION:
                    fail(f"{error}; is `tamis serve` running there? --url names another service")
                if error.status is None:
                    raise
                if error.status == 401:
                    error.add_note("give a token with --token or TAMIS_TOKEN; `tamis serve` prints where one is")
                _report_refusal(error, condition, as_json=as_json)
                raise typer.Exit(1) from error


def _report_refusal(error: ClientError, condition: str | None, *, as_json: bool) -> None:
    """Print a refusal of the service; the problems of a condition are shown below its text."""
    from dataclasses import asdict

    from tamis.cli.output import JsonLines, note
    from tamis.errors import Problem

    notes = getattr(error, "__notes__", [])
    if as_json:
        problems = [asdict(problem) for problem in error.problems]
        found = {"status": error.status, "kind": error.kind, "detail": error.detail}
        more = {**({"problems": problems} if problems else {}), **({"notes": notes} if notes else {})}
        JsonLines().write({**found, **more})
    elif error.problems and condition is not None:
        places = [Problem(each.message, each.start, each.end, each.hint) for each in error.problems]
        note("\n".join(["the condition is refused:", *(place.render(condition) for place in places)]))
    else:
        note("\n".join([f"tamis: refused: {error}", *notes]))


@contextmanager
def open_with_ticket(
    id: str, ticket: str | None, url: str | None, token: str | None, tickets: str | None, *, as_json: bool
) -> Iterator[tuple[Client, str | None, Tickets]]:
    """The service, the ticket of a subscription, and the file that keeps tickets.

    An error about the ticket gets the file in which it was looked up.
    """
    from tamis.client import ClientError

    with open_client(url, token, as_json=as_json) as service:
        kept = open_tickets(tickets)
        try:
            yield service, ticket or kept.of(service.url, id), kept
        except ClientError as error:
            if error.status in {401, 403}:
                error.add_note(f"the ticket of {id!r} was looked for in {kept.path}; --ticket gives another")
            raise


def open_tickets(path: str | None) -> Tickets:
    """The file that keeps tickets."""
    from tamis.client import Tickets

    return Tickets(path)


def answer_record(answer: Any) -> dict[str, Any]:
    """An answer as a JSON record, with times in ISO 8601."""
    from dataclasses import asdict

    found: dict[str, Any] = _with_time_texts(asdict(answer))
    return found


def _with_time_texts(value: Any) -> Any:
    from tamis.client.calls.base import moment

    if isinstance(value, dict):
        return {name: _with_time_texts(each) for name, each in value.items()}
    return moment(value) if isinstance(value, datetime) else value


def until_text(subscription: Subscription) -> str:
    """Until when a subscription lasts, for people."""
    ends = subscription.expires
    return "until it is ended" if ends is None else f"until {ends.isoformat(' ', 'seconds')[:19]} UTC"
