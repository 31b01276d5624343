"""`tamis client advertise`, `advertisements` and `withdraw`: what a publisher says of its events."""

from __future__ import annotations

from typing import Annotated

import typer

from tamis.cli.client_service import Token, Url, answer_record, open_client
from tamis.cli.options import Json

Id = Annotated[str, typer.Argument(metavar="ID", help="The name of the advertisement.")]


def advertise(
    id: Id,
    condition: Annotated[str, typer.Argument(metavar="CONDITION", help="What the events satisfy.")],
    type: Annotated[
        str | None,
        typer.Option(
            "--type", metavar="NAME", help="The event type; by default the only declared one, else 'event'."
        ),
    ] = None,
    publisher: Annotated[
        str | None,
        typer.Option(
            "--publisher", metavar="TOKEN-ID", help="The id of the publisher's token, if it is another's."
        ),
    ] = None,
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Say that the events of a publisher satisfy a condition, or another that it advertises.

    An advertisement is bound to the token that it is made with, and replaces the one of that name.

    \b
    Examples:
      tamis client advertise expensive "price > 100" --type camera

    Exit code 1 if the condition is refused, or the advertisement is another publisher's; 2 if the service cannot
    be reached.
    """
    from tamis.cli.output import JsonLines, Screen

    with open_client(url, token, as_json=json, condition=condition) as service:
        said = service.advertise(id, condition, event_type=type, token=publisher)
        if json:
            JsonLines().write(answer_record(said))
        else:
            Screen().say(f"advertised as {said.id!r} for events of type {said.event_type!r}")


def advertisements(url: Url = None, token: Token = None, json: Json = False) -> None:
    """List what publishers advertise.

    \b
    Examples:
      tamis client advertisements --json

    Exit code 1 if the service refuses the request, 2 if it cannot be reached.
    """
    from tamis.cli.output import JsonLines, print_table

    with open_client(url, token, as_json=json) as service:
        found = service.advertisements()
        if json:
            lines = JsonLines()
            for each in found:
                lines.write(answer_record(each))
            return
        rows = (
            (each.id, each.event_type, each.token or "all", " ".join(each.condition.split())) for each in found
        )
        print_table(("id", "type", "publisher", "condition"), rows)


def withdraw(id: Id, url: Url = None, token: Token = None, json: Json = False) -> None:
    """Take an advertisement back.

    \b
    Examples:
      tamis client withdraw expensive

    Exit code 1 if there is none of that name, or it is another publisher's; 2 if the service cannot be reached.
    """
    from tamis.cli.output import JsonLines, Screen

    with open_client(url, token, as_json=json) as service:
        service.withdraw(id)
        if json:
            JsonLines().write({"withdrawn": id})
        else:
            Screen().say(f"withdrew {id!r}")
