"""The benchmark of overlap notices what is wrong, and reads curves right."""

from __future__ import annotations

from itertools import product

import pytest

from benchmarks.routing_overlap import parts
from benchmarks.routing_overlap_check import check, meet
from benchmarks.routing_overlap_data import SCALES, scale_of
from benchmarks.routing_overlap_pruning import kept
from tamis.events.event_type import EventType
from tamis.formulas.formula import Formula
from tamis.lab.bittner.overlap import ConjunctiveIndex
from tamis.lab.claims.overlaps import Answers, Auctions, Contestant, auctions, filed
from tamis.lab.claims.pruned_advertisements import Step
from tamis.language.condition import normalise

SCALE = SCALES["smallest"]
BOOK = EventType.from_dict(
    {
        "name": "book",
        "attributes": {
            "price": {"type": "int", "min": 1, "required": True},
            "used": {"type": "boolean", "required": True},
        },
    }
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def given() -> Auctions:
    return auctions(60, 40, 300)


# --- the oracle --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("price < 3", "price >= 3", False),
        ("price <= 3", "price >= 3", True),
        ("price < 3 AND used", "price > 5 OR (price > 1 AND used)", True),
        ("price < 3 AND NOT used", "price > 5 OR (price > 1 AND used)", False),
        ("price > 5 OR used", "price < 3 AND NOT used", False),
        ("price < 2", "price > 0", True),
    ],
)
def test_conditions_meet_if_there_is_an_event(one: str, other: str, expected: bool) -> None:
    first, second = normalise(one, BOOK), normalise(other, BOOK)
    assert meet(first, second, BOOK) is expected
    assert meet(second, first, BOOK) is expected


def test_conditions_do_not_meet_outside_of_a_domain() -> None:
    free = EventType.from_dict({"name": "book", "attributes": {"price": "int"}})
    low, any_ = normalise("price < 1", BOOK), normalise("price < 9", BOOK)
    assert meet(low, any_, free)
    assert not meet(low, any_, BOOK)


def test_what_can_be_null_is_not_tried() -> None:
    formula = normalise("price IS NULL", EventType("book"))
    with pytest.raises(TypeError, match="without NULL"):
        meet(formula, formula, EventType("book"))


def test_events_tell_the_same_as_the_conjunctive_index(given: Auctions) -> None:
    index = ConjunctiveIndex([given.event_type])
    for place, formula in enumerate(given.advertisements[:12]):
        index.add(str(place), given.name, formula)
    asked = given.subscriptions[:12]
    found = {(row, int(name)) for row, each in enumerate(asked) for name in index.overlapping(given.name, each)}
    pairs = product(enumerate(asked), enumerate(given.advertisements[:12]))
    assert {(i, j) for (i, one), (j, other) in pairs if meet(one, other, given.event_type)} == found


class Forgetful:
    """Answers as an index, without the first overlap of each."""

    def __init__(self, index: Contestant) -> None:
        self._index = index

    def overlapping(self, event_type: str, formula: Formula) -> list[str]:
        return self._index.overlapping(event_type, formula)[1:]

    def overlaps(self, event_type: str, formula: Formula) -> bool:
        return self._index.overlaps(event_type, formula)


def test_an_overlap_that_is_missed_is_noticed(given: Auctions) -> None:
    index = filed(given.advertisements, given.event_type)
    assert check(given, {"whole": index}, 6, 10)["whole: overlaps that are none"] == 0
    with pytest.raises(SystemExit, match="forgetful misses"):
        check(given, {"forgetful": Forgetful(index)}, 6, 10)


# --- sizes -------------------------------------------------------------------------------------------------


def test_a_size_is_the_most_of_everything_and_keeps_proportions() -> None:
    assert scale_of("full") == SCALES["full"]
    given = scale_of("full", (10_000, 40_000))
    assert given.sizes == (20_000, 40_000)
    assert scale_of("full", (5_000,)).sizes == (2_500, 5_000)
    assert (given.pruned, given.others, given.both) == ((40_000, 20_000), (6_000, 2_500), (20_000, 8_000))


# --- parts -------------------------------------------------------------------------------------------------


def test_bytes_are_those_of_the_formulas() -> None:
    figures = parts()["memory"]("smallest")[0]
    more = {name: text.split(": ")[1].split()[0] for name, text in figures.items()}
    assert [name for name, which in more.items() if which == "conjunctive"] == ["A5"]
    # Five predicates, four operators and no predicate twice, but for what all advertisements share.
    assert figures["A2"].startswith("Boolean 59.4")


def test_both_contestants_find_the_same_overlaps() -> None:
    figures, bars, drawings = parts()["overlap"]("smallest")
    assert not bars and len(drawings) == 1
    shares_ = figures["80: overlaps"].split()
    assert shares_[1].rstrip(",") == shares_[3].rstrip(",")


def test_what_is_kept_ends_before_overlap_rises_too_far() -> None:
    steps = [(0.0, 0.4), (0.2, 0.5), (0.6, 0.59), (0.7, 0.7), (0.8, 0.55)]
    assert kept([Step(removed, Answers([], share, 1.0, 2.0, 1.0)) for removed, share in steps]) == 0.6
