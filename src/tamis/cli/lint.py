"""`tamis lint`: errors and warnings about the conditions of files, with their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import Dialect, EventTypeFile, Json, Operators, Quiet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tamis.cli.output import Screen
    from tamis.cli.subscriptions import SubscriptionEntry
    from tamis.events.event_type import EventType
    from tamis.language.lint import Finding, SeenAttributes

_RECENT, _BATCH_ROWS = 1_000, 100
_STYLES = {"error": "bold red", "warning": "yellow"}


def lint(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Subscriptions, as for match; - for standard input."),
    ],
    event_type: EventTypeFile = None,
    events: Annotated[
        str | None,
        typer.Option(
            "--events",
            metavar="FILE",
            help="Recent events, JSON lines, CSV or Parquet: attributes that the last 1,000 lack are reported.",
        ),
    ] = None,
    operators: Operators = None,
    dialect: Dialect = "sql",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Report errors in conditions, and conditions that are probably not intended.

    Errors are the reasons why a condition is refused. Warnings are about conditions that no event or every event
    satisfies, repeated operands, and conditions that are equivalent to an earlier one; with --events, also about
    attributes of schemaless conditions that no recent event has.

    \b
    Examples:
      tamis lint cameras.jsonl --event-type camera.json
      tamis lint rules/*.txt --events yesterday.jsonl
      echo "price < 3 and price > 5" | tamis lint -

    Each line starts with file:line:column. In a text with one condition per line, that is the place in the file;
    otherwise it is the line of the record and the column in its condition.

    Exit code 1 if there are errors; 0 if there are none, with or without warnings; 2 if a file cannot be read.
    """
    from tamis.cli.inputs import check_sources, load_event_type
    from tamis.cli.output import JsonLines, Screen, count_text, note, printing_errors
    from tamis.cli.subscriptions import read_subscriptions

    with printing_errors():
        check_sources(*files, *([] if events is None else [events]))
        type_ = load_event_type(event_type)
        name = None if event_type is None else type_.name
        entries = [entry for file in files for entry in read_subscriptions(file, event_type=name, dialect=dialect)]
        screen = Screen()
        lines = JsonLines() if json else None
        totals = {"error": 0, "warning": 0}
        seen = None if events is None else _seen_attributes(events)
        for entry, finding in _findings(entries, type_, seen):
            totals[finding["severity"]] += 1
            if lines is not None:
                lines.write(finding)
            else:
                _print(screen, entry, finding)
        if not quiet:
            errors, warnings = totals["error"], totals["warning"]
            note(
                f"tamis: {count_text(len(entries), 'condition')}, "
                f"{count_text(errors, 'error')}, {count_text(warnings, 'warning')}"
            )
    raise typer.Exit(1 if totals["error"] else 0)


def _seen_attributes(events: str) -> SeenAttributes:
    """The attributes of the last events of a file."""
    from collections import deque

    from tamis.cli.inputs import open_events
    from tamis.events.event_type import EventType
    from tamis.language.lint import SeenAttributes

    # Small batches, of which the last are kept: at least so many events, unless there are fewer.
    recent = deque(open_events(events, EventType(), None, batch_rows=_BATCH_ROWS), _RECENT // _BATCH_ROWS)
    return SeenAttributes.of(recent)


def _findings(
    entries: list[SubscriptionEntry], event_type: EventType, seen: SeenAttributes | None
) -> Iterator[tuple[SubscriptionEntry, dict[str, Any]]]:
    """The findings about each entry, in the order of entries."""
    from tamis.language.lint import lint_many

    keys: dict[str, SubscriptionEntry] = {}
    for entry in entries:
        keys[_key(entry, keys)] = entry
    stated = {key: entry for key, entry in keys.items() if _has_condition(entry)}
    given = [(key, entry.condition) for key, entry in stated.items()]
    dialects = [entry.dialect for entry in stated.values()]
    by_key: dict[str | None, list[Finding]] = {}
    for finding in lint_many(given, event_type, seen=seen, dialect=dialects):
        by_key.setdefault(finding.subscription_id, []).append(finding)
    for key, entry in keys.items():
        place = {"file": entry.file, "line": entry.line, "subscription_id": entry.id or None}
        for problem in entry.problems:
            yield entry, {**place, "severity": "error", "code": "record", "message": problem}
        for finding in by_key.get(key, ()):
            yield entry, {**place, **_position(finding), "excerpt": _excerpt(finding)}


def _key(entry: SubscriptionEntry, taken: dict[str, SubscriptionEntry]) -> str:
    """The name of an entry in findings: its id, or its place if the id is missing or ambiguous."""
    if entry.whole_line:
        return entry.place
    return entry.id if entry.id and entry.id not in taken else f"{entry.id} at {entry.place}"


def _has_condition(entry: SubscriptionEntry) -> bool:
    return bool(entry.condition) or not entry.problems


def _position(finding: Finding) -> dict[str, Any]:
    found = {"severity": finding.severity, "code": finding.code, "message": finding.message}
    place = {"condition_line": finding.line, "condition_column": finding.column}
    return {**found, **place, **({} if finding.hint is None else {"hint": finding.hint})}


def _excerpt(finding: Finding) -> str:
    """The line of the condition with carets below it: the second and third line of the rendered finding."""
    return "\n".join(finding.text.split("\n")[1:3])


def _print(screen: Screen, entry: SubscriptionEntry, finding: dict[str, Any]) -> None:
    from rich.text import Text

    from tamis.cli.output import visible

    column = finding.get("condition_column")
    place = entry.place if column is None else f"{entry.place}:{column}"
    subject = "" if entry.whole_line or not entry.id else f"{entry.id}: "
    within = f" (line {finding['condition_line']} of it)" if finding.get("condition_line", 1) > 1 else ""
    severity = finding["severity"]
    screen.print(
        Text.assemble(
            (f"{visible(place)}: ", "bold"),
            (severity, _STYLES[severity]),
            visible(f": {subject}{finding['message']}{within} [{finding['code']}]"),
        )
    )
    if "excerpt" in finding:
        screen.say(finding["excerpt"], style="dim")
    if "hint" in finding:
        screen.say(f"  hint: {finding['hint']}")
