"""Commands in `sh` blocks of the documentation exist, with their arguments and options.

They are parsed and not run, since many need a server. What `console` blocks show is run by `tests/test_docs.py`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tamis.cli.app import app
from tests.operators.recording import operators_as_before
from tests.pages import blocks
from tests.test_docs import PAGES, ROOT

_OPERATORS = frozenset("|&;<>")


def _lines(page: Path) -> Iterator[tuple[str, str]]:
    """Place and text of each line in a `sh` block that calls tamis."""
    for block in blocks(page):
        if block.language == "sh":
            for number, line in enumerate(block.content.replace("\\\n", "  ").splitlines(), block.line):
                if "tamis " in line:
                    yield f"{page.relative_to(ROOT).as_posix()}:{number}", line


def _calls(line: str) -> Iterator[list[str]]:
    """The arguments of each call of tamis in a line of a shell."""
    words = shlex.shlex(line, posix=True, punctuation_chars="".join(_OPERATORS))
    words.whitespace_split = True
    call: list[str] = []
    is_target = False
    for word in [*words, ";"]:
        if _OPERATORS.issuperset(word):
            is_target = word[0] in "<>"
            if not is_target:
                if call and call[0].rpartition("/")[2] == "tamis":
                    yield call[1:]
                call = []
        elif is_target:
            is_target = False  # a file that is read or written
        else:
            call.append(word)


def _parse(command: Any, name: str, arguments: list[str]) -> None:
    """Parse without running anything; an error of usage is raised."""
    if hasattr(command, "commands") and arguments and arguments[0] in command.commands:
        _parse(command.commands[arguments[0]], f"{name} {arguments[0]}", arguments[1:])
    else:
        command.make_context(name, list(arguments)).close()


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("tamis match --events e.jsonl > out.txt   # a comment", [["match", "--events", "e.jsonl"]]),
        ("echo '{\"a\": 1}' | .venv/bin/tamis client publish -", [["client", "publish", "-"]]),
        ('tamis lint a.txt && tamis show "a < 1 | b"; ls', [["lint", "a.txt"], ["show", "a < 1 | b"]]),
        ("pip install tamis", []),
    ],
)
def test_calls_are_found_in_a_line(line: str, calls: list[list[str]]) -> None:
    assert list(_calls(line)) == calls


def test_an_option_that_does_not_exist_is_an_error() -> None:
    command = typer.main.get_command(app)
    with pytest.raises(Exception, match="--sincee"):
        _parse(command, "tamis", ["notifications", "list", "out", "--sincee", "12h"])


@pytest.mark.parametrize("page", [page for page in PAGES if any(_lines(page))], ids=lambda page: page.stem)
def test_commands_in_shell_examples_exist_with_their_options(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = ROOT / "examples"
    monkeypatch.chdir(examples / page.stem if page.parent.name == "gallery" else examples)
    command = typer.main.get_command(app)
    wrong = []
    with operators_as_before():  # some options load operators
        for place, line in _lines(page):
            for arguments in _calls(line):
                try:
                    _parse(command, "tamis", arguments)
                except Exception as error:  # errors of usage have no public class in typer
                    wrong.append(f"{place}: {' '.join(arguments)}: {error}")
    assert not wrong, "\n".join(wrong)
