"""?variables: one joint choice must satisfy the whole condition; the UAV subscriptions of Liu et al."""

import random
from collections.abc import Iterator

import pytest

from tamis import (
    ConditionError,
    EventBatch,
    EventType,
    Matcher,
    compile_condition,
    compile_conditions,
    parse,
    to_text,
)
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import reset_meters
from tamis.reference import matches
from tamis.values.types import parse_type
from tests.operators.recording import Recorded

TYPE = EventType.of({"attributes": {"image": "string", "n": "int"}})
"""An image is what can be seen on it: `AB1x3 CD2x1` are three cars with one plate and one with another."""


@pytest.fixture
def sights() -> Iterator[Recorded]:
    log = Recorded()

    def seen(text: str) -> list[tuple[str, int]]:
        return [(word.split("x")[0], int(word.split("x")[1])) for word in text.split()]

    def plates(image: str) -> list[dict[str, object]]:
        log.note("plates", [(image,)])
        return [{"plate": plate, "count": count} for plate, count in seen(image)]

    def stolen(plate: str) -> bool | None:
        log.note("stolen", [(plate,)])
        return None if plate == "??" else plate.startswith("A")

    def owner(plate: str) -> list[dict[str, object]]:
        log.note("owner", [(plate,)])
        return [{"name": plate[:1].lower() + str(k), "friend": plate[1:2].lower() + str(k)} for k in (1, 2)]

    texts = (parse_type("string"),)

    made = [
        Operator("plates", texts, parse_type("array<struct<plate string, count int>>"), plates, batch=False),
        Operator("stolen", texts, parse_type("boolean"), stolen, batch=False),
        Operator("owner", texts, parse_type("array<struct<name string, friend string>>"), owner, batch=False),
    ]
    install(*made)
    yield log
    uninstall(*(each.name for each in made))
    reset_meters(*(each.name for each in made))


GOOD = (
    "plates(image, ?p, ?n) AND stolen(?p) AND ?n > 2",
    "plates(image, ?p, ?c) AND NOT stolen(?p)",
    "plates(image, ?p, ?c) AND stolen(?p) IS NULL",
    "plates(image, ?p, ?c) AND plates(image, ?q, ?d) AND ?p <> ?q AND ?c = ?d",
    "plates(image, ?p, ?c) AND plates(image, ?q, ?c) AND ?p < ?q",
    "plates(image, ?p, n)",
    "plates(image, 'AB', ?c) AND ?c >= n",
    "plates(image, ?p, ?c) AND owner(?p, ?o, ?f) AND ?o = ?f",
    "plates(image, ?p, ?c) AND owner(?p, ?o, ?o)",
    "plates(image, ?p, ?c) AND NOT owner(?p, 'a1', 'b1')",
    "(plates(image, ?p, ?c) AND stolen(?p)) OR n > 3",
    "plates(image, ?p, ?c) AND (stolen(?p) OR ?c > 2)",
    "(plates(image, ?p, ?c) OR plates('CCx9', ?p, ?c)) AND ?c > 3 AND n > 2",
    "plates(image, ?p, ?c) AND NOT plates(image, ?p, 1)",
    "AT_LEAST(2, plates(image, ?p, ?c) AND ?c > 1, plates(image, ?q, ?d) AND stolen(?q), n = 2)",
    "plates(image, ?p, ?c) AND ?p LIKE 'A%' AND ?c BETWEEN 1 AND 3 AND n IS NOT NULL",
    "plates(image, ?p, ?c) AND plates(image, ?q, ?d) AND stolen(?p) AND NOT stolen(?q)",
)


def random_image(rng: random.Random) -> str | None:
    if rng.random() < 0.1:
        return None
    words = [
        f"{rng.choice(['AA', 'AB', 'BA', 'BB', 'CC', '??'])}x{rng.randint(1, 4)}" for _ in range(rng.randint(0, 3))
    ]
    return " ".join(words)


@pytest.mark.parametrize("text", GOOD)
def test_the_reference_agrees(sights: Recorded, text: str) -> None:
    rng = random.Random(text)
    batch = EventBatch.of(
        [{"image": random_image(rng), "n": rng.choice([None, 1, 2, 3, 4])} for _ in range(60)], TYPE
    )
    condition = compile_condition(text, TYPE)
    wanted = matches(condition, batch)
    matcher = Matcher(TYPE)
    matcher.add("s", text)
    assert matcher.match_batch(batch)["event_id"].to_pylist() == wanted
    assert 0 < len(wanted) < 60
    assert compile_conditions([text] * 3, TYPE)[1] == condition.formula
    assert parse(to_text(parse(text))) == parse(text)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("stolen(?p)", "no call binds ?p", 8),
        ("NOT plates(image, ?p, ?c) AND stolen(?p)", "?p is used where no call binds it", 38),
        ("plates(image, ?p, ?c) OR stolen(?p)", "?p is used where no call binds it", 33),
        ("plates(image, ?p, ?c) AND owner(?x, ?x, ?f)", "?f is used where no call binds it", 41),
        ("plates(image, ?p, ?p)", "?p is a string elsewhere, here an int", 19),
        ("plates(image, ?p)", "plates takes (string), found 2 arguments", 1),
    ],
)
def test_what_is_not_bound_is_refused_at_its_place(sights: Recorded, text: str, message: str, column: int) -> None:
    with pytest.raises(ConditionError) as error:
        compile_condition(text, TYPE)
    problem = error.value.problems[0]
    assert message in problem.message
    assert problem.start + 1 == column


def test_calls_are_the_same_whatever_their_variables_are_called(sights: Recorded) -> None:
    matcher = Matcher(TYPE)
    matcher.add("a", "plates(image, ?p, ?n) AND ?n > 2")
    matcher.add("b", "plates(image, ?other, ?number) AND stolen(?other)")
    matcher.add("c", "plates(image, ?x, ?y) AND stolen(?x) AND ?y < 2")
    assert matcher.match({"image": "AAx3 BBx1 BBx1 AAx1"}) == ["a", "b", "c"]
    assert sights.count("plates") == 1
    assert sights.calls["stolen"] == {("AA",): 1, ("BB",): 1}


def test_cheap_constraints_come_first_inside_too(sights: Recorded) -> None:
    matcher = Matcher(TYPE)
    matcher.add("s", "plates(image, ?p, ?n) AND stolen(?p) AND ?n > 2")
    assert matcher.match({"image": "AAx1 BBx1 CCx3"}) == []
    assert sights.calls["stolen"] == {("CC",): 1}
