"""Explanations: the verdict that matching gives, and the reason in one sentence."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tamis import Matcher, SubscriptionError, reference
from tamis.events import EventBatch, EventType
from tamis.explain import ExplainedCall, ExplainedPart, Explanation, explain
from tamis.language.condition import compile_condition
from tests.worlds import WORLDS, world

CAMERA = EventType.from_dict(
    {
        "name": "camera",
        "attributes": {
            "price": "decimal(8,2)",
            "brand": "string",
            "sold": "boolean",
            "n": "int",
            "born": "date",
            "tags": "array<string>",
        },
    }
)
EVENT = {"price": 199.5, "brand": "Sony", "n": 7, "born": "2024-02-29", "tags": ["new", None]}


def explained(text: str, event: dict[str, Any] | None = None, event_type: Any = CAMERA) -> Explanation:
    matcher = Matcher(event_type)
    matcher.add("s", text)
    return matcher.explain("s", EVENT if event is None else event)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("price < 300", "matches subscription 's' because price < 300 is true (price is 199.50)"),
        ("price > 300", "does not match subscription 's' because price > 300 is false (price is 199.50)"),
        ("sold", "does not match subscription 's' because sold is unknown (sold is NULL)"),
        ("price < 300 AND n = 7", "matches subscription 's' because both operands of its AND hold"),
        ("price < 300 AND n = 8", "does not match subscription 's' because n = 8 is false (n is 7)"),
        ("price < 300 AND sold", "does not match subscription 's' because sold is unknown (sold is NULL)"),
        # of two reasons the one that decides alone
        ("sold AND n = 8", "does not match subscription 's' because n = 8 is false (n is 7)"),
        ("n = 8 OR brand = 'Sony'", "matches subscription 's' because brand = 'Sony' is true (brand is 'Sony')"),
        (
            "n = 8 OR brand = 'Nikon'",
            "does not match subscription 's' because none of the 2 operands of its OR holds: "
            "n = 8 is false (n is 7)",
        ),
        ("and_then(sold, n = 8)", "does not match subscription 's' because sold is unknown (sold is NULL)"),
        (
            "and_then(n = 7, n < 9)",
            "matches subscription 's' because all of the 2 conditions of its AND THEN hold",
        ),
        ("or_else(n = 8, n = 7)", "matches subscription 's' because n = 7 is true (n is 7)"),
        (
            "or_else(n = 8, n = 9)",
            "does not match subscription 's' because none of the 2 conditions of its OR ELSE hold",
        ),
        ("n = 8 OR sold", "does not match subscription 's' because sold is unknown (sold is NULL)"),
        ("NOT n = 7", "does not match subscription 's' because n = 7 is true (n is 7)"),
        ("NOT n = 8", "matches subscription 's' because n = 8 is false (n is 7)"),
        ("NOT sold", "does not match subscription 's' because sold is unknown (sold is NULL)"),
        ("sold IS NULL", "matches subscription 's' because sold IS NULL is true"),
        (
            "born < '2024-03-01'",
            "matches subscription 's' because born < '2024-03-01' is true (born is 2024-02-29)",
        ),
        ("n + 1 = 8", "matches subscription 's' because n + 1 = 8 is true (n + 1 is 8, n is 7)"),
    ],
)
def test_reason(text: str, reason: str) -> None:
    assert explained(text).reason == f"The event {reason}."


def test_reason_without_a_subscription() -> None:
    found = explain(compile_condition("a = 1"), EventBatch.of({"a": 2}))
    assert found.reason == "The event does not match the condition because a = 1 is false (a is 2)."


def test_the_tree_has_every_part_with_its_verdict_and_values() -> None:
    found = explained("price < 300 AND (brand = 'Nikon' OR sold) AND NOT n > 5")
    assert str(found).splitlines()[1:] == [
        "✗ AND",
        "  ✓ price < 300   [price = 199.50]",
        "  ? OR",
        "    ✗ brand = 'Nikon'   [brand = 'Sony']",
        "    ? sold   [sold = NULL]",
        "  ✗ NOT",
        "    ✓ n > 5   [n = 7]",
    ]


def test_the_dictionary_is_json() -> None:
    found = explained("n = 8 OR sold").to_dict()
    assert json.loads(json.dumps(found)) == {
        "subscription_id": "s",
        "condition": "n = 8 OR sold",
        "matched": False,
        "reason": "The event does not match subscription 's' because sold is unknown (sold is NULL).",
        "tree": {
            "text": "n = 8 OR sold",
            "verdict": None,
            "operator": "or",
            "parts": [
                {"text": "n = 8", "verdict": False, "values": {"n": "7"}},
                {"text": "sold", "verdict": None, "values": {"sold": "NULL"}},
            ],
        },
    }


def test_quantifiers_and_schemaless_values() -> None:
    found = explained("exists(tags, x -> x = 'new') AND a > 1", {"tags": ["new"], "a": "one"}, None)
    assert found.reason == "The event does not match subscription 's' because a > 1 is unknown (a is 'one')."


def test_another_row_of_a_batch() -> None:
    condition = compile_condition("a = 1")
    batch = EventBatch.of([{"a": 2}, {"a": 1}])
    assert [explain(condition, batch, row=row).matched for row in (0, 1)] == [False, True]


def test_unknown_subscription() -> None:
    with pytest.raises(SubscriptionError, match="there is no subscription 'x'"):
        Matcher().explain("x", {})


def _parts(part: ExplainedPart) -> Iterator[ExplainedPart]:
    yield part
    for inner in part.parts:
        yield from _parts(inner)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_the_verdict_is_that_of_matching(name: str) -> None:
    random_ = random.Random(8)
    here = world(name)
    batch = here.batch(random_, 6)
    for condition in here.accepted(random_, 150):
        expected = reference.evaluate(condition, batch)
        for row, verdict in enumerate(expected):
            found = explain(condition, batch, row=row)
            assert found.matched is (verdict is True), condition.text
            assert found.tree.verdict is verdict, condition.text
            assert found.reason.endswith("."), condition.text
        json.dumps(found.to_dict())
        assert all(part.verdict in (True, False, None) and part.text for part in _parts(found.tree)), (
            condition.text
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_the_matcher_explains_what_it_matches(name: str) -> None:
    random_ = random.Random(9)
    here = world(name)
    matcher = Matcher(here.event_type)
    for place, condition in enumerate(here.accepted(random_, 40)):
        matcher.add(str(place), condition.text)
    for _ in range(4):
        events = here.draw_events(random_, 1)
        event = events[0] if isinstance(events, list) else EventBatch.of(events, here.event_type)
        pairs = matcher.match_batch(events if isinstance(events, list) else event)
        matched = set(pairs.column("subscription_id").to_pylist())
        assert {each.id for each in matcher if matcher.explain(each.id, event).matched} == matched


def test_objects_in_an_array_and_a_test_of_absence() -> None:
    matcher = Matcher()
    matcher.add("r", '{"a": {"b": [1], "c": [2]}, "d": [{"exists": false}]}', dialect="eventbridge")
    assert str(matcher.explain("r", {"a": [{"b": 1}, {"c": 2}], "d": 3})).splitlines() == [
        'The event does not match subscription \'r\' because "b": [1], "c": [2] is false '
        "(inner_objects(a) is [{'b': 1}, {'c': 2}], a is [{'b': 1}, {'c': 2}]).",
        "✗ AND",
        "  ✗ \"b\": [1], \"c\": [2]   [inner_objects(a) = [{'b': 1}, {'c': 2}], a = [{'b': 1}, {'c': 2}]]",
        '  ✗ "d": [{"exists": false}]   [leaf_values(d) = [3], d = 3]',
    ]


def test_a_test_of_another_dialect_is_one_part_however_many_sql_needs() -> None:
    query = {
        "bool": {
            "must": {"match": {"title": {"query": "red bike bell", "minimum_should_match": 2}}},
            "must_not": {"match": {"title": "old broken"}},
            "should": [{"term": {"n": 1}}, {"term": {"n": 2}}, {"term": {"n": 3}}],
            "minimum_should_match": 2,
        }
    }
    matcher = Matcher()
    matcher.add("q", json.dumps(query), dialect="percolator")
    title = "field_words(title) = [old, red, bike], title = 'Old red bike'"
    assert str(matcher.explain("q", {"title": "Old red bike", "n": [1, 3]})).splitlines()[1:] == [
        "✗ AND",
        f'  ✓ "title": {{"query": "red bike bell", "minimum_should_match": 2}}   [{title}]',
        "  ✗ NOT",
        f'    ✓ "title": "old broken"   [{title}]',
        "  ✓ AT LEAST",
        '    ✓ "n": 1   [field_values(n) = [1, 3], n = [1, 3]]',
        '    ✗ "n": 2   [field_values(n) = [1, 3], n = [1, 3]]',
        '    ✓ "n": 3   [field_values(n) = [1, 3], n = [1, 3]]',
    ]
    assert matcher.explain("q", {}).tree.parts[2].label == "AT LEAST 2 OF"


@pytest.mark.parametrize(
    ("dialect", "text", "event", "expected"),
    [
        ("cel", "has(a.z)", {"a": {"b": 1}}, ["✗ has(a.z)"]),
        ("cel", "has(a.z) && a.z == 1", {"a": {"b": 1}}, ["✗ &&", "  ✗ has(a.z)", "  ? a.z == 1"]),
        (
            "cesql",
            "source = 'x' AND id = 'y'",
            {"source": "x", "id": "z"},
            ["✗ AND", "  ✓ source = 'x'", "  ✗ id = 'y'"],
        ),
        ("percolator", '{"exists": {"field": "z"}}', {"a": 1}, ['✗ "exists": {"field": "z"}']),
        (
            "percolator",
            '{"bool": {"must": {"exists": {"field": "a"}}, "should": [{"term": {"b": 1}}, {"term": {"b": 2}}], '
            '"minimum_should_match": 1}}',
            {"a": 1, "b": 2},
            ["✓ AND", '  ✓ "exists": {"field": "a"}', "  ✓ OR", '    ✗ "b": 1', '    ✓ "b": 2'],
        ),
    ],
)
def test_parts_are_shown_in_the_text_of_the_dialect(
    dialect: str, text: str, event: dict[str, Any], expected: list[str]
) -> None:
    matcher = Matcher()
    matcher.add("s", text, dialect=dialect)
    lines = str(matcher.explain("s", event)).splitlines()[1:]
    assert [line.partition("   [")[0] for line in lines] == expected


@pytest.mark.parametrize(("seconds", "text"), [(2.5, "2.5 s"), (0.0004, "0.4 ms"), (1e-9, "0.000001 ms")])
def test_seconds_of_calls_are_numbers_for_people(seconds: float, text: str) -> None:
    assert str(ExplainedCall("f(x)", "1", seconds, made=True)) == f"call f(x) = 1, {text}"
