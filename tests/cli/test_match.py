from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Outcome, Run, Write

CHEAP = [{"id": "cheap", "condition": "price < 10"}, {"id": "sony", "condition": "brand = 'Sony'"}]
EVENTS = [{"price": 5, "brand": "Sony"}, {"price": 20}, {"price": 7}]


def pairs(outcome: Outcome) -> list[tuple[Any, str]]:
    return [(pair["event_id"], pair["subscription_id"]) for pair in outcome.json]


@pytest.fixture
def match(run: Run, write: Write) -> Any:
    """Matches events against subscriptions, given as content."""

    def match(subscriptions: Any, events: Any, *options: str, suffix: str = ".jsonl") -> Outcome:
        given = write("subscriptions" + suffix, subscriptions)
        return run("match", "--subscriptions", given, "--events", write("events.jsonl", events), *options)

    return match


def test_pairs_are_json_lines_of_two_keys_in_the_order_of_events(match: Any) -> None:
    outcome = match(CHEAP, EVENTS)
    assert outcome.out.splitlines()[0] == '{"event_id": 0, "subscription_id": "cheap"}'
    assert pairs(outcome) == [(0, "cheap"), (0, "sony"), (2, "cheap")]
    assert outcome.code == 0


def test_summary_goes_to_standard_error(match: Any) -> None:
    err = match(CHEAP, EVENTS).err
    assert err.startswith("tamis: 3 events, 2 subscriptions, 3 pairs in ")
    assert err.count("\n") == 1


def test_quiet_says_nothing(match: Any) -> None:
    assert match(CHEAP, EVENTS, "--quiet").err == ""


def test_event_is_named_by_its_id_if_it_has_one_else_by_its_row(match: Any) -> None:
    events = [{"id": "a", "price": 1}, {"price": 1}, {"id": 17, "price": 1}, {"id": None, "price": 1}]
    assert [name for name, _ in pairs(match(CHEAP, events))] == ["a", 1, 17, 3]


def test_event_id_names_another_attribute(match: Any) -> None:
    events = [{"id": "a", "price": 1, "order": 1.5}, {"id": "b", "price": 1, "order": True}]
    assert [name for name, _ in pairs(match(CHEAP, events, "--event-id", "order"))] == ["1.5", "true"]


def test_event_id_that_no_event_has_is_a_warning(match: Any) -> None:
    outcome = match(CHEAP, EVENTS, "--event-id", "order")
    assert "no event has the attribute 'order'" in outcome.err
    assert outcome.code == 0


def test_id_counts_only_if_a_given_event_type_declares_it(match: Any, write: Write) -> None:
    events = [{"id": "a", "price": 1}]
    without = write("without.json", '{"attributes": {"price": "int", "brand": "string"}}')
    declared = write("with.json", '{"attributes": {"id": "string", "price": "int", "brand": "string"}}')
    assert pairs(match(CHEAP, events, "--event-type", without)) == [(0, "cheap")]
    assert pairs(match(CHEAP, events, "--event-type", declared)) == [("a", "cheap")]


def test_rows_are_counted_over_batches_and_bad_lines(match: Any) -> None:
    events = '{"price": 1}\n\n{"price": \n{"price": 2}\n{"price": 3}\n'
    outcome = match(CHEAP, events, "--batch-rows", "1")
    assert pairs(outcome) == [(0, "cheap"), (3, "cheap"), (4, "cheap")]


def test_dead_letters_are_reported_with_their_lines_and_change_no_exit_code(match: Any) -> None:
    outcome = match(CHEAP, '{"price": 1}\n[]\nnonsense\n')
    assert "events.jsonl:2: dead letter: expected a JSON object" in outcome.err
    assert "events.jsonl:3: dead letter: not JSON" in outcome.err
    assert "1 event (2 dead letters)" in outcome.err
    assert outcome.code == 0


