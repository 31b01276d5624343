"""The conditions of a store, a folder of changes and a snapshot are found alike."""

from __future__ import annotations

import json
from pathlib import Path

from tamis import Matcher
from tamis.spark.change_folder import ChangeFolder
from tamis.spark.current_conditions import conditions_of
from tamis.store import Store

ASKED = ["cheap", "gone", "never"]
FOUND = {"cheap": "price < 3"}


def test_those_of_a_store_without_ended_ones(tmp_path: Path) -> None:
    with Store.open(tmp_path / "subs.db") as store:
        store.add("cheap", "price < 3")
        store.add("gone", "price < 5")
        store.remove("gone")
        assert conditions_of(store, ASKED) == FOUND


def test_those_of_a_folder_of_changes(tmp_path: Path) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "1.jsonl").write_text(json.dumps({"id": "cheap", "condition": "price < 3"}) + "\n")
    folder = ChangeFolder(tmp_path / "changes", tmp_path / "state")
    folder.apply()
    assert conditions_of(folder, ASKED) == FOUND
    folder.store.close()


def test_those_of_a_snapshot(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add("cheap", "price < 3")
    matcher.publish(tmp_path)
    assert conditions_of(str(tmp_path), ASKED) == FOUND
