from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pytest

from tamis import Formula, Matcher, compile_conditions
from tamis.lab.workloads import Workload, generate
from tamis.lab.workloads.auction import CLASSES, DISTRIBUTIONS, PRICES, operand_shares

EVENTS = 20_000


@pytest.fixture(scope="module")
def data() -> Workload:
    return generate("auction", subscriptions=3_000, events=EVENTS, seed=1)


def share(data: Workload, name: str, value: object) -> float:
    values: list[object] = data.events[name].to_pylist()
    return values.count(value) / len(values)


def slots(form: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^']+?)", re.escape(form)))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("condition", "used", 0.795),
        ("format", "softcover", 0.545),
        ("format", "hardcover", 0.425),
        ("special", "signed", 0.018),
        ("special", "1st edition", 0.155),
        ("category", "Romance", 0.172),
        ("category", "Science Fiction", 0.087),
        ("buy_it_now", True, 0.152),
        ("bids", 0, 0.863),
    ],
)
def test_marginal_shares_of_events(data: Workload, name: str, value: object, expected: float) -> None:
    assert share(data, name, value) == pytest.approx(expected, abs=4 * (expected / EVENTS) ** 0.5)


def test_prices_and_times(data: Workload) -> None:
    prices = np.array([float(each) for each in data.events["price"].to_pylist()])
    assert np.mean(prices <= 1) == pytest.approx(0.275, abs=0.012)
    assert np.mean(prices <= 4) == pytest.approx(0.664, abs=0.012)
    assert data.events["price"].to_pylist()[0] == data.events["price"].to_pylist()[0].quantize(Decimal("0.01"))
    minutes = np.asarray(data.events["ending_within"])
    assert (minutes.min(), minutes.max()) >= (1, 14_000)
    assert np.mean(minutes < 1_440) == pytest.approx(0.1, abs=0.01)


def test_joint_counts_follow_the_tables(data: Workload) -> None:
    """Chi-square over the kinds of books that are frequent enough."""
    from tamis.lab.workloads.auction_tables import CONDITIONS, FORMATS, SPECIALS, read_tables

    tables = read_tables()
    expected = np.diff(tables.kind_shares, prepend=0) * EVENTS
    lists = (tables.categories, FORMATS, SPECIALS, CONDITIONS)
    names = ("category", "format", "special", "condition")
    places = [
        np.array([listed.index(value) for value in data.events[name].to_pylist()])
        for name, listed in zip(names, lists, strict=True)
    ]
    sizes = [len(listed) for listed in lists]
    counts = np.bincount(np.ravel_multi_index(places, sizes), minlength=int(np.prod(sizes)))
    found = counts[np.ravel_multi_index(list(tables.kinds.T), sizes)]
    assert found.sum() == EVENTS
    often = expected >= 5
    statistic = float(((found - expected)[often] ** 2 / expected[often]).sum())
    # The mean of chi-square is its degrees of freedom, its deviation the root of twice that.
    assert abs(statistic - often.sum()) < 4 * (2 * often.sum()) ** 0.5


def test_conditions_are_of_the_three_classes(data: Workload) -> None:
    patterns = [slots(form) for form in CLASSES]
    counts = [0, 0, 0]
    for text in data.conditions.to_pylist():
        (number,) = [place for place, pattern in enumerate(patterns) if pattern.fullmatch(text)]
        counts[number] += 1
    assert all(count == pytest.approx(1_000, abs=110) for count in counts)


def test_operands_are_within_their_ranges(data: Workload) -> None:
    patterns = [slots(form) for form in CLASSES]
    found: dict[str, list[str]] = {}
    for text in data.conditions.to_pylist():
        for pattern in patterns:
            for name, operand in (each.groupdict() if (each := pattern.fullmatch(text)) else {}).items():
                found.setdefault(name, []).append(operand)
    for name, (least, most) in PRICES.items():
        prices = [Decimal(each) for each in found[name]]
        assert all(re.fullmatch(r"\d+\.\d\d", each) for each in found[name])
        assert least <= min(prices) < least + 0.2
        assert most >= max(prices) > Decimal(most) - Decimal("0.2")
    assert len(set(found["category"])) == 22
    assert max(map(int, found["title"])) < 10_000_000 + data.facts["titles"]
    assert max(map(int, found["author"])) < 10_000_000 + data.facts["authors"]


