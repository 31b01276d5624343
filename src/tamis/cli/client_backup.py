"""`tamis client export` and `import`: subscriptions, or everything that people have set up, as JSON lines."""

from __future__ import annotations

import json as json_
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.client_service import TicketsFile, Token, Url, answer_record, open_client, open_tickets
from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.client import Client, Refusal, Tickets

_STDIN = "-"
_TOGETHER = 2_000
"""Lines of a request."""


def export(
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="The output file; by default standard output."),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--everything", help="What people have set up, of all tenants; for the operator."),
    ] = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Write all subscriptions of the tenant as JSON lines, which `tamis client import` reads.

    With --everything it is a backup: tenants with their rights, tokens and tickets (as salted hashes), event
    types, advertisements, and subscriptions with their webhooks. The file has the secrets of webhooks, so only you
    may read it.

    \b
    Examples:
      tamis client export --output mine.jsonl
      tamis client export --everything --output backup.jsonl

    Exit code 1 if the service refuses the request, 2 if it cannot be reached, or the file cannot be written.
    """
    from tamis.cli.output import as_json, open_private_output

    with open_client(url, token, as_json=False) as service, open_private_output(output) as lines:
        records = service.backup() if everything else map(answer_record, service.export())
        for record in records:
            lines.write_bytes(as_json(record) + b"\n")
            if lines.closed:
                break
        lines.flush()


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `export` wrote; - for standard input.")],
    everything: Annotated[
        bool,
        typer.Option("--everything", help="It is a backup of all tenants; for the operator."),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Change subscriptions whose ids exist; needs the role admin.")
    ] = False,
    url: Url = None,
    token: Token = None,
    tickets: TicketsFile = None,
    json: Json = False,
) -> None:
    """Make the subscriptions of a file of JSON lines, and store their tickets.

    With --everything it restores a backup: tokens, tickets and webhooks work as they did. Refused lines are
    reported, the others are taken.

    \b
    Examples:
      tamis client import mine.jsonl
      tamis client import backup.jsonl --everything

    Exit code 0 if all lines were taken, 1 if some were refused or the service refuses the request, 2 if it cannot
    be reached, or the file cannot be read.
    """
    from tamis.cli.output import JsonLines, Screen, note, printing_errors

    with printing_errors():
        source = sys.stdin.buffer if file == _STDIN else open(file, "rb")
    counts: dict[str, int] = {}
    event_types: Counter[str] = Counter()
    refusals: list[Refusal] = []
    with source, open_client(url, token, as_json=json) as service:
        kept = open_tickets(tickets)
        if not everything:
            kept.check()
        for records in _chunks(source, file):
            answer = (
                service.restore(records, replace=replace)
                if everything
                else _import(service, kept, records, replace=replace, as_json=json)
            )
            refusals += answer.refusals
            event_types.update(getattr(answer, "event_types", {}))  # a backup has many tenants' types
            for name, value in answer_record(answer).items():
                if isinstance(value, int):
                    counts[name] = counts.get(name, 0) + value
    if json:
        types = {} if everything else {"event_types": dict(event_types)}
        JsonLines().write({**counts, **types, "refused": [answer_record(each) for each in refusals]})
    else:
        for each in refusals:
            note(f"{each.id!r} is refused: {each.detail}")
        counts["refused"] = len(refusals)
        Screen().say(", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in counts.items()))
        for name, count in event_types.items():
            Screen().say(f"  {count:,} to event type {name}")
    raise typer.Exit(1 if refusals else 0)


def _import(service: Client, kept: Tickets, records: list[Any], *, replace: bool, as_json: bool) -> Any:
    """Import some subscriptions; keeps their tickets, and shows the secrets of their webhooks."""
    from tamis.cli.output import JsonLines, Screen, note

    answer = service.import_many(records, replace=replace)
    kept.keep(service.url, answer.tickets)
    for warning in answer.warnings:
        note(f"tamis: warning: {warning}")
    for id, secret in answer.secrets.items():
        if as_json:
            JsonLines().write({"id": id, "secret": secret})
        else:
            Screen().say(f"calls of the webhook of {id!r} are signed with {secret}; it is not shown again")
    return answer


def _chunks(source: Any, name: str) -> Iterator[list[Any]]:
    """The records of lines, so many together as a request takes."""
    from tamis.cli.output import fail

    records: list[Any] = []
    for number, line in enumerate(source, 1):
        if not line.strip():
            continue
        try:
            records.append(json_.loads(line))
        except (ValueError, RecursionError) as error:
            fail(f"{name}:{number}: not JSON: {error}")
        if len(records) == _TOGETHER:
            yield records
            records = []
    if records:
        yield records
