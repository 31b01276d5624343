"""Rules over facts: what follows, against a twin that tries everything; and what is no rule."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.operators.library.datalog import (
    Atom,
    Comparison,
    Constant,
    Row,
    Rule,
    Term,
    Variable,
    conclude,
    parse_facts,
    parse_rules,
)
from tamis.operators.registry import OperatorError

Fact = tuple[str, Row]


def facts_of(text: str) -> list[Fact]:
    return [(each.relation, each.terms) for each in parse_facts(text)]


def naive(rules: list[Rule], facts: list[Fact]) -> set[Fact]:
    """Try every fact for every atom of every rule, until nothing new comes."""
    known = set(facts)
    while True:
        new = set()
        for rule in rules:
            for chosen in product(known, repeat=len(rule.body)):
                bindings: dict[str, Constant] = {}
                fits = True
                for atom, (relation, row) in zip(rule.body, chosen, strict=True):
                    fits = fits and atom.relation == relation and len(atom.terms) == len(row)
                    for term, value in zip(atom.terms, row, strict=False):
                        if isinstance(term, Variable):
                            fits = fits and bindings.setdefault(term, value) == value
                        else:
                            fits = fits and term == value
                if fits and all(each.holds(bindings) for each in rule.comparisons):
                    terms = (bindings[each] if isinstance(each, Variable) else each for each in rule.head.terms)
                    new.add((rule.head.relation, tuple(terms)))
        if new <= known:
            return known
        known |= new


def all_facts(rules: list[Rule], facts: list[Fact], new: list[Fact]) -> set[Fact]:
    found = conclude(rules, new, conclude(rules, facts))
    names = {name for name, _ in (*facts, *new)} | {rule.head.relation for rule in rules}
    return {(name, row) for name in names for row in found.rows(name)}


VARIABLES = st.sampled_from([Variable(f"?{name}") for name in "xyz"])
NAMES = st.sampled_from(["p", "q", "r"])
CONSTANTS: st.SearchStrategy[Constant] = st.sampled_from(["a", "b", 1, 2])
FACTS = st.lists(st.tuples(NAMES, st.tuples(CONSTANTS, CONSTANTS)), max_size=4)


@st.composite
def rules_over_small_relations(draw: st.DrawFn) -> list[Rule]:
    rules = []
    for _ in range(draw(st.integers(1, 3))):
        terms: st.SearchStrategy[Term] = st.one_of(VARIABLES, CONSTANTS)
        body = [Atom(draw(NAMES), (draw(terms), draw(terms))) for _ in range(draw(st.integers(1, 2)))]
        bound = [each for atom in body for each in atom.terms if isinstance(each, Variable)]
        head_terms: st.SearchStrategy[Term] = st.one_of(CONSTANTS, *([st.sampled_from(bound)] if bound else []))
        has_test = bool(bound) and draw(st.booleans())
        tests = [Comparison(draw(st.sampled_from(bound)), "<>", draw(CONSTANTS))] if has_test else []
        rules.append(Rule(Atom(draw(NAMES), (draw(head_terms), draw(head_terms))), tuple(body), tuple(tests)))
    return rules


@given(rules_over_small_relations(), FACTS, FACTS)
def test_what_follows_equals_its_naive_twin(rules: list[Rule], facts: list[Fact], new: list[Fact]) -> None:
    assert all_facts(rules, facts, new) == naive(rules, [*facts, *new])


def test_new_facts_leave_what_was_known_as_it_was() -> None:
    rules = parse_rules("path(?x, ?z) <- path(?x, ?y), path(?y, ?z)")
    known = conclude(rules, facts_of("path(a, b); path(b, c)"))
    assert set(known.rows("path")) == {("a", "b"), ("b", "c"), ("a", "c")}
    more = conclude(rules, facts_of("path(c, d)"), known)
    assert ("a", "d") in set(more.rows("path"))
    assert len(set(known.rows("path"))) == 3
    assert more.count() == 3


def test_texts_and_numbers_are_never_the_same() -> None:
    rules = parse_rules("same(?x) <- p(?x), ?x = 1\nless(?x) <- p(?x), ?x < 5\nother(?x) <- p(?x), ?x <> 1")
    found = conclude(rules, facts_of("p(1); p('1'); p(3.5)"))
    assert set(found.rows("same")) == {(1,)}
    assert set(found.rows("less")) == {(1,), (3.5,)}
    assert set(found.rows("other")) == {("1",), (3.5,)}


def test_what_an_event_may_conclude_is_bounded() -> None:
    rules = parse_rules("pair(?x, ?y) <- p(?x), p(?y)")
    facts = facts_of("; ".join(f"p({number})" for number in range(20)))
    with pytest.raises(ValueError, match="more than 100 facts follow"):
        conclude(rules, facts, most=100)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("p(?x) <- q(?y)", "no relation on the right binds ?x"),
        ("p(?x) <- q(?x), ?z > 3", "no relation on the right binds ?z"),
        ("p(?x)", "it ends too early"),
        ("p(?x) <- ", "it ends too early"),
        ("p(?x) <- q(?x) r(?x)", "expected ,, found 'r'"),
        ("p(?x) <- q(?x), ?x like 3", "expected one of < <= > >= = <>, found 'like'"),
        ("?x(a) <- q(?x)", "expected the name of a relation, found '?x'"),
        ("p(?x) <- q(?x, $)", "expected a rule or a fact, found '$)'"),
    ],
)
def test_what_is_no_rule_is_named_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(OperatorError) as caught:
        parse_rules(f"# rules\n{text}\np(?x) <- q(?x)\np(?x) <- r(?y)")
    assert f"line 2: {problem}" in str(caught.value) and "line 4: " in str(caught.value)


def test_facts_have_no_variables_and_may_be_quoted() -> None:
    assert facts_of("says(rex, 'it''s me')\nat(<http://a.example/b#c>, -2.5e1)") == [
        ("says", ("rex", "it's me")),
        ("at", ("<http://a.example/b#c>", -25.0)),
    ]
    with pytest.raises(ValueError, match="a fact has no variables"):
        parse_facts("p(?x)")
