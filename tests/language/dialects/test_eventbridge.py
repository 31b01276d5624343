"""EventBridge patterns: as event-ruler decides them, and as the documented rules say."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import ConditionError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.language.condition import compile_condition
from tamis.language.dialects.eventbridge import parse_leniently
from tamis.matcher import Matcher
from tamis.reference import evaluate
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text
from tests.language.dialects.eventbridge_cases import matches, random_event, random_rule

CORPUS = [
    json.loads(line)
    for line in (Path(__file__).parent / "eventbridge_corpus.jsonl").read_text("utf-8").splitlines()[1:]
]
DIALECT = "eventbridge"


def text_of(pattern: Any) -> str:
    return pattern if isinstance(pattern, str) else json.dumps(pattern, ensure_ascii=False)


def verdicts(pattern: Any, events: list[dict[str, Any]]) -> list[bool]:
    condition = compile_condition(text_of(pattern), dialect=DIALECT)
    return [verdict is True for verdict in evaluate(condition, EventBatch.of(events))]


def problems(pattern: Any) -> list[tuple[str, str]]:
    """The problems of a pattern, each with the text at its place."""
    text = text_of(pattern)
    with pytest.raises(ConditionError) as refused:
        compile_condition(text, dialect=DIALECT)
    return [(text[each.start : each.end], each.message) for each in refused.value.problems]


def test_the_corpus_is_decided_as_by_event_ruler() -> None:
    different = []
    for case in CORPUS:
        try:
            found: list[bool] | None = verdicts(case["pattern"], case["events"])
        except ConditionError:
            found = None
        if found != case["verdicts"]:
            different.append((case, found))
    assert different == []


@pytest.mark.slow
def test_the_engine_agrees_with_the_corpus_when_it_holds_all_patterns() -> None:
    matcher = Matcher()
    accepted = {str(at): case for at, case in enumerate(CORPUS) if case["verdicts"] is not None}
    given_texts = ((id, text_of(case["pattern"])) for id, case in accepted.items())
    assert matcher.add_many(given_texts, dialect=DIALECT) == []
    events = [event for case in accepted.values() for event in case["events"]]
    owners = [(id, verdict) for id, case in accepted.items() for verdict in case["verdicts"]]
    pairs = matcher.match_batch(events).to_pylist()
    found = {(pair["event_id"], pair["subscription_id"]) for pair in pairs}
    assert [((row, id) in found) for row, (id, _) in enumerate(owners)] == [verdict for _, verdict in owners]


@given(st.integers(0, 2**32))
def test_patterns_hold_as_the_documented_rules_say(seed: int) -> None:
    random = Random(seed)
    pattern = random_rule(random, random.randint(0, 2))
    events = [random_event(random) for _ in range(4)]
    assert verdicts(pattern, events) == [matches(pattern, event) for event in events]


@given(st.integers(0, 2**32))
def test_the_sql_of_a_pattern_means_the_same(seed: int) -> None:
    tree, found = parse_leniently(text_of(random_rule(Random(seed), 2)))
    assert found == []
    assert parse(to_text(tree)) == tree


def test_one_of_several_patterns_is_enough() -> None:
    patterns = [{"a": ["x"]}, {"b": [1]}]
    assert verdicts(patterns, [{"a": "x"}, {"b": 1}, {"a": "y", "b": 2}]) == [True, True, False]


def test_patterns_on_declared_attributes() -> None:
    order = EventType.of({"attributes": {"name": "string", "lines": "array<struct<sku:string,count:int>>"}})
    pattern = {"name": [{"prefix": "A"}], "lines": {"sku": ["s1"], "count": [{"numeric": [">", 2]}]}}
    condition = compile_condition(text_of(pattern), order, dialect=DIALECT)
    events = [
        {"name": "Ann", "lines": [{"sku": "s1", "count": 3}]},
        {"name": "Ann", "lines": [{"sku": "s1", "count": 1}, {"sku": "s2", "count": 3}]},
        {"name": "Bob", "lines": [{"sku": "s1", "count": 3}]},
        {"name": None, "lines": None},
    ]
    assert [verdict is True for verdict in evaluate(condition, EventBatch.of(events, order))] == [
        *(True, False, False, False)
    ]


def test_an_attribute_that_is_not_declared_is_refused_at_its_place() -> None:
    text = '{"nam": ["x"]}'
    with pytest.raises(ConditionError) as refused:
        compile_condition(text, EventType.of({"attributes": {"name": "string"}}), dialect=DIALECT)
    [problem] = refused.value.problems
    assert (problem.start, problem.hint) == (1, "did you mean name?")


@pytest.mark.parametrize(
    ("pattern", "place", "message"),
    [
        ({}, "{}", "an empty object"),
        ({"a": []}, "[]", "an empty array"),
        ({"a": "x"}, '"x"', "expected an array of tests, or an object, found a string"),
        ({"a": [["x"]]}, '["x"]', "an array is no test"),
        ({"a": [{"prefx": "x"}]}, '"prefx"', "there is no operator 'prefx'"),
        ({"a": [{"prefix": 1}]}, "1", "expected a string, found a number"),
        ({"a": [{"prefix": {"suffix": "x"}}]}, '{"suffix": "x"}', "expected a string, or an object with equals"),
        ({"a": [{"exists": "no"}]}, '"no"', "expected true or false"),
        ({"a": [{"numeric": [">", "1"]}]}, '"1"', "expected a number, found a string"),
        ({"a": [{"numeric": ["!=", 1]}]}, '"!="', "expected = or < or <= or > or >="),
        ({"a": [{"numeric": [">", 5, "<", 1]}]}, '[">", 5, "<", 1]', "the lower bound 5 is not below 1"),
        ({"a": [{"cidr": "10.0.0.1"}]}, '"10.0.0.1"', "expected a range of addresses"),
        ({"a": [{"wildcard": "a**"}]}, '"a**"', "one * matches any text"),
        ({"a": [{"wildcard": "a\\b"}]}, '"a\\\\b"', "a backslash stands before"),
        ({"a": [{"anything-but": ["x", 1]}]}, '["x", 1]', "expected strings, or numbers, but not both"),
        ({"a": [{"anything-but": {"prefix": ""}}]}, '""', "expected a string that is not empty"),
        ('{"a": ["x"], "a": ["y"]}', '"a"', "the key 'a' is there twice"),
        ('{"a": ["x"]', "", "expected , or }, found the end"),
        ("[1]", "1", "expected a pattern, an object of JSON, found a number"),
        ("[]", "[]", "expected a pattern, found an empty array"),
    ],
    ids=str,
)
def test_what_is_refused(pattern: Any, place: str, message: str) -> None:
    [(found_place, found)] = problems(pattern)
    assert (found_place, found[: len(message)]) == (place, message)


def test_all_problems_are_reported() -> None:
    assert [place for place, _ in problems({"a": [], "b": "x", "c": [{"exists": 1}]})] == ["[]", '"x"', "1"]


def test_alternatives_are_bounded() -> None:
    either = {"$or": [{"a": ["x"]}, {"b": ["y"]}]}
    pattern = {f"n{number}": either for number in range(10)}
    assert {message for _, message in problems(pattern)} == {"a pattern has 1000 alternatives at most"}


def test_choices_among_absent_fields_are_bounded() -> None:
    choice: list[Any] = [{"exists": False}, "x"]
    apart = {f"n{number}": choice for number in range(40)}
    assert verdicts(apart, [{}, {"n3": "x"}, {"n3": "y"}]) == [True, True, False]
    together = {"a": {f"n{number}": choice for number in range(40)}}
    [(place, message)] = problems(together)
    assert message == "64 choices among fields that may be absent are too many"
    assert place.startswith('"n6"')


def test_an_explanation_quotes_the_pattern() -> None:
    matcher = Matcher()
    matcher.add("stopped", '{"source": ["aws.ec2"], "detail": {"state": ["stopped"]}}', dialect=DIALECT)
    explanation = matcher.explain("stopped", {"source": "aws.ec2", "detail": {"state": "running"}})
    assert not explanation.matched
    assert [part.text for part in explanation.tree.parts] == ['"source": ["aws.ec2"]', '"state": ["stopped"]']
    assert [part.verdict for part in explanation.tree.parts] == [True, False]
