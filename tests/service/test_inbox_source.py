"""The inbox as a source of Spark, asked as Spark asks it, without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from tamis.service.inbox import Inbox
from tamis.service.inbox_source import InboxReader, NumberRange
from tests.service.living import arrival


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[InboxReader]:
    """A reader of five events, three at most a batch, in two partitions."""
    url = f"sqlite:///{tmp_path / 'inbox.db'}"
    inbox = Inbox(url)
    inbox.append([arrival("t", f"e{number}", {"x": number}) for number in range(5)])
    inbox.close()
    made = InboxReader(url, most_events=3, partitions=2)
    yield made
    made.stop()


def test_a_batch_has_as_many_events_as_it_may_and_the_next_the_rest(reader: InboxReader) -> None:
    start = reader.initialOffset()
    middle = reader.latestOffset(start, reader.getDefaultReadLimit())
    end = reader.latestOffset(middle, ReadMaxRows(3))
    assert [each["number"] for each in (start, middle, end)] == [0, 3, 5]
    assert reader.latestOffset(start, ReadAllAvailable()) == reader.reportLatestOffset() == end
    assert reader.latestOffset(end, ReadMaxRows(3)) == end, "it never goes back"


def test_partitions_cover_a_batch_once(reader: InboxReader) -> None:
    parts = reader.partitions({"number": 0}, {"number": 5})
    assert parts == [NumberRange(0, 3), NumberRange(3, 5)]
    found = [batch for part in pickle.loads(pickle.dumps(parts)) for batch in reader.read(part)]
    assert [id for batch in found for id in batch["id"].to_pylist()] == [f"t/e{number}" for number in range(5)]
    assert found[0]["value"][1].as_py() == arrival("t", "e1", {"x": 1}).value
    assert reader.partitions({"number": 5}, {"number": 5}) == []
