"""Operators that are given to a command, as modules or files."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tamis.operators import OPERATORS, uninstall
from tamis.operators.meters import reset_meters
from tests.cli.conftest import Run, Write

MODULE = """
from tamis.operators import operator

@operator("{name}", ["bigint"], "bigint", cost=0.002)
def {name}(values):
    "Twice a number."
    return [2 * value for value in values.to_pylist()]
"""


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a command has loaded is gone after the test, as it is after the command."""
    before = dict(OPERATORS)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    made = OPERATORS.keys() - before.keys()
    uninstall(*made)
    reset_meters(*made)


@pytest.mark.slow
def test_commands_load_the_operators_of_a_module(run: Run, write: Write) -> None:
    write("cli_given.py", MODULE.format(name="cli_given"))
    write("s.jsonl", [{"id": "big", "condition": "cli_given(n) > 4"}])
    write("e.jsonl", [{"id": "x", "n": 1}, {"id": "y", "n": 5}])
    write("t.yaml", "subscriptions: s.jsonl\ncases:\n  - {condition: big, event: {n: 3}, expected: true}\n")
    files = ("--subscriptions", "s.jsonl", "--events", "e.jsonl")
    assert run("lint", "s.jsonl").code == 1
    given = ("--operators", "cli_given")
    assert run("lint", "s.jsonl", *given).code == 0
    assert run("match", *files, *given).json == [{"event_id": "y", "subscription_id": "big"}]
    explained = run("explain", *files, "--id", "big", "--event", "y", *given)
    assert explained.out.splitlines()[-1].startswith("call cli_given(n) = 10, ")
    (answer,) = run("explain", *files, "--id", "big", "--event", "y", "--json", *given).json
    assert (answer["matched"], answer["calls"][0]["value"]) == (True, "10")
    assert run("test", "t.yaml", *given).code == 0
    assert run("show", "cli_given(n) = 2", *given).code == 0
    assert run("subs", *given, "add", "big", "cli_given(n) > 4").code == 0
    assert run("snapshot", *given, "build", "snapshot", "--subscriptions", "s.jsonl").code == 0


def test_a_file_may_name_them_and_so_may_the_environment(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("cli_filed.py", MODULE.format(name="cli_filed"))
    write("operators.toml", '[operators]\nmodules = ["cli_filed"]\n[operators.networks]\n')
    monkeypatch.setenv("TAMIS_OPERATORS", "operators.toml")
    assert run("show", "cli_filed(n) = 2 and in_network(ip, '10.0.0.0/8')").code == 0


def test_a_module_that_cannot_be_loaded_stops_the_command(run: Run, write: Write) -> None:
    write("s.txt", "n > 3\n")
    outcome = run("lint", "s.txt", "--operators", "cli_nowhere")
    assert (outcome.code, outcome.out) == (2, "")
    assert "operators of module cli_nowhere cannot be loaded" in outcome.err
