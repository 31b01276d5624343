"""Lint: errors as the compiler has them, and warnings that are always right."""

from __future__ import annotations

import json
import random

import numpy as np
import pyarrow as pa
import pytest

from tamis.errors import ConditionError
from tamis.events import EventBatch, EventType
from tamis.events.reading import read_json_lines
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tamis.language.lint import SeenAttributes, lint, lint_many
from tests.worlds import WORLDS, world

CAMERA = EventType.from_dict(
    {
        "name": "camera",
        "attributes": {
            "price": {"type": "decimal(8,2)", "min": 0, "max": 1000},
            "brand": {"type": "string", "values": ["Sony", "Nikon"], "required": True},
            "sold": "boolean",
            "n": {"type": "int", "required": True},
            "tags": "array<string>",
        },
    }
)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("price < 300", []),
        ("price >= 0", []),  # a price may be missing
        ("price >= 0 OR price IS NULL", ["always-true"]),
        ("price < 0", ["never-true"]),
        ("price > 1000", ["never-true"]),
        ("brand = 'Canon'", ["never-true"]),
        ("brand <> 'Canon'", ["always-true"]),
        ("brand IN ('Sony', 'Nikon')", ["always-true"]),
        ("n IS NULL", ["never-true"]),
        ("sold IS NULL", []),
        ("n < 3 AND n > 5", ["never-true"]),
        ("n < 3 OR n >= 3", ["always-true"]),
        ("price < 3 OR price >= 3", []),
        ("n < 3 AND NOT n < 3", ["never-true"]),
        ("n < 3 AND (brand = 'Canon' OR n > 5)", ["never-true"]),
        ("n = 1 AND n = 2 OR sold", []),
        ("sold = NULL", ["never-true"]),
        ("FALSE", ["never-true"]),
        ("NULL IS NULL", ["always-true"]),
        ("exists(tags, x -> x = 'a' AND x = 'b')", ["never-true"]),
        ("sold AND sold", ["repeated"]),
        ("sold AND n = 1 AND (sold)", ["repeated"]),
        ("sold AND (n = 1 OR n = 1)", ["repeated"]),
        ("n IN (1, 2, 1)", ["repeated"]),
        ("n + 1 IN (1, 1)", ["repeated"]),
        ("pirce < 3", ["syntax"]),
        ("pirce < AND n = 'x'", ["syntax", "syntax"]),
    ],
)
def test_findings(text: str, codes: list[str]) -> None:
    assert [finding.code for finding in lint(text, CAMERA)] == codes


def test_schemaless_conditions_have_warnings_too() -> None:
    assert [finding.code for finding in lint("a < 3 AND a > 5")] == ["never-true"]
    assert [finding.code for finding in lint("a < 3 OR a >= 3")] == []  # a may be missing, or no number


def test_a_finding_shows_its_place() -> None:
    (finding,) = lint("n = 1\n  OR pirce = 2", CAMERA)
    assert (finding.severity, finding.line, finding.column, finding.hint) == ("error", 2, 6, "did you mean price?")
    assert finding.text.splitlines()[1:3] == ["    OR pirce = 2", "       ^^^^^"]


def test_a_repeated_operand_is_marked_where_it_stands_again() -> None:
    (finding,) = lint("sold AND n = 1 AND sold", CAMERA)
    assert (finding.severity, finding.column) == ("warning", 20)


def test_equal_conditions_of_different_subscriptions() -> None:
    findings = lint_many(
        [
            ("a", "n < 3 and sold"),
            ("b", "sold AND n<3"),
            ("c", "n < 4"),
            ("d", "NOT (n >= 3) AND sold"),
            ("e", "n <"),
        ],
        CAMERA,
    )
    assert [(finding.subscription_id, finding.code) for finding in findings] == [
        ("b", "equal"),
        ("d", "equal"),
        ("e", "syntax"),
    ]
    assert findings[0].message == "this is the same condition as that of 'a'"


def test_findings_are_json() -> None:
    (finding,) = lint_many([("s", "pirce < 3")], CAMERA)
    assert json.loads(json.dumps(finding.to_dict())) == {
        "subscription_id": "s",
        "severity": "error",
        "code": "syntax",
        "message": "the event type has no attribute 'pirce'",
        "line": 1,
        "column": 1,
        "hint": "did you mean price?",
    }


def test_errors_are_those_of_the_compiler() -> None:
    text = "born = '2024-02-30' AND (pirce <) AND brand = 5"
    with pytest.raises(ConditionError) as caught:
        compile_condition(text, CAMERA)
    assert [finding.message for finding in lint(text, CAMERA)] == [
        problem.message for problem in caught.value.problems
    ]


def test_a_condition_that_is_nothing() -> None:
    assert [finding.code for finding in lint("")] == ["syntax"]
    assert lint_many([]) == []


