"""`tamis client test`, `explain` and `match`: conditions and events on a running service; nobody is notified."""

from __future__ import annotations

import json as json_
import sys
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from tamis.cli.client_service import Token, Url, open_client
from tamis.cli.options import Condition, ConditionDialect, Json

_STDIN = "-"
_EVENTS_A_REQUEST = 1_000

TypeName: TypeAlias = Annotated[
    str | None,
    typer.Option("--type", metavar="NAME", help="The event type; by default the only declared one, else 'event'."),
]
EventFile: TypeAlias = Annotated[
    str | None, typer.Option("--event", metavar="FILE", help="An event, one JSON object; - for standard input.")
]
PublishedEvent: TypeAlias = Annotated[
    str | None, typer.Option("--event-id", metavar="ID", help="The id of a published event.")
]


def test(
    condition: Condition,
    type: TypeName = None,
    last: Annotated[
        int | None,
        typer.Option("--last", min=1, max=10_000, metavar="N", help="Number of last events, 1000 by default."),
    ] = None,
    events: Annotated[
        str | None,
        typer.Option(
            "--events", metavar="FILE", help="On the events of a file of JSON lines; - for standard input."
        ),
    ] = None,
    dialect: ConditionDialect = None,
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Count how many events satisfy a condition: the last that were published, or those of a file.

    \b
    Examples:
      tamis client test "price < 300" --last 5000
      tamis client test "price < 300" --type camera --events cameras.jsonl

    Exit code 1 if the condition is refused, 2 if the service cannot be reached or the file cannot be read.
    """
    from tamis.cli.output import JsonLines, Screen, count_text, fail

    if last is not None and events is not None:
        fail("expected --last or --events, found both")
    given = None if events is None else _read_objects(events)
    with open_client(url, token, as_json=json, condition=condition) as service:
        tested = service.test(condition, event_type=type, last=last, events=given, dialect=dialect)
        if json:
            told = {"events": tested.events, "matched": tested.matched, "ids": tested.ids}
            JsonLines().write({**told, "unknown": tested.unknown})
        else:
            screen = Screen()
            screen.say(f"{tested.matched:,} of {count_text(tested.events, 'event')} satisfy the condition")
            if tested.unknown:
                screen.say(f"  unknown for {count_text(tested.unknown, 'event')}")
            for id in tested.ids:
                screen.say(f"  {id}")
            if tested.matched > len(tested.ids):
                screen.say(f"  and {tested.matched - len(tested.ids):,} more")


def explain(
    condition: Annotated[
        str | None, typer.Argument(metavar="[CONDITION]", help="The condition; or else --subscription.")
    ] = None,
    subscription: Annotated[
        str | None, typer.Option("--subscription", metavar="ID", help="The id of a subscription to explain.")
    ] = None,
    event: EventFile = None,
    event_id: PublishedEvent = None,
    type: TypeName = None,
    dialect: ConditionDialect = None,
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Explain why an event satisfies a condition or a subscription, or why not.

    \b
    Examples:
      tamis client explain --subscription cheap --event-id e7
      tamis client explain "price < 300" --event camera.json --type camera

    Exit code 1 if the service knows no such subscription or event, or refuses the condition; 2 if it cannot be
    reached, or the file cannot be read.
    """
    from tamis.cli.output import JsonLines, Screen, fail

    if (condition is None) == (subscription is None):
        fail("expected a condition or --subscription")
    given = _read_event(event, event_id)
    with open_client(url, token, as_json=json, condition=condition) as service:
        about: dict[str, Any] = {"condition": condition, "subscription": subscription, "dialect": dialect}
        found = service.explain(**about, event_type=type, **given)
        if json:
            names = ("verdict", "reason", "tree", "calls")
            JsonLines().write({name: getattr(found, name) for name in names})
        else:
            for line in found.text.splitlines():
                Screen().say(line)


def match(
    event: EventFile = None,
    event_id: PublishedEvent = None,
    events: Annotated[
        str | None,
        typer.Option(
            "--events", metavar="FILE", help="Many events, JSON lines, with a line of ids for each; - for stdin."
        ),
    ] = None,
    type: TypeName = None,
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List the active subscriptions that an event satisfies, or would satisfy if it were published.

    With --events, prints a JSON line for each event: the ids of the subscriptions that it satisfies.

    \b
    Examples:
      echo '{"price": 199}' | tamis client match --event -
      tamis client match --event-id e7 --json
      tamis client match --events cameras.jsonl --type camera

    Exit code 1 if the service knows no such event or has too many subscriptions to try, 2 if it cannot be reached,
    or the file cannot be read.
    """
    from tamis.cli.output import JsonLines, Screen, count_text, fail

    if events is not None:
        if event is not None or event_id is not None:
            fail("expected one of --event, --event-id and --events")
        _match_many(_read_objects(events), type, url, token, as_json=json)
        return
    given = _read_event(event, event_id)
    with open_client(url, token, as_json=json) as service:
        found = service.match(**given, event_type=type)
        if json:
            names = ("event_type", "subscriptions", "ids")
            JsonLines().write({name: getattr(found, name) for name in names})
        else:
            screen = Screen()
            tried = count_text(found.subscriptions, "active subscription")
            screen.say(f"{len(found.ids):,} of {tried} to {found.event_type!r}")
            for id in found.ids:
                screen.say(f"  {id}")


def _match_many(
    events: list[dict[str, Any]], type: str | None, url: str | None, token: str | None, *, as_json: bool
) -> None:
    from tamis.cli.output import JsonLines

    lines = JsonLines()
    with open_client(url, token, as_json=as_json) as service:
        for first in range(0, len(events), _EVENTS_A_REQUEST):
            some = events[first : first + _EVENTS_A_REQUEST]
            for ids in service.match_events(some, event_type=type).matches:
                lines.write([*ids])


def _read_event(file: str | None, id: str | None) -> dict[str, Any]:
    """The arguments for an event of a file or a published one."""
    from tamis.cli.output import fail

    if (file is None) == (id is None):
        fail("expected --event or --event-id")
    if file is None:
        return {"event_id": id}
    found = _parse_object(_read(file), file)
    return {"event": found}


def _read_objects(file: str) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    lines = enumerate(_read(file).split(b"\n"), 1)
    return [_parse_object(line, f"{file}:{number}") for number, line in lines if line.strip()]


def _parse_object(text: bytes, place: str) -> dict[str, Any]:
    from tamis.cli.output import fail

    try:
        found = json_.loads(text)
    except (ValueError, RecursionError) as error:
        fail(f"{place}: not JSON: {error}")
    if not isinstance(found, dict):
        fail(f"{place}: expected an event, an object, found {text[:80].decode(errors='replace')}")
    return found


def _read(file: str) -> bytes:
    from tamis.cli.output import printing_errors

    with printing_errors():
        return sys.stdin.buffer.read() if file == _STDIN else Path(file).read_bytes()
