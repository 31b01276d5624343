from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from tamis import Formula, Matcher, compile_conditions, parse
from tamis.lab.workloads import Workload, generate

PREDICATE = re.compile(r"\w+ (?:=|<>|<|>=|BETWEEN|(?:NOT )?IN \()")


@pytest.fixture(scope="module")
def data() -> Workload:
    return generate("ads", subscriptions=4_000, events=400, seed=3)


def depth_of_text(text: str) -> int:
    """Levels of AND and OR above the deepest predicate, as written; a list is no level."""
    plain = re.sub(r"IN \([^)]*\)|BETWEEN \d+ AND", "IN", text)
    deepest = level = 0
    for token in re.findall(r"\(|\)|\bAND\b|\bOR\b", plain):
        level += {"(": 1, ")": -1}.get(token, 0)
        if token in ("AND", "OR"):
            deepest = max(deepest, level + 1)
    return deepest + 1


def depth(formula: Formula) -> int:
    return 1 + max(map(depth, formula.operands), default=0)


@pytest.mark.slow
def test_conditions_have_1_to_56_predicates_and_are_1_to_9_deep(data: Workload) -> None:
    texts = data.conditions.to_pylist()
    sizes = Counter(len(PREDICATE.findall(text)) for text in texts)
    assert min(sizes) == 1
    assert 30 < max(sizes) <= 56
    depths = Counter(map(depth_of_text, texts))
    assert set(depths) == set(range(1, 10))
    assert sum(count for size, count in depths.items() if 2 <= size <= 6) > 2_000


def test_formulas_are_no_deeper_than_their_texts(data: Workload) -> None:
    texts = data.conditions.slice(0, 500)
    for text, formula in zip(texts.to_pylist(), compile_conditions(texts, data.event_type), strict=True):
        assert isinstance(formula, Formula)
        assert depth(formula) <= depth_of_text(text)


@pytest.mark.slow
def test_very_many_conditions_stay_within_the_bounds() -> None:
    texts = generate("ads", subscriptions=300_000, events=0, seed=1).conditions.to_pylist()
    sizes = {len(PREDICATE.findall(text)) for text in texts}
    assert (min(sizes), max(sizes) <= 56, max(sizes) > 44) == (1, True, True)


def test_shares_of_shapes(data: Workload) -> None:
    texts = data.conditions.to_pylist()
    alone = sum(len(PREDICATE.findall(text)) == 1 for text in texts) / 4_000
    either = sum(text.startswith("(") for text in texts) / 4_000
    assert alone == pytest.approx(0.1, abs=0.02)
    assert either == pytest.approx(0.9 * 0.25, abs=0.02)
    assert sum("NOT (" in text for text in texts) > 200


def test_predicates_and_segments_are_shared(data: Workload) -> None:
    texts = data.conditions.to_pylist()
    found = Counter(one for text in texts for one in re.findall(r"t\d+ (?:=|<>|<|>=) \S+?(?=[ )]|$)", text))
    assert sum(found.values()) > 5 * len(found)
    segments = Counter(one for text in texts for one in re.findall(r" AND (\(.*?\))(?= AND|$)", text))
    assert sum(count for count in segments.values() if count > 1) > 0.2 * sum(segments.values())


def test_there_are_122_attributes_and_events_have_about_20(data: Workload) -> None:
    attributes = [attribute for attribute in data.event_type.attributes or () if attribute.name != "id"]
    assert len(attributes) == 122
    assert Counter(str(attribute.type) for attribute in attributes) == {"string": 9 + 55, "int": 3 + 55}
    pairs = [sum(value is not None for value in event.values()) for event in data.events.drop("id").to_pylist()]
    assert (min(pairs), max(pairs)) == (17, 23)
    assert np.mean(pairs) == pytest.approx(20, abs=0.3)


def test_conditions_use_all_kinds_of_attributes(data: Workload) -> None:
    used = {
        name for text in data.conditions.to_pylist() for name in re.findall(r"(\w+) (?:=|<|>|BETW|IN|NOT)", text)
    }
    assert len(used & {attribute.name for attribute in data.event_type.attributes or ()}) == 122


@pytest.mark.slow
def test_some_conditions_match() -> None:
    data = generate("ads", subscriptions=1_000, events=500, seed=5, segments=500)
    matcher = Matcher(data.event_type, engine="scan")
    assert matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True)) == []
    per_million = matcher.match_batch(data.events).num_rows / 500 / 1_000 * 1e6
    assert 5 < per_million < 500


def test_single_conditions_only() -> None:
    data = generate("ads", subscriptions=50, events=1, alone=1.0, segments=1)
    assert all(re.fullmatch(r"(site|city) (= '\w+'|IN \(.*\))", text) for text in data.conditions.to_pylist())
    assert all(parse(text) is not None for text in data.conditions.to_pylist())
