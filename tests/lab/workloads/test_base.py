"""Event types of workloads begin with `id`; a workload writes what it holds."""

from __future__ import annotations

import json
from pathlib import Path

from tamis.lab.workloads import generate
from tamis.lab.workloads.base import event_type_of, numbered_attributes
from tamis.values.types import INT


def test_an_event_type_has_an_id_and_its_own_attributes() -> None:
    event_type = event_type_of("sample", *numbered_attributes("a", 3, INT, min=0, max=9))
    assert [each.name for each in event_type.attributes or ()] == ["id", "a0", "a1", "a2"]
    assert [each.max for each in event_type.attributes or ()] == [None, 9, 9, 9]


def test_a_workload_is_written_with_all_that_makes_it_again(tmp_path: Path) -> None:
    data = generate("equality", subscriptions=3, events=2, seed=5, values=4)
    written = {file.name for file in data.write(tmp_path / "folder")}
    manifest = json.loads((tmp_path / "folder" / "workload.json").read_text("utf-8"))
    again = generate(
        manifest["workload"],
        subscriptions=manifest["subscriptions"],
        events=manifest["events"],
        seed=manifest["seed"],
        **manifest["parameters"],
    )
    assert "conditions.jsonl" in written
    assert again.conditions.equals(data.conditions)
    assert again.events.equals(data.events)
