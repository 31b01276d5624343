"""The store: what it keeps, in which versions, and what it refuses."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from tamis.errors import ConditionError, SubscriptionError
from tamis.events.event_type import EventType
from tamis.limits import Limits
from tamis.store import Store, StoreError

HOUR = timedelta(hours=1)
OFFER = EventType.from_dict({"name": "offer", "attributes": {"price": "decimal(8,2)", "brand": "string"}})


def now() -> datetime:
    return datetime.now(UTC)


def kinds(store: Store, id: str) -> list[tuple[int, str, int]]:
    return [(change.store_version, change.kind, change.revision) for change in store.history(id)]


# --- adding and reading ------------------------------------------------------------------------------------


def test_an_empty_store_is_version_0(store: Store) -> None:
    assert store.version() == 0
    assert len(store) == 0
    assert store.list() == []
    assert store.event_types() == {}
    assert store.changes(0).num_rows == 0


def test_what_is_added_comes_back(store: Store) -> None:
    start, before = now() + HOUR, now()
    store.set_event_type(OFFER)
    version = store.add(
        "cheap",
        "price < 300",
        event_type="offer",
        owner="ines",
        label="Cheap ones",
        priority=-(1 << 62),
        valid_from=start,
        expires=start + HOUR,
    )
    assert version == store.version() == 2
    found = store.get("cheap")
    assert (found.id, found.revision, found.condition, found.event_type) == ("cheap", 1, "price < 300", "offer")
    assert (found.owner, found.label, found.priority) == ("ines", "Cheap ones", -(1 << 62))
    assert (found.valid_from, found.expires, found.state) == (start, start + HOUR, "waiting")
    assert before <= found.created == found.changed <= now()
    assert store.list() == [found]
    assert "cheap" in store
    assert "other" not in store


def test_a_store_opened_again_is_the_same(url: str) -> None:
    with Store.open(url) as first:
        first.set_event_type(OFFER)
        first.add("Ünïcode 🎈\n'\"\\", "brand = 'Ä'", event_type="offer")
        before = (first.identity, first.version(), first.list(), first.event_types())
    with Store.open(url, create=False) as second:
        assert (second.identity, second.version(), second.list(), second.event_types()) == before
        assert second.event_types() == {"offer": OFFER}


def test_the_schemaless_type_is_declared_when_it_is_used(store: Store) -> None:
    store.add("a", "x = 1")
    assert store.event_types() == {"event": EventType()}
    assert store.changes(0).column("kind").to_pylist() == ["type", "add"]
    assert store.version() == 1


def test_an_id_that_is_taken_is_refused(store: Store) -> None:
    store.add("a", "x = 1")
    with pytest.raises(SubscriptionError, match="already a subscription 'a'"):
        store.add("a", "x = 2")
    assert store.version() == 1


def test_a_wrong_condition_is_refused_with_its_place(store: Store) -> None:
    store.set_event_type(OFFER)
    with pytest.raises(ConditionError, match="no attribute 'prise'"):
        store.add("a", "prise < 3", event_type="offer")
    assert store.version() == 1
    assert len(store) == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": ""}, "id: expected a text"),
        ({"id": "x" * 513}, "at most 512 characters, found 513"),
        ({"id": "a\0b"}, "U\\+0000, found at offset 1"),
        ({"condition": "x = 'a\0b'"}, "condition: .*U\\+0000"),
        ({"condition": None}, "condition: expected a text, found None"),
        ({"owner": "\ud800"}, "owner: not a text in UTF-8"),
        ({"label": 3}, "label: expected a text, found 3"),
        ({"priority": 1 << 63}, "priority: expected an integer of 64 bits"),
        ({"priority": True}, "priority: expected an integer"),
        ({"event_type": "none"}, "there is no event type 'none'; declared are event"),
        ({"expires": datetime(2020, 1, 1)}, "expires: expected a time after now, found 2020-01-01"),
        ({"expires": "soon"}, "expires: expected a time, such as 2026-07-01T12:00:00Z, found 'soon'"),
        ({"valid_from": 7}, "valid_from: expected a time, found 7"),
        ({"valid_from": "3000-01-02", "expires": "3000-01-01"}, "expected a time after valid_from, 3000-01-02"),
    ],
)
def test_fields_that_are_not_what_they_should_be_are_refused(
    store: Store, fields: dict[str, object], message: str
) -> None:
    record = {"id": "a", "condition": "x = 1", **fields}
    with pytest.raises(SubscriptionError, match=message):
        store.add(**record)  # type: ignore[arg-type]
    assert store.version() == 0


def test_times_without_a_zone_are_utc(store: Store) -> None:
    store.add("a", "x = 1", expires=datetime(3000, 1, 1, 12))
    assert store.get("a").expires == datetime(3000, 1, 1, 12, tzinfo=UTC)


def test_lists_are_filtered_and_paged_by_id(store: Store) -> None:
    rows = [
        {"id": id, "condition": "x = 1", "owner": owner, "label": label}
        for id, owner, label in [
            ("b", "p", "l"),
            ("B", "q", "l"),
            ("ba", "p", None),
            ("a_1", "q", None),
            ("ä", "p", None),
        ]
    ]
    store.add_many(rows)
    assert [each.id for each in store.list()] == ["B", "a_1", "b", "ba", "ä"]
    assert [each.id for each in store.list(limit=2)] == ["B", "a_1"]
    assert [each.id for each in store.list(after="a_1", limit=2)] == ["b", "ba"]
    assert [each.id for each in store.list(prefix="b")] == ["b", "ba"]
    assert [each.id for each in store.list(prefix="a%")] == []
    assert [each.id for each in store.list(owner="p")] == ["b", "ba", "ä"]
    assert [each.id for each in store.list(label="l", owner="q")] == ["B"]
    assert [each.id for each in store.list(event_type="other")] == []


@pytest.mark.parametrize("odd", ["a\0b", "\ud800"])
def test_texts_that_no_store_has_are_not_found(store: Store, odd: str) -> None:
    assert odd not in store
    assert store.history(odd) == []
    assert store.list(owner=odd) == store.list(prefix=odd) == store.list(after=odd) == []
    assert store.remove_many([odd]) == [odd]
    with pytest.raises(SubscriptionError, match="there is no subscription"):
        store.get(odd)


# --- event types that nobody named -------------------------------------------------------------------------

VISIT = EventType.of({"name": "visit", "attributes": {"page": "string"}})


def test_the_only_declared_event_type_is_the_default(store: Store) -> None:
    store.add("before", "anything = 1")
    store.set_event_type(OFFER)
    store.add("typed", "price < 3")
    with pytest.raises(ConditionError, match="prcie"):
        store.add("typo", "prcie < 3")
    store.add("loose", "prcie < 3", event_type="event")
    store.set_event_type(VISIT)
    store.add("ambiguous", "prcie < 3")
    assert {each.id: each.event_type for each in store.list()} == {
        "before": "event",
        "typed": "offer",
        "loose": "event",
        "ambiguous": "event",
    }


def test_an_import_says_into_which_types_it_went(store: Store) -> None:
    store.set_event_type(OFFER)
    rows = [
        {"id": "a", "condition": "price < 3"},
        {"id": "b", "condition": "price < 4", "event_type": None},
        {"id": "c", "condition": "any = 4", "event_type": "event"},
        {"id": "d", "condition": "prcie = 4"},
        {"id": "e", "condition": "price = 4", "event_type": "nothing"},
    ]
    assert store.add_many(rows).by_type == {"event": 1, "offer": 2}
    again = store.add_many(rows)  # taken ids are refused
    assert again.by_type == {}
    assert len(again.refusals) == 5


def test_a_replacement_without_a_type_keeps_it(store: Store) -> None:
    store.set_event_type(OFFER)
    store.set_event_type(VISIT)
    store.add("a", "price < 3", event_type="offer")
    result = store.add_many([{"id": "a", "condition": "price < 4"}], replace=True)
    assert (result.replaced, result.by_type) == (1, {"offer": 1})
    assert store.get("a").event_type == "offer"


def test_an_event_type_without_living_subscriptions_can_be_dropped(store: Store) -> None:
    store.set_event_type(OFFER)
    store.add("x", "vlaue > 1", event_type="event")
    with pytest.raises(SubscriptionError, match="event type 'event' has 1 living subscription; remove") as refused:
        store.drop_event_type("event")
    assert (refused.value.kind, refused.value.event_type) == ("event type in use", "event")
    with pytest.raises(SubscriptionError) as caught:
        store.drop_event_type("evnet")
    assert (caught.value.kind, caught.value.known) == ("unknown event type", ("event", "offer"))
    store.remove("x")
    version = store.version()
    assert store.drop_event_type("event") == version + 1
    assert [*store.event_types()] == ["offer"]
    assert store.changes(version)["kind"].to_pylist() == ["drop"]
    store.add("y", "any = 1", event_type="event")  # it needs no declaration
    assert store.get("y").event_type == "event"


def test_a_change_says_who_made_it(store: Store) -> None:
    ines = store.acting_as("ines")
    ines.set_event_type(OFFER)
    ines.add("a", "price < 300", event_type="offer")
    store.replace("a", "price < 200")
    ines.acting_as("yuto").with_limits(Limits(depth=9)).pause("a")
    ines.set_event_type(replace(OFFER, attributes=()))
    store.acting_as(None).remove("a")
    found = [(change.kind, change.actor) for change in store.history("a")]
    assert found == [("add", "ines"), ("replace", None), ("pause", "yuto"), ("refuse", "ines"), ("remove", None)]
    assert store.changes(0)["actor"].to_pylist() == ["ines", "ines", None, "yuto", "ines", "ines", None]


# --- revisions ---------------------------------------------------------------------------------------------


def test_only_another_condition_or_event_type_makes_a_revision(store: Store) -> None:
    store.set_event_type(OFFER)
    store.add("a", "price < 300", event_type="event")
    assert store.replace("a", "price < 200") == 3
    assert store.replace("a", owner="ines", priority=4) == 4
    assert store.replace("a", event_type="offer") == 5
    assert store.renew("a", now() + HOUR) == 6
    assert kinds(store, "a") == [
        (2, "add", 1),
        (3, "replace", 2),
        (4, "edit", 2),
        (5, "replace", 3),
        (6, "renew", 3),
    ]
    found = store.get("a")
    assert (found.condition, found.event_type, found.owner, found.priority) == ("price < 200", "offer", "ines", 4)


def test_a_replacement_that_changes_nothing_makes_no_version(store: Store) -> None:
    store.add("a", "x = 1", owner="ines")
    assert store.replace("a", "x = 1", owner="ines") == 1
    assert store.renew("a", None) == 1
    assert len(store.history("a")) == 1


def test_an_id_that_comes_back_goes_on_with_its_revisions(store: Store) -> None:
    store.add("a", "x = 1")
    store.replace("a", "x = 2")
    store.remove("a")
    assert "a" not in store
    with pytest.raises(SubscriptionError, match="there is no subscription 'a'; it was removed at 20"):
        store.get("a")
    store.trim(store.version() + 1)
    store.add("a", "x = 1")
    assert store.get("a").revision == 3


def held_ids(store: Store) -> list[str]:
    """The ids of which the table of subscriptions has a row."""
    with store._database.reading() as connection:
        return sorted(connection.exec_driver_sql("SELECT id FROM tamis_subscriptions").scalars())


def test_subscriptions_that_ended_are_forgotten_with_their_changes(store: Store) -> None:
    store.add("stays", "x = 1")
    store.add("goes", "x = 1", owner="ines", label="Mine")
    store.add("ends", "x = 1", expires=now() + HOUR)
    store.add("returns", "x = 1")
    store.remove("returns")
    store.add("returns", "x = 2")
    store.remove("goes")
    store.expire(now() + 2 * HOUR)
    store.add("lately", "x = 1")
    store.remove("lately")
    assert len(held_ids(store)) == 5
    store.trim(store.version())
    assert held_ids(store) == ["lately", "returns", "stays"]
    store.trim(store.version() + 1)
    assert held_ids(store) == ["returns", "stays"]
    with pytest.raises(SubscriptionError, match=r"there is no subscription 'goes'$"):
        store.get("goes")


def test_a_store_does_not_grow_with_ids_that_come_and_go(store: Store) -> None:
    for number in range(20):
        store.add_many([{"id": f"{number}-{each}", "condition": "x = 1"} for each in range(50)])
        store.remove_many(f"{number}-{each}" for each in range(50))
        store.trim_older(datetime.now(UTC) + HOUR)
    assert held_ids(store) == []


def test_ids_begin_above_the_revisions_that_were_forgotten(store: Store) -> None:
    store.add("a", "x = 1")
    store.replace("a", "x = 2")
    store.add("b", "x = 1")
    store.remove_many(["a", "b"])
    store.trim(store.version() + 1)
    for id in ("b", "a", "new"):
        store.add(id, "x = 3")
        assert store.get(id).revision == 3


@pytest.mark.parametrize("seed", range(5))
def test_a_revision_of_an_id_never_stands_for_two_conditions(store: Store, seed: int) -> None:
    chance = random.Random(seed)
    conditions: dict[tuple[str, int], str] = {}
    for number in range(60):
        id, condition = chance.choice("abcd"), f"x = {number}"
        action = chance.choice(["put", "put", "remove", "trim", "end"])
        if action == "put":
            store.add_many([{"id": id, "condition": condition}], replace=True)
            assert conditions.setdefault((id, store.get(id).revision), condition) == condition
        elif action == "remove":
            store.remove_many([id])
        elif action == "end" and id in store:
            store.renew(id, now() + HOUR)
            store.expire(now() + 2 * HOUR)
        elif action == "trim":
            store.trim(chance.randrange(store.version() + 2))
    assert len(conditions) > 10


@pytest.mark.parametrize("act", ["replace", "renew", "remove", "get"])
def test_an_unknown_id_is_refused(store: Store, act: str) -> None:
    with pytest.raises(SubscriptionError, match="there is no subscription 'nobody'"):
        getattr(store, act)("nobody", *([None] if act == "renew" else []))
    assert store.version() == 0


def test_a_replacement_is_checked_like_an_addition(store: Store) -> None:
    store.add("a", "x = 1")
    with pytest.raises(ConditionError):
        store.replace("a", "x =")
    with pytest.raises(SubscriptionError, match="no event type 'b'"):
        store.replace("a", event_type="b")
    with pytest.raises(SubscriptionError, match="there is no field 'prio'"):
        store.replace("a", prio=1)
    with pytest.raises(SubscriptionError, match="expires: expected a time after now"):
        store.renew("a", now() - HOUR)
    assert store.version() == 1


def test_the_event_type_may_be_called_type_with_a_warning(store: Store) -> None:
    store.set_event_type(OFFER)
    store.set_event_type(replace(OFFER, name="order"))
    with pytest.warns(UserWarning, match="'type' is called 'event_type' now; rename it") as caught:
        imported = store.add_many([{"id": "a", "condition": "price < 3", "type": "offer"}])
    assert caught[0].filename == __file__
    assert (imported.refusals, store.get("a").event_type) == ([], "offer")


# --- many at once ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [5, 500])
def test_many_are_one_version_and_what_is_refused_comes_back(store: Store, rows: int) -> None:
    table = pa.table(
        {
            "id": [f"s{n}" for n in range(rows)],
            "condition": ["x <" if n == 1 else f"x < {n}" for n in range(rows)],
            "priority": pa.array([None if n == 2 else n for n in range(rows)]),
        }
    )
    imported = store.add_many(table)
    assert (imported.store_version, imported.added, store.version()) == (1, rows - 1, 1)
    assert [(refusal.id, type(refusal.error)) for refusal in imported.refusals] == [("s1", ConditionError)]
    assert len(store) == rows - 1
    assert [store.get(id).priority for id in ("s0", "s2", "s3")] == [0, 0, 3]
    log = store.changes(0)
    assert log.column("ordinal").to_pylist() == list(range(rows))  # the event type is the first


def test_ids_that_are_there_are_refused_or_replaced(store: Store) -> None:
    store.add_many([{"id": id, "condition": "x = 1", "owner": "ines"} for id in "abc"])
    rows = [
        {"id": "a", "condition": "x = 2"},
        {"id": "b", "condition": "x = 1"},
        {"id": "d", "condition": "x = 1"},
        {"id": "d", "condition": "x = 3"},
        {"id": "c", "condition": "x ="},
    ]
    imported = store.add_many(rows)
    assert (imported.added, [refusal.id for refusal in imported.refusals]) == (1, ["a", "b", "d", "c"])
    assert "given twice" in str(imported.refusals[2].error)
    imported = store.add_many(rows[:3], replace=True)
    assert (imported.added, imported.replaced, imported.edited, imported.unchanged) == (0, 1, 0, 2)
    assert [(each.id, each.revision, each.owner) for each in store.list()] == [
        ("a", 2, "ines"),
        ("b", 1, "ines"),
        ("c", 1, "ines"),
        ("d", 1, None),
    ]
    imported = store.add_many([{"id": "a", "condition": "x = 2", "owner": None}], replace=True)
    assert (imported.edited, store.get("a").owner, store.get("a").revision) == (1, None, 2)


def test_nothing_to_import_is_no_version(store: Store) -> None:
    assert store.add_many([]).store_version == 0
    assert store.add_many([{"id": "a", "condition": "x <"}]).store_version == 0
    assert store.remove_many([]) == []
    assert store.version() == 0


def test_a_field_that_nobody_knows_is_an_error(store: Store) -> None:
    with pytest.raises(SubscriptionError, match="there is no field 'exipres'; did you mean 'expires'"):
        store.add_many(pa.table({"id": ["a"], "condition": ["x = 1"], "exipres": [1]}))
    with pytest.raises(SubscriptionError, match="the field 'condition' is missing"):
        store.add_many([{"id": "a"}])


@pytest.mark.parametrize("rows", [3, 300])
def test_many_are_removed_in_one_version(store: Store, rows: int) -> None:
    ids = [f"s{n}" for n in range(rows)]
    store.add_many([{"id": id, "condition": "x = 1"} for id in ids])
    assert store.remove_many([*ids[1:], "nobody", ids[1]]) == ["nobody"]
    assert [each.id for each in store.list()] == ["s0"]
    assert store.version() == 2
    assert store.changes(1).column("kind").to_pylist() == ["remove"] * (rows - 1)


# --- time --------------------------------------------------------------------------------------------------


def test_expiry_is_a_change_with_a_version(store: Store) -> None:
    time = now()
    store.add("a", "x = 1", expires=time + HOUR)
    store.add("b", "x = 1", expires=time + 3 * HOUR)
    store.add("c", "x = 1")
    assert store.expire() == 3
    assert store.expire(time + 2 * HOUR) == 4
    assert store.expire(time + 2 * HOUR) == 4
    assert [each.id for each in store.list()] == ["b", "c"]
    change = store.history("a")[-1]
    assert (change.kind, change.store_version, change.state, change.expires) == (
        "expire",
        4,
        "expired",
        time + HOUR,
    )
    assert change.condition == "x = 1"
    with pytest.raises(SubscriptionError, match="no subscription 'a'; it expired at"):
        store.renew("a", None)
    store.add("a", "x = 1")
    assert store.get("a").revision == 2


def test_who_is_renewed_does_not_expire(store: Store) -> None:
    time = now()
    store.add("a", "x = 1", expires=time + HOUR)
    store.renew("a", time + 3 * HOUR)
    assert store.expire(time + 2 * HOUR) == 2
    store.renew("a", None)
    assert store.expire(time + 5 * HOUR) == 3
    assert store.get("a").expires is None


def test_a_start_is_a_change_with_a_version(store: Store) -> None:
    time = now()
    store.add("a", "x = 1", valid_from=time + HOUR, expires=time + 3 * HOUR)
    assert store.get("a").state == "waiting"
    assert store.expire(time + 2 * HOUR) == 2
    assert store.get("a").state == "active"
    assert store.expire(time + 4 * HOUR) == 3
    assert [kind for _, kind, _ in kinds(store, "a")] == ["add", "start", "expire"]


def test_who_waits_too_long_expires_without_a_start(store: Store) -> None:
    time = now()
    store.add("a", "x = 1", valid_from=time + HOUR, expires=time + 2 * HOUR)
    store.expire(time + 3 * HOUR)
    assert [kind for _, kind, _ in kinds(store, "a")] == ["add", "expire"]


# --- event types -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("others", [0, 200])
def test_another_type_refuses_and_takes_back(store: Store, others: int) -> None:
    store.set_event_type(OFFER)
    store.add("brand", "brand = 'Sony'", event_type="offer")
    store.add("price", "price < 3", event_type="offer")
    store.add_many([{"id": f"o{n}", "condition": f"price < {n}", "event_type": "offer"} for n in range(others)])
    narrow = EventType.from_dict({"name": "offer", "attributes": {"price": "decimal(8,2)"}})
    refusals = store.set_event_type(narrow)
    assert [refusal.id for refusal in refusals] == ["brand"]
    assert isinstance(refusals[0].error, ConditionError)
    assert "no attribute 'brand'" in str(store.get("brand").refusal)
    assert store.get("price").refusal is None
    assert store.set_event_type(narrow) == []
    assert store.set_event_type(OFFER) == []
    assert store.get("brand").refusal is None
    assert [(kind, revision) for _, kind, revision in kinds(store, "brand")] == [
        ("add", 1),
        ("refuse", 1),
        ("accept", 1),
    ]


def test_who_is_refused_can_be_replaced(store: Store) -> None:
    store.set_event_type(OFFER)
    store.add("a", "brand = 'Sony'", event_type="offer")
    store.set_event_type(EventType.from_dict({"name": "offer", "attributes": {"maker": "string"}}))
    store.replace("a", owner="ines")
    assert store.get("a").refusal is not None
    store.replace("a", "maker = 'Sony'")
    assert store.get("a").refusal is None


def test_the_default_type_may_have_attributes(store: Store) -> None:
    store.set_event_type(EventType.from_dict({"attributes": {"x": "int"}}))
    with pytest.raises(ConditionError, match="no attribute 'y'"):
        store.add("a", "y = 1")
    store.add("a", "x = 1", event_type="")
    assert store.get("a").event_type == "event"


# --- the change log ----------------------------------------------------------------------------------------


def test_the_log_says_everything_in_order(store: Store) -> None:
    store.add("a", "x = 1")
    store.add("b", "x = 2", owner="ines")
    store.remove("a")
    log = store.changes(0)
    assert list(
        zip(*(log.column(name).to_pylist() for name in ("store_version", "kind", "id", "state")), strict=True)
    ) == [
        (1, "type", None, None),
        (1, "add", "a", "active"),
        (2, "add", "b", "active"),
        (3, "remove", "a", "removed"),
    ]
    assert log.column("condition").to_pylist()[1:] == ["x = 1", "x = 2", "x = 1"]
    assert store.changes(1, 2).column("id").to_pylist() == ["b"]
    times = log.column("at").to_pylist()
    assert times == sorted(times)


def test_a_cut_log_says_so(store: Store) -> None:
    for number in range(4):
        store.add(str(number), "x = 1")
    assert store.trim(3) == 3
    assert store.trim(2) == 0
    assert (store.trimmed(), store.version()) == (2, 4)
    with pytest.raises(StoreError, match="the changes up to store version 2 have been cut"):
        store.changes(1)
    assert store.changes(2).column("id").to_pylist() == ["2", "3"]
    assert store.history("0") == []
    assert len(store) == 4


def test_a_log_is_cut_by_time(store: Store) -> None:
    store.add("old", "x = 1")
    [*_, last] = store.changes(0).column("at").to_pylist()
    store.add("new", "x = 1")
    assert store.trim_older(last) == 0
    later = last + timedelta(microseconds=1)
    assert store.trim_older(later) == 2, "the event type and the older subscription"
    assert store.changes(store.trimmed()).column("id").to_pylist() == ["new"]
    assert store.trim_older(datetime.now(UTC) + timedelta(days=1)) == 1
    assert store.trimmed() == store.version() == 2
    assert len(store) == 2


# --- opening -----------------------------------------------------------------------------------------------


def test_changes_before_a_moment_are_cut(store: Store) -> None:
    store.add("a", "true")
    [first] = store.history("a")
    store.replace("a", "x > 1")
    assert store.trim_older(first.at) == 0
    assert store.trim_older(first.at + timedelta(microseconds=1)) >= 1
    assert store.trimmed() == first.store_version
    assert store.trim_older(datetime(2999, 1, 1, tzinfo=UTC)) >= 0
    assert (store.history("a"), len(store)) == ([], 1)


# --- dialects ----------------------------------------------------------------------------------------------


PATTERN = '{"detail": {"state": ["stopped"]}}'


def test_a_condition_has_its_dialect_in_every_version(store: Store) -> None:
    store.add("s", PATTERN, dialect="eventbridge")
    assert store.get("s").dialect == "eventbridge"
    store.replace("s", '{"detail": {"state": ["running"]}}')
    store.replace("s", "color = 'red'", dialect="jms")
    store.replace("s", dialect="sql")
    found = [(change.kind, change.revision, change.dialect) for change in store.history("s")]
    assert found == [
        ("add", 1, "eventbridge"),
        ("replace", 2, "eventbridge"),
        ("replace", 3, "jms"),
        ("replace", 4, "sql"),
    ]
    assert store.changes(0)["dialect"].to_pylist() == ["sql", "eventbridge", "eventbridge", "jms", "sql"]


def test_what_a_dialect_refuses_is_refused(store: Store) -> None:
    with pytest.raises(ConditionError, match="an empty array matches nothing"):
        store.add("s", '{"a": []}', dialect="eventbridge")
    with pytest.raises(ConditionError, match="there is no dialect 'nosuch'"):
        store.add("s", "a = 1", dialect="nosuch")
    store.add("s", "a = 1 AND b IS TRUE")
    with pytest.raises(ConditionError, match="expected NULL, found 'TRUE'"):
        store.replace("s", dialect="jms")


def test_an_import_reads_a_condition_without_dialect_as_sql(store: Store) -> None:
    store.add("s", PATTERN, dialect="eventbridge")
    assert store.add_many([{"id": "s", "condition": "a = 1"}], replace=True).replaced == 1
    assert store.get("s").dialect == "sql"
    assert store.add_many([{"id": "s", "condition": PATTERN}], replace=True).refusals


def test_an_event_type_refuses_conditions_of_any_dialect(store: Store) -> None:
    store.set_event_type(OFFER)
    store.add("s", '{"brand": ["Leica"]}', dialect="eventbridge", event_type="offer")
    smaller = EventType.from_dict({"name": "offer", "attributes": {"price": "decimal(8,2)"}})
    assert [refusal.id for refusal in store.set_event_type(smaller)] == ["s"]
    assert store.set_event_type(OFFER) == []
    assert store.get("s").refusal is None
