"""Filters of failed deliveries: every field that is given narrows them."""

from __future__ import annotations

import pytest
from sqlalchemy import and_, create_engine, insert, select

from tamis.service.webhooks import tables
from tamis.service.webhooks.failed_filter import EVERY_FAILED, FailedFilter
from tamis.service.webhooks.tables import failed, webhooks

URLS = {
    "acme/a": "https://Hook.example/a",
    "acme/b": "http://hook.example:8443?b",
    "acme-2/a": "https://hook.example.org/a%_",
}
ROWS = [("1", "acme/a", 10), ("2", "acme/b", 20), ("3", "acme-2/a", 20), ("4", "acme/a", 30)]


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (EVERY_FAILED, "1234"),
        (FailedFilter("acme"), "124"),
        (FailedFilter("acme", "acme/a"), "14"),
        (FailedFilter("acme", "acme-2/a"), ""),
        (FailedFilter(since=20), "234"),
        (FailedFilter(until=20), "1"),
        (FailedFilter("acme", since=10, until=30), "12"),
        (FailedFilter(endpoint="https://Hook.example/a"), "14"),
        (FailedFilter(endpoint="https://hook.example"), ""),
        (FailedFilter(endpoint="hook.example"), "124"),
        (FailedFilter(endpoint="HOOK.example:8443"), "2"),
        (FailedFilter(endpoint="hook.example.org"), "3"),
        (FailedFilter("acme", endpoint="hook.example.org"), ""),
        (FailedFilter(endpoint="hook.e"), ""),
        (FailedFilter(endpoint="hook_example"), ""),
    ],
)
def test_what_a_filter_names(which: FailedFilter, expected: str) -> None:
    engine = create_engine("sqlite://")
    tables.metadata.create_all(engine)
    columns = ("notification_id", "subscription_id", "at")
    rest = {"seq": 1, "attempts": 1, "error": "", "tries": 0}
    with engine.begin() as connection:
        hook = {"secret": "", "state": "confirmed", "cursor": 0, "attempts": 0, "next_attempt": 0, "created": 0}
        hooks = [{"subscription_id": id, "url": url} | hook for id, url in URLS.items()]
        connection.execute(insert(webhooks), hooks)
        connection.execute(insert(failed), [dict(zip(columns, row, strict=True)) | rest for row in ROWS])
        query = select(failed.c.notification_id).where(and_(True, *which.clauses()))
        found = connection.execute(query.order_by(failed.c.notification_id)).scalars().all()
    engine.dispose()
    assert "".join(found) == expected
