"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

EventTypeFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--event-type",
        metavar="FILE",
        help="The event type, a JSON file; without it, events are schemaless.",
    ),
]
SubscriptionsFile: TypeAlias = Annotated[
    str,
    typer.Option(
        "--subscriptions",
        metavar="FILE",
        help="JSON lines, CSV, Parquet, or a text with one condition per line; - for standard input.",
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
        help="The format of events: json, csv or parquet; by default by suffix, and json for standard input.",
    ),
]
EventId: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--event-id",
        metavar="NAME",
        help="The attribute that names events. By default `id` if there is one, else the row number.",
    ),
]


def _load_operators(context: typer.Context, modules: list[str] | None) -> list[str] | None:
    """Load the modules of `--operators` before the command runs."""
    if not context.resilient_parsing:
        from tamis.cli.operator_loading import load_operator_modules
        from tamis.cli.output import printing_errors

        with printing_errors():
            load_operator_modules(modules or [])
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
Condition: TypeAlias = Annotated[
    str, typer.Argument(metavar="CONDITION", help="The condition that events must satisfy.")
]
Dialect: TypeAlias = Annotated[
    str,
    typer.Option(
        "--dialect",
        metavar="NAME",
        help="The language of conditions that name none, such as eventbridge; by default sql.",
    ),
]
ConditionDialect: TypeAlias = Annotated[
    str | None,
    typer.Option("--dialect", metavar="NAME", help="The language of the condition; by default sql."),
]
Label: TypeAlias = Annotated[str | None, typer.Option("--label", metavar="TEXT", help="A readable name.")]
Priority: TypeAlias = Annotated[
    int | None,
    typer.Option("--priority", metavar="N", help="Subscriptions of higher priority come first; by default 0."),
]


def warn_as_json(context: typer.Context, value: bool) -> bool:
    """Let warnings of the library, such as that it compiles, be lines of JSON on standard error, too."""
    if value:
        from tamis.cli.output import json_warnings

        context.with_resource(json_warnings())
    return value


Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON.", callback=warn_as_json)]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary and no progress.")]
