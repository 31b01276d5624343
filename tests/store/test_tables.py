"""Rows of the tables of a store."""

from __future__ import annotations

import pytest

from tamis.store.tables import ACTIVE, EXPIRED, PAUSED, REMOVED, WAITING, Row, changes, subscriptions

ROW = Row("a", 2, "x = 1", "event", "ines", "label", 3, 10, 20, 1, 2, ACTIVE, None)


@pytest.mark.parametrize(("state", "due"), [(ACTIVE, 20), (PAUSED, 20), (WAITING, 10)])
def test_a_living_row_is_due_when_it_starts_or_expires(state: str, due: int) -> None:
    row = ROW._replace(state=state)
    assert row.living
    assert dict(zip(subscriptions.c.keys(), row.column_values(), strict=True)) == {**row._asdict(), "due": due}


def test_a_row_that_expired_keeps_its_condition_for_late_events() -> None:
    row = ROW._replace(state=EXPIRED)
    assert dict(zip(subscriptions.c.keys(), row.column_values(), strict=True)) == {**row._asdict(), "due": None}


@pytest.mark.parametrize(("state", "expires"), [(REMOVED, 20), (EXPIRED, None)])
def test_of_a_row_that_is_gone_what_keeps_its_revisions_stays(state: str, expires: int | None) -> None:
    row = ROW._replace(state=state, expires=expires)
    values = dict(zip(subscriptions.c.keys(), row.column_values(), strict=True))
    assert not row.living
    assert (values["id"], values["revision"], values["state"]) == ("a", 2, state)
    assert [values[name] for name in ("condition", "valid_from", "expires", "due")] == ["", None, None, None]


def test_the_log_has_the_state_after_a_change() -> None:
    columns = changes.c.keys()
    named = dict(zip(columns[columns.index("id") : columns.index("actor")], ROW.log_values(), strict=True))
    assert named == {name: getattr(ROW, name) for name in named}
