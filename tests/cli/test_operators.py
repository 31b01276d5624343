"""`tamis operators`, and the option with which other commands load operators."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis import EventType, Matcher
from tamis.operators import OPERATORS, uninstall
from tamis.operators.library import LIBRARY
from tamis.operators.meters import reset_meters
from tamis.operators.reports import FailedCall, OperatorLedger, OperatorReport
from tests.cli.conftest import Run, Write

MODULE = """
from tamis.operators import operator

@operator("{name}", ["bigint"], "bigint", cost=0.002)
def {name}(values):
    "Twice a number."
    return [2 * value for value in values.to_pylist()]
"""

SUBJECT = """
from tamis.operators import Operator
from tamis.values.types import INT

def operators(*, table, cost, text):
    return [Operator("cli_subject", (INT,), INT, len, cost=cost, description=f"{table!r} {text!r}")]
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


def test_lists_operators_with_their_signatures(run: Run, write: Write) -> None:
    write("cli_listed.py", MODULE.format(name="cli_twice"))
    outcome = run("operators", "--module", "cli_listed", "--library", "networks")
    assert outcome.code == 0
    rows = [line.split() for line in outcome.out.splitlines()]
    assert rows[0] == ["signature", "cost", "description"]
    assert "cli_twice(bigint) bigint 2 ms Twice a number.".split() in rows
    assert any(row[0].startswith("in_network(string,") for row in rows)


def test_settings_of_the_library_are_json_or_text(
    run: Run, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("cli_subject.py", SUBJECT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(LIBRARY, "subject", "cli_subject")
    settings = ('table={"a": [1]}', "cost=0.5", "text=some words")
    given = [part for setting in settings for part in ("--library", f"subject:{setting}")]
    (found,) = [each for each in run("operators", *given, "--json").json if each["operator"] == "cli_subject"]
    assert found["description"] == "{'a': [1]} 'some words'"
    assert found["declared_cost"] == 0.5


def test_what_was_learned_is_read_from_the_state_of_a_pipeline(run: Run, write: Write, tmp_path: Path) -> None:
    write("cli_learned.py", MODULE.format(name="cli_learned"))
    failed = FailedCall(1.5, "7", "LookupError: no")
    report = OperatorReport("cli_learned", calls=4_000, seconds=2.0, failures=3, lately=(failed,))
    assert run("operators", "--module", "cli_learned").code == 0
    type_ = EventType.of({"name": "event", "attributes": {"n": "bigint"}})
    matcher = Matcher(type_)
    matcher.add("one", "cli_learned(n) > 3")
    matcher.match_batch([{"n": number} for number in range(21)])
    OperatorLedger(tmp_path / "operators.json").add([report], {"event": matcher.statistics.of_calls(5)})
    given = ("operators", "--module", "cli_learned", "--statistics", "operators.json")
    (found,) = [each for each in run(*given, "--json").json if each["operator"] == "cli_learned"]
    assert (found["declared_cost"], found["learned_cost"]) == (0.002, 0.0005)
    assert (found["calls"], found["failures"]) == (4_000, 3)
    assert found["lately"] == [{"at": 1.5, "arguments": "7", "error": "LookupError: no"}]
    rows = [" ".join(line.split()) for line in run(*given).out.splitlines()]
    assert rows[0] == "signature cost learned calls failures gave description"
    assert "cli_learned(bigint) bigint 2 ms 0.5 ms 4,000 3 about 20L Twice a number." in rows
    (answer,) = found["answers"]
    assert (answer["attribute"], answer["quartiles"][0]) == ("cli_learned(n)", "0L")
    assert answer["presence"] > 0.9


def test_what_was_learned_is_read_from_a_snapshot(run: Run, write: Write, tmp_path: Path) -> None:
    write("cli_shot.py", MODULE.format(name="cli_shot"))
    assert run("operators", "--module", "cli_shot").code == 0
    matcher = Matcher(EventType.of({"name": "event", "attributes": {"n": "bigint"}}))
    matcher.add("one", "n > 0 and cli_shot(n) > 3")
    matcher.match_batch([{"n": number} for number in range(20)])
    matcher.publish(tmp_path / "snapshot")
    outcome = run("operators", "--module", "cli_shot", "--statistics", "snapshot", "--json")
    (found,) = [each for each in outcome.json if each["operator"] == "cli_shot"]
    assert 0 < found["learned_cost"] == matcher.statistics.to_json()["costs"]["cli_shot"]
    assert found["calls"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--module", "cli_nowhere"), "operators of module cli_nowhere cannot be loaded: ModuleNotFoundError"),
        (("--library", "netwroks"), "did you mean 'networks'?"),
        (("--library", "networks:home"), "--library networks:home: expected NAME or NAME:KEY=VALUE"),
        (("--module", "nothing.toml"), "nothing.toml: No such file"),
        (("--statistics", "nothing"), "nothing"),
    ],
)
def test_what_cannot_be_had_is_named(run: Run, arguments: tuple[str, str], message: str) -> None:
    outcome = run("operators", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("tamis: error: ")
    assert message in outcome.err
