"""Short calls of relations are those that they stand for, written in full."""

from __future__ import annotations

import pytest

from tamis.language.relations import spell_out
from tamis.operators import Operator, install
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text
from tamis.syntax.tree import Free, walk
from tamis.values.types import STRING, parse_type


@pytest.fixture
def _relations() -> None:
    """Three relations over the attribute `facts`; one of them has a single field."""
    for name, fields in (
        ("is_a", "thing:string,class:string"),
        ("weight", "thing:string,kilos:double"),
        ("mob", "n:bigint"),
    ):
        type_ = parse_type(f"array<struct<{fields}>>")  # what follows from the facts
        install(Operator(name, (STRING,), type_, lambda texts: texts, attribute="facts"))


CASES = {
    "is_a(?x, 'dog')": "is_a(facts, ?x, 'dog')",
    "is_a(?x, 'dog') AND weight(?x) > 20": "is_a(facts, ?x, 'dog')"
    " AND (weight(facts, ?x, ?weight_1) AND ?weight_1 > 20)",
    "weight(?X) > 20 AND weight(?x) < 30": "(weight(facts, ?x, ?weight_1) AND ?weight_1 > 20)"
    " AND (weight(facts, ?x, ?weight_1) AND ?weight_1 < 30)",
    "weight(?x) > 1 OR weight(?y) > 2": "weight(facts, ?x, ?weight_1) AND ?weight_1 > 1"
    " OR weight(facts, ?y, ?weight_2) AND ?weight_2 > 2",
    "NOT weight(?x) > 40": "weight(facts, ?x, ?weight_1) AND NOT ?weight_1 > 40",
    "weight(?x) > ?weight_1": "weight(facts, ?x, ?weight_2) AND ?weight_2 > ?weight_1",
    "CAST(weight(?x) AS int) = 3": "weight(facts, ?x, ?weight_1) AND CAST(?weight_1 AS INT) = 3",
    "size(weight()) = 1": "size(weight(facts)) = 1",
    "exists(mob(), m -> m.n > 0)": "exists(mob(facts), m -> m.n > 0)",
}
UNCHANGED = [
    "price > 3",
    "size(mob(facts)) = 1",
    "weight(facts, ?x, ?w)",
    "weight(?x, 1, 2, 3)",
    "weight('rex') > 20",
]


@pytest.mark.usefixtures("_relations")
@pytest.mark.parametrize("text", CASES)
def test_a_short_call_is_written_in_full(text: str) -> None:
    tree = parse(text)
    meant = spell_out(tree)
    assert to_text(meant) == CASES[text]
    places = {each.span for each in walk(tree)}
    assert {each.span for each in walk(meant)} <= places  # what is put in has the place of a part that was there
    assert spell_out(meant) is meant


@pytest.mark.usefixtures("_relations")
@pytest.mark.parametrize("text", UNCHANGED)
def test_what_is_no_short_call_stays_the_object_that_it_is(text: str) -> None:
    tree = parse(text)
    assert spell_out(tree) is tree


def test_without_relations_nothing_is_replaced() -> None:
    tree = parse("weight(?X) > 20")
    assert spell_out(tree) is tree
    assert [each.name for each in walk(tree) if isinstance(each, Free)] == ["X"]
