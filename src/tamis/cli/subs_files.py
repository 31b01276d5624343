"""`tamis subs import` and `tamis subs export`: subscriptions between files and a store."""

from __future__ import annotations

import csv
import json as json_
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace as replaced
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tamis.cli.options import Json, Quiet
from tamis.cli.subs_store import StoreUrl, given_record, opened

if TYPE_CHECKING:
    from tamis.cli.subscriptions import Entry
    from tamis.errors import TamisError
    from tamis.store import Store

TypeName: TypeAlias = Annotated[
    str | None,
    typer.Option("--type", metavar="NAME", help="The declared event type; by default the schemaless one."),
]
_MORE = ("label", "valid_from", "expires")
"""What a store keeps beside the fields that every file of subscriptions may have."""


def import_(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="As for match; - for standard input.")],
    type: TypeName = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Change subscriptions that are there already.")
    ] = False,
    store: StoreUrl = "tamis.db",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add the subscriptions of files, all in one version.

    Files are those of `tamis match`, which may also have label, valid_from and expires. A type of its own goes
    before --type. A subscription that is refused is named; the others are added.

    \b
    Examples:
      tamis subs import cameras.jsonl
      tamis subs export --store old.db | tamis subs import - --store postgresql://host/db

    Exit code 0 if all subscriptions were good, 1 if some were refused, 2 if nothing could be read or written.
    """
    from tamis.cli.inputs import check_sources
    from tamis.cli.output import JsonLines, Screen, reported_errors, steps

    with reported_errors(), steps(shown=not quiet and not json) as step:
        check_sources(*files)
        step("reading")
        entries, records = _read(files, type)
        with opened(store) as opened_store:
            step(f"compiling and storing {len(records):,} subscriptions")
            counts, errors = _stored(opened_store, entries, records, replace=replace)
        refused = {place: None for place, entry in enumerate(entries) if entry.problems} | errors
    _report(entries, refused, as_json=json)
    if json:
        JsonLines().write({**counts, "refused": len(refused)})
    else:
        done = ", ".join(f"{counts[key]:,} {key}" for key in ("added", "replaced", "edited", "unchanged"))
        Screen().say(f"version {counts['version']}: {done}, {len(refused):,} refused")
    raise typer.Exit(1 if refused else 0)


def export(
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="By default standard output.")
    ] = None,
    store: StoreUrl = "tamis.db",
) -> None:
    """Write all subscriptions as JSON lines, which import takes.

    \b
    Examples:
      tamis subs export --output all.jsonl

    Exit code 2 if there is no store, or the file cannot be written.
    """
    from tamis.cli.output import as_json

    with opened(store, create=False) as opened_store, opened_store.view() as view, _written(output) as lines:
        for stored in view.listed():
            lines.write_bytes(as_json(given_record(stored)) + b"\n")
            if lines.closed:
                break
        lines.flush()


@contextmanager
def _written(output: str | None) -> Iterator[Any]:
    from tamis.cli.output import JsonLines

    if output is None:
        yield JsonLines()
        return
    with open(output, "wb") as file:
        yield JsonLines(file)


def _read(files: list[str], event_type: str | None) -> tuple[list[Entry], dict[int, dict[str, Any]]]:
    """The entries of all files, and by place the records of those without problems."""
    from tamis.cli.inputs import STDIN, source_name
    from tamis.cli.subscriptions import read_subscriptions

    entries: list[Entry] = []
    records: dict[int, dict[str, Any]] = {}
    places: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for source in files:
            path = source
            if source == STDIN:  # it is read twice
                path = str(Path(folder) / "input")
                Path(path).write_bytes(sys.stdin.buffer.read())
            found = read_subscriptions(path)
            more = _more(path, found)
            for each in found:
                entry = replaced(each, file=source_name(source))
                if not entry.problems and entry.id in places:
                    problem = f"there is already a subscription {entry.id!r}, at {places[entry.id]}"
                    entry = replaced(entry, problems=(problem,))
                if not entry.problems:
                    places[entry.id] = entry.place
                    records[len(entries)] = {
                        "id": entry.id,
                        "condition": entry.condition,
                        "event_type": entry.type or event_type,
                        "owner": entry.owner,
                        "priority": entry.priority,
                        **more.get(entry.line, {}),
                    }
                entries.append(entry)
    return entries, records


def _more(path: str, entries: list[Entry]) -> dict[int, dict[str, Any]]:
    """By line, the fields that only a store keeps."""
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        columns = [name for name in pq.ParquetFile(path).schema_arrow.names if name in _MORE]
        return dict(enumerate(pq.read_table(path, columns=columns).to_pylist(), 1)) if columns else {}
    if suffix == ".csv":
        with open(path, encoding="utf-8-sig", newline="") as text:
            rows = csv.reader(text)
            header = [name.strip() for name in next(rows, [])]
            found, first = {}, rows.line_num + 1
            for row in rows:
                cells = dict(zip(header, row, strict=False))
                found[first] = {name: cells[name] or None for name in _MORE if name in cells}
                first = rows.line_num + 1
            return found
    lines = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    found = {}
    for entry in entries:
        line = lines[entry.line - 1]
        if not entry.problems and not entry.whole_line and any(name.encode() in line for name in _MORE):
            record = json_.loads(line)
            found[entry.line] = {name: record[name] for name in _MORE if name in record}
    return found


def _stored(
    store: Store,
    entries: list[Entry],
    records: dict[int, dict[str, Any]],
    *,
    replace: bool,
) -> tuple[dict[str, int], dict[int, TamisError]]:
    """Add the records; gives the counts and, by place, what the store refuses."""
    imported = store.add_many(records.values(), replace=replace)
    places = {entries[place].id: place for place in records}
    errors = {places[refusal.id]: refusal.error for refusal in imported.refusals}
    counts = {"added": imported.added, "replaced": imported.replaced, "edited": imported.edited}
    return {"version": imported.version, **counts, "unchanged": imported.unchanged}, errors


def _report(entries: list[Entry], refused: Mapping[int, TamisError | None], *, as_json: bool) -> None:
    """Name what was refused, on standard error."""
    from tamis.cli.output import JsonLines, note
    from tamis.cli.problems import entry_problems, refusal_text

    lines = JsonLines(sys.stderr.buffer) if as_json else None
    for place, error in sorted(refused.items(), key=lambda item: item[0]):
        entry = entries[place]
        if lines is not None:
            where = {"file": entry.file, "line": entry.line, "subscription_id": entry.id or None}
            lines.write({"kind": "refused", **where, "problems": entry_problems(entry, error)})
        else:
            note(refusal_text(entry, error))
