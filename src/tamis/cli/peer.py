"""`tamis peer ...`: link the service of this site with those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.client_service import Token, Url, answer_record, open_client
from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.client import Peer

peer = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Name = Annotated[str, typer.Argument(metavar="SITE", help="The name of the neighbour's site.")]


@peer.callback()
def _peer() -> None:
    """Link a running service with neighbours, so that subscriptions get events of all sites.

    \b
    Examples:
      tamis peer add north https://north.example
      tamis peer list
      tamis peer status north
      tamis peer remove north

    Exit code 0 on success; 1 if the service refuses the request; 2 if it cannot be reached.
    """


@peer.command()
def add(
    name: Name,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The URL of the neighbour's service.")],
    link_token: Annotated[
        str | None,
        typer.Option("--link-token", metavar="TEXT", help="The token of the link; by default a new one is made."),
    ] = None,
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Create or change a link to a neighbour. Both sites must do so, with the same link token.

    \b
    Examples:
      tamis peer add north https://north.example
      tamis peer add south https://south.example --link-token "$LINK_TOKEN"

    Exit code 1 if the name, address or token is invalid, or the service has no site name; 2 if it cannot
    be reached.
    """
    from tamis.cli.output import JsonLines, Screen

    with open_client(url, token, as_json=json) as service:
        made = service.link_peer(name, address, token=link_token)
        if json:
            JsonLines().write(answer_record(made))
            return
        screen = Screen()
        screen.say(f"link to {made.name!r} at {made.url}")
        if link_token is None:
            screen.say(f"the other end needs its token: --link-token {made.token}")


@peer.command("list")
def list_(url: Url = None, token: Token = None, json: Json = False) -> None:
    """List the links of the site: their state, entries, and events sent and waiting.

    \b
    Examples:
      tamis peer list
      tamis peer list --json

    Exit code 1 if the service refuses the request, 2 if it cannot be reached.
    """
    from tamis.cli.output import JsonLines, Screen

    lines, screen = JsonLines(), Screen()
    with open_client(url, token, as_json=json) as service:
        for each in service.peers():
            if json:
                lines.write(answer_record(each))
            else:
                screen.say(_line(each))


@peer.command()
def status(name: Name, url: Url = None, token: Token = None, json: Json = False) -> None:
    """Show one link with all its figures.

    \b
    Examples:
      tamis peer status north

    Exit code 1 if there is no such link, or it is not in use; 2 if the service cannot be reached.
    """
    from tamis.cli.output import JsonLines, Screen, note

    with open_client(url, token, as_json=json) as service:
        found = [each for each in service.peers() if each.name == name]
    if not found:
        note(f"tamis: there is no link to a site {name!r}")
        raise typer.Exit(1)
    record = answer_record(found[0])
    if json:
        JsonLines().write(record)
    else:
        for key, value in record.items():
            if value not in (None, "", ()):
                Screen().say(f"{key}: {', '.join(value) if isinstance(value, tuple) else value}")
    if found[0].state != "linked":
        raise typer.Exit(1)


@peer.command()
def remove(name: Name, url: Url = None, token: Token = None, json: Json = False) -> None:
    """Remove a link, the entries that came over it, and the events that wait for it.

    \b
    Examples:
      tamis peer remove north

    Exit code 1 if there is no such link, or it is in the settings of the service; 2 if it cannot be reached.
    """
    from tamis.cli.output import JsonLines, Screen

    with open_client(url, token, as_json=json) as service:
        service.unlink_peer(name)
        if json:
            JsonLines().write({"name": name, "state": "removed"})
        else:
            Screen().say(f"link to {name!r} removed")


def _line(of: Peer) -> str:
    entries = f"{of.entries_in} entries in, {of.entries_out} out"
    if of.halvings:
        entries += f" (halvings: {of.halvings})"
    if of.is_over_budget:
        entries += " (over budget)"
    events = f"{of.forwarded} events sent, {of.in_vain} in vain, {of.backlog} waiting, {of.taken} taken"
    behind = f"  reaches {', '.join(of.reach)}" if of.reach else ""
    return f"{of.name}  {of.state}  {of.url}  {entries}  {events}{behind}{f': {of.reason}' if of.reason else ''}"
