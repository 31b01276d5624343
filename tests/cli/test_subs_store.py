"""Access of commands to a store."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer

from tamis.cli.subs_store import given_record, open_store, stored_record


def test_a_store_is_created_only_if_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = str(tmp_path / "s.db")
    with pytest.raises(typer.Exit) as caught, open_store(url, create=False):
        pass
    assert caught.value.exit_code == 2
    assert capsys.readouterr().err == f"tamis: error: {url}: there is no store here; `tamis subs type` makes one\n"
    with open_store(url) as store:
        assert store.version() == 0


def test_records_have_the_given_fields_then_the_state(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s.db")) as store:
        store.add("a", "x = 1", owner="ines", expires=datetime(3000, 1, 1, tzinfo=UTC))
        stored = store.get("a")
    given = given_record(stored)
    assert given == {
        "id": "a",
        "condition": "x = 1",
        "event_type": "event",
        "owner": "ines",
        "label": None,
        "priority": 0,
        "valid_from": None,
        "expires": "3000-01-01T00:00:00+00:00",
        "state": "active",
    }
    record = stored_record(stored)
    assert {name: record[name] for name in given} == given
    assert (record["revision"], record["state"], record["refusal"]) == (1, "active", None)
