"""Sources of events: described, tried, and sampled without Spark."""

from __future__ import annotations

import gzip
import os
from contextlib import closing
from pathlib import Path
from socket import create_server
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.errors import EventError
from tamis.spark.pipeline import Files, Kafka, Rate, Socket, Source
from tamis.spark.sources import check, describe, sample


def no_spark() -> NoReturn:
    pytest.fail("no Spark was expected")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (Files("json", "/in"), "JSON lines in /in"),
        (Files("parquet", "/in/*.parquet"), "Parquet files in /in/*.parquet"),
        (Kafka("a:1,b:2", ("t",), "earliest", None, {}), "Kafka topic t at a:1,b:2"),
        (Kafka("a:1", ("t", "u"), "earliest", None, {}), "Kafka topics t, u at a:1"),
        (Rate(5), "generated, 5 a second"),
        (Socket("host", 9), "JSON lines from host:9"),
    ],
)
def test_a_source_is_described_in_one_line(source: Source, text: str) -> None:
    assert describe(source) == text


def test_the_first_lines_come_from_the_oldest_files(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(b'{"id": 1}\n{"id": 2}\n')
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"id": 3}\n\xff\n{"id": 4}\n'))
    (tmp_path / "_ignored").write_bytes(b"x\n")
    for age, name in ((2, "b.jsonl"), (1, "a.jsonl.gz")):
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    events = sample(Files("json", str(tmp_path)), 4, no_spark)
    assert events is not None
    assert events["value"].to_pylist() == [b'{"id": 1}', b'{"id": 2}', b'{"id": 3}', b"\xff"]


def test_rows_of_parquet_files_with_other_columns_are_sampled(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a", "b"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"id": ["c", "d"], "n": [1, 2]}), tmp_path / "2.parquet")
    events = sample(Files("parquet", f"{tmp_path}/*.parquet"), 3, no_spark)
    assert events is not None
    assert events.to_pylist() == [{"id": "a", "n": None}, {"id": "b", "n": None}, {"id": "c", "n": 1}]


def test_generated_events_are_sampled_and_a_socket_is_left_alone() -> None:
    events = sample(Rate(5), 3, no_spark)
    assert events is not None
    assert events.select(["id", "value"]).to_pylist() == [{"id": str(n), "value": n} for n in range(3)]
    assert sample(Socket("127.0.0.1", 1), 3, no_spark) is None


def test_what_cannot_be_reached_is_an_error(tmp_path: Path) -> None:
    with closing(create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        check(Socket("127.0.0.1", port))
        check(Kafka(f"127.0.0.1:1, 127.0.0.1:{port}", ("t",), "earliest", None, {}))
    with pytest.raises(EventError, match=rf"no server answers: 127\.0\.0\.1:{port}: "):
        check(Socket("127.0.0.1", port))
    with pytest.raises(EventError, match="nowhere cannot be read"):
        check(Files("json", str(tmp_path / "nowhere")))
    check(Rate(1))
