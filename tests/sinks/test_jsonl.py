"""The sink `jsonl`: files that other programs read."""

from __future__ import annotations

import json
from pathlib import Path

from tamis.sinks.jsonl import JsonLinesSink
from tests.sinks.deliveries import delivery


def test_a_batch_is_a_file_of_its_format(tmp_path: Path) -> None:
    sink = JsonLinesSink(folder=tmp_path)
    sink.commit(delivery(7, [(1, 1)], dead=[b"x"], query="q"))
    (file,) = (tmp_path / "notifications").iterdir()
    assert file.match("q.000000000007.*.jsonl")
    assert json.loads(file.read_text().splitlines()[0])["event_id"] == "event 1 é"
    (dead,) = (tmp_path / "dead-letters").iterdir()
    assert dead.match("q.000000000007.*.jsonl")
    assert (sink.name, sink.exactly_once) == ("jsonl", True)
