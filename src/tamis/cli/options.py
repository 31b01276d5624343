"""Options that several commands have, said once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

EventTypeFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--event-type",
        metavar="FILE",
        help="The event type, a JSON file; without it, events bring their own attributes.",
    ),
]
SubscriptionsFile: TypeAlias = Annotated[
    str,
    typer.Option(
        "--subscriptions",
        metavar="FILE",
        help="JSON lines, CSV, Parquet, or a text with one condition a line; - for standard input.",
    ),
]
EventsFile: TypeAlias = Annotated[
    str,
    typer.Option("--events", metavar="FILE", help="JSON lines, CSV or Parquet; - for standard input."),
]
EventsFormat: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Of the events: json, csv or parquet. By default by the file's suffix; standard input is json.",
    ),
]
EventId: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--event-id",
        metavar="NAME",
        help="The attribute that names events. By default `id` where there is one, else the row number.",
    ),
]


def _load_operators(context: typer.Context, modules: list[str] | None) -> list[str] | None:
    """Load what `--operators` names, before the command begins."""
    if not context.resilient_parsing:
        from tamis.cli.loading import load_given
        from tamis.cli.output import reported_errors

        with reported_errors():
            load_given(modules or [])
    return modules


Operators: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--operators",
        metavar="MODULE",
        envvar="TAMIS_OPERATORS",
        show_envvar=False,
        callback=_load_operators,
        help="Operators that conditions call: a Python module, or a TOML file with [operators]. May be repeated.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No summary and no progress.")]
