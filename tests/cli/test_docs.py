"""docs/command-line.md says what the application does."""

from __future__ import annotations

import re
import shlex

import pytest
import typer.main

from tamis.cli.app import GROUPS, app
from tests.cli.conftest import EXAMPLES, Run

TEXT = (EXAMPLES.parent / "docs" / "command-line.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `tamis (\w+)`\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
EXAMPLE = re.compile(r"^```console\n\$ (.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def options_of(name: str) -> set[str]:
    """All options of a command, or of the commands of a group."""
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    parts = [command, *getattr(command, "commands", {}).values()]
    parameters = [parameter for part in parts for parameter in part.params]
    named = {name for parameter in parameters for name in parameter.opts if name.startswith("-")}
    return named - {"--help", "-h"}


def test_every_command_has_a_section_and_a_row() -> None:
    commands = [name for _, _, members in GROUPS for name in members]
    assert sorted(SECTIONS) == sorted(commands), "sections may come in another order"
    assert re.findall(r"^\| `tamis (\w+)` \|", TEXT, re.MULTILINE) == commands


@pytest.mark.parametrize("command", SECTIONS)
def test_tables_list_exactly_the_options(command: str) -> None:
    rows = re.findall(r"^\| (`-.*?) \|", SECTIONS[command], re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(--?[a-z-]+)", row)} == options_of(command)


@pytest.mark.parametrize("example", EXAMPLE.findall(TEXT), ids=lambda example: example[0][:20])
def test_examples_print_what_is_written(
    example: tuple[str, str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, expected = example
    monkeypatch.chdir(EXAMPLES)
    out = run(*shlex.split(command)[1:]).out
    pattern = "".join(".*" if line == "...\n" else re.escape(line) for line in expected.splitlines(keepends=True))
    assert re.fullmatch(pattern, out, re.DOTALL), out