def test_only_a_hundred_dead_letters_are_named_but_all_are_counted(match: Any) -> None:
    err = match(CHEAP, "x\n" * 150).err
    assert err.count("dead letter: ") == 100
    assert "(150 dead letters)" in err


def test_refused_subscriptions_are_named_with_all_problems_and_the_rest_matched(match: Any) -> None:
    outcome = match([*CHEAP, {"id": "bad", "condition": "price < and brand ="}], EVENTS)
    assert "subscriptions.jsonl:3: subscription 'bad' is refused:" in outcome.err
    assert "line 1, column 9" in outcome.err
    assert "line 1, column 20" in outcome.err
    assert len(pairs(outcome)) == 3
    assert outcome.code == 1


def test_subscription_to_another_event_type_is_refused(match: Any, write: Write) -> None:
    type_ = write("camera.json", '{"name": "camera", "attributes": {"price": "int"}}')
    given = [{"id": "a", "condition": "price < 9", "event_type": "boat"}, {"id": "b", "condition": "price < 9"}]
    outcome = match(given, [{"price": 1}], "--event-type", type_)
    assert "it is for events of type 'boat', these are of type 'camera'" in outcome.err
    assert pairs(outcome) == [(0, "b")]
    assert outcome.code == 1


def test_type_of_a_subscription_does_not_matter_without_an_event_type(match: Any) -> None:
    assert match([{"id": "a", "condition": "price < 9", "event_type": "boat"}], EVENTS).code == 0


def test_second_subscription_of_an_id_is_refused(match: Any) -> None:
    outcome = match([*CHEAP, {"id": "cheap", "condition": "price > 10"}], EVENTS)
    assert "there is already a subscription 'cheap', at line 1" in outcome.err
    assert (1, "cheap") not in pairs(outcome)
    assert outcome.code == 1


def test_json_makes_standard_error_readable_by_programs(match: Any) -> None:
    outcome = match([*CHEAP, {"id": "bad", "condition": "price <"}], [*EVENTS, 3], "--json")
    refused, bad, summary = [json.loads(line) for line in outcome.err.splitlines()]
    assert refused == {
        "kind": "refused",
        "file": "subscriptions.jsonl",
        "line": 3,
        "subscription_id": "bad",
        "problems": [{"message": refused["problems"][0]["message"], "line": 1, "column": 8}],
    }
    assert (bad["kind"], bad["line"]) == ("dead-letter", 4)
    assert {**summary, "seconds": 0} == {
        "kind": "summary",
        "events": 3,
        "pairs": 3,
        "subscriptions": 2,
        "refused": 1,
        "dead_letters": 1,
        "misfits": 0,
        "seconds": 0,
    }


PRICED = {"name": "priced", "attributes": {"id": "string", "price": "int"}}
UNFIT = [{"id": "a", "price": 5}, {"id": "b", "price": "dear"}, {"id": "c"}]
OPEN = [{"id": "all", "condition": "price < 10 OR price IS NULL"}]


def test_a_value_that_does_not_fit_is_null_and_counted(match: Any, write: Write) -> None:
    type_ = ("--event-type", write("priced.json", json.dumps(PRICED)))
    outcome = match(OPEN, UNFIT, *type_)
    assert pairs(outcome) == [("a", "all"), ("b", "all"), ("c", "all")]
    assert "3 events (1 with a value that does not fit)" in outcome.err
    outcome = match(OPEN, UNFIT, *type_, "--json")
    assert json.loads(outcome.err.splitlines()[-1])["misfits"] == 1


@pytest.mark.parametrize("schedule", ["arrival", "shortest-first"])
@pytest.mark.parametrize("spelling", ["dead-letter", "dead letter"])
def test_misfits_may_be_set_aside(match: Any, write: Write, schedule: str, spelling: str) -> None:
    type_ = ("--event-type", write("priced.json", json.dumps(PRICED)))
    outcome = match(OPEN, UNFIT, *type_, "--on-misfit", spelling, "--schedule", schedule)
    assert sorted(pairs(outcome)) == [("a", "all"), ("c", "all")]
    assert "event b: dead letter: price expected int, found 'dear'" in outcome.err
    assert "3 events (1 dead letter)" in outcome.err


