from __future__ import annotations

import pytest

from tamis.formulas.formula import at_least
from tamis.lab.bittner.characteristics import OVERLAP, Characteristics
from tamis.lab.bittner.prunings import pruning_options
from tamis.lab.bittner.ranking import Ranking
from tamis.language.condition import normalise
from tamis.routing.overlap import OverlapIndex
from tests.lab.bittner.goblet import ADVERTISEMENT, SUBSCRIPTION, matches


@pytest.fixture
def table() -> Characteristics:
    index = OverlapIndex()
    index.add("s1", "book", SUBSCRIPTION)
    return Characteristics(index, "book", matches)


def losses(table: Characteristics) -> dict[str, float]:
    """What each pruning of the advertisement loses, by what it takes away."""
    ranking = Ranking(OVERLAP, table)
    found = {}
    for option in pruning_options(ADVERTISEMENT):
        before, after = table.estimate(ADVERTISEMENT), table.estimate(option.result)
        parts = [(one - other) / one for one, other in zip(before, after, strict=True)]
        found[option.taken.describe()] = max(parts)
    best = ranking.best(ranking.facts(ADVERTISEMENT), ADVERTISEMENT)
    assert best is not None
    assert best.rank[1] == min(found.values())
    return found


def test_leaves_of_the_example_of_the_thesis(table: Characteristics) -> None:
    found = {each.describe(): table.of(each) for each in ADVERTISEMENT.predicates()}
    assert found == {
        "title = 'Harry Potter and the Goblet of Fire'": 0,
        "condition = 'used'": pytest.approx(0.00745, abs=5e-6),
        "price > 11": 0,
        "price > 14": pytest.approx(0.00430, abs=5e-6),
        "condition = 'new'": pytest.approx(0.00373, abs=5e-6),
    }


def test_the_root_of_the_example(table: Characteristics) -> None:
    assert tuple(table.estimate(ADVERTISEMENT)) == pytest.approx((0.0043, 0.0154, 0.01548), abs=1e-5)


def test_prunings_of_the_example(table: Characteristics) -> None:
    """The thesis prints .481 for the third, which does not follow from its algorithm."""
    found = losses(table)
    assert found["title = 'Harry Potter and the Goblet of Fire'"] == 0
    assert found["price > 14"] == pytest.approx(0.276, abs=0.003)
    assert found["condition = 'used'"] == 1.0


def test_at_least_some() -> None:
    """All but one of the operands must be kept apart from, for two of them to be impossible together."""
    index = OverlapIndex()
    index.add("s1", "book", normalise("a = 1 AND b = 1 AND c = 1"))
    table = Characteristics(index, "book", lambda each: {"a": 0, "b": 3, "c": 8}[each.describe()[0]])
    parts = [normalise(text) for text in ("a = 2", "b = 2", "c = 2")]
    a, b, c = (table.estimate(part).average for part in parts)
    assert [a, b, c] == pytest.approx([1 / 3, 1 / 6, 1 / 9])
    assert table.estimate(at_least(2, parts)).least == pytest.approx(b)
    assert table.estimate(at_least(3, parts)).least == pytest.approx(a)
    assert table.estimate(at_least(1, parts)).least == pytest.approx(c)


def test_without_subscriptions_nothing_is_kept_apart() -> None:
    table = Characteristics(OverlapIndex(), "book")
    assert tuple(table.estimate(ADVERTISEMENT)) == (0, 0, 0)


def test_subscriptions_that_come_later_count() -> None:
    index = OverlapIndex()
    table = Characteristics(index, "book")
    advertised = normalise("a = 2")
    assert table.estimate(advertised).average == 0
    version = table.version
    index.add("s1", "book", normalise("a = 1"))
    assert table.estimate(advertised).average == 1
    assert table.version > version
    index.add("s2", "book", normalise("a = 2"))
    assert table.estimate(advertised).average == 0.5
    index.remove("s1")
    assert table.estimate(advertised).average == 0
