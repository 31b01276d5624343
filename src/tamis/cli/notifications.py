"""`tamis notifications ...`: read, follow and compact what a sink has written into a folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from tamis.cli.output import JsonLines, Screen

notifications = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="The folder of a sink: delta, parquet or jsonl.")]
StorageOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        metavar="NAME=VALUE",
        envvar="TAMIS_STORAGE_OPTIONS",
        show_envvar=True,
        help="Of an object store, as the sink's storage_options; may be repeated. Keys belong in the environment.",
    ),
]
_POLL_SECONDS = 0.5


@notifications.callback()
def _notifications() -> None:
    """Read what the sinks delta, parquet and jsonl have written.

    \b
    Examples:
      tamis notifications list out --subscription cheap --since 2026-02-28
      tamis notifications list out --follow
      tamis notifications compact out

    Exit code 0 on success; 2 if the command could not be carried out.
    """


@notifications.command("list")
def list_(
    folder: Folder,
    subscription: Annotated[
        str | None, typer.Option("--subscription", metavar="ID", help="Only those of this subscription.")
    ] = None,
    event: Annotated[str | None, typer.Option("--event", metavar="ID", help="Only those of this event.")] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="NAME", help="Only those of subscriptions of this owner.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Matched, or dead, since: a time in UTC, or 12h, 30d ago."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Only the newest N; by default all.")
    ] = None,
    dead: Annotated[bool, typer.Option("--dead", help="Dead letters instead: of any subscription.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with what is committed, until Ctrl-C.")] = False,
    storage_option: StorageOptions = None,
    json: Json = False,
) -> None:
    """Print notifications or dead letters, the newest last.

    \b
    Examples:
      tamis notifications list out --limit 20
      tamis notifications list out --event e7 --json
      tamis notifications list out --dead --since 12h

    A dead letter was matched with no subscription, so --dead goes neither with --subscription nor with --owner.

    Exit code 2 if the folder cannot be read.
    """
    from tamis.cli.output import JsonLines, Screen, fail, printing_errors
    from tamis.cli.times import read_past
    from tamis.sinks.part_files import DEAD_LETTER_FILES, NOTIFICATION_FILES
    from tamis.sinks.reading import (
        Wanted,
        find_dead_letters,
        find_notifications,
        is_sink_folder,
        list_and_follow,
    )

    with printing_errors():
        if not follow and "://" not in folder and not Path(folder).is_dir():
            fail(f"{folder}: no such folder; `tamis run` creates that of a pipeline's sink")
        for option, value in (("--subscription", subscription), ("--owner", owner)):
            if dead and value is not None:
                fail(f"{option}: a dead letter was matched with no subscription; leave out {option} or --dead")
        if not follow and "://" not in folder and not is_sink_folder(folder):
            fail(
                f"{folder}: not the folder of a sink delta, parquet or jsonl; "
                "`tamis run PIPELINE --dry-run` prints that of a pipeline"
            )
        lines, screen = JsonLines(), Screen()
        out = lines if json else screen
        options = _storage_options(storage_option)
        start = None if since is None else read_past(since, "--since")
        if follow:
            wanted = Wanted(subscription, event, owner, start)
            kind = DEAD_LETTER_FILES if dead else NOTIFICATION_FILES
            try:
                for rows in list_and_follow(folder, wanted, _wait_for(lines), options, kind=kind, limit=limit):
                    _print(rows, out)
            except KeyboardInterrupt:
                return
        elif dead:
            _print(find_dead_letters(folder, options, event=event, since=start, limit=limit), out)
        else:
            found = find_notifications(
                folder, options, subscription=subscription, event=event, owner=owner, since=start, limit=limit
            )
            _print(found, out)


@notifications.command()
def compact(
    folder: Folder,
    vacuum_hours: Annotated[
        int,
        typer.Option(
            "--vacuum-hours", min=0, metavar="N", help="Keep files of older versions for this many hours."
        ),
    ] = 168,
    storage_option: StorageOptions = None,
    json: Json = False,
) -> None:
    """Join the small files of Delta tables, and remove files that no version of the last hours needs.

    A running stream is not disturbed. Programs that read an older version of a table need its files.

    \b
    Examples:
      tamis notifications compact out
      tamis notifications compact out --vacuum-hours 24

    Exit code 2 if there is no Delta table.
    """
    from tamis.cli.output import JsonLines, Screen, fail, printing_errors
    from tamis.sinks.delta import compact as compact_tables
    from tamis.sinks.delta import is_delta

    with printing_errors():
        if "://" not in folder and not is_delta(folder):
            fail(f"{folder}: there is no Delta table; only output of the sink delta can be compacted")
        done = compact_tables(folder, _storage_options(storage_option), vacuum_hours=vacuum_hours)
        if json:
            names = ("joined", "into", "removed")
            JsonLines().write({name: dict(zip(names, counts, strict=True)) for name, counts in done.items()})
            return
        screen = Screen()
        for name, (joined, into, removed) in done.items():
            screen.say(f"{name}: {joined} files joined into {into}, {removed} old ones removed")


def _storage_options(given: list[str] | None) -> dict[str, str]:
    from tamis.cli.output import fail

    pairs = [each.partition("=") for each in given or ()]
    for name, equals, _ in pairs:
        if not name or not equals:
            fail("--storage-option: expected NAME=VALUE")  # without the text, which may be a key
    return {name: value for name, _, value in pairs}


def _print(rows: pa.Table, out: JsonLines | Screen) -> None:
    from tamis.cli.output import JsonLines
    from tamis.sinks.formats import json_lines

    if isinstance(out, JsonLines):
        out.write_bytes("".join(f"{line}\n" for line in json_lines(rows)).encode())
        out.flush()
        return
    for row in rows.to_pylist():
        if "original" in row:
            shown = row["original"].decode("utf-8", "replace")
            out.say(f"{row['at']:%Y-%m-%d %H:%M:%S}  {row['kind']}: {row['reason']}  {shown}")
        else:
            label = f"  ({row['label']})" if row["label"] else ""
            kept = f"  {row['attributes']}" if row["attributes"] else ""
            out.say(
                f"{row['matched_at']:%Y-%m-%d %H:%M:%S}  {row['subscription_id']}  {row['event_id']}{label}{kept}"
            )


def _wait_for(lines: JsonLines) -> Callable[[], bool]:
    """Waits for what is new, as long as somebody reads the lines."""

    def wait() -> bool:
        if not lines.closed:
            time.sleep(_POLL_SECONDS)
        return not lines.closed

    return wait
