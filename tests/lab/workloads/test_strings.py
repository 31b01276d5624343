from __future__ import annotations

import re
from collections import Counter

import pytest

from tamis import Matcher
from tamis.lab.workloads import generate
from tamis.lab.workloads.strings import ENDINGS, FORMS, LANGUAGES, vocabulary

CHEAP = re.compile(r"(?: AND lang = '(\w+)')?(?: AND size (<|>=) (\d+))?$")


def kind(condition: str) -> str:
    pattern = condition.split("'")[1]
    if " RLIKE " in condition:
        return "rlike"
    shape = re.sub("[^%_]+", "x", pattern)
    return {"x%": "prefix", "%x": "suffix", "%x%": "contains"}.get(shape, "like")


def test_kinds_follow_their_weights() -> None:
    data = generate("strings", subscriptions=4_000, events=0, kinds=(1, 2, 3, 0, 2), vocabulary=1_000)
    counts = Counter(map(kind, data.conditions.to_pylist()))
    for name, expected in (("prefix", 500), ("suffix", 1_000), ("contains", 1_500), ("like", 0), ("rlike", 1_000)):
        assert counts[name] == pytest.approx(expected, abs=100), name


@pytest.mark.parametrize("name", FORMS)
def test_each_kind_alone(name: str) -> None:
    weights = [float(other == name) for other in FORMS]
    data = generate("strings", subscriptions=300, events=0, kinds=weights, vocabulary=1_000, joined=0.0)
    texts = data.conditions.to_pylist()
    assert {kind(text) for text in texts} == {name}
    assert {text.split()[0] for text in texts} == {"title", "path"}
    assert not any("{" in text for text in texts)


def test_cheap_predicates() -> None:
    data = generate("strings", subscriptions=4_000, events=0, vocabulary=1_000)
    found = [CHEAP.search(text) for text in data.conditions.to_pylist()]
    cheap = [each.groups() for each in found if each is not None]
    assert {lang for lang, _, _ in cheap if lang} == set(LANGUAGES)
    counts = Counter((lang is not None) + (sign is not None) for lang, sign, _ in cheap)
    assert counts[0] == pytest.approx(2_000, abs=150)
    assert counts[1] == pytest.approx(1_600, abs=150)
    assert counts[2] == pytest.approx(400, abs=80)


def test_titles_and_paths() -> None:
    events = generate("strings", subscriptions=0, events=500, seed=2).events.to_pylist()
    words = set(vocabulary(20_000))
    lengths = Counter(len(event["title"].split(" ")) for event in events)
    assert set(lengths) == set(range(4, 11))
    assert all(word in words for event in events for word in event["title"].split(" "))
    for event in events:
        file = rf"(/[^/]+){{2,3}}/[^/]+-\d{{1,3}}\.({'|'.join(ENDINGS)})"
        assert re.fullmatch(file, event["path"]), event["path"]
    assert any(not event["title"].isascii() for event in events)


def test_words_are_different_and_the_same_for_all_sizes() -> None:
    words = vocabulary(3_000)
    assert len(set(words)) == 3_000
    assert vocabulary(1_000) == words[:1_000]
    assert all(re.fullmatch(r"\w+", word) for word in words)


@pytest.mark.slow
def test_an_event_satisfies_a_handful_of_a_million() -> None:
    data = generate("strings", subscriptions=3_000, events=1_024, seed=1, kinds=(1, 1, 1, 0, 0))
    matcher = Matcher(data.event_type, engine="scan")
    assert matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True)) == []
    assert 1 < matcher.match_batch(data.events).num_rows / 1_024 / 3_000 * 1e6 < 20


@pytest.mark.slow
def test_a_small_vocabulary_matches_more() -> None:
    data = generate("strings", subscriptions=1_500, events=400, seed=1, vocabulary=1_000, joined=0.0)
    matcher = Matcher(data.event_type, engine="scan")
    assert matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True)) == []
    pairs = matcher.match_batch(data.events)
    kinds = {kind(data.conditions[int(each[1:])].as_py()) for each in pairs["subscription_id"].to_pylist()}
    assert len(kinds) >= 4
