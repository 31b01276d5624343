"""`tamis snapshot ...`: versions of subscriptions under a URL.

`tamis.snapshot` stores versions; the commands call it and print the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tamis.cli.options import Json, Operators, Quiet
from tamis.cli.snapshot_build import Url, build

if TYPE_CHECKING:
    from tamis.snapshot import Manifest, Snapshots

Version: TypeAlias = Annotated[
    int | None, typer.Option("--version", min=1, metavar="N", help="The version; by default the newest.")
]

snapshot = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
snapshot.command()(build)

_MANY_BYTES = ("B", "kB", "MB", "GB", "TB")


@snapshot.callback()
def _snapshot(operators: Operators = None) -> None:
    """Build, inspect and maintain durable versions of subscriptions.

    URL is the path of a folder, or a URL such as s3://bucket/folder.

    \b
    Examples:
      tamis snapshot build alerts --subscriptions alerts.jsonl --event-type reading.json
      tamis snapshot versions alerts
      tamis snapshot forget alerts --keep-versions 5 --older-than 12h

    Exit code 0 on success; 1 if a condition was refused or a file is damaged; 2 if the command could not be
    carried out.
    """


@snapshot.command()
def inspect(url: Url, version: Version = None, json: Json = False) -> None:
    """Show the content of a version.

    Reads the manifest and the headers of its segments, not the arrays.

    \b
    Examples:
      tamis snapshot inspect alerts
      tamis snapshot inspect s3://bucket/alerts --version 12 --json

    Exit code 2 if there is no such version, or its files are damaged.
    """
    from tamis.cli.output import JsonLines, printing_errors
    from tamis.snapshot import Snapshots

    with printing_errors():
        snapshots = Snapshots(url)
        shown = _inspection(snapshots, snapshots.manifest(version))
        if json:
            JsonLines().write(shown)
        else:
            _print_inspection(snapshots.url, shown)


@snapshot.command()
def verify(url: Url, version: Version = None, json: Json = False, quiet: Quiet = False) -> None:
    """Read all files and compare them with their checksums.

    Without --version, verifies all versions and the pins, and reports files that do not belong to a snapshot.

    \b
    Examples:
      tamis snapshot verify alerts
      tamis snapshot verify alerts --version 12 --quiet

    Exit code 1 if anything is damaged, missing or foreign; 2 if there is no version at all.
    """
    from tamis.cli.output import JsonLines, Screen, count_text, note, printing_errors
    from tamis.snapshot import Snapshots

    with printing_errors():
        snapshots = Snapshots(url)
        there = [snapshots.manifest(version).version] if version is not None else snapshots.versions()
        if not there:
            snapshots.manifest()  # raises: there is no version
        damages = snapshots.verify(version)
        lines, screen = JsonLines() if json else None, Screen()
        for damage in damages:
            if lines is not None:
                lines.write({"file": damage.file, "kind": damage.kind, "message": damage.message})
            else:
                screen.say(f"{damage.file}: {damage.message}")
        if not quiet:
            found = count_text(len(damages), "file") + " not as written" if damages else "all as written"
            note(f"tamis: {count_text(len(there), 'version')}, {found}")
    raise typer.Exit(1 if damages else 0)


@snapshot.command()
def merge(url: Url, json: Json = False) -> None:
    """Publish the newest version again, in as few segments as possible and without dead slots.

    \b
    Examples:
      tamis snapshot merge alerts

    Exit code 2 if there is no version, or another version was published meanwhile.
    """
    from tamis.cli.output import JsonLines, Screen, count_text, printing_errors
    from tamis.matchers import Matchers
    from tamis.snapshot import Snapshots

    with printing_errors():
        snapshots = Snapshots(url)
        before = after = snapshots.manifest()
        if len(before.entries) > len(before.event_types) or before.dead:
            matchers = Matchers.open(url, before.version)
            for name in matchers:
                matchers[name].merge()
            after = matchers.publish(url, before.extra)
        if json:
            JsonLines().write({"before": _summary(before), "after": _summary(after)})
        elif after is before:
            Screen().say(f"version {after.version} is merged already")
        else:
            Screen().say(
                f"version {after.version}: {count_text(len(before.entries), 'segment')} of {_bytes(before.bytes)} "
                f"merged into {len(after.entries)} of {_bytes(after.bytes)}, {before.dead:,} dead slots gone"
            )


@snapshot.command()
def versions(url: Url, json: Json = False) -> None:
    """List the versions, the oldest first.

    \b
    Examples:
      tamis snapshot versions alerts

    Exit code 2 if there is none, or a manifest is damaged.
    """
    from tamis.cli.output import JsonLines, print_table, printing_errors
    from tamis.snapshot import Snapshots

    with printing_errors():
        snapshots = Snapshots(url)
        holders: dict[int, list[str]] = {}
        for holder, pin in snapshots.pins().items():
            holders.setdefault(pin.version, []).append(holder)
        there = snapshots.versions() or [snapshots.manifest().version]
        rows = [_summary(snapshots.manifest(version)) for version in there]
        if json:
            lines = JsonLines()
            for row in rows:
                lines.write({**row, "pinned_by": sorted(holders.get(row["version"], ()))})
        else:
            print_table(
                ("version", "published (UTC)", "subscriptions", "dead", "segments", "bytes", "pinned by"),
                (
                    (
                        str(row["version"]),
                        row["created"][:19].replace("T", " "),
                        f"{row['subscriptions']:,}",
                        f"{row['dead']:,}",
                        str(row["segments"]),
                        _bytes(row["bytes"]),
                        ", ".join(sorted(holders.get(row["version"], ()))),
                    )
                    for row in rows
                ),
            )


@snapshot.command()
def forget(
    url: Url,
    keep_versions: Annotated[
        int, typer.Option("--keep-versions", min=1, metavar="N", help="Keep this many of the newest versions.")
    ] = 10,
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than",
            metavar="TIME",
            help="Keep a version until it has been superseded for this long: 90s, 12h.",
        ),
    ] = "1d",
    grace: Annotated[
        str,
        typer.Option(
            "--grace",
            metavar="TIME",
            help="Keep a file without a version for this long: it may be part of the next one.",
        ),
    ] = "1h",
    unpin: Annotated[
        list[str] | None,
        typer.Option("--unpin", metavar="HOLDER", help="First release a pin that its holder does not release."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
    json: Json = False,
) -> None:
    """Remove old versions, and the files that no remaining version needs.

    The newest version and pinned versions are never removed.

    \b
    Examples:
      tamis snapshot forget alerts --dry-run
      tamis snapshot forget alerts --keep-versions 1 --older-than 0s

    Exit code 2 if a manifest or a pin is damaged: then it is unknown which files are needed, and nothing is
    removed.
    """
    from tamis.cli.output import JsonLines, Screen, count_text, fail, printing_errors
    from tamis.cli.times import read_duration
    from tamis.snapshot import Snapshots

    with printing_errors():
        snapshots = Snapshots(url)
        pins = snapshots.pins()
        for holder in unpin or ():
            if holder not in pins:
                fail(f"{snapshots.url}: {holder!r} has no pin")
            if not dry_run:
                snapshots.unpin(holder)
        collected = snapshots.forget(
            keep_versions=keep_versions,
            older_than_seconds=read_duration(older_than, "--older-than").total_seconds(),
            grace_seconds=read_duration(grace, "--grace").total_seconds(),
            dry_run=dry_run,
        )
        if json:
            removed = {"versions": list(collected.versions), "files": list(collected.files)}
            JsonLines().write({**removed, "bytes": collected.bytes, "dry_run": dry_run})
        else:
            which = f" ({_ranges(collected.versions)})" if collected.versions else ""
            Screen().say(
                f"{'would remove' if dry_run else 'removed'} "
                f"{count_text(len(collected.versions), 'version')}{which} "
                f"and {count_text(len(collected.files), 'file')} of {_bytes(collected.bytes)}"
            )


def _summary(manifest: Manifest) -> dict[str, Any]:
    return {
        "version": manifest.version,
        "parent": manifest.parent,
        "created": manifest.created.isoformat(),
        "subscriptions": manifest.slots - manifest.dead,
        "dead": manifest.dead,
        "segments": len(manifest.entries),
        "bytes": manifest.bytes,
    }


def _inspection(snapshots: Snapshots, manifest: Manifest) -> dict[str, Any]:
    segments = []
    for entry in manifest.entries:
        header = snapshots.header(entry.segment)
        arrays = [
            {"name": place.name, "type": place.dtype, "shape": list(place.shape), "bytes": place.bytes}
            for place in header.arrays
        ]
        counts = {"slots": entry.slots, "dead": entry.dead, "bytes": entry.bytes}
        segments.append({"name": entry.segment, **counts, "arrays": arrays, "meta": dict(header.meta)})
    return {
        **_summary(manifest),
        "event_types": {name: dict(each) for name, each in manifest.event_types.items()},
        "segments": segments,
        "extra": dict(manifest.extra),
        "statistics": snapshots.statistics(manifest.version),
    }


def _event_type_text(name: str, event_type: dict[str, Any]) -> str:
    attributes = event_type.get("attributes")
    return f"{name} ({'schemaless' if attributes is None else ', '.join(attributes)})"


def _print_inspection(url: str, shown: dict[str, Any]) -> None:
    import json

    from tamis.cli.output import Screen, print_table
    from tamis.urls import without_secrets

    screen = Screen()
    made_from = "" if shown["parent"] is None else f", made from version {shown['parent']}"
    screen.say(f"{without_secrets(url)}: version {shown['version']}{made_from}", style="bold")
    rows = [
        ("published", shown["created"][:19].replace("T", " ") + " UTC"),
        *(("event type", _event_type_text(name, each)) for name, each in shown["event_types"].items()),
        ("subscriptions", f"{shown['subscriptions']:,}, and {shown['dead']:,} dead slots"),
        ("bytes", f"{_bytes(shown['bytes'])} in arrays"),
        *(() if shown["statistics"] else (("statistics", "none"),)),
        *((key, json.dumps(value)) for key, value in shown["extra"].items() if key not in shown),
    ]
    width = max(len(left) for left, _ in rows)
    for left, right in rows:
        screen.say(f"  {left:{width}}  {_shorten(right, 200)}")
    screen.say("segments:", style="bold")
    table = [(each["name"][:12], each["slots"], each["dead"], _bytes(each["bytes"])) for each in shown["segments"]]
    print_table(("name", "slots", "dead", "bytes"), ([str(cell) for cell in row] for row in table))
    _print_statistics(shown["event_types"], shown["statistics"] or {})
    totals: dict[tuple[str, str], int] = {}
    for segment in shown["segments"]:
        for array in segment["arrays"]:
            key = (array["name"], array["type"])
            totals[key] = totals.get(key, 0) + array["bytes"]
    screen.say("arrays:", style="bold")
    largest = sorted((item for item in totals.items() if item[1]), key=lambda item: -item[1])
    print_table(("name", "type", "bytes"), ((name, type_, _bytes(size)) for (name, type_), size in largest))


def _print_statistics(event_types: Iterable[str], documents: dict[str, Any]) -> None:
    """Print the statistics of the events of each type."""
    from tamis.cli.output import Screen, print_table
    from tamis.statistics import Statistics

    for name in event_types:
        if name in documents:
            Screen().say(f"statistics of {name}:", style="bold")
            rows = (
                (
                    each["attribute"],
                    f"{each['presence']:.1%}",
                    f"{each['distinct']:,}",
                    _shorten(" .. ".join(each["quartiles"])),
                    _shorten(", ".join(f"{value} {share:.1%}" for value, share in each["frequent"].items())),
                )
                for each in Statistics.from_json(documents[name]).describe()
            )
            print_table(("attribute", "in events", "values", "quartiles", "frequent"), rows)


def _shorten(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _bytes(size: float) -> str:
    """A size with its unit, such as `12.3 kB`."""
    unit = 0
    while size >= 1_000 and unit < len(_MANY_BYTES) - 1:
        size /= 1_000
        unit += 1
    return f"{size:.1f} {_MANY_BYTES[unit]}" if unit else f"{size:g} B"


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers with runs abbreviated, such as `1 to 3, 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[1]}" for run in runs)
