from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Outcome, Run, Write

HEAD = """
subscriptions:
  cheap: price < 10
  sony: brand = 'Sony' AND price > 3
cases:
"""


@pytest.fixture
def check(run: Run, write: Write) -> Any:
    def check(text: str, *options: str) -> Outcome:
        return run("test", write("cases.yaml", text), *options)

    return check


def test_all_pass(check: Any) -> None:
    outcome = check(
        HEAD
        + """
  - {condition: cheap, event: {price: 9}, expected: true}
  - {condition: cheap, event: {price: 10}, expected: false}
  - {condition: cheap, event: {}, expected: null}
  - {condition: "price = 3", events: [{price: 3}, {price: 3.0}], expected: true}
  - {event: {price: 5, brand: Sony}, expected: [sony, cheap]}
  - {event: {price: 50}, expected: []}
"""
    )
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "tamis: 6 cases, 6 passed, 0 failed\n"


def test_verbose_names_cases_that_pass(check: Any) -> None:
    outcome = check(HEAD + "  - {name: nine is cheap, condition: cheap, event: {price: 9}, expected: true}", "-v")
    assert outcome.out == "✓ cases.yaml:6: nine is cheap\n"


def test_failing_case_is_shown_with_its_tree(check: Any) -> None:
    outcome = check(HEAD + "  - {name: wrong, condition: sony, event: {price: 2}, expected: true}")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "✗ cases.yaml:6: wrong",
        "├── expected true, found false",
        "└── The event does not match subscription 'sony' because price > 3 is false (price is 2).",
        "    └── ✗ AND",
        "        ├── ? brand = 'Sony'  [brand = NULL]",
        "        └── ✗ price > 3  [price = 2]",
    ]


def test_unknown_is_not_false(check: Any) -> None:
    outcome = check(HEAD + "  - {condition: cheap, event: {}, expected: false}")
    assert "expected false, found unknown" in outcome.out
    assert outcome.code == 1


def test_only_the_failing_events_of_a_case_are_shown(check: Any) -> None:
    out = check(HEAD + "  - {condition: cheap, events: [{price: 1}, {price: 11}], expected: true}").out
    assert "event 1: expected true, found false" in out
    assert "event 0" not in out


def test_list_explains_what_is_missing_and_what_is_too_much(check: Any) -> None:
    out = check(HEAD + "  - {event: {price: 5}, expected: [sony]}").out
    assert "expected sony, found cheap" in out
    assert "The event matches subscription 'cheap'" in out
    assert "The event does not match subscription 'sony'" in out


def test_refused_condition_of_a_case_fails_it(check: Any) -> None:
    outcome = check(HEAD + '  - {condition: "price <", event: {price: 5}, expected: true}')
    assert outcome.code == 1
    assert "the condition is refused:" in outcome.out


def test_refused_subscription_is_exit_code_1(check: Any) -> None:
    text = "subscriptions: {bad: 'price <', good: price < 3}\ncases: [{event: {price: 1}, expected: [good]}]"
    outcome = check(text)
    assert "subscription 'bad' is refused:" in outcome.err
    assert "1 passed, 0 failed" in outcome.err
    assert outcome.code == 1


def test_event_type_and_subscriptions_from_files_beside_the_file(run: Run, write: Write, tmp_path: Any) -> None:
    (tmp_path / "inner").mkdir()
    write("inner/t.json", '{"attributes": {"price": "decimal(8,2)", "day": "date"}}')
    write("inner/s.jsonl", [{"id": "cheap", "condition": "price < 10.01 AND day > DATE '2026-01-01'"}])
    file = write(
        "inner/cases.yaml",
        "event_type: t.json\nsubscriptions: s.jsonl\n"
        "cases: [{condition: cheap, event: {price: 10.00, day: 2026-03-01}, expected: true}]",
    )
    assert run("test", file).code == 0


def test_event_type_may_be_inline(check: Any) -> None:
    text = """
event_type: {name: t, attributes: {day: {type: date, min: 2020-01-01}, at: timestamp}}
cases:
  - {condition: "day = DATE '2026-03-01'", event: {day: 2026-03-01}, expected: true}
  - {condition: "at = TIMESTAMP '2026-03-01 12:00:00Z'", event: {at: 2026-03-01T13:00:00+01:00}, expected: true}
"""
    assert check(text).code == 0


def test_json(check: Any) -> None:
    cases = """
  - {name: good, condition: cheap, event: {price: 9}, expected: true}
  - {condition: cheap, event: {price: 9}, expected: null}
  - {event: {price: 9}, expected: [sony]}
"""
    good, wrong, listed = check(HEAD + cases, "--json").json
    assert good == {
        "file": "cases.yaml",
        "line": 7,
        "name": "good",
        "passed": True,
        "expected": True,
        "results": [{"passed": True, "actual": True}],
    }
    assert (wrong["name"], wrong["expected"], wrong["results"][0]["actual"]) == ("case 1", None, True)
    assert wrong["results"][0]["explanations"][0]["subscription_id"] == "cheap"
    assert (listed["expected"], listed["results"][0]["actual"]) == (["sony"], ["cheap"])


def test_other_files_are_run_all_the_same(run: Run, write: Write) -> None:
    bad = write("bad.yaml", "[]")
    good = write("good.yaml", HEAD + "  - {condition: cheap, event: {price: 1}, expected: true}")
    outcome = run("test", bad, good, "gone.yaml")
    assert outcome.code == 2
    assert "gone.yaml: no such file" in outcome.err
    assert "1 case, 1 passed, 0 failed" in outcome.err


COMPOSITE = """
dialect: composite
subscriptions:
  walk: kind = 'a' THEN kind = 'b' WITHIN INTERVAL '10' MINUTE BY user
  quiet: kind = 'a' THEN NOT kind = 'b' WITHIN INTERVAL '10' MINUTE BY user
  wrong: kind = 'a' THEN
cases:
  - name: in time
    condition: walk
    events: [{time: 2026-11-18T09:00:00, user: ann, kind: a}, {time: 2026-11-18T09:05:00, user: ann, kind: b}]
    expected: true
  - name: too late
    condition: walk
    events: [{time: 0, user: ann, kind: a}, {time: 700, user: ann, kind: b}]
    expected: true
  - name: all of them
    events: [{time: 0, user: ann, kind: a}, {time: 700, user: ann, kind: b}]
    expected: [quiet]
  - name: none of them
    events: [{time: 0, user: ann, kind: a}]
    expected: [walk]
"""


def test_the_events_of_a_case_are_one_stream_to_composite_subscriptions(check: Any) -> None:
    outcome = check(COMPOSITE)
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1] == "tamis: 4 cases, 2 passed, 2 failed"
    assert "wrong" in outcome.err
    assert outcome.out.splitlines() == [
        "✗ cases.yaml:12: too late",
        "├── expected true, found false",
        "└── ended for ann: 1 found, until 1970-01-01 00:10:00: part 2 of 2 did not come: kind = 'b'",
        "✗ cases.yaml:19: none of them",
        "└── walk: open for ann: 1 found, until 1970-01-01 00:10:00: part 2 of 2 is to come: kind = 'b'",
    ]
    failed = [each for each in check(COMPOSITE, "--json").json if not each["passed"]]
    assert failed[0]["results"][0]["trial"]["ended"][0]["reason"] == "part 2 of 2 did not come: kind = 'b'"
