"""`tamis route ...`: assign subscriptions to shards, and explain where an event goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import EventId, EventsFormat, Json, Operators
from tamis.cli.snapshot_build import Url

if TYPE_CHECKING:
    from tamis.routing.explanation import ShardVisit

route = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
_SHOWN = 5


@route.callback()
def _route(operators: Operators = None) -> None:
    """Assign subscriptions to shards, and see where events go.

    \b
    Examples:
      tamis route assign alerts --shards 16 --events yesterday.parquet
      tamis route explain alerts.shards --events yesterday.parquet --event e7

    Exit code 0 on success; 2 if the command could not be carried out.
    """


@route.command()
def assign(
    url: Url,
    shards: Annotated[int, typer.Option("--shards", min=2, metavar="N", help="Number of shards.")],
    events: Annotated[
        str | None,
        typer.Option("--events", metavar="FILE", help="Events by which similarity is measured."),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option("--budget", min=0, metavar="BYTES", help="The greatest size of all entries together."),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure", metavar="NAME", help="The measure that orders generalisations; see the documentation."
        ),
    ] = None,
    by_id: Annotated[bool, typer.Option("--by-id", help="Assign by a hash of the id, to compare.")] = False,
    by_tenant: Annotated[
        bool, typer.Option("--by-tenant", help="Keep the subscriptions of an owner in as few shards as hold them.")
    ] = False,
    merging: Annotated[
        bool, typer.Option("--merging", help="Merge subscriptions that differ only in constants first.")
    ] = False,
    into: Annotated[
        str | None, typer.Option("--into", metavar="URL", help="The URL to publish under; by default URL.shards.")
    ] = None,
    format: EventsFormat = None,
    json: Json = False,
) -> None:
    """Assign the newest version of a snapshot to shards, as a stream with routing does by itself.

    \b
    Examples:
      tamis route assign alerts --shards 16
      tamis route assign alerts --shards 16 --budget 200000 --events yesterday.parquet --into /tmp/tried

    Exit code 2 if there is no version, or it cannot be written.
    """
    from dataclasses import asdict

    from tamis.cli.inputs import open_events
    from tamis.cli.output import JsonLines, Screen, printing_errors
    from tamis.events.event_type import EventType
    from tamis.routing.shards import Routing, ShardAssignments, summarise
    from tamis.snapshot import Snapshots

    with printing_errors():
        given = {"budget": budget, "measure": measure, "by_similarity": not by_id, "by_tenant": by_tenant}
        given["merging"] = merging
        routing = Routing(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
        assignments = ShardAssignments(url, shards, routing, into)
        manifest = Snapshots(url).manifest()
        for described in manifest.event_types.values() if events is not None and routing.sample else ():
            reading = open_events(events or "", EventType.of(dict(described)), format, batch_rows=routing.sample)
            assignments.observe([next(iter(reading))])
        found = summarise(assignments.assign(manifest.version))
        if json:
            JsonLines().write(asdict(found))
            return
        screen = Screen()
        screen.say(
            f"{Snapshots(found.url).url}: version {found.version}, of version {found.of} of {Snapshots(url).url}"
        )
        screen.say(f"{found.entries} entries, {found.entry_bytes} bytes of a budget of {found.budget}")
        for number, count in enumerate(found.subscriptions):
            screen.say(f"shard {number}: {count} subscriptions")


@route.command()
def explain(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="The snapshot with the shards, or the address of a service.")
    ],
    event: Annotated[
        str, typer.Option("--event", metavar="NAME", help="The event: its id or row number, as match prints it.")
    ],
    events: Annotated[
        str | None,
        typer.Option("--events", metavar="FILE", help="With a snapshot: JSON lines, CSV or Parquet; - for stdin."),
    ] = None,
    event_type: Annotated[
        str | None,
        typer.Option("--event-type", metavar="NAME", help="The type of the event, if there are several."),
    ] = None,
    version: Annotated[
        int | None, typer.Option("--version", min=1, metavar="N", help="The version; by default the newest.")
    ] = None,
    event_id: EventId = None,
    format: EventsFormat = None,
    json: Json = False,
) -> None:
    """Explain why an event is sent to shards or to other sites, and which entries admit it without a match.

    URL is what `tamis route assign` published, or a stream with routing: `snapshot.shards` in its state. If it is
    the address of a service (http:// or https://), the event is one that was published there, and the answer says
    which entry took it to which site; the token is that of $TAMIS_TOKEN.

    \b
    Examples:
      tamis route explain alerts.shards --events yesterday.parquet --event e7
      tamis route explain https://north.example --event e7

    Exit code 1 if the service refuses the request; 2 if there is no such event or version, its subscriptions are
    not assigned to shards, or the service cannot be reached.
    """
    from tamis.cli.explain import find_event
    from tamis.cli.inputs import EventNames, open_events, source_name
    from tamis.cli.output import JsonLines, Screen, fail, printing_errors
    from tamis.events.event_type import EventType
    from tamis.routing.explanation import explain_route
    from tamis.routing.shards import read_assignment
    from tamis.snapshot import Snapshots

    if url.startswith(("http://", "https://")):
        _explain_sites(url, event, as_json=json)
        return
    if events is None:
        fail("--events: expected the file of the event")
    with printing_errors():
        manifest = Snapshots(url).manifest(version)
        assignment = read_assignment(manifest, url)
        names = [event_type] if event_type is not None else [*manifest.event_types]
        if len(names) != 1 or names[0] not in manifest.event_types:
            fail(f"choose one with --event-type: {', '.join(manifest.event_types)}")
        type_ = EventType.of(dict(manifest.event_types[names[0]]))
        found = find_event(open_events(events, type_, format), EventNames.of(event_id, type_), event)
        if found is None:
            fail(f"{source_name(events)}: there is no event {event!r}")
        visits = explain_route(assignment, *found)
        if json:
            answer = {"shards": len(assignment.shards), "visits": [visit.to_dict() for visit in visits]}
            JsonLines().write(answer)
            return
        screen = Screen()
        in_vain = sum(visit.is_in_vain for visit in visits)
        where = f"{len(visits)} of {len(assignment.shards)} shards"
        screen.say(f"The event visits {where}, {in_vain} in vain.", style="bold")
        for visit in visits:
            for line in _lines(visit):
                screen.say(line)


def _explain_sites(url: str, event: str, *, as_json: bool) -> None:
    """Print the way of an event from site to site."""
    from tamis.cli.client_service import open_client
    from tamis.cli.output import JsonLines, Screen

    with open_client(url, None, as_json=as_json) as service:
        found = service.route(event)
    if as_json:
        JsonLines().write(dict(found))
        return
    screen = Screen()
    before = f", after {' -> '.join(found['path'])}" if found["path"] else ""
    screen.say(f"The event at {found['site'] or 'the service'}{before}: {_found_text(found)}", style="bold")
    for line in _site_lines(found, "  "):
        screen.say(line)


def _site_lines(found: Mapping[str, Any], indent: str) -> Iterator[str]:
    for each in found["forwards"]:
        became = "not sent yet" if not each["is_sent"] else each["outcome"] or "not known yet"
        entry = "an entry that is gone" if each["entry"] is None else each["entry"]
        yield f"{indent}to {each['link']}, by {entry}: {became}"
        if each["there"] is not None:
            yield f"{indent}  there {_found_text(each['there'])}"
            yield from _site_lines(each["there"], indent + "  ")


def _found_text(found: Mapping[str, Any]) -> str:
    if not found["is_matched"]:
        return "not matched yet"
    names = found["found"]
    return (
        f"finds {', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''}" if names else "finds nothing"
    )


def _lines(visit: ShardVisit) -> list[str]:
    shown = ", ".join(visit.found[:_SHOWN]) + (", ..." if len(visit.found) > _SHOWN else "")
    lines = [f"shard {visit.shard}: " + ("in vain" if visit.is_in_vain else f"finds {shown}")]
    for each in visit.admissions[:_SHOWN]:
        behind = "1 subscription" if each.subscriptions == 1 else f"{each.subscriptions} subscriptions"
        lines.append(f"  let in by {each.entry}, for {behind} such as {each.example}")
    if len(visit.admissions) > _SHOWN:
        lines.append(f"  and by {len(visit.admissions) - _SHOWN} other entries")
    return lines
