"""What a site sends its neighbour: implied by what lives behind it, in the bytes that are allowed."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Matcher, reference
from tamis.events import EventBatch, EventType
from tamis.language.condition import compile_condition, normalise
from tamis.routing.decayed_events import DecayedEvents, Sample
from tamis.service.peers.entries import (
    EVERYTHING,
    Entry,
    EntryRules,
    EntrySet,
    LinkEntries,
    digest_of,
    entries_for,
)
from tamis.service.peers.sources import Source

TYPES = {"t/event": EventType("t/event")}


def sources(*conditions: str, link: str | None = None) -> list[Source]:
    return [Source(link, "t/event", each, "sql") for each in conditions]


def texts(found: dict[str, Entry]) -> set[str]:
    return {each.condition for each in found.values()}


def test_equal_conditions_are_one_entry_and_what_came_over_a_link_does_not_go_back() -> None:
    here = [*sources("a = 1", "a = 1", "b = 2"), *sources("c = 3", link="north"), *sources("d = 4", link="south")]
    found = entries_for("north", here, TYPES)
    assert texts(dict(found.entries)) == {"a = 1", "b = 2", "d = 4"}
    assert (found.bytes, found.is_over_budget) == (15, False)
    assert texts(dict(entries_for("south", here, TYPES).entries)) == {"a = 1", "b = 2", "c = 3"}


def test_a_condition_with_more_operands_is_covered_by_one_with_fewer() -> None:
    here = sources(
        "a = 1 AND b < 2 AND c", "b < 2 AND a = 1", "b < 2 AND d", "a = 1 OR d", "(a = 1 OR d) AND e = 3"
    )
    found = entries_for("n", here, TYPES)
    assert texts(dict(found.entries)) == {"b < 2 AND a = 1", "b < 2 AND d", "a = 1 OR d"}
    assert found.sources == 5


def test_a_composite_subscription_wants_what_its_parts_want() -> None:
    text = "price > 100 AS a THEN price < 0.9 * a.price AND used AS b WITHIN INTERVAL '1' DAY BY item"
    found = entries_for("n", [Source(None, "t/event", text, "composite")], TYPES)
    assert {normalise(each) for each in texts(dict(found.entries))} == {
        normalise("price > 100"),
        normalise("used"),
    }


def test_keys_are_those_of_content_and_a_digest_of_the_set() -> None:
    one, other = Entry("t/event", "a = 1"), Entry("t/other", "a = 1")
    assert one.key == Entry("t/event", "a = 1").key != other.key
    assert digest_of([one.key, other.key]) == digest_of([other.key, one.key]) != digest_of([one.key])


def test_other_dialects_become_sql() -> None:
    found = entries_for("n", [Source(None, "t/event", "price IS NOT NULL", "jms")], TYPES)
    [entry] = found.entries.values()
    compile_condition(entry.condition)


@pytest.mark.slow
def test_a_budget_counts_bytes_of_distinct_texts_and_keeps_to_them() -> None:
    here = sources(*(f"title = 'book {n % 20}' AND price < {n} AND seller = 's{n}'" for n in range(400)))
    exact = entries_for("n", here, TYPES)
    found = entries_for("n", here, TYPES, EntryRules(exact.bytes // 10))
    assert found.bytes == sum(len(each.condition) for each in found.entries.values()) <= exact.bytes // 10
    assert not found.is_over_budget
    assert found.sources == 400
    assert EVERYTHING not in texts(dict(found.entries))


def test_a_budget_that_cannot_be_kept_is_reported() -> None:
    here = sources(*(f"title = 'a long title, number {n}'" for n in range(50)))
    found = entries_for("n", here, TYPES, EntryRules(10))
    assert texts(dict(found.entries)) == {EVERYTHING} and not found.is_over_budget
    assert entries_for("n", here, TYPES, EntryRules(3)).is_over_budget


def test_a_type_that_the_neighbour_cannot_read_is_widened_to_all_of_its_events() -> None:
    here = [*sources("a = 1", "b = 2"), Source(None, "t/other", "c = 3", "sql")]
    found = entries_for("n", here, {**TYPES, "t/other": EventType("t/other")}, widened={"t/event"})
    assert {*found.entries.values()} == {Entry("t/event", EVERYTHING), Entry("t/other", "c = 3")}
    compile_condition(EVERYTHING)


ATOMS = st.sampled_from(["a < 3", "b = 'x'", "c IS NULL", "NOT (a = 2)", "a + b > 1", "c IN (1, 2)", "d"])
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.tuples(inner, st.sampled_from([" AND ", " OR "]), inner).map(
        lambda e: f"({e[0]}{e[1]}{e[2]})"
    ),
    max_leaves=8,
)
EVENTS = st.fixed_dictionaries({name: st.sampled_from([None, 1, 2, 3.5, "x", True]) for name in "abcd"})


COVERED = [f"price < {n} AND title = 'book {n}'" for n in range(1, 50)]
OTHERS = ["used AND price < 300", "a = 1 AND b < 3", "a = 1 AND b < 7 AND c = 2", "a = 1 AND b < 5"]


@pytest.mark.parametrize("merging", [False, True])
@pytest.mark.parametrize("budget", [10, 60, 500, 5_000])
def test_what_another_condition_covers_needs_no_bytes(budget: int, merging: bool) -> None:
    found = entries_for("n", sources("price < 50", *COVERED), TYPES, EntryRules(budget, merging=merging))
    assert texts(dict(found.entries)) == {"price < 50"}
    assert (found.sources, found.bytes, found.is_over_budget) == (50, 10, False)


@pytest.mark.parametrize("merging", [False, True])
def test_what_no_other_covers_is_generalised_only_beyond_the_budget(merging: bool) -> None:
    here = sources("price < 50", *COVERED, *OTHERS)
    exact = {"price < 50", *OTHERS} - {"a = 1 AND b < 3"}
    found = entries_for("n", here, TYPES, EntryRules(sum(map(len, exact)), merging=merging))
    assert texts(dict(found.entries)) == exact
    fewer = entries_for("n", here, TYPES, EntryRules(60, merging=merging))
    assert 0 < fewer.bytes <= 60 and "price < 50" in texts(dict(fewer.entries))


@given(st.lists(CONDITIONS, min_size=1, max_size=6), st.booleans())
def test_a_budget_that_exact_entries_keep_to_changes_nothing(conditions: list[str], merging: bool) -> None:
    exact = entries_for("n", sources(*conditions), TYPES)
    assert entries_for("n", sources(*conditions), TYPES, EntryRules(exact.bytes, merging=merging)) == exact


def test_with_a_budget_what_was_covered_comes_back_when_its_coverer_ends() -> None:
    entries, rules = LinkEntries("n"), EntryRules(70)
    kept = ["a = 1 AND b < 5", "used AND price < 300"]
    assert texts(dict(_update(entries, ["price < 50", *COVERED[:1], *kept], rules).entries)) == {
        "price < 50",
        *kept,
    }
    assert texts(dict(_update(entries, [*COVERED[:1], *kept], rules).entries)) == {*COVERED[:1], *kept}


@given(st.lists(CONDITIONS, min_size=1, max_size=6), st.integers(0, 120), EVENTS, st.booleans())
def test_no_budget_keeps_back_an_event_that_somebody_wants(
    conditions: list[str], budget: int, event: dict[str, object], merging: bool
) -> None:
    batch = EventBatch.of([event])

    def is_wanted(texts: Iterable[str]) -> bool:
        return any(reference.evaluate(compile_condition(each), batch) == [True] for each in texts)

    sample = EventBatch.of([event, {"a": 1, "b": "x"}])
    found = entries_for(
        "n", sources(*conditions), TYPES, EntryRules(budget, merging=merging), samples=lambda _: sample
    )
    assert is_wanted(texts(dict(found.entries))) or not is_wanted(conditions)


def test_conditions_that_differ_in_one_value_are_one_with_a_budget() -> None:
    here = sources(*(f"title = 'book {n}' AND price < 9" for n in range(10)), "title = 7 AND price < 9")
    found = entries_for("n", here, TYPES, EntryRules(200))
    values = ", ".join(f"'book {n}'" for n in range(10))
    assert {normalise(each) for each in texts(dict(found.entries))} == {
        normalise(f"title IN ({values}) AND price < 9"),
        normalise("title = 7 AND price < 9"),
    }
    many = sources(*(f"title = 'book {n}' AND price < 9" for n in range(1_000)))
    lists = entries_for("n", many, TYPES, EntryRules(20_000)).entries.values()
    assert 8 < len(lists) < 40 and all(each.condition.count("book") < 200 for each in lists)


def test_what_cannot_be_written_again_stays_as_it_was() -> None:
    unwritten = "exists(tags, t -> t = 'a' AND x = 1) AND y = 2"
    here = sources(unwritten, *(f"title = 'book {n}' AND price < {n}" for n in range(40)))
    found = entries_for("n", here, TYPES, EntryRules(900))
    assert unwritten in texts(dict(found.entries)) and found.bytes <= 900


@pytest.mark.parametrize("measure", ["common", "accuracy", "efficiency", "memory", "occurrence", "distance"])
def test_every_measure_prunes_to_a_budget(measure: str) -> None:
    here = sources(*(f"title = 'book {n % 20}' AND price < {n} AND seller = 's{n}'" for n in range(60)))
    for merging in (False, True):
        found = entries_for("n", here, TYPES, EntryRules(300, measure, merging))
        assert 0 < found.bytes <= 300 and EVERYTHING not in texts(dict(found.entries))


def _update(entries: LinkEntries, conditions: Iterable[str], rules: EntryRules) -> EntrySet:
    return entries.update(frozenset(sources(*conditions)), TYPES, rules, frozenset(), lambda _: None)


def test_exact_entries_follow_each_change_and_what_was_covered_comes_back() -> None:
    entries = LinkEntries("n")
    assert texts(dict(_update(entries, ["a = 1", "a = 1 AND b < 3"], EntryRules()).entries)) == {"a = 1"}
    assert texts(dict(_update(entries, ["a = 1 AND b < 3", "c = 2"], EntryRules()).entries)) == {
        "a = 1 AND b < 3",
        "c = 2",
    }
    assert texts(dict(_update(entries, ["a = 1 AND b < 3", "b < 5"], EntryRules()).entries)) == {"b < 5"}


def test_with_a_budget_entries_are_made_again_in_a_share_of_the_time() -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 1.0  # so it takes a second to make entries, or to look
        return now[0]

    entries, rules = LinkEntries("n", clock), EntryRules(1_000)
    conditions = [f"title = 'book {n}' AND price < 9" for n in range(60)]
    first = _update(entries, conditions, rules)
    assert not first.is_late and first.bytes <= 950
    # What is new is there at once, what is gone stays for a while.
    new = [*conditions[1:], "title = 'new' AND price < 5"]
    second = _update(entries, new, rules)
    assert second.is_late and second.bytes <= 1_000
    assert texts(dict(second.entries)) == {*texts(dict(first.entries)), "title = 'new' AND price < 5"}
    while second.is_late:
        second = _update(entries, new, rules)
    assert not any("book 0'" in each for each in texts(dict(second.entries)))
    assert any("'new'" in each for each in texts(dict(second.entries)))
    assert 10.0 < now[0] < 30.0


def test_too_much_that_is_new_is_generalised_at_once() -> None:
    entries, rules = LinkEntries("n", lambda: 0.0), EntryRules(300)
    conditions = [f"title = 'book {n}' AND price < 9" for n in range(20)]
    assert not _update(entries, conditions, rules).is_over_budget
    found = _update(entries, [*conditions, *(f"title = 'film {n}' AND price < 9" for n in range(20))], rules)
    assert not found.is_late and found.bytes <= 300


def test_entries_are_made_again_when_events_have_drifted_and_send_less_in_vain() -> None:
    """At first `a` tells events apart, later `b` does."""
    now, passing = [0.0], DecayedEvents(500, half_life=500.0)
    chance = random.Random(7)

    def pass_events(first: int, few: str, many: str) -> EventBatch:
        batch = EventBatch.of(
            [{few: chance.randrange(4), many: chance.randrange(400)} for _ in range(3_000)], TYPES["t/event"]
        )
        passing.offer(batch, np.arange(first, first + 3_000))
        frames.append(tuple(passing.frames))
        return batch

    def sent(found: EntrySet, batch: EventBatch) -> int:
        matcher = Matcher(TYPES["t/event"])
        matcher.add_many((key, entry.condition) for key, entry in found.entries.items())
        return len(set(matcher.match_pairs(batch).columns()[0].tolist()))

    frames: list[Sample] = []
    wanted = frozenset(sources(*(f"a = {n % 20} AND b = {n // 20}" for n in range(80))))
    entries, rules = LinkEntries("north", lambda: now[0]), EntryRules(400, merging=False)

    def made() -> EntrySet:
        return entries.update(wanted, TYPES, rules, samples=lambda _: frames[-1])

    pass_events(0, "b", "a")
    before = made()
    now[0] += 1_000
    assert made().entries == before.entries, "nothing has changed"
    later = pass_events(3_000, "a", "b")
    now[0] += 1_000
    after = made()
    assert sent(after, later) < sent(before, later) / 4
    now[0] += 1_000
    assert made().entries == after.entries
