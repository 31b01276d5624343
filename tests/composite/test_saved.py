"""The file of a sequence matcher keeps every value that an event may hold, and says what is wrong with another."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tamis import EventError, SnapshotError
from tamis.composite.saved import FORMAT, VERSION, read_state, write_state
from tamis.errors import WriteError

VALUES = {
    "plain": [None, True, 3, 2.5, "text", {"inner": [1]}],
    "when": datetime(2026, 11, 18, 1, 2, 3, 4, tzinfo=UTC),
    "day": date(2026, 11, 18),
    "amount": Decimal("12.30"),
    "bytes": b"\x00\xff",
    "looks alike": {"$date": "not a date", "$object": 3},
}


def test_every_value_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_state(tmp_path / "state.json", {"events": [VALUES]})
    assert read_state(tmp_path / "state.json")["events"] == [VALUES]
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_the_file_is_json_with_its_format_and_version(tmp_path: Path) -> None:
    write_state(tmp_path / "state.json", {})
    assert json.loads((tmp_path / "state.json").read_text("utf-8")) == {"format": FORMAT, "version": VERSION}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (None, "missing"),
        ("{", "damaged"),
        ('{"$date": "no day"}', "damaged"),
        ("[]", "foreign"),
        ('{"format": "other"}', "foreign"),
        (f'{{"format": "{FORMAT}", "version": {VERSION + 1}}}', "newer"),
    ],
)
def test_other_files_are_refused(content: str | None, kind: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "state.json").write_text(content, "utf-8")
    with pytest.raises(SnapshotError) as refused:
        read_state(tmp_path / "state.json")
    assert refused.value.kind == kind


@pytest.mark.parametrize("value", [object(), {1, 2}])
def test_what_cannot_be_written_leaves_the_file_as_it_was(value: Any, tmp_path: Path) -> None:
    write_state(tmp_path / "state.json", {"number": 1})
    with pytest.raises(EventError, match=type(value).__name__):
        write_state(tmp_path / "state.json", {"number": value})
    assert read_state(tmp_path / "state.json")["number"] == 1


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot be written"):
        write_state(tmp_path / "nowhere" / "state.json", {})
