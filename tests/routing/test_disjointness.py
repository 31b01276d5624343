from __future__ import annotations

import random
from itertools import combinations_with_replacement

import numpy as np
import pytest

from tamis.events import EventBatch, EventType
from tamis.formulas.predicates.base import Predicate
from tamis.frames import BatchFrame
from tamis.lab.workloads.overlap import probe_operator
from tamis.language.condition import normalise
from tamis.operators import install, uninstall
from tamis.routing.disjointness import DisjointIndex, Domains, _are_disjoint, _extent_of, domains_of

BOOK = EventType.from_dict(
    {
        "name": "book",
        "attributes": {
            "n": {"type": "int", "min": 0, "max": 4},
            "price": {"type": "decimal(6,2)", "values": [1, 2.5, 10], "required": True},
            "text": {"type": "string", "values": ["", "ab", "abb", "ba", "B"]},
            "free": "string",
            "fine": "boolean",
            "tags": "array<string>",
        },
    }
)
VALUES: dict[str, list[object]] = {
    "n": [None, 0, 1, 2, 3, 4],
    "price": [1, 2.5, 10],
    "text": [None, "", "ab", "abb", "ba", "B"],
}


def are_disjoint(one: Predicate, other: Predicate, domains: Domains | None = None) -> bool:
    """What the index answers for all registered predicates, for one."""
    first, second = _extent_of(one, domains or {}), _extent_of(other, domains or {})
    return first is not None and second is not None and _are_disjoint(first, second)


def predicate(text: str, event_type: EventType | None = BOOK) -> Predicate:
    found = normalise(text, event_type).predicate
    assert found is not None, text
    return found


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("n < 3", "n >= 3", True),
        ("n < 3", "n > 1", False),
        ("n < 3", "n > 2", True),  # there is no integer between them
        ("price < 3", "price > 2.99", True),
        ("price < 3", "price > 2.98", False),
        ("n = 1", "n <> 1", True),
        ("n IN (1, 3)", "n IN (0, 2, 4)", True),
        ("n IN (1, 3)", "n BETWEEN 2 AND 3", False),
        ("n IS NULL", "n = 1", True),
        ("n IS NULL", "coalesce(n, 1) = 1", False),
        ("n IS NULL OR n = 2", "n IS NULL OR n = 3", False),
        ("n IS NULL OR n = 2", "n IS NOT NULL AND n <> 2", True),
        ("n = 1", "price = 1", False),
        ("fine", "NOT fine", True),
        ("free LIKE 'a%'", "free LIKE 'b%'", True),
        ("free LIKE 'ab%'", "free LIKE 'a%'", False),
        ("free LIKE 'a%z'", "free < 'a'", True),
        ("free LIKE 'a%z'", "free >= 'az'", False),
        ("free LIKE '%z'", "free IN ('a', 'b')", True),
        ("free LIKE '%z'", "free IN ('a', 'z')", False),
        ("free LIKE '%z'", "free IS NULL", True),
        ("free NOT LIKE '%z'", "free IN ('z', 'az')", True),
        ("free RLIKE '^[0-9]+$'", "free = 'x'", True),
        ("free RLIKE '^[0-9]+$'", "free = '12'", False),
        ("free RLIKE '^a'", "free RLIKE '^b'", False),  # true, and not found
        ("free LIKE '%a'", "free LIKE '%b'", True),
        ("free LIKE '%a'", "free LIKE 'b%'", False),
        ("free LIKE '_'", "free LIKE '__'", True),
        ("free LIKE '_a%'", "free LIKE '%b_'", False),
        ("free LIKE 'a_%x'", "free LIKE '_b%y'", True),
        ("free LIKE '%a%'", "free NOT LIKE '%a%'", True),
        ("free NOT LIKE '%a%'", "free NOT LIKE '%b%'", False),
        ("free ILIKE '%A'", "free ILIKE '%b'", True),
        ("free ILIKE '%A'", "free ILIKE '%a'", False),
        ("free ILIKE '%a'", "free LIKE '%b'", False),  # true, and not found
        ("exists(tags, x -> x = 'a')", "tags IS NULL", True),
        ("exists(tags, x -> x = 'a')", "forall(tags, x -> x = 'b')", False),
        ("upper(free) = 'A'", "upper(free) = 'B'", False),  # computed attributes are disjoint to nothing
    ],
)
def test_pairs(one: str, other: str, expected: bool) -> None:
    assert are_disjoint(predicate(one), predicate(other)) is expected
    assert are_disjoint(predicate(other), predicate(one)) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a < 3", "a >= 3", True),
        ("a < 3", "a > 2", False),
        ("a = 'x'", "a = 'y'", True),
        ("a = 1", "a = 'x'", False),
    ],
)
def test_schemaless_attributes(one: str, other: str, expected: bool) -> None:
    assert are_disjoint(predicate(one, None), predicate(other, None)) is expected


