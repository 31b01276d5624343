"""Reports of micro-batches for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tamis.progress import BatchReport

START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def report(batch: int = 0, **values: Any) -> BatchReport:
    """A plain batch, but for what is given."""
    plain: dict[str, Any] = {
        "query": "alerts",
        "at": START + timedelta(seconds=2 * batch),
        "seconds": 0.5,
        "match_seconds": 0.3,
        "commit_seconds": 0.1,
        "events": 1_000,
        "matched_events": 40,
        "notifications": 70,
        "repeated": 0,
        "overflow": 0,
        "dead": 0,
        "backlog": 5_000,
        "version": 7,
        "store_version": 70,
        "lag_seconds": 0.0,
        "busiest": (("s1", 20), ("s2", 5)),
    }
    return BatchReport(batch=batch, **{**plain, **values})


def random_reports(seed: int, count: int) -> list[BatchReport]:
    """Batches of all kinds: empty, with and without a backlog, a store, dead letters."""
    random = Random(seed)
    return [
        report(
            batch,
            seconds=random.random() * random.choice([0, 0.1, 10]),
            events=(events := random.randrange(3) * random.randrange(10_000)),
            matched_events=random.randint(0, events),
            notifications=random.randrange(500),
            repeated=random.randrange(3),
            overflow=random.randrange(3),
            dead=(dead := random.randrange(3)),
            dead_by_kind=(("malformed", dead),) if dead else (),
            backlog=random.choice([None, 0, 12, 10**7]),
            version=random.randrange(5),
            store_version=random.choice([None, 3]),
            lag_seconds=random.choice([None, 0.0, 1.5, 400.0]),
            busiest=tuple((f"s{random.randrange(40)}-{rank}", 100 - rank) for rank in range(random.randrange(10))),
        )
        for batch in range(count)
    ]
