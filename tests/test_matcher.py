"""The matcher: subscriptions in, pairs out, whatever the events come as."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tamis import ConditionError, EventError, EventType, Matcher, OwnerMatch, Subscription, SubscriptionError
from tamis.engines import ENGINES
from tamis.errors import DialectError
from tamis.events import EventBatch
from tamis.limits import Limits

CAMERA = EventType.from_dict(
    {
        "name": "camera",
        "attributes": {"price": "double", "brand": "string", "id": "string", "tags": "array<string>"},
    }
)
EVENTS: list[dict[str, Any]] = [
    {"id": "e1", "price": 199.0, "brand": "Sony"},
    {"id": "e2", "price": 500.0, "brand": "Nikon", "tags": ["new"]},
    {"id": "e3", "price": None, "brand": "Sony"},
    {"id": "e4", "price": 50.0},
]
EXPECTED = [(0, "cheap"), (0, "sony"), (2, "sony"), (3, "cheap")]


def matcher(event_type: Any = CAMERA, **settings: Any) -> Matcher:
    found = Matcher(event_type, **settings)
    found.add("cheap", "price < 300")
    found.add("sony", "brand = 'Sony'")
    return found


def pairs(table: pa.Table) -> list[tuple[Any, Any]]:
    assert table.column_names == ["event_id", "subscription_id"]
    return list(zip(table["event_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))


# --- subscriptions -------------------------------------------------------------------------------------------


def test_a_new_matcher_matches_nothing() -> None:
    empty = Matcher()
    assert (len(empty), list(empty), empty.match({"a": 1})) == (0, [], [])
    assert pairs(empty.match_batch([{"a": 1}, {}])) == []


def test_add_and_look_up() -> None:
    found = matcher()
    found.add("vip", "price < 100", priority=5, owner="ann")
    assert len(found) == 3
    assert "vip" in found
    assert "other" not in found
    assert found.subscription("vip") == Subscription("vip", "price < 100", 5, "ann", 1)
    assert [each.id for each in found] == ["cheap", "sony", "vip"]


def test_an_id_is_taken_once() -> None:
    found = matcher()
    with pytest.raises(SubscriptionError, match="already a subscription 'cheap'"):
        found.add("cheap", "price < 1")
    assert found.subscription("cheap").condition == "price < 300"


WALK = "a = 1 THEN a = 2 WITHIN INTERVAL '1' HOUR BY user"


def test_a_composite_subscription_is_refused_where_it_would_never_match() -> None:
    matcher = Matcher()
    with pytest.raises(SubscriptionError, match="SequenceMatcher"):
        matcher.add("walk", WALK, dialect="composite")
    given = [{"id": "walk", "condition": WALK, "dialect": "composite"}, {"id": "one", "condition": "a = 1"}]
    [refusal] = matcher.add_many(given)
    assert (refusal.id, [each.id for each in matcher]) == ("walk", ["one"])
    with pytest.raises(SubscriptionError, match="SequenceMatcher"):
        matcher.replace("one", WALK, dialect="composite")


def test_many_composite_subscriptions_are_refused() -> None:
    matcher = Matcher()
    refused = matcher.add_many({str(number): WALK for number in range(30_000)}, dialect="composite")
    assert (len(refused), len(matcher)) == (30_000, 0)
    assert isinstance(refused[0].error, SubscriptionError)


def test_a_refused_condition_changes_nothing() -> None:
    found = matcher()
    with pytest.raises(ConditionError):
        found.add("bad", "pirce < 300")
    with pytest.raises(ConditionError):
        found.replace("cheap", "price <")
    assert len(found) == 2
    assert found.subscription("cheap") == Subscription("cheap", "price < 300")
    assert pairs(found.match_batch(EVENTS)) == EXPECTED


def test_replace_is_the_next_revision_and_keeps_the_rest() -> None:
    found = Matcher(CAMERA)
    found.add("s", "price < 300", priority=3, owner="ann")
    found.replace("s", "brand = 'Sony'")
    assert found.subscription("s") == Subscription("s", "brand = 'Sony'", 3, "ann", 2)
    found.replace("s", "price > 400", priority=0, owner="bob")
    assert found.subscription("s") == Subscription("s", "price > 400", 0, "bob", 3)
    assert pairs(found.match_batch(EVENTS)) == [(1, "s")]


def test_remove() -> None:
    found = matcher()
    found.remove("sony")
    assert "sony" not in found
    assert pairs(found.match_batch(EVENTS)) == [(0, "cheap"), (3, "cheap")]
    found.add("sony", "brand = 'Nikon'")
    assert pairs(found.match_batch(EVENTS)) == [(0, "cheap"), (1, "sony"), (3, "cheap")]
    assert found.subscription("sony").revision == 1


@pytest.mark.parametrize("method", ["remove", "subscription"])
def test_an_unknown_id(method: str) -> None:
    with pytest.raises(SubscriptionError, match="there is no subscription 'x'"):
        getattr(matcher(), method)("x")


def test_replacing_an_unknown_id() -> None:
    with pytest.raises(SubscriptionError, match="there is no subscription 'x'"):
        matcher().replace("x", "price < 1")


def test_add_many_gives_back_what_it_refused() -> None:
    found = matcher()
    refused = found.add_many(
        [("a", "price < 10"), ("b", "pirce < 1"), ("cheap", "price < 1"), ("a", "price < 2"), ("c", "price =")]
    )
    assert [each.id for each in refused] == ["b", "cheap", "a", "c"]
    assert [type(each.error) for each in refused] == [
        ConditionError,
        SubscriptionError,
        SubscriptionError,
        ConditionError,
    ]
    assert "did you mean price?" in str(refused[0].error)
    assert [each.id for each in found] == ["cheap", "sony", "a"]
    assert found.subscription("a").condition == "price < 10"


@pytest.mark.parametrize(
    "given",
    [
        [("a", "price < 300"), ("b", "brand = 'Sony'")],
        (pair for pair in [("a", "price < 300"), ("b", "brand = 'Sony'")]),
        [{"id": "a", "condition": "price < 300"}, {"id": "b", "condition": "brand = 'Sony'", "priority": None}],
        [Subscription("a", "price < 300"), Subscription("b", "brand = 'Sony'")],
        pa.table({"id": ["a", "b"], "condition": ["price < 300", "brand = 'Sony'"]}),
        pa.record_batch({"id": ["a", "b"], "condition": ["price < 300", "brand = 'Sony'"]}),
        pd.DataFrame({"id": ["a", "b"], "condition": ["price < 300", "brand = 'Sony'"]}),
    ],
    ids=["pairs", "generator", "mappings", "subscriptions", "table", "record batch", "pandas"],
)
def test_add_many_takes(given: Any) -> None:
    found = Matcher(CAMERA)
    assert found.add_many(given) == []
    assert list(found) == [Subscription("a", "price < 300"), Subscription("b", "brand = 'Sony'")]


def test_add_many_compiles_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts differ in attributes, constants of texts and tests; refusals name the right ones."""
    kinds = ["a < {n}", "b = 'x{n}' OR a = {n}", "c LIKE '%{n}%'", "a <", '{{"d": [{n}]}}']
    rows = [
        {
            "id": f"s{n % 90}",
            "condition": kinds[n // 20].format(n=n),
            "dialect": "eventbridge" if n >= 80 else None,
        }
        for n in range(100)
    ]
    whole, parts = Matcher(), Matcher()
    wanted = whole.add_many(rows)
    assert {each.id for each in wanted} == {f"s{n}" for n in (*range(60, 80), *range(10))}
    monkeypatch.setattr("tamis.matcher._COMPILED_AT_A_TIME", 7)
    found = parts.add_many(rows)
    assert [(each.id, str(each.error)) for each in found] == [(each.id, str(each.error)) for each in wanted]
    assert {each.id: each for each in parts} == {each.id: each for each in whole}
    for event in ({"a": 5}, {"a": 25, "b": "x30"}, {"c": "1 45 59"}, {"d": 85}, {"a": 0, "c": "44", "d": 81}):
        assert sorted(parts.match(event)) == sorted(whole.match(event))
        assert parts.match(event)


def test_add_many_reads_priority_and_owner() -> None:
    found = Matcher(CAMERA)
    table = pa.table({"id": ["a"], "condition": ["price < 300"], "priority": [7], "owner": ["ann"]})
    assert found.add_many(table) == []
    assert found.subscription("a") == Subscription("a", "price < 300", 7, "ann")


def test_add_many_of_nothing_and_of_no_condition() -> None:
    found = Matcher(CAMERA)
    assert found.add_many([]) == []
    (refused,) = found.add_many([{"id": "a", "condition": None}])
    assert "there is no condition" in str(refused.error)
    assert len(found) == 0


def test_limits_are_the_matchers() -> None:
    found = Matcher(limits=Limits(text_characters=10))
    found.add("a", "a < 3")
    with pytest.raises(ConditionError, match="10 characters at most"):
        found.add("b", "a < 3000000")
    assert len(found.add_many([("c", "a < 3000000"), ("d", "a < 4")])) == 1


def test_engines_by_name() -> None:
    with pytest.raises(ValueError, match="there is no engine 'fast'"):
        Matcher(engine="fast")
    for name in ("bitslice", "bitset", "scan"):
        assert pairs(matcher(engine=name).match_batch(EVENTS)) == EXPECTED
    assert Matcher().engine in ENGINES


def test_stats() -> None:
    found = matcher().stats()
    assert (found["event_type"], found["subscriptions"]) == ("camera", 2)
    assert found["engine"] in ENGINES


# --- events --------------------------------------------------------------------------------------------------


def test_one_event_by_priority() -> None:
    found = Matcher()
    for place, priority in enumerate([0, 5, -1, 5, 0]):
        found.add(f"s{place}", "a = 1", priority=priority)
    found.add("never", "a = 2", priority=9)
    assert found.match({"a": 1}) == ["s1", "s3", "s0", "s4", "s2"]
    found.remove("s3")
    found.add("late", "a = 1", priority=5)
    assert set(found.match({"a": 1})[:2]) == {"s1", "late"}


class _Stream:
    """Something of another library that speaks Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class _Array:
    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


TABLE = pa.Table.from_pylist(
    EVENTS,
    pa.schema(
        [("id", pa.string()), ("price", pa.float64()), ("brand", pa.string()), ("tags", pa.list_(pa.string()))]
    ),
)


@pytest.mark.parametrize("event_type", [CAMERA, None], ids=["typed", "schemaless"])
@pytest.mark.parametrize(
    "events",
    [
        lambda: EVENTS,
        lambda: tuple(EVENTS),
        lambda: iter(EVENTS),
        lambda: TABLE,
        lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1, 0), TABLE.slice(1)]),
        lambda: TABLE.combine_chunks().to_batches()[0],
        lambda: TABLE.to_reader(max_chunksize=2),
        TABLE.to_struct_array,
        lambda: _Stream(TABLE),
        lambda: _Array(TABLE.combine_chunks().to_batches()[0]),
        lambda: pd.DataFrame(EVENTS),
        TABLE.to_pandas,
        lambda: pd.DataFrame(EVENTS).convert_dtypes(),
        lambda: pd.DataFrame(EVENTS).set_index(pd.Index([9, 8, 7, 6])),
    ],
    ids=[
        *(
            "list",
            "tuple",
            "iterator",
            "table",
            "chunked table",
            "record batch",
            "reader",
            "structs",
            "stream",
            "array",
        ),
        *("pandas", "pandas of arrow", "pandas nullable", "pandas with an index"),
    ],
)
def test_events_come_as(events: Any, event_type: Any) -> None:
    assert pairs(matcher(event_type).match_batch(events())) == EXPECTED


@pytest.mark.parametrize("events", [EVENTS, TABLE, pd.DataFrame(EVENTS)], ids=["dicts", "table", "pandas"])
def test_events_are_named_by_an_attribute(events: Any) -> None:
    found = matcher().match_batch(events, event_id="id")
    assert pairs(found) == [("e1", "cheap"), ("e1", "sony"), ("e3", "sony"), ("e4", "cheap")]


def test_a_name_that_no_column_has() -> None:
    with pytest.raises(EventError, match="no column 'nothing'"):
        matcher().match_batch(TABLE, event_id="nothing")


@pytest.mark.parametrize("events", [[], TABLE.slice(0, 0), pd.DataFrame({"price": np.empty(0)})])
def test_no_events(events: Any) -> None:
    found = matcher().match_batch(events)
    assert found.num_rows == 0
    assert pairs(found) == []


@pytest.mark.parametrize("events", ["price", b"price", 5, [1], [EVENTS[0], None]])
def test_these_are_no_events(events: Any) -> None:
    with pytest.raises(EventError):
        matcher().match_batch(events)


def test_an_event_of_unknown_attributes_matches_nothing() -> None:
    assert matcher().match({"Price": 1, "colour": "red"}) == []
    assert matcher(None).match({}) == []


# --- threads -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_match_sees_each_subscription_before_or_after_a_change() -> None:
    """Each of the two conditions is true of the event, nothing in between is."""
    found = Matcher()
    for place in range(20):
        found.add(f"s{place}", "a = 1")
    stop = threading.Event()

    def change() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            found.replace(f"s{turn % 20}", "b = 2" if turn % 2 else "a = 1")

    def look() -> list[int]:
        seen = []
        for _ in range(60):
            seen.append(len(found.match({"a": 1, "b": 2})))
            seen.append(found.match_batch([{"a": 1, "b": 2}]).num_rows)
        return seen

    with ThreadPoolExecutor(4) as pool:
        changing = [pool.submit(change) for _ in range(1)]
        looking = [pool.submit(look) for _ in range(3)]
        counts = [count for each in looking for count in each.result()]
        stop.set()
        for each in changing:
            each.result()
    assert set(counts) == {20}


def test_adding_from_many_threads() -> None:
    found = Matcher()

    def add(start: int) -> int:
        taken = 0
        for place in range(start, start + 60):
            try:
                found.add(f"s{place}", f"a = {place}")
            except SubscriptionError:
                taken += 1
        return taken

    with ThreadPoolExecutor(4) as pool:
        taken = sum(pool.map(add, [0, 30, 60, 90]))
    assert (len(found), taken) == (150, 90)
    assert found.match({"a": 149}) == ["s149"]
    for place in range(0, 150, 2):
        found.remove(f"s{place}")
    assert len(found) == 75


@pytest.mark.parametrize(("id", "said"), [(7, "found 7; write '7'"), ("", "found ''"), (None, "found None")])
def test_an_id_that_is_no_text_is_refused(id: Any, said: str) -> None:
    matcher = Matcher()
    with pytest.raises(SubscriptionError, match=said):
        matcher.add(id, "a = 1")
    assert len(matcher) == 0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"condition": None}, "subscription 'n': condition: expected a text, found None"),
        ({"condition": 5}, "subscription 'n': condition: expected a text, found 5"),
        ({"priority": "x"}, "subscription 'n': priority: expected an integer of 64 bits, found 'x'"),
        ({"priority": 1.5}, "found 1.5"),
        ({"priority": 1 << 63}, "found 9223372036854775808"),
        ({"owner": 5}, "subscription 'n': owner: expected a text, found 5"),
    ],
)
def test_a_field_of_another_type_is_refused_by_name(fields: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"condition": "a = 1", **fields}
    matcher = Matcher()
    with pytest.raises(SubscriptionError, match=said):
        matcher.add("n", **given)
    assert len(matcher) == 0
    matcher.add("n", "a = 1")
    with pytest.raises(SubscriptionError, match=said):
        matcher.replace("n", **given)
    assert matcher.subscription("n") == Subscription("n", "a = 1")


def test_whole_numbers_of_many_become_texts_and_what_is_no_id_comes_back() -> None:
    for given in (
        [(7, "a = 1"), ("", "a = 1"), (None, "a = 1"), (1.5, "a = 1")],
        [{"id": id, "condition": "a = 1"} for id in (7, "", None, 1.5)],
        pa.table({"id": ["7", "", None], "condition": ["a = 1"] * 3}),
    ):
        matcher = Matcher()
        refused = matcher.add_many(given)
        assert {each.id for each in refused} == {""}
        assert all("a text that is not empty" in str(each.error) for each in refused)
        assert matcher.match({"a": 1}) == ["7"]


def test_an_unknown_order_of_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no order 'events'; known are event, subscription, and None"):
        Matcher().match_batch([{"a": 1}], sort="events")  # type: ignore[arg-type]


def test_conditions_of_several_dialects_in_one_matcher(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add("sql", "color = 'red'")
    matcher.add("jms", "color LIKE 'r%'", dialect="jms")
    rows = [{"id": "rule", "condition": '{"color": ["red"]}'}, {"id": "bad", "condition": "color = 'red'"}]
    rows.append({"id": "own", "condition": "color <> 'blue'", "dialect": "sql"})
    assert [refusal.id for refusal in matcher.add_many(rows, dialect="eventbridge")] == ["bad"]
    assert sorted(matcher.match({"color": "red"})) == ["jms", "own", "rule", "sql"]
    assert matcher.subscription("rule").dialect == "eventbridge"
    matcher.replace("rule", '{"color": ["blue"]}')
    assert matcher.subscription("rule").dialect == "eventbridge"
    matcher.replace("jms", "color = 'blue'", dialect="sql")
    assert sorted(matcher.match({"color": "blue"})) == ["jms", "rule"]
    matcher.publish(tmp_path)
    opened = Matcher.open(tmp_path)
    assert {each.id: each.dialect for each in opened} == {each.id: each.dialect for each in matcher}
    assert opened.explain("rule", {"color": "blue"}).matched
    with pytest.raises(DialectError):
        matcher.add_many([], dialect="nosuch")


def test_dialects_in_a_table() -> None:
    table = pa.table({"id": ["a", "b"], "condition": ["x = 1", '{"x": [1]}'], "dialect": [None, "eventbridge"]})
    matcher = Matcher()
    assert matcher.add_many(table) == []
    assert sorted(matcher.match({"x": 1})) == ["a", "b"]


# --- by owner ------------------------------------------------------------------------------------------------


def test_an_owner_is_matched_once_with_all_its_subscriptions() -> None:
    matcher = Matcher()
    for number in range(10):
        matcher.add(f"alert-{number}", f"x > {number}", owner="ann", priority=number)
    matcher.add("bob", "x > 3", owner="bob")
    matcher.add("alone", "x > 0")
    matcher.add("apart", "x > 0")
    found = matcher.match({"x": 5}, by="owner")
    assert found == [
        OwnerMatch("ann", ["alert-4", "alert-3", "alert-2", "alert-1", "alert-0"]),
        OwnerMatch(None, ["alone"]),
        OwnerMatch(None, ["apart"]),
        OwnerMatch("bob", ["bob"]),
    ]
    assert matcher.match({"x": -1}, by="owner") == []


def test_a_subscription_that_is_apart_stands_alone_with_its_owner() -> None:
    matcher = Matcher()
    for number in range(3):
        matcher.add(f"s{number}", f"x > {number}", owner="ann")
    ann = ["s0", "s2"]
    found = matcher.match({"x": 5}, by="owner", apart={"s1", "elsewhere"})
    assert found == [OwnerMatch("ann", ann), OwnerMatch("ann", ["s1"])]
    rows = matcher.match_batch([{"x": 5}], by="owner", apart=["s1"]).to_pylist()
    assert [(row["owner"], row["subscription_id"]) for row in rows] == [("ann", ann), ("ann", ["s1"])]
    for apart, by in (("s1", "owner"), (["s1"], None)):
        with pytest.raises(ValueError, match="expected ids of subscriptions, and by='owner'"):
            matcher.match_batch([{"x": 5}], by=by, apart=apart)  # type: ignore[arg-type]


def test_a_batch_by_owner_has_a_row_for_each_event_and_owner() -> None:
    matcher = Matcher()
    matcher.add_many([{"id": f"s{n}", "condition": f"x > {n}", "owner": f"o{n % 2}"} for n in range(4)])
    events = [{"id": "e0", "x": 2}, {"id": "e1", "x": 0}, {"id": "e2", "x": 9}]
    assert matcher.match_batch(events, event_id="id", by="owner").to_pylist() == [
        {"event_id": "e0", "owner": "o0", "subscription_id": ["s0"]},
        {"event_id": "e0", "owner": "o1", "subscription_id": ["s1"]},
        {"event_id": "e2", "owner": "o0", "subscription_id": ["s0", "s2"]},
        {"event_id": "e2", "owner": "o1", "subscription_id": ["s1", "s3"]},
    ]


def test_there_is_no_other_grouping() -> None:
    with pytest.raises(ValueError, match="expected by='owner' or None, found 'label'"):
        Matcher().match({}, by="label")  # type: ignore[call-overload]


def test_events_for_which_a_condition_is_unknown_are_counted() -> None:
    matcher = Matcher()
    matcher.add("error", "INT(hop) < 3 OR TRUE", dialect="cesql")
    matcher.add("fine", "hop IS NULL")
    matcher.add("null", "hop = 'x'")
    assert matcher.count_unknown([{"hop": "x"}, {"hop": "2"}, {}]) == {"error": 2, "null": 1}


def test_errors_are_sampled_in_dialects_that_have_them() -> None:
    matcher = Matcher()
    matcher.add("sql", "hop = 1")
    assert matcher.sample_errors(EventBatch.of([{}], matcher.event_type), 0) == (0, 0)
    matcher.add("cesql", "hop = 1", dialect="cesql")
    matcher.add("cel", "hop == 1", dialect="cel")
    matcher.add_many([(f"later {n}", f"hop < {n}") for n in range(2)], dialect="cesql")
    assert matcher.sample_errors(EventBatch.of([{"hop": 1}, {}], matcher.event_type), 0) == (8, 4)
    assert matcher.sample_errors(EventBatch.of([], matcher.event_type), 0) == (0, 0)
    matcher.add_many([(f"many {n}", f"hop < {n}") for n in range(100)], dialect="cesql")
    batch = EventBatch.of([{}] * 50, matcher.event_type)
    assert matcher.sample_errors(batch, 5) == (32 * 8, 32 * 8)


def test_a_condition_beyond_the_limits_of_a_reader_is_not_sampled(tmp_path: Path) -> None:
    writer = Matcher()
    writer.add("long", "hop = 1 OR hop = 2", dialect="cesql")
    writer.add("short", "hop = 1", dialect="cesql")
    writer.publish(tmp_path)
    reader = Matcher.open(tmp_path, limits=Limits(text_characters=10))
    assert reader.sample_errors(EventBatch.of([{}], reader.event_type), 0) == (1, 1)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("array_contains(array_append(tags, 'x'), 'x')", True),
        ("size(array_distinct(tags)) = 3", True),
        ("size(array_union(tags, more)) = 4", True),
        ("size(array_intersect(tags, more)) = 1", True),
        ("size(array_except(tags, more)) = 2", True),
        ("size(array_remove(tags, 'a')) = 2", True),
        ("size(array_compact(tags)) = 4", True),
        ("slice(tags, 1, 1)[0] = 'a'", True),
        ("array_join(names, '-') = 'a-b'", True),
        ("size(flatten(nested)) = 3", True),
        ("size(array_prepend(tags, 5)) = 4", False),
    ],
)
def test_array_functions_of_schemaless_events(condition: str, holds: bool) -> None:
    matcher = Matcher()
    matcher.add("s", condition)
    event = {"tags": ["a", 1, "a", True], "more": [1, None], "names": ["a", "b"], "nested": [[1], [2, "x"]]}
    assert matcher.match(event) == (["s"] if holds else [])


@pytest.mark.parametrize("condition", ["size(sort_array(tags)) = 1", "size(array_sort(tags)) = 1"])
def test_values_of_several_kinds_have_no_order(condition: str) -> None:
    with pytest.raises(ConditionError, match="expected an array"):
        Matcher().add("s", condition)