def test_classes_have_the_published_numbers_of_predicates(data: Workload) -> None:
    def predicates(formula: Formula) -> int:
        return 1 if formula.predicate is not None else sum(map(predicates, formula.operands))

    for place, expected in enumerate((6, 12, 7)):
        weights = [float(number == place) for number in range(3)]
        one = generate("auction", subscriptions=20, events=0, classes=weights)
        formulas = compile_conditions(one.conditions, one.event_type)
        assert {predicates(formula) for formula in formulas if isinstance(formula, Formula)} == {expected}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_operand_distributions(distribution: str) -> None:
    shares = np.diff(operand_shares(distribution, 100), prepend=0)
    assert shares.sum() == pytest.approx(1)
    if "reversed" in distribution:
        shares = shares[::-1]
    if distribution == "uniform":
        assert np.allclose(shares, 0.01)
    elif distribution.startswith("zipf"):
        assert np.allclose(shares[[1, 9, 99]] / shares[0], [1 / 2, 1 / 10, 1 / 100])
    else:
        # A quarter of the operands is one deviation: 68.3% lie within it, 95.4% within two.
        assert shares[:25].sum() == pytest.approx(0.6827 / 0.99994, abs=1e-3)
        assert shares[:50].sum() == pytest.approx(0.9545 / 0.99994, abs=1e-3)


def test_the_distribution_reaches_the_conditions() -> None:
    means = {}
    for distribution in DISTRIBUTIONS:
        data = generate("auction", subscriptions=2_000, events=0, classes=(1, 0, 0), operands=distribution)
        prices = [float(re.findall(r"price < ([\d.]+)", text)[0]) for text in data.conditions.to_pylist()]
        means[distribution] = np.mean(prices)
    assert means["uniform"] == pytest.approx(7.5, abs=0.1)
    assert 5 < means["zipf"] < means["normal"] < 6.2
    assert 10 > means["zipf-reversed"] > means["normal-reversed"] > 8.8


def test_names_may_be_contained() -> None:
    data = generate("auction", subscriptions=100, events=5, names="contain")
    texts = data.conditions.to_pylist()
    assert any(re.search(r"title LIKE '%T\d{8}%'", text) for text in texts)
    assert any(re.search(r"author LIKE '%A\d{8}%'", text) for text in texts)
    assert not any(re.search(r"(title|author) =", text) for text in texts)


@pytest.mark.slow
def test_equal_and_contained_names_match_the_same() -> None:
    found = []
    for names in ("equal", "contain"):
        data = generate("auction", subscriptions=600, events=300, seed=2, names=names, auctions_per_book=10_000)
        matcher = Matcher(data.event_type, engine="scan")
        assert matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True)) == []
        found.append(matcher.match_batch(data.events).to_pylist())
    assert found[0] == found[1] != []


def test_captions_as_printed(data: Workload) -> None:
    printed = generate("auction", subscriptions=1, events=EVENTS, seed=1, captions="printed")
    assert share(printed, "special", "signed") == share(data, "special", "1st edition")
    assert share(printed, "special", "unspecified") == share(data, "special", "unspecified")


def test_pool_parameters_reach_the_pool() -> None:
    facts = generate("auction", subscriptions=0, events=0, auctions_per_book=10, books_per_author=2).facts
    assert facts["books"] == pytest.approx(14_160, abs=11)
    assert facts["authors"] == round(facts["books"] / 2)
    assert facts["titles"] == pytest.approx(0.99 * facts["books"], rel=0.005)


def test_the_event_type_is_book(data: Workload) -> None:
    assert data.event_type.name == "book"
    assert len(data.event_type.attributes or ()) == 11