def test_misfits_may_be_refused(match: Any, write: Write) -> None:
    type_ = ("--event-type", write("priced.json", json.dumps(PRICED)))
    outcome = match(OPEN, UNFIT, *type_, "--on-misfit", "refuse")
    assert outcome.code == 2
    assert "event 'b': price: expected int, found 'dear'" in outcome.err
    assert match(OPEN, UNFIT, *type_, "--on-misfit", "ignore").code == 2


def test_output_goes_into_a_file(match: Any, tmp_path: Path) -> None:
    outcome = match(CHEAP, EVENTS, "--output", "pairs.jsonl")
    assert outcome.out == ""
    assert len((tmp_path / "pairs.jsonl").read_text().splitlines()) == 3


def test_events_from_standard_input(run: Run, write: Write) -> None:
    given = write("s.txt", "price < 10\n")
    outcome = run("match", "--subscriptions", given, "--events", "-", input='{"price": 1}\n')
    assert pairs(outcome) == [(0, "1")]


def test_subscriptions_from_standard_input_are_json_or_conditions(run: Run, write: Write) -> None:
    events = write("e.jsonl", EVENTS)
    given = '# a comment\n{"id": "cheap", "condition": "price < 10"}\n\nprice > 10\n-- another\n'
    outcome = run("match", "--subscriptions", "-", "--events", events, input=given)
    assert pairs(outcome) == [(0, "cheap"), (1, "4"), (2, "cheap")]


def test_only_one_input_can_be_standard_input(run: Run) -> None:
    outcome = run("match", "--subscriptions", "-", "--events", "-")
    assert outcome.err == "tamis: error: only one input can be standard input\n"
    assert outcome.code == 2


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_events_and_subscriptions_of_other_formats(run: Run, tmp_path: Path, suffix: str) -> None:
    subscriptions = {"id": ["cheap", "sony"], "condition": ["price < 10", "brand = 'Sony'"], "priority": [1, 2]}
    events = {"id": ["x", "y"], "price": [5, 50], "brand": ["Sony", "Sony"]}
    for name, columns in (("s", subscriptions), ("e", events)):
        if suffix == ".parquet":
            pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        else:
            rows = [columns.keys(), *zip(*columns.values(), strict=True)]
            lines = [",".join(map(str, row)) for row in rows]
            (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    outcome = run("match", "--subscriptions", f"s{suffix}", "--events", f"e{suffix}")
    assert pairs(outcome) == [("x", "cheap"), ("x", "sony"), ("y", "sony")]


def test_format_overrides_the_suffix(run: Run, write: Write) -> None:
    given, events = write("s.txt", "price < 10"), write("events.log", "price,id\n5,a\n")
    outcome = run("match", "--subscriptions", given, "--events", events, "--format", "csv")
    assert pairs(outcome) == [("a", "1")]


def test_ids_are_written_as_utf8(match: Any) -> None:
    given = [{"id": "été", "condition": "price < 10"}]
    assert match(given, [{"id": "日本", "price": 1}]).out == '{"event_id": "日本", "subscription_id": "été"}\n'


@pytest.mark.lab
def test_an_engine_takes_settings(match: Any) -> None:
    conditions = [
        {"id": f"s{low}", "condition": f"price BETWEEN {low} AND {low + 20}"} for low in range(0, 100, 5)
    ]
    expected = pairs(match(conditions, EVENTS))
    for engine in ("buckets:capacity=100", "buckets:capacity=2,strings=suffix"):
        outcome = match(conditions, EVENTS, "--engine", engine)
        assert (pairs(outcome), outcome.code) == (expected, 0)
    refused = match(conditions, EVENTS, "--engine", "buckets:capacty=100")
    assert refused.code == 2 and "capacty" in refused.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--engine", "magic"), "there is no engine 'magic'; known are auto"),
        (("--call-order", "magic"), "there is no order of calls 'magic'; known are greedy"),
        (("--event-type", "none.json"), "none.json"),
        (("--format", "xml"), "unknown format xml"),
        (("--output", "no/such/folder"), "no/such/folder: no such file, and no folder no/such"),
    ],
)
def test_what_cannot_be_carried_out_is_one_message_and_exit_code_2(
    match: Any, options: tuple[str, ...], message: str
) -> None:
    outcome = match(CHEAP, EVENTS, *options)
    assert outcome.err.startswith("tamis: error: ")
    assert message in outcome.err
    assert outcome.code == 2


