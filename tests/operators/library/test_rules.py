"""What follows from a file of facts, and what does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tamis import ConditionError, Matcher
from tamis.operators import OPERATORS, Operator, OperatorError, uninstall
from tamis.operators.library import load
from tamis.operators.library.rules import operators

FACTS = """
@prefix : <http://example.org/zoo#> .
@prefix other: <http://example.org/other/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .

:poodle rdfs:subClassOf :dog .
:dog rdfs:subClassOf :mammal .
:mammal rdfs:subClassOf :animal .
:hound owl:equivalentClass :dog .
:rex a :poodle ; rdfs:label "Rex" .
:fido owl:sameAs :rex .

:wheel :partOf :axle .
:axle :partOf :wagon .
:wagon :hasPart :door .
:hasPart owl:inverseOf :partOf .
:wagon other:within :train .
other:rex a other:king .
"""


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    file = tmp_path / "zoo.ttl"
    file.write_text(FACTS, encoding="utf-8")
    return file


def named(name: str, facts: Path, **settings: Any) -> Operator:
    return next(each for each in operators(facts=facts, **settings) if each.name == name)


def asked(operator: Operator, rows: list[tuple[str, str]]) -> list[Any]:
    """The answers to all rows at once, which are those to each row alone."""

    def run(some: list[tuple[str, str]]) -> list[Any]:
        return list(operator.function(*(pa.array(column, pa.string()) for column in zip(*some, strict=True))))

    together = run(rows)
    assert [run([row])[0] for row in rows] == together
    return together


def test_classes_of_things_and_of_classes(facts: Path) -> None:
    rows = [
        (":rex", "poodle"),
        (":rex", "animal"),
        ("poodle", "animal"),
        ("animal", "poodle"),
        ("fido", "mammal"),
        ("fido", "hound"),
        ("dog", "dog"),
        ("animal", "animal"),
        ("wheel", "animal"),
        ("wheel", "wheel"),
    ]
    assert asked(named("is_a", facts), rows) == [True, True, True, False, True, True, True, True, False, False]


def test_parts_of_parts(facts: Path) -> None:
    rows = [
        ("wheel", "axle"),
        ("wheel", "wagon"),
        ("wagon", "wheel"),
        ("door", "wagon"),
        ("wagon", "train"),
        ("wheel", "wheel"),
        ("rex", "wagon"),
    ]
    assert asked(named("part_of", facts), rows) == [True, True, False, True, False, False, None]


def test_the_property_of_parts_may_be_chosen(facts: Path) -> None:
    rows = [("wagon", "train"), ("wheel", "axle")]
    for name in ("within", "other:within", "<http://example.org/other/within>"):
        assert asked(named("part_of", facts, part_of=name), rows) == [True, False]
    assert asked(named("part_of", facts, part_of="inside"), rows) == [False, False]


def test_names_are_local_prefixed_or_addresses(facts: Path) -> None:
    rows = [
        ("poodle", "dog"),
        (":poodle", ":dog"),
        ("<http://example.org/zoo#poodle>", "dog"),
        ("rex", "dog"),
        ("other:rex", "other:king"),
        ("cat", "dog"),
        ("zoo:poodle", "dog"),
    ]
    assert asked(named("is_a", facts), rows) == [True, True, True, None, True, None, None]


def test_constant_names_are_checked(facts: Path) -> None:
    check = named("is_a", facts).check
    assert check is not None
    assert check([None, "dog"]) is None
    assert check(["poodle", None]) is None
    assert check([None, "dgo"]) == "there is no thing in the facts called 'dgo'; did you mean 'dog'?"
    assert "'rex'" in str(check(["rex", "dog"]))


@pytest.mark.slow
def test_a_long_chain(tmp_path: Path) -> None:
    file = tmp_path / "chain.ttl"
    links = [f":t{number} :partOf :t{number + 1} ." for number in range(100)]
    file.write_text("\n".join(["@prefix : <http://example.org/> .", *links]))
    part_of = named("part_of", file)
    names = range(101)
    rows = [(f"t{one}", f"t{other}") for one in names for other in names]
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    assert part_of.function(*columns) == [one < other for one in names for other in names]


def test_facts_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="No such file"):
        operators(facts=tmp_path / "missing.ttl")
    for content in (b":a :b", b"\xff\xfe", b"@prefix : <http://e.org/> . :a :b ."):
        file = tmp_path / "bad.ttl"
        file.write_bytes(content)
        with pytest.raises(OperatorError, match=r"bad\.ttl: this is not Turtle"):
            operators(facts=file)


# --- facts of events, and rules ------------------------------------------------------------------------------

RULES = """
# what an event says of a thing, with what the file says of its class
kind(?x, ?c) <- is_a(?x, ?c)
heavy(?x, ?w) <- is_a(?x, 'dog'), weight(?x, ?w), ?w > 20
inside(?x, ?y) <- part_of(?x, ?y)
"""
RELATIONS = {
    "kind": "thing string, class string",
    "weight": "thing string, kilos double",
    "heavy": "thing string, kilos double",
    "inside": "thing string, whole string",
}


@pytest.fixture
def reasoning(facts: Path, tmp_path: Path) -> Iterator[Matcher]:
    """A matcher of events with facts."""
    (tmp_path / "zoo.rules").write_text(RULES, encoding="utf-8")
    before = {*OPERATORS}
    load("rules", facts=facts, rules=tmp_path / "zoo.rules", relations=RELATIONS)
    yield Matcher({"attributes": {"facts": "string"}})
    uninstall(*({*OPERATORS} - before))


def test_conditions_bind_what_follows_from_the_facts_of_an_event(reasoning: Matcher) -> None:
    reasoning.add("big dog", "kind(facts, ?x, 'dog') AND weight(facts, ?x, ?w) AND ?w > 20")
    reasoning.add("by rule", "heavy(facts, ?x, ?w)")
    reasoning.add("known dog", "weight(facts, ?x, ?w) AND is_a(?x, 'dog')")
    new = "is_a(bello, hound); weight(bello, 31)"
    assert sorted(reasoning.match({"facts": new})) == ["big dog", "by rule"], "only this event says what bello is"
    assert sorted(reasoning.match({"facts": "weight(rex, 40.5)"})) == []
    assert sorted(reasoning.match({"facts": "weight(':rex', 40.5)"})) == ["big dog", "by rule", "known dog"]
    assert reasoning.match({"facts": "is_a(bello, hound); weight(bello, 12)"}) == []
    assert reasoning.match({"facts": "is_a(tom, cat); weight(tom, 31)"}) == []
    assert reasoning.match({"facts": "is_a(a, poodle); weight(b, 31)"}) == [], "of two things, neither is both"


def test_parts_of_an_event_are_parts_of_the_wholes_of_the_file(reasoning: Matcher) -> None:
    reasoning.add("in the wagon", "inside(facts, ?x, 'wagon') AND kind(facts, ?x, 'screw')")
    assert reasoning.match({"facts": "part_of(s1, wheel); is_a(s1, screw)"}) == ["in the wagon"]
    assert reasoning.match({"facts": "part_of(s1, elsewhere); is_a(s1, screw)"}) == []


def test_an_event_whose_facts_are_none_matches_nothing(reasoning: Matcher) -> None:
    reasoning.add("any", "weight(facts, ?x, ?w)")
    events = [{"facts": "weight(a, 1"}, {"facts": "weight(a, 1)"}, {"facts": ""}, {"facts": "weight(a, heavy)"}]
    found = reasoning.match_batch(events)
    assert found.to_pylist() == [{"event_id": 1, "subscription_id": "any"}]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"relations": {"weight": "thing"}}, "relations.weight: expected fields as 'thing string, kilos double'"),
        ({"relations": {"weight": "thing text"}}, "relations.weight: expected fields"),
        ({"relations": {"Weight": "thing string"}}, "operator 'Weight': a name is lower case"),
        ({"rules": "none.rules"}, "none.rules: No such file"),
    ],
)
def test_what_is_wrong_with_rules_and_relations_is_named(facts: Path, settings: Any, message: str) -> None:
    with pytest.raises(OperatorError, match=re.escape(message)):
        operators(facts=facts, **settings)


@pytest.fixture
def implied(facts: Path, tmp_path: Path) -> Iterator[Matcher]:
    """The same, with the attribute of the facts as a setting."""
    (tmp_path / "zoo.rules").write_text(RULES, encoding="utf-8")
    before = {*OPERATORS}
    load("rules", facts=facts, rules=tmp_path / "zoo.rules", relations=RELATIONS, attribute="facts")
    yield Matcher({"attributes": {"facts": "string", "limit": "double", "name": "string"}})
    uninstall(*({*OPERATORS} - before))


BELLO = "is_a(bello, hound); weight(bello, 31)"


BELOW_THIRTY = "is_a(?x, 'dog') AND weight(?x) > 20 AND weight(?x) < 30"
SPELLINGS = [
    ("is_a(?x, 'dog') AND weight(?x) > 20", BELLO, True),
    ("is_a(?x, 'dog') AND weight(?x) > 20", "is_a(bello, hound); weight(bello, 12)", False),
    ("is_a(?x, 'dog') AND weight(?x) > 20", "is_a(tom, cat); weight(tom, 31)", False),
    ("is_a(?x, 'dog') AND weight(?x) > 20", "is_a(a, poodle); weight(b, 31)", False),
    ("is_a(?x, 'dog') AND weight(?x) > 20", "weight(':rex', 31)", True),
    ("is_a(?x, 'dog') AND weight(?x) > 20", None, False),
    ("is_a(?X, 'dog') AND weight(?x) > limit", BELLO, True),
    ("weight(?x, ?w) AND is_a(?x) = 'dog' AND ?w > 20", BELLO, True),
    ("weight(facts, ?x, ?w) AND ?w > 20", BELLO, True),
    ("is_a(?x, 'dog') AND NOT weight(?x) > 20", BELLO, False),
    ("is_a(?x, 'dog') AND NOT weight(?x) > 40", BELLO, True),
    ("is_a(?x, 'dog') AND NOT weight(?x) > 40", "is_a(bello, hound)", False),
    ("is_a(?x, 'cat') AND weight(?x) > 1 OR is_a(?y, 'hound') AND weight(?y) > 1", BELLO, True),
    ("is_a(?x, 'hound') AND 2 * weight(?x) BETWEEN 60 AND 64", BELLO, True),
    (BELOW_THIRTY, "is_a(b, dog); weight(b, 9); weight(b, 40)", False),
    (BELOW_THIRTY, "is_a(b, dog); weight(b, 25)", True),
    ("is_a('bello', 'dog')", BELLO, True),
    ("is_a(name, 'dog')", BELLO, True),
    ("is_a('tom', 'dog')", BELLO, False),
    ("size(weight()) = 1", BELLO, True),
    ("at_least(1, weight(?x) > 100, weight(?y) > 20)", BELLO, True),
    ("weight(?x) > 20 AND heavy(?x, ?weight_1)", BELLO, True),
]


def test_relations_without_the_attribute_and_as_functions(implied: Matcher) -> None:
    conditions = sorted({condition for condition, _, _ in SPELLINGS})
    assert implied.add_many((text, text) for text in conditions) == []
    assert implied.add_many((f"and {text}", f"({text}) AND limit > 1") for text in conditions) == []
    for condition, said, expected in SPELLINGS:
        event = {"facts": said, "limit": 20.0, "name": "bello"}
        found = implied.match(event)
        assert (condition in found, f"and {condition}" in found) == (expected, expected), (condition, said)
        assert implied.explain(condition, event).matched is expected, (condition, said)


@pytest.mark.parametrize(
    ("condition", "message", "marked"),
    [
        (
            "weight(?x, 1, 2, 3)",
            "weight takes (thing string, kilos double), found 4 arguments",
            "weight(?x, 1, 2, 3)",
        ),
        (
            "limit > 1 AND weight('rex') > 20",
            "weight takes (thing string, kilos double), found 1",
            "weight('rex')",
        ),
        ("is_a(?x, 'dog') AND weight(?y) > ?z", "no call binds ?z", "?z"),
        ("is_a(?x, 'dog') AND weight(?x) > 'heavy'", "'heavy' is not a double", "'heavy'"),
        ("is_a(?x, 'dog') AND weight(?x)", "expected", "weight(?x)"),
    ],
)
def test_what_is_wrong_with_such_a_call_has_its_place(
    implied: Matcher, condition: str, message: str, marked: str
) -> None:
    with pytest.raises(ConditionError, match=re.escape(message)) as refused:
        implied.add("wrong", condition)
    assert condition[refused.value.problems[0].start : refused.value.problems[0].end] == marked


def test_events_without_the_attribute_are_told_of(implied: Matcher) -> None:
    del implied
    with pytest.raises(ConditionError, match="the event type has no attribute 'facts'") as refused:
        Matcher({"attributes": {"limit": "double"}}).add("wrong", "limit > 1 AND weight(?x) > 20")
    assert refused.value.problems[0].start == len("limit > 1 AND ")


CITY = """
@prefix : <http://example.org/city#> .
:zoo :partOf :bronx . :bronx :partOf :new-york . :pier :partOf :harbour .
"""
CITY_RULES = """
located(?place) <- at(?event, ?at), part_of(?at, ?place)
located(?place) <- at(?event, ?place)
"""
CITY_RELATIONS = {
    "located": "place string",
    "mob": "people bigint",
    "distance": "sight string, metres double",
    "boats": "kind string, number bigint",
}
CITY_SUBSCRIPTIONS = {
    "crowd in the Bronx": "located(seen, 'bronx') AND mob(seen, ?people) AND ?people > 50",
    "crowd anywhere": "mob(seen, ?people) AND ?people > 100",
    "tourists unwatched": "distance(seen, 'liberty', ?x) AND ?x < 1000 AND boats(seen, 'tour', ?y)"
    " AND boats(seen, 'guard', ?z) AND ?y > 2 * ?z",
    "as many guards as tourists": "boats(seen, 'tour', ?n) AND boats(seen, 'guard', ?n)",
    "empty Bronx": "located(seen, 'bronx') AND NOT exists(mob(seen), m -> m.people > 0)",
}


@pytest.mark.parametrize("attribute", ["", "seen"], ids=["explicit", "implied"])
def test_the_subscriptions_of_liu_et_al_over_facts_and_rules(tmp_path: Path, attribute: str) -> None:
    """People who watch a city: what cameras recognise are the facts of an event, the map is a file.

    The paper writes out "crowd in the Bronx" and "tourists unwatched"; the other three are ours.
    """
    (tmp_path / "city.ttl").write_text(CITY, encoding="utf-8")
    (tmp_path / "city.rules").write_text(CITY_RULES, encoding="utf-8")
    before = {*OPERATORS}
    files = {"facts": tmp_path / "city.ttl", "rules": tmp_path / "city.rules"}
    load("rules", **files, relations=CITY_RELATIONS, attribute=attribute)
    try:
        city = Matcher({"attributes": {"seen": "string"}})
        for name, condition in CITY_SUBSCRIPTIONS.items():
            short = condition.replace("seen, ", "").replace("(seen)", "()")
            city.add(name, short if attribute else condition)
        seen = {
            "at(e, zoo); mob(60)": ["crowd in the Bronx"],
            "at(e, zoo); mob(120)": ["crowd anywhere", "crowd in the Bronx"],
            "at(e, pier); mob(120)": ["crowd anywhere"],
            "at(e, zoo)": ["empty Bronx"],
            "at(e, new-york)": [],
            "at(e, pier); distance(liberty, 500); boats(tour, 5); boats(guard, 2)": ["tourists unwatched"],
            "at(e, pier); distance(liberty, 500); boats(tour, 4); boats(guard, 2)": [],
            "at(e, pier); distance(liberty, 5000); boats(tour, 5); boats(guard, 2)": [],
            "boats(tour, 2); boats(guard, 2)": ["as many guards as tourists"],
        }
        assert {text: sorted(city.match({"seen": text})) for text in seen} == seen
    finally:
        uninstall(*({*OPERATORS} - before))
