"""`tamis lint`: everything there is to say about the conditions of files, with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import EventTypeFile, Json, Operators, Quiet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tamis.cli.output import Screen
    from tamis.cli.subscriptions import Entry
    from tamis.events.event_type import EventType
    from tamis.language.lint import Finding

_STYLES = {"error": "bold red", "warning": "yellow"}


def lint(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Subscriptions, as for match; - for standard input."),
    ],
    event_type: EventTypeFile = None,
    operators: Operators = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Report what is wrong with conditions, or surely not meant.

    Errors are what a condition is refused for. Warnings are conditions that no event or every event satisfies,
    operands that stand there twice, and conditions that say the same as an earlier one.

    \b
    Examples:
      tamis lint cameras.jsonl --event-type camera.json
      tamis lint rules/*.txt
      echo "price < 3 and price > 5" | tamis lint -

    Each line starts with file:line:column. In a text with one condition a line, that is the place in the file;
    otherwise it is the record's line and the column in its condition.

    Exit code 1 if there is any error, else 0, warnings or not; 2 if a file cannot be read.
    """
    from tamis.cli.inputs import check_sources, load_event_type
    from tamis.cli.output import JsonLines, Screen, counted, note, reported_errors
    from tamis.cli.subscriptions import read_subscriptions

    with reported_errors():
        check_sources(*files)
        type_ = load_event_type(event_type)
        name = None if event_type is None else type_.name
        entries = [entry for file in files for entry in read_subscriptions(file, event_type=name)]
        screen = Screen()
        lines = JsonLines() if json else None
        totals = {"error": 0, "warning": 0}
        for entry, finding in _findings(entries, type_):
            totals[finding["severity"]] += 1
            if lines is not None:
                lines.write(finding)
            else:
                _print(screen, entry, finding)
        if not quiet:
            errors, warnings = totals["error"], totals["warning"]
            note(
                f"tamis: {counted(len(entries), 'condition')}, "
                f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
            )
    raise typer.Exit(1 if totals["error"] else 0)


def _findings(entries: list[Entry], event_type: EventType) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """What there is to say about each entry, in their order."""
    from tamis.language.lint import lint_many

    keys: dict[str, Entry] = {}
    for entry in entries:
        keys[_key(entry, keys)] = entry
    given = [(key, entry.condition) for key, entry in keys.items() if _has_condition(entry)]
    by_key: dict[str | None, list[Finding]] = {}
    for finding in lint_many(given, event_type):
        by_key.setdefault(finding.subscription_id, []).append(finding)
    for key, entry in keys.items():
        place = {"file": entry.file, "line": entry.line, "subscription_id": entry.id or None}
        for problem in entry.problems:
            yield entry, {**place, "severity": "error", "code": "record", "message": problem}
        for finding in by_key.get(key, ()):
            yield entry, {**place, **_position(finding), "excerpt": _excerpt(finding)}


def _key(entry: Entry, taken: dict[str, Entry]) -> str:
    """How a finding calls another entry: by its id, by its place where the id would not tell."""
    if entry.whole_line:
        return entry.place
    return entry.id if entry.id and entry.id not in taken else f"{entry.id} at {entry.place}"


def _has_condition(entry: Entry) -> bool:
    return bool(entry.condition) or not entry.problems


def _position(finding: Finding) -> dict[str, Any]:
    found = {"severity": finding.severity, "code": finding.code, "message": finding.message}
    place = {"condition_line": finding.line, "condition_column": finding.column}
    return {**found, **place, **({} if finding.hint is None else {"hint": finding.hint})}


def _excerpt(finding: Finding) -> str:
    """The line of the condition with carets below it, without the message above and the hint below."""
    return "\n".join(finding.text.split("\n")[1:3])


def _print(screen: Screen, entry: Entry, finding: dict[str, Any]) -> None:
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
