"""The state of a subscription after a change, without a database."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.errors import ConditionError, SubscriptionError
from tamis.events.event_type import EventType
from tamis.limits import DEFAULT_LIMITS
from tamis.store.records import SubscriptionFields
from tamis.store.tables import ACTIVE, PAUSED, REMOVED, WAITING, Row
from tamis.store.transitions import after_import, after_replacement, compile_import, condition_errors, state_at

NOW = 1_000
BEFORE = Row("a", 3, "x = 1", "event", "ines", None, 0, None, None, 500, 600, ACTIVE, None)
ALL = frozenset(SubscriptionFields._fields)
SALE = EventType.of({"name": "sale", "attributes": {"price": "double"}})


def given(**fields: Any) -> SubscriptionFields:
    return SubscriptionFields(
        **{"id": "a", "condition": "x = 1", "event_type": "event", "owner": "ines", **fields}
    )


def test_a_new_id_is_revision_1_and_one_that_comes_back_goes_on() -> None:
    first = after_import(None, given(), ALL, NOW, replace=False)
    assert first is not None
    assert (first.kind, first.row.revision, first.row.created, first.row.state) == ("add", 1, NOW, ACTIVE)
    again = after_import(BEFORE._replace(state=REMOVED), given(), ALL, NOW, replace=False)
    assert again is not None
    assert (again.kind, again.row.revision, again.row.created) == ("add", 4, NOW)


def test_a_state_that_is_given_is_taken_and_else_it_stays() -> None:
    later = given(valid_from=NOW + 1)
    for before, wanted, expected in (
        (None, given(state=PAUSED), ("add", PAUSED)),
        (None, later._replace(state=PAUSED), ("add", PAUSED)),
        (None, later._replace(state=ACTIVE), ("add", WAITING)),
        (BEFORE, given(state=PAUSED), ("pause", PAUSED)),
        (BEFORE, given(state=PAUSED, label="l"), ("edit", PAUSED)),
        (BEFORE, given(state=PAUSED, condition="x = 2"), ("replace", PAUSED)),
        (BEFORE._replace(state=PAUSED), given(state=WAITING), ("resume", ACTIVE)),
        (BEFORE._replace(state=PAUSED), given(label="l"), ("edit", PAUSED)),
        (BEFORE._replace(state=PAUSED), given(), None),
        (BEFORE, given(state=ACTIVE), None),
    ):
        outcome = after_import(before, wanted, ALL, NOW, replace=True)
        assert (None if outcome is None else (outcome.kind, outcome.row.state)) == expected


def test_an_id_that_is_taken_is_refused_unless_it_is_replaced() -> None:
    with pytest.raises(SubscriptionError, match="there is already a subscription 'a'"):
        after_import(BEFORE, given(), ALL, NOW, replace=False)
    assert after_import(BEFORE, given(), ALL, NOW, replace=True) is None, "nothing has changed"


@pytest.mark.parametrize(
    ("fields", "kind", "revision"),
    [
        ({"condition": "x = 2"}, "replace", 4),
        ({"event_type": "sale"}, "replace", 4),
        ({"label": "new"}, "edit", 3),
    ],
)
def test_another_condition_or_event_type_makes_another_revision(
    fields: dict[str, Any], kind: str, revision: int
) -> None:
    outcome = after_import(BEFORE, given(**fields), ALL, NOW, replace=True)
    assert outcome is not None
    assert (outcome.kind, outcome.row.revision) == (kind, revision)


def test_fields_that_an_import_does_not_have_stay() -> None:
    outcome = after_import(BEFORE, given(owner=None, priority=5), ALL - {"owner"}, NOW, replace=True)
    assert outcome is not None
    assert (outcome.row.owner, outcome.row.priority) == ("ines", 5)


def test_what_is_paused_stays_paused_and_what_waits_may_start() -> None:
    paused = after_import(BEFORE._replace(state=PAUSED), given(label="x"), ALL, NOW, replace=True)
    assert paused is not None
    assert paused.row.state == PAUSED
    later = after_import(BEFORE, given(valid_from=2 * NOW), ALL, NOW, replace=True)
    assert later is not None
    assert later.row.state == WAITING
    assert [state_at(time, NOW) for time in (None, NOW, NOW + 1)] == [ACTIVE, ACTIVE, WAITING]


def test_a_replacement_is_checked() -> None:
    outcome = after_replacement(BEFORE, {"condition": "y = 2"}, {}, DEFAULT_LIMITS, NOW)
    assert outcome is not None
    assert (outcome.kind, outcome.row.condition, outcome.row.owner) == ("replace", "y = 2", "ines")
    with pytest.raises(ConditionError):
        after_replacement(BEFORE, {"condition": "y ="}, {}, DEFAULT_LIMITS, NOW)
    with pytest.raises(SubscriptionError, match="no field 'colour'"):
        after_replacement(BEFORE, {"colour": "red"}, {}, DEFAULT_LIMITS, NOW)
    with pytest.raises(SubscriptionError, match="no event type 'sale'; declared are event"):
        after_replacement(BEFORE, {"event_type": "sale"}, {}, DEFAULT_LIMITS, NOW)


def test_an_import_keeps_errors_by_their_places() -> None:
    records: list[dict[str, Any]] = [
        {"id": "a", "condition": "price < 1", "event_type": "sale"},
        {"id": "a", "condition": "price < 2", "event_type": "sale"},
        {"id": "b", "condition": "price <", "event_type": "sale"},
        {"id": "c", "condition": "true", "event_type": "visit"},
        {"id": "d", "condition": "true"},
        {"id": 5, "condition": "true"},
    ]
    compiled = compile_import(records, {"sale": SALE}, DEFAULT_LIMITS, NOW)
    assert sorted(compiled.good) == [0, 4]
    assert sorted(compiled.errors) == [1, 2, 3, 5]
    assert compiled.types == {"sale": SALE, "visit": None, "event": None}


@pytest.mark.slow
def test_bulk_and_single_compilation_refuse_the_same() -> None:
    conditions = [f"price < {number}" if number % 3 else "price <" for number in range(150)]
    given = [SubscriptionFields("a", condition, "sale") for condition in conditions]
    bulk = condition_errors(given, SALE, DEFAULT_LIMITS)
    single = {n: condition_errors([each], SALE, DEFAULT_LIMITS) for n, each in enumerate(given)}
    assert {n: str(error) for n, error in bulk.items()} == {n: str(e[0]) for n, e in single.items() if e}
