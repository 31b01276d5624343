"""What a user of Spark Connect does: pairs of DataFrames, and a stream that is refused. Prints them as JSON.

Run as a process of its own, since a process has either a classic session or one of Spark Connect.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from tamis.errors import TamisError
from tamis.sinks.parquet import ParquetSink
from tamis.spark import match, stream

SUBSCRIPTIONS = [("cheap", "price < 10"), ("of a", "shop = 'a'"), ("bad", "price <"), ("all", "true")]
EVENTS = [(number, float(number % 20), "abc"[number % 3]) for number in range(60)]


def main(folder: str) -> None:
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    events = spark.createDataFrame(EVENTS, "id long, price double, shop string")
    subscriptions = spark.createDataFrame(SUBSCRIPTIONS, "id string, condition string")
    found = match(events, subscriptions)
    sharded = match(events, subscriptions, shards=2)
    grouped = match(events, subscriptions, output="grouped", keep=["shop"])
    told = {
        "module": type(events).__module__,
        "pairs": sorted(map(list, found.collect())),
        "sharded": sorted(map(list, sharded.collect())),
        "grouped": sorted([row.event_id, sorted(row.subscription_id), row.shop] for row in grouped.collect()),
        "refused": [row.id for row in found.refused.collect()],  # type: ignore[operator]
    }
    try:
        rate = spark.readStream.format("rate").load()
        stream(rate, folder, ParquetSink(folder=Path(folder) / "out"), checkpoint=Path(folder) / "checkpoint")
    except TamisError as error:
        told["stream"] = str(error)
    Path(folder, "told.json").write_text(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
