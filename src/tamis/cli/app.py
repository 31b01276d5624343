"""The application `tamis` with its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tamis._version import __version__
from tamis.cli.client import client
from tamis.cli.convert import convert
from tamis.cli.demo import demo
from tamis.cli.explain import explain
from tamis.cli.generate import generate
from tamis.cli.lab import lab
from tamis.cli.lint import lint
from tamis.cli.match import match
from tamis.cli.notifications import notifications
from tamis.cli.operators import operators
from tamis.cli.peer import peer
from tamis.cli.route import route
from tamis.cli.run import run
from tamis.cli.serve import config, serve
from tamis.cli.show import show
from tamis.cli.size import size
from tamis.cli.snapshot import snapshot
from tamis.cli.subs import subs
from tamis.cli.test import test
from tamis.cli.warm import warm

if TYPE_CHECKING:
    from collections.abc import Callable

# A new command is one entry here, under the question that it answers.
GROUPS: tuple[tuple[str, str, dict[str, Callable[..., Any] | typer.Typer]], ...] = (
    (
        "Write conditions",
        "tamis lint cameras.jsonl --event-type camera.json",
        {"lint": lint, "show": show, "convert": convert, "explain": explain, "test": test, "operators": operators},
    ),
    (
        "Match files and streams",
        "tamis match --subscriptions cameras.jsonl --events events.jsonl",
        {"match": match, "run": run, "notifications": notifications, "demo": demo, "generate": generate},
    ),
    (
        "Keep subscriptions",
        "tamis subs add cheap 'price < 300' --store subs.db",
        {"subs": subs, "snapshot": snapshot, "route": route},
    ),
    (
        "Run a service",
        "tamis client subscribe 'price < 300' --id cheap",
        {"serve": serve, "config": config, "client": client, "peer": peer},
    ),
    ("Prepare this machine", "tamis warm", {"warm": warm, "size": size}),
    ("Study the papers", "tamis lab claims --paper jewel", {"lab": lab}),
)


class _Grouped(TyperGroup):
    """Help that lists commands by what they are for, in the order of `GROUPS`."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for title, example, names in GROUPS:
            with formatter.section(title):
                formatter.write_text(f"$ {example}")
                rows = [(name, self.commands[name].get_short_help_str(limit=200)) for name in names]
                formatter.write_dl([(f"{name:<{width}}", text) for name, text in rows])


app = typer.Typer(
    name="tamis",
    cls=_Grouped,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help is plain text, the same on a terminal and in a pipe
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tamis {__version__}")
        raise typer.Exit


@app.callback()
def _tamis(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Match events exactly against standing conditions, written as SQL WHERE clauses.

    Exit codes: 0 success; 1 a condition was refused or a test case failed; 2 the command could not be carried out,
    because of a wrong option, or a file that is missing or malformed.
    """


for _, _, _members in GROUPS:
    for _name, _member in _members.items():
        if isinstance(_member, typer.Typer):
            app.add_typer(_member, name=_name)
        else:
            app.command(_name)(_member)
