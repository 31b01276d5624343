"""The tables of the feed: what the databases keep out by themselves."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine, insert, select
from sqlalchemy.exc import IntegrityError

from tamis.service.feed_tables import feed, metadata

ROW = {
    "id": "n1",
    "tenant": "t",
    "subscription_id": "t/s",
    "event_id": "t/e",
    "event_type": "t/event",
    "revision": 1,
    "version": 1,
    "matched_at": 5,
    "query": "q",
    "batch": 0,
}


def test_numbers_grow_and_an_id_is_taken_once() -> None:
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    with engine.begin() as connection:
        for id in ("n1", "n2"):
            connection.execute(insert(feed).values({**ROW, "id": id}))
        assert connection.execute(select(feed.c.seq).order_by(feed.c.id)).scalars().all() == [1, 2]
    with engine.begin() as connection, pytest.raises(IntegrityError):
        connection.execute(insert(feed).values(ROW))
    engine.dispose()
