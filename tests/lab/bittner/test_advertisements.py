from __future__ import annotations

import random
from typing import Literal

import pytest

from tamis.events import EventBatch, EventType
from tamis.formulas.formula import Formula, conjunction, disjunction
from tamis.lab.bittner.advertisements import Advertisement, Advertisements
from tamis.language.condition import normalise
from tamis.routing.overlap import OverlapIndex
from tests.lab.bittner.goblet import ADVERTISEMENT, SUBSCRIPTION, matches
from tests.lab.bittner.small_worlds import SMALL, all_events, formula, masks


def drawn(seed: int, count: int) -> list[Formula]:
    random_ = random.Random(seed)
    return [formula(random_) for _ in range(count)]


def subscribed(formulas: list[Formula]) -> OverlapIndex:
    index = OverlapIndex([SMALL])
    for number, each in enumerate(formulas):
        index.add(f"s{number}", "small", each)
    return index


def advertised(formulas: list[Formula], subscriptions: OverlapIndex | None = None) -> Advertisements:
    found = Advertisements(subscriptions, event_types=[SMALL])
    for number, each in enumerate(formulas):
        found.add(Advertisement(f"a{number}", "small", each))
    return found


def test_events_conform_to_one_of_the_advertisements() -> None:
    formulas = drawn(1, 3)
    found = advertised([conjunction(formulas[:2]), formulas[2]])
    frame = all_events()
    assert (
        found.conforms(frame.batch).tolist()
        == masks([disjunction([conjunction(formulas[:2]), formulas[2]])])[0].tolist()
    )


def test_events_of_another_type_conform_to_nothing() -> None:
    found = Advertisements()
    found.add(Advertisement("a", "film", normalise("year > 2000")))
    events = [{"year": 2010}, {"year": 1990}]
    films, books = (EventBatch.of(events, EventType(name=name)) for name in ("film", "book"))
    assert found.conforms(films).tolist() == [True, False]
    assert found.conforms(books).tolist() == [False, False]


def test_pruning_goes_on_with_the_original_for_conformity() -> None:
    found = advertised([normalise("a < 3 AND c", SMALL)])
    before = found.conforms(all_events().batch)
    assert list(found.prune("small", count=1)) == ["a0"]
    assert found.conforms(all_events().batch).tolist() == before.tolist()


def test_the_example_of_the_thesis_is_pruned_in_its_order() -> None:
    index = OverlapIndex()
    index.add("s1", "book", SUBSCRIPTION)
    found = Advertisements(index, matches)
    found.add(Advertisement("a3", "book", ADVERTISEMENT))
    kept = [found.prune("book", count=1).get("a3") for _ in range(3)]
    # What keeps nothing apart goes first: both of these save as many bytes, and this one stands before the title.
    assert kept[0] == normalise(
        "title = 'Harry Potter and the Goblet of Fire' AND"
        " (condition = 'used' OR (price > 14 AND condition = 'new'))"
    )
    assert kept[1] == normalise("condition = 'used' OR (price > 14 AND condition = 'new')")
    assert kept[2] == normalise("condition = 'used' OR price > 14")
    assert found.prune("book") == {}
    assert found.totals("book").removed_share == 1 - 2 / 5
    assert found["a3"].formula == kept[2]
    assert [each.formula for each in found] == [ADVERTISEMENT]


def test_a_threshold_bounds_what_is_lost() -> None:
    index = OverlapIndex()
    index.add("s1", "book", SUBSCRIPTION)
    found = Advertisements(index, matches)
    found.add(Advertisement("a3", "book", ADVERTISEMENT))
    found.prune("book", threshold=0.2)
    assert found["a3"].formula == normalise("condition = 'used' OR (price > 14 AND condition = 'new')")


@pytest.mark.parametrize("strategy", ["strict", "static", "dynamic"])
def test_pruned_advertisements_overlap_with_all_that_they_did(
    strategy: Literal["strict", "static", "dynamic"],
) -> None:
    subscriptions = drawn(2, 12)
    index = subscribed(subscriptions)
    found = Advertisements(index, event_types=[SMALL], strategy=strategy)
    for number, each in enumerate(drawn(3, 12)):
        found.add(Advertisement(f"a{number}", "small", each))
    before = [set(found.overlapping("small", each)) for each in subscriptions]
    while found.prune("small", count=10):
        after = [set(found.overlapping("small", each)) for each in subscriptions]
        assert all(one <= other for one, other in zip(before, after, strict=True))
        before = after
        index.replace("s0", subscriptions[0])
    assert found.totals("small").removed_share > 0.3


def test_ranks_made_anew_know_later_subscriptions() -> None:
    index = OverlapIndex([SMALL])
    found = advertised([normalise("a < 3 AND b = 'ab'", SMALL)], index)
    index.add("s0", "small", normalise("a > 4", SMALL))
    found.rank("small")
    assert found.prune("small", count=1) == {"a0": normalise("a < 3", SMALL)}


def test_an_advertisement_takes_its_subscriptions_along() -> None:
    texts = ["a = 1", "a = 2", "a = 1 AND b = 'ab'", "a = 5"]
    index = subscribed([normalise(text, SMALL) for text in texts])
    found = advertised([normalise("a < 3", SMALL), normalise("a = 1", SMALL)], index)
    assert found.withdraw("a0") == ["s1"]
    assert "a0" not in found
    assert found.withdraw("a1") == ["s0", "s2"]
    assert len(found) == 0


def test_what_was_forwarded_because_of_a_pruning_goes_as_well() -> None:
    index = subscribed([normalise(text, SMALL) for text in ("a = 1 AND b = 'bc'", "a = 5", "a = 4")])
    found = advertised([normalise("a < 3 AND b = 'ab'", SMALL)], index)
    assert found.overlapping("small", index.condition("s0")[1]) == []
    assert found.prune("small") == {"a0": normalise("a < 3", SMALL)}
    assert found.overlapping("small", index.condition("s0")[1]) == ["a0"]
    assert found.withdraw("a0") == ["s0"]


def test_a_removed_advertisement_overlaps_no_more() -> None:
    found = advertised([normalise("a < 3", SMALL)])
    assert found.overlaps("small", normalise("a = 1", SMALL))
    found.remove("a0")
    assert not found.overlaps("small", normalise("a = 1", SMALL))
    assert found.prune("small") == {}
    with pytest.raises(KeyError):
        found.remove("a0")


def test_an_id_is_taken_once() -> None:
    found = advertised([normalise("a < 3", SMALL)])
    with pytest.raises(ValueError, match="'a0' is registered already"):
        found.add(Advertisement("a0", "small", normalise("c", SMALL)))
    assert len(found) == 1
