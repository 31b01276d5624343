"""The sink `parquet`: files that other programs read."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from tamis.sinks.parquet import ParquetSink
from tests.sinks.deliveries import delivery


def test_a_batch_is_a_file_of_its_format(tmp_path: Path) -> None:
    sink = ParquetSink(folder=tmp_path)
    sink.commit(delivery(7, [(1, 1)], dead=[b"x"], query="q"))
    (file,) = (tmp_path / "notifications").iterdir()
    assert file.match("q.000000000007.*.parquet")
    assert pq.read_table(file)["event_id"][0].as_py() == "event 1 é"
    (dead,) = (tmp_path / "dead-letters").iterdir()
    assert dead.match("q.000000000007.*.parquet")
    assert (sink.name, sink.exactly_once) == ("parquet", True)
