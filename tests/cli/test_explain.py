from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Outcome, Run, Write

SUBSCRIPTIONS = [
    {"id": "cheap", "condition": "price < 10 and brand in ('Sony', 'Nikon')"},
    {"id": "bad", "condition": "price <"},
]
EVENTS = [
    {"id": "a", "price": 5, "brand": "Sony"},
    {"id": "b", "price": 50, "brand": "Sony"},
    {"price": 7},
    {"id": 1, "price": 8, "brand": "Nikon"},
]


@pytest.fixture
def explain(run: Run, write: Write) -> Any:
    given, events = write("s.jsonl", SUBSCRIPTIONS), write("e.jsonl", EVENTS)

    def explain(event: str, *options: str, id: str = "cheap") -> Outcome:
        arguments = ("--subscriptions", given, "--id", id, "--events", events, "--event", event)
        return run("explain", *arguments, *options)

    return explain


def test_why_it_matched(explain: Any) -> None:
    outcome = explain("a")
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        "The event matches subscription 'cheap' because both operands of its AND hold.",
        "✓ AND",
        "├── ✓ price < 10  [price = 5]",
        "└── ✓ brand IN ('Sony', 'Nikon')  [brand = 'Sony']",
    ]


def test_why_it_did_not(explain: Any) -> None:
    outcome = explain("b")
    assert outcome.code == 0
    assert outcome.out.startswith("The event does not match subscription 'cheap' because price < 10 is false")
    assert "├── ✗ price < 10  [price = 50]" in outcome.out


def test_event_by_row_number(explain: Any) -> None:
    assert "[price = 7]" in explain("2").out


def test_id_comes_before_row_number(explain: Any) -> None:
    assert "[price = 8]" in explain("1").out


def test_event_id_names_another_attribute(explain: Any) -> None:
    assert "[price = 50]" in explain("50", "--event-id", "price").out


def test_json_is_the_explanation(explain: Any) -> None:
    (answer,) = explain("b", "--json").json
    assert list(answer) == ["subscription_id", "condition", "matched", "reason", "tree"]
    assert (answer["subscription_id"], answer["matched"]) == ("cheap", False)
    assert [part["verdict"] for part in answer["tree"]["parts"]] == [False, True]


def test_unknown_event_is_exit_code_2(explain: Any) -> None:
    outcome = explain("zz")
    assert outcome.code == 2
    assert outcome.err.startswith("tamis: error: e.jsonl: there is no event 'zz'; ")
    assert "`--event 0` is the first one" in outcome.err
    assert explain("0").code == 0


def test_unknown_event_of_a_composite_subscription_names_file_and_next_step(run: Run, write: Write) -> None:
    text = "a = 1 THEN a = 2 WITHIN INTERVAL '1' HOUR"
    given = write("s.jsonl", [{"id": "two", "condition": text, "dialect": "composite"}])
    events = write("e.jsonl", [{"id": "x", "a": 1, "time": "2026-01-01T00:00:00"}])
    outcome = run("explain", "--subscriptions", given, "--id", "two", "--events", events, "--event", "zz")
    assert outcome.code == 2
    assert outcome.err.startswith("tamis: error: e.jsonl: there is no event 'zz'; ")
    assert "`--event 0` is the first one" in outcome.err


def test_a_subscription_that_is_like_no_other_comes_with_the_ids_that_are_there(
    explain: Any, run: Run, write: Write
) -> None:
    assert "there is no subscription 'zzz'; its ids are 'cheap', 'bad'\n" in explain("a", id="zzz").err
    many = write("many.jsonl", [{"id": f"s{n}", "condition": "a = 1"} for n in range(2_000)])
    outcome = run("explain", "--subscriptions", many, "--id", "zzz", "--events", many, "--event", "0")
    assert "; its ids are 's0', 's1', 's2', 's3', 's4' and 1,995 more\n" in outcome.err


def test_unknown_subscription_is_exit_code_2_with_a_guess(explain: Any) -> None:
    outcome = explain("a", id="chaep")
    assert outcome.code == 2
    assert "there is no subscription 'chaep'; did you mean 'cheap'?" in outcome.err


def test_refused_subscription_is_exit_code_1(explain: Any) -> None:
    outcome = explain("a", id="bad")
    assert outcome.code == 1
    assert "s.jsonl:2: subscription 'bad' is refused:" in outcome.err


def test_at_least_says_how_many(run: Run, write: Write) -> None:
    given = write("s.txt", "at_least(2, price < 10, price > 3, id = 'x')")
    events = write("e.jsonl", EVENTS)
    out = run("explain", "--subscriptions", given, "--id", "1", "--events", events, "--event", "a").out
    assert "✓ AT LEAST 2 OF\n" in out


def test_a_composite_subscription_says_what_became_of_the_key(run: Run, write: Write) -> None:
    text = "kind = 'a' THEN kind = 'b' WITHIN INTERVAL '10' MINUTE BY user"
    given = write("c.jsonl", [{"id": "walk", "condition": text, "dialect": "composite"}])
    users = [(0, "ann", "a"), (60, "bob", "a"), (700, "ann", "b"), (90, "bob", "b")]
    events = [
        {"id": f"e{at}", "at": at, "user": user, "kind": kind} for at, (time, user, kind) in enumerate(users)
    ]
    for event, (time, _, _) in zip(events, users, strict=True):
        event["at"] = time
    arguments = ["explain", "--subscriptions", given, "--id", "walk", "--events", write("c2.jsonl", events)]
    outcome = run(*arguments, "--time", "at", "--event", "e2")
    said = "ended for ann: 1 found, until 1970-01-01 00:10:00: part 2 of 2 did not come: kind = 'b'\n"
    assert (outcome.code, outcome.out) == (0, said)
    assert run(*arguments, "--time", "at", "--event", "1").out == (
        "complete for bob: 2 found, at 1970-01-01 00:01:30\n"
    )
    assert run(*arguments, "--time", "at", "--event", "e9").code == 2
    assert run(*arguments, "--event", "e1").code == 2
