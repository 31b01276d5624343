"""Dry runs. No Spark: a session is asked for only where Kafka is involved."""

from __future__ import annotations

import hashlib
import socket
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.matcher import Matcher
from tamis.sinks import SINKS
from tamis.spark.rehearsal import Rehearsal, Resumed, Sample, rehearse, resumed
from tests.spark.pipelines import SALE, pipeline, put_events, put_subscriptions


def no_spark() -> NoReturn:
    pytest.fail("no Spark was expected")


def tree(folder: Path) -> dict[str, str]:
    """All files and folders, with what is in them."""
    found = {}
    for path in sorted(folder.rglob("*")):
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        found[str(path.relative_to(folder))] = content
    return found


def rehearsed(folder: Path, top: str = "", **tables: str) -> Rehearsal:
    """A dry run, which leaves everything as it was."""
    planned = pipeline(folder, top, **tables)
    before = tree(folder)
    found = rehearse(planned, no_spark)
    assert tree(folder) == before
    return found


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    put_subscriptions(tmp_path / "subs.db", {"cheap": "price < 10", "all": "true"}, SALE)
    events: list[Any] = [{"id": f"e{price}", "price": price} for price in range(20)]
    put_events(tmp_path / "in", "1.jsonl", *events, b"nonsense", {"price": 1}, b"", {"id": "x", "price": "dear"})
    return tmp_path


def test_a_dry_run_tells_the_plan_and_matches_a_sample(sales: Path) -> None:
    found = rehearsed(sales)
    assert found.problems == []
    assert found.source == f"JSON lines in {sales / 'in'}"
    assert found.sink == f"Parquet files in {sales / 'out'}, exactly once"
    assert (found.event_types, found.subscriptions, found.version) == ({"sale": False}, 2, 2)
    assert found.resumed == Resumed(None, 0, False)
    sample = found.sample
    assert sample is not None
    assert (sample.events, sample.matched_events, sample.matches, sample.overflow) == (24, 20, 30, 0)
    assert {kind: count for kind, (count, _) in sample.dead.items()} == {
        "malformed": 1,
        "missing id": 1,
        "wrong type": 1,
    }


@pytest.mark.parametrize("sink", [name for name in SINKS if name != "kafka"])  # whose check needs Spark
def test_it_writes_nothing_whatever_the_sink(sales: Path, sink: str) -> None:
    arguments = {
        "parquet": 'folder = "out"',
        "jsonl": 'folder = "out"',
        "sql": 'url = "sqlite:///found.db"',
        "webhook": 'url = "sqlite:///found.db"',
        "callback": 'function = "json:dumps"\nstate = "sent"',
    }
    found = rehearsed(sales, sink=f'type = "{sink}"\n{arguments[sink]}')
    assert found.problems == []


def test_a_quota_is_applied_to_the_sample_as_to_one_batch(sales: Path) -> None:
    found = rehearsed(sales, quota="matches = 4")
    assert found.sample is not None
    assert (found.sample.matches, found.sample.overflow) == (8, 22)


def test_event_types_that_the_store_lacks_would_be_declared(sales: Path) -> None:
    top = '[[event_types]]\nname = "visit"\n'
    found = rehearsed(sales, top, events='format = "json"\npath = "in"\ntype_attribute = "type"')
    assert (found.event_types, found.problems) == ({"sale": False, "visit": True}, [])


def test_several_event_types_need_an_attribute_that_tells_them_apart(sales: Path) -> None:
    found = rehearsed(sales, '[[event_types]]\nname = "visit"\n')
    assert [each.partition("say with")[2] for each in found.problems] == [
        " events.type_attribute which attribute of an event names its type"
    ]


def test_another_event_type_of_the_same_name_is_an_error(sales: Path) -> None:
    found = rehearsed(sales, '[[event_types]]\nname = "sale"\nattributes = { price = "int" }\n')
    assert len(found.problems) == 1
    assert "event type 'sale' is another one in the store" in found.problems[0]
    assert "tamis subs type FILE" in found.problems[0]


def test_everything_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    (tmp_path / "out").write_text("a file")
    found = rehearsed(tmp_path, events=f'format = "socket"\nhost = "127.0.0.1"\nport = {port}')
    assert [each.partition(":")[0] for each in found.problems] == ["events", "sink", "subscriptions"]
    assert f"127.0.0.1:{port}" in found.problems[0]
    assert "there is no store here" in found.problems[2]
    assert found.sample is None


def test_a_folder_that_is_not_there_is_told(sales: Path) -> None:
    found = rehearsed(sales, events='format = "json"\npath = "nowhere"')
    assert len(found.problems) == 1
    assert f"{sales / 'nowhere'} cannot be read" in found.problems[0]


def test_parquet_is_sampled_over_several_files(sales: Path) -> None:
    for number in range(3):
        ids = [f"f{number}e{row}" for row in range(600)]
        pq.write_table(pa.table({"id": ids, "price": [float(number)] * 600}), sales / "in" / f"{number}.parquet")
    found = rehearsed(sales, events='format = "parquet"\npath = "in/*.parquet"')
    assert (found.sample, found.problems) == (Sample(1000, 1000, 2000, 0, {}), [])


def test_a_folder_of_changes_is_read_as_a_run_would(sales: Path) -> None:
    put_events(sales / "changes", "1.jsonl", {"id": "dear", "type": "sale", "condition": "price > 15"})
    (sales / "sale.json").write_text('{"name": "sale", "attributes": {"id": "string", "price": "double"}}')
    found = rehearsed(sales, 'event_types = ["sale.json"]', subscriptions='changes = "changes"')
    assert (found.problems, found.subscriptions, found.version) == ([], 1, None)
    assert found.sample is not None
    assert found.sample.matches == 4


def test_a_snapshot_of_somebody_else_is_read(sales: Path) -> None:
    matcher = Matcher(SALE)
    matcher.add("dear", "price > 15")
    matcher.publish(sales / "published")
    found = rehearsed(sales, subscriptions='snapshot = "published"')
    assert (found.problems, found.subscriptions, found.version) == ([], 1, 1)
    assert found.sample is not None
    assert found.sample.matches == 4


def test_made_up_events_need_no_source(sales: Path) -> None:
    put_subscriptions(sales / "numbers.db", {"even": "value % 2 = 0"})
    found = rehearsed(sales, events='format = "rate"', subscriptions='store = "numbers.db"')
    assert (found.sample, found.problems) == (Sample(1000, 500, 500, 0, {}), [])


def test_a_checkpoint_tells_which_batch_comes_next(tmp_path: Path) -> None:
    assert resumed(str(tmp_path)) == Resumed()
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()
        for batch in range(11):
            (tmp_path / folder / str(batch)).touch()
            (tmp_path / folder / f".{batch}.crc").touch()
    (tmp_path / "metadata").write_text('{"id":"the-query"}')
    assert resumed(str(tmp_path)) == Resumed("the-query", 11, False)
    (tmp_path / "commits" / "10").unlink()
    assert resumed(str(tmp_path)) == Resumed("the-query", 10, True)
