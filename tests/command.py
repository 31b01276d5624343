"""The command `tamis` within the tests' own process."""

from __future__ import annotations

import functools

import typer.testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from tamis.cli.app import app

# The runner would build the whole tree of commands for each invocation: 50 ms, a fifth of `make check`.
typer.testing._get_command = functools.cache(get_command)  # type: ignore[attr-defined]


def invoke(*arguments: str, input: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=input, prog_name="tamis")
