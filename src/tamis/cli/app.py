"""The application `tamis` with its commands."""

from __future__ import annotations

from typing import Annotated

import typer

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
from tamis.cli.route import route
from tamis.cli.run import run
from tamis.cli.serve import config, serve
from tamis.cli.show import show
from tamis.cli.snapshot import snapshot
from tamis.cli.subs import subs
from tamis.cli.test import test
from tamis.cli.warm import warm

app = typer.Typer(
    name="tamis",
    no_args_is_help=True,
    add_completion=False,
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


for _command in (match, lint, show, convert, explain, test, operators, generate, run, serve, config, demo, warm):
    app.command()(_command)
app.add_typer(client, name="client")
app.add_typer(lab, name="lab")
app.add_typer(notifications, name="notifications")
app.add_typer(route, name="route")
app.add_typer(snapshot, name="snapshot")
app.add_typer(subs, name="subs")
