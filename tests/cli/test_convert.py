"""`tamis convert`: conditions of other dialects as SQL."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run, Write

PATTERN = '{"detail": {"state": ["stopped"]}}'
SQL = "exists(leaf_values(detail, 'state'), value -> value = 'stopped')"


WALK = "a = 1 THEN a = 2 WITHIN INTERVAL '1' HOUR BY user"


def test_a_condition_is_printed_as_sql(run: Run) -> None:
    outcome = run("convert", "--from", "eventbridge", "--to", "sql", PATTERN)
    assert (outcome.code, outcome.out) == (0, SQL + "\n")
    [record] = run("convert", "--from", "eventbridge", PATTERN, "--json").json
    assert record == {"condition": PATTERN, "dialect": "eventbridge", "sql": SQL}


def test_the_sql_matches_what_the_condition_matches(run: Run, write: Write) -> None:
    events = write("events.jsonl", [{"detail": {"state": "stopped"}}, {"detail": {"state": ["a", "b"]}}])
    rules = write("rules.txt", PATTERN)
    converted = write("sql.jsonl", run("convert", "--from", "eventbridge", rules).out)
    native = run("match", "--subscriptions", rules, "--dialect", "eventbridge", "--events", events)
    assert native.json == [{"event_id": 0, "subscription_id": "1"}]
    assert run("match", "--subscriptions", converted, "--events", events).json == native.json


def test_files_are_converted_line_by_line(run: Run, write: Write) -> None:
    file = write(
        "rules.jsonl",
        [
            {"id": "a", "condition": json.loads(PATTERN), "owner": "ines", "label": "x"},
            {"id": "b", "condition": "n > 5", "dialect": "sql", "priority": 3},
            {"id": "c", "condition": "n >", "dialect": "jms"},
        ],
    )
    outcome = run("convert", "--from", "eventbridge", file)
    assert outcome.code == 1
    assert outcome.json == [
        {"id": "a", "condition": SQL, "owner": "ines", "label": "x"},
        {"id": "b", "condition": "n > 5", "priority": 3},
    ]
    assert "rules.jsonl:3" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (("--from", "jms", "a ="), 1, "line 1, column 4: expected an identifier or a literal, found the end"),
        (("--from", "composite", WALK), 1, "this cannot be expressed in SQL"),
        (("--from", "cesql", "1 + 1"), 1, "this is no condition"),
        (("--from", "jmx", "a = 1"), 2, "there is no dialect 'jmx'; known are sql, "),
        (("--from", "jms", "--to", "jms", "a = 1"), 2, "conditions are converted to sql only, not to 'jms'"),
    ],
)
def test_what_cannot_be_converted_is_said(run: Run, arguments: tuple[str, ...], code: int, expected: str) -> None:
    outcome = run("convert", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert expected in outcome.err


def test_problems_as_json(run: Run) -> None:
    outcome = run("convert", "--from", "jms", "a =", "--json")
    assert outcome.code == 1
    assert outcome.json[0]["problems"][0]["column"] == 4
