"""The benchmark of overlap notices what is wrong, and reads curves right."""

from __future__ import annotations

from itertools import product

import pytest

from benchmarks.routing_overlap import parts
from benchmarks.routing_overlap_check import check, is_part, meet
from benchmarks.routing_overlap_data import (
    SCALES,
    Answers,
    Auctions,
    Contestant,
    answers,
    auctions,
    filed,
    in_turn,
    scale_of,
)
from benchmarks.routing_overlap_policies import (
    BROKERS,
    POLICIES,
    Run,
    check_delivered,
    conforming,
    pruned_advertisements,
    ran,
)
from benchmarks.routing_overlap_pruning import LEAST_REMOVED, Step, at, kept, largest, levels, pruned, shares
from tamis.events.event_type import EventType
from tamis.formulas.formula import Formula
from tamis.lab.bittner.advertisements import Advertisement, Advertisements
from tamis.lab.bittner.overlap import ConjunctiveIndex
from tamis.language.condition import normalise
from tamis.routing.overlap import OverlapIndex
from tamis.routing.trees import tree_size

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


def step(removed: float, share: float) -> Step:
    return Step(removed, Answers([], share, 1.0, 2.0, 1.0))


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


def test_a_decision_that_is_wrong_is_noticed(given: Auctions, monkeypatch: pytest.MonkeyPatch) -> None:
    index = filed(given.advertisements, given.event_type)
    found = answers(index, given.name, given.subscriptions[:6], SCALE)
    assert found.share == sum(map(len, found.found)) / (6 * 40)
    monkeypatch.setattr(OverlapIndex, "overlaps", lambda *_: False)
    with pytest.raises(SystemExit, match="decisions"):
        answers(index, given.name, given.subscriptions[:6], SCALE)


def test_lists_are_compared_place_by_place() -> None:
    assert is_part([["a"], []], [["b", "a"], ["a"]])
    assert not is_part([["a"], ["b"]], [["a", "b"], ["a"]])


def test_classes_take_turns(given: Auctions) -> None:
    leaves = [tree_size(each).leaves for each in given.subscriptions[:9]]
    assert leaves == [6, 7, 12] * 3
    texts = ["a = 1", "a = 2", "a = 3 AND b = 1"]
    found = [each.describe() for each in in_turn(map(normalise, texts))]
    assert found == ["a = 1", "a = 3 AND b = 1", "a = 2"]


# --- pruning -----------------------------------------------------------------------------------------------


def test_curves_are_read() -> None:
    steps = [step(0.0, 0.4), step(0.2, 0.5), step(0.6, 0.59), step(0.7, 0.7), step(0.8, 0.55)]
    assert largest(shares(steps), 0.5) == 0.2
    assert largest(shares(steps), 0.3) == 0.0
    assert kept(steps) == 0.6
    assert at(steps, 0.1, "share") == pytest.approx(0.45)
    assert at(steps, 1.0, "share") == 0.55


def test_pruning_advertisements_removes_more_and_more_and_loses_no_overlap(given: Auctions) -> None:
    steps = pruned(given, given.subscriptions, SCALE, 4)
    removed = [each.removed for each in steps]
    assert removed[0] == 0 and removed == sorted(set(removed)) and removed[-1] > 0.7
    found = [each.answers.share for each in steps]
    assert found == sorted(found)
    assert steps[-1].answers.candidates < steps[0].answers.candidates


def test_subscriptions_are_pruned_as_far_as_asked(given: Auctions) -> None:
    found = levels(given, (0.0, 0.3, 1.0))
    assert found[0].removed == 0 and found[0].subscriptions == given.subscriptions
    assert 0.3 <= found[1].removed < 0.4
    assert found[2].removed > 0.8
    assert all(len(each.subscriptions) == len(given.subscriptions) for each in found)


# --- the network -------------------------------------------------------------------------------------------


def test_events_conform_to_the_advertisements_of_their_broker(given: Auctions) -> None:
    for broker, batch in enumerate(conforming(given, 5)):
        assert batch.rows <= 5
        advertised = Advertisements()
        for place in range(broker, len(given.advertisements), BROKERS):
            advertised.add(Advertisement(str(place), given.name, given.advertisements[place]))
        assert advertised.conforms(batch).all()


def test_policies_prune_what_they_say(given: Auctions) -> None:
    small = Auctions(
        given.event_type, given.subscriptions[:15], given.advertisements[:5], given.table, given.events
    )
    events = conforming(small, 20)
    runs = {name: ran(small, policy, events) for name, policy in POLICIES.items()}
    plain, subscriptions = runs["nothing pruned"], runs["subscriptions pruned"]
    advertisements = runs["advertisements pruned"]
    assert not runs["no advertisements"].subscription_table_bytes
    assert runs["no advertisements"].report.messages["subscriptions"] == 15 * (BROKERS - 1)
    assert subscriptions.report.removed_share >= LEAST_REMOVED > plain.report.removed_share == 0
    assert subscriptions.event_table_bytes < plain.event_table_bytes
    assert advertisements.subscription_table_bytes < plain.subscription_table_bytes
    assert advertisements.report.messages["subscriptions"] >= plain.report.messages["subscriptions"]
    assert advertisements.advertisements == pruned_advertisements(small)


def test_policies_that_deliver_other_events_are_noticed(given: Auctions) -> None:
    none = Auctions(given.event_type, [], [], given.table, given.events)
    report = ran(none, POLICIES["no advertisements"], []).report
    one, other = Run(report, [], {(0, 1, "s2")}), Run(report, [], set())
    check_delivered("same", one, one)
    with pytest.raises(SystemExit, match="less: 1 deliveries differ, of 1"):
        check_delivered("less", other, one)


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