def _camera(random_: random.Random) -> dict[str, object]:
    """An event that keeps to the domains of its type."""
    event: dict[str, object] = {"brand": random_.choice(["Sony", "Nikon"]), "n": random_.randint(-3, 9)}
    if random_.random() < 0.8:
        event["price"] = random_.choice([0, 1, 299.99, 300, 999, 1000])
    if random_.random() < 0.7:
        event["sold"] = random_.random() < 0.5
    return event


def _camera_condition(random_: random.Random, depth: int) -> str:
    if depth == 0:
        comparison = random_.choice(("<", "<=", ">", ">=", "=", "<>"))
        return random_.choice(
            (
                f"n {comparison} {random_.randint(-3, 9)}",
                f"price {comparison} {random_.choice((-1, 0, 300, 1000, 1001))}",
                f"brand {comparison} '{random_.choice(('Sony', 'Nikon', 'Canon'))}'",
                "sold",
                "price IS NULL",
                "n IS NOT NULL",
            )
        )
    inner = [_camera_condition(random_, depth - 1) for _ in range(3)]
    return random_.choice(
        (
            "({}) AND ({})",
            "({}) OR ({})",
            "NOT ({})",
            "({}) AND ({}) AND ({})",
            "({}) OR ({}) OR ({})",
            "AT_LEAST(2, {}, {}, {})",
            "({}) XOR ({})",
        )
    ).format(*inner)


def _check(text: str, event_type: EventType, batch: EventBatch) -> str | None:
    codes = {finding.code for finding in lint(text, event_type)} & {"never-true", "always-true"}
    if not codes:
        return None
    matched = compile_condition(text, event_type).formula.mask(BatchFrame(batch))
    (code,) = codes
    right = not np.any(matched) if code == "never-true" else np.all(matched)
    assert right, f"{text} is said to be {code}, matched {np.flatnonzero(matched).tolist()} of {batch.rows}"
    return code


@pytest.mark.slow
def test_warnings_within_declared_domains_are_right() -> None:
    random_ = random.Random(1)
    batch = EventBatch.of([_camera(random_) for _ in range(300)], CAMERA)
    found = [_check(_camera_condition(random_, random_.choice((1, 2, 2, 3))), CAMERA, batch) for _ in range(600)]
    assert found.count("never-true") > 20
    assert found.count("always-true") > 20


@pytest.mark.parametrize("name", WORLDS)
def test_warnings_on_random_conditions_are_right(name: str) -> None:
    random_ = random.Random(2)
    here = world(name)
    batch = here.batch(random_, 150)
    for condition in here.accepted(random_, 150):
        _check(condition.text, here.event_type, batch)


EVENTS = [{"brand": "Sony", "price": 3, "seller": {"country": "DE"}, "lenses": [{"mount": "E"}]}] * 3
SEEN = SeenAttributes.of([EventBatch.of(EVENTS)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("brnd = 'Sony'", [("none of the last 3 events has brnd", "did you mean brand?")]),
        ("brnd = 'x' or brnd = 'y'", [("none of the last 3 events has brnd", "did you mean brand?")]),
        (
            "seller.contry = 'DE'",
            [("none of the last 3 events has seller.contry", "did you mean seller.country?")],
        ),
        ("zzz IS NULL", [("none of the last 3 events has zzz", None)]),
        ("brand = 'x' and seller.country = 'DE' and lenses[0].mount = 'E'", []),
        ("price.cents = 3", []),  # what is in it cannot be known from these events
        ("exists(lenses, x -> x.mount = 'E')", []),
    ],
)
def test_attributes_that_no_recent_event_has(text: str, expected: list[tuple[str, str | None]]) -> None:
    found = lint(text, seen=SEEN)
    assert [(each.message, each.hint) for each in found] == expected
    assert {each.code for each in found} <= {"unseen"}


def test_declared_types_and_no_events_say_nothing_of_what_was_seen() -> None:
    assert lint("a = 1", {"attributes": {"a": "int"}}, seen=SEEN) == []
    assert lint("a = 1", seen=SeenAttributes.of([])) == []


@pytest.mark.parametrize("scanned", [True, False])
def test_events_are_seen_whatever_they_are_read_from(scanned: bool) -> None:
    lines = b"\n".join(json.dumps(event).encode() for event in EVENTS)
    assert SeenAttributes.of(read_json_lines(lines, _scan=scanned)) == SEEN
    table = SeenAttributes.of([EventBatch.of(pa.Table.from_pylist(EVENTS))])
    assert (table.events, table.names) == (3, frozenset({"brand", "price", "seller", "lenses"}))


def test_text_that_is_read_as_a_number_is_a_warning_with_a_hint() -> None:
    event_type = {"attributes": {"code": "string", "n": "int"}}
    (found,) = lint("code > 5 AND TRY_CAST(code AS INT) > n", event_type)
    assert (found.severity, found.code, found.column) == ("warning", "implicit-cast", 1)
    assert found.hint == "write TRY_CAST(code AS bigint)"
