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
    """Help lists commands by what they are for, in the order of `GROUPS`; `--type` may be `--event-type`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _with_own_spelling(self, args))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for title, example, names in GROUPS:
            with formatter.section(title):
                formatter.write_text(f"$ {example}")
                rows = [(name, self.commands[name].get_short_help_str(limit=200)) for name in names]
                formatter.write_dl([(f"{name:<{width}}", text) for name, text in rows])


_SPELLINGS = ("--type", "--event-type")
"""The event type by its name, and as a file; a command knows one of the two."""


def _with_own_spelling(group: Any, args: list[str]) -> list[str]:
    """The arguments with the event type spelt as the command does, with a warning where it was the other way."""
    command, given = group, [*args]
    for each in args:
        if isinstance(command, TyperGroup):
            command = command.commands.get(each, command)
    known = {name for parameter in command.params for name in parameter.opts}
    own = [name for name in _SPELLINGS if name in known]
    if len(own) != 1:
        return given
    (other,) = {*_SPELLINGS} - {*own}
    for place, each in enumerate(given):
        if each == "--":
            break
        name, sign, value = each.partition("=")
        if name == other:
            from tamis.cli.output import note

            note(f"tamis: warning: {other} is called {own[0]} here")
            given[place] = own[0] + sign + value
    return given


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
