from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from tamis import EventType
from tamis.spark.change_folder import ChangeFolder


def put(folder: Path, name: str, *lines: Any) -> None:
    folder.mkdir(exist_ok=True)
    content = [
        line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() for line in lines
    ]
    (folder / name).write_bytes(b"\n".join(content))


def held(changes: ChangeFolder) -> dict[str, str]:
    return {each.id: each.condition for each in changes.store.list()}


def test_files_are_applied_in_the_order_of_their_names_and_once(tmp_path: Path) -> None:
    put(tmp_path / "in", "2.jsonl", {"id": "a", "condition": "x > 2"}, {"id": "b", "removed": True})
    put(tmp_path / "in", "1.jsonl", {"id": "a", "condition": "x > 1"}, {"id": "b", "condition": "x > 1"})
    changes = ChangeFolder(tmp_path / "in", tmp_path / "state")
    assert changes.apply() == 2
    assert held(changes) == {"a": "x > 2"}
    version = changes.store.version()
    assert (changes.apply(), changes.store.version()) == (0, version)
    changes.store.close()


def test_a_line_says_what_an_import_says(tmp_path: Path) -> None:
    changes = ChangeFolder(tmp_path / "in", tmp_path / "state")
    changes.store.set_event_type(EventType("sale"))
    line = {
        "id": "a",
        "condition": "x > '\u2028'",
        "event_type": "sale",
        "owner": "ines",
        "expires": "2999-01-01T00:00Z",
    }
    put(tmp_path / "in", "1.jsonl", line)
    changes.apply()
    found = changes.store.get("a")
    assert (found.event_type, found.owner, found.condition) == ("sale", "ines", "x > '\u2028'")
    changes.store.close()


def test_the_event_type_may_be_called_type_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    changes = ChangeFolder(tmp_path / "in", tmp_path / "state")
    changes.store.set_event_type(EventType("sale"))
    line = {"condition": "true", "type": "sale"}
    put(tmp_path / "in", "1.jsonl", {"id": "a", **line}, {"id": "b", **line, "event_type": "event"})
    with caplog.at_level(logging.WARNING):
        changes.apply()
    assert (held(changes), changes.store.get("a").event_type) == ({"a": "true"}, "sale")
    assert "subscription a: 'type' is called 'event_type' now; rename it" in caplog.text
    assert "line 2: no change: 'type' is the old name of 'event_type': give one of them" in caplog.text
    changes.store.close()


def test_a_line_that_is_no_change_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = [b"\xff", {"condition": "true"}, {"id": {}, "condition": "true"}, {"id": "c"}, [1]]
    unknown = {"id": "d", "condition": "true", "colour": "red"}
    misspelt: list[dict[str, Any]] = [
        {"id": "f", "condtion": "true"},
        {"id": "g", "condition": "true", "lable": "x"},
        {"id": "h", "remove": True},
    ]
    wrong = {"id": "e", "condition": "x >"}
    put(tmp_path / "in", "1.jsonl", *bad, unknown, *misspelt, wrong, b"", {"id": "a", "condition": "x > 1"})
    changes = ChangeFolder(tmp_path / "in", tmp_path / "state")
    with caplog.at_level(logging.WARNING):
        changes.apply()
    assert held(changes) == {"a": "x > 1"}
    assert [f"line {number}: no change" in caplog.text for number in range(1, 12)] == [True] * 9 + [False] * 2
    assert "line 4: no change: subscription 'c': there is no condition" in caplog.text
    assert "line 6: no change: subscription 'd': there is no field 'colour'; expected id, condition" in caplog.text
    names = [("condtion", "condition"), ("lable", "label"), ("remove", "removed")]
    for number, (found, meant) in enumerate(names, 7):
        hint = f"there is no field {found!r}; did you mean {meant!r}?"
        assert re.search(f"line {number}: no change: subscription '.': {re.escape(hint)}", caplog.text)
    assert "subscription e is refused" in caplog.text
    changes.store.close()