def test_missing_file_is_named(run: Run, write: Write) -> None:
    outcome = run("match", "--subscriptions", write("s.txt", "a"), "--events", "gone.jsonl")
    assert outcome.code == 2 and outcome.err.startswith("tamis: error: gone.jsonl: no such file; ")


def test_missing_option_is_a_usage_error(run: Run) -> None:
    outcome = run("match", "--events", "e.jsonl")
    assert outcome.code == 2
    assert "--subscriptions" in outcome.err


def test_shortest_first_writes_the_same_pairs_those_of_cheap_events_first(match: Any) -> None:
    conditions = [{"id": f"over {number}", "condition": f"price > {number}"} for number in range(100)]
    events = [{"id": "dear", "price": 90}, {"id": "cheap", "price": 2}, {"id": "fair", "price": 20}]
    arrival, shortest = (match(conditions, events, "--schedule", name) for name in ("arrival", "shortest-first"))
    assert sorted(pairs(shortest)) == sorted(pairs(arrival))
    assert list(dict.fromkeys(name for name, _ in pairs(arrival))) == ["dear", "cheap", "fair"]
    assert list(dict.fromkeys(name for name, _ in pairs(shortest))) == ["cheap", "fair", "dear"]


def test_an_unknown_schedule_is_refused(match: Any) -> None:
    outcome = match(CHEAP, EVENTS, "--schedule", "fifo")
    assert "there is no schedule 'fifo'; known are arrival, shortest-first" in outcome.err
    assert outcome.code == 2


def test_a_paused_subscription_is_left_out_wherever_it_is(run: Run, write: Write) -> None:
    on = {"id": "on", "condition": "a = 1"}
    subscriptions = write("s.jsonl", [on, {**on, "id": "off", "state": "paused"}])
    events = write("e.jsonl", [{"a": 1}])
    run("subs", "import", subscriptions, "--store", "s.db")
    for source in (subscriptions, "s.db"):
        outcome = run("match", "--subscriptions", source, "--events", events)
        assert [pair["subscription_id"] for pair in outcome.json] == ["on"]
        assert "1 subscription, " in outcome.err


def test_composite_subscriptions_are_named_as_never_satisfied(run: Run, write: Write) -> None:
    walk = {"id": "walk", "condition": "a = 1 THEN a = 2 WITHIN INTERVAL '1' HOUR BY user", "dialect": "composite"}
    files = ("--subscriptions", write("s.jsonl", [walk]), "--events", write("e.jsonl", [{"a": 1, "user": "u"}]))
    done = run("match", *files)
    assert (done.code, done.out) == (0, "")
    assert "1 composite subscription" in done.err


def test_conditions_that_are_unknown_are_counted(match: Any) -> None:
    rules = [*CHEAP, {"id": "error", "condition": "INT(brand) > 3 AND TRUE", "dialect": "cesql"}]
    outcome = match(rules, EVENTS, "--unknown")
    assert outcome.err.splitlines()[:2] == ["error: unknown for 3 events", "sony: unknown for 2 events"]
    assert len(outcome.err.splitlines()) == 3
    told = [json.loads(line) for line in match(rules, EVENTS, "--unknown", "--json").err.splitlines()]
    assert told[0] == {"kind": "unknown", "subscription_id": "error", "events": 3}
