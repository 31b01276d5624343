"""The warm-up: events of the stream's own pass through a rehearsal, and nobody meets anything of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tamis.service.stream import STREAM
from tamis.service.warm_up import FOLDER, WarmUp, WarmUpFailed
from tests.service.living import Living, arrival, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Start = Callable[..., Living]


@pytest.mark.parametrize("kafka", ["", "kafka://127.0.0.1:1/none"], ids=["inbox", "kafka"])
def test_a_rehearsal_passes_beside_a_stream_that_knows_nothing_of_it(
    spark: SparkSession, living: Start, kafka: str
) -> None:
    service = living(event_bytes=50, shards=2 if kafka else 1)
    folder = service.settings.folder / STREAM / FOLDER
    (folder / "left by one that was killed").mkdir(parents=True)
    warm_up = WarmUp(replace(service.settings, kafka=kafka))
    try:
        warm_up.watch(spark)
        service.start()
        until(lambda: warm_up.is_done(service.query))
        assert (folder / "feed.db").exists()
    finally:
        warm_up.close()
    assert not folder.exists()
    assert (len(service.store), service.store.event_types()) == (0, {})
    assert (service.inbox.end(), service.feed.end()) == (0, 0)
    assert sum(report.events for report in service.reports(0)) == 0
    assert [query.id for query in spark.streams.active] == [service.query.id]

    service.subscribe("default", "cheap", "price < 5")
    service.publish(arrival("default", "first", {"price": 1}))
    service.settle()
    assert service.pairs("default") == [("first", "cheap")]
    until(lambda: [each.events for each in service.reports(0) if each.events] == [1])


def test_a_rehearsal_that_fails_says_why(spark: SparkSession, living: Start) -> None:
    service = living()
    folder = service.settings.folder / STREAM / FOLDER
    warm_up = WarmUp(service.settings)
    try:
        warm_up.watch(spark)
        service.start()
        until(lambda: warm_up.is_done(service.query) or (folder / STREAM / "snapshot").exists())
        (folder / STREAM / "snapshot").rename(folder / "lost")
        with pytest.raises(WarmUpFailed, match=r"did not pass: .*snapshot"):
            until(lambda: warm_up.is_done(service.query))
    finally:
        warm_up.close()
    assert not folder.exists()
    assert service.query.isActive