def test_what_calls_an_operator_is_disjoint_to_nothing() -> None:
    install(probe_operator(np.array([0.5])))
    try:
        one, other = predicate("probe(n, 0)"), predicate("NOT probe(n, 0)")
    finally:
        uninstall("probe")
    index = DisjointIndex()
    index.add(0, one)
    assert not are_disjoint(one, other)
    assert index.find(other).tolist() == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("n > 3", "n < 4 OR n > 4"),
        ("price > 1", "price < 2.5"),
        ("text LIKE '%b'", "text RLIKE '^B'"),
        ("text LIKE '_b%'", "text > 'abb'"),
    ],
)
def test_domains_tell_more(one: str, other: str) -> None:
    assert not are_disjoint(predicate(one), predicate(other))
    assert are_disjoint(predicate(one), predicate(other), domains_of(BOOK))


def test_a_required_attribute_is_not_null() -> None:
    one, other = predicate("price IS NULL OR price < 2"), predicate("price IS NULL OR price > 2")
    assert not are_disjoint(one, other)
    assert are_disjoint(one, other, domains_of(BOOK))


def drawn(random_: random.Random) -> str:
    """A predicate on an attribute with a small domain."""
    name = random_.choice(["n", "price", "text"])
    if name == "text" and random_.random() < 0.4:
        test = random_.choice(["LIKE", "NOT LIKE", "ILIKE", "RLIKE", "NOT RLIKE"])
        patterns = ["^a", "b$", "bb?"] if "RLIKE" in test else ["%b", "a%b", "_b%", "%b%", "_", "ab_"]
        return f"text {test} '{random_.choice(patterns)}'"
    values = [str(value) if name != "text" else f"'{value}'" for value in VALUES[name] if value is not None]
    match random_.randrange(4):
        case 0:
            test = f"{name} {random_.choice(['<', '<=', '=', '<>', '>=', '>'])} {random_.choice(values)}"
        case 1:
            negation = random_.choice(["", "NOT "])
            test = f"{name} {negation}IN ({', '.join(random_.sample(values, random_.randint(1, 3)))})"
        case 2:
            test = f"{name} BETWEEN {random_.choice(values)} AND {random_.choice(values)}"
        case _:
            test = f"{name} IS {random_.choice(['', 'NOT '])}NULL"
    return f"({name} IS NULL OR {test})" if random_.random() < 0.2 else test


def drawn_predicates(seed: int, count: int) -> list[Predicate]:
    random_ = random.Random(seed)
    formulas = [normalise(drawn(random_), BOOK) for _ in range(count)]
    return [formula.predicate for formula in formulas if formula.predicate is not None]


def truths(predicates: list[Predicate]) -> list[set[object]]:
    """The values of its own attribute on which each holds."""
    found = []
    for each in predicates:
        (name,) = each.attribute.steps  # type: ignore[union-attr]
        frame = BatchFrame(EventBatch.of([{name: value} for value in VALUES[name]], BOOK))
        found.append({VALUES[name][row] for row in np.flatnonzero(each.mask(frame))})
    return found


def test_with_domains_it_is_exact() -> None:
    predicates = drawn_predicates(1, 80)
    holding = truths(predicates)
    domains = domains_of(BOOK)
    found = 0
    for i, j in combinations_with_replacement(range(len(predicates)), 2):
        one, other = predicates[i], predicates[j]
        expected = one.attribute == other.attribute and not holding[i] & holding[j]
        assert are_disjoint(one, other, domains) == expected, (one.describe(), other.describe())
        assert not are_disjoint(one, other) or expected, (one.describe(), other.describe())
        found += expected
    assert found > 150


@pytest.mark.slow
@pytest.mark.parametrize("with_domains", [False, True])
@pytest.mark.parametrize("count", [20, 120])
def test_the_index_finds_what_the_pairs_are(with_domains: bool, count: int) -> None:
    domains = domains_of(BOOK) if with_domains else None
    predicates = drawn_predicates(2, count)
    others = ["exists(tags, x -> x = 'a')", "tags IS NULL", "upper(free) = 'A'", "free IS NULL", "free < 'c'"]
    predicates += [predicate(text) for text in others]
    index = DisjointIndex(domains)
    for place, each in enumerate(predicates):
        index.add(place, each)
        if place % 30 == 0:
            index.find(each)  # so that some were in order when others came
    for each in predicates + drawn_predicates(3, 30):
        expected = [place for place, other in enumerate(predicates) if are_disjoint(each, other, domains)]
        assert sorted(index.find(each).tolist()) == expected, each.describe()


def test_an_unknown_attribute() -> None:
    index = DisjointIndex()
    index.add(0, predicate("n = 1"))
    assert index.find(predicate("price = 1")).tolist() == []
