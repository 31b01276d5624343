from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pytest

from tamis import Formula, compile_conditions
from tamis.lab.bittner.implication import terms
from tamis.lab.workloads import Workload, generate
from tamis.lab.workloads.advertisements import CLASSES, PRICES
from tamis.routing.trees import tree_size


@pytest.fixture(scope="module")
def data() -> Workload:
    return generate("advertisements", subscriptions=4_000, events=10, seed=1)


def slots(form: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^']+?)", re.escape(form)))


def formulas(place: int) -> list[Formula]:
    weights = [float(number == place) for number in range(8)]
    one = generate("advertisements", subscriptions=10, events=0, classes=weights)
    found = [each for each in compile_conditions(one.conditions, one.event_type) if isinstance(each, Formula)]
    assert len(found) == 10
    return found


def test_conditions_are_of_the_eight_classes(data: Workload) -> None:
    patterns = [slots(form) for form in CLASSES]
    counts = [0] * 8
    for text in data.conditions.to_pylist():
        (number,) = [place for place, pattern in enumerate(patterns) if pattern.fullmatch(text)]
        counts[number] += 1
    assert all(count == pytest.approx(500, abs=90) for count in counts)


@pytest.mark.parametrize(
    ("place", "leaves", "conjunctions"),
    [(0, 5, 2), (1, 5, 2), (2, 5, 2), (3, 5, 2), (4, 11, 4), (5, 4, 2), (6, 4, 2), (7, 10, 4)],
)
def test_classes_have_the_published_sizes(place: int, leaves: int, conjunctions: int) -> None:
    for each in formulas(place):
        assert tree_size(each).leaves == leaves
        assert len(terms(each) or []) == conjunctions


def test_operands_are_within_their_ranges(data: Workload) -> None:
    patterns = [slots(form) for form in CLASSES]
    found: dict[str, list[str]] = {}
    for text in data.conditions.to_pylist():
        for pattern in patterns:
            for name, operand in (each.groupdict() if (each := pattern.fullmatch(text)) else {}).items():
                found.setdefault(name, []).append(operand)
    for name, (least, most) in PRICES.items():
        prices = [Decimal(each) for each in found[name]]
        assert least <= min(prices) < Decimal(least) + Decimal("0.5"), name
        assert most >= max(prices) > Decimal(most) - Decimal("0.5"), name
    assert len(set(found["category"])) == 22
    assert max(map(int, found["title"])) < 10_000_000 + data.facts["titles"]
    assert max(map(int, found["author"])) < 10_000_000 + data.facts["authors"]


def test_the_books_are_those_of_the_auctions(data: Workload) -> None:
    auctions = generate("auction", subscriptions=0, events=0, seed=1)
    assert (data.facts, data.event_type) == (auctions.facts, auctions.event_type)
    fewer = generate("advertisements", subscriptions=0, events=0, auctions_per_book=1_000).facts
    assert fewer["books"] == generate("auction", subscriptions=0, events=0, auctions_per_book=1_000).facts["books"]
    assert fewer["books"] < data.facts["books"] / 9


def test_the_distribution_reaches_the_conditions() -> None:
    means = {}
    for distribution in ("uniform", "zipf", "normal-reversed"):
        data = generate(
            "advertisements",
            subscriptions=2_000,
            events=0,
            classes=(0, 0, 0, 0, 0, 1, 0, 0),
            operands=distribution,
        )
        prices = [float(re.findall(r"price > ([\d.]+)", text)[0]) for text in data.conditions.to_pylist()]
        means[distribution] = np.mean(prices)
    assert means["uniform"] == pytest.approx(11.5, abs=0.5)
    assert means["zipf"] < means["uniform"] < means["normal-reversed"]
