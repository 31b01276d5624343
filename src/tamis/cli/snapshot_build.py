"""`tamis snapshot build`: publish the subscriptions of files as a version.

Only the difference to the newest version is compiled and written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from tamis.cli.options import Dialect, EventTypeFile, Json, Quiet

if TYPE_CHECKING:
    from tamis.cli.subscriptions import SubscriptionEntry
    from tamis.errors import TamisError
    from tamis.events.event_type import EventType
    from tamis.matcher import Matcher
    from tamis.snapshot import Snapshots

Url: TypeAlias = Annotated[
    str, typer.Argument(metavar="URL", help="The snapshot: a folder, or a URL such as s3://bucket/folder.")
]
_AT_ONCE = 1_000_000
"""Subscriptions added at once: they become one segment, and fewer segments match faster."""


@dataclass(slots=True)
class _BuildChanges:
    """Counts of changes, and the refused subscriptions with their errors."""

    added: int = 0
    replaced: int = 0
    removed: int = 0
    refused: list[tuple[SubscriptionEntry, TamisError | None]] = field(default_factory=list)


def build(
    url: Url,
    subscriptions: Annotated[
        list[str],
        typer.Option(
            "--subscriptions",
            metavar="FILE",
            help="A file as for match, or - for standard input; may be repeated.",
        ),
    ],
    event_type: EventTypeFile = None,
    dialect: Dialect = "sql",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish a version with exactly the subscriptions of files.

    If there is a version already, subscriptions that are not in the files are removed, new ones are added and
    changed ones are replaced; without changes, nothing is published. Refused conditions are reported; a
    subscription of the version stays unchanged if its new condition is refused.

    \b
    Examples:
      tamis snapshot build alerts --subscriptions alerts.jsonl --event-type reading.json
      tamis snapshot build s3://bucket/alerts --subscriptions a.parquet --subscriptions b.parquet

    Exit code 0 if all subscriptions are valid, 1 if some were refused (the others are published), 2 if nothing
    could be published.
    """
    from tamis.cli.inputs import check_sources, load_event_type
    from tamis.cli.output import JsonLines, Screen, count_text, printing_errors, steps
    from tamis.snapshot import Snapshots

    with printing_errors(), steps(shown=not quiet and not json) as step:
        check_sources(*subscriptions)
        snapshots = Snapshots(url)
        given = None if event_type is None else load_event_type(event_type)
        matcher, newest = _open_newest(url, snapshots, given)
        step("reading")
        name = None if matcher.event_type.is_schemaless else matcher.event_type.name
        entries = _read_entries(subscriptions, name, dialect)
        changes = _change(matcher, entries, step)
        _report(changes, as_json=json)
        version = newest
        if newest is None or changes.added or changes.replaced or changes.removed:
            step("publishing")
            version = matcher.publish(url)
        if json:
            counts = {"added": changes.added, "replaced": changes.replaced, "removed": changes.removed}
            result = {"version": version, "subscriptions": len(matcher), **counts, "refused": len(changes.refused)}
            JsonLines().write(result)
        else:
            done = f"{changes.added:,} added, {changes.replaced:,} replaced, {changes.removed:,} removed"
            same = "nothing changed" if version == newest else done
            Screen().say(f"version {version}: {count_text(len(matcher), 'subscription')}, {same}")
    raise typer.Exit(1 if changes.refused else 0)


def _open_newest(url: str, snapshots: Snapshots, given: EventType | None) -> tuple[Matcher, int | None]:
    """A matcher with the newest version, and its number; an empty matcher and None if there is no version."""
    from tamis.cli.output import fail
    from tamis.matcher import Matcher

    newest = snapshots.latest()
    if newest is None:
        return Matcher(given), None
    matcher = Matcher.open(url, newest)
    if given is not None and given != matcher.event_type:
        fail(
            f"{snapshots.url}: version {newest} is for another event type, {matcher.event_type.name!r}; "
            "publish under another URL"
        )
    return matcher, newest


def _read_entries(sources: list[str], event_type: str | None, dialect: str) -> list[SubscriptionEntry]:
    """The entries of all files; an id that an earlier file has is reported as a problem."""
    from tamis.cli.subscriptions import read_subscriptions

    entries: list[SubscriptionEntry] = []
    places: dict[str, str] = {}
    for source in sources:
        found = read_subscriptions(source, event_type=event_type, dialect=dialect)
        for entry in (each for each in found if not each.is_paused):
            if not entry.problems and entry.id in places:
                problem = f"there is already a subscription {entry.id!r}, at {places[entry.id]}"
                entries.append(replace(entry, problems=(problem,)))
            else:
                entries.append(entry)
                places.setdefault(entry.id, entry.place)
    return entries


def _change(matcher: Matcher, entries: list[SubscriptionEntry], step: Callable[[str], None]) -> _BuildChanges:
    """Change the matcher so that it has exactly the subscriptions of the entries."""
    from tamis.errors import TamisError
    from tamis.segments.records import Subscription

    changes = _BuildChanges()
    held = {subscription.id: subscription for subscription in matcher}
    good = {entry.id: entry for entry in entries if not entry.problems}
    wanted = {entry.id for entry in entries}
    errors: dict[str, TamisError] = {}
    gone = [id for id in held if id not in wanted]
    matcher.remove_many(gone)
    changes.removed = len(gone)
    new = [
        Subscription(each.id, each.condition, each.priority, each.owner, dialect=each.dialect)
        for each in good.values()
    ]
    for each in [each for each in new if each.id in held]:
        before = held[each.id]
        if each != replace(before, revision=each.revision, label=each.label):
            try:
                matcher.replace(
                    each.id, each.condition, priority=each.priority, owner=each.owner, dialect=each.dialect
                )
                changes.replaced += 1
            except TamisError as error:
                errors[each.id] = error
    new = [each for each in new if each.id not in held]
    for first in range(0, len(new), _AT_ONCE):
        step(f"compiling: {first:,} of {len(new):,}")
        part = new[first : first + _AT_ONCE]
        refused = matcher.add_many(part)
        errors |= {refusal.id: refusal.error for refusal in refused}
        changes.added += len(part) - len(refused)
    for entry in entries:
        if entry.problems:
            changes.refused.append((entry, None))
        elif entry.id in errors:
            changes.refused.append((entry, errors[entry.id]))
    return changes


def _report(changes: _BuildChanges, *, as_json: bool) -> None:
    """Report the refused subscriptions on standard error."""
    from tamis.cli.output import JsonLines
    from tamis.cli.problems import report_refusal

    lines = JsonLines(sys.stderr.buffer) if as_json else None
    for entry, error in changes.refused:
        report_refusal(entry, error, lines)
