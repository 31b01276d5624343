"""What a site sends its neighbour: implied by what lives behind it, in the bytes that are allowed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import reference
from tamis.events import EventBatch, EventType
from tamis.language.condition import compile_condition
from tamis.service.names import link_owner
from tamis.service.peers.entries import EVERYTHING, Entry, Source, digest_of, entries_for, prune, read_sources
from tamis.store import Store
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text

TYPES = {"t/event": EventType("t/event")}


def sources(*conditions: str, link: str | None = None) -> list[Source]:
    return [Source(link, "t/event", each, "sql") for each in conditions]


def texts(found: dict[str, Entry]) -> set[str]:
    return {each.condition for each in found.values()}


def test_equal_conditions_are_one_entry_and_what_came_over_a_link_does_not_go_back() -> None:
    here = [*sources("a = 1", "a = 1", "b = 2"), *sources("c = 3", link="north"), *sources("d = 4", link="south")]
    found = entries_for("north", here, TYPES, 0)
    assert texts(dict(found.entries)) == {"a = 1", "b = 2", "d = 4"}
    assert (found.bytes, found.is_over_budget) == (15, False)
    assert texts(dict(entries_for("south", here, TYPES, 0).entries)) == {"a = 1", "b = 2", "c = 3"}


def test_a_condition_with_more_operands_is_covered_by_one_with_fewer() -> None:
    here = sources(
        "a = 1 AND b < 2 AND c", "b < 2 AND a = 1", "b < 2 AND d", "a = 1 OR d", "(a = 1 OR d) AND e = 3"
    )
    found = entries_for("n", here, TYPES, 0)
    assert texts(dict(found.entries)) == {"b < 2 AND a = 1", "b < 2 AND d", "a = 1 OR d"}
    assert found.sources == 5


def test_keys_are_those_of_content_and_a_digest_of_the_set() -> None:
    one, other = Entry("t/event", "a = 1"), Entry("t/other", "a = 1")
    assert one.key == Entry("t/event", "a = 1").key != other.key
    assert digest_of([one.key, other.key]) == digest_of([other.key, one.key]) != digest_of([one.key])


def test_other_dialects_become_sql() -> None:
    found = entries_for("n", [Source(None, "t/event", "price IS NOT NULL", "jms")], TYPES, 0)
    [entry] = found.entries.values()
    compile_condition(entry.condition)


@pytest.mark.slow
def test_a_budget_counts_bytes_of_distinct_texts_and_keeps_to_them() -> None:
    here = sources(*(f"title = 'book {n % 20}' AND price < {n} AND seller = 's{n}'" for n in range(400)))
    exact = entries_for("n", here, TYPES, 0)
    found = entries_for("n", here, TYPES, exact.bytes // 10)
    assert found.bytes == sum(len(each.condition) for each in found.entries.values()) <= exact.bytes // 10
    assert not found.is_over_budget
    assert found.sources == 400
    assert EVERYTHING not in texts(dict(found.entries))


def test_a_budget_that_cannot_be_kept_is_reported() -> None:
    found = entries_for("n", sources(*(f"title = 'a long title, number {n}'" for n in range(50))), TYPES, 10)
    assert found.is_over_budget and found.bytes > 10


def test_a_type_that_the_neighbour_cannot_read_is_widened_to_all_of_its_events() -> None:
    here = [*sources("a = 1", "b = 2"), Source(None, "t/other", "c = 3", "sql")]
    found = entries_for("n", here, {**TYPES, "t/other": EventType("t/other")}, 0, {"t/event"})
    assert {*found.entries.values()} == {Entry("t/event", EVERYTHING), Entry("t/other", "c = 3")}
    compile_condition(EVERYTHING)


@pytest.mark.parametrize(
    ("condition", "kept", "expected"),
    [
        ("a = 1 AND b = 2", "a", "a = 1"),
        ("a = 1 OR b = 2", "a", "TRUE"),
        ("a = 1 AND (b = 2 OR c = 3)", "ab", "a = 1"),
        ("NOT (a = 1 AND b = 2) AND c = 3", "c", "c = 3"),
        ("a = 1 AND 1 < 2", "b", "1 < 2"),
        ("a < b AND c = 1", "b", "a < b"),
    ],
)
def test_operands_without_a_kept_attribute_are_pruned(condition: str, kept: str, expected: str) -> None:
    assert to_text(prune(parse(condition), frozenset(kept))) == expected


ATOMS = st.sampled_from(["a < 3", "b = 'x'", "c IS NULL", "NOT (a = 2)", "a + b > 1", "c IN (1, 2)", "d"])
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.tuples(inner, st.sampled_from([" AND ", " OR "]), inner).map(
        lambda e: f"({e[0]}{e[1]}{e[2]})"
    ),
    max_leaves=8,
)
EVENTS = st.fixed_dictionaries({name: st.sampled_from([None, 1, 2, 3.5, "x", True]) for name in "abcd"})


@given(CONDITIONS, st.frozensets(st.sampled_from("abcd")), EVENTS)
def test_what_satisfies_a_condition_satisfies_its_pruned_form(
    condition: str, kept: frozenset[str], event: dict[str, object]
) -> None:
    pruned = to_text(prune(parse(condition), kept))
    batch = EventBatch.of([event])
    [exact] = reference.evaluate(compile_condition(condition), batch)
    [wide] = reference.evaluate(compile_condition(pruned), batch)
    assert wide or not exact


def test_only_what_is_matched_or_will_be_is_behind_a_site(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db") as store:
        store.set_event_type(TYPES["t/event"])
        for id, owner in (("t/a", "t"), ("t/p", "t"), (f"{link_owner('north')}/k", link_owner("north"))):
            store.add(id, f"x = '{id}'", event_type="t/event", owner=owner)
        store.pause("t/p")
        store.add("t/b", "x = 't/a'", event_type="t/event", owner="t")
        version, found = read_sources(store)
    assert version == 6
    assert {(each.link, each.condition) for each in found} == {
        (None, "x = 't/a'"),
        ("north", "x = '~link/north/k'"),
    }


@given(st.lists(CONDITIONS, min_size=1, max_size=6), st.integers(0, 120), EVENTS)
def test_no_budget_keeps_back_an_event_that_somebody_wants(
    conditions: list[str], budget: int, event: dict[str, object]
) -> None:
    batch = EventBatch.of([event])

    def is_wanted(texts: Iterable[str]) -> bool:
        return any(reference.evaluate(compile_condition(each), batch) == [True] for each in texts)

    sample = EventBatch.of([event, {"a": 1, "b": "x"}])
    found = entries_for("n", sources(*conditions), TYPES, budget, samples=lambda _: sample)
    assert is_wanted(texts(dict(found.entries))) or not is_wanted(conditions)


def test_conditions_that_differ_in_one_value_are_one_with_a_budget() -> None:
    here = sources(*(f"title = 'book {n}' AND price < 9" for n in range(10)), "title = 7 AND price < 9")
    found = entries_for("n", here, TYPES, 200)
    values = ", ".join(f"'book {n}'" for n in range(10))
    assert texts(dict(found.entries)) == {f"title IN ({values}) AND price < 9", "title = 7 AND price < 9"}
    many = sources(*(f"title = 'book {n}' AND price < 9" for n in range(1_000)))
    lists = entries_for("n", many, TYPES, 20_000).entries.values()
    assert 8 < len(lists) < 40 and all(each.condition.count("book") < 200 for each in lists)
